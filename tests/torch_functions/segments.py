"""Gather, scatter and reductions over groups."""

import torch
from torch.autograd import Function

from torch_functions.case import Case, constant, integers, normal, spread


class ScatterAdd(Function):
    @staticmethod
    def forward(ctx, src, index, size):
        ctx.save_for_backward(index)
        out = torch.zeros(size, src.size(1), dtype=src.dtype)
        return out.scatter_add_(0, index.unsqueeze(1).expand_as(src), src)

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        return grad[index], None, None


class SegmentMax(Function):
    """The place of each maximum is kept; a loop over the segments."""

    @staticmethod
    def forward(ctx, src, index, size):
        out = torch.full((size,), -float("inf"), dtype=src.dtype)
        arg = torch.full((size,), -1, dtype=torch.long)
        for i, k in enumerate(index.tolist()):
            if src[i].item() > out[k].item():
                out[k] = src[i]
                arg[k] = i
        ctx.n = src.size(0)
        ctx.save_for_backward(arg)
        ctx.mark_non_differentiable(arg)
        return out, arg

    @staticmethod
    def backward(ctx, grad, grad_arg):
        (arg,) = ctx.saved_tensors
        out = torch.zeros(ctx.n, dtype=grad.dtype)
        out[arg] = grad
        return out, None, None


class SegmentSoftmax(Function):
    """Attention over the edges of a graph."""

    @staticmethod
    def forward(ctx, score, index, size):
        score = score - score.max()
        e = score.exp()
        total = torch.zeros(size, dtype=e.dtype).index_add_(0, index, e)
        out = e / total[index]
        ctx.save_for_backward(out, index)
        ctx.size = size
        return out

    @staticmethod
    def backward(ctx, g):
        out, index = ctx.saved_tensors
        go = g * out
        total = torch.zeros(ctx.size, dtype=g.dtype).index_add_(0, index, go)
        return go - out * total[index], None, None


class SegmentMean(Function):
    @staticmethod
    def forward(ctx, x, batch):
        n = int(batch.max()) + 1
        count = torch.bincount(batch, minlength=n).clamp_(min=1).to(x.dtype)
        out = x.new_zeros(n, x.size(1)).index_add_(0, batch, x).div_(count.unsqueeze(1))
        ctx.save_for_backward(batch, count)
        return out

    @staticmethod
    def backward(ctx, g):
        batch, count = ctx.saved_tensors
        return (g / count.unsqueeze(1)).index_select(0, batch), None


class SegmentLogSumExp(Function):
    """One mask per segment, in a list comprehension."""

    @staticmethod
    def forward(ctx, x, index, size):
        masks = [index == k for k in range(size)]
        out = torch.stack([torch.logsumexp(x[m], 0) for m in masks])
        ctx.save_for_backward(x, index, out)
        return out

    @staticmethod
    def backward(ctx, g):
        x, index, out = ctx.saved_tensors
        return g[index] * torch.exp(x - out[index]), None, None


class EmbeddingBag(Function):
    """Rows of a table, weighted and summed per bag."""

    @staticmethod
    def forward(ctx, weight, indices, per_sample):
        rows = weight[indices]
        ctx.save_for_backward(weight, indices, per_sample)
        return (rows * per_sample.unsqueeze(-1)).sum(1)

    @staticmethod
    def backward(ctx, g):
        weight, indices, per_sample = ctx.saved_tensors
        gw = torch.zeros_like(weight)
        contribution = g.unsqueeze(1) * per_sample.unsqueeze(-1)
        gw.index_add_(0, indices.reshape(-1), contribution.reshape(-1, weight.size(1)))
        gp = (weight[indices] * g.unsqueeze(1)).sum(-1)
        return gw, None, gp


class GatherNeighbours(Function):
    """Channels first, as in point cloud code: gather forward, scatter_add_ backward."""

    @staticmethod
    def forward(ctx, features, idx):
        B, C, N = features.size()
        B, M = idx.size()
        ctx.for_backwards = (idx, N)
        return torch.gather(features, 2, idx.unsqueeze(1).expand(B, C, M))

    @staticmethod
    def backward(ctx, grad_out):
        idx, N = ctx.for_backwards
        B, C, M = grad_out.size()
        grad = torch.zeros(B, C, N, dtype=grad_out.dtype)
        grad_data = grad_out.contiguous()
        grad.scatter_add_(2, idx.unsqueeze(1).expand(B, C, M), grad_data)
        return grad, None


class ThreeInterpolate(Function):
    """Three neighbours with given weights (PointNet++)."""

    @staticmethod
    def forward(ctx, features, idx, weight):
        ctx.three = (idx, weight, features.shape[1])
        picked = features[:, idx]
        return (picked * weight).sum(-1)

    @staticmethod
    def backward(ctx, grad_out):
        idx, weight, m = ctx.three
        g = torch.zeros(grad_out.size(0), m, dtype=grad_out.dtype)
        part = grad_out.unsqueeze(-1) * weight
        g.index_add_(1, idx.reshape(-1), part.reshape(grad_out.size(0), -1))
        return g, None, None


class SparseMatMul(Function):
    """A sparse matrix by its indices and values; gradients for values and dense part (graph attention)."""

    @staticmethod
    def forward(ctx, indices, values, shape, b):
        out = torch.zeros(shape[0], b.size(1), dtype=b.dtype)
        out.index_add_(0, indices[0], values.unsqueeze(1) * b[indices[1]])
        ctx.save_for_backward(indices, values, b)
        ctx.N = shape[0]
        return out

    @staticmethod
    def backward(ctx, grad_output):
        indices, values, b = ctx.saved_tensors
        grad_values = grad_b = None
        if ctx.needs_input_grad[1]:
            grad_a_dense = grad_output.matmul(b.t())
            edge_idx = indices[0, :] * grad_a_dense.size(1) + indices[1, :]
            grad_values = grad_a_dense.view(-1)[edge_idx]
        if ctx.needs_input_grad[3]:
            grad_b = torch.zeros_like(b).index_add_(0, indices[1], values.unsqueeze(1) * grad_output[indices[0]])
        return None, grad_values, None, grad_b


class MaskedFillRows(Function):
    """Selected rows are replaced by one learned row."""

    @staticmethod
    def forward(ctx, x, mask, token):
        out = x.clone()
        out[mask] = token
        ctx.save_for_backward(mask)
        return out

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        gx = g.masked_fill(mask.unsqueeze(1), 0.0)
        return gx, None, g[mask].sum(0)


class RoutedDispatch(Function):
    """Mixture of experts: tokens sorted by expert, scaled by their gates, restored by the inverse permutation."""

    @staticmethod
    def forward(ctx, tokens, gates, expert):
        order = torch.argsort(expert, stable=True)
        out = tokens[order] * gates[order].unsqueeze(1)
        ctx.save_for_backward(tokens, gates, order)
        return out

    @staticmethod
    def backward(ctx, g):
        tokens, gates, order = ctx.saved_tensors
        inverse = torch.empty_like(order)
        inverse[order] = torch.arange(order.numel())
        g = g[inverse]
        return g * gates.unsqueeze(1), (g * tokens).sum(1), None


GROUPS = constant([0, 1, 0, 2, 1])

CASES = [
    Case("scatter add", lambda x, i: ScatterAdd.apply(x, i, 3), (normal(5, 2), GROUPS)),
    Case("segment max", lambda x, i: SegmentMax.apply(x, i, 3), (spread(5), GROUPS)),
    Case("segment softmax", lambda x, i: SegmentSoftmax.apply(x, i, 3), (normal(5), GROUPS)),
    Case("segment mean", SegmentMean.apply, (normal(5, 2), GROUPS)),
    Case("segment logsumexp", lambda x, i: SegmentLogSumExp.apply(x, i, 3), (normal(5), GROUPS)),
    Case("embedding bag", EmbeddingBag.apply, (normal(4, 2), constant(integers(3, 2, below=4)), normal(3, 2))),
    Case("gather of neighbours", GatherNeighbours.apply, (normal(2, 2, 3), constant(integers(2, 4, below=3)))),
    Case(
        "three neighbours",
        ThreeInterpolate.apply,
        (normal(2, 4), constant(integers(3, 3, below=4)), constant(normal(3, 3))),
    ),
    Case(
        "sparse times dense",
        lambda v, b: SparseMatMul.apply(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 2]]), v, (3, 3), b),
        (normal(4), normal(3, 2)),
    ),
    Case("learned row", MaskedFillRows.apply, (normal(3, 2), constant([True, False, True]), normal(2))),
    Case("routed tokens", RoutedDispatch.apply, (normal(4, 2), normal(4), constant([1, 0, 1, 0]))),
]
