"""Faults in what backward returns: counts, places, shapes, factors."""

import numpy as np
import torch
from torch.autograd import Function

X = np.array([0.4, -0.7, 1.3])
M = np.array([[0.5, 1.5, -0.5], [2.0, 0.3, 1.1]])


# expect: gradient-count PB301
class OneForTwo(Function):
    samples = [(X, 3.0)]

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor


# expect: gradient-count PB301
class ThreeForTwo(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x, grad


# expect: gradient-missing PB310
class WeightForgotten(Function):
    samples = [(M, M + 1)]

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad * w, None


# expect: gradient-missing
class BiasForgotten(Function):
    samples = [(M, np.array([1.0, 2.0, 3.0]))]

    @staticmethod
    def forward(ctx, x, bias):
        ctx.save_for_backward(x, bias)
        return x * x + bias

    @staticmethod
    def backward(ctx, grad):
        x, _ = ctx.saved_tensors
        return 2 * grad * x, None


# expect: upstream-missing PB303
class WithoutUpstream(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x


# expect: upstream-missing PB303
class ConstantGradient(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 3 * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * torch.ones_like(x) + 0 * x


# expect: wrong-gradient
class FactorTwoMissing(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x


# expect: wrong-gradient
class WrongSign(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.cos(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.sin(x)


# expect: wrong-gradient
class Transposed(Function):
    samples = [(np.array([[0.5, 1.5], [2.0, 0.3]]), np.array([[1.0, 2.0], [3.0, 5.0]]))]

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad @ b, a.t() @ grad


# expect: wrong-gradient
class ChainRuleForgotten(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x * x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.cos(x * x)


# expect: wrong-gradient
class MeanForSum(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.ones_like(x) / x.numel()


# expect: wrong-gradient
class ConjugateForgotten(Function):
    samples = [(np.array([0.5 + 1j, -1.0 + 0.25j]),)]

    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx, grad):
        (z,) = ctx.saved_tensors
        return grad * 2 * z


# expect: wrong-gradient
class OneEntryOff(Function):
    """One entry of 200 is off by a thousandth."""

    samples = [(np.linspace(0.5, 1.5, 200),)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        scale = torch.ones_like(x)
        scale[137] = 1.001
        return grad * torch.exp(x) * scale


# expect: gradient-shape
class RowsReturned(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        return grad * torch.ones((4, 3), dtype=grad.dtype)


# expect: gradient-shape wrong-gradient
class ColumnReturned(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * grad * x[:, None] * torch.ones((3, 3), dtype=grad.dtype)


# expect: gradient-dtype
class SingleGradient(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (2 * grad * x).float()


# expect: gradient-dtype
class DoubleGradientOfOne(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, (grad * x).to(torch.float32)


# expect: gradients-swapped wrong-gradient wrong-second-derivative PB305
class SineBackwardSwapped(Function):
    samples = [(X, X + 0.5)]

    @staticmethod
    def forward(ctx, grad, x):
        ctx.save_for_backward(grad, x)
        return grad * torch.cos(x)

    @staticmethod
    def backward(ctx, g):
        grad, x = ctx.saved_tensors
        return -g * grad * torch.sin(x), g * torch.cos(x)


# expect: gradients-swapped wrong-gradient wrong-second-derivative PB305
class CubeBackwardSwapped(Function):
    samples = [(X, X + 0.5)]

    @staticmethod
    def forward(ctx, grad_output, x):
        ctx.save_for_backward(grad_output, x)
        return grad_output * 3 * x**2

    @staticmethod
    def backward(ctx, gg):
        grad_output, x = ctx.saved_tensors
        return gg * grad_output * 6 * x, gg * 3 * x**2


# expect: wrong-gradient undefined-cotangent PB304
class SecondOutputDropped(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        y, z = x.sin(), x.cos()
        ctx.save_for_backward(x)
        return y, z

    @staticmethod
    def backward(ctx, grad_y, grad_z):
        (x,) = ctx.saved_tensors
        return grad_y * x.cos()


# expect: wrong-gradient undefined-cotangent PB304
class AuxiliarySumDropped(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        total = x.sum()
        return x * 2, total

    @staticmethod
    def backward(ctx, grad, grad_total):
        return grad * 2


# expect: subset-none PB306
class FlagsShifted(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        gx = gy = None
        if ctx.needs_input_grad[1]:
            gx = grad * y
        if ctx.needs_input_grad[0]:
            gy = grad * x
        return gx, gy


# expect: backward-raises PB306
class FlagBeyondTheArguments(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        gx = gy = None
        if ctx.needs_input_grad[1]:
            gx = grad * y
        if ctx.needs_input_grad[2]:
            gy = grad * x
        return gx, gy


# expect: subset-none
class BothOrNothing(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        if all(ctx.needs_input_grad):
            return grad * y, grad * x
        return None, None


# expect: subset-raises
class RaisesWithOneInput(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        gx = grad * y if ctx.needs_input_grad[0] else None
        gy = grad * x if ctx.needs_input_grad[1] else None
        return gx.contiguous(), gy.contiguous()


# expect: subset-raises
class AssumesTheWeight(Function):
    samples = [(M, M + 1)]

    @staticmethod
    def forward(ctx, x, w):
        if w.requires_grad:
            ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad * w, grad * x


# expect: not-linear PB307
class GradientSquared(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad * grad.abs()


# expect: not-linear PB307
class GradientClipped(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 3 * x

    @staticmethod
    def backward(ctx, grad):
        return (3 * grad).clamp(-2.0, 2.0)


# expect: not-linear PB307
class GradientNormalised(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        return grad / grad.norm()


# expect: container-output forward-raises PB308
class ListReturned(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return [x / 2, x / 3]

    @staticmethod
    def backward(ctx, grad_a, grad_b):
        return grad_a / 2 + grad_b / 3


# expect: container-output forward-raises PB308
class DictReturned(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return {"half": x / 2}

    @staticmethod
    def backward(ctx, grad):
        return grad / 2


# expect: backward-raises gradient-count PB309
class GradientsInAList(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return [grad * y, grad * x]


# expect: backward-raises PB302
class OneCotangentForTwo(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.cos()


# expect: backward-raises PB302
class TwoCotangentsForOne(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x.sin()
        return y, y * 2, y * 3

    @staticmethod
    def backward(ctx, grad, other):
        (x,) = ctx.saved_tensors
        return (grad + 2 * other) * x.cos()


# expect: precision-lost
class SinglePrecisionInside(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x.float())

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (grad * torch.exp(x)).to(x.dtype)


# expect: precision-lost
class MadeInSinglePrecision(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = torch.zeros(x.shape, dtype=torch.float32)
        y.copy_(x * x)
        return y

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad.to(x.dtype)
