"""A constant of the class.

What is the same for all calls and never changes may stand on the class, as any Python constant may. It is not kept
for backward: both methods simply read it. What differs from call to call goes on the ctx.
"""

import pullback as pb


class FixedBias(pb.Function):
    """y = w x + BIAS."""

    BIAS = 1.5

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w + FixedBias.BIAS

    @staticmethod
    def backward(ctx, grad_y):
        x, w = ctx.saved_tensors
        return grad_y * w, grad_y * x


def main(show=print):
    x = pb.tensor(2.0, requires_grad=True)
    w = pb.tensor(-3.0, requires_grad=True)
    y = FixedBias.apply(x, w)
    dx, dw = pb.autograd.grad(y, (x, w), create_graph=True)
    show("y", y, "should be", -4.5)
    show("dy/dx", dx, "should be", -3.0)
    show("dy/dw", dw, "should be", 2.0)
    show("d²y/dx dw", pb.autograd.grad(dx, w)[0], "should be", 1.0)
    show("gradcheck", pb.gradcheck(FixedBias.apply, (x, w)))
    show("gradgradcheck", pb.gradgradcheck(FixedBias.apply, (x, w)))
    return {"x": x, "w": w, "y": y, "dy/dx": dx}


if __name__ == "__main__":
    main()
