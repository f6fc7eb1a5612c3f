"""case07: In-place write NOT declared with mark_dirty

Reported in : pytorch/pytorch#33069, #133491, #184113
Right       : h=a*1; s=F(h) triples h in place and returns its sum; loss=s+h.sum() is 6*sum(a), so the gradient is 6
              -- or a loud error
Trap        : the later use of h sees the new values but the old graph, so one factor of 3 is lost silently
Calls for   : detect mutated inputs after forward (version counter / checksum) and raise; linter rule
torch 2.13.0+cpu: FAIL: loss 12.0, gradient [4.0, 4.0], right [6, 6]
"""

import sys

import torch


def verdict(ok, note):
    print(("PASS: " if ok else "FAIL: ") + note)
    sys.exit(0 if ok else 1)


def close(a, b, tol=1e-9):
    """Nested-list comparison that treats nan/None/wrong shape as different."""
    if isinstance(b, (list, tuple)):
        return (
            isinstance(a, (list, tuple))
            and len(a) == len(b)
            and all(close(p, q, tol) for p, q in zip(a, b, strict=True))
        )
    return a is not None and not isinstance(a, (list, tuple)) and abs(a - b) <= tol * max(1.0, abs(b))


def T(v, grad=True):
    return torch.tensor(v, dtype=torch.float64, requires_grad=grad)


def loud(e):
    """A missing API must not count as 'the engine refused loudly'."""
    if isinstance(e, (AttributeError, NameError, ImportError, NotImplementedError)):
        raise e


class TripleThenSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        h *= 3
        return h.sum()

    @staticmethod
    def backward(ctx, g):
        return g * 3 * torch.ones(2, dtype=torch.float64)


a = T([1.0, 1.0])
try:
    h = a * 1
    s = TripleThenSum.apply(h)
    loss = s + h.sum()
    loss.backward()
except Exception as e:
    loud(e)
    verdict(True, "loud error: %s" % type(e).__name__)
verdict(close(a.grad.tolist(), [6.0, 6.0]), "loss %.1f, gradient %s, right [6, 6]" % (loss.item(), a.grad.tolist()))
