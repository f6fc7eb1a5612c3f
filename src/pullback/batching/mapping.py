"""``vmap``: a function for every entry of a batch at once."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.batching import batched
from pullback.batching.batched import Batch
from pullback.batching.crossing import enter, leave
from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor, wrap
from pullback.core.trees import is_branch, map_tree


@contextmanager
def opened(batch: Batch) -> Iterator[Batch]:
    """While the function that is mapped over the batch runs."""
    token = batched.opened.set((*batched.opened.get(), batch))
    try:
        yield batch
    finally:
        batched.opened.reset(token)


# --------------------------------------------------------------------------------------------------------- structures
def spread_dims(dims: Any, tree: Any, what: str, full: Any) -> Any:
    """A number (or ``None``) for each leaf of `tree`, where `dims` may say one for a whole branch."""
    if (isinstance(dims, int) and not isinstance(dims, bool)) or dims is None:
        return map_tree(lambda leaf: dims, tree)
    alike = (
        is_branch(dims)
        and is_branch(tree)
        and len(dims) == len(tree)
        and isinstance(dims, dict) == isinstance(tree, dict)
    )
    if not alike:
        raise lesson(
            ValueError,
            f"{what}={full!r} is not compatible with the structure of what it belongs to",
            why="there is one axis for each argument, or for each array in it.",
            instead="an integer or None for each, in the same tuples, lists and dicts.",
        )
    if isinstance(tree, dict):
        return {key: spread_dims(dims[key], branch, what, full) for key, branch in tree.items()}
    found = [spread_dims(d, branch, what, full) for d, branch in zip(dims, tree, strict=True)]
    return type(tree)(*found) if hasattr(tree, "_fields") else type(tree)(found)


# --------------------------------------------------------------------------------------------------------- the mapping
def mapped(
    func: Callable[..., Any],
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    chunk_size: int | None,
    call: Callable[..., Any],
    only_tensors: bool,
) -> Callable[..., Any]:
    """The vectorised function; `call` calls `func`, and `only_tensors` refuses other results, as torch does."""
    if randomness not in ("error", "different", "same"):
        raise lesson(
            RuntimeError,
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}",
        )
    if chunk_size is not None and chunk_size <= 0:
        raise lesson(ValueError, f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        dims = _checked_dims(func, in_dims, args)
        size = _size(func, dims, args)
        if chunk_size is None or chunk_size >= size:
            return _run(func, args, kwargs, dims, out_dims, Batch(size, randomness), call, only_tensors)
        found = []
        for start in range(0, size, chunk_size):
            stop = min(start + chunk_size, size)
            chunk = map_tree(lambda x, d: x if d is None else _slice(x, d, start, stop), args, dims)  # noqa: B023 - used at once
            batch = Batch(stop - start, randomness)
            found.append(_run(func, chunk, kwargs, dims, out_dims, batch, call, only_tensors))
        return _joined(found, out_dims)

    return transformed


def _checked_dims(func: Any, in_dims: Any, args: Any) -> Any:
    name = getattr(func, "__name__", type(func).__name__)
    if not isinstance(in_dims, (int, tuple, list)) or isinstance(in_dims, bool):
        raise lesson(
            ValueError,
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}.",
        )
    if not args:
        raise lesson(
            ValueError,
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs.",
        )
    dims = spread_dims(tuple(in_dims) if isinstance(in_dims, list) else in_dims, args, "in_dims", in_dims)

    def checked(x: Any, d: Any) -> Any:
        if d is None:
            return None
        if not _is_array(x):
            raise lesson(
                ValueError,
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={d} for an input but the input is of type "
                f"{type(x)}. We cannot vmap over non-Tensor arguments, please use None as the respective in_dim",
            )
        if not isinstance(d, int) or isinstance(d, bool) or not -len(x.shape) <= d < len(x.shape):
            raise lesson(
                ValueError,
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={d} for some input, but that input is a Tensor of "
                f"dimensionality {len(x.shape)} so expected in_dim to satisfy -{len(x.shape)} <= in_dim < {len(x.shape)}.",
            )
        return d % len(x.shape)

    return map_tree(checked, args, dims)


def _is_array(x: Any) -> bool:
    return isinstance(x, Tensor) or arrays.is_array(x)


def _size(func: Any, dims: Any, args: Any) -> int:
    sizes: list[int] = []
    map_tree(lambda x, d: None if d is None else sizes.append(x.shape[d]), args, dims)
    if len(set(sizes)) == 1:
        return sizes[0]
    if not sizes:
        raise lesson(
            ValueError,
            "vmap: at least one input must have a batch axis, but every in_dim is None",
            instead="in_dims=0.",
        )
    raise lesson(
        ValueError,
        f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension",
        instead="in_dims=None for arguments without a batch axis.",
    )


def _slice(x: Any, axis: int, start: int, stop: int) -> Any:
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _run(
    func: Any, args: Any, kwargs: Any, dims: Any, out_dims: Any, batch: Batch, call: Any, only_tensors: bool
) -> Any:
    inside = map_tree(lambda x, d: x if d is None else enter(_as_tensor(x), batch, d), args, dims)
    with opened(batch):
        result = call(func, *inside, **kwargs)
    places = _out_places(result, out_dims)
    return map_tree(lambda y, d: _outside(func, y, d, batch, only_tensors), result, places)


def _as_tensor(x: Any) -> Any:
    return x if isinstance(x, Tensor) else wrap(Tensor, np.asarray(x) if isinstance(x, np.generic) else x)


def _out_places(result: Any, out_dims: Any) -> Any:
    if isinstance(out_dims, (tuple, list)) and len(out_dims) == 1 and not is_branch(result):
        out_dims = out_dims[0]
    return spread_dims(out_dims, result, "out_dims", out_dims)


def _outside(func: Any, y: Any, axis: Any, batch: Batch, only_tensors: bool) -> Any:
    if not isinstance(y, Tensor):
        if only_tensors or not (_is_array(y) or isinstance(y, (int, float, complex))):
            name = getattr(func, "__name__", type(func).__name__)
            raise lesson(
                ValueError,
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(y)}. Did you mean to set out_dims= to "
                "None for output?",
            )
        y = wrap(Tensor, np.asarray(y) if not hasattr(y, "shape") or isinstance(y, np.generic) else y)
    if axis is None:
        if batch in batched.batches(y._array):
            raise lesson(
                ValueError,
                "vmap: a result depends on the batch, and cannot be returned with out_dim None",
                instead="an axis for it in out_dims.",
            )
        return y
    ndim = len(y.shape) + 1
    if not -ndim <= axis < ndim:
        raise lesson(
            IndexError, f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}], but got {axis})"
        )
    return leave(y, batch, axis % ndim)


def _joined(found: list[Any], out_dims: Any) -> Any:
    """The results of all chunks, one after the other."""
    places = _out_places(found[0], out_dims)

    def join(first: Any, axis: Any, *others: Any) -> Any:
        return first if axis is None else Recorded.xp.concat([first, *others], axis=axis)

    return map_tree(join, found[0], places, *found[1:])


# ------------------------------------------------------------------------------------------------- batched cotangents
def pull_batch(pull: Callable[[list[Any]], Any], seeds: list[Any], size: int) -> tuple[Any, ...]:
    """Derivatives for a batch of cotangents along their first axes, from one pass: ``pull(seeds)``."""
    batch = Batch(size, "same")
    inside = [enter(seed, batch, 0) for seed in seeds]
    with opened(batch):
        found = pull(inside)
    return tuple([None if g is None else leave(g, batch, 0) for g in found])


def pull_entries(y: Tensor, pull: Callable[[Tensor], Any], size: int | None = None) -> list[Any]:
    """The derivatives of all entries of a Tensor along a first axis: `size` of them in one pass, ``pull(entry)``.

    Each entry is *read*, so that a cotangent is structurally zero for the others (see `pullback.core.masked`).
    """
    n = math.prod(y.shape)
    flat = Recorded.xp.reshape(y, (n,))
    chunks = []
    for start in range(0, n, size or max(n, 1)):
        numbers = np.arange(start, min(start + (size or n), n))
        batch = Batch(len(numbers), "same")
        with opened(batch):
            found = pull(flat[batched.enter(numbers, batch, 0)])
        chunks.append([None if g is None else leave(g, batch, 0) for g in found])
    if len(chunks) == 1:
        return chunks[0]
    return [None if column[0] is None else Recorded.xp.concat(list(column)) for column in zip(*chunks, strict=True)]


def push_entries(x: Tensor, push: Callable[[Tensor], Any]) -> list[Any]:
    """The tangents along a last axis, where each element of a Tensor moves on its own: ``push(direction)``."""
    n = math.prod(x.shape)
    batch = Batch(n, "same")
    basis = np.eye(n, dtype=x.dtype).reshape((n, *x.shape))
    xp = arrays.namespace(arrays.behind(x._array))
    with opened(batch):
        found = push(wrap(type(x), batched.enter(xp.asarray(basis), batch, 0)))
    return [leave(t, batch, len(t.shape)) for t in found]
