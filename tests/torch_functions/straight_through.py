"""Straight-through estimators: a step forward, something smooth backward."""

import torch
import torch.nn.functional as F
from torch.autograd import Function

from torch_functions.case import Case, normal, spread


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        return torch.round(input)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class FloorSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return x.floor()

    @staticmethod
    def backward(ctx, g):
        return g.clone()


class BinaryActive(torch.autograd.Function):
    """Sign forward, hard tanh backward, the mean of the magnitudes beside it (without a gradient)."""

    @staticmethod
    def forward(self, input):
        self.save_for_backward(input)
        size = input.size()
        mean = torch.mean(input.abs(), 1, keepdim=True)
        input = input.sign()
        self.mark_non_differentiable(mean)
        self.shape = size
        return input, mean

    @staticmethod
    def backward(self, grad_output, grad_output_mean):
        (input,) = self.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input.ge(1)] = 0
        grad_input[input.le(-1)] = 0
        return grad_input


class Binarize(Function):
    """Polynomial approximation of the derivative of sign (as in Bi-Real nets)."""

    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        out = torch.sign(input)
        out[out == 0] = 1
        return out

    @staticmethod
    def backward(ctx, grad_output):
        input = ctx.saved_tensors[0]
        grad_input = (2 - torch.abs(2 * input)) * grad_output
        return grad_input * (input.abs() < 1).to(grad_input.dtype)


class Ternarize(Function):
    @staticmethod
    def forward(ctx, x, delta_factor=0.7):
        delta = delta_factor * x.abs().mean()
        mask = (x.abs() > delta).type_as(x)
        alpha = (x.abs() * mask).sum() / mask.sum()
        ctx.save_for_backward(x, mask)
        return alpha * torch.sign(x) * mask

    @staticmethod
    def backward(ctx, grad_output):
        x, mask = ctx.saved_tensors
        grad = grad_output.clone()
        grad.masked_fill_(x.abs() > 1.0, 0)
        return grad, None


class HardSigmoidGate(Function):
    @staticmethod
    def forward(ctx, logits, threshold):
        probs = torch.sigmoid(logits)
        ctx.probs = probs
        return (probs > threshold).float().to(logits.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.probs * (1 - ctx.probs), None


class ClippedSTE(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.low, ctx.high = low, high
        ctx.save_for_backward(x)
        return x.clamp(low, high).round()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        keep = (x >= ctx.low) & (x <= ctx.high)
        return torch.where(keep, g, torch.zeros_like(g)), None, None


class TopKMask(Function):
    """Keeps the largest scores of each row (as in movement pruning): the gradient goes to all scores."""

    @staticmethod
    def forward(ctx, scores, k):
        mask = torch.zeros_like(scores)
        idx = scores.topk(k, dim=-1)[1]
        mask.scatter_(-1, idx, 1.0)
        return mask

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class GetSubnet(Function):
    """Edge-popup: the top fraction of all scores, flat."""

    @staticmethod
    def forward(ctx, scores, k):
        out = scores.clone()
        _, idx = scores.flatten().sort()
        j = int((1 - k) * scores.numel())
        flat_out = out.flatten()
        flat_out[idx[:j]] = 0
        flat_out[idx[j:]] = 1
        return flat_out.view_as(scores)

    @staticmethod
    def backward(ctx, g):
        return g, None


class ArgmaxOneHot(Function):
    """One-hot of the largest entry, with the gradient of a softmax."""

    @staticmethod
    def forward(ctx, logits):
        y = F.softmax(logits, dim=-1)
        ctx.save_for_backward(y)
        return torch.zeros_like(y).scatter_(-1, y.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return y * (grad - (grad * y).sum(-1, keepdim=True))


class VectorQuantize(Function):
    """Nearest code forward; the gradient goes to the input unchanged and to the codes that were used."""

    @staticmethod
    def forward(ctx, inputs, codebook):
        with torch.no_grad():
            distances = torch.addmm(
                (codebook**2).sum(1) + (inputs**2).sum(1, keepdim=True), inputs, codebook.t(), beta=1.0, alpha=-2.0
            )
            _, indices = torch.min(distances, dim=1)
            ctx.save_for_backward(indices, codebook)
            ctx.mark_non_differentiable(indices)
            return torch.index_select(codebook, 0, indices), indices

    @staticmethod
    def backward(ctx, grad_output, grad_indices):
        grad_inputs, grad_codebook = None, None
        if ctx.needs_input_grad[0]:
            grad_inputs = grad_output.clone()
        if ctx.needs_input_grad[1]:
            indices, codebook = ctx.saved_tensors
            grad_codebook = torch.zeros_like(codebook)
            grad_codebook.index_add_(0, indices, grad_output.contiguous().view(-1, codebook.size(1)))
        return grad_inputs, grad_codebook


CASES = [
    Case("round ste", RoundSTE.apply, (normal(2, 3),), exact=False),
    Case("floor ste", FloorSTE.apply, (normal(4),), exact=False),
    Case("binary active", BinaryActive.apply, (normal(2, 3),), exact=False),
    Case("binarize", Binarize.apply, (normal(6),), exact=False),
    Case("ternarize", Ternarize.apply, (normal(2, 4),), exact=False),
    Case("hard sigmoid gate", lambda x: HardSigmoidGate.apply(x, 0.5), (normal(5),), exact=False, torch_second="wrong"),
    Case("clipped ste", lambda x: ClippedSTE.apply(x * 3, -2.0, 2.0), (normal(6),), exact=False),
    Case("top-k mask", lambda s: TopKMask.apply(s, 2), (spread(2, 4),), exact=False),
    Case("subnet", lambda s: GetSubnet.apply(s, 0.4), (spread(2, 4),), exact=False),
    Case("argmax one-hot", ArgmaxOneHot.apply, (spread(2, 4, gap=0.5),), exact=False, torch_second="wrong"),
    Case("vector quantize", VectorQuantize.apply, (normal(4, 2), normal(3, 2)), exact=False),
]
