"""case21: needs_input_grad should reflect what was actually asked for

Reported in : pytorch/pytorch#56500, #92331; cai4cai/torchsparsegradutils#31
Right       : grad(out, a) only: needs_input_grad == (True, False), so the expensive rule for b can be skipped
Trap        : it reports requires_grad of the inputs, not the request
Calls for   : task-aware needs_input_grad
torch 2.13.0+cpu: FAIL: gradient [3.0], needs_input_grad [(True, True)], right (True, False)
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


asked = []


class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        asked.append(tuple(bool(v) for v in ctx.needs_input_grad))
        a, b = ctx.saved_tensors
        return g * b, g * a


a, b = T([2.0]), T([3.0])
(ga,) = torch.autograd.grad(Mul.apply(a, b).sum(), a)
verdict(
    close(ga.tolist(), [3.0]) and asked == [(True, False)],
    "gradient %s, needs_input_grad %s, right (True, False)" % (ga.tolist(), asked),
)
