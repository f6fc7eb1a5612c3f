"""Primitive: the same protocol on bare arrays.

forward and backward get the arrays themselves, and the functions of their library as ctx.xp. When a second derivative
is wanted, the same lines get Tensors and a differentiable ctx.xp. pullback's own operators are written this way.
"""

import math

import numpy as np

import pullback as pb


class Gauss(pb.Primitive):
    """y = exp(-x²),  dy/dx = -2x y."""

    @staticmethod
    def forward(ctx, x):
        y = ctx.xp.exp(-x * x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        x, y = ctx.saved_tensors
        return grad_y * -2 * x * y


def main(show=print):
    x = pb.tensor(0.5, requires_grad=True)
    y = Gauss.apply(x)
    (d1,) = pb.autograd.grad(y, x, create_graph=True)
    (d2,) = pb.autograd.grad(d1, x, create_graph=True)
    (d3,) = pb.autograd.grad(d2, x, retain_graph=True)  # the picture shows what is saved
    e = math.exp(-0.25)
    show("y = exp(-x²) at x = 0.5", y, "should be", e)
    show("dy/dx = -2x y", d1, "should be", -e)
    show("d²y/dx² = (4x² - 2) y", d2, "should be", -e)
    show("d³y/dx³ = (12x - 8x³) y", d3, "should be", 5 * e)
    show("a bare array gives a bare array", isinstance(Gauss.apply(np.array([0.0, 1.0])), np.ndarray))

    points = pb.tensor([-1.0, 0.2, 1.5], requires_grad=True)
    show("gradcheck", pb.gradcheck(Gauss.apply, (points,)))
    show("gradgradcheck", pb.gradgradcheck(Gauss.apply, (points,)))
    return {"x": x, "y": y, "dy/dx": d1}


if __name__ == "__main__":
    main()
