"""The module that knows array libraries: namespaces, dtypes, projection."""

import numpy as np
import pytest

from pullback.core import arrays


# ------------------------------------------------------------------------------------------------ whose array is it
def test_namespaces_are_found_once_per_type():
    class Sub(np.ndarray):
        pass

    assert arrays.namespace(np.zeros(1)) is np
    assert arrays.namespace(np.float64(1)) is np
    assert arrays.namespace(np.zeros(1).view(Sub)) is np
    strict = pytest.importorskip("array_api_strict")
    found = arrays.namespace(strict.zeros(1))
    assert found.__name__ == "array_api_strict"
    assert arrays.namespace(strict.ones(2)) is found


def test_arrays_are_told_from_other_things():
    strict = pytest.importorskip("array_api_strict")
    for array in (np.zeros(1), np.float64(1), strict.zeros(1)):
        assert arrays.is_array(array)
    for other in (1.0, [1.0], "text", None, object(), np, np.ndarray, {}):
        assert not arrays.is_array(other)


def test_foreign_dtypes_are_given_as_numpys():
    strict = pytest.importorskip("array_api_strict")
    for name in ("float32", "float64", "complex64", "int8", "uint16", "bool"):
        array = strict.zeros(1, dtype=getattr(strict, name))
        assert arrays.dtype_of(array) == np.dtype(name)
        assert arrays.from_numpy_dtype(np.dtype(name), strict) == getattr(strict, name)
    assert arrays.dtype_of(np.zeros(1, "float16")) == np.dtype("float16")
    assert arrays.from_numpy_dtype(np.dtype("float32"), np) == np.dtype("float32")
    assert arrays.from_numpy_dtype(None, strict) is None


def test_names_of_dtypes_as_other_libraries_write_them():
    class Odd:
        def __init__(self, text):
            self.text = text

        def __str__(self):
            return self.text

    assert arrays.to_numpy_dtype(Odd("torch.float32")) == np.float32
    assert arrays.to_numpy_dtype(Odd("<class 'jax.numpy.int32'>")) == np.int32
    known = Odd("library.float64")
    assert arrays.to_numpy_dtype(known) is arrays.to_numpy_dtype(known)


def test_bfloat16_is_that_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")

    class Foreign:
        def __str__(self):
            return "torch.bfloat16"

    assert arrays.to_numpy_dtype(Foreign()) == np.dtype(ml_dtypes.bfloat16)
    assert arrays.is_inexact(np.dtype(ml_dtypes.bfloat16))


def test_which_dtypes_carry_derivatives():
    for name in ("float16", "float32", "float64", "complex64", "complex128"):
        assert arrays.is_inexact(np.dtype(name))
        assert arrays.is_complex(np.dtype(name)) is name.startswith("complex")
    for name in ("int64", "uint8", "bool", "U3", "O"):
        assert not arrays.is_inexact(np.dtype(name))
        assert not arrays.is_complex(np.dtype(name))
    strict = pytest.importorskip("array_api_strict")
    assert arrays.is_inexact(strict.float32)
    assert not arrays.is_inexact(strict.int64)
    assert arrays.is_complex(strict.complex64)
    assert not arrays.is_complex(strict.float64)


# ------------------------------------------------------------------------------------------------ projection
@pytest.mark.parametrize(
    ("shape", "target", "fits"),
    [
        ((), (3,), True),
        ((3,), (4, 3), True),
        ((1, 3), (4, 3), True),
        ((4,), (4, 3), False),
        ((2, 3), (3,), False),
        ((0,), (1,), False),
    ],
)
def test_broadcasting_of_shapes(shape, target, fits):
    assert arrays.broadcasts_to(shape, target) is fits
    if fits:
        assert np.broadcast_shapes(shape, target) == target


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (4, 1), (1, 1), (4, 3), (2, 4, 3)])
def test_sum_to_is_the_adjoint_of_broadcasting(shape, rng):
    wide, small = rng.normal(size=(2, 4, 3)), rng.normal(size=shape)
    summed = arrays.sum_to(wide, shape, np)
    assert summed.shape == shape
    np.testing.assert_allclose((np.broadcast_to(small, wide.shape) * wide).sum(), (small * summed).sum())


def test_an_empty_axis_sums_to_zero():
    assert arrays.sum_to(np.ones((0, 3)), (3,), np).tolist() == [0.0, 0.0, 0.0]
    assert arrays.sum_to(np.ones((0, 3)), (1, 3), np).tolist() == [[0.0, 0.0, 0.0]]


def test_project_brings_shape_realness_and_precision_together():
    wide = np.full((4, 3), 1 + 2j)
    found = arrays.project(wide, (3,), np.dtype("float32"), np)
    assert (found.dtype, found.tolist()) == (np.float32, [4.0, 4.0, 4.0])
    assert arrays.project(np.ones(3), (3,), np.dtype("complex64"), np).dtype == np.complex64
    same = np.ones(3)
    assert arrays.project(same, (3,), np.dtype("float64"), np) is same


def test_cast_of_complex_to_its_own_real_type():
    found = arrays.cast(np.array([1 + 2j]), np.dtype("float64"), np)
    assert (found.dtype, found.tolist()) == (np.float64, [1.0])
    strict = pytest.importorskip("array_api_strict")
    found = arrays.cast(strict.asarray([1 + 2j]), np.dtype("float64"), strict)
    assert arrays.dtype_of(found) == np.float64


# ------------------------------------------------------------------------------------------------ making and sharing
def test_zeros_of_any_library():
    strict = pytest.importorskip("array_api_strict")
    for xp in (np, strict):
        found = arrays.zeros((2, 3), np.dtype("float32"), xp)
        assert (found.shape, arrays.dtype_of(found)) == ((2, 3), np.float32)


def test_asarray_copies_only_where_it_must():
    array = np.ones(2)
    assert arrays.asarray(array) is array
    assert arrays.asarray([1.0]).tolist() == [1.0]
    assert arrays.asarray(array, dtype=np.dtype("float32")).dtype == np.float32
    strict = pytest.importorskip("array_api_strict")
    assert arrays.dtype_of(arrays.asarray([1.0], strict, np.dtype("float32"))) == np.float32


def test_copies_are_fresh_and_c_contiguous():
    array = np.ones((2, 3)).T
    made = arrays.copy(array, np)
    assert made.flags.c_contiguous
    assert not np.shares_memory(made, array)
    strict = pytest.importorskip("array_api_strict")
    array = strict.asarray([1.0, 2.0])
    made = arrays.copy(array, strict)
    made[0] = 5.0
    assert float(array[0]) == 1.0


def test_contiguous_copies_only_what_is_not():
    array = np.ones((2, 3))
    assert arrays.contiguous(array) is array
    assert arrays.contiguous(array.T).flags.c_contiguous
    assert arrays.contiguous("anything else") == "anything else"
    zero = np.float64(1.0)
    assert arrays.contiguous(zero) is zero


def test_readonly_views():
    array = np.ones(2)
    view = arrays.readonly(array)
    assert not view.flags.writeable
    assert array.flags.writeable
    assert np.shares_memory(view, array)
    assert arrays.readonly("anything else") == "anything else"


def test_size_and_bytes():
    assert arrays.size(np.ones((2, 3))) == 6
    assert arrays.size(np.float64(1.0)) == 1
    assert arrays.nbytes(np.ones((2, 3), "float32")) == 24


def test_sharing_memory_is_exact_and_gives_up_towards_yes():
    array = np.zeros(100)
    assert arrays.shares_memory(array[:10], array[5:20])
    assert not arrays.shares_memory(array[::2], array[1::2])
    assert not arrays.shares_memory(array, np.zeros(1))
    assert arrays.shares_memory(array, "an array of another library")
    block = np.zeros((17, 19, 23, 29), dtype=np.int8)
    hard = block[::2, ::3, ::5, ::7], block[1::2, 1::3, 1::5, 1::7]
    assert arrays.shares_memory(*hard) in (True, False)


def test_a_question_too_hard_is_answered_with_yes(monkeypatch):
    def hard(*args, **kwargs):
        raise np.exceptions.TooHardError

    monkeypatch.setattr(np, "shares_memory", hard)
    array = np.zeros(10)
    assert arrays.shares_memory(array[::2], array[1::2])


def test_which_arrays_can_be_written():
    assert arrays.is_mutable(np.zeros(1))
    assert not arrays.is_mutable(np.float64(1.0))


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (4, 1), (4, 3), (1, 1)])
def test_a_mask_comes_back_where_any_of_its_copies_is_true(shape, rng):
    wide = rng.random((4, 3)) < 0.3
    found = arrays.any_to(wide, shape)
    assert found.shape == shape
    np.testing.assert_array_equal(found, arrays.sum_to(wide.astype(int), shape, np) > 0)
