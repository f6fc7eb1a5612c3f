"""case40: gradcheck on a function that is random in forward

Reported in : kornia/kornia#503; NVlabs/DiffRL#16; pytorch/pytorch#13818, #2710
Right       : f(x)=x*random mask: the report says the FUNCTION is not deterministic
Trap        : reported as a Jacobian mismatch, so users hunt for a bug in the rule
Calls for   : run forward twice first; separate verdict for forward and backward nondeterminism
torch 2.13.0+cpu: FAIL: first line of report: jacobian mismatch for output 0 with respect to input 0,
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


torch.manual_seed(0)
x = T([1.0, 2.0, 3.0])
try:
    torch.autograd.gradcheck(lambda t: t * (torch.rand(3) > 0.5).to(torch.float64), (x,))
except Exception as e:
    loud(e)
    msg = str(e).lower()
    verdict("determin" in msg or "random" in msg, "first line of report: %s" % msg.splitlines()[0][:90])
verdict(False, "a random function was accepted")
