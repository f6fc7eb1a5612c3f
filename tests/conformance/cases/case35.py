"""case35: A value saved for backward is changed through its NumPy alias

Reported in : pytorch/pytorch#30987, #5396, #197054, #178293
Right       : y=sum(h*h); then h's buffer is overwritten through .numpy(); backward: 2*old h, or a loud error (or the
              write itself refused)
Trap        : the version counter lives on the tensor, not on the memory
Calls for   : lock saved buffers (writeable=False) or checksum them in debug mode
torch 2.13.0+cpu: FAIL: got [200.0, 200.0], right [2, 4]
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


x = T([1.0, 2.0])
h = x * 1
y = (h * h).sum()
try:
    h.detach().numpy()[:] = 100.0
    y.backward()
except Exception as e:
    loud(e)
    verdict(True, "loud error: %s" % str(e)[:90])
verdict(close(x.grad.tolist(), [2.0, 4.0]), "got %s, right [2, 4]" % x.grad.tolist())
