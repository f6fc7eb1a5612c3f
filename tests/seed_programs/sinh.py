import pullback.torch as torch
import pullback.torch.torchviz as torchviz


class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        expx = torch.exp(x)
        expnegx = torch.exp(-x)
        ctx.save_for_backward(expx, expnegx)
        return (expx - expnegx) / 2, expx, expnegx

    @staticmethod
    def backward(ctx, grad_out, _grad_out_exp, _grad_out_negexp):
        expx, expnegx = ctx.saved_tensors
        grad_input = grad_out * (expx + expnegx) / 2
        grad_input += _grad_out_exp * expx
        grad_input -= _grad_out_negexp * expnegx
        return grad_input


def sinh(x):
    return Sinh.apply(x)[0]


x = torch.rand(3, 3, requires_grad=True, dtype=torch.double)
first = torch.autograd.gradcheck(sinh, x)
second = torch.autograd.gradgradcheck(sinh, x)

out = sinh(x)
(grad_x,) = torch.autograd.grad(out.sum(), x, create_graph=True)
dot = torchviz.make_dot((grad_x, x, out), params={"grad_x": grad_x, "x": x, "out": out})
