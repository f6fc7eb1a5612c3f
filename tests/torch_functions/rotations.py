"""Orthogonal matrices and rotations."""

import torch
from torch.autograd import Function

from torch_functions.case import Case, normal, positive, regular, uniform


class HouseholderProduct(Function):
    """H1 H2 ... x; the intermediate vectors are rebuilt in backward, because each H is its own inverse."""

    @staticmethod
    def reflect(v, x):
        return x - 2 * v * (v.dot(x) / v.dot(v))

    @staticmethod
    def forward(ctx, V, x):
        y = x
        for v in V.unbind(0):
            y = HouseholderProduct.reflect(v, y)
        ctx.save_for_backward(V, y)
        return y

    @staticmethod
    def backward(ctx, g):
        V, y = ctx.saved_tensors
        grads = []
        for v in reversed(V.unbind(0)):
            x = HouseholderProduct.reflect(v, y)
            vv, vx, vg = v.dot(v), v.dot(x), v.dot(g)
            grads.append(-2 * (g * vx + x * vg) / vv + 4 * v * vx * vg / vv**2)
            g = HouseholderProduct.reflect(v, g)
            y = x
        return torch.stack(grads[::-1]), g


class GivensRotation(Function):
    """Pairs of coordinates turned, in place on a clone."""

    @staticmethod
    def forward(ctx, x, theta):
        c, s = torch.cos(theta), torch.sin(theta)
        y = x.clone()
        y[0::2] = c * x[0::2] - s * x[1::2]
        y[1::2] = s * x[0::2] + c * x[1::2]
        ctx.save_for_backward(y, theta)
        return y

    @staticmethod
    def backward(ctx, g):
        y, theta = ctx.saved_tensors
        c, s = theta.cos(), theta.sin()
        gx = torch.empty_like(g)
        gx[0::2] = c * g[0::2] + s * g[1::2]
        gx[1::2] = -s * g[0::2] + c * g[1::2]
        return gx, g[1::2] * y[0::2] - g[0::2] * y[1::2]


class Cayley(Function):
    """(I - A)^-1 (I + A) of the skew part."""

    @staticmethod
    def forward(ctx, W):
        A = W.triu(1)
        A = A - A.t()
        eye = torch.eye(W.size(0), dtype=W.dtype)
        Q = torch.linalg.solve(eye - A, eye + A)
        ctx.save_for_backward(A, Q)
        return Q

    @staticmethod
    def backward(ctx, g):
        A, Q = ctx.saved_tensors
        eye = torch.eye(A.size(0), dtype=A.dtype)
        left = torch.linalg.solve((eye - A).t(), g)
        gA = left @ (Q + eye).t()
        return (gA - gA.t()).triu(1)


class GramSchmidt(Function):
    """Q of a QR with positive diagonal; Walter and Lehmann's formula."""

    @staticmethod
    def forward(ctx, A):
        Q, R = torch.linalg.qr(A)
        signs = torch.sign(torch.diagonal(R))
        Q, R = Q * signs, signs[:, None] * R
        ctx.save_for_backward(Q, R)
        return Q, R

    @staticmethod
    def backward(ctx, gQ, gR):
        Q, R = ctx.saved_tensors
        M = R @ gR.t() - gQ.t() @ Q
        M = torch.tril(M, -1)
        M = M + M.t() + torch.diag((R @ gR.t() - gQ.t() @ Q).diagonal())
        return torch.linalg.solve_triangular(R, (gQ + Q @ M).t(), upper=True).t()


class Rodrigues(Function):
    """The rotation matrix of an axis-angle vector; skew matrices stacked by hand."""

    @staticmethod
    def skew(r):
        zero = torch.zeros_like(r[0])
        return torch.stack([zero, -r[2], r[1], r[2], zero, -r[0], -r[1], r[0], zero]).view(3, 3)

    @staticmethod
    def forward(ctx, r):
        theta = r.norm()
        K = Rodrigues.skew(r / theta)
        R = torch.eye(3, dtype=r.dtype) + torch.sin(theta) * K + (1 - torch.cos(theta)) * K @ K
        ctx.save_for_backward(r, R)
        return R

    @staticmethod
    def backward(ctx, g):
        r, R = ctx.saved_tensors
        n2 = r.dot(r)
        out = []
        eye = torch.eye(3, dtype=r.dtype)
        for i in range(3):
            v = torch.linalg.cross(r, (eye - R)[:, i])
            dR = (r[i] * Rodrigues.skew(r) + Rodrigues.skew(v)) / n2 @ R
            out.append((g * dR).sum())
        return torch.stack(out)


class QuaternionRotate(Function):
    """v turned by a quaternion that need not have length 1."""

    @staticmethod
    def forward(ctx, q, v):
        w, u = q[0], q[1:]
        n2 = q.dot(q)
        y = (2 * u.dot(v) * u + (w * w - u.dot(u)) * v + 2 * w * torch.linalg.cross(u, v)) / n2
        ctx.save_for_backward(q, v, y)
        return y

    @staticmethod
    def backward(ctx, g):
        q, v, y = ctx.saved_tensors
        w, u = q[0], q[1:]
        n2 = q.dot(q)
        gv = (2 * u.dot(g) * u + (w * w - u.dot(u)) * g - 2 * w * torch.linalg.cross(u, g)) / n2
        gw = (2 * w * v + 2 * torch.linalg.cross(u, v)).dot(g) / n2
        gu = (2 * u.dot(v) * g + 2 * u.dot(g) * v - 2 * v.dot(g) * u + 2 * w * torch.linalg.cross(v, g)) / n2
        gq = torch.cat([gw.reshape(1), gu])
        return gq - 2 * q * y.dot(g) / n2, gv


class StiefelTangent(Function):
    """Identity forward; the gradient is projected onto the tangent space (a surrogate)."""

    @staticmethod
    def forward(ctx, W):
        ctx.save_for_backward(W)
        return W.clone()

    @staticmethod
    def backward(ctx, g):
        (W,) = ctx.saved_tensors
        sym = W.t() @ g
        return g - W @ (sym + sym.t()) / 2


class PolarProjection(Function):
    """The nearest orthogonal matrix: U V' of the singular value decomposition, adjoint by a Lyapunov equation."""

    @staticmethod
    def forward(ctx, A):
        U, S, Vh = torch.linalg.svd(A)
        Q = U @ Vh
        ctx.save_for_backward(Q, U, S, Vh)
        return Q

    @staticmethod
    def backward(ctx, g):
        Q, U, S, Vh = ctx.saved_tensors
        inner = U.t() @ g @ Vh.t()
        inner = (inner - inner.t()) / (S[:, None] + S[None, :])
        return U @ inner @ Vh


CASES = [
    Case("householder product", HouseholderProduct.apply, (normal(2, 3), normal(3))),
    Case("givens rotation", GivensRotation.apply, (normal(4), normal(2))),
    Case("cayley", Cayley.apply, (normal(3, 3),), torch_second="wrong"),
    Case("gram-schmidt", GramSchmidt.apply, (regular(3),)),
    Case("rodrigues", Rodrigues.apply, (positive(3),)),
    Case("quaternion rotation", QuaternionRotate.apply, (normal(4), normal(3))),
    Case("tangent of the stiefel manifold", StiefelTangent.apply, (uniform(3, 2),), exact=False),
    Case("polar projection", PolarProjection.apply, (regular(3),), torch_second="wrong"),
]
