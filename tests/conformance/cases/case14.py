"""case14: once_differentiable must stop EVERY second differentiation

Reported in : pytorch/pytorch#92348, #23108; NVlabs/pacnet#28; facebookresearch/higher#137; PennyLaneAI/pennylane#612
Right       : h(x)=x*F(x), F=x^3 with @once_differentiable: first order 32 at x=2; second differentiation raises, by
              .backward() and by grad(..., x) alike (true value 48)
Trap        : torch's error node is not connected to the inputs, so .backward() raises but grad(g.sum(), x) -- and so
              functional.hessian -- skips the node and returns 12 silently; a gradient-penalty user gets a wrong
              number
Calls for   : the error node keeps the edges to the Function's inputs, so any route that would cross it raises,
              naming the Function
torch 2.13.0+cpu: FAIL: first order [32.0]; second order: {'grad': [12.0], 'backward': 'raised'} (right: raise, or
              48)
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


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x * x


x = T([2.0])
(g1,) = torch.autograd.grad((x * Cube.apply(x)).sum(), x, create_graph=True)
first = close(g1.tolist(), [32.0])
routes = {}
for name in ("grad", "backward"):
    x.grad = None
    try:
        if name == "grad":
            routes[name] = torch.autograd.grad(g1.sum(), x, retain_graph=True)[0].tolist()
        else:
            g1.sum().backward()
            routes[name] = x.grad.tolist()
    except Exception as e:
        loud(e)
        routes[name] = "raised"
ok = first and all(r == "raised" or (not isinstance(r, str) and close(r, [48.0])) for r in routes.values())
verdict(ok, "first order %s; second order: %s (right: raise, or 48)" % (g1.tolist(), routes))
