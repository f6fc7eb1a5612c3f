"""A factory makes one Function per constant.

A constant that is chosen once, long before the calls, can be closed over. Each call of the factory makes a class of
its own; the classes do not know of each other. Only constants belong here. A closed-over Tensor would get no
gradient, because it is not an argument; pullback warns of that.
"""

import pullback as pb


def power(n):
    """The Function x ↦ xⁿ for a fixed whole number n > 0, ready to call."""

    class Power(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**n

        @staticmethod
        def backward(ctx, grad_y):
            (x,) = ctx.saved_tensors
            return grad_y * n * x ** (n - 1)

    return Power.apply


def main(show=print):
    square, cube = power(2), power(3)
    x = pb.tensor(2.0, requires_grad=True)
    y = square(x) + cube(x)
    (dx,) = pb.autograd.grad(y, x, create_graph=True)
    (ddx,) = pb.autograd.grad(dx, x)
    show("x² + x³ at x = 2", y, "should be", 12.0)
    show("derivative 2x + 3x²", dx, "should be", 16.0)
    show("second derivative 2 + 6x", ddx, "should be", 14.0)
    show("gradcheck of x⁵", pb.gradcheck(power(5), (x,)))
    show("gradgradcheck of x⁵", pb.gradgradcheck(power(5), (x,)))
    return {"x": x, "y": y}


if __name__ == "__main__":
    main()
