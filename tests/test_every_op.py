"""Every operator of the registry, on its samples: value, derivatives of three orders, and what callers rely on.

Each check is a function of one record.  Exceptions are data in ``op_exceptions.py``: one that holds after all fails.
"""

from __future__ import annotations

import doctest
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Any

import array_api_strict
import numpy as np
import pytest

import pullback as pb
from every_operator import REGISTRY
from numeric import (
    Call,
    along,
    as_list,
    bare,
    check_order,
    contracted,
    directions_like,
    gradient,
    inner,
    pull,
    size_of,
    slope,
    tensors,
    with_gradient,
)
from op_exceptions import EXCEPTIONS
from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual
from pullback.core.engine import Pass
from pullback.core.graph import LEAF_NUMBER
from pullback.core.tensor import Tensor
from pullback.ops.registry import Record, samples_of

CHECKS: dict[str, tuple[Callable[[Record], None], Callable[[Record], bool]]] = {}


def check(applies: Callable[[Record], bool] = lambda record: True) -> Any:
    """Enter a check under its name, for the records it applies to."""

    def enter(function: Any) -> Any:
        CHECKS[function.__name__] = function, applies
        return function

    return enter


def differentiable(record: Record) -> bool:
    return record.differentiable and record.order >= 1


def calls(record: Record, complex_too: bool = True, single: bool = False) -> Iterator[Call]:
    """The samples of a record, real and then complex."""
    dtypes = [np.float32 if single else np.float64]
    if record.complex and complex_too:
        dtypes.append(np.complex64 if single else np.complex128)
    for dtype in dtypes:
        for sample in samples_of(record, dtype):
            yield Call(record, sample)


def full_calls(record: Record) -> Iterator[Call]:
    """The samples that have entries to differentiate."""
    return (call for call in calls(record) if any(x.size for x in call.arrays))


def reference(call: Call, values: Any = None) -> list[Any]:
    """What the reference computes."""
    args, options = call.arguments(call.arrays if values is None else values)
    return [np.asarray(r) for r in as_list(call.record.reference(*args, **options))]


def unobserved(call: Call) -> Call:
    """The call, with the results as the operator returns them."""
    call.record = replace(call.record, observe=None)
    return call


def seeded(outputs: Any) -> list[Any]:
    return directions_like(bare(outputs), np.random.default_rng(3))


def array_of(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def same(found: Any, expected: Any) -> None:
    """Equal to the last bit, in dtype and in shape."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected, strict=True)


# ------------------------------------------------------------------------------------------------------------- values
@check(lambda record: record.reference is not None)
def value(record: Record) -> None:
    """The value is that of the reference, on Tensors (which give Tensors) and on bare arrays."""
    for call in map(unobserved, calls(record)):
        expected = reference(call)
        for wrap in (lambda x: x, Tensor):
            found = call([wrap(x) for x in call.arrays], wrap)
            assert len(found) == len(expected)
            for r, e in zip(found, expected, strict=True):
                assert isinstance(r, Tensor) or wrap is not Tensor
                close(array_of(r), e)
                assert r.dtype == e.dtype


@check()
def float32(record: Record) -> None:
    """Single precision stays single precision, in results and gradients, and agrees with double precision."""
    for call, twin in zip(calls(record, single=True), calls(record), strict=True):
        xs = tensors(call.arrays)
        results = call(xs)
        if record.reference is not None and record.observe is None:
            assert [r.dtype for r in results] == [e.dtype for e in reference(call)]
        else:
            assert not any(r.dtype in (np.float64, np.complex128) for r in results)
        outputs = with_gradient(results)
        if not outputs:
            continue
        weights = seeded(outputs)
        grads = pull(outputs, xs, weights)
        assert [g.dtype for g in grads] == [x.dtype for x in call.arrays]
        ys = tensors(twin.arrays)
        precise = pull(twin.differentiable(ys), ys, [np.asarray(w, dtype=_double(w)) for w in weights])
        for g, p in zip(grads, precise, strict=True):
            close(g._array, p._array, 2e-3)


def _double(array: Any) -> Any:
    return np.complex128 if array.dtype.kind == "c" else np.float64


# -------------------------------------------------------------------------------------------------------- derivatives
@check(differentiable)
def first(record: Record) -> None:
    """The gradient is the slope of the value."""
    for k, call in enumerate(full_calls(record)):
        check_order(call, 1, np.random.default_rng(k))


@check(lambda record: differentiable(record) and record.order >= 2)
def second(record: Record) -> None:
    """The second derivative is the slope of the gradient."""
    for k, call in enumerate(full_calls(record)):
        check_order(call, 2, np.random.default_rng(k))


@check(lambda record: differentiable(record) and record.order >= 3)
def third(record: Record) -> None:
    """The third derivative is the slope of the second."""
    for k, call in enumerate(full_calls(record)):
        check_order(call, 3, np.random.default_rng(k))


@check(lambda record: differentiable(record) and record.order >= 2)
def taylor(record: Record) -> None:
    """What value, gradient and second derivative leave of the function shrinks with the third power of the distance."""
    for call in itertools.islice(full_calls(record), 3):
        rng = np.random.default_rng(5)
        outputs = bare(call.differentiable(tensors(call.arrays)))
        if not outputs:
            continue
        weights, v = directions_like(outputs, rng), directions_like(call.arrays, rng)
        slope_, curvature = (inner(gradient(call, call.arrays, [weights, *[v] * k]), v) for k in (0, 1))
        start = contracted(call, call.arrays, [weights])

        def left(
            t: float, call: Call = call, w: Any = weights, v: Any = v, jet: Any = (start, slope_, curvature)
        ) -> float:
            there = contracted(call, along(call.arrays, v, t), [w])
            return abs(there - jet[0] - t * jet[1] - t * t / 2 * jet[2])

        far, near = left(2.0**-9), left(2.0**-10)
        scale = max(1.0, abs(start), abs(slope_), abs(curvature))
        assert near < 1e-11 * scale or np.log2(far / near) > 2.5, (far, near)


@check(lambda record: differentiable(record) and record.order >= 2)
def dot(record: Record) -> None:
    """⟨Jv, w⟩ = ⟨v, Jᵀw⟩ to rounding, with Jv from pulling back twice; and Jv is the slope of the value."""
    for k, call in enumerate(full_calls(record)):
        _check_dot(call, np.random.default_rng(k))


def _check_dot(call: Call, rng: np.random.Generator) -> None:
    xs = tensors(call.arrays)
    outputs = call.differentiable(xs)
    weights = tensors(directions_like(bare(outputs), rng))
    grads = pull(outputs, xs, weights, create_graph=True)
    v, w, vjp = directions_like(call.arrays, rng), bare(weights), bare(grads)
    jvp = bare(pull(grads, weights, v))
    found = np.concatenate([np.ravel(p) for p in jvp])
    if found.size:
        expected = slope(lambda t: _stacked(call, v, t))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * max(1.0, np.max(np.abs(found))))
        assert abs(inner(jvp, w) - inner(v, vjp)) <= 1e-12 * (size_of(jvp, w) + size_of(v, vjp))


def _stacked(call: Call, direction: Any, t: float) -> Any:
    """All differentiable results at one point, in one vector."""
    xs = tensors([np.asarray(x + t * v, dtype=x.dtype) for x, v in zip(call.arrays, direction, strict=True)])
    return np.concatenate([np.ravel(r) for r in bare(call.differentiable(xs))])


def pushed(outputs: Any) -> list[Any]:
    """The tangents of results, zeros where there is none."""
    found = [unpack_dual(y).tangent for y in outputs]
    return [np.zeros_like(y._array) if t is None else t._array for y, t in zip(outputs, found, strict=True)]


@check(lambda record: differentiable(record) and record.order >= 2)
def forward(record: Record) -> None:
    """Forward mode gives Jv: the dot test against the vjp; it is the same with and without recording, and in a graph."""
    for k, call in enumerate(full_calls(record)):
        rng = np.random.default_rng(k)
        xs = tensors(call.arrays)
        outputs = call.differentiable(xs)
        weights = directions_like(bare(outputs), rng)
        v, vjp = directions_like(call.arrays, rng), bare(pull(outputs, xs, weights))
        for graph, mode in ((False, pb.enable_grad), (True, pb.enable_grad), (False, pb.no_grad)):
            with dual_level(), mode():
                moving = [make_dual(Tensor(x, graph), Tensor(t)) for x, t in zip(call.arrays, v, strict=True)]
                results = [
                    y for y, o in zip(call(moving), call(xs), strict=True) if o.requires_grad or mode is pb.no_grad
                ]
                results = [y for y in results if y.dtype.kind in "fc"]
                assert all(y.requires_grad is graph for y in results)
                found = pushed(results)
            if len(found) != len(outputs):
                continue  # without recording nobody tells which results have a derivative
            for t, y in zip(found, outputs, strict=True):
                assert (t.shape, t.dtype) == (y.shape, y.dtype)
            assert abs(inner(found, weights) - inner(v, vjp)) <= 1e-12 * (size_of(found, weights) + size_of(v, vjp))


@check(lambda record: differentiable(record) and record.order >= 2)
def forward_twice(record: Record) -> None:
    """Forward over reverse, reverse over forward and reverse over reverse are one second derivative."""
    for k, call in enumerate(full_calls(record)):
        rng = np.random.default_rng(k)
        xs = tensors(call.arrays)
        outputs = call.differentiable(xs)
        w, v = directions_like(bare(outputs), rng), directions_like(call.arrays, rng)
        expected = bare(pull(pull(outputs, xs, w, create_graph=True), xs, v))
        with dual_level():
            moving = [make_dual(x, Tensor(t)) for x, t in zip(xs, v, strict=True)]
            results = call.differentiable(moving)
            over_reverse = pushed(pull(results, moving, w))
            tangents = [unpack_dual(y).tangent for y in results]
            pairs = [(t, u) for t, u in zip(tangents, w, strict=True) if t is not None and t.requires_grad]
            over_forward = bare(pull([t for t, _ in pairs], xs, [u for _, u in pairs])) if pairs else None
        for a, b, c in zip(expected, over_reverse, over_forward or [np.zeros_like(e) for e in expected], strict=True):
            scale = max(1.0, float(np.max(np.abs(a), initial=0.0)))
            np.testing.assert_allclose(b, a, rtol=0, atol=1e-11 * scale)
            np.testing.assert_allclose(c, a, rtol=0, atol=1e-11 * scale)


@check(differentiable)
def place(record: Record) -> None:
    """A result is an argument itself, or stands at a place in the graph where nothing else stands."""
    for call in calls(record):
        xs = [x * 1 for x in tensors(call.arrays)]
        found = {id(t): t for t in (*xs, *with_gradient(unobserved(call)(xs)))}
        assert len({t._resolved() for t in found.values()}) == len(found)


@check(lambda record: not record.differentiable)
def no_gradient(record: Record) -> None:
    """An operator without derivative gives results without gradient, whatever it is applied to."""
    for call in calls(record):
        assert not with_gradient(call(tensors(call.arrays)))


@check(differentiable)
def recorded(record: Record) -> None:
    """The gradient is the same to the last bit whether the backward pass is recorded or not."""
    for call in calls(record):
        xs = tensors(call.arrays)
        outputs = call.differentiable(xs)
        if outputs:
            weights = seeded(outputs)
            for a, b in zip(pull(outputs, xs, weights), pull(outputs, xs, weights, create_graph=True), strict=True):
                if a.ndim == 0 and a.dtype.kind == "c":  # NumPy multiplies complex scalars in another way than arrays
                    close(a._array, b._array, 1e-15)
                else:
                    same(a._array, b._array)


# ----------------------------------------------------------------------------------------------- what callers rely on
@check(lambda record: record.elementwise and record.public)
def introduced(record: Record) -> None:
    """The function has its name, a docstring with parameters and an example that runs, and takes arrays by position only."""
    function = record.call
    assert function.__name__ == record.name.removeprefix("special.")
    assert "Parameters" in function.__doc__
    test = doctest.DocTestParser().get_doctest(inspect.cleandoc(function.__doc__), {}, record.name, None, 0)
    assert test.examples, f"{record.name} has no example: see ops/examples.py"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
    arrays = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    assert arrays
    assert all(p.kind is p.POSITIONAL_ONLY for p in arrays)


@check()
def unchanged(record: Record) -> None:
    """Neither the arguments nor the cotangents are written to: they may be read-only, and are the same afterwards."""
    for call in calls(record):
        before = [x.copy() for x in call.arrays]
        for x in call.arrays:
            x.flags.writeable = False
        xs = tensors(call.arrays)
        outputs = with_gradient(call(xs))
        if outputs:
            weights = seeded(outputs)
            copies = [w.copy() for w in weights]
            for w in weights:
                w.flags.writeable = False
            pull(outputs, xs, weights)
            pull(outputs, xs, weights, create_graph=record.order >= 2)
            for w, c in zip(weights, copies, strict=True):
                same(w, c)
        for x, b in zip(call.arrays, before, strict=True):
            same(x, b)


def _reversed(x: Any) -> Any:
    """Equal entries, negative strides."""
    everywhere = (slice(None, None, -1),) * x.ndim
    return x[everywhere].copy()[everywhere]


def _strided(x: Any) -> Any:
    """Equal entries, with gaps between them."""
    spread = np.full((*x.shape, 2), -7, dtype=x.dtype)
    spread[..., 0] = x
    return spread[..., 0]


@check()
def layout(record: Record) -> None:
    """The layout of arguments and cotangents in memory makes no difference."""
    for call in calls(record):
        xs = tensors(call.arrays)
        results = call(xs)
        outputs = with_gradient(results)
        weights = seeded(outputs)
        grads = pull(outputs, xs, weights) if outputs else []
        for change in (_reversed, _strided, np.asfortranarray):
            ys = tensors([change(x).reshape(x.shape) for x in call.arrays])
            changed = call(ys)
            for r, e in zip(changed, results, strict=True):
                close(array_of(r), array_of(e))
            if outputs:
                again = pull(with_gradient(changed), ys, [change(w).reshape(w.shape) for w in weights])
                for g, e in zip(again, grads, strict=True):
                    close(g._array, e._array)


@check(lambda record: record.reference is not None and record.observe is None)
def empty(record: Record) -> None:
    """Arrays without entries give what the reference gives for them, and gradients without entries."""
    _check_shapes(record, lambda x: x[:0] if x.ndim else x)


@check(lambda record: record.reference is not None and record.observe is None)
def zero_dim(record: Record) -> None:
    """Arrays with one entry and no axes give what the reference gives for them, and gradients of that shape."""
    _check_shapes(record, lambda x: np.asarray(x[(0,) * x.ndim]) if x.size else None)


def _check_shapes(record: Record, change: Callable[[Any], Any]) -> None:
    for call in calls(record):
        values = [change(x) for x in call.arrays]
        if any(v is None for v in values) or all(v is x for v, x in zip(values, call.arrays, strict=True)):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                expected = reference(call, values)
        except Exception:  # the reference does not take such arrays
            continue
        xs = tensors(values)
        results = call(xs)
        for r, e in zip(results, expected, strict=True):
            close(array_of(r), e)
        outputs = with_gradient(results)
        if outputs:
            for create_graph in (False, record.order >= 2):
                for g, v in zip(pull(outputs, xs, seeded(outputs), create_graph), values, strict=True):
                    assert (g.shape, g.dtype) == (v.shape, v.dtype)


@check(differentiable)
def subsets(record: Record) -> None:
    """Whichever arguments require gradients, each gets the gradient that it gets when all do."""
    for call in calls(record):
        xs = tensors(call.arrays)
        outputs = call.differentiable(xs)
        if not outputs or not 1 < len(xs) <= 3:
            continue
        weights = seeded(outputs)
        everything = pull(outputs, xs, weights)
        for count in range(1, len(xs)):
            for chosen in itertools.combinations(range(len(xs)), count):
                ys = [Tensor(x, k in chosen) for k, x in enumerate(call.arrays)]
                wanted = [ys[k] for k in chosen]
                results = with_gradient(call(ys))
                if len(results) != len(outputs):  # some results depend on some arguments only
                    continue
                for k, g in zip(chosen, pull(results, wanted, weights), strict=True):
                    same(g._array, everything[k]._array)


@check(lambda record: differentiable(record) and record.operator is not None)
def needs_input_grad(record: Record) -> None:
    """A rule computes nothing for the arguments whose gradient is not asked for."""
    for call in calls(record, complex_too=False):
        xs = tensors(call.arrays)
        outputs = call.differentiable(xs)
        if len(xs) < 2 or not outputs:
            continue
        node = outputs[0].grad_fn
        if any(r.grad_fn is not node for r in outputs):
            continue
        cotangents = [None if spec is None else np.ones(spec[0], spec[1]) for spec in node._specs]
        edges = [edge for edge in node._edges if edge and edge[0]._number == LEAF_NUMBER]
        for edge in set(edges):
            task = Pass(False, True, [edge])
            task.running = set()
            for other, grad in zip(node._edges, node._pull(list(cotangents), task), strict=True):
                assert other == edge or not other or grad is None, f"{node.name()} computed what nobody asked for"


@check()
def strict(record: Record) -> None:
    """Arrays of another library (array_api_strict) go forward and back through two orders, with the same values."""
    for call in calls(record):
        xs, zs = tensors(call.arrays), [Tensor(array_api_strict.asarray(x), True) for x in call.arrays]
        pairs = list(zip(call(xs, Tensor), call(zs, lambda x: Tensor(array_api_strict.asarray(x))), strict=True))
        for r, s in pairs:
            assert type(s._array) is type(array_api_strict.asarray(0.0))
            close(s._array, r._array)
        outputs, others = with_gradient([r for r, _ in pairs]), with_gradient([s for _, s in pairs])
        assert len(outputs) == len(others)
        if not outputs:
            continue
        weights = seeded(outputs)
        found, expected = others, outputs
        for order in range(1, min(record.order, 2) + 1):
            seeds = [Tensor(array_api_strict.asarray(w)) for w in weights]
            found = pull(found, zs, seeds, create_graph=order < record.order)
            expected = pull(expected, xs, weights, create_graph=order < record.order)
            for f, e in zip(found, expected, strict=True):
                assert type(f._array) is type(seeds[0]._array)
                close(f._array, e._array)
            weights = seeded(expected)


def _cases() -> Iterator[Any]:
    for record in REGISTRY.values():
        for name, (function, applies) in CHECKS.items():
            if applies(record):
                reason = EXCEPTIONS.get((record.name, name))
                marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
                yield pytest.param(record, function, id=f"{record.name}-{name}", marks=marks)


@pytest.mark.parametrize(("record", "function"), list(_cases()))
def test_operator(record: Record, function: Callable[[Record], None]) -> None:
    function(record)


def test_exceptions_name_what_is_tested() -> None:
    """Every exception belongs to an operator and a check that exist, and says why."""
    for (name, kind), reason in EXCEPTIONS.items():
        assert CHECKS[kind][1](REGISTRY[name])
        assert len(reason) > 20


def test_samples_have_something_to_differentiate() -> None:
    """A differentiable operator whose samples hold no floating-point entries would pass every check untested."""
    for record in REGISTRY.values():
        if record.differentiable:
            assert any(call.differentiable(tensors(call.arrays)) for call in full_calls(record)), record.name


def test_elementwise_samples_cover_the_shapes() -> None:
    """Elementwise operators bring a number, a vector, an empty array, and two shapes that broadcast."""
    for record in REGISTRY.values():
        if record.elementwise and record.differentiable:
            shapes = [[x.shape for x in call.arrays] for call in calls(record, complex_too=False)]
            sizes = {shape for sample in shapes for shape in sample}
            assert any(0 in shape for shape in sizes), record.name
            assert any(len(set(sample)) > 1 for sample in shapes) or max(map(len, shapes)) == 1, record.name


# -------------------------------------------------------------------------------------------------------------- torch
#: Operators that torch has under the same name, with the same arguments; not those whose slope is its trigamma function,
#: which has nine digits.
# fmt: off
SAME_IN_TORCH = [
    "abs", "acos", "acosh", "add", "angle", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_or", "bitwise_xor", "ceil", "clip", "copysign", "cos", "cosh", "divide", "exp", "expm1", "floor",
    "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan", "less",
    "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "maximum", "minimum", "multiply", "negative", "nextafter", "not_equal", "positive", "pow",
    "real", "reciprocal", "relu", "remainder", "round", "sigmoid", "sign", "signbit", "sin", "sinh", "sqrt",
    "square", "subtract", "tan", "tanh", "trunc", "where",
    "special.entr", "special.erf", "special.erfc", "special.erfcx", "special.erfinv", "special.i0",
    "special.i0e", "special.i1", "special.i1e", "special.log_ndtr", "special.logit", "special.ndtr", "special.ndtri",
    "special.sinc", "special.xlog1py", "special.xlogy",
]
# fmt: on
OTHER_IN_TORCH = {
    "bitwise_invert": "bitwise_not",
    "bitwise_left_shift": "bitwise_left_shift",
    "bitwise_right_shift": "bitwise_right_shift",
    "conj": "conj_physical",
    "equal": "eq",
}
#: torch has no gradient for these; its complex `sign` is called `sgn`; and it has no real part of a real array.
NOT_IN_TORCH = {"floor_divide", "imag", "real", "round"}


@pytest.mark.torch
@pytest.mark.parametrize("name", [*SAME_IN_TORCH, *OTHER_IN_TORCH])
def test_torch_agrees(name: str) -> None:
    """Value, gradient and second derivative are torch's, on the samples."""
    import torch

    record = REGISTRY[name]
    for call in calls(record):
        is_complex = any(x.dtype.kind == "c" for x in call.arrays)
        if name in NOT_IN_TORCH and is_complex is (name == "round"):
            continue
        if name.startswith("special.") and is_complex:  # torch has them for real numbers
            continue
        function = torch.sgn if name == "sign" else attrgetter(OTHER_IN_TORCH.get(name, name))(torch)
        xs = tensors(call.arrays)
        zs = [torch.tensor(x, requires_grad=True) for x in call.arrays]
        args, options = call.arguments(zs, torch.tensor)
        if name not in {"pow", "clip"}:
            args = [torch.tensor(a) if isinstance(a, float) else a for a in args]
        found, expected = call(xs), as_list(function(*args, **options))
        for order in range(3):
            for f, e in zip(found, expected, strict=True):
                close(array_of(f), e.numpy(force=True))
            if order == 2 or not with_gradient(found) or name == "floor_divide":
                break
            weights = seeded(found)
            found = pull(found, xs, weights, create_graph=True)
            seeds = [torch.tensor(w) for w in weights]
            if not all(e.requires_grad for e in expected):
                expected = [torch.zeros_like(z) for z in zs]
            else:
                expected = torch.autograd.grad(expected, zs, seeds, create_graph=True, materialize_grads=True)
