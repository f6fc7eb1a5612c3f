"""Random Tensors from one generator per process (`manual_seed`), or from a `Generator` of one's own.

The numbers are NumPy's, not torch's: the same seed gives other values there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.batching import numbers_for
from pullback.core.arrays import everything
from pullback.core.batches import LIVE
from pullback.core.errors import lesson
from pullback.ops import inplace
from pullback.torch._dtypes import DTYPES, as_dtype, get_default_dtype
from pullback.torch._export import function, method, sizes_of
from pullback.torch._functions_creation import made

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


class Generator:
    """A source of random numbers with its own state."""

    def __init__(self, device: Any = "cpu") -> None:
        self._numbers = np.random.default_rng()
        self._seed = 0

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`."""
        self._seed = int(seed)
        self._numbers = np.random.default_rng(self._seed % 2**64)
        return self

    def initial_seed(self) -> int:
        """The seed that the numbers started from."""
        return self._seed

    def seed(self) -> int:
        """Start again from a seed that nobody chose."""
        return self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0])).initial_seed()

    def get_state(self) -> Any:
        """The state, for `set_state`."""
        return self._numbers.bit_generator.state

    def set_state(self, state: Any) -> Generator:
        """Go on from where `get_state` was called."""
        self._numbers.bit_generator.state = state
        return self


default_generator = Generator()


@function("manual_seed")
def manual_seed(seed: int) -> Generator:
    """Start the shared generator again from `seed`."""
    return default_generator.manual_seed(seed)


@function("seed")
def seed() -> int:
    """Start the shared generator again from a seed that nobody chose."""
    return default_generator.seed()


@function("initial_seed")
def initial_seed() -> int:
    """The seed of the shared generator."""
    return default_generator.initial_seed()


@function("get_rng_state")
def get_rng_state() -> Any:
    """The state of the shared generator."""
    return default_generator.get_state()


@function("set_rng_state")
def set_rng_state(new_state: Any) -> None:
    """Go on from an earlier state of the shared generator."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **options: Any) -> Iterator[None]:
    """Put the state of the shared generator back at the end of the block."""
    state = default_generator.get_state()
    try:
        yield
    finally:
        if enabled:
            default_generator.set_state(state)


def _numbers(generator: Any, *values: Any) -> Any:
    """NumPy's generator; inside `vmap`, what draws for each entry of the batch.  `values` are what the numbers depend on."""
    numbers = (default_generator if generator is None else generator)._numbers
    return numbers_for(numbers, *values) if LIVE else numbers


def _array(value: Any) -> Any:
    """What was drawn, as an array."""
    return value if hasattr(value, "batch") else np.asarray(value)


def _normal(numbers: Any, shape: Any, dtype: Any) -> Any:
    if dtype.kind == "c":
        return ((numbers.standard_normal(shape) + 1j * numbers.standard_normal(shape)) / np.sqrt(2)).astype(dtype)
    return _array(numbers.standard_normal(shape)).astype(dtype)


def _uniform(numbers: Any, shape: Any, dtype: Any) -> Any:
    if dtype.kind == "c":
        return (numbers.random(shape) + 1j * numbers.random(shape)).astype(dtype)
    # rounding to a shorter dtype must not reach 1
    return np.minimum(_array(numbers.random(shape)).astype(dtype), np.nextafter(dtype.type(1), dtype.type(0)))


def _from(draw: Any, name: str, what: str) -> None:
    def call(
        *size: Any,
        generator: Any = None,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **options: Any,
    ) -> Any:
        shape = sizes_of((options["size"],) if "size" in options else size)
        return made(draw(_numbers(generator), shape, as_dtype(dtype) or get_default_dtype()), requires_grad)

    def like(
        input: Any,
        *,
        generator: Any = None,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **options: Any,
    ) -> Any:
        return made(draw(_numbers(generator), tuple(input.shape), as_dtype(dtype) or input.dtype), requires_grad)

    call.__doc__ = f"{what} of the given shape."
    like.__doc__ = f"{what} in the shape and dtype of another Tensor."
    function(name)(call)
    function(f"{name}_like")(like)


_from(_uniform, "rand", "Uniform numbers in [0, 1)")
_from(_normal, "randn", "Normal numbers of mean 0 and variance 1")


@function("randint")
def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """Integers from `low` (0) to before `high`."""
    if size is None:
        low, high, size = 0, low, high
    values = _numbers(generator).integers(low, high, sizes_of((size,)))
    return made(_array(values).astype(as_dtype(dtype) or DTYPES["int64"]), requires_grad)


@function("randperm")
def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """The integers before `n` in random order."""
    if n < 0:
        raise lesson(RuntimeError, f"n must be non-negative, got {n}")
    return made(_numbers(generator).permutation(n).astype(as_dtype(dtype) or DTYPES["int64"]))


@function("normal")
def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None) -> Any:
    """Normal numbers of the given mean and standard deviation."""
    plain = [_array(v.detach()._array if hasattr(v, "detach") else v) for v in (mean, std)]
    shape = np.broadcast_shapes(*[p.shape for p in plain]) if size is None else sizes_of((size,))
    dtype = as_dtype(dtype) or get_default_dtype()
    return made((plain[0] + plain[1] * _numbers(generator).standard_normal(shape)).astype(dtype))


@function("bernoulli")
def bernoulli(input: Any, p: Any = None, *, generator: Any = None) -> Any:
    """1 with the given probabilities, 0 otherwise."""
    chance = input.detach()._array if p is None else p
    if not ((everything(chance) >= 0) & (everything(chance) <= 1)).all():
        raise lesson(RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true", why="they are probabilities.")
    return made((_numbers(generator).random(tuple(input.shape)) < chance).astype(input.dtype))


@function("multinomial")
def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Indices drawn with the given weights, along the last axis."""
    if hasattr(input._array, "batch"):
        drawn = _numbers(generator, input._array).within(
            lambda w: multinomial(made(w), num_samples, replacement, generator=generator)._array, input._array
        )
        return made(drawn)
    weights = np.atleast_2d(input.detach()._array)
    if not (np.isfinite(weights) & (weights >= 0)).all() or not (weights.sum(axis=-1) > 0).all():
        raise lesson(
            RuntimeError, "probability tensor contains either `inf`, `nan` or element < 0, or nothing but zeros"
        )
    if not replacement and num_samples > weights.shape[-1]:
        raise lesson(RuntimeError, "cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    numbers = _numbers(generator)
    rows = [numbers.choice(len(w), num_samples, replace=replacement, p=w / w.sum()) for w in weights.astype(np.float64)]
    return made(np.stack(rows) if input.ndim > 1 else rows[0])


# ------------------------------------------------------------------------------------------------- in place
def _written(self: Any, values: Any) -> Any:
    return inplace.copy_(self, _array(values).astype(self.dtype))


@method("normal_", plain=True)
def _normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Filled with normal numbers."""
    return _written(self, mean + std * _numbers(generator).standard_normal(tuple(self.shape)))


@method("uniform_", plain=True)
def _uniform_(self: Any, a: float = 0.0, b: float = 1.0, *, generator: Any = None) -> Any:
    """Filled with uniform numbers between `a` and `b`."""
    return _written(self, a + (b - a) * _numbers(generator).random(tuple(self.shape)))


def _drawn(name: str, draw: Any, doc: str) -> None:
    def call(self: Any, *parameters: Any, generator: Any = None, **named: Any) -> Any:
        return _written(self, draw(_numbers(generator), tuple(self.shape), *parameters, **named))

    call.__doc__ = doc
    method(name, plain=True)(call)


def _whole_numbers(numbers: Any, shape: Any, from_: Any = 0, to: Any = None) -> Any:
    return numbers.integers(*((0, from_ or 2**24) if to is None else (from_, to)), shape)


_drawn("random_", _whole_numbers, "Filled with whole numbers from the first (0) to before the last.")
_drawn("exponential_", lambda n, s, lambd=1: n.exponential(1 / lambd, s), "Filled with exponential numbers.")
_drawn("geometric_", lambda n, s, p: n.geometric(p, s), "Filled with geometric numbers.")
_drawn("cauchy_", lambda n, s, median=0, sigma=1: median + sigma * n.standard_cauchy(s), "Filled with Cauchy numbers.")
_drawn(
    "log_normal_",
    lambda n, s, mean=1, std=2: np.exp(mean + std * n.standard_normal(s)),
    "Filled with log-normal numbers.",
)


@function("poisson")
def _poisson(input: Any, generator: Any = None) -> Any:
    """Poisson numbers with these means."""
    return made(_array(_numbers(generator, input._array).poisson(input._array)).astype(input.dtype))


@function("binomial")
def _binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """Binomial numbers with these counts and probabilities."""
    chances = count._array.astype(int), prob._array
    return made(_array(_numbers(generator, *chances).binomial(*chances)).astype(count.dtype))


@method("bernoulli_", plain=True)
def _bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Filled with 1 (with probability `p`) and 0."""
    chance = p.detach()._array if hasattr(p, "detach") else p
    return _written(self, _numbers(generator).random(tuple(self.shape)) < chance)


@method("bernoulli", plain=True)
def _bernoulli(self: Any, p: Any = None, *, generator: Any = None) -> Any:
    """1 with the given probabilities, 0 otherwise."""
    return bernoulli(self, p, generator=generator)


@method("multinomial", plain=True)
def _multinomial(self: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Indices drawn with these weights."""
    return multinomial(self, num_samples, replacement, generator=generator)
