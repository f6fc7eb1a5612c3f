"""Random draws with gradients: the noise is given, so that all runs see the same."""

import math

import numpy as np
import scipy.special
import scipy.stats
import torch
from torch.autograd import Function

from torch_functions.case import Case, constant, normal, positive, uniform


class Reparametrise(Function):
    @staticmethod
    def forward(ctx, mu, log_var, eps):
        std = torch.exp(0.5 * log_var)
        ctx.save_for_backward(eps, std)
        return mu + eps * std

    @staticmethod
    def backward(ctx, g):
        eps, std = ctx.saved_tensors
        return g, g * eps * std * 0.5, None


class GammaImplicit(Function):
    """A Gamma draw by the quantile function; the derivative by -dF/da / f, dF/da by differences in NumPy."""

    @staticmethod
    def forward(ctx, alpha, u):
        a = alpha.detach().numpy()
        x = scipy.special.gammaincinv(a, u.numpy())
        h = 1e-4
        dF = (scipy.special.gammainc(a + h, x) - scipy.special.gammainc(a - h, x)) / (2 * h)
        density = np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a))
        ctx.save_for_backward(torch.from_numpy(-dF / density))
        return torch.from_numpy(x)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


class BinaryConcrete(Function):
    @staticmethod
    def forward(ctx, logits, u, temperature):
        logistic = torch.log(u) - torch.log1p(-u)
        y = torch.sigmoid((logits + logistic) / temperature)
        ctx.save_for_backward(y)
        ctx.temperature = temperature
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y) / ctx.temperature, None, None


class BernoulliSTE(Function):
    """A hard draw; the probability gets the gradient."""

    @staticmethod
    def forward(ctx, p, u):
        ctx.save_for_backward(p)
        return (u < p).to(p.dtype)

    @staticmethod
    def backward(ctx, g):
        return g, None


class HardConcrete(Function):
    """L0 gates: stretched, clamped, the gradient through the inside of the interval."""

    @staticmethod
    def forward(ctx, log_alpha, u, beta, lo, hi):
        s = torch.sigmoid((torch.log(u) - torch.log(1 - u) + log_alpha) / beta)
        stretched = s * (hi - lo) + lo
        ctx.save_for_backward(s, stretched)
        ctx.const = beta, lo, hi
        return stretched.clamp(0, 1)

    @staticmethod
    def backward(ctx, g):
        s, stretched = ctx.saved_tensors
        beta, lo, hi = ctx.const
        inside = ((stretched > 0) & (stretched < 1)).to(s.dtype)
        return g * inside * (hi - lo) * s * (1 - s) / beta, None, None, None, None


class TruncatedNormal(Function):
    """On [a, inf), by inversion, everything through erf and erfinv."""

    @staticmethod
    def forward(ctx, a, u):
        Fa = 0.5 * (1 + torch.erf(a / math.sqrt(2)))
        x = math.sqrt(2) * torch.erfinv(2 * (Fa + u * (1 - Fa)) - 1)
        ctx.save_for_backward(a, x, u)
        return x

    @staticmethod
    def backward(ctx, g):
        a, x, u = ctx.saved_tensors
        ratio = torch.exp(0.5 * (x**2 - a**2))
        return g * (1 - u) * ratio, None


class PowerSpherical(Function):
    """A Householder reflection of a given sample onto the direction mu."""

    @staticmethod
    def forward(ctx, mu, z):
        e1 = torch.zeros_like(mu)
        e1[0] = 1.0
        u = e1 - mu
        n = u.norm()
        ctx.save_for_backward(mu, z)
        return z - 2 * u * (u.dot(z)) / n**2

    @staticmethod
    def backward(ctx, g):
        mu, z = ctx.saved_tensors
        e1 = torch.zeros_like(mu)
        e1[0] = 1.0
        u = e1 - mu
        n2 = u.dot(u)
        uz, ug = u.dot(z), u.dot(g)
        gu = -2 * (g * uz + z * ug) / n2 + 4 * u * uz * ug / n2**2
        return -gu, None


class LaplaceSample(Function):
    @staticmethod
    def forward(ctx, loc, scale, u):
        centred = u - 0.5
        noise = -torch.sign(centred) * torch.log1p(-2 * centred.abs())
        ctx.noise = noise
        ctx.shapes = loc.shape, scale.shape
        return loc + scale * noise

    @staticmethod
    def backward(ctx, g):
        return g.sum_to_size(ctx.shapes[0]), (g * ctx.noise).sum_to_size(ctx.shapes[1]), None


class StudentT(Function):
    """By SciPy's quantiles, nothing but the scale differentiated."""

    @staticmethod
    def forward(ctx, scale, u, df):
        t = torch.from_numpy(scipy.stats.t.ppf(u.numpy(), df))
        ctx.save_for_backward(t)
        return scale * t

    @staticmethod
    def backward(ctx, g):
        (t,) = ctx.saved_tensors
        return (g * t).sum(), None, None


UNIFORM = constant(uniform(4, low=0.1, high=0.9))

CASES = [
    Case(
        "reparametrised normal", Reparametrise.apply, (normal(3), normal(3), constant(normal(3))), torch_second="wrong"
    ),
    Case("gamma draw", GammaImplicit.apply, (positive(4), UNIFORM), torch_second="wrong", refused="second", loose=1e-6),
    Case("binary concrete", lambda x, u: BinaryConcrete.apply(x, u, 0.6), (normal(4), UNIFORM)),
    Case("bernoulli ste", BernoulliSTE.apply, (uniform(4), UNIFORM), exact=False),
    Case(
        "hard concrete",
        lambda x, u: HardConcrete.apply(x, u, 0.66, -0.1, 1.1),
        (normal(4), UNIFORM),
        torch_second="wrong",
    ),
    Case("truncated normal", TruncatedNormal.apply, (normal(4), UNIFORM)),
    Case("power spherical", PowerSpherical.apply, (normal(3), constant(normal(3)))),
    Case("laplace draw", LaplaceSample.apply, (normal(4), positive(1), UNIFORM)),
    Case("student draw", lambda s, u: StudentT.apply(s, u, 5.0), (positive(), UNIFORM)),
]
