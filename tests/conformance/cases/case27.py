"""case27: NaN from the branch that was not taken

Reported in : pytorch/pytorch#52248, #68425, #108618, #156212, #187297, #18287, #89543; tinygrad/tinygrad#15806;
              data-apis/array-api-extra#139
Right       : where(x>0, sqrt(x), x) at -1, -4, 9: gradient [1, 1, 1/6]
Trap        : 0 * inf or 0 * nan inside the dead branch poisons the result
Calls for   : gradient that skips masked entries (select, not multiply), or a diagnostic that points at the where and
              the op
torch 2.13.0+cpu: FAIL: got [nan, nan, 0.16666666666666666], right [1, 1, 0.1667]
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


x = T([-1.0, -4.0, 9.0])
y = torch.where(x > 0, torch.sqrt(x), x).sum()
(g,) = torch.autograd.grad(y, x)
verdict(close(g.tolist(), [1.0, 1.0, 1.0 / 6]), "got %s, right [1, 1, 0.1667]" % g.tolist())
