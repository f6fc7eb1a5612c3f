"""Draw the pictures of the documents: ``python docs/make_pictures.py [FOLDER]`` (docs/pictures when left out)."""

import sys
from pathlib import Path

import pullback as pb


class Sinh(pb.Function):
    """The operator that the README begins with."""

    @staticmethod
    def forward(ctx, x):
        e = pb.exp(x)
        ctx.cosh = (e + 1 / e) / 2
        return (e - 1 / e) / 2

    @staticmethod
    def backward(ctx, grad_y):
        return grad_y * ctx.cosh


def main() -> None:
    """Write every picture into the folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures"
    folder.mkdir(exist_ok=True)
    x = pb.tensor(1.0, requires_grad=True)
    y = Sinh.apply(x)
    (dy,) = pb.autograd.grad(y, x, create_graph=True)
    pb.draw.save((y, dy), folder / "sinh.svg", {"x": x, "y": y, "dy/dx": dy})


if __name__ == "__main__":
    main()
