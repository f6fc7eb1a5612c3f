"""Compiled C, to the second order and no further.

Value, first and second derivative of softplus, log(1 + exp(x)), are computed by C code on the memory of the arrays.
The second derivative is where this C code ends: once_differentiable says so, and a third derivative is refused
instead of being wrong.
"""

import ctypes
import ctypes.util
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import pullback as pb

SOURCE = """
#include <math.h>
static double s(double x) { return 1 / (1 + exp(-x)); }
void d0(int n, const double *x, double *y) { for (int i = 0; i < n; i++) y[i] = log1p(exp(x[i])); }
void d1(int n, const double *x, double *y) { for (int i = 0; i < n; i++) y[i] = s(x[i]); }
void d2(int n, const double *x, double *y) { for (int i = 0; i < n; i++) y[i] = s(x[i]) * (1 - s(x[i])); }
"""


def compiled():
    """The three loops of SOURCE, compiled by the system's C compiler; None if there is none that works."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "softplus.c").write_text(SOURCE)
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", "softplus.so", "softplus.c", "-lm"]
        if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
            return None
        library = ctypes.CDLL(str(folder / "softplus.so"))
    except OSError:
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    def loop(name):
        def run(x):
            y = np.empty_like(x)
            at = ctypes.POINTER(ctypes.c_double)
            library[name](x.size, x.ctypes.data_as(at), y.ctypes.data_as(at))
            return y

        return run

    return loop("d0"), loop("d1"), loop("d2")


def from_libm():
    """The same three from the exp and log1p of the C library, called element by element."""
    libm = ctypes.CDLL(ctypes.util.find_library("m") or ctypes.util.find_library("msvcrt"))
    for function in (libm.exp, libm.log1p):
        function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double

    def s(x):
        return 1 / (1 + libm.exp(-x))

    formulas = (lambda x: libm.log1p(libm.exp(x)), s, lambda x: s(x) * (1 - s(x)))
    return tuple(np.vectorize(formula, otypes=[float]) for formula in formulas)


SOFTPLUS = compiled()
HOW = "C source compiled just now" if SOFTPLUS else "exp and log1p of the C library (no C compiler found)"
SOFTPLUS = SOFTPLUS or from_libm()


def in_c(k, x):
    """The k-th derivative of softplus, as a new Tensor."""
    return pb.tensor(SOFTPLUS[k](np.asarray(x.numpy(), order="C")))


class Softplus(pb.Function):
    """y = log(1 + exp(x))."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return in_c(0, x)

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return SoftplusBackward.apply(grad_y, x)


class SoftplusBackward(pb.Function):
    """grad_x = grad_y · softplus'(x)."""

    @staticmethod
    def forward(ctx, grad_y, x):
        ctx.save_for_backward(grad_y, x)
        return grad_y * in_c(1, x)

    @staticmethod
    @pb.once_differentiable
    def backward(ctx, grad):
        grad_y, x = ctx.saved_tensors
        return grad * in_c(1, x), grad * grad_y * in_c(2, x)


def main(show=print):
    show(f"Computed by {HOW}.")
    x = pb.tensor(0.5, requires_grad=True)
    y = Softplus.apply(x)
    (dx,) = pb.autograd.grad(y, x, create_graph=True)
    (ddx,) = pb.autograd.grad(dx, x, create_graph=True)
    s = 1 / (1 + math.exp(-0.5))
    show("y", y, "should be", math.log1p(math.exp(0.5)))
    show("dy/dx", dx, "should be", s)
    show("d²y/dx²", ddx, "should be", s * (1 - s))
    try:
        pb.autograd.grad(ddx, x)
    except RuntimeError as error:
        show("the third derivative raises", type(error).__name__, "should be", "RuntimeError")

    points = pb.tensor([[-1.2, 0.3], [2.0, 5.0]], requires_grad=True)
    show("gradcheck", pb.gradcheck(Softplus.apply, (points,)))
    show("gradgradcheck", pb.gradgradcheck(Softplus.apply, (points,)))
    return {"x": x, "y": y, "dy/dx": dx}


if __name__ == "__main__":
    main()
