"""A second example of each kind of fault that needs one."""

import numpy as np
import torch
from torch.autograd import Function

X = np.array([0.4, -0.7, 1.3])
M = np.array([[0.5, 1.5, -0.5], [2.0, 0.3, 1.1]])


# expect: wrong-second-derivative
class ReciprocalTwice(Function):
    """Right at first order; the rule's own rule has a wrong factor."""

    samples = [(X + 2,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return ReciprocalSlope.apply(grad, x)


class ReciprocalSlope(Function):
    @staticmethod
    def forward(ctx, grad, x):
        ctx.save_for_backward(grad, x)
        return -grad / (x * x)

    @staticmethod
    def backward(ctx, g):
        grad, x = ctx.saved_tensors
        return -g / (x * x), g * grad / (x * x * x)


# expect: broadcast-fails
class OuterShapeAssumed(Function):
    samples = [(M, M + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        gx = torch.empty(x.shape, dtype=grad.dtype)
        gx.copy_((grad * y * y)[: x.shape[0]])
        gy = torch.empty(y.shape, dtype=grad.dtype)
        gy.copy_((2 * grad * x * y)[: y.shape[0]])
        return gx, gy


# expect: empty-fails
class MaximumOfNothing(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        scale = x.max()
        return 2 * grad * (scale / scale)


# expect: overflow nan-gradient
class NaiveLogSumExp(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        y = torch.log(torch.exp(x).sum(dim=1, keepdim=True))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * torch.exp(x - y)


# expect: kink
class AbsoluteFromOutside(Function):
    samples = [(np.array([0.0, 2.0, -1.0]),)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.sign() + 3 * (x == 0))


# expect: not-repeatable
class PopsWhatItKept(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.factors = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0] * 40
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factors.pop(0)


# expect: undefined-cotangent
class MultipliesNone(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x.sum(dim=0), x.sum(dim=1)

    @staticmethod
    def backward(ctx, columns, rows):
        return columns[None, :] + rows[:, None]


# expect: jvp-disagrees
class JvpForgetsAnArgument(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    @staticmethod
    def jvp(ctx, tx, ty):
        x, y = ctx.saved_tensors
        return tx * y


# expect: dtype-fails
class OverflowsInSingle(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        big = x * 0 + 1e30
        return 2 * x * grad * ((big * big) / (big * big))


# expect: PB207
class SetsFlagsInBackward(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        ctx.mark_non_differentiable(grad)
        return 2 * x * grad


# expect: PB106
class VariableInForward(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * torch.autograd.Variable(grad)
