"""Faults in what is kept for backward."""

import numpy as np
import torch
from torch.autograd import Function

X = np.array([0.4, -0.7, 1.3])
M = np.array([[0.5, 1.5, -0.5], [2.0, 0.3, 1.1]])


# expect: intermediate-saved PB201
class ExpTimesX(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        e = torch.exp(x)
        ctx.save_for_backward(x, e)
        return e * x

    @staticmethod
    def backward(ctx, grad):
        x, e = ctx.saved_tensors
        return grad * (e + e * x)


# expect: intermediate-saved PB201
class SwishSavesSigmoid(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return grad_output * (s * (1 + x * (1 - s)))


# expect: intermediate-saved PB201
class NormaliseSavesNorm(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        norm = (x * x).sum(dim=1, keepdim=True).sqrt()
        y = x / norm
        ctx.save_for_backward(y, norm)
        return y

    @staticmethod
    def backward(ctx, g):
        y, norm = ctx.saved_tensors
        return (g - y * (g * y).sum(dim=1, keepdim=True)) / norm


# expect: intermediate-on-ctx PB202
class SinhOnCtx(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.p = torch.exp(x)
        ctx.m = torch.exp(-x)
        return (ctx.p - ctx.m) / 2

    @staticmethod
    def backward(ctx, grad):
        return grad * (ctx.p + ctx.m) / 2


# expect: intermediate-on-ctx PB202
class SquareOfSineOnCtx(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        s = x.sin()
        ctx.s, ctx.c = s, x.cos()
        return s * s

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.s * ctx.c


# expect: tensor-on-ctx PB203
class InputOnCtx(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        return 3 * grad * ctx.x * ctx.x


# expect: tensor-on-ctx PB203
class TwoInputsOnCtx(Function):
    samples = [(M, M + 1)]

    @staticmethod
    def forward(ctx, a, b):
        ctx.inputs = (a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.inputs
        return grad * b, grad * a


# expect: tensor-on-ctx leak PB203
class OutputOnCtx(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


# expect: tensor-on-ctx leak PB203
class TanhKeepsResult(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        result = torch.tanh(x)
        ctx.result = result
        return result

    @staticmethod
    def backward(ctx, grad):
        return grad * (1 - ctx.result * ctx.result)


# expect: backward-raises PB204
class SavesTwice(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        ctx.save_for_backward(y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x


# expect: backward-raises PB204
class SavesAgainInABranch(Function):
    samples = [(X, True)]

    @staticmethod
    def forward(ctx, x, keep):
        y = x * x
        ctx.save_for_backward(x, y)
        if keep:
            ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, _ = ctx.saved_tensors
        return 2 * x * grad, None


# expect: forward-raises backward-raises PB205
class SavesAShape(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x.shape)
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        _, shape = ctx.saved_tensors
        return grad.expand(shape)


# expect: forward-raises backward-raises PB205
class SavesANumber(Function):
    samples = [(X, 0.5)]

    @staticmethod
    def forward(ctx, x, factor: float):
        ctx.save_for_backward(factor)
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (factor,) = ctx.saved_tensors
        return grad * factor, None


# expect: forward-raises backward-raises PB205
class SavesAList(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward([x, y])
        return x * y

    @staticmethod
    def backward(ctx, grad):
        ((x, y),) = ctx.saved_tensors
        return grad * y, grad * x


# expect: backward-raises PB206
class UnpacksTooFew(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y


# expect: backward-raises PB206
class UnpacksTooMany(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        x, scale = ctx.saved_tensors
        return 2 * grad * x * scale


# expect: backward-raises PB207
class SavesInBackward(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        ctx.save_for_backward(grad)
        return 2 * x * grad


# expect: PB207
class MarksInBackward(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        ctx.set_materialize_grads(False)
        (x,) = ctx.saved_tensors
        return 2 * x * grad
