"""Activations, mostly written to save memory."""

import math

import torch
import torch.nn.functional as F
from torch.autograd import Function

from torch_functions.case import Case, constant, normal, positive, uniform


class SwishImplementation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i * torch.sigmoid(i)
        ctx.save_for_backward(i)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        i = ctx.saved_tensors[0]
        sigmoid_i = torch.sigmoid(i)
        return grad_output * (sigmoid_i * (1 + i * (1 - sigmoid_i)))


class SwishOldStyle(Function):
    """From the days of saved_variables and of in-place tricks."""

    @staticmethod
    def forward(ctx, i):
        result = i.clone().mul_(i.sigmoid())
        ctx.save_for_backward(i)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        i = ctx.saved_variables[0]
        s = i.sigmoid()
        return grad_output.mul(s.mul(i.mul(1 - s).add_(1)))


class MishFunction(Function):
    @staticmethod
    def forward(ctx, x):
        x_tanh_sp = F.softplus(x).tanh()
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(x)
        y = x.mul(x_tanh_sp)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x_sigmoid = torch.sigmoid(x)
        x_tanh_sp = F.softplus(x).tanh()
        return grad_output.mul(x_tanh_sp + x * x_sigmoid * (1 - x_tanh_sp * x_tanh_sp))


class MishIntermediate(Function):
    """With the tanh kept, which is neither input nor output."""

    @staticmethod
    def forward(ctx, x):
        tsp = torch.tanh(torch.log1p(torch.exp(x)))
        ctx.save_for_backward(x, tsp)
        return x * tsp

    @staticmethod
    def backward(ctx, g):
        x, tsp = ctx.saved_tensors
        return g * (tsp + x * torch.sigmoid(x) * (1 - tsp**2))


def gelu_bwd(g, x):
    tanh_out = torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x))
    ff = 0.5 * x * ((1 - tanh_out * tanh_out) * (0.79788456 + 0.1070322243 * x * x)) + 0.5 * (1 + tanh_out)
    return ff * g


class GeLUFunction(torch.autograd.Function):
    """The tanh approximation, with rounded constants in the backward."""

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input * 0.5 * (1.0 + torch.tanh(0.79788456 * input * (1 + 0.044715 * input * input)))

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return gelu_bwd(grad_output, input)


class GeluErf(Function):
    @staticmethod
    def forward(ctx, x):
        cdf = 0.5 * (1 + torch.erf(x / math.sqrt(2)))
        ctx.cdf = cdf
        ctx.save_for_backward(x)
        return x * cdf

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        pdf = torch.exp(-0.5 * x.pow(2)) / math.sqrt(2 * math.pi)
        return g * (ctx.cdf + x * pdf)


class HardSwish(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * F.relu6(x + 3) / 6

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0]
        m = torch.ones_like(x)
        m = torch.where((x < 3) & (x >= -3), x / 3 + 0.5, m)
        m = torch.where(x < -3, torch.zeros_like(x), m)
        return grad * m


class ELU(Function):
    """From the output: y + alpha where y is negative."""

    @staticmethod
    def forward(ctx, x, alpha=1.0):
        y = torch.where(x > 0, x, alpha * torch.expm1(x))
        ctx.save_for_backward(y)
        ctx.alpha = alpha
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, g, g * (y + ctx.alpha)), None


class PReLUFunction(Function):
    @staticmethod
    def forward(ctx, input, weight):
        ctx.save_for_backward(input, weight)
        return input.clamp(min=0) + weight.view(1, -1) * input.clamp(max=0)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        neg = input < 0
        grad_input = grad_output.clone()
        grad_input[neg] = (grad_output * weight.expand_as(input))[neg]
        grad_weight = (grad_output * input.clamp(max=0)).sum(0)
        return grad_input, grad_weight


class LeakyInplace(Function):
    """In place, from the output (which has the sign of the input)."""

    @staticmethod
    def forward(ctx, x, slope):
        x[x < 0] *= slope
        ctx.mark_dirty(x)
        ctx.slope = slope
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        grad = grad.clone()
        grad[y < 0] *= ctx.slope
        return grad, None


class Snake(Function):
    @staticmethod
    def forward(ctx, x, a):
        sin_ax = torch.sin(a * x)
        ctx.save_for_backward(x, a, sin_ax)
        return x + sin_ax.square() / a

    @staticmethod
    def backward(ctx, g):
        x, a, sin_ax = ctx.saved_tensors
        sin2 = torch.sin(2 * a * x)
        gx = ga = None
        if ctx.needs_input_grad[0]:
            gx = g * (1 + sin2)
        if ctx.needs_input_grad[1]:
            ga = (g * (x * sin2 / a - sin_ax**2 / a**2)).sum(0)
        return gx, ga


class Maxout(Function):
    """Largest of each group of channels; the index is kept."""

    @staticmethod
    def forward(ctx, x, groups):
        b, c = x.size()
        parts = x.view(b, c // groups, groups)
        y, idx = parts.max(2)
        ctx.save_for_backward(idx)
        ctx.in_size = x.size()
        ctx.groups = groups
        return y

    @staticmethod
    def backward(ctx, g):
        (idx,) = ctx.saved_tensors
        b, c = ctx.in_size
        out = torch.zeros(b, c // ctx.groups, ctx.groups, dtype=g.dtype)
        out.scatter_(2, idx.unsqueeze(2), g.unsqueeze(2))
        return out.view(b, c), None


class GLU(Function):
    """One half gates the other; everything saved."""

    @staticmethod
    def forward(ctx, x):
        a, b = x.chunk(2, dim=-1)
        s = b.sigmoid()
        ctx.save_for_backward(a, s)
        return a * s

    @staticmethod
    def backward(ctx, g):
        a, s = ctx.saved_tensors
        return torch.cat([g * s, g * a * s * (1 - s)], dim=-1)


class SquaredReluData(Function):
    """Reads .data in forward, out of habit."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.relu(x.data) ** 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * torch.relu(x)


class DropoutMask(Function):
    """Dropout with a given mask; the mask is saved, scaled."""

    @staticmethod
    def forward(ctx, x, mask, p):
        mask = mask.to(x.dtype).div_(1 - p)
        ctx.save_for_backward(mask)
        return x.mul(mask)

    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g, None, None


class SoftplusThreshold(Function):
    """Linear above a threshold; exp kept for the rest."""

    @staticmethod
    def forward(ctx, x, beta, threshold):
        z = torch.exp(beta * x)
        ctx.save_for_backward(z)
        ctx.beta = beta
        ctx.threshold = threshold
        return torch.where(beta * x > threshold, x, torch.log1p(z) / beta)

    @staticmethod
    def backward(ctx, g):
        (z,) = ctx.saved_tensors
        linear = z > math.exp(ctx.threshold)
        return torch.where(linear, g, g * z / (1 + z)), None, None


CASES = [
    Case("swish", SwishImplementation.apply, (normal(2, 3),)),
    Case("swish with saved_variables", SwishOldStyle.apply, (normal(4),), warns="'saved_variables'"),
    Case("mish", MishFunction.apply, (normal(4),)),
    Case("mish with its tanh", MishIntermediate.apply, (normal(4),), torch_second="wrong"),
    Case("gelu by tanh", GeLUFunction.apply, (normal(4),), loose=1e-7),
    Case("gelu by erf", GeluErf.apply, (normal(4),), torch_second="wrong"),
    Case("hard swish", HardSwish.apply, (uniform(5, low=-4, high=4),)),
    Case("elu", ELU.apply, (normal(5),)),
    Case("prelu", PReLUFunction.apply, (normal(3, 2), positive(2))),
    Case("leaky relu in place", lambda x: LeakyInplace.apply(x, 0.1), (normal(5),)),
    Case("snake", Snake.apply, (normal(3, 2), positive(2)), torch_second="wrong"),
    Case("maxout", lambda x: Maxout.apply(x, 2), (normal(2, 4),)),
    Case("glu", GLU.apply, (normal(2, 4),), torch_second="wrong"),
    Case("squared relu through data", SquaredReluData.apply, (normal(4),)),
    Case("dropout", lambda x, m: DropoutMask.apply(x, m, 0.5), (normal(5), constant([True, False, True, True, False]))),
    Case("softplus", lambda x: SoftplusThreshold.apply(x, 2.0, 3.0), (normal(5),), torch_second="wrong"),
]
