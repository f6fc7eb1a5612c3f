"""A graph as a picture.

Boxes are Tensors and operations, arrows lead from arguments to results. A picture shows whether a gradient still
hangs on x; whether it is right, only numbers show. make_dot gives a graph for Graphviz; pullback.draw writes SVG and
text without any other program.
"""

import pullback as pb
from pullback import draw


class Square(pb.Function):
    """y = x²,  dy/dx = 2x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return grad_y * 2 * x


def main(show=print):
    x = pb.tensor(3.0, requires_grad=True)
    y = Square.apply(x)
    names = {"x": x, "y": y}
    show("The graph of y, as text:")
    for line in draw.text(y, names).splitlines():
        show(line)

    (connected,) = pb.autograd.grad(y, x, create_graph=True)
    (bare,) = pb.autograd.grad(y, x, retain_graph=True)  # the picture shows what is saved
    dot = pb.make_dot(connected, {"x": x, "dy/dx": connected})
    show("with create_graph, dy/dx hangs on x", "AccumulateGrad" in dot.source)
    show("without, it is a bare number", "AccumulateGrad" not in pb.make_dot(bare, {"dy/dx": bare}).source)
    show("the SVG is complete in itself", draw.svg(y, names).rstrip().endswith("</svg>"))
    return {"x": x, "y": y, "dy/dx": connected}


if __name__ == "__main__":
    main()
