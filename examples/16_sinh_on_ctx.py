"""Sinh: intermediates on the ctx.

Nothing is recorded in forward, so the exp(x) on the ctx does not know x. torch treats it as a constant: alone, this
sinh has no second derivative there (torch 2.13 raises); inside a square the derivative is wrong without a word.
pullback sees that the saved value is neither input nor output. When a second derivative may be wanted it runs forward
once more with recording on, and uses the connected values of that run.
"""

import math

import pullback as pb

runs = []


class Sinh(pb.Function):
    """y = sinh(x), the simple way."""

    @staticmethod
    def forward(ctx, x):
        runs.append(pb.is_grad_enabled())
        ctx.p, ctx.m = pb.exp(x), pb.exp(-x)
        return (ctx.p - ctx.m) / 2

    @staticmethod
    def backward(ctx, grad_y):
        return grad_y * (ctx.p + ctx.m) / 2


def main(show=print):
    x = pb.tensor(1.0, requires_grad=True)
    runs.clear()
    pb.autograd.grad(Sinh.apply(x), x)
    show("first derivative only: forward runs", len(runs), "should be", 1)

    runs.clear()
    y = Sinh.apply(x)
    (dx,) = pb.autograd.grad(y, x, create_graph=True)
    (ddx,) = pb.autograd.grad(dx, x)
    show("with create_graph: forward runs", len(runs), "should be", 2)
    show("the second of them was recorded", runs == [False, True])
    show("sinh'(1)", dx, "should be", math.cosh(1))
    show("sinh''(1)", ddx, "should be", math.sinh(1))

    (dx,) = pb.autograd.grad(Sinh.apply(x) ** 2, x, create_graph=True)
    (ddx,) = pb.autograd.grad(dx, x)
    show("(sinh²)''(1)", ddx, "should be", 2 * math.cosh(2))
    show("(torch 2.13 gives 4.762196 for the last one: 2 cosh(1)², half of the derivative is missing.)")

    show("gradcheck", pb.gradcheck(Sinh.apply, (x,)))
    show("gradgradcheck", pb.gradgradcheck(Sinh.apply, (x,)))
    y = Sinh.apply(x)
    (dx,) = pb.autograd.grad(y, x, create_graph=True)
    return {"x": x, "y": y, "dy/dx": dx}


if __name__ == "__main__":
    main()
