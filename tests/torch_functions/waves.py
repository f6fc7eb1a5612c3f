"""Complex numbers and Fourier transforms."""

import torch
from torch.autograd import Function

from torch_functions.case import Case, complexes, constant, normal, positive


class ComplexAbs(Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z.abs()

    @staticmethod
    def backward(ctx, g):
        (z,) = ctx.saved_tensors
        return g * z / z.abs()


class ModReLU(Function):
    """Magnitude shifted and rectified, phase kept."""

    @staticmethod
    def forward(ctx, z, b):
        r = z.abs()
        scale = torch.relu(r + b) / r
        ctx.save_for_backward(z, b)
        return z * scale

    @staticmethod
    def backward(ctx, g):
        z, b = ctx.saved_tensors
        r = z.abs()
        active = (r + b > 0).to(r.dtype)
        u = z / r
        inner = (g * u.conj()).real
        gz = active * (g * (1 + b / r) - u * inner * b / r)
        return gz, (active * inner).sum().reshape(b.shape)


class ComplexMulPairs(Function):
    """Complex product of pairs of reals in the last dimension."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return ComplexMulPairs.product(a, b)

    @staticmethod
    def product(a, b, conjugate=False):
        ar, ai = a[..., 0], a[..., 1]
        br, bi = b[..., 0], b[..., 1]
        if conjugate:
            bi = -bi
        return torch.stack([ar * br - ai * bi, ar * bi + ai * br], dim=-1)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return ComplexMulPairs.product(g, b, True), ComplexMulPairs.product(g, a, True)


class ComplexExp(Function):
    """Holomorphic: the conjugate of the derivative."""

    @staticmethod
    def forward(ctx, z):
        y = torch.exp(z)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y.conj()


class PhaseOnly(Function):
    """z / |z|: not holomorphic."""

    @staticmethod
    def forward(ctx, z):
        u = z / z.abs()
        ctx.save_for_backward(z, u)
        return u

    @staticmethod
    def backward(ctx, g):
        z, u = ctx.saved_tensors
        return (g - u * (g * u.conj()).real) / z.abs()


class FFTConv(Function):
    """Circular convolution of real signals; the spectra are kept."""

    @staticmethod
    def forward(ctx, x, k):
        X, K = torch.fft.rfft(x), torch.fft.rfft(k)
        ctx.save_for_backward(X, K)
        ctx.n = x.size(-1)
        return torch.fft.irfft(X * K, n=ctx.n)

    @staticmethod
    def backward(ctx, g):
        X, K = ctx.saved_tensors
        G = torch.fft.rfft(g)
        return torch.fft.irfft(G * K.conj(), n=ctx.n), torch.fft.irfft(G * X.conj(), n=ctx.n)


class SpectralGate(Function):
    """A real filter on the Fourier coefficients, adjoint by the same transforms."""

    @staticmethod
    def forward(ctx, x, mask):
        ctx.save_for_backward(x, mask)
        return torch.fft.ifft(torch.fft.fft(x) * mask).real

    @staticmethod
    def backward(ctx, g):
        x, mask = ctx.saved_tensors
        gx = torch.fft.ifft(torch.fft.fft(g) * mask).real
        gm = (torch.fft.fft(x) * torch.fft.ifft(g.to(x.dtype))).real
        return gx, gm


class HilbertEnvelope(Function):
    """The magnitude of the analytic signal."""

    @staticmethod
    def analytic(x):
        n = x.size(-1)
        h = torch.zeros(n, dtype=x.dtype)
        h[0] = 1
        h[1 : (n + 1) // 2] = 2
        if n % 2 == 0:
            h[n // 2] = 1
        return torch.fft.ifft(torch.fft.fft(x) * h)

    @staticmethod
    def forward(ctx, x):
        z = HilbertEnvelope.analytic(x)
        ctx.save_for_backward(x)
        return z.abs()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        z = HilbertEnvelope.analytic(x)
        u = z / z.abs()
        back = torch.fft.ifft(torch.fft.fft(g * u.imag))
        n = x.size(-1)
        h = torch.zeros(n, dtype=x.dtype)
        h[1 : (n + 1) // 2] = 1
        h[n // 2 + 1 :] = -1
        odd = torch.fft.ifft(torch.fft.fft(g * u.imag) * (1j * h)).real
        return g * u.real + odd + 0 * back.real


class StftMagnitude(Function):
    """Frames by unfolding an index table, windowed, transformed; back by index_add_."""

    @staticmethod
    def forward(ctx, x, window, hop):
        n = window.numel()
        starts = torch.arange(0, x.numel() - n + 1, hop)
        index = starts[:, None] + torch.arange(n)[None, :]
        spectrum = torch.fft.rfft(x[index] * window)
        ctx.save_for_backward(spectrum, window, index)
        ctx.size = x.numel()
        return spectrum.abs()

    @staticmethod
    def backward(ctx, g):
        spectrum, window, index = ctx.saved_tensors
        n = window.numel()
        G = g * spectrum / spectrum.abs()
        full = torch.zeros(G.size(0), n, dtype=G.dtype)
        full[:, : G.size(1)] = G
        frames = torch.fft.ifft(full).real * n * window
        out = torch.zeros(ctx.size, dtype=frames.dtype)
        out.index_add_(0, index.reshape(-1), frames.reshape(-1))
        return out, None, None


class Propagator(Function):
    """Angular spectrum propagation by a distance that is learned."""

    @staticmethod
    def forward(ctx, field, distance, kz):
        phase = torch.exp(1j * kz * distance)
        out = torch.fft.ifft(torch.fft.fft(field) * phase)
        ctx.save_for_backward(out, distance, kz)
        return out

    @staticmethod
    def backward(ctx, g):
        out, distance, kz = ctx.saved_tensors
        G = torch.fft.fft(g)
        gf = torch.fft.ifft(G * torch.exp(-1j * kz * distance))
        derivative = torch.fft.ifft(torch.fft.fft(out) * (1j * kz))
        gd = (g * derivative.conj()).real.sum()
        return gf, gd, None


class RealPart(Function):
    @staticmethod
    def forward(ctx, z):
        return z.real.clone()

    @staticmethod
    def backward(ctx, g):
        return torch.complex(g, torch.zeros_like(g))


class HermitianInner(Function):
    """<a, b> with the first one conjugated; vdot."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.vdot(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g.conj() * b, g * a


CASES = [
    Case("complex magnitude", ComplexAbs.apply, (complexes(3),)),
    Case("modrelu", ModReLU.apply, (complexes(4), normal(1, scale=0.3))),
    Case("complex product of pairs", ComplexMulPairs.apply, (normal(3, 2), normal(3, 2))),
    Case("complex exponential", ComplexExp.apply, (complexes(3),)),
    Case("phase", PhaseOnly.apply, (complexes(3),)),
    Case("fft convolution", FFTConv.apply, (normal(6), normal(6)), torch_second="wrong"),
    Case("spectral gate", SpectralGate.apply, (normal(5), constant([1.0, 0.5, 0.2, 0.2, 0.5]))),
    Case("envelope", HilbertEnvelope.apply, (normal(6),)),
    Case(
        "stft magnitude",
        lambda x, w: StftMagnitude.apply(x, w, 2),
        (normal(8), constant([0.5, 1.0, 1.0, 0.5])),
        torch_second="wrong",
    ),
    Case("propagator", Propagator.apply, (complexes(4), positive(), constant(positive(4)))),
    Case("real part", RealPart.apply, (complexes(3),)),
    Case("hermitian inner product", HermitianInner.apply, (complexes(3), complexes(3))),
]
