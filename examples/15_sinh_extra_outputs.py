"""Sinh: intermediates as extra outputs.

exp(x) and exp(-x) are computed in forward, where nothing is recorded. Returned as outputs they belong to the graph.
In the second derivative gradients come back to them, and backward must add these contributions. A rule that drops
them has a right first derivative and a wrong second one.
"""

import math

import pullback as pb


class Sinh(pb.Function):
    """y = sinh(x), with exp(x) and exp(-x) as extra outputs."""

    @staticmethod
    def forward(ctx, x):
        p, m = pb.exp(x), pb.exp(-x)
        ctx.save_for_backward(p, m)
        return (p - m) / 2, p, m

    @staticmethod
    def backward(ctx, grad_y, grad_p, grad_m):
        p, m = ctx.saved_tensors
        return grad_y * (p + m) / 2 + grad_p * p - grad_m * m


class Dropped(Sinh):
    """The same, without the contributions of the extra outputs."""

    @staticmethod
    def backward(ctx, grad_y, grad_p, grad_m):
        p, m = ctx.saved_tensors
        return grad_y * (p + m) / 2


def sinh(x):
    return Sinh.apply(x)[0]


def dropped(x):
    return Dropped.apply(x)[0]


def derivatives(f, x):
    (first,) = pb.autograd.grad(f(x), x, create_graph=True)
    (second,) = pb.autograd.grad(first, x)
    return first, second


def main(show=print):
    x = pb.tensor(1.0, requires_grad=True)
    first, second = derivatives(sinh, x)
    show("sinh'(1)", first, "should be", math.cosh(1))
    show("sinh''(1)", second, "should be", math.sinh(1))
    _, second = derivatives(lambda x: sinh(x) ** 2, x)
    show("(sinh²)''(1)", second, "should be", 2 * math.cosh(2))

    first, second = derivatives(dropped, x)
    show("dropped: first derivative", first, "should be", math.cosh(1))
    show("dropped: second derivative", second, "instead of", math.sinh(1))
    _, second = derivatives(lambda x: dropped(x) ** 2, x)
    show("dropped: second derivative of sinh²", second, "instead of", 2 * math.cosh(2))

    show("gradcheck", pb.gradcheck(sinh, (x,)))
    show("gradgradcheck", pb.gradgradcheck(sinh, (x,)))
    show("gradcheck of the dropping rule passes", pb.gradcheck(dropped, (x,)))
    show("its gradgradcheck fails", not pb.gradgradcheck(dropped, (x,), raise_exception=False))
    y = sinh(x)
    (dx,) = pb.autograd.grad(y, x, create_graph=True)
    return {"x": x, "y": y, "dy/dx": dx}


if __name__ == "__main__":
    main()
