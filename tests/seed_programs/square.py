import pullback.torch as torch
import pullback.torch.torchviz as torchviz


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


x = torch.rand(3, 3, requires_grad=True, dtype=torch.double)
first = torch.autograd.gradcheck(Square.apply, x)
second = torch.autograd.gradgradcheck(Square.apply, x)

x = torch.tensor(1.0, requires_grad=True).clone()
out = Square.apply(x)
(grad_x,) = torch.autograd.grad(out, x, create_graph=True)
dot = torchviz.make_dot((grad_x, x, out), {"grad_x": grad_x, "x": x, "out": out})
