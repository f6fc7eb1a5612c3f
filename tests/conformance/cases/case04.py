"""case04: Returning the intermediate as an extra output makes higher orders right

Reported in : pytorch/tutorials#1603; pytorch/pytorch#23108, #97260
Right       : f(x)=1/(1+exp(x)) with exp(x) as second output: f'' and f''' right, caller ignores the extra output
Trap        : the documented pattern; breaks if unused-output gradients are None or the extra output is dropped
Calls for   : multi-output Functions, materialised zero gradients, any order
torch 2.13.0+cpu: PASS: orders 1..3 [-0.24026074574152914, 0.0474215416282085, 0.10609060992412514], right
              [-0.24026074574152914, 0.04742154162820855, 0.10609060992412515]
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


class Recip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        e = torch.exp(x)
        r = 1 / (1 + e)
        ctx.save_for_backward(e, r)
        return r, e

    @staticmethod
    def backward(ctx, gr, ge):
        e, r = ctx.saved_tensors
        return -gr * e * r * r + ge * e


v = 0.4
x = T([v])
r, _ = Recip.apply(x)
(a,) = torch.autograd.grad(r.sum(), x, create_graph=True)
(b,) = torch.autograd.grad(a.sum(), x, create_graph=True)
(c,) = torch.autograd.grad(b.sum(), x)
s = 1 / (1 + math.exp(v))
want = [-s * (1 - s), s * (1 - s) * (1 - 2 * s), -s * (1 - s) * (1 - 6 * s + 6 * s * s)]
got = [a.tolist()[0], b.tolist()[0], c.tolist()[0]]
verdict(close(got, want), "orders 1..3 %s, right %s" % (got, want))
