"""detach_, requires_grad_, .data and no_grad: cutting Tensors and their views out of graphs, and putting them in."""

import pytest

from torch_behaviour.entry import entry


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


def test_detach_makes_a_leaf_of_this_very_tensor(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    z = y * 3
    assert y.detach_() is y
    assert not y.requires_grad
    assert y.grad_fn is None
    assert y.is_leaf
    z.sum().backward()  # what was computed before keeps its history
    assert x.grad.tolist() == [6.0, 6.0]
    y.requires_grad_()
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0]


def test_a_view_cannot_be_detached_in_place(torch):
    y = leaf(torch, 1.0, 2.0) * 2
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        y[:1].detach_()
    assert not y.detach()[:1].requires_grad


def test_a_leaf_is_detached_and_asked_again(torch):
    x = leaf(torch, 1.0)
    x.detach_()
    assert not x.requires_grad
    assert x.requires_grad_() is x
    x.requires_grad_(False)
    assert not (x * 2).requires_grad


def test_a_result_cannot_lose_its_flag(torch):
    y = leaf(torch, 1.0) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad_(False)
    assert y.requires_grad_() is y


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_whole_numbers_cannot_be_asked(torch, dtype):
    with pytest.raises(RuntimeError, match="floating point"):
        torch.ones(2, dtype=getattr(torch, dtype)).requires_grad_()


def test_a_detached_part_of_a_graph_is_written_and_used(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = x * 2
    y[1:] = y[1:].detach().clone() * x[1:]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_a_parameter_is_updated_without_recording(torch):
    w = leaf(torch, 1.0, 2.0)
    for _ in range(3):
        (w * w).sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    assert torch.allclose(w, torch.tensor([1.0, 2.0]) * 0.8**3)
    assert w.is_leaf
    assert w.requires_grad


def test_data_shares_memory_and_counts_nothing(torch):
    x = leaf(torch, 1.0, 2.0)
    before = x._version
    x.data.mul_(3)
    assert x.tolist() == [3.0, 6.0]
    assert x._version == before
    x.data = torch.tensor([7.0, 8.0])
    (x * x).sum().backward()
    assert x.grad.tolist() == [14.0, 16.0]


@entry("F", "no_requires_grad_inplace")
def test_views_made_before_their_base_asks(torch):
    base = torch.zeros(3)
    part = base[1:]
    part.add_(2)
    base.requires_grad_()
    (base * base).sum().backward()
    assert base.grad.tolist() == [0.0, 4.0, 4.0]
    assert part.requires_grad  # they are the same memory


def test_chains_of_views_and_writes(torch):
    x = torch.arange(12.0, dtype=torch.float64).requires_grad_()
    y = (x * 1).reshape(3, 4)
    column = y.t()[1:3]  # 2 x 3
    column[0] *= x[:3]
    y[1].narrow(0, 1, 2).mul_(2)
    column[:, 2].zero_()
    (y * torch.arange(12.0, dtype=torch.float64).reshape(3, 4)).sum().backward()
    w = torch.arange(12.0, dtype=torch.float64)
    v = w.clone()
    expected = w.clone()
    # y[0,1] = x1*x0, y[1,1] = 2*x5*x1, y[2,1] = 0 ; y[1,2] = 2*x6 ; y[2,2] = 0
    expected[1], expected[5], expected[6], expected[9], expected[10] = w[1] * v[0], 2 * w[5] * v[1], 2 * w[6], 0.0, 0.0
    expected[0] = expected[0] + w[1] * v[1]
    expected[1] = expected[1] + 2 * w[5] * v[5]
    assert torch.allclose(x.grad, expected)


def test_the_same_row_written_twice_and_read_between(torch):
    x = leaf(torch, 2.0, 3.0)
    y = torch.zeros(2, 2)
    y[0] = x
    first = y[0].clone()
    y[0] = x * x
    (first * 10 + y[0]).sum().backward()
    assert x.grad.tolist() == [14.0, 16.0]


def test_indices_that_repeat_add_up_in_index_add_and_gather(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = torch.zeros(2)
    y.index_add_(0, torch.tensor([0, 0, 1]), x * x)
    assert y.tolist() == [5.0, 9.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    z = x.detach().clone().requires_grad_()
    z[[0, 0, 2]].sum().backward()
    assert z.grad.tolist() == [2.0, 0.0, 1.0]


def test_a_write_through_two_parts_that_overlap(torch):
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = x * 1
    left, right = y[:2], y[1:]
    left.mul_(2)
    right.mul_(3)
    left.add_(1)
    y.sum().backward()
    assert y.tolist() == [3.0, 13.0, 9.0]
    assert x.grad.tolist() == [2.0, 6.0, 3.0]
