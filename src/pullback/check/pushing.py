"""Analytical Jacobians in forward mode: one run of the function per direction, on dual numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.batching import mapped
from pullback.check.differences import directions
from pullback.check.errors import failure
from pullback.check.moving import host, like
from pullback.check.repeat import apart
from pullback.check.subject import Subject
from pullback.check.tolerance import Tolerance
from pullback.core import arrays, tangents
from pullback.core import forward as _forward  # noqa: F401 - operators find it once it is imported
from pullback.core.errors import DerivativeRefused
from pullback.core.tensor import Tensor, wrap


@contextlib.contextmanager
def _level() -> Iterator[None]:
    tangents.enter()
    try:
        yield
    finally:
        tangents.leave()


def push(subject: Subject, moves: dict[int, Any], zeros: bool = True) -> np.ndarray:
    """The tangents of the chosen outputs, as one flat real array.

    Parameters
    ----------
    moves
        NumPy values by the number of the wanted input.
    zeros
        Whether the other wanted inputs move by zeros, or have no tangent at all.
    """
    with _level():
        return _flat(subject, _run(subject, _duals(subject, moves, zeros)))


def _duals(subject: Subject, moves: dict[int, Any], zeros: bool) -> list[Any]:
    """The arguments: wanted inputs without their graph, with a tangent; one that is given twice is one dual number."""
    stand_ins: dict[int, Any] = {}
    for number, (_, x) in enumerate(subject.wanted):
        values = moves.get(number, np.zeros(tuple(x.shape)) if zeros else None)
        plain = wrap(type(x), x._array)
        if id(x) not in stand_ins or number in moves:
            stand_ins[id(x)] = plain if values is None else _dual(plain, values)
    positions = {k for k, _ in subject.wanted}
    return [stand_ins[id(x)] if k in positions else x for k, x in enumerate(subject.inputs)]


def _dual(x: Tensor, values: Any) -> Tensor:
    level = tangents.current_level()
    assert level is not None
    return tangents.make(x, wrap(type(x), like(np.asarray(values), x._array)), level)


def _tangent_of(y: Tensor) -> Any:
    return tangents.tangent_of(y) if tangents.carries(y) else None


def _run(subject: Subject, arguments: list[Any]) -> tuple[Any, ...]:
    try:
        return subject.run(arguments)
    except DerivativeRefused as error:
        raise failure(
            "refused", str(error), *getattr(error, "__notes__", []), node=getattr(error, "node", None)
        ) from error


def _flat(subject: Subject, outputs: tuple[Any, ...]) -> np.ndarray:
    pairs = [(outputs[k], _tangent_of(outputs[k])) for k in subject.chosen]
    return _flat_values([tangents.zeros_like(y) if t is None else _fitted(t, y) for y, t in pairs])


def _fitted(tangent: Tensor, y: Tensor) -> Tensor:
    """A real tangent of a complex output has an imaginary part, of zeros."""
    same = arrays.is_complex(tangent.dtype) or not arrays.is_complex(y.dtype)
    return tangent if same else wrap(type(y), host(tangent._array).astype(complex))


def _flat_values(values: list[Tensor]) -> np.ndarray:
    found = [np.zeros(0)]
    for value in values:
        flat = host(value._array).reshape(-1)
        found += [flat.real, flat.imag] if arrays.is_complex(value.dtype) else [flat.astype(np.float64)]
    return np.concatenate(found)


def jacobians(subject: Subject) -> list[np.ndarray]:
    """Per wanted input a real matrix of shape (directions, numbers of the outputs)."""
    matrices = []
    for number, (_, x) in enumerate(subject.wanted):
        rows = []
        for direction in directions(x):
            for index in np.ndindex(tuple(x.shape)):
                values = np.zeros(tuple(x.shape), complex if direction == 1j else float)
                values[index] = direction
                rows.append(push(subject, {number: values}))
        matrices.append(np.stack(rows) if rows else np.zeros((0, subject.size)))
    return matrices


def _random(subject: Subject, rng: np.random.Generator) -> dict[int, np.ndarray]:
    found = {}
    for number, (_, x) in enumerate(subject.wanted):
        values = rng.standard_normal(tuple(x.shape))
        found[number] = values + 1j * rng.standard_normal(values.shape) if arrays.is_complex(x.dtype) else values
    return found


def _bounds(subject: Subject, values: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    return np.asarray(
        tolerance.atol + tolerance.rtol * np.abs(values) + 64 * subject.unit() * np.abs(values).max(initial=0.0)
    )


def check_linear(subject: Subject, matrices: list[np.ndarray], rng: np.random.Generator, tolerance: Tolerance) -> None:
    """The tangent of several directions at once is the sum of the tangents of each."""
    moves = _random(subject, rng)
    found = push(subject, moves)
    expected = np.zeros(subject.size)
    slack = np.full(subject.size, tolerance.atol)
    for number, (_, x) in enumerate(subject.wanted):
        flat = moves[number].reshape(-1)
        weights = np.concatenate([flat.real, flat.imag]) if arrays.is_complex(x.dtype) else flat
        expected += weights @ matrices[number]
        slack += np.abs(weights) @ (tolerance.atol + tolerance.rtol * np.abs(matrices[number]))
    off = apart(found, expected)
    if np.any(off > slack):
        raise failure(
            "not linear",
            "the tangent in forward mode is not linear: for all inputs moved at once it is not the sum of the tangents for "
            "each of their elements",
            f"Where: the worst element is off by {off.max():.4g}.",
            "Why it matters: a Jacobian-vector product is linear in the vector.",
        )


def check_undefined(subject: Subject, rng: np.random.Generator, tolerance: Tolerance) -> None:
    """An input without a tangent is the same as one that moves by zeros."""
    moves = _random(subject, rng)
    for number, (position, _) in enumerate(subject.wanted):
        others = {k: t for k, t in moves.items() if k != number}
        with_zeros, without = push(subject, others), push(subject, others, zeros=False)
        off = apart(without, with_zeros)
        if np.any(off > _bounds(subject, with_zeros, tolerance)):
            part = next(p for p in subject.parts if np.any(off[p.columns] > 0))
            raise failure(
                "undefined",
                f"Mismatch in tangent values for output with index: {part.output} when input {position} has an undefined tangent "
                "value.",
                f"Where: with zeros in its place the tangent differs by up to {off.max():.4g}.",
                "Write instead: leave ctx.set_materialize_grads alone, so that missing tangents arrive as zeros; or test every "
                "tangent for None before using it.",
                input=position,
                output=part.output,
            )


def check_dtypes(subject: Subject) -> None:
    """Tangents have the dtype of their output."""
    with _level():
        for k, y in enumerate(_run(subject, _duals(subject, {}, True))):
            tangent = _tangent_of(y) if isinstance(y, Tensor) else None
            if tangent is not None and tangent.dtype != y.dtype:
                raise failure("dtype", f"the tangent of output {k} is {tangent.dtype}, the output {y.dtype}", output=k)


def check_batched(subject: Subject, rng: np.random.Generator) -> None:
    """Two tangents at once, inside `vmap`, give what each gives alone."""
    for number, (position, x) in enumerate(subject.wanted):
        moves = [_random(subject, rng)[number] for _ in range(2)]
        alone = np.stack([push(subject, {number: values}) for values in moves])
        both = wrap(type(x), like(np.stack(moves), x._array))
        run = mapped(_pusher(subject, number), 0, 0, "same", None, lambda f, *args: f(*args), True)
        try:
            with _level():
                found = run(both)
        except Exception as error:
            what = f"While computing batched gradients in forward mode, got: {type(error).__name__}: {error}"
            raise failure("batched", what, input=position) from error
        together = np.stack([_flat_values([t[k] for t in found]) for k in range(2)])
        if not np.allclose(together, alone, rtol=np.sqrt(subject.unit()), atol=np.sqrt(subject.unit())):
            raise failure(
                "batched",
                f"tangents of input {position} that are pushed together, by vmap, give another result than one by one",
                "Write instead: a jvp whose operators work entry by entry, or a vmap rule of the Function.",
                input=position,
            )


def _pusher(subject: Subject, number: int) -> Any:
    """The function from a tangent of one wanted input to those of the chosen outputs."""

    def pusher(tangent: Tensor) -> tuple[Any, ...]:
        level = tangents.current_level()
        assert level is not None
        arguments = _duals(subject, {}, True)
        position, x = subject.wanted[number]
        arguments[position] = tangents.make(wrap(type(x), x._array), tangent, level)
        outputs = _run(subject, arguments)
        found = [(outputs[k], _tangent_of(outputs[k])) for k in subject.chosen]
        return tuple([tangents.zeros_like(y.detach()) if t is None else t for y, t in found])

    return pusher
