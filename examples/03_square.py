"""Square: save the input, differentiate twice.

With create_graph=True the running backward is recorded like any other computation. The saved x is the very Tensor
that was passed in, so 2 * x still knows that it depends on x, and can be differentiated again.
"""

import pullback as pb


class Square(pb.Function):
    """y = x²,  dy/dx = 2x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return grad_y * 2 * x


def main(show=print):
    x = pb.tensor(3.0, requires_grad=True)
    y = Square.apply(x)
    (dx,) = pb.autograd.grad(y, x, create_graph=True)
    (ddx,) = pb.autograd.grad(dx, x, create_graph=True)
    (dddx,) = pb.autograd.grad(ddx, x)
    show("y", y, "should be", 9.0)
    show("dy/dx", dx, "should be", 6.0)
    show("d²y/dx²", ddx, "should be", 2.0)
    show("d³y/dx³ (zero, not an error)", dddx, "should be", 0.0)

    points = pb.tensor([[0.3, -1.2], [2.0, 0.0]], requires_grad=True)
    show("gradcheck", pb.gradcheck(Square.apply, (points,)))
    show("gradgradcheck", pb.gradgradcheck(Square.apply, (points,)))
    return {"x": x, "y": y, "dy/dx": dx}


if __name__ == "__main__":
    main()
