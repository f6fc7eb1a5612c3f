"""Ten chained calls, ten ctxs.

The result of each call is the argument of the next. All ten calls are still open when backward starts; it visits
them from the last to the first, and each finds on its own ctx what it saved.
"""

import math

import pullback as pb

order = []


class Sin(pb.Function):
    """y = sin(x),  dy/dx = cos(x)."""

    @staticmethod
    def forward(ctx, x, step):
        ctx.save_for_backward(x)
        ctx.step = step
        return pb.sin(x)

    @staticmethod
    def backward(ctx, grad_y):
        order.append(ctx.step)
        (x,) = ctx.saved_tensors
        return grad_y * pb.cos(x), None


def ten_times(x):
    for step in range(10):
        x = Sin.apply(x, step)
    return x


def main(show=print):
    order.clear()
    x = pb.tensor(1.0, requires_grad=True)
    y = ten_times(x)
    nodes = [y.grad_fn]
    while nodes[-1].next_functions[0][0].name() == "SinBackward":
        nodes.append(nodes[-1].next_functions[0][0])
    y.backward(retain_graph=True)  # the picture shows what is saved

    value, slope = 1.0, 1.0  # the same chain by hand
    for _ in range(10):
        slope *= math.cos(value)
        value = math.sin(value)
    show("sin(sin(...sin(1))), ten times", y, "should be", value)
    show("its derivative: ten cosines multiplied", x.grad, "should be", slope)
    show("different ctxs, one behind the other", len(set(nodes)), "should be", 10)
    show("the last call has the largest number", nodes[0].number == max(node.number for node in nodes))
    show("backward ran last to first", order, "should be", [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    show("gradcheck", pb.gradcheck(ten_times, (x,)))
    show("gradgradcheck", pb.gradgradcheck(ten_times, (x,)))
    return {"x": x, "y": y}


if __name__ == "__main__":
    main()
