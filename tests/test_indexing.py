"""Reading by index: NumPy's values in every form, views where NumPy gives views, derivatives to order 3."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pullback as pb
from numeric import Call, check_order
from pullback.ops.indexing import key_of
from pullback.ops.registry import Sample

MASK = np.array([[True, False, True, False], [False, False, True, True], [True, True, False, False]])

BASIC = [
    0,
    -1,
    np.int32(1),
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(3, 0, -2),
    slice(0, 0),
    Ellipsis,
    None,
    (),
    (1, 2),
    (Ellipsis, 1),
    (slice(None), -1),
    (None, 1, None, slice(None, None, 2)),
    (slice(None, None, -1), Ellipsis, slice(None, None, -1)),
    np.array(1),
    (np.int64(0), np.uint8(3)),
]

ADVANCED = [
    [0, 2, 0],
    [],
    [[0, 1], [2, 2]],
    np.array([-1, 0]),
    np.array([[2, 2, 2]], dtype=np.uint8),
    MASK,
    MASK[:, 0],
    [True, False, True],
    np.zeros((3, 4), dtype=bool),
    True,
    False,
    np.True_,
    (slice(None), [1, 1, 3]),
    ([0, 1], [2, 3]),
    ([[0], [1]], [1, 2, 2]),
    (0, [1, 1]),
    ([2, 2], slice(1, 3)),
    ([2, 2], None, 1),
    (Ellipsis, [0, 0], None),
    (None, [0, 0], slice(None, None, -1)),
    (MASK[:, 0], slice(None, None, 2)),
    (slice(None), MASK[0]),
    (MASK[:, 0], [0, 3]),
    (np.array(1), [3, 3]),
]


def name_of(index):
    return str(index).replace("\n", "")


@pytest.mark.parametrize("index", BASIC + ADVANCED, ids=name_of)
def test_values_are_those_of_numpy(index):
    x = np.arange(12.0).reshape(3, 4)
    found = pb.tensor(x)[index]
    np.testing.assert_array_equal(found._array, np.asarray(x[index]), strict=True)


@pytest.mark.parametrize("index", BASIC, ids=name_of)
def test_a_basic_index_is_a_view_even_for_one_element(index):
    x = pb.zeros((3, 4)) * 1
    part = x[index]
    part += 1.0
    expected = np.zeros((3, 4))
    expected[index] += 1
    np.testing.assert_array_equal(x._array, expected)
    assert part._base is x or part._array.size == 0


@pytest.mark.parametrize("index", ADVANCED, ids=name_of)
def test_an_index_with_arrays_gives_a_copy(index):
    x = pb.zeros((3, 4))
    part = x[index]
    part += 1.0
    assert not x._array.any()
    assert part._base is None


@pytest.mark.parametrize("index", BASIC + ADVANCED, ids=name_of)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives(index, order):
    """Of a nonlinear function of what was read, so that no order vanishes; entries that were read twice count twice."""
    x = np.random.default_rng(1).uniform(0.5, 1.5, (3, 4))

    def f(x):
        y = x[index]
        return pb.sum(y * y * y * x[1, 1]) + pb.sum(x * x * x)

    record = SimpleNamespace(call=f, observe=None)
    check_order(Call(record, Sample((x,))), order, np.random.default_rng(2))


@pytest.mark.parametrize("index", [np.array([0, 2, 0]), MASK[:, 0], ([0, 1], [2, 3])], ids=name_of)
def test_tensors_are_indices(index):
    x = pb.tensor(np.arange(12.0).reshape(3, 4))
    tensors = tuple(pb.tensor(i) for i in index) if isinstance(index, tuple) else pb.tensor(index)
    assert x[tensors].tolist() == x._array[index].tolist()


def test_tensors_stand_for_integers_in_slices_and_alone():
    x = pb.tensor(np.arange(4.0))
    two = pb.tensor(2)
    assert x[two].item() == 2.0
    assert x[two]._base is x
    assert x[two:].tolist() == x[2:].tolist()
    assert x[[two, two]].tolist() == [2.0, 2.0]


@given(
    st.data(),
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4),
    st.booleans(),
)
def test_any_index_reads_and_scatters_as_numpy_does(data, shape, basic):
    """⟨x[i], w⟩ = ⟨x, scatter(w)⟩ for random indices of all forms."""
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    if basic:
        index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    else:
        index = data.draw(hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=4)))
    leaf = pb.tensor(x, requires_grad=True)
    found = leaf[index]
    np.testing.assert_array_equal(found._array, np.asarray(x[index]), strict=True)
    weight = np.arange(1.0, 1.0 + found._array.size).reshape(found.shape)
    (g,) = pb.autograd.grad(found, leaf, pb.tensor(weight))
    expected = np.zeros(shape)
    np.add.at(expected, index, weight)
    np.testing.assert_array_equal(g._array, expected, strict=True)


def test_repeated_entries_add_up():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (g,) = pb.autograd.grad(pb.sum(x[[0, 0, 2]] * pb.tensor([1.0, 10.0, 100.0])), x)
    assert g.tolist() == [11.0, 0.0, 100.0]


def test_an_index_array_may_be_changed_afterwards():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    index = np.array([0, 0])
    y = x[index]
    mask = np.array([True, False, False])
    z = x[mask]
    index[:] = 2
    mask[:] = False
    (g,) = pb.autograd.grad(pb.sum(y) + pb.sum(z), x)
    assert g.tolist() == [3.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (1.0, "integers"),
        ("a", "integers"),
        (np.array([0.5]), "integers"),
        ([0.5], "integers"),
        (3, "out of bounds"),
        ((0, 0, 0), "too many indices"),
        ([3], "out of bounds"),
        (np.array([True, False]), "boolean index"),
        ((Ellipsis, Ellipsis), "ellipsis"),
        ({}, "integers"),
    ],
    ids=str,
)
def test_a_wrong_index_is_an_index_error(index, message):
    with pytest.raises(IndexError, match=message):
        pb.zeros((3, 4))[index]


def test_a_tensor_of_floats_is_no_index():
    with pytest.raises(IndexError, match="integers"):
        pb.zeros(3)[pb.tensor([1.0])]


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.float16])
def test_the_gradient_has_the_dtype_of_the_argument(dtype):
    x = pb.tensor(np.ones(3, dtype=dtype), requires_grad=True)
    for y in (x[0], x[[0, 0]], x[::-1]):
        (g,) = pb.autograd.grad(y, x, pb.ones_like(y))
        assert g.dtype == dtype


def test_integer_arrays_are_read_without_a_graph():
    x = pb.arange(5)
    assert x[[1, 2]].tolist() == [1, 2]
    assert x[1:]._base is x


def test_take_in_its_forms():
    x = np.arange(6.0).reshape(2, 3)
    for indices, axis in [([5, 0], None), ([[1, 1]], 1), (1, 0), (-1, 1), ([], 0)]:
        found = pb.take(pb.tensor(x), indices, axis=axis)
        np.testing.assert_array_equal(found._array, np.take(x, np.asarray(indices, dtype=int), axis=axis), strict=True)
    with pytest.raises(TypeError, match="integers"):
        pb.take(pb.tensor(x), [0.5], axis=0)
    with pytest.raises(IndexError, match="out of bounds"):
        pb.take(pb.tensor(x), [7], axis=0)


def test_take_along_axis_broadcasts_and_sorts():
    x = np.array([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
    order = np.argsort(x, axis=1)
    assert pb.take_along_axis(pb.tensor(x), order, axis=1).tolist() == np.sort(x, axis=1).tolist()
    found = pb.take_along_axis(pb.tensor(x), np.array([[1, 0, 1]]), axis=0)
    assert found.tolist() == np.take_along_axis(x, np.array([[1, 0, 1]]), axis=0).tolist()
    with pytest.raises(ValueError, match="axes"):
        pb.take_along_axis(pb.tensor(x), np.array([0]), axis=0)


def test_diagonals_of_a_read_only_array_stay_read_only():
    array = np.eye(2)
    array.flags.writeable = False
    assert not pb.diagonal(pb.asarray(array))._array.flags.writeable


@pytest.mark.parametrize("offset", [-4, -2, -1, 0, 1, 3, 5])
def test_every_diagonal(offset):
    x = np.arange(24.0).reshape(3, 4, 2)
    leaf = pb.tensor(x, requires_grad=True)
    found = pb.diagonal(leaf, offset)
    np.testing.assert_array_equal(found._array, np.diagonal(x, offset), strict=True)
    (g,) = pb.autograd.grad(pb.sum(found * found), leaf)
    mask = np.eye(3, 4, offset)[:, :, None]
    np.testing.assert_array_equal(g._array, 2 * x * mask)


def test_a_key_says_what_it_is():
    assert key_of((0, slice(None))).basic
    assert not key_of([0]).basic
    assert key_of(MASK).unique
    assert not key_of(np.array([0, 1])).unique
    assert key_of(np.array(1)).entries == (1, Ellipsis)


@pytest.mark.parametrize("repeated", [False, True])
def test_large_indices_scatter_alike_whether_or_not_they_repeat(repeated):
    """Large permutations take a short cut, which must notice a single repetition."""
    order = np.argsort(np.random.default_rng(0).uniform(size=(30, 40)), axis=1)
    if repeated:
        order[3, 5] = order[3, 6]
    x = pb.tensor(np.ones((30, 40)), requires_grad=True)
    weight = np.arange(1200.0).reshape(30, 40)
    (g,) = pb.autograd.grad(pb.take_along_axis(x, order, axis=1), x, pb.tensor(weight))
    expected = np.zeros((30, 40))
    np.add.at(expected, (np.arange(30)[:, None], order), weight)
    np.testing.assert_array_equal(g._array, expected)
