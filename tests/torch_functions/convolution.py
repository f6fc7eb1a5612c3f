"""Convolutions, correlations, pooling: by unfolding, by loops, by other convolutions."""

import torch
import torch.nn.functional as F
from torch.autograd import Function

from torch_functions.case import Case, normal, spread


class Conv2dUnfold(Function):
    """im2col forward, col2im backward; the columns are kept."""

    @staticmethod
    def forward(ctx, x, w, b):
        n, c, h, wd = x.shape
        k = w.size(2)
        cols = F.unfold(x, k)
        out = w.view(w.size(0), -1).matmul(cols) + b.view(1, -1, 1)
        ctx.save_for_backward(cols, w)
        ctx.geometry = (h, wd, k)
        return out.view(n, w.size(0), h - k + 1, wd - k + 1)

    @staticmethod
    def backward(ctx, g):
        cols, w = ctx.saved_tensors
        h, wd, k = ctx.geometry
        g = g.reshape(g.size(0), g.size(1), -1)
        gw = torch.bmm(g, cols.transpose(1, 2)).sum(0).view_as(w)
        gcols = w.view(w.size(0), -1).t().matmul(g)
        gx = F.fold(gcols, (h, wd), k)
        return gx, gw, g.sum((0, 2))


class Conv2dByConv(Function):
    """Gradients by F.conv_transpose2d and by a convolution over the batch."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return F.conv2d(x, w)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gx = gw = None
        if ctx.needs_input_grad[0]:
            gx = F.conv_transpose2d(g, w)
        if ctx.needs_input_grad[1]:
            gw = F.conv2d(x.transpose(0, 1), g.transpose(0, 1)).transpose(0, 1)
        return gx, gw


class Conv1dLoop(Function):
    """Tap by tap into a result that was made first."""

    @staticmethod
    def forward(ctx, x, w):
        n = x.size(-1) - w.size(-1) + 1
        out = x.new_zeros(n)
        for k in range(w.size(-1)):
            out += w[k] * x[k : k + n]
        ctx.save_for_backward(x, w)
        return out

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        n = g.size(-1)
        gx = torch.zeros_like(x)
        gw = torch.zeros_like(w)
        for k in range(w.size(-1)):
            gx[k : k + n] += w[k] * g
            gw[k] = (x[k : k + n] * g).sum()
        return gx, gw


class CausalDepthwise(Function):
    """Padded on the left, one filter per channel, gradient by flipping."""

    @staticmethod
    def forward(ctx, x, w):
        c, t = x.shape
        k = w.size(1)
        padded = F.pad(x, (k - 1, 0))
        windows = padded.unfold(1, k, 1)
        ctx.save_for_backward(windows, w)
        return (windows * w.unsqueeze(1)).sum(-1)

    @staticmethod
    def backward(ctx, g):
        windows, w = ctx.saved_tensors
        k = w.size(1)
        gw = (windows * g.unsqueeze(-1)).sum(1)
        padded = F.pad(g, (0, k - 1))
        gx = (padded.unfold(1, k, 1) * w.flip(1).unsqueeze(1)).sum(-1)
        return gx, gw


class CostVolume(Function):
    """Correlation of two feature maps over displacements (stereo)."""

    @staticmethod
    def forward(ctx, left, right, max_disp):
        ctx.max_disp = max_disp
        ctx.save_for_backward(left, right)
        c, w = left.shape
        out = left.new_zeros(max_disp, w)
        for d in range(max_disp):
            out[d, d:] = (left[:, d:] * right[:, : w - d]).mean(0)
        return out

    @staticmethod
    def backward(ctx, g):
        left, right = ctx.saved_tensors
        c, w = left.shape
        gl, gr = torch.zeros_like(left), torch.zeros_like(right)
        for d in range(ctx.max_disp):
            gl[:, d:] += g[d, d:] * right[:, : w - d] / c
            gr[:, : w - d] += g[d, d:] * left[:, d:] / c
        return gl, gr, None


class Shift(Function):
    """Channels moved against each other, zero steps beside (TSM)."""

    @staticmethod
    def forward(ctx, x, fold):
        ctx.fold = fold
        out = torch.zeros_like(x)
        out[:-1, :fold] = x[1:, :fold]
        out[1:, fold : 2 * fold] = x[:-1, fold : 2 * fold]
        out[:, 2 * fold :] = x[:, 2 * fold :]
        return out

    @staticmethod
    def backward(ctx, g):
        fold = ctx.fold
        gx = torch.zeros_like(g)
        gx[1:, :fold] = g[:-1, :fold]
        gx[:-1, fold : 2 * fold] = g[1:, fold : 2 * fold]
        gx[:, 2 * fold :] = g[:, 2 * fold :]
        return gx, None


class MaxPoolUnfold(Function):
    @staticmethod
    def forward(ctx, x, k):
        windows = x.unfold(-1, k, k)
        y, idx = windows.max(-1)
        ctx.save_for_backward(idx)
        ctx.k, ctx.size = k, x.shape
        ctx.mark_non_differentiable(idx)
        return y, idx

    @staticmethod
    def backward(ctx, g, _):
        (idx,) = ctx.saved_tensors
        offsets = torch.arange(idx.size(-1)) * ctx.k
        gx = g.new_zeros(ctx.size)
        gx.scatter_(-1, idx + offsets, g)
        return gx, None


class CornerPoolTop(Function):
    """A running maximum from below; the gradient walks back the same way (CornerNet)."""

    @staticmethod
    def forward(ctx, x):
        out = x.clone()
        for i in range(x.size(0) - 2, -1, -1):
            out[i] = torch.max(out[i], out[i + 1])
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, g):
        x, out = ctx.saved_tensors
        gx = torch.zeros_like(x)
        carry = torch.zeros_like(g[0])
        for i in range(x.size(0)):
            carry = carry + g[i]
            here = (x[i] == out[i]).to(g.dtype)
            gx[i] = carry * here
            carry = carry * (1 - here)
        return gx


class BlurPool(Function):
    """A fixed kernel in a closure variable of the module."""

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return 0.25 * x[:-2:2] + 0.5 * x[1:-1:2] + 0.25 * x[2::2]

    @staticmethod
    def backward(ctx, g):
        gx = torch.zeros(ctx.shape, dtype=g.dtype)
        for tap, weight in enumerate(KERNEL):
            gx[tap : len(gx) - 2 + tap : 2] += weight * g
        return gx


KERNEL = (0.25, 0.5, 0.25)


class PixelShuffleChecker(Function):
    """Space to depth by view and permute; backward the other way round."""

    @staticmethod
    def forward(ctx, x, r):
        h, w = x.size(0) // r, x.size(1) // r
        ctx.r = r
        return x.view(h, r, w, r).permute(1, 3, 0, 2).contiguous().view(r * r, h, w)

    @staticmethod
    def backward(ctx, g):
        r = ctx.r
        _, h, w = g.shape
        return g.contiguous().view(r, r, h, w).permute(2, 0, 3, 1).reshape(h * r, w * r), None


class Involution(Function):
    """A kernel per place: out[i] = sum_k w[k, i] x[i + k]; everything by unfold."""

    @staticmethod
    def forward(ctx, x, w):
        k = w.size(0)
        windows = x.unfold(0, k, 1)  # places, taps
        ctx.save_for_backward(windows.clone(), w)
        return torch.einsum("ik,ki->i", windows, w)

    @staticmethod
    def backward(ctx, g):
        windows, w = ctx.saved_tensors
        gw = torch.einsum("ik,i->ki", windows, g)
        gwin = torch.einsum("ki,i->ik", w, g)
        n, k = gwin.shape
        gx = g.new_zeros(n + k - 1)
        for j in range(k):
            gx[j : j + n] += gwin[:, j]
        return gx, gw


CASES = [
    Case(
        "conv2d by unfold",
        Conv2dUnfold.apply,
        (normal(2, 2, 4, 4), normal(3, 2, 3, 3), normal(3)),
        torch_second="wrong",
    ),
    Case("conv2d by convolutions", Conv2dByConv.apply, (normal(2, 1, 4, 4), normal(2, 1, 2, 2))),
    Case("conv1d in a loop", Conv1dLoop.apply, (normal(6), normal(3))),
    Case("causal depthwise", CausalDepthwise.apply, (normal(2, 5), normal(2, 3)), torch_second="wrong"),
    Case("cost volume", lambda a, b: CostVolume.apply(a, b, 3), (normal(2, 5), normal(2, 5))),
    Case("shift", lambda x: Shift.apply(x, 1), (normal(3, 3),)),
    Case("max pool by unfold", lambda x: MaxPoolUnfold.apply(x, 2), (spread(2, 6),)),
    Case("corner pool", CornerPoolTop.apply, (spread(4, 2),)),
    Case("blur pool", BlurPool.apply, (normal(7),)),
    Case("space to depth", lambda x: PixelShuffleChecker.apply(x, 2), (normal(4, 4),)),
    Case("involution", Involution.apply, (normal(6), normal(3, 4)), torch_second="wrong"),
]
