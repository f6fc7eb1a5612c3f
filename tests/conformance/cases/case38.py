"""case38: gradcheck on single precision: a correct rule must not be called wrong

Reported in : pytorch/pytorch#5351; CharlesShang/DCNv2#13, #94; lbin/DCNv2#5; chengdazhi/Deformable-
              Convolution-V2-PyTorch#20; chainer/chainer#3046
Right       : correct built-in f, float32 input: pass (upcast or adapt eps) or say 'precision too low', never
              'Jacobian mismatch'
Trap        : eps=1e-6 is below float32 resolution; users conclude their gradient is wrong
Calls for   : gradcheck that upcasts/adapts eps and separates 'inconclusive' from 'wrong'
torch 2.13.0+cpu: FAIL: message: Jacobian mismatch for output 0 with respect to input 0,
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


warnings.simplefilter("ignore")
x = torch.tensor([1.5, 20.0, -3.0], dtype=torch.float32, requires_grad=True)
try:
    ok = torch.autograd.gradcheck(lambda t: t * t * torch.sin(t), (x,))
except Exception as e:
    loud(e)
    msg = str(e)
    verdict("ismatch" not in msg, "message: %s" % msg.splitlines()[0][:100])
verdict(bool(ok), "gradcheck returned %s on a correct function in float32" % ok)
