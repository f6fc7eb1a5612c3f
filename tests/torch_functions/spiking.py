"""Spikes: a step forward, a surrogate of its slope backward."""

import math

import torch
from torch.autograd import Function

from torch_functions.case import Case, normal, positive, spread


class SuperSpike(torch.autograd.Function):
    """The fast sigmoid, with its scale on the class."""

    scale = 10.0

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        out = torch.zeros_like(input)
        out[input > 0] = 1.0
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad = grad_input / (SuperSpike.scale * torch.abs(input) + 1.0) ** 2
        return grad


class ATan(Function):
    @staticmethod
    def forward(ctx, input_, alpha=2.0):
        ctx.save_for_backward(input_)
        ctx.alpha = alpha
        return (input_ > 0).float().to(input_.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (input_,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad = ctx.alpha / 2 / (1 + (torch.pi / 2 * ctx.alpha * input_).pow_(2)) * grad_input
        return grad, None


class Triangle(Function):
    @staticmethod
    def forward(ctx, x, gamma):
        out = (x > 0).type_as(x)
        ctx.save_for_backward(x, out, torch.tensor([gamma]))
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (x, out, others) = ctx.saved_tensors
        gamma = others[0].item()
        tmp = (1 / gamma) * (1 / gamma) * ((gamma - x.abs()).clamp(min=0))
        return grad_output * tmp, None


def gaussian(x, mu=0.0, sigma=0.5):
    return torch.exp(-((x - mu) ** 2) / (2 * sigma**2)) / math.sqrt(2 * math.pi) / sigma


class MultiGaussian(Function):
    """Adaptive spiking networks (Yin et al. 2021)."""

    lens = 0.5

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.gt(0).to(input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        scale, hight = 6.0, 0.15
        lens = MultiGaussian.lens
        temp = (
            gaussian(input, mu=0.0, sigma=lens) * (1.0 + hight)
            - gaussian(input, mu=lens, sigma=scale * lens) * hight
            - gaussian(input, mu=-lens, sigma=scale * lens) * hight
        )
        return grad_output * temp.float() * 0.5


class SpikeThreshold(Function):
    """A learned threshold, with a gradient of its own."""

    @staticmethod
    def forward(ctx, v, threshold):
        ctx.save_for_backward(v, threshold)
        return torch.gt(v, threshold).to(v.dtype)

    @staticmethod
    def backward(ctx, g):
        v, threshold = ctx.saved_tensors
        surrogate = torch.sigmoid(4 * (v - threshold))
        surrogate = 4 * surrogate * (1 - surrogate)
        gv = g * surrogate
        return gv, -gv.sum()


class ActFun(Function):
    """A box: the slope is 1 near the threshold."""

    @staticmethod
    def forward(ctx, input, thresh, lens):
        ctx.save_for_backward(input)
        ctx.thresh, ctx.lens = thresh, lens
        return input.gt(thresh).double()

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        temp = abs(input - ctx.thresh) < ctx.lens
        return grad_input * temp.double(), None, None


class ZIF(Function):
    """A factory's work: the constants live in a closure."""

    @staticmethod
    def make(gama):
        class Zif(Function):
            @staticmethod
            def forward(ctx, input):
                out = (input >= 0).to(input.dtype)
                L = torch.tensor([gama], dtype=input.dtype)
                ctx.save_for_backward(input, out, L)
                return out

            @staticmethod
            def backward(ctx, grad_output):
                input, _, others = ctx.saved_tensors
                tmp = (1 / others[0]) ** 2 * ((others[0] - input.abs()).clamp(min=0))
                return grad_output * tmp

        return Zif.apply


class LIFCell(Function):
    """One step of a neuron: spike, reset, both differentiated through the surrogate."""

    @staticmethod
    def forward(ctx, v, current, decay):
        u = decay * v + current
        spike = (u >= 1.0).to(u.dtype)
        ctx.save_for_backward(v, u, decay)
        return spike, u * (1 - spike)

    @staticmethod
    def backward(ctx, g_spike, g_v):
        v, u, decay = ctx.saved_tensors
        spike = (u >= 1.0).to(u.dtype)
        surrogate = 1 / (1 + 5 * (u - 1).abs()) ** 2
        g_u = g_spike * surrogate + g_v * (1 - spike) - g_v * u * surrogate
        return g_u * decay, g_u, (g_u * v).sum()


CASES = [
    Case("super spike", SuperSpike.apply, (normal(5),), exact=False),
    Case("arctan spike", ATan.apply, (normal(5),), exact=False),
    Case("triangle spike", lambda x: Triangle.apply(x, 0.9), (normal(5),), exact=False),
    Case("multi-gaussian spike", MultiGaussian.apply, (normal(5),), exact=False, loose=1e-6),
    Case("spike with threshold", SpikeThreshold.apply, (normal(5), positive()), exact=False),
    Case("box spike", lambda x: ActFun.apply(x, 0.3, 0.5), (spread(6),), exact=False),
    Case("zif", ZIF.make(0.8), (normal(5),), exact=False),
    Case("lif cell", LIFCell.apply, (normal(4), normal(4), positive()), exact=False, torch_second="wrong"),
]
