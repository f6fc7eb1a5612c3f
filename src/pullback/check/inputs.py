"""Where inputs come from: the class, the command line, or a guess from the signature."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np

from pullback.check.probing.specimen import plain
from pullback.check.source import differentiated
from pullback.check.worlds import World


def declared(fn: Any) -> Any:
    """The first of the samples that a class declares: a list, or a function that returns one; None without."""
    samples = getattr(fn, "samples", None)
    if samples is None:
        return None
    found = samples() if callable(samples) else samples
    for sample in found if isinstance(found, (list, tuple)) or hasattr(found, "__next__") else [found]:
        return tuple(sample) if isinstance(sample, (tuple, list)) else (sample,)
    return None


def proposed(fn: Any, seed: int, world: World) -> tuple[Any, ...] | None:
    """Inputs guessed from forward's signature, the first that forward takes; None where none does.

    An argument with a default keeps it. The others are tried as arrays of one shape, as matrices that fit each other, and as
    numbers.
    """
    function = plain(fn, "forward") if isinstance(fn, type) else fn
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if isinstance(fn, type) and plain(fn, "setup_context") is None:
        parameters = parameters[1:]
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        parameters = [p for p in parameters if p.kind != p.VAR_POSITIONAL] or parameters[:1]
    needed = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.KEYWORD_ONLY)]
    call = fn.apply if isinstance(fn, type) and hasattr(fn, "apply") else fn
    rng = np.random.default_rng(seed)
    for guess in _guesses(needed, rng, differentiated(fn)):
        made = [world.tensor(a) if isinstance(a, np.ndarray) else a for a in guess]
        try:
            with np.errstate(all="ignore"):
                world.call(call, made)
        except Exception:
            continue
        return guess
    return None


def _guesses(parameters: list[inspect.Parameter], rng: np.random.Generator, known: frozenset[str]) -> Any:
    count = len(parameters)
    tensors = [p.name in known for p in parameters]
    if any(tensors) and not all(tensors):
        for shape in ((3, 4), (4,), (3, 3)):
            for number in (0.5, 2, None, True):
                yield tuple(
                    _by_annotation(p, rng.uniform(0.3, 1.7, shape)) if t else number
                    for p, t in zip(parameters, tensors, strict=True)
                )

    def arrays(shapes: list[tuple[int, ...]]) -> list[Any]:
        return [_by_annotation(p, rng.uniform(0.3, 1.7, s)) for p, s in zip(parameters, shapes, strict=True)]

    for shapes in (
        [(3, 4)] * count,
        [(3, 3)] * count,
        [(4,)] * count,
        [(3, 4), (4, 3), (3,)][:count],
        [(3, 4), (5, 4), (5,)][:count],
    ):
        if len(shapes) == count:
            yield tuple(arrays(list(shapes)))
    for first in range(count - 1, 0, -1):  # the last ones are numbers
        for number in (0.5, 2, None, True):
            yield (*arrays([(3, 4)] * count)[:first], *[number] * (count - first))
            yield (*arrays([(4,)] * count)[:first], *[number] * (count - first))


def _by_annotation(parameter: inspect.Parameter, array: np.ndarray) -> Any:
    plain_kinds: dict[Any, Any] = {int: 2, "int": 2, float: 0.5, "float": 0.5, bool: True, "bool": True}
    return plain_kinds.get(parameter.annotation, array)


# ------------------------------------------------------------------------------------------------------------ from text
_MAKERS = ("randn", "rand", "ones", "zeros", "arange", "linspace", "eye", "tensor", "array", "randint", "complex_randn")


class BadInputs(ValueError):
    """What is wrong with inputs given as text, in one sentence."""


def parsed(text: str, seed: int) -> tuple[Any, ...]:
    """Inputs written as text: ``"randn(3, 4), [1.0, 2.0], 0.1, None"``.

    Numbers, texts, tuples and so on are taken as they are; lists of numbers become arrays; ``randn(3, 4)`` and its like make
    arrays (randn, rand, ones, zeros, arange, linspace, eye, randint, complex_randn). Nothing else is evaluated.

    >>> [getattr(value, "shape", value) for value in parsed("randn(2, 3), ones(4), 0.5, 'sum'", seed=0)]
    [(2, 3), (4,), 0.5, 'sum']
    """
    try:
        tree = ast.parse(f"({text.strip().rstrip(',')},)", mode="eval").body
    except SyntaxError:
        raise BadInputs(f"the inputs are not Python: {text!r}") from None
    rng = np.random.default_rng(seed)
    return tuple(_value(node, rng) for node in tree.elts)  # type: ignore[attr-defined]


def _value(node: ast.expr, rng: np.random.Generator) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _made(node, rng)
    if isinstance(node, ast.Tuple):
        return tuple(_value(part, rng) for part in node.elts)
    try:
        value = ast.literal_eval(node)
    except ValueError:
        raise BadInputs(
            f"{ast.unparse(node)} is no value; write numbers, lists of numbers, or randn(3, 4) and its like"
        ) from None
    return np.array(value) if isinstance(value, list) else value


def _made(node: ast.Call, rng: np.random.Generator) -> Any:
    name = node.func.id  # type: ignore[attr-defined]
    if name not in _MAKERS or node.keywords:
        raise BadInputs(f"{ast.unparse(node)}: there are {', '.join(_MAKERS)}")
    arguments = [_value(part, rng) for part in node.args]
    try:
        return _make(name, arguments, rng)
    except (TypeError, ValueError, IndexError) as error:
        raise BadInputs(f"{ast.unparse(node)}: {error}") from None


def _make(name: str, arguments: list[Any], rng: np.random.Generator) -> Any:
    if name in {"tensor", "array"}:
        return np.array(arguments[0])
    if name in {"arange", "linspace", "eye"}:
        return np.asarray(getattr(np, name)(*arguments), float)
    if name == "randint":
        return rng.integers(arguments[0], arguments[1], tuple(arguments[2:]))
    shape = (
        tuple(arguments[0])
        if len(arguments) == 1 and isinstance(arguments[0], tuple)
        else tuple(int(a) for a in arguments)
    )
    if name == "complex_randn":
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return {"randn": rng.standard_normal, "rand": rng.random, "ones": np.ones, "zeros": np.zeros}[name](shape)  # type: ignore[operator]
