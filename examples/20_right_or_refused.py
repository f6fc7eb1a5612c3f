"""Right, or refused: never silently wrong.

Three rules whose first derivative is right and whose second cannot be known. In each case the first is returned as
usual, and the error comes when somebody asks for the second.
"""

import random

import numpy as np

import pullback as pb


class Exp(pb.Function):
    """y = exp(x); the subclasses differ in how they come by dy/dx."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return pb.exp(x)


class LeavesTheGraph(Exp):
    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return grad_y * pb.tensor(np.exp(x.detach().numpy()))


class OnceOnly(Exp):
    @staticmethod
    @pb.once_differentiable
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return grad_y * pb.exp(x)


class Random(pb.Function):
    """y = noise * x², with noise that no second run of forward brings back."""

    @staticmethod
    def forward(ctx, x):
        ctx.slope = 2 * x * random.random()
        return ctx.slope * x / 2

    @staticmethod
    def backward(ctx, grad_y):
        return grad_y * ctx.slope


def main(show=print):
    x = pb.tensor(1.0, requires_grad=True)
    for rule in (LeavesTheGraph, OnceOnly, Random):
        y = rule.apply(x)
        (dx,) = pb.autograd.grad(y, x, create_graph=True)
        first = 2 * y.item() if rule is Random else np.e
        show(f"{rule.__name__}: first derivative", dx, "should be", first)
        try:
            pb.autograd.grad(dx, x)
        except RuntimeError as error:
            kind = "RuntimeError" if rule is OnceOnly else "DerivativeRefused"
            show(f"{rule.__name__}: second derivative", type(error).__name__, "should be", kind)
            show(str(error))


if __name__ == "__main__":
    main()
