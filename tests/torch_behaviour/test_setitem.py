"""Item assignment: which entries keep their gradient, and what the assigned value gets."""

import pytest

from torch_behaviour.entry import entry

INDICES = {
    "number": ((5, 5), lambda t: 1),
    "only entry": ((1,), lambda t: 0),
    "negative": ((5,), lambda t: -2),
    "slice": ((5, 4), lambda t: slice(1, 4, 2)),
    "ellipsis": ((2, 3, 4), lambda t: (..., 1)),
    "new axis": ((5,), lambda t: (None, slice(1, 3))),
    "list": ((10,), lambda t: [0, 4, 2]),
    "pairs": ((5, 5), lambda t: ([0, 4], [2, 2])),
    "slices and list": ((5, 5, 5), lambda t: (slice(None), slice(None), [1, 3])),
    "slice between lists": ((5, 5, 5), lambda t: ([1, 3], slice(None), [0, 3])),
    "number between lists": ((5, 5, 5), lambda t: ([1, 2], 0, [1, 3])),
    "tensor": ((5, 5), lambda t: t.tensor([3, 1])),
    "tensor and slice": ((5, 5), lambda t: (slice(None), t.tensor([0, 2]))),
    "table": ((5, 5), lambda t: (t.tensor([[0, 1], [4, 3]]), t.tensor([[1, 1], [4, 4]]))),
}
MASKS = {
    "mask": ((3, 2), lambda t: t.tensor([[True, False], [False, True], [True, True]])),
    "mask of rows": ((3, 2), lambda t: t.tensor([True, False, True])),
    "mask of nothing": ((3,), lambda t: t.tensor([False, False, False])),
    "mask of all": ((1,), lambda t: t.tensor([True])),
    "mask and slice": ((3, 4), lambda t: (t.tensor([True, False, True]), slice(1, 3))),
}
ALL = {**INDICES, **MASKS}


def expected(torch, shape, index):
    kept = torch.ones(*shape)
    kept[index] = 0
    return kept


@entry("F", "setitem", "setitem_mask")
@pytest.mark.parametrize("name", ALL)
def test_a_number_cuts_the_entries_out(torch, name):
    shape, make = ALL[name]
    index = make(torch)
    x = torch.ones(*shape, requires_grad=True)
    y = x + 2
    before = y._version
    y[index] = 2
    assert y._version > before
    y.backward(torch.ones(*shape))
    assert (x.grad == expected(torch, shape, index)).all()


@entry("F", "setitem", "setitem_mask")
@pytest.mark.parametrize("name", ALL)
def test_a_tensor_takes_the_gradient_of_the_entries(torch, name):
    shape, make = ALL[name]
    index = make(torch)
    x = torch.ones(*shape, requires_grad=True)
    y = x + 2
    value = torch.full(tuple(x[index].shape), 7.0, requires_grad=True)
    before = y._version
    y[index] = value
    assert y._version > before
    y.backward(torch.ones(*shape) * 3)
    assert (x.grad == 3 * expected(torch, shape, index)).all()
    assert (value.grad == 3).all()
    assert value.grad.shape == value.shape


@entry("F", "setitem", "setitem_mask")
@pytest.mark.parametrize("name", ["slice", "list", "slices and list", "mask"])
def test_orders_one_and_two(torch, name):
    shape, make = ALL[name]
    index = make(torch)

    def func(x, value):
        y = x * x
        y[index] = value * value
        return y * y

    x = torch.linspace(-1.0, 2.0, torch.ones(*shape).numel(), dtype=torch.float64).reshape(shape).requires_grad_()
    value = (x.detach()[index] + 0.5).requires_grad_()
    assert torch.autograd.gradcheck(func, (x, value))
    assert torch.autograd.gradgradcheck(func, (x, value))


@entry("F", "setitem")
def test_a_value_that_is_repeated_gets_the_sum(torch):
    x, y = torch.ones(4, requires_grad=True), torch.zeros(2, 3, 4)
    y[1] = x
    y.backward(torch.arange(24.0).reshape(2, 3, 4))
    assert x.grad.tolist() == [48.0, 51.0, 54.0, 57.0]


@entry("F", "setitem")
def test_of_repeated_indices_the_last_wins(torch, here):
    x, y = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.zeros(2)
    y[[0, 0, 1]] = x
    assert y.tolist() == [2.0, 3.0]
    y.sum().backward()
    assert x.grad.tolist() == ([0.0, 1.0, 1.0] if here else [1.0, 1.0, 1.0])  # torch: wrong for the value not kept


@entry("F", "setitem")
def test_a_recurrence_fills_an_array(torch, here):
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.zeros(5)
    y[0] = x
    for k in range(1, 5):
        y[k] = y[k - 1].clone() * x if not here else y[k - 1] * x  # torch: one version for the whole array
    y[4].backward()
    assert y.tolist() == [2.0, 4.0, 8.0, 16.0, 32.0]
    assert x.grad == 80


@entry("F", "setitem_mask")
def test_a_mask_made_of_the_values_themselves(torch):
    x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
    y = x * 2
    y[y < 0] = 0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 0.0]
