import pullback.torch as torch
from pullback.torch.autograd import Function, grad


class Sin(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Cos.apply(x)


class Cos(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.cos(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g * Sin.apply(x)


x = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
y, derivatives = Sin.apply(x), []
for _ in range(7):
    (y,) = grad(y, x, create_graph=True)
    derivatives.append(y.item())
