"""Losses with their gradients computed beside them."""

import torch
import torch.nn.functional as F
from torch.autograd import Function

from torch_functions.case import Case, constant, integers, normal, spread, uniform


class FocalLossFunc(Function):
    """Sigmoid focal loss, everything by hand."""

    @staticmethod
    def forward(ctx, logits, label, alpha, gamma):
        logits = logits.float().to(logits.dtype)
        coeff = torch.empty_like(logits).fill_(1 - alpha)
        coeff[label == 1] = alpha
        probs = torch.sigmoid(logits)
        log_probs = torch.where(logits >= 0, F.softplus(logits, -1, 50), logits - F.softplus(logits, 1, 50))
        log_1_probs = torch.where(logits >= 0, -logits + F.softplus(logits, -1, 50), -F.softplus(logits, 1, 50))
        probs_gamma = probs**gamma
        probs_1_gamma = (1.0 - probs) ** gamma
        ctx.vars = (coeff, probs, log_probs, log_1_probs, probs_gamma, probs_1_gamma, label, gamma)
        term1 = probs_1_gamma * log_probs
        term2 = probs_gamma * log_1_probs
        loss = torch.where(label == 1, term1, term2).mul_(coeff).neg_()
        return loss

    @staticmethod
    def backward(ctx, grad_output):
        coeff, probs, log_probs, log_1_probs, probs_gamma, probs_1_gamma, label, gamma = ctx.vars
        term1 = (1.0 - probs - gamma * probs * log_probs) * probs_1_gamma
        term2 = (-probs + gamma * (1.0 - probs) * log_1_probs) * probs_gamma
        grads = torch.where(label == 1, term1, term2).mul(coeff).mul(grad_output).neg()
        return grads, None, None, None


class DiceCoeff(Function):
    """Old style: members of ctx under the name self, no save of the sums."""

    @staticmethod
    def forward(self, input, target):
        self.save_for_backward(input, target)
        eps = 0.0001
        self.inter = torch.dot(input.view(-1), target.view(-1))
        self.union = torch.sum(input) + torch.sum(target) + eps
        t = (2 * self.inter.float() + eps) / self.union.float()
        return t.to(input.dtype)

    @staticmethod
    def backward(self, grad_output):
        input, target = self.saved_variables
        grad_input = grad_target = None
        if self.needs_input_grad[0]:
            grad_input = grad_output * 2 * (target * self.union - self.inter) / (self.union * self.union)
        if self.needs_input_grad[1]:
            grad_target = None
        return grad_input, grad_target


class LabelSmoothSoftmaxCE(Function):
    @staticmethod
    def forward(ctx, logits, label, lb_smooth, lb_ignore):
        num_classes = logits.size(1)
        lb_pos, lb_neg = 1.0 - lb_smooth, lb_smooth / num_classes
        label = label.clone().detach()
        ignore = label.eq(lb_ignore)
        n_valid = ignore.eq(0).sum()
        label[ignore] = 0
        lb_one_hot = torch.empty_like(logits).fill_(lb_neg).scatter_(1, label.unsqueeze(1), lb_pos).detach()
        a, b = torch.arange(logits.size(0)), ignore
        lb_one_hot[a[b]] = 0
        coeff = (num_classes - 1) * lb_neg + lb_pos
        ctx.variables = coeff, ignore, logits, lb_one_hot
        loss = torch.log_softmax(logits, dim=1).neg_().mul_(lb_one_hot).sum(dim=1)
        return loss, n_valid

    @staticmethod
    def backward(ctx, grad_output, grad_n):
        coeff, mask, logits, lb_one_hot = ctx.variables
        scores = torch.softmax(logits, dim=1).mul_(coeff)
        grad = scores.sub_(lb_one_hot).mul_(grad_output.unsqueeze(1))
        grad = grad.masked_fill(mask.unsqueeze(1), 0)
        return grad, None, None, None


class CrossEntropyPrecomputed(Function):
    """The gradient is ready after forward (as in fused kernels); backward scales it."""

    @staticmethod
    def forward(ctx, logits, target):
        p = F.softmax(logits, dim=-1)
        n = logits.shape[0]
        rows = torch.arange(n)
        loss = -torch.log(p[rows, target]).mean()
        p[rows, target] -= 1.0
        p /= n
        ctx.save_for_backward(p)
        return loss

    @staticmethod
    def backward(ctx, grad_output):
        (grad,) = ctx.saved_tensors
        return grad * grad_output, None


class MSEWithDiff(Function):
    @staticmethod
    def forward(ctx, y, t):
        diff = y - t
        ctx.save_for_backward(diff)
        return diff.pow(2).mean()

    @staticmethod
    def backward(ctx, g):
        (diff,) = ctx.saved_tensors
        grad = g * 2 * diff / diff.numel()
        return grad, -grad


class Huber(Function):
    @staticmethod
    def forward(ctx, input, target, delta):
        d = input - target
        ctx.save_for_backward(input, target)
        ctx.delta = delta
        a = d.abs()
        return torch.where(a <= delta, 0.5 * d**2, delta * (a - 0.5 * delta)).sum()

    @staticmethod
    def backward(ctx, g):
        input, target = ctx.saved_tensors
        grad = g * (input - target).clamp(-ctx.delta, ctx.delta)
        return grad, -grad if ctx.needs_input_grad[1] else None, None


class PinballLoss(Function):
    @staticmethod
    def forward(ctx, pred, target, q):
        diff = target - pred
        ctx.mask = diff.ge(0)
        ctx.q = q
        ctx.shape = pred.shape
        return torch.max(q * diff, (q - 1) * diff).mean()

    @staticmethod
    def backward(ctx, grad_output):
        n = ctx.mask.numel()
        slope = torch.where(ctx.mask, torch.tensor(-ctx.q).double(), torch.tensor(1 - ctx.q).double())
        return grad_output * slope.expand(ctx.shape) / n, None, None


class LovaszHinge(Function):
    """Sorted errors times the gradient of the Lovasz extension."""

    @staticmethod
    def forward(ctx, logits, labels):
        signs = 2.0 * labels - 1.0
        errors = 1.0 - logits * signs
        errors_sorted, perm = torch.sort(errors, dim=0, descending=True)
        gt = labels[perm]
        gts = gt.sum()
        intersection = gts - gt.cumsum(0)
        union = gts + (1 - gt).cumsum(0)
        jaccard = 1.0 - intersection / union
        jaccard[1:] = jaccard[1:] - jaccard[0:-1].clone()
        ctx.save_for_backward(signs, errors_sorted, perm, jaccard)
        return torch.dot(F.relu(errors_sorted), jaccard)

    @staticmethod
    def backward(ctx, g):
        signs, errors_sorted, perm, jaccard = ctx.saved_tensors
        d = (errors_sorted > 0).to(jaccard.dtype) * jaccard
        out = torch.zeros_like(signs)
        out[perm] = d
        return -g * out * signs, None


class CosineEmbedding(Function):
    """1 - cos, with norms kept on ctx."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.na = a.norm(dim=-1, keepdim=True)
        ctx.nb = b.norm(dim=-1, keepdim=True)
        ctx.cos = (a * b).sum(-1, keepdim=True) / (ctx.na * ctx.nb)
        ctx.save_for_backward(a, b)
        return (1 - ctx.cos).squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        g = g.unsqueeze(-1)
        ga = -g * (b / (ctx.na * ctx.nb) - ctx.cos * a / ctx.na**2)
        gb = -g * (a / (ctx.na * ctx.nb) - ctx.cos * b / ctx.nb**2)
        return ga, gb


class Tversky(Function):
    @staticmethod
    def forward(ctx, p, t, a, b):
        tp = (p * t).sum()
        fp = (p * (1 - t)).sum()
        fn = ((1 - p) * t).sum()
        den = tp + a * fp + b * fn
        ctx.save_for_backward(t, tp, den)
        ctx.ab = a, b
        return 1 - tp / den

    @staticmethod
    def backward(ctx, g):
        t, tp, den = ctx.saved_tensors
        a, b = ctx.ab
        d_den = t + a * (1 - t) - b * t
        return -g * (t * den - tp * d_den) / den**2, None, None, None


class TripletMargin(Function):
    """Active triplets only; `.data` of the distances decides."""

    @staticmethod
    def forward(ctx, a, p, n, margin):
        dp = ((a - p) ** 2).sum(1)
        dn = ((a - n) ** 2).sum(1)
        active = (dp.data - dn.data + margin > 0).to(a.dtype)
        ctx.save_for_backward(a, p, n, active)
        return (active * (dp - dn + margin)).sum()

    @staticmethod
    def backward(ctx, g):
        a, p, n, active = ctx.saved_tensors
        w = 2 * g * active.unsqueeze(1)
        return w * (n - p), w * (p - a), w * (a - n), None


class KLDivReverse(Function):
    @staticmethod
    def forward(ctx, mu, logvar):
        var = logvar.exp()
        ctx.save_for_backward(mu, var)
        return 0.5 * (var + mu * mu - 1 - logvar).sum(-1)

    @staticmethod
    def backward(ctx, g):
        mu, var = ctx.saved_tensors
        g = g[:, None]
        return g * mu, 0.5 * g * (var - 1)


class CenterLoss(Function):
    """A gradient for the centres that is not the derivative: it averages over each class (Wen et al. 2016)."""

    @staticmethod
    def forward(ctx, feature, label, centers, batch_size):
        ctx.save_for_backward(feature, label, centers, batch_size)
        centers_batch = centers.index_select(0, label.long())
        return (feature - centers_batch).pow(2).sum() / 2.0 / batch_size

    @staticmethod
    def backward(ctx, grad_output):
        feature, label, centers, batch_size = ctx.saved_tensors
        centers_batch = centers.index_select(0, label.long())
        diff = centers_batch - feature
        counts = centers.new_ones(centers.size(0))
        ones = centers.new_ones(label.size(0))
        grad_centers = centers.new_zeros(centers.size())
        counts = counts.scatter_add_(0, label.long(), ones)
        grad_centers.scatter_add_(0, label.unsqueeze(1).expand(feature.size()).long(), diff)
        grad_centers = grad_centers / counts.view(-1, 1)
        return -grad_output * diff / batch_size, None, grad_centers / batch_size, None


def center_loss(feature, label, centers):
    return CenterLoss.apply(feature, label, centers, feature.new_empty(1).fill_(feature.size(0)))


LABELS = [0.0, 1.0, 1.0, 0.0, 1.0]

CASES = [
    Case(
        "focal loss",
        lambda x, y: FocalLossFunc.apply(x, y, 0.25, 2.0),
        (normal(6), constant(integers(6, below=2))),
        torch_second="wrong",
        loose=1e-6,
    ),
    Case(
        "dice",
        DiceCoeff.apply,
        (uniform(2, 3), constant([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])),
        torch_second="wrong",
        warns="'saved_variables'",
        loose=1e-6,
    ),
    Case(
        "label smoothing",
        lambda x, y: LabelSmoothSoftmaxCE.apply(x, y, 0.1, -1),
        (normal(3, 4), constant([2, -1, 0])),
        torch_second="raises",
    ),
    Case(
        "cross entropy with its gradient",
        CrossEntropyPrecomputed.apply,
        (normal(3, 4), constant(integers(3, below=4))),
        torch_second="wrong",
    ),
    Case("mse with its difference", MSEWithDiff.apply, (normal(4), normal(4)), torch_second="wrong"),
    Case("huber", lambda a, b: Huber.apply(a, b, 0.8), (normal(5), normal(5))),
    Case("pinball", lambda a, b: PinballLoss.apply(a, b, 0.3), (normal(5), constant(normal(5)))),
    Case("lovasz hinge", LovaszHinge.apply, (spread(5, gap=0.5), constant(LABELS))),
    Case("cosine embedding", CosineEmbedding.apply, (normal(2, 3), normal(2, 3)), torch_second="wrong"),
    Case(
        "tversky",
        lambda p, t: Tversky.apply(p, t, 0.3, 0.7),
        (uniform(5), constant(LABELS)),
        torch_second="wrong",
    ),
    Case(
        "triplet margin", lambda a, p, n: TripletMargin.apply(a, p, n, 1.0), (normal(3, 2), normal(3, 2), normal(3, 2))
    ),
    Case("gaussian kl", KLDivReverse.apply, (normal(2, 3), normal(2, 3)), torch_second="wrong"),
    Case("center loss", center_loss, (normal(3, 2), constant(integers(3, below=2)), normal(2, 2)), exact=False),
]
