"""Distances between rows, neighbours, kernels, hyperbolic geometry."""

import torch
from torch.autograd import Function

from torch_functions.case import Case, definite, normal, positive, uniform


class PairwiseSquared(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return (x * x).sum(1)[:, None] + (y * y).sum(1)[None, :] - 2 * x @ y.t()

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        gx = 2 * (g.sum(1, keepdim=True) * x - g @ y)
        gy = 2 * (g.sum(0).unsqueeze(1) * y - g.t() @ x)
        return gx, gy


class CdistEuclidean(Function):
    """With the distances saved (an output), differences taken again."""

    @staticmethod
    def forward(ctx, x, y):
        d = (x.unsqueeze(1) - y.unsqueeze(0)).norm(dim=-1)
        ctx.save_for_backward(x, y, d)
        return d

    @staticmethod
    def backward(ctx, g):
        x, y, d = ctx.saved_tensors
        unit = (x.unsqueeze(1) - y.unsqueeze(0)) / d.unsqueeze(-1)
        t = g.unsqueeze(-1) * unit
        return t.sum(1), -t.sum(0)


class L1Distance(Function):
    """AdderNet: minus the L1 distance; full-precision gradient for weights, clipped one for inputs (a surrogate)."""

    @staticmethod
    def forward(ctx, W_col, X_col):
        ctx.save_for_backward(W_col, X_col)
        return -(W_col.unsqueeze(2) - X_col.unsqueeze(0)).abs().sum(1)

    @staticmethod
    def backward(ctx, grad_output):
        W_col, X_col = ctx.saved_tensors
        diff = X_col.unsqueeze(0) - W_col.unsqueeze(2)
        grad_W = (diff * grad_output.unsqueeze(1)).sum(2)
        grad_W = grad_W / grad_W.norm(p=2).clamp(min=1e-12) * (grad_W.size(1) * grad_W.size(0)) ** 0.5 / 5
        grad_X = (-diff.clamp(-1, 1) * grad_output.unsqueeze(1)).sum(0)
        return grad_W, grad_X


class KNNGather(Function):
    """Mean distance to the k nearest; indices are an output without a gradient."""

    @staticmethod
    def forward(ctx, x, y, k):
        d = torch.cdist(x, y)
        values, idx = d.topk(k, dim=1, largest=False)
        ctx.save_for_backward(x, y, idx)
        ctx.mark_non_differentiable(idx)
        return values.mean(1), idx

    @staticmethod
    def backward(ctx, g, _g_idx):
        x, y, idx = ctx.saved_tensors
        picked = y[idx]
        diff = x.unsqueeze(1) - picked
        unit = diff / diff.norm(dim=-1, keepdim=True)
        part = g[:, None, None] * unit / idx.size(1)
        gy = torch.zeros_like(y).index_add_(0, idx.reshape(-1), -part.reshape(-1, y.size(1)))
        return part.sum(1), gy, None


class Chamfer(Function):
    """Nearest neighbours both ways; the indices as ints on ctx."""

    @staticmethod
    def forward(ctx, a, b):
        d = ((a[:, None] - b[None]) ** 2).sum(-1)
        d1, i1 = d.min(1)
        d2, i2 = d.min(0)
        ctx.idx1, ctx.idx2 = i1.int(), i2.int()
        ctx.save_for_backward(a, b)
        return d1, d2

    @staticmethod
    def backward(ctx, g1, g2):
        a, b = ctx.saved_tensors
        i1, i2 = ctx.idx1.long(), ctx.idx2.long()
        t1 = 2 * g1[:, None] * (a - b[i1])
        t2 = 2 * g2[:, None] * (b - a[i2])
        ga = t1 - torch.zeros_like(a).index_add_(0, i2, t2)
        gb = t2 - torch.zeros_like(b).index_add_(0, i1, t1)
        return ga, gb


class RBFKernel(Function):
    """The covariance and its scaled distances kept (as in Gaussian process libraries)."""

    @staticmethod
    def forward(ctx, x1, x2, lengthscale):
        needs_grad = any(ctx.needs_input_grad)
        x1_, x2_ = x1.div(lengthscale), x2.div(lengthscale)
        sq = (x1_.unsqueeze(1) - x2_.unsqueeze(0)).pow(2).sum(-1)
        cov = sq.clone().div_(-2).exp_()
        if needs_grad:
            ctx.save_for_backward(x1, x2, lengthscale, sq, cov)
        return cov

    @staticmethod
    def backward(ctx, g):
        x1, x2, lengthscale, sq, cov = ctx.saved_tensors
        gc = g * cov
        diff = (x1.unsqueeze(1) - x2.unsqueeze(0)) / lengthscale**2
        part = gc.unsqueeze(-1) * diff
        g_len = (gc * sq / lengthscale).sum().view(lengthscale.shape)
        return -part.sum(1), part.sum(0), g_len


class Mahalanobis(Function):
    @staticmethod
    def forward(ctx, x, mu, P):
        d = x - mu
        Pd = d @ P
        ctx.save_for_backward(d, Pd)
        return 0.5 * (Pd * d).sum(-1)

    @staticmethod
    def backward(ctx, g):
        d, Pd = ctx.saved_tensors
        gd = g.unsqueeze(-1) * Pd
        gP = 0.5 * torch.einsum("n,ni,nj->ij", g, d, d)
        return gd, -gd.sum(0), gP


class PoincareDistance(Function):
    """Published with its constants on the function: eps, boundary, and grad() as a static helper."""

    eps = 1e-5
    boundary = 1 - eps

    @staticmethod
    def grad(x, v, sqnormx, sqnormv, sqdist):
        alpha = 1 - sqnormx
        beta = 1 - sqnormv
        z = 1 + 2 * sqdist / (alpha * beta)
        a = ((sqnormv - 2 * torch.sum(x * v, dim=-1) + 1) / torch.pow(alpha, 2)).unsqueeze(-1).expand_as(x)
        a = a * x - v / alpha.unsqueeze(-1).expand_as(v)
        z = torch.sqrt(torch.pow(z, 2) - 1)
        z = torch.clamp(z * beta, min=PoincareDistance.eps).unsqueeze(-1)
        return 4 * a / z.expand_as(x)

    @staticmethod
    def forward(ctx, u, v):
        squnorm = torch.clamp(torch.sum(u * u, dim=-1), 0, PoincareDistance.boundary)
        sqvnorm = torch.clamp(torch.sum(v * v, dim=-1), 0, PoincareDistance.boundary)
        sqdist = torch.sum(torch.pow(u - v, 2), dim=-1)
        ctx.save_for_backward(u, v, squnorm, sqvnorm, sqdist)
        x = sqdist / ((1 - squnorm) * (1 - sqvnorm)) * 2 + 1
        z = torch.sqrt(torch.pow(x, 2) - 1)
        return torch.log(x + z)

    @staticmethod
    def backward(ctx, g):
        u, v, squnorm, sqvnorm, sqdist = ctx.saved_tensors
        g = g.unsqueeze(-1)
        gu = PoincareDistance.grad(u, v, squnorm, sqvnorm, sqdist)
        gv = PoincareDistance.grad(v, u, sqvnorm, squnorm, sqdist)
        return g.expand_as(gu) * gu, g.expand_as(gv) * gv


class Artanh(Function):
    """Clamped inverse hyperbolic tangent (geometry libraries)."""

    @staticmethod
    def forward(ctx, x):
        x = x.clamp(-1 + 1e-5, 1 - 1e-5)
        ctx.save_for_backward(x)
        dtype = x.dtype
        x = x.double()
        return (torch.log_(1 + x).sub_(torch.log_(1 - x))).mul_(0.5).to(dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output / (1 - input**2)


class LorentzInner(Function):
    """The first coordinate counts negative; arcosh of minus the inner product."""

    @staticmethod
    def forward(ctx, u, v):
        uv = u * v
        uv.narrow(-1, 0, 1).mul_(-1)
        m = uv.sum(-1)
        ctx.save_for_backward(u, v, m)
        return torch.acosh(-m)

    @staticmethod
    def backward(ctx, g):
        u, v, m = ctx.saved_tensors
        s = -g / torch.sqrt(m * m - 1)
        s = s.unsqueeze(-1)
        gu = s * v
        gv = s * u
        sign = torch.ones_like(u[:1])
        sign[:, 0] = -1
        return gu * sign, gv * sign


def on_hyperboloid(u, v):
    def lift(x):
        return torch.cat([torch.sqrt(1 + (x * x).sum(-1, keepdim=True)), x], -1)

    return LorentzInner.apply(lift(u), lift(v))


CASES = [
    Case("pairwise squared distances", PairwiseSquared.apply, (normal(2, 3), normal(3, 3))),
    Case("pairwise distances", CdistEuclidean.apply, (normal(2, 3), normal(3, 3))),
    Case("l1 of adders", L1Distance.apply, (normal(2, 3), normal(3, 2)), exact=False),
    Case("nearest neighbours", lambda x, y: KNNGather.apply(x, y, 2), (normal(2, 2), normal(4, 2))),
    Case("chamfer", Chamfer.apply, (normal(3, 2), normal(4, 2))),
    Case("rbf kernel", RBFKernel.apply, (normal(2, 2), normal(3, 2), positive(1)), torch_second="wrong"),
    Case(
        "mahalanobis",
        lambda x, m, p: Mahalanobis.apply(x, m, (p + p.t()) / 2),
        (normal(3, 2), normal(2), definite(2)),
        torch_second="wrong",
    ),
    Case(
        "poincare distance",
        PoincareDistance.apply,
        (normal(2, 3, scale=0.2), normal(2, 3, scale=0.2)),
        torch_second="wrong",
    ),
    Case("artanh", Artanh.apply, (uniform(4, low=-0.9, high=0.9),), torch_second="wrong"),
    Case("lorentz distance", on_hyperboloid, (normal(3, 2), normal(3, 2)), torch_second="wrong"),
]
