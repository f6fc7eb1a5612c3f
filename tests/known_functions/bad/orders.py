"""Faults that show at second order, and in layouts, dtypes, edges."""

import numpy as np
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

X = np.array([0.4, -0.7, 1.3])
M = np.array([[0.5, 1.5, -0.5], [2.0, 0.3, 1.1]])


# expect: graph-left-in-backward PB501
class SineDetached(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.cos(x.detach())


# expect: graph-left-in-backward PB501
class CubeThroughData(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].data
        return 3 * grad * x * x


# expect: graph-left-in-backward PB501
class ExpThroughNumpy(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.from_numpy(np.exp(x.detach().numpy()))


# expect: graph-left-in-backward PB501
class ScaleByItem(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sum()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        total = x.sum().item()
        return grad * total + (grad * x).sum()


# expect: graph-left-in-backward PB501
class WithoutRecording(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**4

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with torch.no_grad():
            slope = 4 * x**3
        return grad * slope


# expect: graph-left-in-backward PB501 PB502
class InnerGradient(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x) * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            again = x.detach().requires_grad_()
            y = torch.sin(again) * again
        (gx,) = torch.autograd.grad(y, again, grad)
        return gx


# expect: graph-left-in-backward PB501 PB502
class InnerBackward(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x) * x

    @staticmethod
    def backward(ctx, grad):
        again = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = torch.exp(again) * again
        torch.autograd.backward(y, grad)
        return again.grad


# expect: wrong-second-derivative gradient-missing wrong-gradient
class SecondFunctionForgetsATerm(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, grad, x):
        ctx.save_for_backward(grad, x)
        return grad * x * x

    @staticmethod
    def backward(ctx, g):
        grad, x = ctx.saved_tensors
        return g * x * x, g * grad * x


# expect: random-forward
class Dropout(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        mask = torch.from_numpy(np.random.default_rng().random(tuple(x.shape)))  # an unseeded generator
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, grad):
        (mask,) = ctx.saved_tensors
        return grad * mask


_counter = [0]


# expect: random-forward state-shared
class CountsItsCalls(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        _counter[0] += 1
        ctx.count = float(_counter[0])
        return x * ctx.count

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.count


# expect: layout-dependent
class ReadsMemoryOrder(Function):
    samples = [(M,)]
    any_layout = True  # pullback hands over contiguous cotangents otherwise

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        flat = grad.detach().numpy().ravel(order="K")
        return torch.from_numpy((2 * flat).reshape(grad.shape))


# expect: layout-dependent
class RefusesExpanded(Function):
    samples = [(M,)]
    any_layout = True

    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        if not grad.is_contiguous():
            raise RuntimeError("grad must be contiguous")
        return grad * 3


# expect: broadcast-fails
class BroadcastNotSummed(Function):
    samples = [(M, M + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return (grad * y)[: x.shape[0]], (grad * x)[: y.shape[0]]


# expect: empty-fails
class FailsOnEmpty(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        first = grad.reshape(-1)[0]
        return 2 * x * grad + 0 * first


# expect: nan-gradient
class NormAtZero(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum().sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * x / y


# expect: nan-gradient
class SoftplusOverflows(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.clamp(x, min=0) + torch.log1p(torch.exp(-torch.abs(x)))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        e = torch.exp(x)
        return grad * e / (1 + e)


# expect: overflow nan-gradient
class NaiveSoftplus(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(1 + torch.exp(x))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (1 + torch.exp(-x))


# expect: kink
class ReluFromOutside(Function):
    """At 0 the rule says 2, and the slopes are 0 and 1."""

    samples = [(np.array([0.0, 1.0, -1.0]),)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ((x > 0).to(x.dtype) + 2 * (x == 0).to(x.dtype))


# expect: not-repeatable
class ScalesWhatItSaved(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.scale = [1.0]
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        ctx.scale[0] *= 2
        return grad * x * ctx.scale[0]


# expect: undefined-cotangent
class NoneNotExpected(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, grad_sin, grad_cos):
        (x,) = ctx.saved_tensors
        return grad_sin * x.cos() - grad_cos * x.sin()


# expect: jvp-disagrees
class JvpWithAnotherSign(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return torch.cos(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return -grad * torch.sin(x)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * torch.sin(x)


# expect: dtype-fails gradient-dtype
class DoubleOnly(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        if x.dtype != torch.float64:
            raise TypeError("float64 only")
        return 2 * x * grad
