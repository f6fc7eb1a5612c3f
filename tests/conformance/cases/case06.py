"""case06: In-place write declared with mark_dirty: gradients of both inputs

Reported in : pytorch/pytorch#5871, #90209, #33069
Right       : a[1:2]+=b inside forward on a non-leaf: d/da=[w0,w1]*2, d/db=w1, and apply() returns the very object it
              was given
Trap        : used to return None for b on non-leaf inputs
Calls for   : mark_dirty with graph rebase
torch 2.13.0+cpu: PASS: same object True, da [20.0, 200.0], db [100.0]
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


class AddIntoSlice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        a[1:2] += b
        ctx.mark_dirty(a)
        return a

    @staticmethod
    def backward(ctx, g):
        return g, g[1:2]


a0, b = T([1.0, 2.0]), T([5.0])
w = T([10.0, 100.0], grad=False)
a = a0 * 2
c = AddIntoSlice.apply(a, b)
same = c is a
(c * w).sum().backward()
verdict(
    same
    and close(c.tolist(), [2.0, 9.0])
    and close(a0.grad.tolist(), [20.0, 200.0])
    and close(b.grad.tolist(), [100.0]),
    "same object %s, da %s, db %s" % (same, a0.grad.tolist(), None if b.grad is None else b.grad.tolist()),
)
