"""NumPy and SciPy inside, right to every order.

Φ, the distribution function of the normal law, comes from SciPy (from math.erf where SciPy is missing), its density φ
from NumPy. Neither can be recorded, so the backward is a Function of its own. As φ'(x) = -x φ(x), that Function can
express its own gradient by calling itself, which makes every order available.
"""

import math

import numpy as np

import pullback as pb

try:
    from scipy.special import ndtr
except ImportError:
    ndtr = np.vectorize(lambda x: (1 + math.erf(x / math.sqrt(2))) / 2)


class NormalCDF(pb.Function):
    """y = Φ(x)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return pb.tensor(ndtr(x.numpy()))

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return TimesDensity.apply(grad_y, x)


class TimesDensity(pb.Function):
    """g φ(x): the backward of Φ, computed by NumPy."""

    @staticmethod
    def forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        density = np.exp(-(x.numpy() ** 2) / 2) / math.sqrt(2 * math.pi)
        return pb.tensor(g.numpy() * density)

    @staticmethod
    def backward(ctx, grad):
        g, x = ctx.saved_tensors
        return TimesDensity.apply(grad, x), TimesDensity.apply(-grad * g * x, x)


def main(show=print):
    show(f"Φ comes from {'SciPy' if type(ndtr) is np.ufunc else 'math.erf (SciPy is not installed)'}.")
    x = pb.tensor(0.5, requires_grad=True)
    y = NormalCDF.apply(x)
    (d1,) = pb.autograd.grad(y, x, create_graph=True)
    (d2,) = pb.autograd.grad(d1, x, create_graph=True)
    (d3,) = pb.autograd.grad(d2, x)
    density = math.exp(-(0.5**2) / 2) / math.sqrt(2 * math.pi)
    show("Φ(0.5)", y, "should be", (1 + math.erf(0.5 / math.sqrt(2))) / 2)
    show("Φ' = φ(x)", d1, "should be", density)
    show("Φ'' = -x φ(x)", d2, "should be", -0.5 * density)
    show("Φ''' = (x² - 1) φ(x)", d3, "should be", (0.5**2 - 1) * density)

    points = pb.tensor([-1.2, 0.3, 2.0], requires_grad=True)
    show("gradcheck", pb.gradcheck(NormalCDF.apply, (points,)))
    show("gradgradcheck", pb.gradgradcheck(NormalCDF.apply, (points,)))
    return {"x": x, "y": y, "dy/dx": d1}


if __name__ == "__main__":
    main()
