"""Second Functions, inner gradients, factories, tables and objects, implicit layers: without a fault."""

import numpy as np
import torch
from torch.autograd import Function

X = np.array([0.4, -0.7, 1.3])
P = np.array([0.4, 0.7, 1.3])
A = np.array([[2.0, 0.5], [0.3, 1.5]])


class CubeByParts(Function):
    """Its backward is a Function of its own."""

    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return CubeSlope.apply(grad, x)


class CubeSlope(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, grad, x):
        ctx.save_for_backward(grad, x)
        return 3 * grad * x * x

    @staticmethod
    def backward(ctx, g):
        grad, x = ctx.saved_tensors
        return 3 * g * x * x, 6 * g * grad * x


class NumpyMultiply(Function):
    """NumPy inside, and its gradients are calls of itself."""

    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.from_numpy(np.asarray(a.detach().numpy() * b.detach().numpy()))

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return NumpyMultiply.apply(grad, b), NumpyMultiply.apply(grad, a)


class NumpySine(Function):
    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.asarray(np.sin(x.detach().numpy())))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return NumpyMultiply.apply(grad, NumpySine.apply(x + np.pi / 2))


class InnerGradientRecorded(Function):
    """The inner derivative is recorded exactly when it is asked for."""

    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x) * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        record = torch.is_grad_enabled()
        with torch.enable_grad():
            place = x if record else x.detach().requires_grad_()  # noqa: PB501
            y = torch.sin(place) * place
            (gx,) = torch.autograd.grad(y, place, grad, create_graph=record)
        return gx


def make_power(exponent):
    """A factory over a constant."""

    class Power(Function):
        samples = [(P,)]

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**exponent

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * exponent * x ** (exponent - 1)

    return Power


class FifthPower(make_power(5)):
    pass


TABLE = (0.5, 1.5, 2.5)


class FromTable(Function):
    """A table of constants, in the module."""

    samples = [(X, 1)]

    @staticmethod
    def forward(ctx, x, row):
        ctx.factor = TABLE[row]
        return x * ctx.factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class Solver:
    """A resource that is made once."""

    def __init__(self, matrix):
        self.inverse = np.linalg.inv(matrix)

    def solve(self, b, transposed):
        return (self.inverse.T if transposed else self.inverse) @ b


class SolveWith(Function):
    samples = [(np.array([1.0, 2.0]), Solver(A), False)]

    @staticmethod
    def forward(ctx, b, solver, transposed):
        ctx.solver, ctx.transposed = solver, transposed
        return torch.from_numpy(solver.solve(b.detach().numpy(), transposed))

    @staticmethod
    def backward(ctx, grad):
        return SolveWith.apply(grad, ctx.solver, not ctx.transposed), None, None


class SquareRootByNewton(Function):
    """An implicit layer: y*y = x, differentiated by its equation."""

    samples = [(P,)]

    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        for _ in range(60):
            y = (y + x / y) / 2
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad / (2 * y)


class LinearSolve(Function):
    samples = [(A, np.array([[1.0], [2.0]]))]

    @staticmethod
    def forward(ctx, a, b):
        x = torch.linalg.solve(a, b)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx, grad):
        a, x = ctx.saved_tensors
        gb = torch.linalg.solve(a.t(), grad)
        return -gb @ x.t(), gb


class Inverse(Function):
    samples = [(A,)]

    @staticmethod
    def forward(ctx, a):
        y = torch.linalg.inv(a)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return -y.t() @ grad @ y.t()


class OuterProduct(Function):
    samples = [(X, np.array([1.0, 2.0]))]

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a[:, None] * b[None, :]

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return (grad * b).sum(dim=1), (grad * a[:, None]).sum(dim=0)


class QuadraticForm(Function):
    samples = [(A, np.array([1.0, 2.0]))]

    @staticmethod
    def forward(ctx, a, x):
        ctx.save_for_backward(a, x)
        return x @ a @ x

    @staticmethod
    def backward(ctx, grad):
        a, x = ctx.saved_tensors
        return grad * x[:, None] * x[None, :], grad * ((a + a.t()) @ x)


class Huber(Function):
    samples = [(np.array([0.4, -0.7, 3.0]), 1.0)]

    @staticmethod
    def forward(ctx, x, delta):
        ctx.delta = delta
        ctx.save_for_backward(x)
        return torch.where(x.abs() < delta, x * x / 2, delta * (x.abs() - delta / 2))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.clamp(-ctx.delta, ctx.delta), None


class Dropout(Function):
    """The random numbers are an argument."""

    samples = [(X, np.array([1.0, 0.0, 1.0]))]

    @staticmethod
    def forward(ctx, x, mask):
        ctx.save_for_backward(mask, x)
        return x * mask * 2

    @staticmethod
    def backward(ctx, grad):
        mask, x = ctx.saved_tensors
        return grad * mask * 2, grad * x * 2


class Swish(Function):
    """What backward needs is computed again there."""

    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s + x * s * (1 - s))


class LayerNorm(Function):
    samples = [(np.array([[0.5, 1.5, -0.5], [2.0, 0.3, 1.1]]),)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        centred = x - x.mean(dim=-1, keepdim=True)
        return centred / torch.sqrt((centred * centred).mean(dim=-1, keepdim=True) + 1e-5)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        centred = x - x.mean(dim=-1, keepdim=True)
        scale = 1 / torch.sqrt((centred * centred).mean(dim=-1, keepdim=True) + 1e-5)
        y = centred * scale
        return scale * (grad - grad.mean(dim=-1, keepdim=True) - y * (grad * y).mean(dim=-1, keepdim=True))


class Recurrence(Function):
    """y[k] = a y[k-1] + x[k]; the adjoint runs backwards."""

    samples = [(np.array([0.5, 1.0, -0.3, 0.8]), 0.9)]

    @staticmethod
    def forward(ctx, x, a):
        ctx.a = a
        rows, y = [], torch.zeros_like(x[0]) if x.shape[0] else None
        for k in range(x.shape[0]):
            y = a * y + x[k]
            rows.append(y)
        return torch.stack(rows)

    @staticmethod
    def backward(ctx, grad):
        rows, g = [], torch.zeros_like(grad[0])
        for k in reversed(range(grad.shape[0])):
            g = ctx.a * g + grad[k]
            rows.append(g)
        return torch.stack(rows[::-1]), None


class HalfStep(Function):
    """A checkpoint-like Function: what it needs is computed again, with recording, when it is needed."""

    samples = [(X,)]

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x) * torch.exp(x / 2)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        t, e = torch.tanh(x), torch.exp(x / 2)
        return grad * ((1 - t * t) * e + t * e / 2)


class Dot(Function):
    samples = [(X, X + 1)]

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.dot(a, b)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a


class Affine(Function):
    samples = [(X, 2.0, -1.0)]

    @staticmethod
    def forward(ctx, x, scale, shift):
        ctx.scale = scale
        return x * scale + shift

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.scale, None, None
