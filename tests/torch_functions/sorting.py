"""Sorting, ranking, selecting: hard ones with kept permutations, and relaxations."""

import torch
import torch.nn.functional as F
from torch.autograd import Function

from torch_functions.case import Case, normal, spread


class SortWithPermutation(Function):
    @staticmethod
    def forward(ctx, x):
        y, perm = x.sort(dim=-1)
        ctx.save_for_backward(perm)
        return y, perm

    @staticmethod
    def backward(ctx, g, _):
        (perm,) = ctx.saved_tensors
        return torch.zeros_like(g).scatter(-1, perm, g)


class SoftSort(Function):
    """softmax(-|sort(s) - s| / tau) (Prillo and Eisenschlos 2020)."""

    @staticmethod
    def forward(ctx, s, tau):
        ordered, perm = s.sort(descending=True)
        diff = ordered[:, None] - s[None, :]
        P = F.softmax(-diff.abs() / tau, -1)
        ctx.save_for_backward(P, diff.sign(), perm)
        ctx.tau = tau
        return P

    @staticmethod
    def backward(ctx, g):
        P, sign, perm = ctx.saved_tensors
        inner = P * (g - (g * P).sum(-1, keepdim=True)) * (-1 / ctx.tau) * sign
        grad = -inner.sum(0)
        grad = grad.index_add(0, perm, inner.sum(1))
        return grad, None


class NeuralSort(Function):
    """Grover et al. 2019, with the matrix of absolute differences."""

    @staticmethod
    def forward(ctx, s, tau):
        n = s.numel()
        A = (s[:, None] - s[None, :]).abs()
        B = A.sum(1)
        scaling = n + 1 - 2 * torch.arange(1, n + 1, dtype=s.dtype)
        P = torch.softmax((scaling[:, None] * s[None, :] - B[None, :]) / tau, -1)
        ctx.save_for_backward(s, P, scaling)
        ctx.tau = tau
        return P

    @staticmethod
    def backward(ctx, g):
        s, P, scaling = ctx.saved_tensors
        z = P * (g - (g * P).sum(-1, keepdim=True)) / ctx.tau
        grad = (z * scaling[:, None]).sum(0)
        gB = -z.sum(0)
        sign = torch.sign(s[:, None] - s[None, :])
        grad = grad + gB * sign.sum(1) - (gB[:, None] * sign).sum(0)
        return grad, None


class SoftRank(Function):
    """Sums of sigmoids of differences."""

    @staticmethod
    def forward(ctx, x, tau):
        S = torch.sigmoid((x[:, None] - x[None, :]) / tau)
        ctx.save_for_backward(S)
        ctx.tau = tau
        return S.sum(1) + 0.5

    @staticmethod
    def backward(ctx, g):
        (S,) = ctx.saved_tensors
        D = S * (1 - S) / ctx.tau
        return g * D.sum(1) - D.t().mv(g), None


class IsotonicProjection(Function):
    """Pool adjacent violators in Python; the gradient averages over the blocks."""

    @staticmethod
    def forward(ctx, y):
        blocks = []
        for value in y.tolist():
            blocks.append([value, 1])
            while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
                v, n = blocks.pop()
                w, m = blocks.pop()
                blocks.append([(v * n + w * m) / (n + m), n + m])
        ctx.sizes = [n for _, n in blocks]
        out = []
        for v, n in blocks:
            out += [v] * n
        return torch.tensor(out, dtype=y.dtype)

    @staticmethod
    def backward(ctx, g):
        parts = g.split(ctx.sizes)
        return torch.cat([p.mean().expand(p.size(0)) for p in parts])


class BlackboxRank(Function):
    """Differentiation of a blackbox by a second call at a shifted point (Vlastelica et al. 2020): a surrogate."""

    @staticmethod
    def rank(x):
        return x.argsort().argsort().to(x.dtype)

    @staticmethod
    def forward(ctx, x, lam):
        y = BlackboxRank.rank(x)
        ctx.lam = lam
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        shifted = BlackboxRank.rank(x + ctx.lam * g)
        return -(y - shifted) / ctx.lam, None


class MedianOfRows(Function):
    @staticmethod
    def forward(ctx, x):
        value, index = x.median(dim=1)
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return value

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        out = g.new_zeros(ctx.shape)
        out[torch.arange(len(index)), index] = g
        return out


class SoftTopK(Function):
    """Sigmoids with a common shift, found by bisection so that they sum to k."""

    @staticmethod
    def forward(ctx, x, k):
        lo, hi = -x.max() - 30, -x.min() + 30
        for _ in range(80):
            mid = (lo + hi) / 2
            if torch.sigmoid(x + mid).sum() < k:
                lo = mid
            else:
                hi = mid
        y = torch.sigmoid(x + (lo + hi) / 2)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        v = y * (1 - y)
        return v * g - v * (v * g).sum() / v.sum(), None


CASES = [
    Case("sort with its permutation", SortWithPermutation.apply, (spread(2, 4),)),
    Case("softsort", lambda s: SoftSort.apply(s, 0.5), (spread(4),)),
    Case("neuralsort", lambda s: NeuralSort.apply(s, 0.8), (spread(4),)),
    Case("soft rank", lambda s: SoftRank.apply(s, 0.7), (spread(4),), torch_second="wrong"),
    Case("isotonic projection", IsotonicProjection.apply, (normal(6),)),
    Case("rank as a blackbox", lambda x: BlackboxRank.apply(x, 3.0), (spread(5),), exact=False, torch_second="meant"),
    Case("median of rows", MedianOfRows.apply, (spread(2, 5),)),
    Case("soft top-k", lambda x: SoftTopK.apply(x, 2.0), (normal(4),)),
]
