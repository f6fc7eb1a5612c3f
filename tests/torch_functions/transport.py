"""Optimal transport: Sinkhorn iterations, their adjoints, one-dimensional distances."""

import torch
from torch.autograd import Function

from torch_functions.case import Case, constant, normal, positive, spread, uniform


class SinkhornImplicit(Function):
    """Log-domain iterations; the derivative solves a linear system (Eisenberger et al. 2022)."""

    @staticmethod
    def forward(ctx, c, a, b, num_sink, lambd):
        log_p = -c / lambd
        log_a, log_b = torch.log(a).unsqueeze(1), torch.log(b).unsqueeze(0)
        for _ in range(num_sink):
            log_p = log_p - (torch.logsumexp(log_p, dim=0, keepdim=True) - log_b)
            log_p = log_p - (torch.logsumexp(log_p, dim=1, keepdim=True) - log_a)
        p = torch.exp(log_p)
        ctx.save_for_backward(p, p.sum(1), p.sum(0))
        ctx.lambd = lambd
        return p

    @staticmethod
    def backward(ctx, grad_p):
        p, a, b = ctx.saved_tensors
        m, n = p.shape
        grad_p = grad_p * (-1 / ctx.lambd) * p
        K = torch.cat((torch.cat((torch.diag(a), p), dim=1), torch.cat((p.t(), torch.diag(b)), dim=1)), dim=0)[:-1, :-1]
        t = torch.cat((grad_p.sum(1), grad_p[:, :-1].sum(0)), dim=0).unsqueeze(-1)
        grad_ab = torch.linalg.solve(K, t).squeeze(-1)
        grad_a, grad_b = grad_ab[:m], torch.cat((grad_ab[m:], torch.zeros(1, dtype=p.dtype)))
        U = grad_a.unsqueeze(1) + grad_b.unsqueeze(0)
        grad_c = grad_p - p * U
        return grad_c, -ctx.lambd * grad_a, -ctx.lambd * grad_b, None, None


class SinkhornUnrolled(Function):
    """The adjoint of the iterations, with every u and v kept in lists on ctx."""

    @staticmethod
    def forward(ctx, K, iters):
        n = K.size(0)
        u = torch.ones(n, dtype=K.dtype)
        ctx.us, ctx.vs = [u], []
        for _ in range(iters):
            v = 1.0 / K.t().mv(u)
            u = 1.0 / K.mv(v)
            ctx.us.append(u)
            ctx.vs.append(v)
        ctx.save_for_backward(K)
        return u[:, None] * K * v[None, :]

    @staticmethod
    def backward(ctx, g):
        (K,) = ctx.saved_tensors
        us, vs = ctx.us, ctx.vs
        u, v = us[-1], vs[-1]
        gK = g * u[:, None] * v[None, :]
        gu = (g * K * v[None, :]).sum(1)
        gv = (g * K * u[:, None]).sum(0)
        for k in range(len(vs) - 1, -1, -1):
            d = -gu * us[k + 1] ** 2
            gK = gK + d[:, None] * vs[k][None, :]
            gv = gv + K.t().mv(d)
            e = -gv * vs[k] ** 2
            gK = gK + us[k][:, None] * e[None, :]
            gu = K.mv(e)
            gv = torch.zeros_like(gv)
        return gK, None


class EntropicCost(Function):
    """The regularised cost: its gradient is the plan (Danskin), whatever the iterations were."""

    @staticmethod
    def forward(ctx, C, eps):
        n, m = C.shape
        f = C.new_zeros(n)
        for _ in range(40):
            g = -eps * torch.logsumexp((f[:, None] - C) / eps - torch.log(torch.tensor(float(n))), 0)
            f = -eps * torch.logsumexp((g[None, :] - C) / eps - torch.log(torch.tensor(float(m))), 1)
        plan = torch.exp((f[:, None] + g[None, :] - C) / eps) / (n * m)
        ctx.save_for_backward(plan)
        return f.mean() + g.mean()

    @staticmethod
    def backward(ctx, grad):
        (plan,) = ctx.saved_tensors
        return plan * grad, None


class Wasserstein1d(Function):
    """Sorted samples against each other; the permutations are kept, both gradients scattered back."""

    @staticmethod
    def forward(ctx, x, y):
        xs, ix = torch.sort(x)
        ys, iy = torch.sort(y)
        diff = xs - ys
        ctx.save_for_backward(diff, ix, iy)
        return (diff**2).mean()

    @staticmethod
    def backward(ctx, g):
        diff, ix, iy = ctx.saved_tensors
        grad = 2 * g * diff / diff.numel()
        gx = torch.empty_like(grad)
        gx[ix] = grad
        gy = torch.empty_like(grad).index_copy_(0, iy, -grad)
        return gx, gy


class WassersteinCdf(Function):
    """W1 of histograms: the sum of absolute differences of the cumulated ones."""

    @staticmethod
    def forward(ctx, p, q):
        d = torch.cumsum(p - q, -1)
        ctx.save_for_backward(torch.sign(d))
        return d.abs().sum(-1)

    @staticmethod
    def backward(ctx, g):
        (s,) = ctx.saved_tensors
        grad = g.unsqueeze(-1) * s.flip(-1).cumsum(-1).flip(-1)
        return grad, -grad


class DoublyStochasticProjection(Function):
    """One step of alternating means, linear: the adjoint is the same map."""

    @staticmethod
    def forward(ctx, X):
        n = X.size(0)
        return X - X.mean(0, keepdim=True) - X.mean(1, keepdim=True) + X.mean() + 1.0 / n

    @staticmethod
    def backward(ctx, g):
        return g - g.mean(0, keepdim=True) - g.mean(1, keepdim=True) + g.mean()


def with_marginals(c, a, b):
    return SinkhornImplicit.apply(c, a, b, 50, 1.0)


MARGINALS = constant([0.2, 0.3, 0.5]), constant([0.4, 0.35, 0.25])

CASES = [
    Case("sinkhorn, implicit", with_marginals, (positive(3, 3), *MARGINALS)),
    Case("sinkhorn, unrolled", lambda k: SinkhornUnrolled.apply(k, 3), (positive(3, 3),), torch_second="wrong"),
    Case(
        "entropic cost",
        lambda c: EntropicCost.apply(c, 1.0),
        (uniform(2, 3),),
        torch_second="wrong",
        loose=1e-7,
        smooth=False,
    ),
    Case("wasserstein of samples", Wasserstein1d.apply, (spread(4), spread(4, gap=0.13)), torch_second="wrong"),
    Case("wasserstein of histograms", WassersteinCdf.apply, (normal(2, 4), normal(2, 4))),
    Case("doubly stochastic step", DoublyStochasticProjection.apply, (normal(3, 3),)),
]
