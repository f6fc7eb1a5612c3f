"""What gradcheck proves, and what it does not.

gradcheck compares backward with differences of forward at the points it is given; gradgradcheck does the same one
order up. A pass says: here, for these shapes and numbers, one call at a time. It says nothing about other points,
about state shared between calls, or about higher orders. Nor does a failure prove a wrong rule: the point may be one
without a derivative, the numbers too coarse.
"""

import warnings

import pullback as pb


class Capped(pb.Function):
    """y = min(x², 9), with a backward that forgets the cap."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return pb.where(x * x < 9, x * x, 9.0)

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return grad_y * 2 * x


class OnTheClass(pb.Function):
    """y = x², with x kept on the class: wrong as soon as two calls are open."""

    @staticmethod
    def forward(ctx, x):
        OnTheClass.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad_y):
        return grad_y * 2 * OnTheClass.x


class LeakyReLU(pb.Function):
    """y = x where x > 0, x / 10 elsewhere: right, with a kink at 0."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return pb.where(x > 0, x, 0.1 * x)

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return pb.where(x > 0, grad_y, 0.1 * grad_y)


class Sigmoid(pb.Function):
    """y = 1 / (1 + exp(-x)): right."""

    @staticmethod
    def forward(ctx, x):
        y = 1 / (1 + pb.exp(-x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        (y,) = ctx.saved_tensors
        return grad_y * y * (1 - y)


def check(rule, values, dtype="float64"):
    """Whether gradcheck passes, and what it says."""
    x = pb.tensor(values, dtype=dtype, requires_grad=True)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            return pb.gradcheck(rule.apply, (x,)), [str(warning.message) for warning in heard]
        except RuntimeError as error:
            return False, error.__notes__[:1]


def main(show=print):
    passed, _ = check(Capped, [0.5, -2.0])
    show("a wrong rule passes where the points miss the fault", passed)
    passed, words = check(Capped, [0.5, 4.0])
    show("the same rule fails at a point behind the cap", not passed)
    show(*words)

    passed, _ = check(OnTheClass, [0.5, 2.0])
    show("state on the class passes, one call at a time", passed)
    x = pb.tensor(2.0, requires_grad=True)
    y = OnTheClass.apply(x)
    OnTheClass.apply(pb.tensor(10.0, requires_grad=True))
    show("with two calls open its derivative is", pb.autograd.grad(y, x)[0], "instead of", 4.0)

    show("Two right rules that fail torch 2.13's gradcheck. pullback's passes them and says what it saw:")
    passed, words = check(LeakyReLU, [0.0])
    show("a leaky ReLU at its kink", passed)
    show(*words)
    passed, words = check(Sigmoid, [-1.0, 2.0], "float32")
    show("a sigmoid in single precision", passed)
    show(*words)


if __name__ == "__main__":
    main()
