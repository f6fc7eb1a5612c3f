"""Every function of NumPy that the door offers: value, dtype and shape are NumPy's, derivatives those of the values."""

import ast
from types import SimpleNamespace

import numpy as np
import pytest

from doors.numpy_cases import CALLS, HIPS, values, words
from numeric import Call, along, check_order, directions_like, slope
from pullback import torch
from pullback.core.tensor import Tensor, wrap
from pullback.doors import numpy as door
from pullback.doors import scipy
from pullback.doors.numpy.tools import find
from pullback.ops.registry import Sample

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}") for text in ("invalid value", "divide by zero", "'where' used")
]
door.fill()
#: Calls without derivatives to compare, with the reason.
VALUE_ONLY = {
    "np.around(x, 1)": "steps of 0.1 are within reach of the differences",
    "np.nextafter(x, y)": "refused: between two floating-point numbers there is none",
    "np.median(np.where(b, n, np.nan), axis=1)": "NaN",
}


def names_in(call):
    """The arrays that a call names, in order of their first use."""
    found = {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)}
    bound = {arg.arg for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Lambda) for arg in node.args.args}
    return [name for name in values() if name in found - bound]


def record_of(call):
    """The call as a record of the registry: a function of the arrays that it names."""
    names = names_in(call)
    code = compile(call, call, "eval")

    def function(*arrays):
        return flat(eval(code, {"np": np, **dict(zip(names, arrays, strict=True))}))

    return SimpleNamespace(call=function, observe=None), Sample(tuple([values()[name] for name in names]))


def flat(result):
    """All arrays, Tensors and other values of nested results, in one list."""
    if isinstance(result, list | tuple) and not hasattr(result, "dtype"):
        return [item for part in result for item in flat(part)]
    return [result]


def functions_in(call):
    """The functions of NumPy that a call names."""
    for node in ast.walk(ast.parse(call)):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node).removeprefix("np.")
            yield name
            yield name.rpartition(".")[0]  # of a method, its ufunc


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_value_dtype_and_shape_are_those_of_numpy(call, requires_grad):
    record, sample = record_of(call)
    expected = record.call(*sample.args)
    found = record.call(*[Tensor(x, requires_grad and x.dtype.kind in "fc") for x in sample.args])
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        if not isinstance(e, np.ndarray | np.generic) or e.dtype.kind not in "biufc":
            assert type(f) is type(e)
            assert f == e
            continue
        assert isinstance(f, Tensor), "fell to a bare array"
        assert (f.shape, f.dtype) == (e.shape, e.dtype)
        np.testing.assert_allclose(f._array, e, rtol=1e-12, atol=1e-12)


def single(x):
    """The same in single precision."""
    return x.astype({"f": np.float32, "c": np.complex64}[x.dtype.kind]) if x.dtype.kind in "fc" else x


@pytest.mark.parametrize("call", CALLS)
def test_single_precision_stays_what_it_is_in_numpy(call):
    record, sample = record_of(call)
    arrays = [single(x) for x in sample.args]
    expected = record.call(*arrays)
    found = record.call(*[Tensor(x, x.dtype.kind in "fc") for x in arrays])
    for f, e in zip(found, expected, strict=True):
        if isinstance(f, Tensor):
            assert (f.shape, f.dtype) == (e.shape, e.dtype)
            np.testing.assert_allclose(f._array, e, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("call", CALLS)
def test_torchs_tensors_give_torchs_tensors_of_the_same_values(call):
    record, sample = record_of(call)
    expected = record.call(*sample.args)
    found = record.call(*[wrap(torch.Tensor, x) for x in sample.args])
    for f, e in zip(found, expected, strict=True):
        if isinstance(e, np.ndarray | np.generic) and e.dtype.kind in "biufc":
            assert type(f) is torch.Tensor
            assert tuple(f.shape) == e.shape
            np.testing.assert_allclose(f.detach().numpy(), e, rtol=1e-6, atol=1e-6)


def differentiable_calls():
    for call in CALLS:
        record, sample = record_of(call)
        made = Call(record, sample)
        if made.arrays and call not in VALUE_ONLY:
            yield call


@pytest.mark.parametrize("call", list(differentiable_calls()))
@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_are_those_of_the_values(call, order):
    record, sample = record_of(call)
    made = Call(record, sample)
    if "float32" in call:
        made = in_double_precision(call)
    if not made.differentiable([Tensor(x, True) for x in made.arrays]):
        return
    check_order(made, order, np.random.default_rng(0))


@pytest.mark.parametrize("call", [c for c in differentiable_calls() if set(functions_in(c)) & set(HIPS)])
def test_third_derivatives_of_what_hips_autograd_has(call):
    record, sample = record_of(call)
    made = Call(record, sample) if "float32" not in call else in_double_precision(call)
    if made.differentiable([Tensor(x, True) for x in made.arrays]):
        check_order(made, 3, np.random.default_rng(0))


def test_every_function_of_hips_autograd_has_a_call_of_third_order():
    named = {name for call in differentiable_calls() for name in functions_in(call)}
    assert set(HIPS) - named - CONSTANT_IN_HIPS == set()


@pytest.mark.parametrize("call", list(differentiable_calls()))
def test_a_result_without_gradient_does_not_depend_on_the_arguments(call):
    """No function loses its graph: what has no gradient is constant between steps."""
    made = Call(*record_of(call))
    found = made([Tensor(x, True) for x in made.arrays])
    direction = directions_like(made.arrays, np.random.default_rng(1))
    for k, result in enumerate(found):
        if (
            isinstance(result.dtype, np.dtype)
            and result.dtype.kind in "fc"
            and not (isinstance(result, Tensor) and result.requires_grad)
        ):
            change = slope(lambda t, k=k: made(along(made.arrays, direction, t))[k].astype(complex))
            assert np.nanmax(np.abs(change), initial=0.0) < 1e-7


def in_double_precision(call):
    """The same call with double precision in the place of single precision, where differences mean something."""
    return Call(*record_of(call.replace("float32", "float64")))


def test_every_function_that_is_offered_has_a_call():
    named = {find(name) for call in CALLS for name in functions_in(call) if name}
    offered = {*door.FUNCTIONS, *[f for f in door.UFUNCS if scipy.rule_of(f) is None]}
    missing = {f for f in offered - named if f.__name__ not in ELSEWHERE}
    assert sorted(f"{f.__module__}.{f.__name__}" if hasattr(f, "__module__") else f.__name__ for f in missing) == []


#: Offered, and tested in test_numpy_door.py: they write, create with like=, print, or their values are not defined.
ELSEWHERE = frozenset(
    words("""array arange asanyarray asarray ascontiguousarray asfortranarray empty empty_like eye frombuffer fromfile
    fromfunction fromiter fromstring full genfromtxt identity loadtxt ones tri zeros
    copyto fill_diagonal place put put_along_axis putmask
    array2string array_repr array_str save savetxt savez savez_compressed can_cast isnat row_stack clip""")
)

#: HIPS autograd knows that these have no derivative, or they are offered with like= and by writing.
CONSTANT_IN_HIPS = frozenset(
    words("""all around allclose any argmax argmin argpartition argsort argwhere array_equal array_equiv count_nonzero equal
    flatnonzero full greater greater_equal isclose iscomplex iscomplexobj isfinite isinf isnan isneginf isposinf isreal
    less less_equal logical_and logical_not logical_or logical_xor ndim nonzero not_equal ones_like result_type shape size
    zeros_like array empty_like full_like searchsorted clip""")
)
