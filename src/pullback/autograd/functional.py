"""Jacobians, Hessians and their products, of functions of Tensors: torch's ``autograd.functional``.

Every function takes ``func`` and its inputs (one Tensor or a tuple), differentiates at copies of the inputs, and
returns results without a graph unless ``create_graph=True``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.batching import pull_entries
from pullback.core import tangents
from pullback.core.arrays import namespace
from pullback.core.differentiate import grad
from pullback.core.errors import lesson
from pullback.core.modes import enable_grad
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor, wrap

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _as_tuple(values: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """Whether a single Tensor was given, and the tuple of Tensors."""
    single = not isinstance(values, tuple)
    found = (values,) if single else values
    for k, value in enumerate(found):
        if not isinstance(value, Tensor):
            at = "" if single else f" at index {k}"
            raise lesson(
                TypeError,
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"given {what.split()[0]}{at} has type {type(value)}.",
                instead="a Tensor, or a tuple of Tensors.",
            )
    return single, found


def _points(inputs: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Where to differentiate: fresh leaves, or Tensors that stay connected to the caller's."""
    return tuple([x.clone() if create_graph and x.requires_grad else point(x) for x in inputs])


def point(x: Any) -> Any:
    """A place of its own in the graph, with the value of `x`, and its tangent if it has one."""
    return tangents.point(x) if tangents.carries(x) else wrap(type(x), x._array).requires_grad_()


def without_graph(x: Any) -> Any:
    """`x` cut out of the graph, with its tangent if it has one."""
    return tangents.settled(x) if tangents.carries(x) else x.detach()


def _call(func: Callable[..., Any], points: tuple[Any, ...], name: str) -> tuple[bool, tuple[Any, ...]]:
    return _as_tuple(func(*points), "outputs of the user-provided function", name)


def _pull(outputs: Any, points: Any, seeds: Any, create_graph: bool) -> tuple[Any, ...]:
    """``grad`` with zeros for whatever does not take part, also where no output has a graph at all."""
    pairs = [(y, v) for y, v in zip(outputs, seeds, strict=True) if y.requires_grad]
    if not pairs:
        return tuple([_zeros(x) for x in points])
    ys, vs = zip(*pairs, strict=True)
    return grad(ys, points, vs, retain_graph=True, create_graph=create_graph, materialize_grads=True)


def _zeros(x: Any) -> Any:
    return wrap(type(x), namespace(x._array).zeros_like(x._array))


def _finish(values: tuple[Any, ...], single: bool, create_graph: bool) -> Any:
    found = values if create_graph else tuple([without_graph(v) for v in values])
    return found[0] if single else tuple(found)


def _vectors(v: Any, like: tuple[Any, ...], what: str) -> tuple[Any, ...]:
    """The given vectors, checked against what they multiply; ones for a single element."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise lesson(
                RuntimeError,
                f"The vector v can only be None if {what} is a single Tensor with a single element.",
                instead="a Tensor (or a tuple) of the same shape.",
            )
        return (wrap(type(like[0]), namespace(like[0]._array).ones_like(like[0]._array)),)
    vectors = (v,) if isinstance(v, Tensor) else tuple(v)
    if len(vectors) != len(like):
        raise lesson(
            RuntimeError,
            f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.",
            instead=f"one vector for each Tensor of {what}.",
        )
    for vector, x in zip(vectors, like, strict=True):
        if tuple(vector.shape) != tuple(x.shape):
            raise lesson(
                RuntimeError,
                f"v has invalid size: should be {tuple(x.shape)} but got {tuple(vector.shape)}.",
                instead=f"a vector of the shape of its Tensor of {what}.",
                got=vector.shape,
            )
    return vectors


@enable_grad()
def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of `func`, and the vector-Jacobian product ``vᵀ J`` in the shape of the inputs."""
    single, points = _as_tuple(inputs, "inputs", "vjp")
    points = _points(points, create_graph)
    alone, outputs = _call(func, points, "vjp")
    _check_strict(outputs, points, strict)
    products = _pull(outputs, points, _vectors(v, outputs, "the user-provided function's output"), create_graph)
    return _finish(outputs, alone, create_graph), _finish(products, single, create_graph)


@enable_grad()
def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of `func`, and the Jacobian-vector product ``J v`` in the shape of the outputs.

    Pulls back twice: ``u ↦ uᵀ J`` is linear in u, and its own vector-Jacobian product is ``J v``.
    """
    _, points = _as_tuple(inputs, "inputs", "jvp")
    points = _points(points, create_graph)
    vectors = _vectors(v, points, "the input to the user-provided function")
    alone, outputs = _call(func, points, "jvp")
    _check_strict(outputs, points, strict)
    seeds = tuple([_zeros(y).requires_grad_() for y in outputs])
    products = _pull(outputs, points, seeds, True)
    tangents = _pull(products, seeds, vectors, create_graph)
    return _finish(outputs, alone, create_graph), _finish(tangents, alone, create_graph)


def _check_strict(outputs: tuple[Any, ...], points: tuple[Any, ...], strict: bool) -> None:
    if not strict:
        return
    for k, y in enumerate(outputs):
        found = (None,) * len(points)
        if y.requires_grad:
            seed = wrap(type(y), namespace(y._array).ones_like(y._array))
            found = grad(y, points, seed, retain_graph=True, allow_unused=True)
        for i, g in enumerate(found):
            if g is None:
                raise lesson(
                    RuntimeError,
                    f"Output {k} of the user-provided function is independent of input {i}. "
                    "This is not allowed in strict mode.",
                    instead="strict=False, which gives zeros.",
                )


@enable_grad()
def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All partial derivatives of `func`.

    Returns
    -------
    Tensor of shape ``output.shape + input.shape``; with several inputs or outputs, tuples of them (outputs outside).

    Examples
    --------
    >>> import pullback as pb
    >>> pb.autograd.functional.jacobian(lambda x: x * x, pb.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    single, points = _as_tuple(inputs, "inputs", "jacobian")
    points = _points(points, create_graph)
    alone, outputs = _call(func, points, "jacobian")
    _check_strict(outputs, points, strict)
    rows = tuple([_finish(_jacobian_of(y, points, create_graph, vectorize), single, create_graph) for y in outputs])
    return rows[0] if alone else rows


def _jacobian_of(y: Any, points: tuple[Any, ...], create_graph: bool, vectorize: bool) -> tuple[Any, ...]:
    xp = namespace(y._array)
    shape = tuple(y.shape)
    if vectorize and y.requires_grad and y._array.size:
        blocks = pull_entries(y, lambda entry: _pull((entry,), points, (None,), create_graph))
        return tuple([Recorded.xp.reshape(g, (*shape, *x.shape)) for g, x in zip(blocks, points, strict=True)])
    rows = []
    for k in range(y._array.size):
        seed = xp.reshape(xp.arange(y._array.size) == k, shape)
        seed = wrap(type(y), xp.astype(seed, y._array.dtype))
        rows.append(_pull((y,), points, (seed,), create_graph))
    nx = Recorded.xp
    if not rows:
        return tuple([wrap(type(x), xp.zeros((*shape, *x.shape), dtype=x._array.dtype)) for x in points])
    columns = zip(*rows, strict=True)
    return tuple([nx.reshape(nx.stack(list(c)), (*shape, *x.shape)) for c, x in zip(columns, points, strict=True)])


def _scalar(func: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`func`, checked to return a single number."""

    def checked(*points: Any) -> Any:
        alone, outputs = _call(func, points, name)
        if not alone or outputs[0]._array.size != 1:
            raise lesson(
                RuntimeError,
                f"The Tensor returned by the function given to {name} should contain a single element",
                instead="a function that returns one number, for example a sum.",
            )
        return Recorded.xp.reshape(outputs[0], ()) if outputs[0].shape else outputs[0]

    return checked


@enable_grad()
def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second partial derivatives of a function that returns one number.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.autograd.functional.hessian(lambda x: (x * x * x).sum(), pb.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    single, points = _as_tuple(inputs, "inputs", "hessian")
    scalar = _scalar(func, "hessian")

    def gradient(*xs: Any) -> Any:
        found = _pull((scalar(*xs),), xs, (None,), True)
        return found[0] if single else found

    return jacobian(gradient, inputs if single else points, create_graph, strict, vectorize)


@enable_grad()
def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of `func`, and the product ``vᵀ H`` with its Hessian."""
    single, points = _as_tuple(inputs, "inputs", "vhp")
    points = _points(points, create_graph)
    vectors = _vectors(v, points, "the input to the user-provided function")
    output = _scalar(func, "vhp")(*points)
    gradient = _pull((output,), points, (None,), True)
    products = _pull(gradient, points, vectors, create_graph)
    return _finish((output,), True, create_graph), _finish(products, single, create_graph)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of `func`, and the product ``H v`` with its Hessian (which is symmetric, so this is `vhp`)."""
    return vhp(func, inputs, v, create_graph, strict)
