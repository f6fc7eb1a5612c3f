"""State on the class: the mistake that does damage.

The class is shared by all calls, so whatever is stored there is overwritten by the next call. Calling the first
parameter "self" is not that mistake: whatever its name, it is the ctx of this call, and what is stored on it stays
apart. The name only misleads the reader.
"""

import threading

import pullback as pb


class OnTheClass(pb.Function):
    """y = x², wrong: x is kept on the class."""

    @staticmethod
    def forward(ctx, x):
        OnTheClass.x = x
        return x * x

    @staticmethod
    def backward(ctx, grad_y):
        return grad_y * 2 * OnTheClass.x


class NamedSelf(pb.Function):
    """y = x², right: "self" is the ctx, under a misleading name."""

    @staticmethod
    def forward(self, x):
        self.x = x
        return x * x

    @staticmethod
    def backward(self, grad_y):
        return grad_y * 2 * self.x


class Undecorated(pb.Function):
    """y = x², right: apply hands the ctx over whether or not @staticmethod is written."""

    def forward(self, x):
        self.x = x
        return x * x

    def backward(self, grad_y):
        return grad_y * 2 * self.x


def two_calls(function):
    """d(x²)/dx at x = 2, with another call at x = 10 before backward."""
    x = pb.tensor(2.0, requires_grad=True)
    y = function.apply(x)
    function.apply(pb.tensor(10.0, requires_grad=True))
    return pb.autograd.grad(y, x)[0]


def ten_calls(function):
    """The derivative of ten squarings in a row, at x = 1.001."""
    x = pb.tensor(1.001, requires_grad=True)
    y = x
    for _ in range(10):
        y = function.apply(y)
    return pb.autograd.grad(y, x)[0]


def two_threads(function):
    """d(x²)/dx at x = 2; another thread calls at x = 10 between forward and backward."""
    x = pb.tensor(2.0, requires_grad=True)
    y = function.apply(x)
    other = threading.Thread(target=lambda: function.apply(pb.tensor(10.0, requires_grad=True)))
    other.start()
    other.join()
    return pb.autograd.grad(y, x)[0]


def main(show=print):
    chain = 1024 * 1.001**1023  # x^1024, differentiated
    show("two calls, x kept on the class", two_calls(OnTheClass), "instead of", 4.0)
    show("two calls, first parameter named self", two_calls(NamedSelf), "should be", 4.0)
    show("two calls, and no @staticmethod either", two_calls(Undecorated), "should be", 4.0)
    show("ten calls, x kept on the class", ten_calls(OnTheClass), "instead of", chain)
    show("ten calls, first parameter named self", ten_calls(NamedSelf), "should be", chain)
    show("two threads, x kept on the class", two_threads(OnTheClass), "instead of", 4.0)
    show("two threads, first parameter named self", two_threads(NamedSelf), "should be", 4.0)

    x = pb.tensor(2.0, requires_grad=True)
    y = NamedSelf.apply(x)
    show('"self" is the node of the call', y.grad_fn.x is x)
    show("nothing reached the class", not hasattr(NamedSelf, "x"))
    show("gradcheck", pb.gradcheck(NamedSelf.apply, (x,)))
    show("gradgradcheck", pb.gradgradcheck(NamedSelf.apply, (x,)))
    return {"x": x, "y": y}


if __name__ == "__main__":
    main()
