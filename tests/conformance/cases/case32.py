"""case32: Repeated indices when WRITING: only the value that survived gets gradient

Reported in : pytorch/pytorch#146299, #473; tensorflow/tensorflow#56961
Right       : y=zeros(3); y[[0,0]]=v gives y[0]=v[1] (NumPy: last wins), so the gradient of sum(y) is [0, 1] -- or a
              loud error
Trap        : the rule sends gradient to every written value: sum is 2 although only one value reached the output
Calls for   : __setitem__ rule that follows last-write-wins, or refuses duplicates
torch 2.13.0+cpu: FAIL: y[0]=7.0, gradient [1.0, 1.0], right [0.0, 1.0]
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


v = T([5.0, 7.0])
try:
    y = torch.zeros(3, dtype=torch.float64)
    y[torch.tensor([0, 0])] = v
    y.sum().backward()
except Exception as e:
    loud(e)
    verdict(True, "loud error: %s" % str(e)[:90])
survivor = y.tolist()[0]
want = [1.0, 0.0] if survivor == 5.0 else [0.0, 1.0]
verdict(close(v.grad.tolist(), want), "y[0]=%s, gradient %s, right %s" % (survivor, v.grad.tolist(), want))
