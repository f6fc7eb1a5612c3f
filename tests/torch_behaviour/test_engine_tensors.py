"""What a Tensor says of its gradient: flags, leaves, detaching, pickling, dtypes."""

import copy
import pickle
import warnings

import pytest

from torch_behaviour.entry import entry


@entry("B", "tensor_grad_warnings")
def test_reading_the_gradient_of_a_computed_tensor_warns(torch):
    x = torch.ones(1, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None
    y = x.clone()
    with pytest.warns(UserWarning, match="that is not a leaf Tensor is being accessed"):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None
        y.sum().backward()
        assert y.grad.item() == 1.0


@entry("B", "requires_grad")
def test_the_flag_spreads_from_arguments_to_results(torch):
    x, y = torch.rand(5, 5), torch.rand(5, 5)
    z = torch.rand(5, 5, requires_grad=True)
    a = x + y
    b = a + z
    assert not a.requires_grad
    assert b.requires_grad
    a.requires_grad_(True)
    assert a.is_leaf
    assert not (x + 1).requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        (x + 1).sum().backward()
    b.sum().backward()
    assert z.grad.tolist() == [[1.0] * 5] * 5
    assert a.grad is None


@entry("B", "requires_grad_")
def test_only_leaves_can_be_told_not_to_require_gradients(torch):
    x = torch.rand(5, 5)
    y = torch.rand(5, 5, requires_grad=True)
    assert x.requires_grad_() is x
    assert x.requires_grad
    assert y.requires_grad_(False) is y
    assert not y.requires_grad
    z = x * 2
    z.requires_grad_()
    assert z.requires_grad
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        z.requires_grad_(False)
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        z.requires_grad = False


@entry("B", "set_requires_grad_only_for_floats")
def test_integers_cannot_require_gradients(torch):
    for dtype in (torch.int64, torch.int32, torch.uint8, torch.bool):
        a = torch.ones(1, dtype=dtype)
        a.requires_grad_(False)
        a.requires_grad = False
        with pytest.raises(RuntimeError, match="floating point"):
            a.requires_grad_()
        with pytest.raises(RuntimeError, match="floating point"):
            a.requires_grad = True
        with pytest.raises(RuntimeError, match="floating point"):
            torch.ones(1, dtype=dtype, requires_grad=True)
        assert not a.requires_grad
    for dtype in (torch.float32, torch.float64, torch.complex64):
        assert torch.ones(1, dtype=dtype).requires_grad_().requires_grad


@entry("B", "grad_assignment")
def test_what_can_be_assigned_to_a_gradient(torch):
    x = torch.rand(5, 5)
    with pytest.raises(TypeError, match="expected to be a Tensor or None"):
        x.grad = 0
    with pytest.raises(RuntimeError, match="gradient of size"):
        x.grad = torch.rand(2, 2)
    with pytest.raises(RuntimeError, match="own grad"):
        x.grad = x
    with pytest.raises(RuntimeError, match="gradient with dtype"):
        x.grad = torch.rand(5, 5, dtype=torch.float64)
    x.grad = torch.ones(5, 5)
    assert x.grad.tolist() == [[1.0] * 5] * 5
    x.grad = None
    assert x.grad is None


@entry("B", "attribute_deletion")
def test_only_the_gradient_can_be_deleted(torch):
    x = torch.rand(5, requires_grad=True)
    x.sum().backward()
    del x.grad
    assert x.grad is None
    with pytest.raises((RuntimeError, AttributeError, TypeError)):
        del x.data
    with pytest.raises((RuntimeError, AttributeError, TypeError)):
        x.data = None
    with pytest.raises((RuntimeError, AttributeError, TypeError)):
        del x.requires_grad
    with pytest.raises((RuntimeError, AttributeError, TypeError)):
        del x._grad_fn
    with pytest.raises((RuntimeError, AttributeError, TypeError)):
        del x.grad_fn


@entry("B", "detach")
def test_detach(torch):
    x = torch.rand(10, 10, requires_grad=True)
    y = x + 2
    y = y.detach()
    z = y * 4 + 2
    assert not y.requires_grad
    assert not z.requires_grad
    x = torch.rand(10, 10, requires_grad=True)
    y = (x * 2).detach()
    assert y.grad_fn is None
    z = x + y
    z.sum().backward()
    assert x.grad.tolist() == [[1.0] * 10] * 10
    # in place: the Tensor is cut off, what was computed from it before is not
    x = torch.tensor([2.0], requires_grad=True)
    y = x * 2
    a = y + 0
    y.detach_()
    assert y.is_leaf
    assert not y.requires_grad
    (a + 3 * y).sum().backward()
    assert x.grad.item() == 2.0


@entry("B", "detach_base")
def test_a_view_cannot_be_detached_in_place_its_base_can(torch):
    x = torch.rand(10, 10, requires_grad=True).clone()
    view = x.narrow(0, 1, 4)
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        view.detach_()
    x.detach_()
    assert not x.requires_grad
    assert view.requires_grad
    assert view.grad_fn is not None


@entry("B", "numpy_requires_grad")
def test_numpy_of_what_requires_gradients(torch):
    x = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        (x * 2).numpy()
    with torch.no_grad():
        assert x.numpy().tolist() == [[1.0, 1.0]] * 2
        assert (x * 2).numpy().tolist() == [[2.0, 2.0]] * 2
    assert x.detach().numpy().tolist() == [[1.0, 1.0]] * 2


@entry("B", "pickle")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_flags_survive_pickling(torch, protocol):
    x = torch.rand(10, 10, requires_grad=True)
    y = torch.rand(10, 10)
    x2, y2 = pickle.loads(pickle.dumps([x, y], protocol))
    assert (x2.requires_grad, y2.requires_grad) == (True, False)
    assert torch.equal(x, x2)
    assert torch.equal(y, y2)
    assert type(x2) is type(x)
    deep = copy.deepcopy(x)
    assert deep.requires_grad
    assert deep.is_leaf


@entry("B", "integer_outputs")
def test_integer_results_do_not_require_gradients(torch):
    x = torch.rand(4, 4, requires_grad=True)
    for result in (
        x.argmax(),
        x.argmin(),
        x.argsort(),
        torch.rand((), requires_grad=True).argmax(),
        torch.topk(x, 1)[1],
        x.sort(0)[1],
        x.max(0)[1],
        torch.searchsorted(x[0].sort()[0], x[1]),
        (x > 0.5),
        x.nonzero(),
    ):
        assert not result.requires_grad
        assert not result.is_floating_point()
    assert x.sort(0)[0].requires_grad


@entry("B", "type_conversions")
def test_casts_give_the_gradient_in_the_dtype_of_the_source(torch):
    x = torch.ones(5, 5)
    assert x.float().dtype == torch.float32
    assert x.double().dtype == torch.float64
    assert x.int().dtype == torch.int32
    assert x.to(torch.float64).dtype == torch.float64
    for source, target in (
        (torch.float32, torch.float64),
        (torch.float64, torch.float32),
        (torch.float64, torch.complex128),
    ):
        a = torch.ones(5, dtype=source, requires_grad=True)
        b = a.to(target) * 2
        assert b.dtype == target
        total = b.sum().real if target == torch.complex128 else b.sum()
        total.backward()
        assert a.grad.dtype == source
        assert a.grad.tolist() == [2.0] * 5


@entry("B", "to_r_to_c", "copy_r_to_c")
def test_real_values_that_become_complex_get_real_gradients(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: x.to(torch.complex128) * (1 + 2j), (x,))
    out = torch.zeros(2, dtype=torch.complex128)
    out = out * 1
    out.copy_(x)
    assert out.requires_grad
    (out * (3 + 4j)).sum().real.backward()
    assert x.grad.tolist() == [3.0, 3.0]


@entry("B", "no_unnecessary_save")
def test_a_product_with_a_number_does_not_keep_the_tensor(torch):
    mu = torch.ones(1, requires_grad=True)
    x = torch.empty(1)
    loss = 0
    for k in range(3):
        x.detach_()
        x.copy_(mu + k)
        ft = torch.tensor([float(k)])
        loss = loss + (x * ft).sum()
    loss.backward()
    assert mu.grad.item() == 0.0 + 1.0 + 2.0


@entry("B", "index_backward_does_not_save_tensor")
def test_an_index_does_not_keep_its_source(torch):
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = torch.zeros(3)
    b = b + a
    picked = b[torch.tensor([0, 2])]
    b[...] = 0.0
    picked.sum().backward()
    assert a.grad.tolist() == [1.0, 0.0, 1.0]
