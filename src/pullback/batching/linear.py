"""Batching rules of linear algebra and Fourier transforms: the libraries work on stacks already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.batching import products, shapes
from pullback.batching.batched import Batched, batch_of, namespace_for, padded, within
from pullback.batching.elementwise import again
from pullback.batching.reductions import behind, flat, of_value

#: Functions of the last two axes of one array.
ON_MATRICES = [
    "det",
    "inv",
    "pinv",
    "cholesky",
    "eigh",
    "eigvalsh",
    "eig",
    "eigvals",
    "qr",
    "svd",
    "svdvals",
    "slogdet",
    "matrix_rank",
    "matrix_power",
    "matrix_norm",
    "matrix_transpose",
    "cond",
]


def _in(space: str, name: str) -> Callable[..., Any]:
    """The function of that name in ``linalg`` or ``fft`` of the namespace of whatever it is applied to."""

    def function(x: Any, *args: Any, **options: Any) -> Any:
        return getattr(getattr(namespace_for((x,)), space), name)(x, *args, **options)

    return function


def _on_matrices(name: str) -> Callable[..., Any]:
    run = _in("linalg", name)

    def rule(x: Any, /, *args: Any, **options: Any) -> Any:
        if x.__class__ is not Batched:
            return run(x, *args, **options)
        if x.ndim < 2:
            raise ValueError(f"{name} needs at least two axes, but the shape is {x.shape}")
        return again(run(x.value, *args, **options), x.batch)

    return rule


def solve(a: Any, b: Any, /) -> Any:
    """Linear systems; one axis on the right is one vector."""
    batch = batch_of((a, b))
    if batch is None:
        return namespace_for((a, b)).linalg.solve(a, b)
    values = within(a, batch), within(b, batch)
    xp = namespace_for(values)
    if len(b.shape) == 1:
        matrix, vector = values[0], xp.expand_dims(values[1], axis=-1)
        vector = padded(vector, len(a.shape))
        return again(xp.linalg.solve(matrix, vector)[..., 0], batch)
    ndim = max(len(a.shape), len(b.shape))
    return again(xp.linalg.solve(padded(values[0], ndim), padded(values[1], ndim)), batch)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """Norms of vectors: of all entries in C order, or along some axes."""
    run = _in("linalg", "vector_norm")
    if x.__class__ is not Batched:
        return run(x, axis=axis, keepdims=keepdims, **options)
    if axis is None:
        found = of_value(flat(x), run, axis=1, **options)
        return shapes.reshape(found, (1,) * x.ndim) if keepdims else found
    return of_value(x, run, axis=behind(axis, x.ndim), keepdims=keepdims, **options)


def norm(x: Any, /, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """NumPy's norm of vectors and matrices."""
    run = _in("linalg", "norm")
    if x.__class__ is not Batched:
        return run(x, ord=ord, axis=axis, keepdims=keepdims)
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    place = behind(axis, x.ndim)
    place = place[0] if isinstance(place, tuple) and len(place) == 1 else place
    return of_value(x, run, ord=ord, axis=place, keepdims=keepdims)


def trace(x: Any, /, *, offset: int = 0, **options: Any) -> Any:
    """Traces of the last two axes."""
    return (
        shapes.trace(x, offset, -2, -1)
        if x.__class__ is Batched
        else _in("linalg", "trace")(x, offset=offset, **options)
    )


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Diagonals of the last two axes."""
    return shapes.diagonal(x, offset, -2, -1) if x.__class__ is Batched else _in("linalg", "diagonal")(x, offset=offset)


def _along_axis(name: str) -> Callable[..., Any]:
    run = _in("fft", name)

    def rule(x: Any, /, n: Any = None, axis: int = -1, norm: Any = None, **options: Any) -> Any:
        options = options if norm is None else {"norm": norm, **options}
        if x.__class__ is not Batched:
            return run(x, n=n, axis=axis, **options)
        return of_value(x, run, n=n, axis=behind(axis, x.ndim), **options)

    return rule


def _over_axes(name: str) -> Callable[..., Any]:
    run = _in("fft", name)

    def rule(x: Any, /, s: Any = None, axes: Any = None, norm: Any = None, **options: Any) -> Any:
        options = options if norm is None else {"norm": norm, **options}
        if x.__class__ is not Batched:
            return run(x, s=s, axes=axes, **options)
        if axes is None:
            axes = tuple(range(x.ndim if s is None else 0, x.ndim)) or tuple(range(x.ndim))
            axes = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
        return of_value(x, run, s=s, axes=behind(tuple(axes), x.ndim), **options)

    return rule


def _shifted(name: str) -> Callable[..., Any]:
    run = _in("fft", name)

    def rule(x: Any, /, axes: Any = None) -> Any:
        return run(x, axes=axes) if x.__class__ is not Batched else of_value(x, run, axes=behind(axes, x.ndim))

    return rule


LINALG: dict[str, Callable[..., Any]] = {
    **{name: _on_matrices(name) for name in ON_MATRICES},
    "cross": products.cross,
    "diagonal": diagonal,
    "matmul": products.matmul,
    "norm": norm,
    "outer": products.outer,
    "solve": solve,
    "tensordot": products.tensordot,
    "trace": trace,
    "vecdot": products.vecdot,
    "vector_norm": vector_norm,
}
FFT: dict[str, Callable[..., Any]] = {
    **{name: _along_axis(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{name: _over_axes(name) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{name: _shifted(name) for name in ("fftshift", "ifftshift")},
}
