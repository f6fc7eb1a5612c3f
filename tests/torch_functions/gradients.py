"""Identities forward that change the gradient: reversal, scaling, clipping, switches."""

import torch
from torch.autograd import Function

from torch_functions.case import Case, constant, normal, positive, spread


class GradReverse(Function):
    """From domain adaptation: view_as forward, negated and scaled backward."""

    @staticmethod
    def forward(ctx, x, constant):
        ctx.constant = constant
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.constant, None


class ReverseLayerF(Function):
    """The input itself is returned."""

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x

    @staticmethod
    def backward(ctx, grad_output):
        output = grad_output.neg() * ctx.alpha
        return output, None


class GradientScale(Function):
    """With the scale as a Tensor, which is saved and gets no gradient."""

    @staticmethod
    def forward(ctx, input_, scale):
        scale_ = torch.tensor(scale, dtype=input_.dtype) if not torch.is_tensor(scale) else scale
        ctx.save_for_backward(input_, scale_)
        return input_.clone()

    @staticmethod
    def backward(ctx, grad_output):
        _, scale = ctx.saved_tensors
        return scale * grad_output, None


class ClipGradValue(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.low, ctx.high = low, high
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        g = g.clamp(ctx.low, ctx.high)
        return g, None, None


class ClipGradNorm(Function):
    """Rescales the gradient of each row to a largest norm."""

    @staticmethod
    def forward(ctx, x, max_norm):
        ctx.max_norm = max_norm
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        norm = g.norm(dim=-1, keepdim=True)
        factor = torch.clamp(ctx.max_norm / (norm + 1e-6), max=1.0)
        return g * factor, None


class NormalizedGradient(Function):
    """In place on the incoming gradient, as people do to save memory."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g.div_(g.abs().sum() + 1e-8)
        return g


class LowerBound(Function):
    """max(x, bound), with the gradient let through where it points upwards (compression models)."""

    @staticmethod
    def forward(ctx, inputs, bound):
        b = torch.ones(inputs.size(), dtype=inputs.dtype) * bound
        ctx.save_for_backward(inputs, b)
        return torch.max(inputs, b)

    @staticmethod
    def backward(ctx, grad_output):
        inputs, b = ctx.saved_tensors
        pass_through_1 = inputs >= b
        pass_through_2 = grad_output < 0
        pass_through = pass_through_1 | pass_through_2
        return pass_through.type(grad_output.dtype) * grad_output, None


class StopFirst(Function):
    """A sum of which one part is meant as a constant: None for it."""

    @staticmethod
    def forward(ctx, a, b):
        return a * 2 + b * 3

    @staticmethod
    def backward(ctx, g):
        return None, g * 3


class ExtraGradients(Function):
    """Returns more than there are inputs; the rest is None."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos(), None, None, None


class SwapGradients(Function):
    """Two outputs whose gradients are exchanged (a surrogate for both)."""

    @staticmethod
    def forward(ctx, a, b):
        return a.clone(), b.clone()

    @staticmethod
    def backward(ctx, ga, gb):
        return gb, ga


class ReplaceGradient(Function):
    """Value of the first, gradient to the second."""

    @staticmethod
    def forward(ctx, x_forward, x_backward):
        ctx.shape = x_backward.shape
        return x_forward

    @staticmethod
    def backward(ctx, g):
        return None, g.sum_to_size(ctx.shape)


class ScheduledDropGrad(Function):
    """Gradient masked by a given mask, multiplied in place on a clone."""

    @staticmethod
    def forward(ctx, x, mask):
        ctx.mask = mask
        return x + 0

    @staticmethod
    def backward(ctx, g):
        return g.clone().mul_(ctx.mask.to(g.dtype)), None


class HookedIdentity(Function):
    """A callback sees each gradient; `print` in its place is usual."""

    seen = []

    @staticmethod
    def forward(ctx, x, callback):
        ctx.callback = callback
        return x.view(x.shape)

    @staticmethod
    def backward(ctx, g):
        ctx.callback(g)
        return g, None


class ScaleGradSetup(Function):
    """The newer form, with setup_context."""

    @staticmethod
    def forward(x, scale):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.scale = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale, None

    @staticmethod
    def jvp(ctx, x_t, scale_t):
        return x_t * ctx.scale


CASES = [
    Case("gradient reversal", lambda x: GradReverse.apply(x, 0.5), (normal(2, 3),), exact=False),
    Case("reversal of the input itself", lambda x: ReverseLayerF.apply(x, 0.5), (normal(3),), exact=False),
    Case("gradient scale", lambda x: GradientScale.apply(x, 0.25), (normal(3),), exact=False),
    Case("clipped gradient", lambda x: ClipGradValue.apply(x, -1.0, 1.0), (normal(4),), exact=False),
    Case("clipped norm", lambda x: ClipGradNorm.apply(x, 1.0), (normal(2, 3),), exact=False),
    Case("normalised gradient", NormalizedGradient.apply, (normal(3),), exact=False, torch_second="raises"),
    Case("lower bound", lambda x: -LowerBound.apply(x, 0.1), (spread(6, gap=0.3),), exact=False),
    Case("gradient for one", StopFirst.apply, (normal(3), normal(3)), exact=False),
    Case("extra gradients", ExtraGradients.apply, (normal(3),)),
    Case("swapped gradients", SwapGradients.apply, (normal(3), normal(3)), exact=False),
    Case("replaced gradient", ReplaceGradient.apply, (normal(2, 3), normal(3)), exact=False),
    Case("masked gradient", ScheduledDropGrad.apply, (normal(3), constant([True, False, True])), exact=False),
    Case("seen gradient", lambda x: HookedIdentity.apply(x, HookedIdentity.seen.append), (normal(3),)),
    Case("scaled gradient with setup_context", lambda x: ScaleGradSetup.apply(x, 3.0), (positive(3),), exact=False),
]
