"""Quantisers that are trained: step sizes, clipping levels, tables, observers."""

import math

import numpy as np
import torch
from torch.autograd import Function

from torch_functions.case import Case, constant, normal, positive, uniform


class FunLSQ(Function):
    """Learned step size (Esser et al. 2020)."""

    @staticmethod
    def forward(ctx, weight, alpha, g, Qn, Qp):
        assert alpha > 0, f"alpha = {alpha}"
        ctx.save_for_backward(weight, alpha)
        ctx.other = g, Qn, Qp
        q_w = (weight / alpha).round().clamp(Qn, Qp)
        w_q = q_w * alpha
        return w_q

    @staticmethod
    def backward(ctx, grad_weight):
        weight, alpha = ctx.saved_tensors
        g, Qn, Qp = ctx.other
        q_w = weight / alpha
        indicate_small = (q_w < Qn).to(q_w.dtype)
        indicate_big = (q_w > Qp).to(q_w.dtype)
        indicate_middle = 1.0 - indicate_small - indicate_big
        grad_alpha = (
            ((indicate_small * Qn + indicate_big * Qp + indicate_middle * (-q_w + q_w.round())) * grad_weight * g)
            .sum()
            .unsqueeze(dim=0)
        )
        grad_weight = indicate_middle * grad_weight
        return grad_weight, grad_alpha, None, None, None


class PACT(Function):
    """Clipping at a learned level, then rounding (Choi et al. 2018)."""

    @staticmethod
    def forward(ctx, x, alpha, k):
        ctx.save_for_backward(x, alpha)
        y = torch.clamp(x, min=0, max=alpha.item())
        scale = (2**k - 1) / alpha
        y_q = torch.round(y * scale) / scale
        return y_q

    @staticmethod
    def backward(ctx, dLdy_q):
        x, alpha = ctx.saved_tensors
        lower_bound = x < 0
        upper_bound = x > alpha
        x_range = ~(lower_bound | upper_bound)
        grad_alpha = torch.sum(dLdy_q * torch.ge(x, alpha).to(x.dtype)).view(-1)
        return dLdy_q * x_range.to(x.dtype), grad_alpha, None


class DoReFaWeight(Function):
    @staticmethod
    def forward(ctx, x, bits):
        ctx.save_for_backward(x)
        n = float(2**bits - 1)
        t = torch.tanh(x)
        ctx.scale = 1 / t.abs().max().item()
        r = t * ctx.scale / 2 + 0.5
        return 2 * torch.round(r * n) / n - 1

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - torch.tanh(x) ** 2) * ctx.scale, None


class FakeQuantPerChannel(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin=-8, qmax=7):
        s = scale.view(-1, *([1] * (x.dim() - 1)))
        z = zero_point.view_as(s)
        q = torch.round(x / s) + z
        mask = (q >= qmin) & (q <= qmax)
        ctx.save_for_backward(mask)
        return (torch.clamp(q, qmin, qmax) - z) * s

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None, None


class UniformAffineNumpy(Function):
    """Quantised in NumPy, as deployment code does it."""

    @staticmethod
    def forward(ctx, x, bits=4):
        a = x.detach().cpu().numpy()
        lo, hi = a.min(), a.max()
        scale = (hi - lo) / (2**bits - 1)
        q = np.rint((a - lo) / scale)
        return torch.from_numpy(q * scale + lo).type_as(x)

    @staticmethod
    def backward(ctx, g):
        return g, None


class StochasticRound(Function):
    """Unbiased rounding with given noise."""

    @staticmethod
    def forward(ctx, x, noise, step):
        scaled = x / step
        low = torch.floor(scaled)
        up = (noise < scaled - low).type(x.dtype)
        return (low + up) * step

    @staticmethod
    def backward(ctx, grad):
        return grad.clone(), None, None


class LogQuant(Function):
    """Powers of two; the gradient of the magnitude is scaled by the ratio."""

    @staticmethod
    def forward(ctx, x):
        sign = torch.sign(x)
        exponent = torch.round(torch.log2(torch.abs(x) + 1e-8))
        out = sign * 2.0**exponent
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad):
        x, out = ctx.saved_tensors
        return grad * out.abs() / (x.abs() + 1e-8)


class ApotQuantize(Function):
    """To the nearest level of a table (additive powers of two)."""

    @staticmethod
    def forward(ctx, tensor, alpha, value_s):
        data = tensor.div(alpha).clamp(-1, 1)
        ctx.save_for_backward(tensor, data, alpha)
        shape = data.shape
        xhard = data.view(-1)
        sign = xhard.sign()
        idxs = (xhard.abs().unsqueeze(0) - value_s.unsqueeze(-1)).abs().min(dim=0)[1]
        xhard = value_s[idxs].view(shape).mul(sign.view(shape))
        ctx.xhard = xhard
        return xhard * alpha

    @staticmethod
    def backward(ctx, grad_output):
        tensor, data, alpha = ctx.saved_tensors
        i = (tensor.abs() > alpha).type_as(grad_output)
        sign = tensor.sign()
        grad_alpha = (grad_output * (sign * i + (ctx.xhard - data) * (1 - i))).sum()
        grad_input = grad_output * (1 - i)
        return grad_input, grad_alpha.reshape(alpha.shape), None


class SymQuantizerEma(Function):
    """A range from the data, kept in a buffer that belongs to the layer."""

    @staticmethod
    def forward(ctx, x, running, momentum, levels):
        peak = x.abs().max()
        running.mul_(1 - momentum).add_(momentum * peak)
        scale = levels / running
        ctx.save_for_backward(x)
        ctx.limit = float(running)
        return torch.round(x * scale).clamp_(-levels, levels) / scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        gx = g.clone()
        gx[x.ge(ctx.limit)] = 0
        gx[x.le(-ctx.limit)] = 0
        return gx, None, None, None


class DifferentiableSoftQuantization(Function):
    """A sum of tanh steps: an honest gradient, written out."""

    @staticmethod
    def forward(ctx, x, k, levels):
        total = torch.zeros_like(x)
        for m in levels:
            total += torch.tanh(k * (x - m))
        ctx.save_for_backward(x)
        ctx.k = k
        ctx.levels = levels
        return total / (2 * math.tanh(k / 2))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        slope = 0
        for m in ctx.levels:
            slope = slope + 1 - torch.tanh(ctx.k * (x - m)).pow(2)
        return grad_output * slope * ctx.k / (2 * math.tanh(ctx.k / 2)), None, None


def apot_levels(x, alpha):
    return ApotQuantize.apply(x, alpha, torch.tensor([0.0, 0.125, 0.25, 0.375, 0.5, 1.0], dtype=x.dtype))


def with_running_range(x):
    return SymQuantizerEma.apply(x, torch.full((1,), 1.2, dtype=x.dtype), 0.1, 7)


CASES = [
    Case(
        "lsq", lambda w, a: FunLSQ.apply(w, a, 0.3, -4, 3), (normal(2, 4), uniform(1, low=0.3, high=0.5)), exact=False
    ),
    Case("pact", lambda x, a: PACT.apply(x, a, 3), (uniform(7, low=-1, high=3), positive(1)), exact=False),
    Case(
        "dorefa weight",
        lambda x: DoReFaWeight.apply(x, 3),
        (normal(2, 3),),
        exact=False,
        torch_second="wrong",
        refused="second",
    ),
    Case(
        "fake quant per channel",
        FakeQuantPerChannel.apply,
        (normal(2, 4, scale=3.0), constant(np.array([0.25, 0.5])), constant(np.array([1.0, -1.0]))),
        exact=False,
    ),
    Case("uniform affine in numpy", UniformAffineNumpy.apply, (normal(5),), exact=False),
    Case(
        "stochastic round",
        lambda x, noise: StochasticRound.apply(x, noise, 0.25),
        (normal(4), constant(uniform(4))),
        exact=False,
    ),
    Case("log quant", LogQuant.apply, (normal(5),), exact=False, torch_second="meant"),
    Case("apot", apot_levels, (normal(2, 3), positive(1)), exact=False, torch_second="wrong"),
    Case("running range", with_running_range, (normal(6),), exact=False, refused="second"),
    Case(
        "soft quantisation",
        lambda x: DifferentiableSoftQuantization.apply(x, 2.0, (-1.0, 0.0, 1.0)),
        (normal(5),),
    ),
]
