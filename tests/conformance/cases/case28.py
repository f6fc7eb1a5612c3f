"""case28: norm(x)**2 at the origin: gradient and Hessian

Reported in : HIPS/autograd#151, #183, #268, #370, #586; pytorch/pytorch#2421; pytorch/functorch#1097; jax-
              ml/jax#4177, #21723; rsokl/MyGrad#379
Right       : f(x)=norm(x)^2=sum(x^2): gradient 0, Hessian 2*I at x=0 (or a refusal at order two that names the
              point; never nan or 0)
Trap        : x/norm is 0/0; the subgradient convention fixes order one only
Calls for   : norm rule with a documented subgradient that is safe to any order (or squared-norm fusion); nan
              diagnostic otherwise
torch 2.13.0+cpu: FAIL: gradient [0.0, 0.0] (right 0), Hessian [[nan, nan], [nan, nan]] (right 2*I)
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


x = T([0.0, 0.0])
f = torch.linalg.norm(x) ** 2
(g,) = torch.autograd.grad(f, x, create_graph=True)
rows = []
for i in range(2):
    try:
        (r,) = torch.autograd.grad(g[i], x, retain_graph=True)
        rows.append(r.tolist())
    except Exception as e:
        loud(e)
        rows.append(str(e)[:50])
ok1 = close(g.tolist(), [0.0, 0.0])
refused = all(isinstance(r, str) for r in rows)  # a clear refusal at order two is honest too; nan or 0 is not
verdict(
    ok1 and (refused or close(rows, [[2.0, 0.0], [0.0, 2.0]])),
    "gradient %s (right 0), Hessian %s (right 2*I)" % (g.tolist(), rows),
)
