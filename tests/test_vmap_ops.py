"""Every operator of the registry under `vmap`: equal to the loop, in value, both modes and second order, in one pass.

Each check is a function of one call.  Exceptions are data: one that holds after all fails.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from every_operator import REGISTRY
from numeric import Call, bare, directions_like, inner, pull, size_of, tensors, with_gradient
from pullback.autograd.forward_ad import dual_level, make_dual, unpack_dual
from pullback.batching import looping, mapped
from pullback.core.tensor import Tensor
from pullback.ops.registry import Record, samples_of

SIZE = 3
CHECKS: dict[str, Callable[[Many], None]] = {}


class Many:
    """One sample of an operator, with `SIZE` sets of arrays."""

    def __init__(self, record: Record, calls: list[Call]) -> None:
        self.record = record
        self.call = calls[0]
        self.sets = [call.arrays for call in calls]
        self.stacked = [np.stack(column) for column in zip(*self.sets, strict=True)]
        self.rng = np.random.default_rng(5)

    def __call__(self, *values: Any) -> Any:
        return self.call(values)

    @property
    def dims(self) -> list[tuple[Any, ...]]:
        """Which arguments differ between the entries: all; and each on its own."""
        count = len(self.stacked)
        one = [tuple([0 if j == k else None for j in range(count)]) for k in range(count)] if count > 1 else []
        return [(0,) * count, *one]

    def values(self, dims: tuple[Any, ...]) -> list[Any]:
        """The arguments of the mapped function."""
        return [s if d == 0 else self.sets[0][j] for j, (s, d) in enumerate(zip(self.stacked, dims, strict=True))]

    def entries(self, dims: tuple[Any, ...]) -> Iterator[list[Any]]:
        """The arguments of each entry."""
        for k in range(SIZE):
            yield [self.sets[k if d == 0 else 0][j] for j, d in enumerate(dims)]


def manys(record: Record, complex_too: bool = True) -> Iterator[Many]:
    dtypes = [np.float64] + ([np.complex128] if record.complex and complex_too else [])
    for dtype in dtypes:
        columns = [list(samples_of(record, dtype, seed)) for seed in range(SIZE)]
        for samples in zip(*columns, strict=True):
            calls = [Call(record, sample) for sample in samples]
            if calls[0].arrays and len({tuple(x.shape for x in c.arrays) for c in calls}) == 1:
                yield Many(record, calls)


def vmap(f: Any, dims: Any) -> Any:
    return mapped(f, dims, 0, "error", None, lambda f, *args: f(*args), True)


def check(function: Any) -> Any:
    CHECKS[function.__name__] = function
    return function


def close(found: Any, expected: Any, tolerance: float = 1e-9) -> None:
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        f, e = np.asarray(f), np.asarray(e)
        assert f.shape == e.shape
        assert f.dtype == e.dtype
        np.testing.assert_allclose(f, e, rtol=tolerance, atol=tolerance)


def stack(rows: Any) -> list[Any]:
    return [np.stack([np.asarray(x) for x in column]) for column in zip(*rows, strict=True)]


@check
def value(many: Many) -> None:
    """vmap(f) is the loop, whichever arguments differ."""
    for dims in many.dims:
        found = bare(vmap(many, dims)(*tensors(many.values(dims), False)))
        close(found, stack([bare(many(*tensors(xs, False))) for xs in many.entries(dims)]))


def live(outputs: Any) -> list[int]:
    return [k for k, y in enumerate(outputs) if isinstance(y, Tensor) and y.requires_grad]


@check
def reverse(many: Many) -> None:
    """A gradient through vmap is the one through the loop; shared arguments get the sum."""
    for dims in many.dims:
        xs = tensors(many.values(dims))
        outputs = vmap(many, dims)(*xs)
        expected_outputs = [many(*es) for es in map(tensors, many.entries(dims))]
        alive = live(expected_outputs[0])
        assert live(outputs) == alive
        if not alive:
            continue
        weights = directions_like(bare([outputs[k] for k in alive]), many.rng)
        found = bare(pull([outputs[k] for k in alive], xs, weights))
        rows = []
        for j, entry in enumerate(many.entries(dims)):
            es = tensors(entry)
            ys = many(*es)
            rows.append(bare(pull([ys[k] for k in alive], es, [w[j] for w in weights])))
        expected = [s if d == 0 else s.sum(0) for s, d in zip(stack(rows), dims, strict=True)]
        close(found, expected)


def vjp_of(many: Many, count: int) -> Any:
    def pulled(*values: Any) -> Any:
        xs, weights = values[:-count], values[-count:]
        points = [x.clone() if x.requires_grad else x.detach().requires_grad_() for x in xs]
        outputs = with_gradient(many(*points))
        connected = any(x.requires_grad for x in xs)
        return pull(outputs, points, weights, create_graph=connected)

    return pulled


@check
def vmap_of_vjp(many: Many) -> None:
    """The gradient within vmap is that of each entry, of shared arguments too."""
    for dims in many.dims:
        outputs = [with_gradient(many(*tensors(es))) for es in many.entries(dims)]
        if not outputs[0]:
            return
        weights = [directions_like(bare(ys), many.rng) for ys in outputs]
        f = vjp_of(many, len(outputs[0]))
        found = vmap(f, (*dims, *[0] * len(outputs[0])))(
            *tensors(many.values(dims), False), *tensors(stack(weights), False)
        )
        rows = [
            bare(f(*tensors(es, False), *tensors(ws, False)))
            for es, ws in zip(many.entries(dims), weights, strict=True)
        ]
        close(bare(found), stack(rows))


@check
def second_order(many: Many) -> None:
    """The gradient of vmap of a gradient is that of the loop."""
    if many.record.order < 2:
        return
    dims = many.dims[0]
    outputs = [with_gradient(many(*tensors(es))) for es in many.entries(dims)]
    if not outputs[0]:
        return
    weights = [directions_like(bare(ys), many.rng) for ys in outputs]
    f = vjp_of(many, len(outputs[0]))
    for shared in (False, True):
        dims = many.dims[-1 if shared else 0]
        xs = tensors(many.values(dims))
        ws = stack(weights)
        found = vmap(f, (*dims, *[0] * len(outputs[0])))(*xs, *tensors(ws, False))
        seeds = [np.ones_like(y) for y in bare(found)]
        found = bare(pull(found, xs, seeds))
        rows = []
        for entry, w in zip(many.entries(dims), weights, strict=True):
            es = tensors(entry)
            ys = f(*es, *tensors(w, False))
            rows.append(bare(pull(ys, es, [np.ones_like(y) for y in bare(ys)])))
        close(found, [s if d == 0 else s.sum(0) for s, d in zip(stack(rows), dims, strict=True)], 1e-7)


def pushed(f: Any, xs: Any, vs: Any) -> list[Any]:
    with dual_level():
        outputs = f(*[make_dual(x, v) for x, v in zip(xs, vs, strict=True)])
        found = [unpack_dual(y) for y in outputs]
        return [
            Tensor(np.zeros_like(p.primal._array)) if p.tangent is None else Tensor(p.tangent._array)
            for p in found
            if p.primal.dtype.kind in "fc"
        ]


@check
def forward(many: Many) -> None:
    """Tangents through vmap, and within it, are those of the loop; and ⟨Jv, w⟩ = ⟨v, Jᵀw⟩ across the modes."""
    dims = many.dims[0]
    entries = list(many.entries(dims))
    if not with_gradient(many(*tensors(entries[0]))):
        return
    vs = directions_like(many.stacked, many.rng)
    xs = tensors(many.stacked, False)
    expected = stack(
        [bare(pushed(many, tensors(es, False), tensors([v[k] for v in vs], False))) for k, es in enumerate(entries)]
    )
    found = bare(pushed(vmap(many, dims), xs, tensors(vs, False)))
    close(found, expected)
    count = len(dims)

    def within(*values: Any) -> Any:
        with dual_level():
            outputs = many(*[make_dual(x, v) for x, v in zip(values[:count], values[count:], strict=True)])
            return [unpack_dual(y).tangent for y in outputs if unpack_dual(y).tangent is not None]

    inside = vmap(within, dims * 2)(*xs, *tensors(vs, False))
    close(bare(inside), [e for e in expected if e.any()] if len(inside) < len(expected) else expected)
    ys = vmap(many, dims)(*(zs := tensors(many.stacked)))
    alive = live(ys)
    ws = directions_like(bare([ys[k] for k in alive]), many.rng)
    back = bare(pull([ys[k] for k in alive], zs, ws))
    inexact = [k for k, y in enumerate(ys) if y.dtype.kind in "fc"]
    ahead = [found[inexact.index(k)] for k in alive]
    assert abs(inner(ahead, ws) - inner(vs, back)) <= 1e-8 * size_of(ahead, ws)


@check
def nested(many: Many) -> None:
    """vmap of vmap is the loop of loops."""
    dims = many.dims[0]
    values = [np.stack([s, s[::-1]]) for s in many.stacked]
    found = bare(vmap(lambda *xs: vmap(many, dims)(*xs), dims)(*tensors(values, False)))
    rows = [bare(vmap(many, dims)(*tensors([v[k] for v in values], False))) for k in range(2)]
    close(found, stack(rows))


#: (operator, check) -> why it does not hold.
EXCEPTIONS: dict[tuple[str, str], str] = {}
#: Operators that run entry by entry, and why.
LOOPS: dict[str, str] = dict.fromkeys(
    ("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    "the shape of the result depends on the numbers, which here happen to give one shape",
)


def run(name: str, most: int | None, complex_too: bool) -> None:
    """All checks on so many samples of an operator."""
    looping.LOOPED.clear()
    for many in itertools.islice(manys(REGISTRY[name], complex_too), most):
        for title, function in CHECKS.items():
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore", RuntimeWarning)
                if (name, title) not in EXCEPTIONS:
                    function(many)
                    continue
                with pytest.raises(Exception):  # noqa: B017, PT011 - whatever the reason says
                    function(many)
    assert bool(looping.LOOPED) is (name in LOOPS), looping.LOOPED


@pytest.mark.parametrize("name", REGISTRY)
def test_vmap_agrees_with_the_loop(name: str) -> None:
    run(name, 2, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", REGISTRY)
def test_vmap_agrees_with_the_loop_on_every_sample(name: str) -> None:
    run(name, None, True)


def test_the_page_names_the_operators_that_run_entry_by_entry() -> None:
    page = (Path(__file__).parent.parent / "docs" / "vmap.md").read_text()
    listed = page.partition("run once per example:")[2].partition(".")[0]
    assert [name.strip("` \n") for name in listed.split(",")] == sorted(LOOPS)
