"""Dynamic programs: soft-DTW, CTC, chains, edit distances; the backward pass fills a second table."""

import numpy as np
import torch
from torch.autograd import Function

from torch_functions.case import Case, constant, normal, positive


def compute_softdtw(D, gamma):
    N, M = D.shape
    R = np.ones((N + 2, M + 2)) * np.inf
    R[0, 0] = 0
    for j in range(1, M + 1):
        for i in range(1, N + 1):
            r0 = -R[i - 1, j - 1] / gamma
            r1 = -R[i - 1, j] / gamma
            r2 = -R[i, j - 1] / gamma
            rmax = max(max(r0, r1), r2)
            rsum = np.exp(r0 - rmax) + np.exp(r1 - rmax) + np.exp(r2 - rmax)
            R[i, j] = D[i - 1, j - 1] - gamma * (np.log(rsum) + rmax)
    return R


def compute_softdtw_backward(D_, R, gamma):
    N, M = D_.shape
    D = np.zeros((N + 2, M + 2))
    E = np.zeros((N + 2, M + 2))
    D[1 : N + 1, 1 : M + 1] = D_
    E[-1, -1] = 1
    R[:, -1] = -np.inf
    R[-1, :] = -np.inf
    R[-1, -1] = R[-2, -2]
    for j in range(M, 0, -1):
        for i in range(N, 0, -1):
            a = np.exp((R[i + 1, j] - R[i, j] - D[i + 1, j]) / gamma)
            b = np.exp((R[i, j + 1] - R[i, j] - D[i, j + 1]) / gamma)
            c = np.exp((R[i + 1, j + 1] - R[i, j] - D[i + 1, j + 1]) / gamma)
            E[i, j] = E[i + 1, j] * a + E[i, j + 1] * b + E[i + 1, j + 1] * c
    return E[1 : N + 1, 1 : M + 1]


class SoftDTWNumpy(Function):
    """Both tables in NumPy, the constant gamma as a Tensor (as published)."""

    @staticmethod
    def forward(ctx, D, gamma):
        dev, dtype = D.device, D.dtype
        gamma = torch.tensor([gamma], dtype=dtype)
        D_ = D.detach().cpu().numpy()
        g_ = gamma.item()
        R = torch.tensor(compute_softdtw(D_, g_), dtype=dtype).to(dev)
        ctx.save_for_backward(D, R, gamma)
        return R[-2, -2]

    @staticmethod
    def backward(ctx, grad_output):
        D, R, gamma = ctx.saved_tensors
        D_ = D.detach().cpu().numpy()
        R_ = R.detach().cpu().numpy()
        E = torch.tensor(compute_softdtw_backward(D_, R_, gamma.item()), dtype=D.dtype)
        return grad_output * E, None


class SoftDTWTorch(Function):
    """The same in Tensor operators, R filled entry by entry."""

    @staticmethod
    def forward(ctx, D, gamma):
        n, m = D.shape
        R = torch.full((n + 1, m + 1), 1e8, dtype=D.dtype)
        R[0, 0] = 0
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                options = torch.stack([R[i - 1, j - 1], R[i - 1, j], R[i, j - 1]])
                R[i, j] = D[i - 1, j - 1] - gamma * torch.logsumexp(-options / gamma, 0)
        ctx.gamma = gamma
        ctx.save_for_backward(D, R)
        return R[n, m].clone()

    @staticmethod
    def backward(ctx, g):
        D, R = ctx.saved_tensors
        gamma = ctx.gamma
        n, m = D.shape
        E = torch.zeros(n + 1, m + 1, dtype=D.dtype)
        E[n - 1, m - 1] = 1.0
        for i in range(n - 1, -1, -1):
            for j in range(m - 1, -1, -1):
                if (i, j) == (n - 1, m - 1):
                    continue
                total = 0
                for di, dj in ((1, 0), (0, 1), (1, 1)):
                    if i + di < n and j + dj < m:
                        above = R[i + 1 + di, j + 1 + dj] - D[i + di, j + dj]
                        total = total + E[i + di, j + dj] * torch.exp((above - R[i + 1, j + 1]) / gamma)
                E[i, j] = total
        return g * E[:n, :m], None


class ViterbiMax(Function):
    """The best score of a chain; the gradient marks the best path."""

    @staticmethod
    def forward(ctx, unary, pairwise):
        T, K = unary.shape
        score = unary[0]
        back = []
        for t in range(1, T):
            total = score.unsqueeze(1) + pairwise
            score, index = total.max(0)
            score = score + unary[t]
            back.append(index)
        best, last = score.max(0)
        path = [int(last)]
        for index in reversed(back):
            path.append(int(index[path[-1]]))
        ctx.path = path[::-1]
        ctx.sizes = unary.shape, pairwise.shape
        return best

    @staticmethod
    def backward(ctx, g):
        gu = torch.zeros(ctx.sizes[0], dtype=g.dtype)
        gp = torch.zeros(ctx.sizes[1], dtype=g.dtype)
        for t, k in enumerate(ctx.path):
            gu[t, k] = g
            if t:
                gp[ctx.path[t - 1], k] += g
        return gu, gp


class ChainLogPartition(Function):
    """log Z of a linear chain; marginals by alpha and beta."""

    @staticmethod
    def forward(ctx, unary, pairwise):
        alpha = [unary[0]]
        for t in range(1, unary.size(0)):
            alpha.append(unary[t] + torch.logsumexp(alpha[-1][:, None] + pairwise, 0))
        logz = torch.logsumexp(alpha[-1], 0)
        ctx.save_for_backward(unary, pairwise, logz, *alpha)
        return logz

    @staticmethod
    def backward(ctx, g):
        unary, pairwise, logz, *alpha = ctx.saved_tensors
        T = unary.size(0)
        beta = [torch.zeros_like(unary[0])]
        for t in range(T - 1, 0, -1):
            beta.append(torch.logsumexp(pairwise + (unary[t] + beta[-1])[None, :], 1))
        beta.reverse()
        marginals = torch.stack([torch.exp(a + b - logz) for a, b in zip(alpha, beta)])
        pair = 0
        for t in range(T - 1):
            pair = pair + torch.exp(alpha[t][:, None] + pairwise + (unary[t + 1] + beta[t + 1])[None, :] - logz)
        return g * marginals, g * pair


class CTCSmall(Function):
    """The loss and its gradient in the forward pass, in plain probabilities (as small CTC codes do it)."""

    @staticmethod
    def forward(ctx, log_probs, targets):
        T, C = log_probs.shape
        p = log_probs.exp()
        ext = [0]
        for k in targets.tolist():
            ext += [k, 0]
        S = len(ext)
        alpha = torch.zeros(T, S, dtype=p.dtype)
        alpha[0, 0], alpha[0, 1] = p[0, 0], p[0, ext[1]]
        for t in range(1, T):
            for s in range(S):
                a = alpha[t - 1, s].clone()
                if s > 0:
                    a += alpha[t - 1, s - 1]
                if s > 1 and ext[s] != 0 and ext[s] != ext[s - 2]:
                    a += alpha[t - 1, s - 2]
                alpha[t, s] = a * p[t, ext[s]]
        beta = torch.zeros(T, S, dtype=p.dtype)
        beta[T - 1, S - 1] = beta[T - 1, S - 2] = 1.0
        for t in range(T - 2, -1, -1):
            for s in range(S):
                b = beta[t + 1, s] * p[t + 1, ext[s]]
                if s + 1 < S:
                    b = b + beta[t + 1, s + 1] * p[t + 1, ext[s + 1]]
                if s + 2 < S and ext[s + 2] != 0 and ext[s + 2] != ext[s]:
                    b = b + beta[t + 1, s + 2] * p[t + 1, ext[s + 2]]
                beta[t, s] = b
        total = alpha[T - 1, S - 1] + alpha[T - 1, S - 2]
        grad = torch.zeros_like(p)
        for s in range(S):
            grad[:, ext[s]] -= alpha[:, s] * beta[:, s] / total
        ctx.grads = grad
        return -torch.log(total)

    @staticmethod
    def backward(ctx, g):
        return ctx.grads * g, None


class SoftEditDistance(Function):
    """A table from a given substitution cost, backward by the derivatives of each soft minimum (kept in a list)."""

    @staticmethod
    def forward(ctx, cost, gap):
        n, m = cost.shape
        rows = [[gap * 0]]
        for _ in range(m):
            rows[0].append(rows[0][-1] + gap)
        weights = {}
        for i in range(n):
            row = [rows[-1][0] + gap]
            for j in range(m):
                options = torch.stack([rows[-1][j] + cost[i, j], rows[-1][j + 1] + gap, row[-1] + gap])
                w = torch.softmax(-options, 0)
                weights[i, j] = w
                row.append(-torch.logsumexp(-options, 0))
            rows.append(row)
        ctx.weights = weights
        ctx.size = n, m
        return rows[-1][-1]

    @staticmethod
    def backward(ctx, g):
        n, m = ctx.size
        E = torch.zeros(n + 1, m + 1, dtype=g.dtype)
        E[n, m] = g
        g_cost = torch.zeros(n, m, dtype=g.dtype)
        g_gap = torch.zeros((), dtype=g.dtype)
        for i in range(n - 1, -1, -1):
            for j in range(m - 1, -1, -1):
                e = E[i + 1, j + 1]
                w = ctx.weights[i, j]
                g_cost[i, j] = e * w[0]
                E[i, j] += e * w[0]
                E[i, j + 1] += e * w[1]
                E[i + 1, j] += e * w[2]
                g_gap = g_gap + e * (w[1] + w[2])
        steps = torch.arange(m + 1, dtype=g.dtype)
        g_gap = g_gap + (E[0] * steps).sum() + (E[1:, 0] * torch.arange(1, n + 1, dtype=g.dtype)).sum()
        return g_cost, g_gap


def log_probabilities(x):
    return torch.log_softmax(x, -1)


CASES = [
    Case(
        "soft-dtw in numpy",
        lambda d: SoftDTWNumpy.apply(d, 0.7),
        (positive(3, 2),),
        torch_second="wrong",
        refused="second",
    ),
    Case("soft-dtw in torch", lambda d: SoftDTWTorch.apply(d, 0.7), (positive(2, 3),), torch_second="raises"),
    Case("viterbi", ViterbiMax.apply, (normal(3, 2), normal(2, 2))),
    Case("chain partition", ChainLogPartition.apply, (normal(3, 2), normal(2, 2)), torch_second="wrong"),
    Case(
        "ctc",
        lambda x, t: CTCSmall.apply(log_probabilities(x), t),
        (normal(4, 3), constant([1, 2])),
        torch_second="wrong",
    ),
    Case("soft edit distance", SoftEditDistance.apply, (positive(2, 2), positive()), torch_second="wrong"),
]
