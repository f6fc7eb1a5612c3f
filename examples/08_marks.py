"""Two marks: dirty, and not differentiable.

Writing into an input changes what that Tensor means to everybody who holds it. forward says so with mark_dirty and
returns the Tensor; the graph then knows the new value. An output that has no derivative, such as a mask, is declared
with mark_non_differentiable. Integer and boolean outputs never carry a gradient and need no mark.
"""

import pullback as pb


class TripleInPlace(pb.Function):
    """x becomes 3x."""

    @staticmethod
    def forward(ctx, x):
        x *= 3
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad_x):
        return grad_x * 3


class Unmarked(TripleInPlace):
    """The same, but forward tells nobody."""

    @staticmethod
    def forward(ctx, x):
        x *= 3
        return x


class Clip(pb.Function):
    """x cut off at a limit, and a mask of the elements that were let through."""

    @staticmethod
    def forward(ctx, x, limit):
        passed = pb.where(x < limit, 1.0, 0.0)
        ctx.mark_non_differentiable(passed)
        ctx.save_for_backward(passed)
        return pb.where(x < limit, x, limit), passed, x < limit

    @staticmethod
    def backward(ctx, grad_y, grad_passed, grad_bool):
        (passed,) = ctx.saved_tensors
        return grad_y * passed, None


def main(show=print):
    x = pb.tensor(2.0, requires_grad=True)
    a = x * 1
    b = TripleInPlace.apply(a)
    show("a after the call", a, "should be", 6.0)
    show("the result is the object a", b is a)
    show("its node is now", a.grad_fn.name(), "should be", "TripleInPlaceBackward")
    show("da/dx", pb.autograd.grad(a, x)[0], "should be", 3.0)

    try:
        Unmarked.apply(x * 1)
    except RuntimeError as error:
        show("without the mark", type(error).__name__, "should be", "RuntimeError")
        show(str(error))
    show("(torch 2.13 says nothing: a holds 6, and its derivative is given as 1.)")

    v = pb.tensor([1.0, 5.0], requires_grad=True)
    y, passed, below = Clip.apply(v, 2.0)
    show("clip at 2", y, "should be", [1.0, 2.0])
    show("its derivative", pb.autograd.grad(y.sum(), v)[0], "should be", [1.0, 0.0])
    show("y carries a gradient", y.requires_grad)
    show("the marked mask does not", not passed.requires_grad)
    show("a boolean output does not, unmarked", not below.requires_grad)
    points = pb.tensor([1.0, 2.5], requires_grad=True)
    show("gradcheck", pb.gradcheck(lambda v: Clip.apply(v, 2.0)[0], (points,)))
    show("gradgradcheck", pb.gradgradcheck(lambda v: Clip.apply(v, 2.0)[0], (points,)))
    return {"x": x, "a": a}


if __name__ == "__main__":
    main()
