"""Special functions: values from SciPy, derivatives by formula (or by SciPy again)."""

import math

import numpy as np
import scipy.special
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from torch_functions.case import Case, constant, normal, positive, uniform


class BesselJ0(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(scipy.special.j0(x.detach().numpy()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g * BesselJ1.apply(x)


class BesselJ1(Function):
    """The partner: any order, because each names the other."""

    @staticmethod
    def forward(ctx, x):
        y = torch.from_numpy(scipy.special.j1(x.detach().numpy()))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * (BesselJ0.apply(x) - y / x)


class ModifiedBesselK(Function):
    """K_v for a fixed order v; the order is no Tensor."""

    @staticmethod
    def forward(ctx, v, x):
        ctx.v = v
        ctx.save_for_backward(x)
        return torch.as_tensor(scipy.special.kv(v, x.cpu().numpy()), dtype=x.dtype, device=x.device)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        v = ctx.v
        return None, -0.5 * grad_output * (ModifiedBesselK.apply(v - 1, x) + ModifiedBesselK.apply(v + 1, x))


class LogIve(Function):
    """log of the scaled I_v, derivative through a ratio (von Mises-Fisher distributions), in NumPy both ways."""

    @staticmethod
    def forward(ctx, v, z):
        ctx.v = v
        ctx.save_for_backward(z)
        z_cpu = z.detach().double().cpu().numpy()
        return torch.Tensor(np.log(scipy.special.ive(v, z_cpu))).to(z)

    @staticmethod
    def backward(ctx, grad_output):
        z = ctx.saved_tensors[-1]
        z_cpu = z.detach().numpy()
        ratio = scipy.special.ive(ctx.v - 1, z_cpu) / scipy.special.ive(ctx.v, z_cpu)
        return None, grad_output * (torch.from_numpy(ratio).to(z) - (ctx.v + z) / z)


class IveFunction(Function):
    """As in libraries for hyperspherical distributions: asserts, an output of the own dtype, a recursion in backward."""

    @staticmethod
    def forward(self, v, z):
        assert isinstance(v, (int, float)), "v must be a scalar"
        self.save_for_backward(z)
        self.v = v
        z_cpu = z.data.cpu().numpy()
        if np.isclose(v, 0):
            output = scipy.special.i0e(z_cpu, dtype=z_cpu.dtype)
        elif np.isclose(v, 1):
            output = scipy.special.i1e(z_cpu, dtype=z_cpu.dtype)
        else:
            output = scipy.special.ive(v, z_cpu, dtype=z_cpu.dtype)
        return torch.tensor(output, dtype=z.dtype, device=z.device)

    @staticmethod
    def backward(self, grad_output):
        z = self.saved_tensors[-1]
        return (
            None,
            grad_output * (ive(self.v - 1, z) - ive(self.v, z) * (self.v + z) / z),
        )


def ive(v, z):
    return IveFunction.apply(v, z)


class Digamma(Function):
    """A chain of polygammas, the order as an argument."""

    @staticmethod
    def forward(ctx, x, n=0):
        ctx.n = n
        ctx.save_for_backward(x)
        return x.new_tensor(scipy.special.polygamma(n, x.numpy()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Digamma.apply(x, ctx.n + 1), None


class LowerIncompleteGamma(Function):
    """Differentiated by x only; a is taken as a constant."""

    @staticmethod
    def forward(ctx, a, x):
        a_np, x_np = a.detach().numpy(), x.detach().numpy()
        ctx.save_for_backward(a, x)
        return torch.from_numpy(np.asarray(scipy.special.gammainc(a_np, x_np)))

    @staticmethod
    def backward(ctx, grad):
        a, x = ctx.saved_tensors
        density = torch.exp((a - 1) * torch.log(x) - x - torch.lgamma(a))
        return None, grad * density


class Erfcx(Function):
    """The rule needs the value: 2 x y - 2 / sqrt(pi)."""

    @staticmethod
    def forward(ctx, x):
        y = torch.as_tensor(scipy.special.erfcx(x.numpy()))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * (2 * x * y - 2 / math.sqrt(math.pi))


class Ndtri(Function):
    """The normal quantile, marked as differentiable once."""

    @staticmethod
    def forward(ctx, p):
        z = torch.from_numpy(scipy.special.ndtri(p.numpy()))
        ctx.save_for_backward(z)
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (z,) = ctx.saved_tensors
        return g * math.sqrt(2 * math.pi) * torch.exp(z**2 / 2)


class LambertW(Function):
    """w e^w = z, by SciPy; the derivative from the output."""

    @staticmethod
    def forward(ctx, z):
        result = scipy.special.lambertw(z.detach().numpy()).real.copy()
        w = torch.tensor(result, dtype=z.dtype)
        ctx.save_for_backward(w)
        return w

    @staticmethod
    def backward(ctx, g):
        (w,) = ctx.saved_tensors
        return g * torch.exp(-w) / (1 + w)


class LogBeta(Function):
    """Two arguments, broadcast against each other; gradients summed by hand."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        both = torch.digamma(a + b)
        ga = (g * (torch.digamma(a) - both)).sum_to_size(a.shape)
        gb = (g * (torch.digamma(b) - both)).sum_to_size(b.shape)
        return ga, gb


class NormalCdfNumpy(Function):
    """Values by SciPy, slopes in NumPy on detached arrays: no second derivative in there."""

    @staticmethod
    def forward(ctx, x):
        array = x.detach().numpy()
        ctx.array = array
        return torch.from_numpy(scipy.special.ndtr(array))

    @staticmethod
    def backward(ctx, g):
        slope = np.exp(-0.5 * ctx.array**2) / np.sqrt(2 * np.pi)
        return g * torch.from_numpy(slope)


CASES = [
    Case("bessel j0", BesselJ0.apply, (positive(4),)),
    Case("bessel k", lambda x: ModifiedBesselK.apply(1.5, x), (positive(4),)),
    Case("log ive", lambda z: LogIve.apply(2.5, z), (positive(3),), torch_second="wrong", refused="second", loose=1e-6),
    Case("ive", lambda z: ive(1.5, z), (positive(3),)),
    Case("digamma", Digamma.apply, (positive(4),)),
    Case("incomplete gamma", LowerIncompleteGamma.apply, (constant(positive(3)), positive(3))),
    Case("erfcx", Erfcx.apply, (normal(4),)),
    Case("ndtri", Ndtri.apply, (uniform(4, low=0.2, high=0.8),), torch_second="wrong", refused="second"),
    Case("lambert w", LambertW.apply, (positive(4),)),
    Case("log beta", LogBeta.apply, (positive(2, 1), positive(3))),
    Case("normal cdf in numpy", NormalCdfNumpy.apply, (normal(4),), torch_second="wrong", refused="second"),
]
