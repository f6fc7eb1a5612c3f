"""case02: Second derivative when an intermediate goes through save_for_backward

Reported in : pytorch/pytorch#76185, #104040
Right       : f(x)=exp(3x) via u=3x saved: f''=9 exp(3x); that value or a loud error
Trap        : save_for_backward accepts a tensor that is neither input nor output; the second pass silently loses it
Calls for   : check at save time (input/output identity) + error node on second differentiation
torch 2.13.0+cpu: FAIL: got [2.0, 2.0], right [18.399069203514582, 4.710747907209818]
"""

import math
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


class ExpTriple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        u = 3 * x
        e = torch.exp(u)
        ctx.save_for_backward(u)  # intermediate only
        return e * 1

    @staticmethod
    def backward(ctx, g):
        (u,) = ctx.saved_tensors
        return g * 3 * torch.exp(u)


x = T([0.2, -0.4])
want = [9 * math.exp(3 * v) for v in (0.2, -0.4)]
try:
    (g1,) = torch.autograd.grad(ExpTriple.apply(x).sum() + (x * x).sum(), x, create_graph=True)
    (g2,) = torch.autograd.grad(g1.sum(), x)
except Exception as e:
    loud(e)
    verdict(True, "loud error instead of a wrong value: %s" % type(e).__name__)
verdict(close(g2.tolist(), [w + 2 for w in want]), "got %s, right %s" % (g2.tolist(), [w + 2 for w in want]))
