"""Softmax and its relatives: sparsemax, entmax, with shared denominators, with temperatures."""

import torch
from torch.autograd import Function

from torch_functions.case import Case, constant, normal, positive, spread


def _make_ix_like(X, dim):
    d = X.size(dim)
    rho = torch.arange(1, d + 1, device=X.device, dtype=X.dtype)
    view = [1] * X.dim()
    view[0] = -1
    return rho.view(view).transpose(0, dim)


class SparsemaxFunction(Function):
    @classmethod
    def forward(cls, ctx, X, dim=-1):
        ctx.dim = dim
        max_val, _ = X.max(dim=dim, keepdim=True)
        X = X - max_val  # same numerical stability trick as softmax
        tau, supp_size = cls._threshold_and_support(X, dim=dim)
        output = torch.clamp(X - tau, min=0)
        ctx.save_for_backward(supp_size, output)
        return output

    @classmethod
    def backward(cls, ctx, grad_output):
        supp_size, output = ctx.saved_tensors
        dim = ctx.dim
        grad_input = grad_output.clone()
        grad_input[output == 0] = 0

        v_hat = grad_input.sum(dim=dim) / supp_size.to(output.dtype).squeeze(dim)
        v_hat = v_hat.unsqueeze(dim)
        grad_input = torch.where(output != 0, grad_input - v_hat, grad_input)
        return grad_input, None

    @staticmethod
    def _threshold_and_support(X, dim):
        topk, _ = torch.sort(X, dim=dim, descending=True)
        topk_cumsum = topk.cumsum(dim) - 1
        rhos = _make_ix_like(topk, dim)
        support = rhos * topk > topk_cumsum
        support_size = support.sum(dim=dim).unsqueeze(dim)
        tau = topk_cumsum.gather(dim, support_size - 1)
        tau /= support_size.to(X.dtype)
        return tau, support_size


class Entmax15Function(Function):
    @staticmethod
    def forward(ctx, X, dim=0):
        ctx.dim = dim
        max_val, _ = X.max(dim=dim, keepdim=True)
        X = (X - max_val) / 2
        Xsrt, _ = torch.sort(X, descending=True, dim=dim)
        rho = _make_ix_like(Xsrt, dim)
        mean = Xsrt.cumsum(dim) / rho
        mean_sq = (Xsrt**2).cumsum(dim) / rho
        ss = rho * (mean_sq - mean**2)
        delta = (1 - ss) / rho
        delta_nz = torch.clamp(delta, 0)
        tau = mean - torch.sqrt(delta_nz)
        support_size = (tau <= Xsrt).sum(dim).unsqueeze(dim)
        tau_star = tau.gather(dim, support_size - 1)
        Y = torch.clamp(X - tau_star, min=0) ** 2
        ctx.save_for_backward(Y)
        return Y

    @staticmethod
    def backward(ctx, dY):
        (Y,) = ctx.saved_tensors
        gppr = Y.sqrt()  # = 1 / g'' (Y)
        dX = dY * gppr
        q = dX.sum(ctx.dim) / gppr.sum(ctx.dim)
        q = q.unsqueeze(ctx.dim)
        dX -= q * gppr
        return dX, None


class EntmaxBisect(Function):
    @classmethod
    def _gp(cls, x, alpha):
        return x ** (alpha - 1)

    @classmethod
    def _p(cls, X, alpha):
        return torch.clamp(X, min=0) ** (1 / (alpha - 1))

    @classmethod
    def forward(cls, ctx, X, alpha=1.5, dim=-1, n_iter=60):
        ctx.alpha, ctx.dim = alpha, dim
        d = X.shape[dim]
        X = X * (alpha - 1)
        max_val, _ = X.max(dim=dim, keepdim=True)
        tau_lo = max_val - cls._gp(1, alpha)
        tau_hi = max_val - cls._gp(1 / d, alpha)
        f_lo = cls._p(X - tau_lo, alpha).sum(dim) - 1
        dm = tau_hi - tau_lo
        for _ in range(n_iter):
            dm /= 2
            tau_m = tau_lo + dm
            p_m = cls._p(X - tau_m, alpha)
            f_m = p_m.sum(dim) - 1
            mask = (f_m * f_lo >= 0).unsqueeze(dim)
            tau_lo = torch.where(mask, tau_m, tau_lo)
        p_m /= p_m.sum(dim=dim).unsqueeze(dim=dim)
        ctx.save_for_backward(p_m)
        return p_m

    @classmethod
    def backward(cls, ctx, dY):
        (Y,) = ctx.saved_tensors
        gppr = torch.where(Y > 0, Y ** (2 - ctx.alpha), Y.new_zeros(1))
        dX = dY * gppr
        q = dX.sum(ctx.dim) / gppr.sum(ctx.dim)
        q = q.unsqueeze(ctx.dim)
        dX -= q * gppr
        return dX, None, None, None


class Softmax(torch.autograd.Function):
    """With the result as a ctx attribute."""

    @staticmethod
    def forward(ctx, x):
        e = torch.exp(x - torch.max(x, dim=1, keepdim=True).values)
        ctx.y = e / e.sum(1, keepdim=True)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        y = ctx.y
        inner = (grad_output * y).sum(dim=1, keepdim=True)
        return y * (grad_output - inner)


class LogSoftmaxJacobian(Function):
    """The full Jacobian, multiplied out."""

    @staticmethod
    def forward(ctx, x):
        out = x - x.logsumexp(-1, keepdim=True)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        p = ctx.saved_tensors[0].exp()
        n = p.size(-1)
        jac = torch.eye(n, dtype=p.dtype).expand(*p.shape[:-1], n, n) - p.unsqueeze(-2)
        return torch.bmm(g.unsqueeze(1), jac).squeeze(1)


class SoftmaxOne(Function):
    """exp(x) / (1 + sum exp(x)): attention that may look at nothing."""

    @staticmethod
    def forward(ctx, x, dim):
        m = x.amax(dim, keepdim=True).clamp(min=0)
        num = (x - m).exp()
        den = num.sum(dim, keepdim=True) + (-m).exp()
        ctx.save_for_backward(num, den)
        ctx.dim = dim
        return num / den

    @staticmethod
    def backward(ctx, grad):
        num, den = ctx.saved_tensors
        y = num / den
        return y * grad - y * (y * grad).sum(ctx.dim, keepdim=True), None


class MaskedSoftmax(Function):
    @staticmethod
    def forward(ctx, scores, mask):
        scores = scores.masked_fill(~mask, -float("inf"))
        y = torch.softmax(scores, -1)
        y = torch.where(torch.isnan(y), torch.zeros_like(y), y)
        ctx.save_for_backward(y, mask)
        return y

    @staticmethod
    def backward(ctx, dy):
        y, mask = ctx.saved_tensors
        dx = y * (dy - (dy * y).sum(-1, keepdim=True))
        return dx.masked_fill_(~mask, 0), None


class Temperature(Function):
    """Softmax with a learned temperature; two gradients."""

    @staticmethod
    def forward(ctx, x, t):
        z = x / t
        y = torch.softmax(z, dim=-1)
        ctx.save_for_backward(x, t, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, t, y = ctx.saved_tensors
        dz = y * (g - (g * y).sum(-1, keepdim=True))
        grad_t = -(dz * x).sum() / t**2
        return dz / t, grad_t


class Gumbel(Function):
    """Hard sample forward, soft gradient; the soft sample is an extra output."""

    @staticmethod
    def forward(ctx, logits, noise, tau):
        soft = torch.softmax((logits + noise) / tau, dim=-1)
        index = soft.max(-1, keepdim=True)[1]
        hard = torch.zeros_like(logits).scatter_(-1, index, 1.0)
        ctx.tau = tau
        ctx.save_for_backward(soft)
        return hard, soft

    @staticmethod
    def backward(ctx, g_hard, g_soft):
        (soft,) = ctx.saved_tensors
        g = g_hard + g_soft
        return soft * (g - (g * soft).sum(-1, keepdim=True)) / ctx.tau, None, None


CASES = [
    Case("sparsemax", SparsemaxFunction.apply, (spread(2, 4, gap=0.2),)),
    Case("entmax 1.5", Entmax15Function.apply, (spread(4, 2, gap=0.05),)),
    Case("entmax by bisection", lambda x: EntmaxBisect.apply(x, 1.6), (spread(2, 3, gap=0.1),)),
    Case("softmax on ctx", Softmax.apply, (normal(2, 3),)),
    Case("log-softmax by its jacobian", LogSoftmaxJacobian.apply, (normal(2, 3),)),
    Case("softmax one", lambda x: SoftmaxOne.apply(x, -1), (spread(2, 3),), torch_second="wrong"),
    Case(
        "masked softmax",
        MaskedSoftmax.apply,
        (normal(2, 4), constant([[True, False, True, True], [True, True, False, False]])),
    ),
    Case("softmax with temperature", Temperature.apply, (normal(2, 3), positive())),
    Case("gumbel", lambda x, n: Gumbel.apply(x, n, 0.7), (normal(2, 3), constant(normal(2, 3))), exact=False),
]
