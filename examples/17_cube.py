"""Cube: the backward is a Function of its own.

When backward cannot be recorded, because it calls other software, write it as a second Function. It has two inputs,
the incoming gradient and x, so its own backward returns two gradients in that order. (Here everything could be
recorded; the point is the shape of the code.)
"""

import pullback as pb


class Cube(pb.Function):
    """y = x³."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return CubeBackward.apply(grad_y, x)


class CubeBackward(pb.Function):
    """grad_x = grad_y · 3x²,  a function of grad_y and of x."""

    @staticmethod
    def forward(ctx, grad_y, x):
        ctx.save_for_backward(grad_y, x)
        return grad_y * 3 * x**2

    @staticmethod
    def backward(ctx, grad):
        grad_y, x = ctx.saved_tensors
        return grad * 3 * x**2, grad * grad_y * 6 * x


def main(show=print):
    x = pb.tensor(2.0, requires_grad=True)
    y = Cube.apply(x)
    (dx,) = pb.autograd.grad(y, x, create_graph=True)
    (ddx,) = pb.autograd.grad(dx, x, create_graph=True)
    (dddx,) = pb.autograd.grad(ddx, x)
    show("y = x³ at x = 2", y, "should be", 8.0)
    show("dy/dx = 3x²", dx, "should be", 12.0)
    show("d²y/dx² = 6x", ddx, "should be", 12.0)
    show("d³y/dx³ = 6", dddx, "should be", 6.0)
    show("node of dy/dx", dx.grad_fn.name(), "should be", "CubeBackwardBackward")
    show("gradcheck", pb.gradcheck(Cube.apply, (x,)))
    show("gradgradcheck", pb.gradgradcheck(Cube.apply, (x,)))
    return {"x": x, "y": y, "dy/dx": dx}


if __name__ == "__main__":
    main()
