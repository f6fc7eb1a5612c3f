"""Sigmoid: what backward needs goes on the ctx.

A Function describes an operation once: how to compute it (forward) and how to pull a gradient back through it
(backward). Both receive a ctx, made fresh for every call. What backward will need is saved there.
"""

import math

import pullback as pb


class Sigmoid(pb.Function):
    """y = 1 / (1 + exp(-x)),  dy/dx = y (1 - y)."""

    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + pb.exp(-x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        (y,) = ctx.saved_tensors
        return grad_y * y * (1 - y)


def main(show=print):
    x = pb.tensor(0.5, requires_grad=True)
    y = Sigmoid.apply(x)
    (dx,) = pb.autograd.grad(y, x, create_graph=True)
    (ddx,) = pb.autograd.grad(dx, x, retain_graph=True)  # the picture shows what is saved

    s = 1 / (1 + math.exp(-0.5))
    show("y", y, "should be", s)
    show("dy/dx", dx, "should be", s * (1 - s))
    show("d²y/dx²", ddx, "should be", s * (1 - s) * (1 - 2 * s))

    points = pb.tensor([-2.0, 0.0, 1.5], requires_grad=True)
    show("gradcheck", pb.gradcheck(Sigmoid.apply, (points,)))
    show("gradgradcheck", pb.gradgradcheck(Sigmoid.apply, (points,)))
    return {"x": x, "y": y, "dy/dx": dx}


if __name__ == "__main__":
    main()
