"""Making Tensors: what is copied and what is shared, dtypes as in NumPy, and gradients through lists of Tensors."""

import array_api_strict
import numpy as np
import pytest

import pullback as pb


def test_tensor_copies_and_asarray_shares():
    array = np.zeros(2)
    assert not np.shares_memory(pb.tensor(array)._array, array)
    for share in (pb.asarray, pb.as_tensor, pb.from_numpy):
        assert np.shares_memory(share(array)._array, array)
    assert not np.shares_memory(pb.asarray(array, copy=True)._array, array)
    with pytest.raises(ValueError, match="copy"):
        pb.asarray(array, dtype=np.float32, copy=False)


def test_a_tensor_stays_the_very_tensor():
    x = pb.tensor([1.0], requires_grad=True)
    assert pb.asarray(x) is x
    assert pb.as_tensor(x, np.float64) is x
    assert pb.autograd.grad(pb.asarray(x, copy=True), x)[0].tolist() == [1.0]
    assert pb.autograd.grad(pb.sum(pb.asarray(x, dtype=np.float32)), x)[0].dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        pb.asarray(x, dtype=np.float32, copy=False)


@pytest.mark.parametrize("make", [pb.asarray, pb.as_tensor])
def test_lists_of_tensors_are_stacked_and_keep_their_gradients(make):
    a = pb.tensor(2.0, requires_grad=True)
    b = pb.tensor(3.0, requires_grad=True)
    y = make([[a * a, b], (1.0, a)])
    assert y.tolist() == [[4.0, 3.0], [1.0, 2.0]]
    ga, gb = pb.autograd.grad(pb.sum(y * pb.tensor([[1.0, 10.0], [100.0, 1000.0]])), (a, b))
    assert (ga.item(), gb.item()) == (1004.0, 10.0)
    rows = make([pb.tensor([1.0, 2.0]), [3, 4]])
    assert rows.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert make([pb.tensor(1), pb.tensor(2)]).dtype == np.int64
    with pytest.raises(ValueError, match="copy"):
        pb.asarray([a], copy=False)


def test_a_copy_of_tensors_that_require_gradients_is_refused():
    a = pb.tensor(2.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        pb.tensor([a, 1.0])
    assert pb.tensor([a.detach(), 1.0]).tolist() == [2.0, 1.0]
    assert pb.tensor(a).requires_grad is False
    with pb.no_grad():
        assert pb.tensor([[a], [a]]).tolist() == [[2.0], [2.0]]


def test_a_read_only_array_is_fine_until_it_is_written():
    array = np.ones(2)
    array.flags.writeable = False
    x = pb.from_numpy(array)
    assert (x * 2.0).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="read-only"):
        x += 1.0
    with pytest.raises(TypeError, match="NumPy array"):
        pb.from_numpy([1.0])


@pytest.mark.parametrize("data", [["a"], [None], [[1.0], [1.0, 2.0]], np.array([1, "x"], dtype=object), {"a": 1}])
def test_what_is_no_number_is_refused(data):
    for make in (pb.tensor, pb.asarray):
        with pytest.raises((TypeError, ValueError)):
            make(data)


def test_dtypes_are_those_of_numpy():
    cases = [
        (pb.zeros(2), np.zeros(2)),
        (pb.ones((2, 1), dtype=np.float32), np.ones((2, 1), dtype=np.float32)),
        (pb.full((), 3), np.full((), 3)),
        (pb.full(2, 1j), np.full(2, 1j)),
        (pb.arange(3), np.arange(3)),
        (pb.arange(1.0, 2.0, 0.25), np.arange(1.0, 2.0, 0.25)),
        (pb.arange(5, 1, -2, dtype=np.float32), np.arange(5, 1, -2, dtype=np.float32)),
        (pb.linspace(0, 1, 4), np.linspace(0, 1, 4)),
        (pb.linspace(0, 1, 4, endpoint=False, dtype=np.float32), np.linspace(0, 1, 4, False, dtype=np.float32)),
        (pb.eye(2), np.eye(2)),
        (pb.eye(2, 3, k=1, dtype=np.int64), np.eye(2, 3, k=1, dtype=np.int64)),
        (pb.asarray([1, 2]), np.asarray([1, 2])),
        (pb.asarray(True), np.asarray(True)),
        (pb.tensor([1, 2], dtype=float), np.array([1.0, 2.0])),
        (pb.zeros_like(pb.ones((2, 2), dtype=np.float32)), np.zeros((2, 2), dtype=np.float32)),
        (pb.ones_like(pb.zeros(2), dtype=np.int32), np.ones(2, dtype=np.int32)),
        (pb.full_like(pb.zeros(2), 7), np.full(2, 7.0)),
    ]
    for found, expected in cases:
        assert isinstance(found, pb.Tensor)
        np.testing.assert_array_equal(found._array, expected, strict=True)
    assert pb.empty((2, 3)).shape == pb.empty_like(pb.zeros((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_leaves_can_be_asked_for(name):
    make = getattr(pb, name)
    assert make(2, requires_grad=True).requires_grad
    assert getattr(pb, f"{name}_like")(make(2), requires_grad=True).is_leaf
    with pytest.raises(RuntimeError, match="floating point"):
        make(2, dtype=np.int64, requires_grad=True)


def test_like_functions_of_bare_arrays_give_bare_arrays():
    array = np.ones((2, 3), dtype=np.float32, order="F")
    zeros = pb.zeros_like(array)
    assert isinstance(zeros, np.ndarray)
    assert zeros.flags.c_contiguous
    assert zeros.dtype == np.float32


def test_filling_and_spacing_keep_gradients():
    a = pb.tensor(2.0, requires_grad=True)
    for y, slope in [
        (pb.full((2, 3), a), 6.0),
        (pb.full(2, a, dtype=np.float32), 2.0),
        (pb.full_like(pb.zeros(4), a), 4.0),
        (pb.linspace(0, a, 3), 1.5),
        (pb.linspace(a, 1.0, 3), 1.5),
        (pb.linspace(a, a, 2, endpoint=False), 2.0),
        (pb.arange(a, 5.0), 3.0),
        (pb.arange(1.0, 7.5, a), 6.0),
    ]:
        assert pb.autograd.grad(pb.sum(y), a)[0].item() == slope
        if y.shape != (3,):
            y += 1.0  # the memory is its own
    assert pb.linspace(pb.tensor(0.0), 1.0, 2).tolist() == [0.0, 1.0]
    assert pb.arange(pb.tensor(2)).tolist() == [0, 1]


def test_arrays_of_other_libraries_stay_there():
    array = array_api_strict.asarray([1.0, 2.0])
    x = pb.asarray(array, requires_grad=True)
    assert x._array is array
    for y in (pb.tensor(array), pb.zeros_like(x), pb.asarray(x, copy=True), pb.asarray(array, dtype=np.float32)):
        assert type(y._array) is type(array)
    assert x.requires_grad


def test_dlpack_both_ways():
    array = np.arange(3.0)
    x = pb.from_dlpack(array)
    assert x.tolist() == [0.0, 1.0, 2.0]
    assert np.shares_memory(x._array, array)
    assert not np.shares_memory(pb.from_dlpack(array, copy=True)._array, array)
    assert np.from_dlpack(x).tolist() == [0.0, 1.0, 2.0]
    x = pb.tensor([1.0], requires_grad=True)
    with pytest.raises(BufferError, match="requires grad"):
        np.from_dlpack(x)


@pytest.mark.parametrize("copy", [None, False, True])
def test_dlpack_of_a_tensor_keeps_the_gradient(copy):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = pb.from_dlpack(x, copy=copy)
    assert np.shares_memory(y._array, x._array) is not copy
    (y * y).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_only_the_cpu():
    assert pb.zeros(2, device="cpu").device == pb.asarray(1.0, device="cpu").device
    for make in (pb.zeros, pb.asarray, pb.tensor):
        with pytest.raises(ValueError, match="device"):
            make(2, device="cuda")
