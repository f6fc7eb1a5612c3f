"""case26: Second derivative of a linear function is zero, not an error

Reported in : pytorch/pytorch#32304, #73137, #36463, #38506, #60027
Right       : d2/dx2 of sum(2x) = 0 for every entry, built-in op and custom Function
Trap        : the constant first derivative has no graph, so grad-of-grad raises a misleading message
Calls for   : create_graph=True always yields a differentiable result (zeros)
torch 2.13.0+cpu: FAIL: got ['RuntimeError: element 0 of tensors does not require grad and does not have',
              'RuntimeError: element 0 of tensors does not require grad and does not have'], right [0, 0] twice
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


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


got = []
for fn in (lambda t: 2 * t, Twice.apply):
    x = T([1.0, 5.0])
    try:
        (g1,) = torch.autograd.grad(fn(x).sum(), x, create_graph=True)
        (g2,) = torch.autograd.grad(g1.sum(), x)
        got.append(g2.tolist())
    except Exception as e:
        loud(e)
        got.append("%s: %s" % (type(e).__name__, str(e)[:60]))
verdict(all(isinstance(g, list) and close(g, [0.0, 0.0]) for g in got), "got %s, right [0, 0] twice" % got)
