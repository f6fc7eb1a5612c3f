"""case34: A recurrence written into a preallocated array

Reported in : pytorch/pytorch#36470, #53348, #96265; NX-AI/xlstm#82; idiap/fast-transformers#10; Argonne-National-
              Laboratory/pyoptmat#26; WOW5678/CompNet#2; Blealtan/efficient-kan#22
Right       : f[0]=1; f[i]=f[i-1]*x+i for i=1..4: f4=x^4+x^3+2x^2+3x+4; sum over f differentiated twice, right value,
              no clone() needed
Trap        : version counters are per storage: writing f[i] invalidates the saved f[i-1] although that element never
              changes again; the most frequent autograd error message there is
Calls for   : saved element reads copied (or region-aware versions / copy-on-write of saved buffers)
torch 2.13.0+cpu: FAIL: legal program refused: one of the variables needed for gradient computation has been modified
              by an inplace operation: [tor
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


x = T(1.5)
f = torch.zeros(5, dtype=torch.float64)
f[0] = 1.0
try:
    for i in range(1, 5):
        f[i] = f[i - 1] * x + float(i)
    (g,) = torch.autograd.grad(f.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
except Exception as e:
    loud(e)
    verdict(False, "legal program refused: %s" % str(e)[:100])
# f1=x+1, f2=x^2+x+2, f3=x^3+x^2+2x+3, f4=x^4+x^3+2x^2+3x+4
v = 1.5
want = 4 * v**3 + 6 * v**2 + 8 * v + 7
hwant = 12 * v**2 + 12 * v + 8
verdict(
    close(g.item(), want) and close(h.item(), hwant),
    "gradient %s right %s; second %s right %s" % (g.item(), want, h.item(), hwant),
)
