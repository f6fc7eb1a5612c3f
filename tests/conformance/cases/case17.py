"""case17: A differentiable tensor captured by closure inside forward

Reported in : jax-ml/jax#4008, #2912, #20889 (JAX turned this into an error); pytorch/pytorch#33800, #52140
Right       : F(x)=w*x with w from the enclosing scope: gradient of w is x -- or a loud error that w is not an
              argument
Trap        : forward runs with recording off, so w silently gets no gradient
Calls for   : notice that forward reads a tensor requiring grad that is not an argument: warn or raise; linter rule
torch 2.13.0+cpu: FAIL: gradient of captured w is None (right [3]); warnings: 0
"""

import sys
import warnings

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


w = T([4.0])


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return w * x

    @staticmethod
    def backward(ctx, g):
        return g * w


x = T([3.0])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        Scale.apply(x).sum().backward()
    except Exception as e:
        loud(e)
        verdict(True, "loud error: %s" % str(e).splitlines()[0][:100])
got = None if w.grad is None else w.grad.tolist()
verdict(
    (got is not None and close(got, [3.0])) or bool(caught),
    "gradient of captured w is %s (right [3]); warnings: %d" % (got, len(caught)),
)
