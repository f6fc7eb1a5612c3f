"""The ctx is the node, from forward to backward.

The object that forward receives as ctx is the one that backward receives, and it is also the grad_fn of the result:
the node of this call in the graph. The class is never passed in. Another call has another ctx. Tell calls apart by
ctx.number; id(ctx) repeats, because the memory of a finished call is used again.
"""

import pullback as pb

in_forward, in_backward = [], []


class Double(pb.Function):
    """y = 2x, and a note of every ctx it meets."""

    @staticmethod
    def forward(ctx, x):
        in_forward.append(ctx)
        return x * 2

    @staticmethod
    def backward(ctx, grad_y):
        in_backward.append(ctx)
        return grad_y * 2


def main(show=print):
    in_forward.clear()
    in_backward.clear()
    x = pb.tensor(1.0, requires_grad=True)
    first, second = Double.apply(x), Double.apply(x)
    show("out.grad_fn is the ctx of forward", first.grad_fn is in_forward[0])
    (dx,) = pb.autograd.grad(first, x)
    show("backward got that same object", in_backward[0] is in_forward[0])
    show("and dy/dx is", dx, "should be", 2.0)
    show("it is neither the class nor an instance", not isinstance(first.grad_fn, (type, Double)))
    show("its type is named", type(first.grad_fn).__name__, "should be", "DoubleBackward")
    show("a second call has another ctx", second.grad_fn is not first.grad_fn)

    # 100 calls, each finished before the next one starts.
    numbers, addresses = set(), set()
    del first, second
    for _ in range(100):
        in_forward.clear()
        y = Double.apply(x)
        numbers.add(y.grad_fn.number)
        addresses.add(id(y.grad_fn))
        del y
    show("different ctx.number in 100 calls", len(numbers), "should be", 100)
    show("different id(ctx) are fewer: memory is reused", len(addresses) < 100)
    show("gradcheck", pb.gradcheck(Double.apply, (x,)))
    show("gradgradcheck", pb.gradgradcheck(Double.apply, (x,)))
    y = Double.apply(x)
    return {"x": x, "y": y}


if __name__ == "__main__":
    main()
