"""Leaky ReLU: a plain number as an argument.

Numbers, strings and flags are set on the ctx as plain attributes. backward returns one gradient for every argument
of forward, in the same order, and None where an argument has no gradient.
"""

import pullback as pb


class LeakyReLU(pb.Function):
    """y = x where x > 0, slope * x elsewhere."""

    @staticmethod
    def forward(ctx, x, slope=0.01):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return pb.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return pb.where(x > 0, grad_y, ctx.slope * grad_y), None


def main(show=print):
    x = pb.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
    y = LeakyReLU.apply(x, 0.1)
    y.sum().backward(retain_graph=True)  # the picture shows what is saved
    show("y", y, "should be", [-0.2, -0.1, 0.0, 1.0, 2.0])
    show("x.grad", x.grad, "should be", [0.1, 0.1, 0.1, 1.0, 1.0])

    # Two calls with two slopes live side by side: each ctx has its own.
    steep, flat = LeakyReLU.apply(x, 0.5), LeakyReLU.apply(x, 0.0)
    show("slope 0.5", pb.autograd.grad(steep.sum(), x)[0], "should be", [0.5, 0.5, 0.5, 1.0, 1.0])
    show("slope 0.0", pb.autograd.grad(flat.sum(), x)[0], "should be", [0.0, 0.0, 0.0, 1.0, 1.0])

    away_from_0 = pb.tensor([-1.5, -0.2, 0.7], requires_grad=True)
    show("gradcheck", pb.gradcheck(LeakyReLU.apply, (away_from_0, 0.1)))
    show("gradgradcheck", pb.gradgradcheck(LeakyReLU.apply, (away_from_0, 0.1)))
    return {"x": x, "y": y}


if __name__ == "__main__":
    main()
