"""Results that are defined by an equation: roots, fixed points, minima, solutions of linear systems."""

import numpy as np
import scipy.optimize
import torch
from torch import autograd
from torch.autograd import Function

from torch_functions.case import Case, definite, normal, positive, regular, uniform


class KeplerSolver(Function):
    """E - e sin E = M by Newton; the derivatives from the equation."""

    @staticmethod
    def forward(ctx, M, ecc):
        E = M.clone()
        for _ in range(50):
            E = E - (E - ecc * torch.sin(E) - M) / (1 - ecc * torch.cos(E))
        ctx.save_for_backward(E, ecc)
        return E

    @staticmethod
    def backward(ctx, bE):
        E, ecc = ctx.saved_tensors
        bM = bE / (1 - ecc * torch.cos(E))
        becc = torch.sin(E) * bM
        return bM, becc.sum_to_size(ecc.shape)


class BisectionRoot(Function):
    """x^3 + a x = b (one real root for a > 0), found by bisection."""

    @staticmethod
    def forward(ctx, a, b):
        lo, hi = torch.full_like(b, -10.0), torch.full_like(b, 10.0)
        for _ in range(70):
            mid = (lo + hi) / 2
            above = mid**3 + a * mid > b
            hi = torch.where(above, mid, hi)
            lo = torch.where(above, lo, mid)
        x = (lo + hi) / 2
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved_tensors
        common = g / (3 * x * x + a)
        return -common * x, common


def cell(z, x, W):
    return torch.tanh(z @ W + x)


class DEQFixedPoint(Function):
    """z = f(z, x): iterated forward; backward iterates the adjoint equation with a vjp."""

    @staticmethod
    def forward(ctx, x, W):
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(200):
                z = cell(z, x, W)
        ctx.save_for_backward(z, x, W)
        return z

    @staticmethod
    def backward(ctx, grad):
        z, x, W = ctx.saved_tensors
        with torch.enable_grad():
            z0 = z.detach().requires_grad_()
            x0 = x.detach().requires_grad_()
            W0 = W.detach().requires_grad_()
            f = cell(z0, x0, W0)
        g = grad
        for _ in range(200):
            g = autograd.grad(f, z0, g, retain_graph=True)[0] + grad
        gx, gW = autograd.grad(f, (x0, W0), g)
        return gx, gW


class FixedPointSqrt(Function):
    """The square root as the fixed point of z = (z + x / z) / 2."""

    @staticmethod
    def forward(ctx, x):
        z = torch.ones_like(x)
        while True:
            new = (z + x / z) / 2
            if (new - z).abs().max().item() < 1e-14:
                break
            z = new
        ctx.save_for_backward(z)
        return z

    @staticmethod
    def backward(ctx, g):
        (z,) = ctx.saved_tensors
        return g / (2 * z)


class LinearSolve(Function):
    @staticmethod
    def forward(ctx, A, b):
        x = torch.linalg.solve(A, b)
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, grad_x):
        A, x = ctx.saved_tensors
        grad_b = torch.linalg.solve(A.t(), grad_x)
        grad_A = -grad_b @ x.t()
        return grad_A, grad_b


class ConjugateGradient(Function):
    """A x = b for a definite A, by conjugate gradients both ways."""

    @staticmethod
    def solve(A, b):
        x = torch.zeros_like(b)
        r = b.clone()
        p = r.clone()
        rs = r.dot(r)
        for _ in range(3 * b.numel()):
            Ap = A.mv(p)
            alpha = rs / p.dot(Ap)
            x = x + alpha * p
            r = r - alpha * Ap
            new = r.dot(r)
            if float(new.detach()) < 1e-30:
                break
            p = r + (new / rs) * p
            rs = new
        return x

    @staticmethod
    def forward(ctx, A, b):
        x = ConjugateGradient.solve(A, b)
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, g):
        A, x = ctx.saved_tensors
        lam = ConjugateGradient.apply(A.t(), g)
        return -torch.ger(lam, x), lam


class QPEquality(Function):
    """min x'Qx/2 + p'x with Ax = b: the KKT system is solved forward and backward (as in OptNet)."""

    @staticmethod
    def forward(ctx, Q, p, A, b):
        n, m = Q.size(0), A.size(0)
        K = torch.cat([torch.cat([Q, A.t()], 1), torch.cat([A, torch.zeros(m, m, dtype=Q.dtype)], 1)], 0)
        solution = torch.linalg.solve(K, torch.cat([-p, b]))
        zhat, nu = solution[:n], solution[n:]
        ctx.lams, ctx.nus = None, nu
        ctx.save_for_backward(zhat, Q, p, A, b)
        return zhat

    @staticmethod
    def backward(ctx, dl_dzhat):
        zhat, Q, p, A, b = ctx.saved_tensors
        n, m = Q.size(0), A.size(0)
        K = torch.cat([torch.cat([Q, A.t()], 1), torch.cat([A, torch.zeros(m, m, dtype=Q.dtype)], 1)], 0)
        d = torch.linalg.solve(K, torch.cat([-dl_dzhat, torch.zeros(m, dtype=Q.dtype)]))
        dx, dnu = d[:n], d[n:]
        dps = dx
        dAs = torch.ger(dnu, zhat) + torch.ger(ctx.nus, dx)
        dbs = -dnu
        dQs = 0.5 * (torch.ger(dx, zhat) + torch.ger(zhat, dx))
        return dQs, dps, dAs, dbs


class ArgminScipy(Function):
    """The minimum of cosh(x - a) + b x^2 by SciPy; its derivatives with detached numbers."""

    @staticmethod
    def forward(ctx, a, b):
        a_, b_ = a.item(), b.item()
        found = scipy.optimize.brentq(lambda x: np.sinh(x - a_) + 2 * b_ * x, -10, 10, xtol=1e-14)
        ctx.save_for_backward(a, b)
        ctx.x = found
        return torch.tensor(found, dtype=a.dtype)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        x = ctx.x
        hessian = torch.cosh(x - a) + 2 * b
        return g * torch.cosh(x - a) / hessian, -g * 2 * x / hessian


class RootByInnerGrad(Function):
    """f(x, theta) = 0 for any f: the derivatives by grad() on a graph made in backward, create_graph passed on."""

    @staticmethod
    def forward(ctx, f, x0, theta):
        x = x0.clone()
        for _ in range(40):
            with torch.enable_grad():
                x_ = x.detach().requires_grad_()
                value = f(x_, theta.detach())
                (slope,) = torch.autograd.grad(value.sum(), x_)
            x = x - value.detach() / slope
        ctx.f = f
        ctx.save_for_backward(x, theta)
        return x

    @staticmethod
    def backward(ctx, g):
        x, theta = ctx.saved_tensors
        with torch.enable_grad():
            x, theta = x * 1, theta * 1
            if not x.requires_grad:
                x, theta = x.requires_grad_(), theta.requires_grad_()
            value = ctx.f(x, theta)
            create = torch.is_grad_enabled() and g.requires_grad
            dx = torch.autograd.grad(value.sum(), x, retain_graph=True, create_graph=create)[0]
            dtheta = torch.autograd.grad(value, theta, -g / dx, create_graph=create)[0]
        return None, None, dtheta


def wave(x, theta):
    return x + 0.5 * torch.sin(theta * x) - theta


class SimplexProjection(Function):
    """The nearest point of the probability simplex."""

    @staticmethod
    def forward(ctx, v):
        mu = v.sort(descending=True)[0]
        cssv = mu.cumsum(0) - 1
        ind = torch.arange(1, v.numel() + 1, dtype=v.dtype)
        rho = (mu - cssv / ind > 0).nonzero().max().item()
        theta = cssv[rho] / (rho + 1.0)
        w = (v - theta).clamp_(min=0)
        ctx.save_for_backward(w > 0)
        return w

    @staticmethod
    def backward(ctx, g):
        (active,) = ctx.saved_tensors
        count = active.sum()
        mean = (g * active).sum() / count
        return (g - mean) * active


CASES = [
    Case("kepler", KeplerSolver.apply, (uniform(3, low=0.5, high=2.5), uniform(1, low=0.1, high=0.6))),
    Case("root by bisection", BisectionRoot.apply, (positive(3), normal(3)), smooth=False),
    Case(
        "deq fixed point",
        DEQFixedPoint.apply,
        (normal(2, 2), normal(2, 2, scale=0.3)),
        torch_second="wrong",
        refused="second",
    ),
    Case("square root as fixed point", FixedPointSqrt.apply, (positive(4),)),
    Case("linear solve", LinearSolve.apply, (regular(3), normal(3, 2))),
    Case("conjugate gradients", ConjugateGradient.apply, (definite(3), normal(3)), exact=True),
    Case(
        "equality constrained qp",
        lambda Q, p, A, b: QPEquality.apply((Q + Q.t()) / 2, p, A, b),
        (definite(3), normal(3), normal(1, 3), normal(1)),
        torch_second="wrong",
    ),
    Case("argmin by scipy", ArgminScipy.apply, (normal(), positive()), torch_second="wrong", refused="second"),
    Case("root by inner grad", lambda t: RootByInnerGrad.apply(wave, torch.ones_like(t), t), (positive(3),)),
    Case("projection onto the simplex", SimplexProjection.apply, (normal(5),)),
]
