"""What forward and backward of a custom Function may return."""

import pytest

from torch_behaviour.entry import entry


@entry("A", "function_returns_input")
@pytest.mark.parametrize("shape", [(1,), ()])
def test_an_argument_returned_as_it_is_goes_through_the_rule(torch, shape):
    """The gradient is that of backward (twice), for a leaf and for a computed Tensor."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(shape, requires_grad=True)
    Twice.apply(x).backward()
    assert x.grad.item() == 2.0
    x.grad = None
    Twice.apply(x.clone() * 3).backward()
    assert x.grad.item() == 6.0
