"""Faults of writing in place, of marks, and of state."""

import numpy as np
import torch
from torch.autograd import Function

X = np.array([0.4, -0.7, 1.3])
M = np.array([[0.5, 1.5, -0.5], [2.0, 0.3, 1.1]])


# expect: input-written PB401
class DoublesInPlace(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        return x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


# expect: input-written PB401
class ClipsItsInput(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        x[x < 0] = 0
        ctx.save_for_backward(x)
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x > 0)


# expect: input-written PB401
class AddsToItsInput(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        x += y
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


# expect: forward-raises PB402
class MarksALocal(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        y.mul_(2)
        ctx.mark_dirty(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


# expect: forward-raises PB402
class MarksItsResult(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.mark_dirty(y)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y


# expect: forward-raises PB405
class DirtyNotReturned(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


# expect: forward-raises PB405
class DirtyAndSomethingElse(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


# expect: cotangent-written PB403
class TriplesTheCotangent(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return 3 * x

    @staticmethod
    def backward(ctx, grad):
        grad *= 3
        return grad


# expect: cotangent-written PB403
class ZeroesTheCotangent(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        grad[x < 0] = 0
        return grad


# expect: cotangent-written PB403
class NegatesAView(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        return -x

    @staticmethod
    def backward(ctx, grad_output):
        flat = grad_output.view(-1)
        flat.neg_()
        return grad_output


# expect: saved-value-written PB404
class SigmoidWritesItsOutput(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return y.mul_(1 - y) * grad


# expect: saved-value-written PB404
class SquareWritesItsInput(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        x *= 2
        return x * grad


# expect: PB406
class FloatMask(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        mask = (x > 0).to(x.dtype)
        ctx.save_for_backward(mask)
        return x * mask, mask

    @staticmethod
    def backward(ctx, grad, _):
        (mask,) = ctx.saved_tensors
        return grad * mask


# expect: PB406
class FloatIndex(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        y, index = torch.max(x, dim=1)
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        where = index.double()
        return y, where

    @staticmethod
    def backward(ctx, grad, _):
        (index,) = ctx.saved_tensors
        return torch.zeros(ctx.shape, dtype=grad.dtype).scatter(1, index[:, None], grad[:, None])


# expect: PB407
class IndexUnmarked(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        y, index = x.max(dim=1)
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return y, index

    @staticmethod
    def backward(ctx, grad, _):
        (index,) = ctx.saved_tensors
        return torch.zeros(ctx.shape, dtype=grad.dtype).scatter(1, index[:, None], grad[:, None])


# expect: PB407
class MaskUnmarked(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(mask)
        return x * mask, mask

    @staticmethod
    def backward(ctx, grad, _):
        (mask,) = ctx.saved_tensors
        return grad * mask


# expect: state-on-class state-shared PB601
class StateOnTheClass(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        StateOnTheClass.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * StateOnTheClass.x * grad


# expect: state-on-class state-shared PB601
class StateOnCls(Function):
    samples = [(X,)]

    @classmethod
    def forward(cls, ctx, x):
        cls.kept = x
        return torch.exp(x)

    @classmethod
    def backward(cls, ctx, grad):
        return grad * torch.exp(cls.kept)


cache = {}


# expect: state-shared PB603
class StateInTheModule(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        cache["x"] = x
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * cache["x"] * grad


last = None


# expect: state-shared PB603
class StateInAGlobal(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        global last
        last = x
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        return 3 * last * last * grad


def _with_a_list():
    stack = []

    # expect: state-shared PB603
    class StateInAClosure(Function):
        samples = [(X,)]

        @staticmethod
        def forward(ctx, x):
            stack.append(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * stack[-1] * grad

    return StateInAClosure


StateInAClosure = _with_a_list()

weight = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)


# expect: captured-tensor PB503
class CapturesAGlobal(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return x * weight

    @staticmethod
    def backward(ctx, grad):
        return grad * weight


def _captured():
    scale = torch.tensor([2.0, 1.0, 0.5], dtype=torch.float64).requires_grad_()

    # expect: captured-tensor PB503
    class CapturesInAClosure(Function):
        samples = [(X,)]

        @staticmethod
        def forward(ctx, x):
            return torch.exp(x) * scale

        @staticmethod
        def backward(ctx, grad):
            return grad

    return CapturesInAClosure


CapturesInAClosure = _captured()
