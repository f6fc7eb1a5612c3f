"""The table of operators: tests, docs and coverage are generated from it.

An operator enters with ``register(name, operator, samples, ...)`` beside its rule.  Samples are written as small
functions of ``make``, which builds an array of a given shape inside the operator's domain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Why an operator has no derivative.
TRUTHS = "the result is true or false"
POSITIONS = "the result is positions: whole numbers"
COUNTS = "the result counts: it depends on no value that could change by small amounts"
MADE = "it makes an array; Tensors that it is given keep their gradients"
INTEGERS = "of whole numbers, which cannot change by small amounts"


@dataclass(frozen=True)
class Sample:
    """One call of an operator: positional arguments (arrays are differentiable unless integer), and options."""

    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)


@dataclass
class Record:
    """What is known about one operator.

    Attributes
    ----------
    name
        The Array API or NumPy name; also the public name in ``pullback``.
    operator
        The `Primitive`; ``None`` for functions composed of others.
    call
        The public function.
    samples
        ``samples(make)`` yields `Sample` s inside the domain, away from special points.
    reference
        The NumPy function that computes the same value.
    dunder
        ``"add"`` for ``__add__``, ``__radd__`` and ``__iadd__``; ``"neg"`` for a unary one.
    methods
        Names under which `call` becomes a method of Tensor.
    order
        The highest order of derivative that is claimed; tested up to 3.
    complex
        Whether complex arguments are supported.
    differentiable
        False for operators without a derivative (comparisons, integer results).
    public
        False for operators that only other operators use.
    elementwise
        Whether the arguments are broadcast together and the result has one entry per entry of them.
    reason
        Why there is no derivative, where there is none.
    observe
        What the derivative tests look at, where the results are unique only up to a sign or an order: a function of
        what `call` returns.
    """

    name: str
    operator: Any
    call: Callable[..., Any]
    samples: Callable[[Make], Iterable[Sample]]
    reference: Callable[..., Any] | None = None
    dunder: str = ""
    methods: tuple[str, ...] = ()
    order: int = 3
    complex: bool = True
    differentiable: bool = True
    public: bool = True
    elementwise: bool = False
    reason: str = ""
    observe: Callable[[Any], Any] | None = None


class Make:
    """Builds sample arrays: short decimals, apart from each other and from 0, the same for the same seed.

    ``make(2, 3)`` has the shape (2, 3) and entries between `low` and `high` (of complex arrays: their real and
    imaginary parts).  Apart, because ties and zeros are special points of many operators, and finite differences need
    room.
    """

    def __init__(self, seed: int = 0, dtype: Any = np.float64, low: float = -2.0, high: float = 2.0) -> None:
        self._rng = np.random.default_rng(seed)
        self.dtype, self.low, self.high = np.dtype(dtype), low, high

    def __call__(self, *shape: int, low: float | None = None, high: float | None = None) -> Any:
        low = self.low if low is None else low
        high = self.high if high is None else high
        values: Any = self._draw(shape, low, high)
        if self.dtype.kind == "c":
            values = values + 1j * self._draw(shape, low, high)
        return np.asarray(values, dtype=self.dtype)

    def integers(self, *shape: int) -> Any:
        """Whole numbers from 1 to 9, never differentiable."""
        return self._rng.integers(1, 10, shape)

    def _draw(self, shape: tuple[int, ...], low: float, high: float) -> Any:
        """One number from each of as many equal intervals as there are entries, shuffled."""
        n = math.prod(shape)
        places = self._rng.permutation(n) + self._rng.uniform(0.25, 0.75, n)
        values = np.round(low + (high - low) * places / max(n, 1), 3)
        values[abs(values) < 0.05] += 0.1
        return values.reshape(shape)


REGISTRY: dict[str, Record] = {}
#: What else becomes an attribute of Tensor: properties, item access, in-place methods.
ATTRIBUTES: dict[str, Any] = {}


def register(name: str, operator: Any, samples: Callable[[Make], Iterable[Sample]], **facts: Any) -> Any:
    """Enter an operator under its name; `facts` are fields of `Record`.  Returns the public function.

    An ``example=(what to type after >>> pb., what is printed)`` goes into the docstring of the function.
    """
    call = facts.pop("call", None) or operator.apply
    if "example" in facts:
        typed, printed = facts.pop("example")
        call.__doc__ = f"{call.__doc__}\nExamples\n--------\n>>> import pullback as pb\n>>> pb.{typed}\n{printed}\n"
    if operator is not None and not operator.__dict__.get("_called"):
        operator._called = name
    REGISTRY[name] = Record(name, operator, call, samples, **facts)
    return call


def samples_of(record: Record, dtype: Any = np.float64, seed: int = 0) -> Iterator[Sample]:
    """The samples of an operator for one dtype."""
    yield from record.samples(Make(seed, dtype))
