"""case10: A backward written for C-contiguous gradients

Reported in : pytorch/pytorch#194719, #195210, #64529, #70992; Dao-AILab/flash-attention#355;
              ROCm/TransformerEngine#623
Right       : kernel walks the gradient in memory order; loss multiplies the TRANSPOSED output by weights; right
              gradient = 2*W^T
Trap        : the engine hands over a transposed/expanded buffer and a layout-assuming kernel reads it in the wrong
              order
Calls for   : option (default for NumPy kernels) to hand backward a C-contiguous gradient; layout fuzzing in the
              checker
torch 2.13.0+cpu: FAIL: got [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]], right [[2.0, 6.0, 10.0], [4.0, 8.0, 12.0]]
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


class DoubleKernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        flat = g.detach().numpy().ravel(order="K")  # memory order: what a raw-pointer kernel sees
        return torch.tensor((2 * flat).reshape(2, 3).tolist(), dtype=torch.float64)


x = T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
W = T([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], grad=False)
(DoubleKernel.apply(x).T * W).sum().backward()
want = [[2.0, 6.0, 10.0], [4.0, 8.0, 12.0]]
verdict(close(x.grad.tolist(), want), "got %s, right %s" % (x.grad.tolist(), want))
