"""Tensor as such: what it is, how it leaves the graph, what it converts to, copies and requires_grad."""

import copy
import pickle

import numpy as np
import pytest

import pullback as pb
from core.helpers import Item, Square, leaf, ones_like, teaches, values
from pullback.autograd import grad
from pullback.core import tensor as core_tensor
from pullback.core.tensor import Tensor


# ------------------------------------------------------------------------------------------------ what it is
def test_facts_of_the_array():
    x = pb.tensor(np.ones((2, 3), dtype="float32"))
    assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((2, 3), np.dtype("float32"), 2, 6, 2)
    assert x.device == "cpu"
    assert x.to_device("cpu") is x
    with pytest.raises(ValueError, match="unsupported device 'gpu'"):
        x.to_device("gpu")
    with pytest.raises(TypeError, match="0-d"):
        len(pb.tensor(1.0))
    with pytest.raises(TypeError, match="0-d"):
        iter(pb.tensor(1.0))


def test_iterating_gives_the_rows():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    rows = list(x)
    np.testing.assert_array_equal(values(rows), [[1.0, 2.0], [3.0, 4.0]])
    y = rows[0] * rows[1]
    np.testing.assert_array_equal(grad(y, x, ones_like(y))[0].numpy(), [[3.0, 4.0], [1.0, 2.0]])


def test_new_data_of_another_shape_starts_a_new_place():
    x = leaf([1.0, 2.0])
    (x * 2).backward(ones_like(x))
    x.grad = None
    x.data = pb.tensor([1.0, 2.0, 3.0], dtype="float32")
    assert x.requires_grad
    (x * 2).backward(ones_like(x))
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 2.0, 2.0])
    assert x.grad.dtype == np.float32


def test_a_tensor_hashes_by_identity():
    x, y = pb.tensor(1.0), pb.tensor(1.0)
    assert len({x, y, x}) == 2


def test_representation_shows_values_dtype_and_place():
    assert repr(pb.tensor([1.0, 2.0])) == "tensor([1., 2.])"
    assert repr(leaf([1.0])) == "tensor([1.], requires_grad=True)"
    assert repr(leaf(1.0) * 2) == "tensor(2., grad_fn=<MulBackward0>)"
    assert repr(pb.tensor([1.0], dtype="float32")) == "tensor([1.], dtype=float32)"
    assert repr(pb.tensor([True])) == "tensor([ True])"
    assert f"{pb.tensor(1.5):.3f}" == "1.500"
    assert f"{pb.tensor([1.5])}" == "tensor([1.5])"


def test_wrapping_shares_memory_and_making_copies():
    array = np.ones(2)
    assert np.shares_memory(Tensor(array).numpy(), array)
    assert not np.shares_memory(pb.tensor(array).numpy(), array)


# ------------------------------------------------------------------------------------------------ requires_grad
def test_asking_for_gradients_and_stopping():
    x = pb.tensor([1.0, 2.0])
    assert not x.requires_grad
    assert x.is_leaf
    assert x.requires_grad_() is x
    assert x.requires_grad
    x.requires_grad = False
    assert not x.requires_grad
    x.requires_grad = True
    first = x._edge
    x.requires_grad_(True)
    assert x._edge is first, "asking again changes nothing"
    assert Tensor(np.ones(1), requires_grad=True).requires_grad


@pytest.mark.parametrize("data", [[1, 2], [True], 3], ids=["int", "bool", "scalar"])
def test_only_inexact_dtypes_can_be_differentiated(data):
    with teaches(RuntimeError, "floating point and complex dtype", notes=["small amounts", "dtype=float"]):
        pb.tensor(data, requires_grad=True)
    x = pb.tensor(data)
    with teaches(RuntimeError, str(x.dtype)):
        x.requires_grad = True


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_every_inexact_dtype_can(dtype):
    assert pb.tensor([1], dtype=dtype, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    "data", ["abc", ["a", "b"], np.array([object()], dtype=object), [[1.0], [1.0, 2.0]], None, {"a": 1}]
)
def test_data_that_are_no_numbers_are_refused_where_the_tensor_is_made(data):
    with pytest.raises((TypeError, ValueError)) as caught:
        pb.tensor(data)
    assert str(caught.value)
    with pytest.raises((TypeError, ValueError)):
        pb.tensor(data, requires_grad=True)


def test_a_computed_tensor_cannot_stop_asking():
    y = leaf(1.0) * 2
    y.requires_grad_()
    y.requires_grad = True
    with teaches(RuntimeError, "leaf variables", notes=["detach()"]):
        y.requires_grad = False
    with teaches(RuntimeError, "leaf variables"):
        y.requires_grad_(False)


def test_places_of_leaf_computed_view_and_constant():
    x = leaf([1.0, 2.0])
    y = x * 2
    view = Item.apply(x, index=slice(0, 1))
    assert (x.is_leaf, x.grad_fn, x.output_nr) == (True, None, 0)
    assert (y.is_leaf, y.grad_fn.name(), y.output_nr) == (False, "MulBackward0", 0)
    assert (view.is_leaf, view.grad_fn.name(), view._is_view(), view._base is x) == (False, "ItemBackward", True, True)
    constant = pb.tensor(1.0)
    assert (constant.is_leaf, constant.grad_fn, constant.output_nr, constant._base) == (True, None, 0, None)


def test_a_view_of_a_constant_becomes_differentiable_with_its_base():
    base = pb.tensor([1.0, 2.0])
    view = Item.apply(base, index=slice(0, 1))
    assert not view.requires_grad
    assert view.grad_fn is None
    base += leaf([1.0, 1.0])
    assert view.requires_grad
    assert view.grad_fn is not None


def test_the_gradient_of_an_inner_tensor_is_not_kept_and_says_so():
    y = leaf(1.0) * 2
    y.backward()
    with pytest.warns(UserWarning, match=r"not a leaf.*retain_grad"):
        assert y.grad is None


# ------------------------------------------------------------------------------------------------ leaving the graph
LEAVING = {
    "numpy": (lambda x: x.numpy(), RuntimeError, "numpy()"),
    "asarray": (np.asarray, RuntimeError, "NumPy array"),
    "array": (lambda x: np.array(x), RuntimeError, "NumPy array"),
    "dlpack": (lambda x: np.from_dlpack(x), BufferError, "DLPack"),
}


@pytest.mark.parametrize("how", LEAVING)
def test_a_recorded_tensor_does_not_become_an_array_unnoticed(how):
    leave, kind, word = LEAVING[how]
    for x in (leaf([1.0, 2.0]), leaf([1.0, 2.0]) * 2, Item.apply(leaf([1.0, 2.0]), index=slice(0, 1))):
        with teaches(kind, word, notes=["detach()", "without gradients" if how == "dlpack" else "no gradient"]):
            leave(x)
        leave(x.detach())
    with pb.no_grad():
        assert leave(leaf([1.0, 2.0])).tolist() == [1.0, 2.0]
    leave(pb.tensor([1.0, 2.0]))


def test_numbers_may_always_be_read():
    x = leaf(2.5) * 2
    assert (x.item(), float(x), int(x), complex(x), bool(x), x.tolist()) == (5.0, 5.0, 5, 5 + 0j, True, 5.0)
    assert (leaf([1.0, 2.0]) * 2).tolist() == [2.0, 4.0]
    assert [10, 20, 30][pb.tensor(1)] == 20
    assert bool(pb.tensor([0.0])) is False


def test_numbers_of_several_elements_are_refused():
    x = leaf([1.0, 2.0])
    for read in (lambda: x.item(), lambda: float(x), lambda: int(x), lambda: complex(x)):
        with teaches(RuntimeError, "2 elements cannot be converted to Scalar", notes=["x.tolist()"]):
            read()
    with teaches(RuntimeError, "more than one value is ambiguous", notes=["x.any()"]):
        bool(x)
    with teaches(RuntimeError, "no values is ambiguous"):
        bool(pb.tensor(np.ones(0)))
    with pytest.raises(TypeError, match="integer tensors of a single element"):
        [1, 2][pb.tensor(1.0)]


def test_arrays_of_recorded_tensors_are_read_only_and_those_of_others_are_not():
    a = leaf([1.0, 2.0]) * 2
    assert not a.detach().numpy().flags.writeable
    with pb.no_grad():
        assert not a.numpy().flags.writeable
        assert not np.asarray(a).flags.writeable
    own = np.ones(2)
    assert Tensor(own).numpy() is own
    x = leaf([1.0, 2.0])
    assert not x.detach().numpy().flags.writeable
    assert not x[0:1].detach().numpy().flags.writeable
    assert x.data.numpy().flags.writeable
    copied = np.array(a.detach())
    assert copied.flags.writeable
    copied += 1
    np.testing.assert_array_equal(a.detach().numpy(), [2.0, 4.0])


def test_asarray_converts_and_copies_when_asked():
    x = pb.tensor([1.0, 2.0])
    assert np.asarray(x, dtype="float32").dtype == np.float32
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.asarray(x, dtype="float64").dtype == np.float64


def test_integers_stay_integers():
    assert np.asarray(pb.tensor([1, 2])).dtype == np.int64
    assert np.array(pb.tensor([True])).dtype == bool
    assert pb.tensor([1, 2], dtype="int8").numpy().dtype == np.int8


def test_dlpack_device():
    assert pb.tensor([1.0]).__dlpack_device__() == np.ones(1).__dlpack_device__()


# ------------------------------------------------------------------------------------------------ copies
def test_deepcopy_of_a_leaf_keeps_its_gradient_and_nothing_else():
    x = leaf([1.0, 2.0])
    (x * 2).backward(ones_like(x))
    other, again = copy.deepcopy([x, x])
    assert other is again
    assert other is not x
    assert other.requires_grad
    assert other.is_leaf
    np.testing.assert_array_equal(other.grad.numpy(), [2.0, 2.0])
    assert not np.shares_memory(other.detach().numpy(), x.detach().numpy())
    assert not np.shares_memory(other.grad.numpy(), x.grad.numpy())
    assert not copy.deepcopy(pb.tensor(1.0)).requires_grad


def test_deepcopy_of_a_computed_tensor_is_refused():
    with teaches(RuntimeError, "deepcopy", "graph leaves", notes=["x.detach().clone()"]):
        copy.deepcopy(leaf(1.0) * 2)


def test_pickles_keep_values_and_the_wish_for_gradients():
    for x in (leaf([1.0, 2.0]), pb.tensor([1, 2])):
        again = pickle.loads(pickle.dumps(x))
        assert type(again) is type(x)
        assert again.requires_grad is x.requires_grad
        assert values([again])[0].tolist() == values([x])[0].tolist()


def test_a_shallow_copy_of_a_computed_tensor_stays_connected():
    x = leaf(2.0)
    y = x * x
    z = copy.copy(y)
    assert z is not y
    assert grad(z, x, retain_graph=True)[0].item() == 4.0
    assert grad(z * 3 + y, z)[0].item() == 3.0
    z *= 10
    assert y.item() == 40.0
    assert grad(y, x)[0].item() == 40.0
    again = copy.copy(x)
    assert again.requires_grad


def test_clone_is_a_recorded_copy():
    x = leaf([1.0, 2.0])
    y = x.clone()
    assert not np.shares_memory(y.detach().numpy(), x.detach().numpy())
    np.testing.assert_array_equal(grad(y * y, x, ones_like(y))[0].numpy(), [2.0, 4.0])


def test_wrap_takes_array_place_and_log_as_given():
    x = leaf([1.0])
    t = core_tensor.wrap(Tensor, x._array, None, x._resolved())
    assert t.requires_grad
    Square.apply(t).backward()
    assert x.grad.item() == 2.0


# ------------------------------------------------------------------------------------------------ leaves of other classes
def test_a_subclass_keeps_its_class_through_everything():
    class Own(Tensor):
        __slots__ = ()

        def size(self, axis=None):
            """A method, as in other libraries: nothing in the core may rely on the attribute."""
            return self._array.shape

    x = Own(np.array(2.0), requires_grad=True)
    y = x * x
    for t in (y, y.detach(), x.clone(), x.data, copy.deepcopy(x)):
        assert type(t) is Own
    y.backward()
    assert type(x.grad) is Own
    assert (y.item(), bool(y), f"{y:.1f}") == (4.0, True, "4.0")
