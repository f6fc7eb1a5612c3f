"""Several results, views, writes in place, reductions, gathers: without a fault."""

import numpy as np
import torch
from torch.autograd import Function

X = np.array([0.4, -0.7, 1.3])
M = np.array([[0.5, 1.5, -0.5], [2.0, 0.3, 1.1]])


class SineAndCosine(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        s, c = torch.sin(x), torch.cos(x)
        ctx.save_for_backward(s, c)
        return s, c

    @staticmethod
    def backward(ctx, grad_s, grad_c):
        s, c = ctx.saved_tensors
        return grad_s * c - grad_c * s


class SinhWithExtraOutputs(Function):
    """What backward needs is returned too, and gets its gradients."""

    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        p, m = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(p, m)
        return (p - m) / 2, p, m

    @staticmethod
    def backward(ctx, grad, grad_p, grad_m):
        p, m = ctx.saved_tensors
        return grad * (p + m) / 2 + grad_p * p - grad_m * m


class MaximumOfRows(Function):
    """An index is marked."""

    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        y, index = torch.max(x, dim=1)
        ctx.mark_non_differentiable(index)
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return y, index

    @staticmethod
    def backward(ctx, grad, _):
        (index,) = ctx.saved_tensors
        return torch.zeros(ctx.shape, dtype=grad.dtype).scatter(1, index[:, None], grad[:, None])


class MaskedRelu(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        mask = (x > 0).to(x.dtype)
        ctx.mark_non_differentiable(mask)
        ctx.save_for_backward(mask)
        return x * mask, mask

    @staticmethod
    def backward(ctx, grad, _):
        (mask,) = ctx.saved_tensors
        return grad * mask


class WithoutMaterialising(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx, grad_a, grad_b):
        total = None
        if grad_a is not None:
            total = 2 * grad_a
        if grad_b is not None:
            total = 3 * grad_b if total is None else total + 3 * grad_b
        return total


class DoubleInPlace(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


class AddInPlace(Function):
    samples = [(M, M + 1)]

    @staticmethod
    def forward(ctx, x, y):
        x.add_(y)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, grad


class ExponentialInPlace(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        x.exp_()
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y


class Total(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        return grad.expand(ctx.shape)


class MeanOfRows(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.mean(dim=1)

    @staticmethod
    def backward(ctx, grad):
        return (grad[:, None] / ctx.shape[1]).expand(ctx.shape)


class Flatten(Function):
    """A view of the input."""

    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.reshape(-1) * 1

    @staticmethod
    def backward(ctx, grad):
        return grad.reshape(ctx.shape)


class Transpose(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        return x.t().contiguous()

    @staticmethod
    def backward(ctx, grad):
        return grad.t()


class ReverseGradient(Function):
    """The gradient of another function on purpose: linear, of the right shape, and forward is the identity."""

    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad


class MatrixProduct(Function):
    samples = [(M, M.T.copy())]

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        ga = grad @ b.t() if ctx.needs_input_grad[0] else None
        gb = a.t() @ grad if ctx.needs_input_grad[1] else None
        return ga, gb


class Linear(Function):
    samples = [(M, np.array([[1.0, 0.5, -1.0], [0.2, 2.0, 0.3]]), np.array([0.1, 0.2]))]

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = grad @ weight
        if ctx.needs_input_grad[1]:
            gw = grad.t() @ x
        if ctx.needs_input_grad[2]:
            gb = grad.sum(dim=0)
        return gx, gw, gb


class OptionalBias(Function):
    samples = [(M, np.array([[1.0, 0.5, -1.0], [0.2, 2.0, 0.3]]), None)]

    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        y = x @ weight.t()
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight, grad.t() @ x, None


class RowsOf(Function):
    """Integers among the arguments."""

    samples = [(M, np.array([1, 0, 1]))]

    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.shape = table.shape
        return table[index]

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        return torch.zeros(ctx.shape, dtype=grad.dtype).index_add(0, index, grad), None


class CumulativeSum(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        return x.cumsum(0)

    @staticmethod
    def backward(ctx, grad):
        return grad.flip(0).cumsum(0).flip(0)


class Softmax(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        y = torch.softmax(x, dim=-1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return y * (grad - (grad * y).sum(dim=-1, keepdim=True))


class LogSumExp(Function):
    samples = [(M,)]

    @staticmethod
    def forward(ctx, x):
        y = torch.logsumexp(x, dim=-1, keepdim=True)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * torch.exp(x - y)


class SquaredNorm(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * grad * x


class ConstantsOnCtx(Function):
    """Numbers, texts, shapes and masks may stand on ctx."""

    samples = [(M, "mean", 2)]

    @staticmethod
    def forward(ctx, x, how, times):
        ctx.how, ctx.times, ctx.shape = how, times, x.shape
        ctx.count = x.numel() if how == "mean" else 1
        return x.sum() * times / ctx.count

    @staticmethod
    def backward(ctx, grad):
        return (grad * ctx.times / ctx.count).expand(ctx.shape), None, None


class ReversedAxis(Function):
    samples = [(M, 1)]

    @staticmethod
    def forward(ctx, x, axis):
        ctx.axis = axis
        return x.flip(axis)

    @staticmethod
    def backward(ctx, grad):
        return grad.flip(ctx.axis), None


class PairOfInputs(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, a, b):
        return a + b, a - b

    @staticmethod
    def backward(ctx, grad_sum, grad_difference):
        return grad_sum + grad_difference, grad_sum - grad_difference
