"""One declaration per operator: its signature, its mathematics, its partial derivatives, its samples."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.ops.families import Refused, introduce, is_operand, nary
from pullback.ops.families.functions import refuse_operand
from pullback.ops.registry import Make, Sample, register
from pullback.ops.samples import Samples
from pullback.ops.special.examples import EXAMPLES
from pullback.ops.special.scipys import evaluate, scipys

#: Why most derivatives in an order or a parameter are not given.
NO_CLOSED_FORM = Refused(
    why="it has no closed form in functions that SciPy computes.",
    instead="x.detach() for a parameter that is only given; to fit one, a Function whose backward takes a finite "
    "difference in it: (f(a + h, x) - f(a - h, x)) / (2 * h).",
)
#: Why there is none in an argument that counts.
WHOLE = Refused(
    why="it takes whole numbers only, so the function jumps between them.",
    instead="a Python integer, an integer array, or n.detach().",
)

_EXAMPLE = """
Examples
--------
>>> import pullback as pb
>>> pb.{}
{}
"""


def special(
    signature: str,
    doc: str,
    samples: Samples,
    complex: bool = False,
    forward: Callable[..., Any] | None = None,
    scipy: Callable[..., Any] | None = None,
    holomorphic: bool = False,
    **partials: Any,
) -> Any:
    """Declare an operator and register it as ``special.<name>``; returns its public function.

    Parameters
    ----------
    signature
        Name, arguments and defaults as in SciPy: ``"jv(v, z)"``, ``"lambertw(z, k=0)"``.
    doc
        The function, its derivatives, and where they are from.
    complex
        Whether the argument may be complex: SciPy has values, and the function is holomorphic.
    forward
        ``forward(xp, *arguments)``, where SciPy is not needed.
    scipy
        The function on NumPy arrays, where it is not the one of `scipy.special` with this name.
    holomorphic
        True also where the arguments are real and the result is complex.
    partials
        The partial derivative for every argument, as functions of some of the arguments and of ``f``, the result.
    """
    name, _, rest = signature.rstrip(")").partition("(")
    arguments, defaults = _parse(rest)
    counts = [partials[argument] is WHOLE for argument in arguments]

    def values(*args: Any) -> Any:
        whole = [_whole(a) if count else a for count, a in zip(counts, args, strict=True)]
        return (scipy or scipys(name))(*whole)

    run = forward or (lambda xp, *args: evaluate(name, values, xp, args))
    for argument in arguments:
        if partials[argument].__class__ is Refused:
            doc += f"\n\nThe derivative in {argument} is refused: {partials[argument].why}"
    refused = [partial.why for partial in partials.values() if partial.__class__ is Refused]
    operator = nary(name, run, {a: partials[a] for a in arguments}, doc, holomorphic=complex or holomorphic)
    call = _function(operator, name, arguments, defaults)
    return register(
        f"special.{name}",
        operator,
        samples,
        call=call,
        reference=lambda *args: evaluate(name, values, np, args),
        complex=complex,
        public=False,
        elementwise=True,
        differentiable=len(refused) < len(partials),
        reason="; ".join(dict.fromkeys(refused)).rstrip(".") if len(refused) == len(partials) else "",
    )


def _parse(signature: str) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The names of the arguments, and the defaults of the last ones: ``"z, k=0"`` is ``("z", "k")`` and ``(0,)``."""
    parts = [part.partition("=") for part in signature.split(", ")]
    return tuple([name for name, _, _ in parts]), tuple([ast.literal_eval(text) for _, _, text in parts if text])


def _function(operator: Any, name: str, arguments: tuple[str, ...], defaults: tuple[Any, ...]) -> Any:
    """The public function, with signature and docstring."""
    apply = operator.apply

    def function(*values: Any) -> Any:
        missing = len(arguments) - len(values)
        if not 0 <= missing <= len(defaults):
            raise TypeError(f"{name}() takes {len(arguments)} arguments, but {len(values)} were given")
        for value in values:
            if not is_operand(value) and value is not None:
                refuse_operand(name, value)
        return apply(*values, *defaults[len(defaults) - missing :])

    introduce(function, name, operator, *arguments)
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            p if k < len(arguments) - len(defaults) else p.replace(default=defaults[k - len(arguments)])
            for k, p in enumerate(inspect.signature(function).parameters.values())
        ]
    )
    if name in EXAMPLES:
        function.__doc__ = f"{function.__doc__}{_EXAMPLE.format(*EXAMPLES[name])}"
    return function


def _whole(n: Any) -> Any:
    """Whole numbers as integers, for which SciPy has better methods; in a rule they are floating-point numbers."""
    n = np.asarray(n)
    return n.astype(np.int64) if n.dtype.kind == "f" and np.all(n == np.rint(n)) else n


def last(parameters: Sequence[tuple[Any, ...]], low: float, high: float) -> Samples:
    """Samples of the last argument between `low` and `high`; those before it are plain numbers, or an integer array."""

    def samples(make: Make) -> Iterable[Sample]:
        for numbers in parameters:
            yield Sample((*numbers, make(2, low=low, high=high)))
        numbers = parameters[0]
        yield Sample((*numbers, make(low=low, high=high)))
        yield Sample((*numbers, make(2, 0)))
        whole = [p for p in parameters if isinstance(p[0], int)]
        if len(whole) > 1:
            orders = np.asarray([[whole[0][0]], [whole[1][0]]])
            yield Sample((orders, *whole[0][1:], make(3, low=low, high=high)))

    return samples
