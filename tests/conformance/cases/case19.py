"""case19: backward that edits grad_output in place

Reported in : pytorch/pytorch#81417, #178293, #185286; NVIDIA/apex#1430; linkedin/Liger-Kernel#254
Right       : loss seeded with user array of ones: p gets 3, q gets 1, and the caller's seed stays ones -- or a loud
              error
Trap        : add hands the same buffer to both branches, so the sibling gradient and the caller's array are
              corrupted
Calls for   : hand out read-only gradients (NumPy writeable=False) or version-check them; linter rule
torch 2.13.0+cpu: FAIL: (p, q, seed) for both operand orders: [([3.0, 3.0], [1.0, 1.0], [3.0, 3.0]), ([3.0, 3.0],
              [3.0, 3.0], [3.0, 3.0])]
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


class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        g *= 3
        return g


res = []
try:
    for first in (True, False):
        p, q = T([1.0, 1.0]), T([1.0, 1.0])
        s = Triple.apply(p) + q * 1 if first else q * 1 + Triple.apply(p)
        seed = T([1.0, 1.0], grad=False)
        s.backward(seed)
        res.append((p.grad.tolist(), q.grad.tolist(), seed.tolist()))
except Exception as e:
    loud(e)
    verdict(True, "loud error: %s" % str(e).splitlines()[0][:100])
ok = all(close(r[0], [3.0, 3.0]) and close(r[1], [1.0, 1.0]) and close(r[2], [1.0, 1.0]) for r in res)
verdict(ok, "(p, q, seed) for both operand orders: %s" % res)
