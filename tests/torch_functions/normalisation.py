"""Normalisations: statistics kept from forward, sums over the batch in backward."""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from torch_functions.case import Case, normal, positive


class BatchNormAutograd(Function):
    """The textbook rule, with the normalised values kept."""

    @staticmethod
    def forward(ctx, x, gamma, beta, eps=1e-5):
        mu = x.mean(0)
        var = x.var(0, unbiased=False)
        std = torch.sqrt(var + eps)
        x_hat = (x - mu) / std
        ctx.save_for_backward(x_hat, gamma, std)
        ctx.eps = eps
        return gamma * x_hat + beta

    @staticmethod
    def backward(ctx, grad_output):
        x_hat, gamma, std = ctx.saved_tensors
        N = grad_output.shape[0]
        grad_x = grad_gamma = grad_beta = None
        if ctx.needs_input_grad[2]:
            grad_beta = grad_output.sum(0)
        if ctx.needs_input_grad[1]:
            grad_gamma = (grad_output * x_hat).sum(0)
        if ctx.needs_input_grad[0]:
            dx_hat = grad_output * gamma
            grad_x = (N * dx_hat - dx_hat.sum(0) - x_hat * (dx_hat * x_hat).sum(0)) / (N * std)
        return grad_x, grad_gamma, grad_beta, None


class BatchNormFunctional(Function):
    """The same with the input saved, and once_differentiable on top."""

    @staticmethod
    def forward(ctx, x, eps):
        mean = x.mean(dim=0, keepdim=True)
        inv_std = (x.var(dim=0, keepdim=True, unbiased=False) + eps).rsqrt()
        ctx.save_for_backward(x)
        ctx.mean, ctx.inv_std = mean, inv_std
        return (x - mean) * inv_std

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        xhat = (x - ctx.mean) * ctx.inv_std
        return ctx.inv_std * (g - g.mean(0, True) - xhat * (g * xhat).mean(0, True)), None


class LayerNormFunction(Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        ctx.eps = eps
        N, C, H = x.size()
        mu = x.mean(1, keepdim=True)
        var = (x - mu).pow(2).mean(1, keepdim=True)
        y = (x - mu) / (var + eps).sqrt()
        ctx.save_for_backward(y, var, weight)
        y = weight.view(1, C, 1) * y + bias.view(1, C, 1)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        eps = ctx.eps
        N, C, H = grad_output.size()
        y, var, weight = ctx.saved_variables
        g = grad_output * weight.view(1, C, 1)
        mean_g = g.mean(dim=1, keepdim=True)
        mean_gy = (g * y).mean(dim=1, keepdim=True)
        gx = 1.0 / torch.sqrt(var + eps) * (g - y * mean_gy - mean_g)
        return gx, (grad_output * y).sum(dim=2).sum(dim=0), grad_output.sum(dim=2).sum(dim=0), None


class RMSNorm(Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight

    @staticmethod
    def backward(ctx, dy):
        x, weight, rstd = ctx.saved_tensors
        m = dy * weight
        dx = rstd * m
        dx += rstd * (-(1 / x.shape[-1]) * rstd * rstd * (m * x).sum(-1, keepdim=True) * x)
        dw = (dy * (x * rstd)).sum(0)
        return dx, dw, None


class GroupNorm(Function):
    """Through views, back through views; in-place steps on what it made."""

    @staticmethod
    def forward(ctx, x, groups):
        n, c = x.shape
        v = x.reshape(n, groups, -1)
        centred = v - v.mean(-1, keepdim=True)
        rstd = centred.pow(2).mean(-1, keepdim=True).add_(1e-5).rsqrt_()
        out = centred.mul_(rstd)
        ctx.save_for_backward(out, rstd)
        ctx.groups = groups
        return out.view(n, c)

    @staticmethod
    def backward(ctx, g):
        out, rstd = ctx.saved_tensors
        n, c = g.shape
        g = g.reshape(n, ctx.groups, -1)
        gx = (g - g.mean(-1, keepdim=True) - out * (g * out).mean(-1, keepdim=True)) * rstd
        return gx.reshape(n, c), None


class WeightNorm(Function):
    @staticmethod
    def forward(ctx, v, g):
        norm = torch.norm(v, 2, 1, keepdim=True)
        ctx.save_for_backward(v, g, norm)
        return v * (g / norm)

    @staticmethod
    def backward(ctx, grad_w):
        v, g, norm = ctx.saved_tensors
        dot = (grad_w * v).sum(1, keepdim=True)
        grad_g = dot / norm
        grad_v = (g / norm) * grad_w - (g * dot / norm**3) * v
        return grad_v, grad_g


class SpectralNorm(Function):
    """W / sigma with u and v given: sigma = u' W v, both constant."""

    @staticmethod
    def forward(ctx, w, u, v):
        sigma = torch.dot(u, torch.mv(w, v))
        out = w / sigma
        ctx.sigma = sigma
        ctx.save_for_backward(out, u, v)
        return out

    @staticmethod
    def backward(ctx, grad):
        out, u, v = ctx.saved_tensors
        inner = (grad * out).sum()
        return (grad - inner * torch.ger(u, v)) / ctx.sigma, None, None


class L2Normalize(Function):
    @staticmethod
    def forward(ctx, x, dim):
        norm = x.norm(p=2, dim=dim, keepdim=True).clamp_min_(1e-12)
        y = x.div(norm)
        ctx.save_for_backward(y, norm)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        y, norm = ctx.saved_tensors
        return (g - y * (g * y).sum(ctx.dim, keepdim=True)) / norm, None


class Whiten(Function):
    """ZCA whitening of a batch; the square root of the covariance by eigenvalues, the adjoint by a Sylvester equation."""

    @staticmethod
    def forward(ctx, x):
        centred = x - x.mean(0)
        cov = centred.t() @ centred / x.size(0)
        s, U = torch.linalg.eigh(cov + 0.1 * torch.eye(x.size(1), dtype=x.dtype))
        W = U @ torch.diag(s.rsqrt()) @ U.t()
        ctx.save_for_backward(centred, s, U)
        return centred @ W

    @staticmethod
    def backward(ctx, g):
        centred, s, U = ctx.saved_tensors
        W = (U * s.rsqrt()) @ U.t()
        dW = centred.t() @ g
        # d(C^-1/2): in the eigenbasis each entry is divided by -(a b (a + b)), where a and b are square roots of s
        r = s.sqrt()
        inner = U.t() @ (dW + dW.t()) / 2 @ U
        inner = -inner / (r[:, None] * r[None, :] * (r[:, None] + r[None, :]))
        dcov = U @ inner @ U.t()
        dcentred = g @ W + centred @ (dcov + dcov.t()) / g.size(0)
        return dcentred - dcentred.mean(0)


class InplaceABN(Function):
    """Normalisation and leaky ReLU in one buffer: backward recovers the input from the output."""

    @staticmethod
    def forward(ctx, x, weight, bias, slope):
        mean, var = x.mean(0), x.var(0, unbiased=False)
        inv = (var + 1e-5).rsqrt()
        x.sub_(mean).mul_(inv).mul_(weight).add_(bias)
        x[x < 0] *= slope
        ctx.mark_dirty(x)
        ctx.slope = slope
        ctx.save_for_backward(x, inv, weight, bias)
        return x

    @staticmethod
    def backward(ctx, g):
        z, inv, weight, bias = ctx.saved_tensors
        y = torch.where(z < 0, z / ctx.slope, z)
        g = torch.where(z < 0, g * ctx.slope, g)
        xhat = (y - bias) / weight
        gw = (g * xhat).sum(0)
        gb = g.sum(0)
        gx = weight * inv * (g - gb / g.size(0) - xhat * gw / g.size(0))
        return gx, gw, gb, None


def spectral(w):
    u = torch.tensor([0.6, 0.8], dtype=w.dtype)
    v = torch.tensor([0.48, 0.6, 0.64], dtype=w.dtype)
    return SpectralNorm.apply(w, u, v)


CASES = [
    Case("batch norm", BatchNormAutograd.apply, (normal(4, 2), positive(2), normal(2)), torch_second="wrong"),
    Case(
        "batch norm, once",
        lambda x: BatchNormFunctional.apply(x, 1e-3),
        (normal(4, 2),),
        torch_second="wrong",
        refused="second",
    ),
    Case(
        "layer norm",
        lambda x, w, b: LayerNormFunction.apply(x, w, b, 1e-6),
        (normal(2, 3, 2), positive(3), normal(3)),
        torch_second="wrong",
        warns="'saved_variables'",
    ),
    Case("rms norm", lambda x, w: RMSNorm.apply(x, w, 1e-6), (normal(3, 4), positive(4)), torch_second="wrong"),
    Case("group norm", lambda x: GroupNorm.apply(x, 2), (normal(2, 6),), torch_second="wrong"),
    Case("weight norm", WeightNorm.apply, (normal(2, 3), positive(2, 1)), torch_second="wrong"),
    Case("spectral norm", spectral, (normal(2, 3),), torch_second="wrong"),
    Case("l2 normalize", lambda x: L2Normalize.apply(x, 1), (normal(2, 3),), torch_second="wrong"),
    Case("whitening", Whiten.apply, (normal(5, 3),), torch_second="wrong"),
    Case(
        "in-place abn",
        lambda x, w, b: InplaceABN.apply(x, w, b, 0.1),
        (normal(4, 2), positive(2), normal(2)),
        torch_second="wrong",
        refused="second",
    ),
]
