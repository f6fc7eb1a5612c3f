"""Decorators in the wrong order: on some versions of Python the class cannot even be made, so these are only read."""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


# expect: PB105
class OnceAbove(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @once_differentiable
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.cos(x)


# expect: PB105
class CustomForwardAbove(Function):
    @torch.amp.custom_fwd(device_type="cpu")
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad
