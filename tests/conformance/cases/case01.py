"""case01: Second derivative when an intermediate is kept as a plain ctx attribute

Reported in : pytorch/pytorch#58509 (also #76185, #104040, #23108)
Right       : f(x)=sin(x*x): f''=2cos(x^2)-4x^2 sin(x^2); either that value or a loud error naming the Function and
              the attribute
Trap        : ctx.u is a constant to the second pass, so its whole contribution disappears with no message
Calls for   : poison/track tensors stored on ctx; error at second differentiation; linter rule
torch 2.13.0+cpu: FAIL: second derivative [1.7646657172202431, -0.23784313859322487], right [0.8422389764047736,
              -6.9498718199894665]
"""

import math
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


class SinSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        u = x * x
        ctx.u = u  # neither an input nor an output
        ctx.save_for_backward(x)
        return torch.sin(u)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.cos(ctx.u) * 2 * x


x = T([0.7, 1.3])
want = [2 * math.cos(v * v) - 4 * v * v * math.sin(v * v) for v in (0.7, 1.3)]
try:
    (g1,) = torch.autograd.grad(SinSquare.apply(x).sum(), x, create_graph=True)
    (g2,) = torch.autograd.grad(g1.sum(), x)
except Exception as e:
    loud(e)
    verdict(True, "loud error instead of a wrong value: %s" % type(e).__name__)
verdict(close(g2.tolist(), want), "second derivative %s, right %s" % (g2.tolist(), want))
