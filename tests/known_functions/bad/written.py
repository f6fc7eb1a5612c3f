"""Faults of how a class is written and called: they show in the source."""

import numpy as np
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

X = np.array([0.4, -0.7, 1.3])


# expect: PB101
class NotStatic(Function):
    samples = [(X,)]

    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


# expect: PB101
class BackwardNotStatic(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return -x

    def backward(ctx, grad):
        return -grad


# expect: PB102
class SelfForCtx(Function):
    samples = [(X,)]

    @staticmethod
    def forward(self, x):
        self.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(self, grad):
        (x,) = self.saved_tensors
        return 2 * x * grad


# expect: PB102
class ClsForCtx(Function):
    samples = [(X,)]

    @staticmethod
    def forward(cls, x):
        return 4 * x

    @staticmethod
    def backward(cls, grad):
        return 4 * grad


# expect: forward-raises backward-raises PB104
class SavesOnTheClass(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        SavesOnTheClass.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


# expect: forward-raises backward-raises input-written PB104
class MarksOnTheClass(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        MarksOnTheClass.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


# expect: backward-raises PB106
class SavedVariables(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_variables
        return 2 * x * grad


# expect: PB106
class WithInit(Function):
    samples = [(X,)]

    def __init__(self, factor):
        self.factor = factor

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


# expect: forward-raises backward-raises gradient-count PB107
class CtxBesideSetup(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


# expect: forward-raises backward-raises PB602
class StateOnSelf(Function):
    samples = [(X,)]

    def forward(self, ctx, x):
        self.x = x
        return x * x

    def backward(self, ctx, grad):
        return 2 * self.x * grad


# expect: forward-raises backward-raises PB602
class FactorOnSelf(Function):
    samples = [(X,)]

    def forward(self, ctx, x):
        self.factor = 3.0
        return x * self.factor

    def backward(self, ctx, grad):
        return grad * self.factor


class Double(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


# expect: PB103
def instance_called(x):
    return Double()(x)


# expect: PB103
def class_called(x):
    return Double(x)


# expect: PB103
def held_instance_called(x):
    double = Double()
    return double(x)


_ = (torch, once_differentiable)
