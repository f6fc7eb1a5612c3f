"""What is examined: a function, its inputs as NumPy arrays, and the world that it runs in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pullback.check.worlds import Call, World

#: More numbers than this are not moved one by one.
MANY = 2000


@dataclass
class Specimen:
    """A function under examination.

    Attributes
    ----------
    target
        What was named: a Function class, or a callable.
    function
        What is called: ``target.apply``, or the callable.
    arguments
        Its arguments: NumPy arrays where it takes Tensors, anything else as it is.
    wanted
        Positions of the arguments that are differentiated.
    order
        How many orders are asked for.
    """

    target: Any
    function: Callable[..., Any]
    world: World
    arguments: tuple[Any, ...]
    wanted: tuple[int, ...] = ()
    order: int = 2
    seed: int = 0
    name: str = ""
    argument_names: tuple[str, ...] = ()
    once: bool = False
    copies: bool = False  # the arguments are given as copies, because forward writes into them
    level: int = 1  # of the derivative that this function is itself: 2 for a gradient's
    findings: Sequence[Any] = ()  # what `pullback lint` says about the class

    # ---------------------------------------------------------------------------------------------------- inputs
    @property
    def rng(self) -> np.random.Generator:
        """Random numbers that are the same in every run."""
        return np.random.default_rng(self.seed)

    def make(self, arguments: Sequence[Any] | None = None, wanted: Sequence[int] | None = None) -> list[Any]:
        """The library's own values for the arguments; those at `wanted` require gradients."""
        given = self.arguments if arguments is None else arguments
        needed = self.wanted if wanted is None else wanted
        return [self.world.tensor(a, k in needed) if isinstance(a, np.ndarray) else a for k, a in enumerate(given)]

    def moved(self, position: int, value: np.ndarray) -> list[Any]:
        """The arguments with another array at one position."""
        changed = list(self.arguments)
        changed[position] = value
        return changed

    def with_arguments(self, arguments: Sequence[Any]) -> Specimen:
        """The same function at another point."""
        return replace(self, arguments=tuple(arguments))

    def argument_name(self, position: int) -> str:
        """What forward calls an argument."""
        return self.argument_names[position] if position < len(self.argument_names) else f"argument {position}"

    def place(self, position: int, element: int) -> str:
        """What a person calls one number of an argument: ``x[0, 2]``; the number counts in the flat array."""
        base = self.arguments[position]
        index = np.unravel_index(element % max(1, base.size), base.shape) if base.shape else ()
        return f"{self.argument_name(position)}{[int(i) for i in index] if index else ''}"

    def shown(self, arguments: Sequence[Any] | None = None) -> str:
        """The arguments as a person would write them."""
        return ", ".join(shown(a) for a in (self.arguments if arguments is None else arguments))

    # ----------------------------------------------------------------------------------------------------- calls
    def run(self, arguments: Sequence[Any] | None = None, wanted: Sequence[int] | None = None) -> Call:
        """Call it so that it can be pulled back."""
        chosen = self.wanted if wanted is None else tuple(wanted)
        self.world.seed(self.seed)
        return self.world.vjp(self.function, self.make(arguments, chosen), chosen)

    def calling(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """How a function is called: with copies of its arguments, if it writes into them."""
        if not self.copies:
            return function

        def on_copies(*arguments: Any) -> Any:
            return function(*[a * 1 if k in self.wanted else a for k, a in enumerate(arguments)])

        return on_copies

    @cached_property
    def first(self) -> Call:
        """The first call, at the point itself."""
        return self.run()

    def values(self, arguments: Sequence[Any] | None = None) -> np.ndarray:
        """The differentiable outputs as one flat real array, computed as if nothing were differentiated."""
        taken = self.first.differentiable
        self.world.seed(self.seed)
        outputs = self.world.call(self.function, self.make(arguments, ())).outputs
        return flat([outputs[k] for k in taken])

    @property
    def outputs(self) -> list[np.ndarray]:
        """The differentiable outputs."""
        return [y for k, y in enumerate(self.first.outputs) if k in self.first.differentiable and y is not None]

    def cotangents(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random cotangents for the differentiable outputs."""
        return [random_like(y, rng) for y in self.outputs]

    # ---------------------------------------------------------------------------------------------------- higher
    def derivative(self, rng: np.random.Generator) -> Specimen:
        """The function that maps arguments and cotangents to gradients, as a specimen of its own."""
        taken = tuple(self.first.differentiable)
        count = len(self.arguments)
        cotangents = self.cotangents(rng)
        function = self.world.derivative(self.function, self.wanted, taken, count)
        return replace(
            self,
            function=function,
            arguments=(*self.arguments, *cotangents),
            wanted=(*self.wanted, *range(count, count + len(cotangents))),
            argument_names=(*self._names(), *(f"incoming gradient {k}" for k in taken)),
            level=self.level + 1,
        )

    def _names(self) -> tuple[str, ...]:
        return tuple(self.argument_name(k) for k in range(len(self.arguments)))

    # ---------------------------------------------------------------------------------------------------- source
    def rule(self, name: str) -> Any:
        """A method of the class as the plain function that was written; None where there is none."""
        return plain(self.target, name) if isinstance(self.target, type) else None

    def line_of(self, name: str) -> str:
        """``file:line`` of a method, or of the callable."""
        function = self.rule(name) or (self.target if not isinstance(self.target, type) else None)
        code = getattr(inspect.unwrap(function), "__code__", None) if function is not None else None
        return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""


def plain(cls: type, name: str) -> Any:
    """The function that a class or its bases define under a name, without the wrapper of a static or class method."""
    for base in cls.__mro__:
        found = base.__dict__.get(name)
        if found is not None:
            if base.__module__.startswith(("torch.autograd", "pullback.core")):
                return None  # the default of the library
            return getattr(found, "__func__", found)
    return None


def flat(arrays: Sequence[np.ndarray | None]) -> np.ndarray:
    """Several arrays as one flat array of float64; real parts first, then imaginary ones, of each."""
    parts = [part for array in arrays if array is not None for part in real_parts(array)]
    return np.concatenate(parts) if parts else np.zeros(0)


def real_parts(array: np.ndarray) -> list[np.ndarray]:
    """One or two flat real arrays."""
    if array.dtype.kind == "c":
        return [np.asarray(array.real, np.float64).reshape(-1), np.asarray(array.imag, np.float64).reshape(-1)]
    return [np.asarray(array, np.float64).reshape(-1)]


def random_like(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random numbers of an array's shape and dtype, none of them close to zero."""
    found = rng.uniform(0.5, 1.5, array.shape) * rng.choice([-1.0, 1.0], array.shape)
    if array.dtype.kind == "c":
        found = found + 1j * rng.uniform(-1.0, 1.0, array.shape)
    return np.asarray(found, array.dtype)


def shown(value: Any) -> str:
    """A value as a person would write it, short."""
    if isinstance(value, np.ndarray):
        if value.size <= 12:
            text = np.array2string(value, precision=6, separator=", ", suppress_small=True).replace("\n", " ")
            return text if value.dtype in (np.float64, np.int64) else f"{text} ({value.dtype})"
        return f"array of shape {value.shape}, {value.dtype}"
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."
