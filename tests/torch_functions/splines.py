"""Tables, splines, polynomial bases: networks of one-dimensional functions."""

import math

import torch
from torch.autograd import Function

from torch_functions.case import Case, normal, spread, uniform


class ChebyshevKAN(Function):
    """Recurrences for values; derivatives through the polynomials of the second kind."""

    @staticmethod
    def forward(ctx, x, coeffs):
        T = [torch.ones_like(x), x]
        for _ in range(2, coeffs.size(0)):
            T.append(2 * x * T[-1] - T[-2])
        T = torch.stack(T)
        ctx.save_for_backward(x, coeffs, T)
        return torch.einsum("kn,k->n", T, coeffs)

    @staticmethod
    def backward(ctx, g):
        x, coeffs, T = ctx.saved_tensors
        U = [torch.ones_like(x), 2 * x]
        for _ in range(2, coeffs.size(0)):
            U.append(2 * x * U[-1] - U[-2])
        dT = sum(k * c * U[k - 1] for k, c in enumerate(coeffs) if k)
        return g * dT, torch.einsum("kn,n->k", T, g)


class LegendreBasis(Function):
    """All polynomials up to a degree, written into a table."""

    @staticmethod
    def forward(ctx, x, degree):
        P = x.new_empty(degree + 1, x.numel())
        P[0] = 1
        P[1] = x
        for n in range(1, degree):
            P[n + 1] = ((2 * n + 1) * x * P[n] - n * P[n - 1]) / (n + 1)
        ctx.save_for_backward(x, P)
        return P

    @staticmethod
    def backward(ctx, g):
        x, P = ctx.saved_tensors
        grad = torch.zeros_like(x)
        d_prev, d = torch.zeros_like(x), torch.ones_like(x)
        grad = grad + g[1] * d
        for n in range(1, P.size(0) - 1):
            d_prev, d = d, ((2 * n + 1) * (P[n] + x * d) - n * d_prev) / (n + 1)
            grad = grad + g[n + 1] * d
        return grad, None


class BSplineBasis(Function):
    """Cubic B-splines on a uniform grid, by Cox and de Boor; the derivative from the degree below."""

    @staticmethod
    def basis(x, grid, k):
        x = x.unsqueeze(-1)
        b = ((x >= grid[:-1]) & (x < grid[1:])).to(x.dtype)
        for p in range(1, k + 1):
            left = (x - grid[: -(p + 1)]) / (grid[p:-1] - grid[: -(p + 1)]) * b[..., :-1]
            right = (grid[p + 1 :] - x) / (grid[p + 1 :] - grid[1:-p]) * b[..., 1:]
            b = left + right
        return b

    @staticmethod
    def forward(ctx, x, coeffs, grid):
        ctx.save_for_backward(x, coeffs, grid)
        return BSplineBasis.basis(x, grid, 3) @ coeffs

    @staticmethod
    def backward(ctx, g):
        x, coeffs, grid = ctx.saved_tensors
        lower = BSplineBasis.basis(x, grid, 2)
        k = 3
        a = k / (grid[k:-1] - grid[: -(k + 1)]) * lower[..., :-1]
        b = k / (grid[k + 1 :] - grid[1:-k]) * lower[..., 1:]
        return g * ((a - b) @ coeffs), BSplineBasis.basis(x, grid, 3).t() @ g, None


class RadialBasis(Function):
    """Gaussians on a grid; reflectional switches in other code."""

    @staticmethod
    def forward(ctx, x, centres, h):
        z = (x[:, None] - centres) / h
        phi = torch.exp(-(z**2))
        ctx.save_for_backward(z, phi, h)
        return phi

    @staticmethod
    def backward(ctx, g):
        z, phi, h = ctx.saved_tensors
        common = g * phi * (-2 * z)
        return (common / h).sum(1), -(common / h).sum(0), -(common * z / h).sum()


class PiecewiseLinear(Function):
    """Hat functions on integer knots; the table is read with plain indices."""

    @staticmethod
    def forward(ctx, x, table):
        pos = x.clamp(0, table.numel() - 1 - 1e-9)
        i = pos.floor().long()
        t = pos - i
        ctx.save_for_backward(x, table, i, t)
        return table[i] + t * (table[i + 1] - table[i])

    @staticmethod
    def backward(ctx, g):
        x, table, i, t = ctx.saved_tensors
        inside = (x >= 0) & (x <= table.numel() - 1)
        gx = torch.where(inside, g * (table[i + 1] - table[i]), torch.zeros_like(g))
        gt = torch.zeros_like(table).index_add_(0, i, g * (1 - t)).index_add_(0, i + 1, g * t)
        return gx, gt


class CubicHermite(Function):
    """Values and slopes at the two ends; Horner's scheme."""

    @staticmethod
    def forward(ctx, t, p0, m0, p1, m1):
        c = 3 * (p1 - p0) - 2 * m0 - m1
        d = 2 * (p0 - p1) + m0 + m1
        ctx.save_for_backward(t, m0, c, d)
        return p0 + t * (m0 + t * (c + t * d))

    @staticmethod
    def backward(ctx, g):
        t, m0, c, d = ctx.saved_tensors
        gt = g * (m0 + t * (2 * c + 3 * t * d))
        h01 = t**2 * (3 - 2 * t)
        h10 = t * (1 - t) ** 2
        h11 = t**2 * (t - 1)
        return gt, g * (1 - h01), g * h10, g * h01, g * h11


class Bernstein(Function):
    @staticmethod
    def forward(ctx, x, coeffs):
        n = coeffs.numel() - 1
        B = torch.stack([math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(n + 1)])
        ctx.save_for_backward(x, coeffs, B)
        return coeffs @ B

    @staticmethod
    def backward(ctx, g):
        x, coeffs, B = ctx.saved_tensors
        n = coeffs.numel() - 1
        delta = coeffs[1:] - coeffs[:-1]
        slope = sum(n * delta[k] * math.comb(n - 1, k) * x**k * (1 - x) ** (n - 1 - k) for k in range(n))
        return g * slope, B @ g


class LatticeMultilinear(Function):
    """A unit square of parameters (monotonic lattices)."""

    @staticmethod
    def forward(ctx, x, theta):
        a, b = x[:, 0], x[:, 1]
        w = torch.stack([(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b], dim=1)
        ctx.save_for_backward(x, theta, w)
        return w @ theta

    @staticmethod
    def backward(ctx, g):
        x, theta, w = ctx.saved_tensors
        a, b = x[:, 0], x[:, 1]
        ga = (theta[2] - theta[0]) * (1 - b) + (theta[3] - theta[1]) * b
        gb = (theta[1] - theta[0]) * (1 - a) + (theta[3] - theta[2]) * a
        return g.unsqueeze(1) * torch.stack([ga, gb], 1), w.t() @ g


class FourierFeatures(Function):
    @staticmethod
    def forward(ctx, x, freq):
        z = x[:, None] * freq
        out = torch.cat([torch.sin(z), torch.cos(z)], 1)
        ctx.save_for_backward(x, freq, out)
        return out

    @staticmethod
    def backward(ctx, g):
        x, freq, out = ctx.saved_tensors
        s, c = out.chunk(2, 1)
        gs, gc = g.chunk(2, 1)
        gz = gs * c - gc * s
        return (gz * freq).sum(1), (gz * x[:, None]).sum(0)


class RationalPade(Function):
    """P(x) / (1 + |Q(x)|), with powers from a Vandermonde matrix."""

    @staticmethod
    def forward(ctx, x, num, den):
        powers = torch.stack([x**k for k in range(num.numel())], 1)
        P = powers @ num
        Q = powers[:, 1 : den.numel() + 1] @ den
        ctx.save_for_backward(x, num, den)
        return P / (1 + Q.abs())

    @staticmethod
    def backward(ctx, g):
        x, num, den = ctx.saved_tensors
        powers = torch.stack([x**k for k in range(num.numel())], 1)
        P = powers @ num
        low = powers[:, 1 : den.numel() + 1]
        Q = low @ den
        D = 1 + Q.abs()
        s = Q.sign()
        dP = sum(k * num[k] * x ** (k - 1) for k in range(1, num.numel()))
        dQ = sum((k + 1) * den[k] * x**k for k in range(den.numel()))
        gx = g * (dP / D - P * s * dQ / D**2)
        return gx, powers.t() @ (g / D), -low.t() @ (g * P * s / D**2)


def cubic(x, c):
    return BSplineBasis.apply(x, c, torch.arange(-3, 7, dtype=x.dtype))


CASES = [
    Case("chebyshev", ChebyshevKAN.apply, (uniform(4, low=-0.9, high=0.9), normal(4)), torch_second="wrong"),
    Case("legendre", lambda x: LegendreBasis.apply(x, 4), (uniform(3, low=-0.9, high=0.9),)),
    Case("cubic b-splines", cubic, (uniform(4, low=0.1, high=2.9), normal(6))),
    Case("radial basis", RadialBasis.apply, (normal(3), normal(4), uniform(low=0.5, high=1.0)), torch_second="wrong"),
    Case("piecewise linear", PiecewiseLinear.apply, (uniform(5, low=0.1, high=3.9), normal(5)), torch_second="wrong"),
    Case(
        "cubic hermite",
        CubicHermite.apply,
        (uniform(3), normal(3), normal(3), normal(3), normal(3)),
        torch_second="wrong",
    ),
    Case("bernstein", Bernstein.apply, (uniform(4), normal(4)), torch_second="wrong"),
    Case("multilinear lattice", LatticeMultilinear.apply, (uniform(3, 2), normal(4)), torch_second="wrong"),
    Case("fourier features", FourierFeatures.apply, (normal(3), normal(2))),
    Case("rational", RationalPade.apply, (spread(4, gap=0.4), normal(4), normal(2))),
]
