"""case12: Gradient of the wrong shape is summed silently

Reported in : pytorch/pytorch#65244
Right       : forward takes shape (3,); backward returns shape (4,3): an error naming the Function, argument 0, (4,3)
              and (3,)
Trap        : the engine treats it as un-broadcasting and adds the rows up: 4x the gradient
Calls for   : strict shape validation, with an explicit sum_to_shape helper for broadcasting rules
torch 2.13.0+cpu: FAIL: silently accepted, gradient [4.0, 4.0, 4.0] (true gradient is [1, 1, 1])
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


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sum()

    @staticmethod
    def backward(ctx, g):
        return g * torch.ones((4, 3), dtype=torch.float64)


x = T([1.0, 2.0, 3.0])
try:
    Bad.apply(x).backward()
except Exception as e:
    loud(e)
    verdict(True, "loud error: %s" % str(e).splitlines()[0][:100])
verdict(False, "silently accepted, gradient %s (true gradient is [1, 1, 1])" % x.grad.tolist())
