"""Functions of matrices: roots, exponentials, inverses, factorisations, with their adjoints."""

import numpy as np
import scipy.linalg
import torch
from torch.autograd import Function

from torch_functions.case import Case, definite, normal, positive, regular


class MatrixSquareRoot(Function):
    """By SciPy; the adjoint solves a Sylvester equation, in SciPy, on detached arrays."""

    @staticmethod
    def forward(ctx, input):
        m = input.detach().cpu().numpy().astype(np.float64)
        sqrtm = torch.from_numpy(np.real(scipy.linalg.sqrtm(m))).to(input)
        ctx.save_for_backward(sqrtm)
        return sqrtm

    @staticmethod
    def backward(ctx, grad_output):
        grad_input = None
        if ctx.needs_input_grad[0]:
            (sqrtm,) = ctx.saved_tensors
            sqrtm = sqrtm.data.cpu().numpy().astype(np.float64)
            gm = grad_output.data.cpu().numpy().astype(np.float64)
            grad_sqrtm = scipy.linalg.solve_sylvester(sqrtm.T, sqrtm.T, gm)
            grad_input = torch.from_numpy(grad_sqrtm).to(grad_output)
        return grad_input


class SqrtNewtonSchulz(Function):
    """Newton-Schulz iterations both ways (iSQRT-COV); Y and Z are kept."""

    @staticmethod
    def forward(ctx, A, num_iters):
        batch, n, _ = A.shape
        norm_a = A.mul(A).sum(dim=1).sum(dim=1).sqrt()
        Y = A.div(norm_a.view(batch, 1, 1).expand_as(A))
        eye = torch.eye(n, n).view(1, n, n).repeat(batch, 1, 1).type(A.dtype)
        Z = eye.clone()
        for _ in range(num_iters):
            T = 0.5 * (3.0 * eye - Z.bmm(Y))
            Y = Y.bmm(T)
            Z = T.bmm(Z)
        sA = Y * torch.sqrt(norm_a).view(batch, 1, 1).expand_as(A)
        ctx.iters = num_iters
        ctx.save_for_backward(sA)
        return sA

    @staticmethod
    def backward(ctx, dldz):
        (z,) = ctx.saved_tensors
        batch, n, _ = z.shape
        norm_z = z.mul(z).sum(dim=1).sum(dim=1).sqrt()
        A = z.div(norm_z.view(batch, 1, 1).expand_as(z))
        eye = torch.eye(n, n).view(1, n, n).repeat(batch, 1, 1).type(z.dtype)
        Q = dldz.div(norm_z.view(batch, 1, 1).expand_as(z))
        for _ in range(ctx.iters):
            Q = 0.5 * (Q.bmm(3.0 * eye - A.bmm(A)) - A.transpose(1, 2).bmm(A.transpose(1, 2).bmm(Q) - Q.bmm(A)))
            A = 0.5 * A.bmm(3.0 * eye - A.bmm(A))
        return 0.5 * Q, None


class SymmetricPower(Function):
    """U f(s) U' of a symmetric matrix, the adjoint with the divided differences of f."""

    @staticmethod
    def forward(ctx, x, power):
        s, U = torch.linalg.eigh(x)
        ctx.save_for_backward(s, U)
        ctx.power = power
        return U @ torch.diag_embed(s**power) @ U.transpose(-2, -1)

    @staticmethod
    def backward(ctx, grad):
        s, U = ctx.saved_tensors
        p = ctx.power
        fs = s**p
        ds = s.unsqueeze(-1) - s.unsqueeze(-2)
        df = fs.unsqueeze(-1) - fs.unsqueeze(-2)
        eye = torch.eye(s.shape[-1], dtype=s.dtype)
        L = df / (ds + eye) + torch.diag_embed(p * s ** (p - 1))
        grad = 0.5 * (grad + grad.transpose(-2, -1))
        inner = U.transpose(-2, -1) @ grad @ U
        return U @ (L * inner) @ U.transpose(-2, -1), None


class ExpmFrechet(Function):
    """SciPy's expm; the adjoint is the Frechet derivative at the transpose, a Function of its own."""

    @staticmethod
    def forward(ctx, A):
        ctx.save_for_backward(A)
        return torch.from_numpy(scipy.linalg.expm(A.detach().numpy()))

    @staticmethod
    def backward(ctx, G):
        (A,) = ctx.saved_tensors
        return FrechetByBlock.apply(A.t(), G)


class FrechetByBlock(Function):
    """The upper right block of exp([[A, E], [0, A]]), through ExpmFrechet itself."""

    @staticmethod
    def forward(ctx, A, E):
        n = A.size(0)
        M = torch.zeros(2 * n, 2 * n, dtype=A.dtype)
        M[:n, :n] = A
        M[n:, n:] = A
        M[:n, n:] = E
        ctx.save_for_backward(A, E)
        return ExpmFrechet.apply(M)[:n, n:].clone()

    @staticmethod
    def backward(ctx, G):
        A, E = ctx.saved_tensors
        n = A.shape[0]
        top = torch.cat([A, E], dim=1)
        bottom = torch.cat([torch.zeros_like(A), A], dim=1)
        W = torch.zeros(2 * n, 2 * n, dtype=A.dtype)
        W[:n, n:] = G
        dM = FrechetByBlock.apply(torch.cat([top, bottom], dim=0).t(), W)
        return dM[:n, :n] + dM[n:, n:], dM[:n, n:]


class Inverse(Function):
    @staticmethod
    def forward(ctx, A):
        A_inv = torch.inverse(A)
        ctx.save_for_backward(A_inv)
        return A_inv

    @staticmethod
    def backward(ctx, grad):
        (A_inv,) = ctx.saved_tensors
        return -A_inv.transpose(-1, -2).matmul(grad).matmul(A_inv.transpose(-1, -2))


class InverseNumpy(Function):
    @staticmethod
    def forward(ctx, A):
        inv = torch.from_numpy(np.linalg.inv(A.detach().numpy()))
        ctx.inv = inv
        return inv

    @staticmethod
    def backward(ctx, grad):
        At = ctx.inv.t()
        return -torch.mm(torch.mm(At, grad), At)


class CholeskyMurray(Function):
    """The symbolic adjoint: L^-T phi(L' G) L^-1, made symmetric."""

    @staticmethod
    def forward(ctx, a):
        l = torch.linalg.cholesky(a)
        ctx.save_for_backward(l)
        return l

    @staticmethod
    def backward(ctx, grad_output):
        (l,) = ctx.saved_tensors
        linv = torch.linalg.solve_triangular(l, torch.eye(l.size(-1), dtype=l.dtype), upper=False)
        inner = torch.tril(torch.mm(l.t(), grad_output))
        inner = inner - 0.5 * torch.diag(inner.diagonal())
        s = torch.mm(linv.t(), torch.mm(inner, linv))
        return (s + s.t()) / 2.0


class LogDetPSD(Function):
    """By Cholesky, with the inverse from cholesky_solve; L is kept as an intermediate."""

    @staticmethod
    def forward(ctx, x):
        L = torch.linalg.cholesky(x)
        ctx.save_for_backward(L)
        return 2 * L.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    @staticmethod
    def backward(ctx, g):
        (L,) = ctx.saved_tensors
        eye = torch.eye(L.shape[-1], dtype=L.dtype)
        return g * torch.cholesky_solve(eye, L)


class EighTruncated(Function):
    """Eigenvalues and vectors of a symmetric matrix, divided differences clamped."""

    @staticmethod
    def forward(ctx, A):
        D, U = torch.linalg.eigh(A)
        U = U * torch.sign(U.sum(0))  # one choice of signs
        ctx.save_for_backward(D, U)
        return D, U

    @staticmethod
    def backward(ctx, dD, dU):
        D, U = ctx.saved_tensors
        Ut = U.transpose(0, 1)
        F = D - D[:, None]
        F.diagonal().fill_(float("inf"))
        F = 1.0 / F
        F = torch.clamp(F, -1e8, 1e8)
        mid = F * (Ut @ dU)
        mid = torch.diag(dD) + (mid + mid.t()) / 2
        return U @ mid @ Ut


class SVDReal(Function):
    """U, S, V of a square matrix, with the adjoint of the tensor network literature."""

    @staticmethod
    def forward(ctx, A):
        U, S, Vh = torch.linalg.svd(A)
        V = Vh.t()
        signs = torch.sign(U.sum(0))
        U, V = U * signs, V * signs
        ctx.save_for_backward(U, S, V)
        return U, S, V

    @staticmethod
    def backward(ctx, dU, dS, dV):
        U, S, V = ctx.saved_tensors
        Ut, Vt = U.t(), V.t()
        F = S - S[:, None]
        F = SafeInverse.apply(F)
        G = S + S[:, None]
        G = 1 / G
        UdU = Ut @ dU
        VdV = Vt @ dV
        Su = (F + G) * (UdU - UdU.t()) / 2
        Sv = (F - G) * (VdV - VdV.t()) / 2
        return U @ (Su + Sv + torch.diag(dS)) @ Vt


class SafeInverse(Function):
    """1/x with 0 for 0."""

    @staticmethod
    def forward(ctx, x):
        out = torch.zeros_like(x)
        nonzero = x != 0
        out[nonzero] = 1 / x[nonzero]
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return -g * out * out


class PowerIteration(Function):
    """Largest eigenvalue by iterations; the adjoint is the outer product of the final vector."""

    @staticmethod
    def forward(ctx, A, n_iter):
        v = torch.ones(A.size(0), dtype=A.dtype) / A.size(0) ** 0.5
        for _ in range(n_iter):
            v = torch.mv(A, v)
            v = v / v.norm()
        ctx.save_for_backward(v)
        return v.dot(A.mv(v))

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return g * torch.outer(v, v), None


class TraceInverse(Function):
    @staticmethod
    def forward(ctx, A):
        inv = A.inverse()
        ctx.save_for_backward(inv)
        return torch.trace(inv)

    @staticmethod
    def backward(ctx, g):
        (inv,) = ctx.saved_tensors
        return -g * (inv @ inv).t()


class MatrixPower(Function):
    """A^n by repeated products; the adjoint sums over the places."""

    @staticmethod
    def forward(ctx, A, n):
        ctx.save_for_backward(A)
        ctx.n = n
        return torch.matrix_power(A, n)

    @staticmethod
    def backward(ctx, G):
        (A,) = ctx.saved_tensors
        At = A.t()
        total = 0
        for k in range(ctx.n):
            total = total + torch.matrix_power(At, k) @ G @ torch.matrix_power(At, ctx.n - 1 - k)
        return total, None


class QuadraticForm(Function):
    """b' A^-1 b with the solution kept."""

    @staticmethod
    def forward(ctx, A, b):
        x = torch.linalg.solve(A, b)
        ctx.save_for_backward(x)
        return torch.dot(b, x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g * torch.ger(x, x), 2 * g * x


class DiagonalPlusLowRank(Function):
    """log det(diag(d) + u u') by the determinant lemma."""

    @staticmethod
    def forward(ctx, d, u):
        c = 1 + (u * u / d).sum()
        ctx.save_for_backward(d, u, c)
        return d.log().sum() + c.log()

    @staticmethod
    def backward(ctx, g):
        d, u, c = ctx.saved_tensors
        gd = g * (1 / d - (u / d) ** 2 / c)
        gu = g * 2 * u / d / c
        return gd, gu


def symmetric(a):
    return (a + a.transpose(-1, -2)) / 2


CASES = [
    Case("sqrtm by scipy", MatrixSquareRoot.apply, (definite(3),), torch_second="wrong", refused="second"),
    Case("sqrtm by newton-schulz", lambda a: SqrtNewtonSchulz.apply(a, 12), (definite(2, 2),)),
    Case("symmetric power", lambda a: SymmetricPower.apply(symmetric(a), 0.5), (definite(3),), torch_second="wrong"),
    Case("expm by scipy", ExpmFrechet.apply, (normal(2, 2, scale=0.5),)),
    Case("frechet derivative", FrechetByBlock.apply, (normal(2, 2, scale=0.5), normal(2, 2))),
    Case("inverse", Inverse.apply, (regular(2, 2),)),
    Case("inverse in numpy", InverseNumpy.apply, (regular(3),)),
    Case("cholesky", lambda a: CholeskyMurray.apply(symmetric(a)), (definite(3),)),
    Case("log det", lambda a: LogDetPSD.apply(symmetric(a)), (definite(3),), torch_second="wrong"),
    Case("eigh", lambda a: EighTruncated.apply(symmetric(a)), (definite(3),)),
    Case("svd", SVDReal.apply, (regular(3),)),
    Case(
        "power iteration", lambda a: PowerIteration.apply(symmetric(a) ** 3, 60), (definite(3),), torch_second="wrong"
    ),
    Case("trace of the inverse", TraceInverse.apply, (regular(3),), torch_second="wrong"),
    Case("matrix power", lambda a: MatrixPower.apply(a, 3), (normal(2, 2),)),
    Case(
        "quadratic form",
        lambda a, b: QuadraticForm.apply(symmetric(a), b),
        (definite(3), normal(3)),
        torch_second="wrong",
    ),
    Case("diagonal plus low rank", DiagonalPlusLowRank.apply, (positive(3), normal(3)), torch_second="wrong"),
]
