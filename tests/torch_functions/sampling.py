"""Interpolation: grids, look-up tables, splats, warps, in plain operators."""

import torch
from torch.autograd import Function

from torch_functions.case import Case, constant, normal, positive, uniform


class Bilinear2d(Function):
    """Image and coordinates; corners clamped, their weights differentiated by hand."""

    @staticmethod
    def forward(ctx, image, xy):
        h, w = image.shape
        x, y = xy[:, 0], xy[:, 1]
        x0 = x.floor().clamp(0, w - 2)
        y0 = y.floor().clamp(0, h - 2)
        fx, fy = x - x0, y - y0
        x0, y0 = x0.long(), y0.long()
        a, b = image[y0, x0], image[y0, x0 + 1]
        c, d = image[y0 + 1, x0], image[y0 + 1, x0 + 1]
        ctx.save_for_backward(x0, y0, fx, fy, a, b, c, d)
        ctx.shape = image.shape
        return a * (1 - fx) * (1 - fy) + b * fx * (1 - fy) + c * (1 - fx) * fy + d * fx * fy

    @staticmethod
    def backward(ctx, g):
        x0, y0, fx, fy, a, b, c, d = ctx.saved_tensors
        gi = g.new_zeros(ctx.shape)
        gi.index_put_((y0, x0), g * (1 - fx) * (1 - fy), accumulate=True)
        gi.index_put_((y0, x0 + 1), g * fx * (1 - fy), accumulate=True)
        gi.index_put_((y0 + 1, x0), g * (1 - fx) * fy, accumulate=True)
        gi.index_put_((y0 + 1, x0 + 1), g * fx * fy, accumulate=True)
        gx = g * ((b - a) * (1 - fy) + (d - c) * fy)
        gy = g * ((c - a) * (1 - fx) + (d - b) * fx)
        return gi, torch.stack([gx, gy], dim=1)


class DeformableOffset1d(Function):
    """Samples at learned offsets; only inputs are saved."""

    @staticmethod
    def forward(ctx, x, offset):
        ctx.save_for_backward(x, offset)
        left, frac = DeformableOffset1d.place(offset, x.size(0))
        return x[left] * (1 - frac) + x[left + 1] * frac

    @staticmethod
    def place(offset, n):
        position = (torch.arange(offset.numel(), dtype=offset.dtype) + offset).clamp(0, n - 1.001)
        left = position.detach().floor().long()
        return left, position - left

    @staticmethod
    def backward(ctx, g):
        x, offset = ctx.saved_tensors
        left, frac = DeformableOffset1d.place(offset, x.size(0))
        gx = torch.zeros_like(x)
        gx.index_add_(0, left, g * (1 - frac))
        gx.index_add_(0, left + 1, g * frac)
        return gx, g * (x[left + 1] - x[left])


class LinearInterp1d(Function):
    """numpy.interp with gradients in the ordinates; searchsorted finds the place."""

    @staticmethod
    def forward(ctx, xs, ys, x):
        k = torch.searchsorted(xs, x).clamp(1, xs.numel() - 1)
        x0, x1 = xs[k - 1], xs[k]
        t = (x - x0) / (x1 - x0)
        ctx.save_for_backward(k, t, ys, x1 - x0)
        return ys[k - 1] * (1 - t) + ys[k] * t

    @staticmethod
    def backward(ctx, g):
        k, t, ys, dx = ctx.saved_tensors
        gy = torch.zeros_like(ys)
        gy.scatter_add_(0, k - 1, g * (1 - t))
        gy.scatter_add_(0, k, g * t)
        gx = g * (ys[k] - ys[k - 1]) / dx
        return None, gy, gx


class TrilinearLUT(Function):
    """A 3D colour table, eight corners in a loop."""

    @staticmethod
    def forward(ctx, lut, rgb):
        n = lut.size(-1)
        scaled = rgb * (n - 1)
        low = scaled.floor().clamp(0, n - 2)
        frac = scaled - low
        low = low.long()
        out = 0
        for corner in range(8):
            bits = [(corner >> k) & 1 for k in range(3)]
            weight = 1
            for k in range(3):
                weight = weight * (frac[:, k] if bits[k] else 1 - frac[:, k])
            out = out + weight * lut[low[:, 0] + bits[0], low[:, 1] + bits[1], low[:, 2] + bits[2]]
        ctx.save_for_backward(lut, rgb)
        return out

    @staticmethod
    def backward(ctx, g):
        lut, rgb = ctx.saved_tensors
        n = lut.size(-1)
        scaled = rgb * (n - 1)
        low = scaled.detach().floor().clamp(0, n - 2)
        frac = scaled - low
        low = low.long()
        g_lut = torch.zeros_like(lut)
        g_frac = [0, 0, 0]
        for corner in range(8):
            bits = [(corner >> k) & 1 for k in range(3)]
            parts = [frac[:, k] if bits[k] else 1 - frac[:, k] for k in range(3)]
            where = tuple(low[:, k] + bits[k] for k in range(3))
            g_lut.index_put_(where, g * parts[0] * parts[1] * parts[2], accumulate=True)
            for k in range(3):
                others = parts[(k + 1) % 3] * parts[(k + 2) % 3]
                g_frac[k] = g_frac[k] + (1 if bits[k] else -1) * g * others * lut[where]
        return g_lut, torch.stack(g_frac, dim=1) * (n - 1)


class NearestUpsample(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.repeat_interleave(factor, dim=0).repeat_interleave(factor, dim=1)

    @staticmethod
    def backward(ctx, g):
        f = ctx.factor
        return g.view(g.size(0) // f, f, g.size(1) // f, f).sum(dim=(1, 3)), None


class SplatPoints(Function):
    """Each point adds to its two neighbours on a line."""

    @staticmethod
    def forward(ctx, position, value, size):
        left = torch.floor(position)
        frac = position - left
        left = left.long()
        out = torch.zeros(size, dtype=value.dtype)
        out.index_add_(0, left, value * (1 - frac))
        out.index_add_(0, left + 1, value * frac)
        ctx.save_for_backward(left, frac, value)
        return out

    @staticmethod
    def backward(ctx, g):
        left, frac, value = ctx.saved_tensors
        slope = g[left + 1] - g[left]
        return value * slope, g[left] * (1 - frac) + g[left + 1] * frac, None


class SoftRasterizer(Function):
    """Coverage of pixels by an interval, with a sigmoid edge; pixels are constants made in forward."""

    @staticmethod
    def forward(ctx, lo, hi, n, sharpness):
        pix = torch.linspace(0, 1, n, dtype=lo.dtype)
        a = torch.sigmoid(sharpness * (pix - lo))
        b = torch.sigmoid(sharpness * (hi - pix))
        ctx.save_for_backward(a, b)
        ctx.sharpness = sharpness
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        s = ctx.sharpness
        return -(g * s * a * (1 - a) * b).sum(), (g * s * a * b * (1 - b)).sum(), None, None


class VolumeRender(Function):
    """Alpha compositing along a ray; the suffix sums by flips."""

    @staticmethod
    def forward(ctx, sigma, colour):
        alpha = 1 - torch.exp(-sigma)
        trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:1]), 1 - alpha[:-1]]), 0)
        weights = alpha * trans
        ctx.save_for_backward(sigma, colour, weights, trans)
        return (weights * colour).sum()

    @staticmethod
    def backward(ctx, g):
        sigma, colour, weights, trans = ctx.saved_tensors
        wc = weights * colour
        suffix = torch.flip(torch.cumsum(torch.flip(wc, [0]), 0), [0]) - wc
        g_sigma = g * (trans * torch.exp(-sigma) * colour - suffix)
        return g_sigma, g * weights


CASES = [
    Case(
        "bilinear sampling",
        Bilinear2d.apply,
        (normal(3, 4), uniform(3, 2, low=0.1, high=1.9)),
        torch_second="wrong",
    ),
    Case("deformable offsets", DeformableOffset1d.apply, (normal(6), uniform(4, low=0.1, high=0.8)), refused="second"),
    Case(
        "linear interpolation",
        LinearInterp1d.apply,
        (constant([0.0, 0.4, 1.0, 1.7]), normal(4), uniform(3, low=0.1, high=1.6)),
        torch_second="wrong",
    ),
    Case(
        "trilinear table", TrilinearLUT.apply, (normal(3, 3, 3), uniform(2, 3, low=0.05, high=0.45)), refused="second"
    ),
    Case("nearest upsampling", lambda x: NearestUpsample.apply(x, 2), (normal(2, 3),)),
    Case(
        "splat",
        lambda p, v: SplatPoints.apply(p, v, 5),
        (uniform(4, low=0.1, high=3.9), normal(4)),
        torch_second="wrong",
    ),
    Case(
        "soft raster",
        lambda lo, hi: SoftRasterizer.apply(lo, hi, 5, 8.0),
        (uniform(low=0.1, high=0.4), uniform(low=0.6, high=0.9)),
        torch_second="wrong",
    ),
    Case("volume rendering", VolumeRender.apply, (positive(4), normal(4)), torch_second="wrong"),
]
