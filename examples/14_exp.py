"""Exp: save the output.

The derivative of exp is exp, so backward can use the result that forward already has. A saved output comes back
connected to its own call: differentiating it again runs the same backward once more.
"""

import math

import pullback as pb


class Exp(pb.Function):
    """y = exp(x),  dy/dx = y."""

    @staticmethod
    def forward(ctx, x):
        y = pb.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        (y,) = ctx.saved_tensors
        return grad_y * y


def main(show=print):
    x = pb.tensor(1.0, requires_grad=True)
    y = Exp.apply(x)
    (dx,) = pb.autograd.grad(y, x, create_graph=True)
    (ddx,) = pb.autograd.grad(dx, x, create_graph=True)
    (dddx,) = pb.autograd.grad(ddx, x, retain_graph=True)  # the picture shows what is saved
    show("y", y, "should be", math.e)
    show("dy/dx", dx, "should be", math.e)
    show("d²y/dx²", ddx, "should be", math.e)
    show("d³y/dx³", dddx, "should be", math.e)
    show("gradcheck", pb.gradcheck(Exp.apply, (x,)))
    show("gradgradcheck", pb.gradgradcheck(Exp.apply, (x,)))
    return {"x": x, "y": y, "dy/dx": dx}


if __name__ == "__main__":
    main()
