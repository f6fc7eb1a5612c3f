"""case25: Building an array from differentiable scalars

Reported in : pytorch/pytorch#155983, #61410, #156006; lululxvi/deepxde#1318; HIPS/autograd#459, #515, #757
Right       : t=array([a*a, b]); sum(w*t): da=2a*w0, db=w1 -- or a loud error
Trap        : as_tensor makes a constant and says nothing
Calls for   : array construction from boxed scalars records a stack; otherwise raise
torch 2.13.0+cpu: FAIL: construction silently detached; only backward complained
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


a, b = T(2.0), T(3.0)
w = T([10.0, 100.0], grad=False)
try:
    t = torch.as_tensor([a * a, b])
    (t * w).sum().backward()
except Exception as e:
    loud(e)
    # an error at construction is fine; an error only because the graph was silently lost is not
    silent_loss = "does not require grad" in str(e)
    verdict(
        not silent_loss,
        "construction silently detached; only backward complained" if silent_loss else "loud error: %s" % str(e)[:90],
    )
got = [None if v.grad is None else v.grad.tolist() for v in (a, b)]
verdict(close(got, [40.0, 100.0]), "got %s, right [40, 100]" % got)
