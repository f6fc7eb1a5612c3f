"""The contenders of the chain benchmarks, and one fair way to time them.

A chain is ``y = f(f(...f(x)))``. One run of a contender is a whole round trip: record the chain, pull a seed
back through it, hand out the gradient as a NumPy array. Everybody does the same arithmetic on the same
values, and before anything is timed everybody's gradient is compared with the hand-written one.

Fairness of the times: all contenders run in one process, in turns (A B C A B C ..., starting with another one
in every round), so that a slow moment of the machine meets all of them; ratios are taken within a round, and
medians over the rounds. The garbage collector stays on, as in real programs, but what was imported before
does not count against anybody.
"""

import gc
import importlib
import importlib.metadata
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
HAND = "NumPy by hand"


@dataclass(frozen=True)
class Contender:
    """Somebody who can differentiate a chain: `run` makes the round trip and returns the gradient."""

    name: str
    run: Callable[[], Array]


@dataclass(frozen=True)
class Timing:
    """Seconds of each round, and the ratio to the hand-written code of the same round."""

    name: str
    seconds: list[float]
    ratios: list[float]

    def summary(self) -> dict[str, Any]:
        """Medians, and the quartiles between which half of all ratios lie."""
        ratios = self.ratios * 2 if len(self.ratios) == 1 else self.ratios  # one round: no spread
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        return {
            "contender": self.name,
            "median_seconds": statistics.median(self.seconds),
            "ratio": middle,
            "ratio_quartiles": [low, high],
        }


class MissingLibrary(Exception):
    """A library that would compete cannot be imported here."""


def need(library: str) -> Any:
    """Import a library, or say which one is missing."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise MissingLibrary(f"{library} ({error})") from error


# ---------------------------------------------------------------- sin: an operator that everybody brings along


def sin_by_hand(x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    """What a person would write for this one chain: keep the values, walk them backwards."""

    def run() -> Array:
        value, values = x, []
        for _ in range(nodes):
            values.append(value)
            value = np.sin(value)
        gradient = seed
        for value in reversed(values):
            gradient = gradient * np.cos(value)
        return gradient

    return run


def sin_by_pullback(x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    """The built-in operator of pullback."""
    pb = need("pullback")
    return _pulled_back(pb, pb.sin, x, seed, nodes)


def sin_by_torch(x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    """The built-in operator of PyTorch, in eager mode."""
    torch = need("torch")
    return _pulled_by_torch(torch, torch.sin, x, seed, nodes)


def sin_by_hips(x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    """The wrapped NumPy function of HIPS autograd."""
    need("autograd")
    return _pulled_by_hips(need("autograd.numpy").sin, x, seed, nodes)


# ---------------------------------------------------------------- square: an operator that the user writes


def square_by_hand(x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    """The same by hand for ``x * x``."""

    def run() -> Array:
        value, values = x, []
        for _ in range(nodes):
            values.append(value)
            value = value * value
        gradient = seed
        for value in reversed(values):
            gradient = 2 * value * gradient
        return gradient

    return run


def square_by_primitive(x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    """A `pullback.Primitive`: its rule receives bare arrays."""
    pb = need("pullback")

    class SquareP(pb.Primitive):
        """``x * x``."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    return _pulled_back(pb, SquareP.apply, x, seed, nodes)


def square_by_function(x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    """A `pullback.Function`: its rule receives Tensors, as in PyTorch."""
    pb = need("pullback")

    class Square(pb.Function):
        """``x * x``."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    return _pulled_back(pb, Square.apply, x, seed, nodes)


def square_by_torch(x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    """The same class under `torch.autograd.Function`."""
    torch = need("torch")

    class Square(torch.autograd.Function):
        """``x * x``."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    return _pulled_by_torch(torch, Square.apply, x, seed, nodes)


def square_by_hips(x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    """The same as a `primitive` of HIPS autograd with its `defvjp`."""
    need("autograd")
    extend = need("autograd.extend")
    square = extend.primitive(lambda x: x * x)
    extend.defvjp(square, lambda answer, x: lambda g: 2 * x * g)
    return _pulled_by_hips(square, x, seed, nodes)


# ---------------------------------------------------------------- the round trip in each library


def _pulled_back(pb: Any, operator: Callable[[Any], Any], x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    leaf, start = pb.tensor(x, requires_grad=True), pb.tensor(seed)

    def run() -> Array:
        value = leaf
        for _ in range(nodes):
            value = operator(value)
        leaf.grad = None
        value.backward(gradient=start)
        return leaf.grad.numpy()

    return run


def _pulled_by_torch(
    torch: Any, operator: Callable[[Any], Any], x: Array, seed: Array, nodes: int
) -> Callable[[], Array]:
    leaf, start = torch.tensor(x, requires_grad=True), torch.tensor(seed)

    def run() -> Array:
        value = leaf
        for _ in range(nodes):
            value = operator(value)
        leaf.grad = None
        value.backward(gradient=start)
        return leaf.grad.numpy()

    return run


def _pulled_by_hips(operator: Callable[[Any], Any], x: Array, seed: Array, nodes: int) -> Callable[[], Array]:
    make_vjp = need("autograd").make_vjp

    def chain(value: Any) -> Any:
        for _ in range(nodes):
            value = operator(value)
        return value

    def run() -> Array:
        pull, _ = make_vjp(chain)(x)
        return pull(seed)

    return run


MAKERS: dict[str, dict[str, Callable[[Array, Array, int], Callable[[], Array]]]] = {
    "sin": {
        HAND: sin_by_hand,
        "pullback": sin_by_pullback,
        "torch": sin_by_torch,
        "HIPS autograd": sin_by_hips,
    },
    "square": {
        HAND: square_by_hand,
        "pullback.Primitive": square_by_primitive,
        "pullback.Function": square_by_function,
        "torch Function": square_by_torch,
        "HIPS primitive": square_by_hips,
    },
}
TITLES = {
    "sin": "a built-in operator, sin(x)",
    "square": "an operator written by the user, x * x",
}


def make_data(operator: str, size: int) -> tuple[Array, Array]:
    """A point and a seed. Squares start from 1 and -1, which stay what they are however long the chain is."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1.5, size) if operator == "sin" else rng.choice([-1.0, 1.0], size)
    return x, rng.uniform(0.5, 1.5, size)


def gather(operator: str, size: int, nodes: int, skip: Sequence[str] = ()) -> tuple[list[Contender], list[str]]:
    """All contenders that can run here, and why the others cannot. A wrong gradient ends the program."""
    x, seed = make_data(operator, size)
    contenders, absent = [], []
    for name, make in MAKERS[operator].items():
        if any(word.lower() in name.lower() for word in skip) and name != HAND:
            continue
        try:
            contenders.append(Contender(name, make(x, seed, nodes)))
        except MissingLibrary as error:
            if "pullback" in name:
                raise SystemExit(f"pullback cannot be imported: {error}. Try `make bench`.") from error
            absent.append(f"{name}: cannot import {error}")

    expected = contenders[0].run()
    for contender in contenders:
        if not np.allclose(contender.run(), expected, rtol=1e-12, atol=0):
            raise SystemExit(
                f"{contender.name} computes another gradient than the hand-written code: nothing was timed"
            )
    return contenders, absent


# ---------------------------------------------------------------- timing


def compete(contenders: Sequence[Contender], rounds: int, repeat: int) -> list[Timing]:
    """Time all contenders in turns; the first one is what the others are compared with."""
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for contender in contenders:  # warm: caches, lazy set-up
        for _ in range(3):
            contender.run()
    gc.collect()
    gc.freeze()
    for round_number in range(rounds):
        first = round_number % len(contenders)
        for contender in [*contenders[first:], *contenders[:first]]:
            run = contender.run
            began = time.perf_counter()
            for _ in range(repeat):
                run()
            seconds[contender.name].append((time.perf_counter() - began) / repeat)
    gc.unfreeze()
    base = seconds[contenders[0].name]
    return [
        Timing(name, times, [mine / hand for mine, hand in zip(times, base, strict=True)])
        for name, times in seconds.items()
    ]


# ---------------------------------------------------------------- printing


def environment() -> dict[str, str]:
    """What a reader has to know to compare figures."""
    found = {"python": platform.python_version(), "machine": platform.machine(), "numpy": np.__version__}
    for library in ("torch", "autograd"):
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def show_environment() -> str:
    """The same on one line."""
    return ", ".join(f"{name} {version}" for name, version in environment().items())


def show_seconds(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def show_row(summary: dict[str, Any], *more: str) -> str:
    """One line of a table: name, time, ratio and its quartiles, whatever else there is."""
    low, high = summary["ratio_quartiles"]
    cells = f"  {summary['contender']:<20}{show_seconds(summary['median_seconds']):>10}"
    return (
        f"{cells}{summary['ratio']:>9.2f}   ({low:.2f} to {high:.2f}){''.join(f'{cell:>12}' for cell in more)}".rstrip()
    )
