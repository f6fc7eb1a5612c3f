"""Cumulative operations and recurrences."""

import torch
from torch.autograd import Function

from torch_functions.case import Case, normal, positive, uniform


class ExclusiveCumsum(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.cumsum(x, -1) - x

    @staticmethod
    def backward(ctx, g):
        return g.flip(-1).cumsum(-1).flip(-1) - g


class CumProd(Function):
    """By division, which is right where nothing is zero."""

    @staticmethod
    def forward(ctx, x):
        y = torch.cumprod(x, 0)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        s = (g * y).flip(0).cumsum(0).flip(0)
        return s / x


class LogCumSumExp(Function):
    """A running maximum in a loop; the gradient with signs split, as exp of differences."""

    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        running = x[0]
        out[0] = running
        for i in range(1, x.numel()):
            running = torch.logaddexp(running, x[i])
            out[i] = running
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, g):
        x, out = ctx.saved_tensors
        grad = torch.zeros_like(x)
        for i in range(x.numel()):
            grad[i] = (g[i:] * torch.exp(x[i] - out[i:])).sum()
        return grad


class LinearRecurrence(Function):
    """h[t] = a[t] h[t-1] + x[t]: a reversed recurrence backward."""

    @staticmethod
    def forward(ctx, a, x, h0):
        h = h0
        hs = []
        for t in range(x.shape[0]):
            h = a[t] * h + x[t]
            hs.append(h)
        out = torch.stack(hs)
        ctx.save_for_backward(a, out, h0)
        return out

    @staticmethod
    def backward(ctx, g):
        a, out, h0 = ctx.saved_tensors
        previous = torch.cat([h0.unsqueeze(0), out[:-1]])
        gx = torch.empty_like(g)
        carry = torch.zeros_like(g[0])
        for t in range(g.shape[0] - 1, -1, -1):
            carry = carry + g[t]
            gx[t] = carry
            carry = carry * a[t]
        return gx * previous, gx, carry


class ParallelScan(Function):
    """The same by doubling, in place on clones (Mamba without a kernel)."""

    @staticmethod
    def pscan(A, X):
        A, X = A.clone(), X.clone()
        shift = 1
        while shift < X.size(0):
            X[shift:] = X[shift:] + A[shift:] * X[:-shift].clone()
            A[shift:] = A[shift:] * A[:-shift].clone()
            shift *= 2
        return X

    @staticmethod
    def forward(ctx, A, X):
        H = ParallelScan.pscan(A, X)
        ctx.save_for_backward(A, H)
        return H

    @staticmethod
    def backward(ctx, g):
        A, H = ctx.saved_tensors
        shifted = torch.cat([A[1:], torch.zeros_like(A[:1])]).flip(0)
        lead = torch.cat([torch.zeros_like(shifted[:1]), shifted[1:]])
        gX = ParallelScan.pscan(lead, g.flip(0)).flip(0)
        gA = torch.cat([torch.zeros_like(H[:1]), H[:-1]]) * gX
        return gA, gX


class GAE(Function):
    """Discounted sums from the end; discounts are numbers."""

    @staticmethod
    def forward(ctx, rewards, values, gamma, lam):
        T = rewards.size(0)
        deltas = rewards + gamma * values[1:] - values[:-1]
        adv = torch.zeros_like(rewards)
        last = 0
        for t in reversed(range(T)):
            adv[t] = last = deltas[t] + gamma * lam * last
        ctx.gamma, ctx.lam = gamma, lam
        return adv

    @staticmethod
    def backward(ctx, g):
        d = torch.zeros_like(g)
        last = 0
        for t in range(g.size(0)):
            d[t] = last = g[t] + ctx.gamma * ctx.lam * last
        gv = torch.zeros(g.size(0) + 1, dtype=g.dtype)
        gv[1:] += ctx.gamma * d
        gv[:-1] -= d
        return d, gv, None, None


class ExponentialMovingAverage(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        y = x.clone()
        for t in range(1, x.size(0)):
            y[t] = alpha * x[t] + (1 - alpha) * y[t - 1]
        ctx.save_for_backward(x, alpha, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, alpha, y = ctx.saved_tensors
        gx = torch.zeros_like(x)
        g_alpha = torch.zeros_like(alpha)
        carry = torch.zeros_like(x[0])
        for t in range(x.size(0) - 1, 0, -1):
            carry = carry + g[t]
            gx[t] = alpha * carry
            g_alpha = g_alpha + (carry * (x[t] - y[t - 1])).sum()
            carry = (1 - alpha) * carry
        gx[0] = carry + g[0]
        return gx, g_alpha


class AllPoleFilter(Function):
    """y[n] = x[n] - sum a[k] y[n-k]; the gradient of x is the same filter run backwards."""

    @staticmethod
    def filt(x, a):
        p = a.numel()
        y = torch.zeros(x.numel() + p, dtype=x.dtype)
        for n in range(x.numel()):
            y[n + p] = x[n] - torch.dot(a, y[n : n + p].flip(0))
        return y[p:]

    @staticmethod
    def forward(ctx, x, a):
        y = AllPoleFilter.filt(x, a)
        ctx.save_for_backward(a, y)
        return y

    @staticmethod
    def backward(ctx, g):
        a, y = ctx.saved_tensors
        gx = AllPoleFilter.apply(g.flip(0), a).flip(0)
        ga = []
        for k in range(1, a.numel() + 1):
            ga.append(-(gx[k:] * y[:-k]).sum())
        return gx, torch.stack(ga)


class LSTMCellFused(Function):
    """All gates in one go; activations kept."""

    @staticmethod
    def forward(ctx, x, h, c, W):
        z = torch.cat([x, h], -1) @ W
        i, f, g, o = z.chunk(4, -1)
        i, f, o, g = torch.sigmoid(i), torch.sigmoid(f), torch.sigmoid(o), torch.tanh(g)
        new_c = f * c + i * g
        tanh_c = torch.tanh(new_c)
        ctx.save_for_backward(x, h, c, W, i, f, g, o, tanh_c)
        return o * tanh_c, new_c

    @staticmethod
    def backward(ctx, gh, gc):
        x, h, c, W, i, f, g, o, tanh_c = ctx.saved_tensors
        gc = gc + gh * o * (1 - tanh_c**2)
        dz = torch.cat([gc * g * i * (1 - i), gc * c * f * (1 - f), gc * i * (1 - g**2), gh * tanh_c * o * (1 - o)], -1)
        both = dz @ W.t()
        gW = torch.cat([x, h], -1).t() @ dz
        return both[:, : x.size(1)], both[:, x.size(1) :], gc * f, gW


class RunningMax(Function):
    """cummax by hand, the index of the record kept."""

    @staticmethod
    def forward(ctx, x):
        best, where = x[0], 0
        out, index = [], []
        for t in range(len(x)):
            if x[t] > best:
                best, where = x[t], t
            out.append(best)
            index.append(where)
        ctx.index = torch.tensor(index)
        return torch.stack(out)

    @staticmethod
    def backward(ctx, g):
        return torch.zeros_like(g).scatter_add_(0, ctx.index, g)


CASES = [
    Case("exclusive cumsum", ExclusiveCumsum.apply, (normal(2, 4),)),
    Case("cumprod", CumProd.apply, (positive(4),)),
    Case("log-cumsum-exp", LogCumSumExp.apply, (normal(4),)),
    Case("linear recurrence", LinearRecurrence.apply, (uniform(4, 2), normal(4, 2), normal(2))),
    Case("parallel scan", ParallelScan.apply, (uniform(5, 2), normal(5, 2)), torch_second="raises"),
    Case("generalised advantages", lambda r, v: GAE.apply(r, v, 0.9, 0.8), (normal(4), normal(5))),
    Case("moving average", ExponentialMovingAverage.apply, (normal(4, 2), uniform(low=0.2, high=0.8))),
    Case("all-pole filter", AllPoleFilter.apply, (normal(6), normal(2, scale=0.3))),
    Case(
        "lstm cell",
        LSTMCellFused.apply,
        (normal(2, 2), normal(2, 2), normal(2, 2), normal(4, 8, scale=0.5)),
        torch_second="wrong",
    ),
    Case("running maximum", RunningMax.apply, (normal(6),)),
]
