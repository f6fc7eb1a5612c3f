import pullback.torch as torch
import pullback.torch.torchviz as torchviz


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = torch.exp(x)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_out):
        (result,) = ctx.saved_tensors
        return result * grad_out


x = torch.tensor(1.0, requires_grad=True, dtype=torch.double).clone()
first = torch.autograd.gradcheck(Exp.apply, x)
second = torch.autograd.gradgradcheck(Exp.apply, x)

out = Exp.apply(x)
(grad_x,) = torch.autograd.grad(out, x, create_graph=True)
dot = torchviz.make_dot((grad_x, x, out), {"grad_x": grad_x, "x": x, "out": out})
