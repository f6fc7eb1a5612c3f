"""Jacobians, Hessians and their products, of functions of Tensors: torch's ``autograd.functional``.

Every function takes ``func`` and its inputs (one Tensor or a tuple), differentiates at copies of the inputs, and
returns results without a graph unless ``create_graph=True``.  With ``strict=True`` a derivative that is zero because something
does not depend on an input at all is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.autograd.strict import check_inputs, check_outputs, check_results, reaches
from pullback.core import forward as _forward  # noqa: F401 - operators find it once it is imported
from pullback.core import tangents
from pullback.core.arrays import namespace
from pullback.core.differentiate import grad
from pullback.core.errors import lesson
from pullback.core.modes import enable_grad
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor, wrap

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_OUTPUTS = "outputs of the user-provided function"


def _as_tuple(values: Any, what: str, name: str) -> tuple[bool, tuple[Any, ...]]:
    """Whether a single Tensor was given, and the tuple of Tensors."""
    single = not isinstance(values, tuple)
    found = (values,) if single else values
    for k, value in enumerate(found):
        if not isinstance(value, Tensor):
            which = f"given {what.split()[0]} has" if single else f"value at index {k} has"
            raise lesson(
                TypeError,
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {which} type "
                f"{type(value)}.",
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


def _call(func: Callable[..., Any], points: tuple[Any, ...], name: str, strict: bool) -> tuple[bool, tuple[Any, ...]]:
    single, outputs = _as_tuple(func(*points), _OUTPUTS, name)
    if strict:
        check_outputs(outputs)
    return single, outputs


def _pull(outputs: Any, points: Any, seeds: Any, create_graph: bool, strict: str = "") -> tuple[Any, ...]:
    """``grad`` with zeros for whatever does not take part, also where no output has a graph at all.

    `strict` names what is pulled back, where an input that it does not depend on is an error.
    """
    pairs = [(y, v) for y, v in zip(outputs, seeds, strict=True) if y.requires_grad]
    if not pairs:
        if strict and points:
            check_inputs((None,) * len(points), strict)
        return tuple([_zeros(x) for x in points])
    ys, vs = zip(*pairs, strict=True)
    if not strict:
        return grad(ys, points, vs, retain_graph=True, create_graph=create_graph, materialize_grads=True)
    found = grad(ys, points, vs, retain_graph=True, create_graph=create_graph, allow_unused=True)
    check_inputs([g if there else None for g, there in zip(found, reaches(ys, points), strict=True)], strict)
    return found


def _zeros(x: Any) -> Any:
    return wrap(type(x), namespace(x._array).zeros_like(x._array))


def _finish(values: tuple[Any, ...], single: bool, create_graph: bool) -> Any:
    found = values if create_graph else tuple([without_graph(v) for v in values])
    return found[0] if single else tuple(found)


_OF_INPUT = "input to the user-provided function is"
_OF_OUTPUT = "user-provided function returns"


def _vectors(v: Any, like: tuple[Any, ...], what: str, name: str = "", single: bool = False) -> tuple[Any, ...]:
    """The given vectors, checked against what they multiply; ones for a single element."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise lesson(
                RuntimeError,
                f"The vector v can only be None if the {what} a single Tensor with a single element.",
                instead="a Tensor (or a tuple) of the same shape.",
            )
        return (wrap(type(like[0]), namespace(like[0]._array).ones_like(like[0]._array)),)
    _, vectors = _as_tuple(v, "v", name) if name else (False, (v,) if isinstance(v, Tensor) else tuple(v))
    if len(vectors) != len(like):
        only = "The given v should contain a single Tensor."
        raise lesson(
            RuntimeError,
            only if single else f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.",
            instead=f"one vector for each Tensor that the {what}.",
        )
    for k, (vector, x) in enumerate(zip(vectors, like, strict=True)):
        if tuple(vector.shape) != tuple(x.shape):
            which = "v" if len(like) == 1 else f"Entry {k} in v"
            raise lesson(
                RuntimeError,
                f"{which} has invalid size: should be {x.shape} but got {vector.shape}.",
                instead="a vector of the shape of what it multiplies.",
                got=vector.shape,
            )
    return vectors


@enable_grad()
def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of `func`, and the vector-Jacobian product ``vᵀ J`` in the shape of the inputs.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.autograd.functional.vjp(lambda x: x * x, pb.tensor([1.0, 2.0]), pb.tensor([1.0, 10.0]))[1].tolist()
    [2.0, 40.0]
    """
    single, points = _as_tuple(inputs, "inputs", "vjp")
    points = _points(points, create_graph)
    alone, outputs = _call(func, points, "vjp", strict)
    vectors = _vectors(v, outputs, _OF_OUTPUT, "vjp", alone)
    products = _pull(outputs, points, vectors, create_graph, "output" if strict else "")
    if strict and create_graph:
        check_results(products, "jacobian")
    return _finish(outputs, alone, create_graph), _finish(products, single, create_graph)


@enable_grad()
def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of `func`, and the Jacobian-vector product ``J v`` in the shape of the outputs.

    Pulls back twice: ``u ↦ uᵀ J`` is linear in u, and its own vector-Jacobian product is ``J v``.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.autograd.functional.jvp(lambda x: x * x, pb.tensor([1.0, 2.0]), pb.tensor([1.0, 10.0]))[1].tolist()
    [2.0, 40.0]
    """
    single, points = _as_tuple(inputs, "inputs", "jvp")
    points = _points(points, create_graph)
    vectors = _vectors(v, points, _OF_INPUT, "jvp", single)
    alone, outputs = _call(func, points, "jvp", strict)
    seeds = tuple([_zeros(y).requires_grad_() for y in outputs])
    products = _pull(outputs, points, seeds, True, "output" if strict else "")
    found = _pull(products, seeds, vectors, create_graph)
    if strict and create_graph:
        check_results(found, "jacobian")
    return _finish(outputs, alone, create_graph), _finish(found, alone, create_graph)


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

    Parameters
    ----------
    strategy
        ``"reverse-mode"``: one backward pass per element of the outputs, or one for all of them with `vectorize`;
        ``"forward-mode"``: one run of `func` for each input.

    Returns
    -------
    Tensor of shape ``output.shape + input.shape``; with several inputs or outputs, tuples of them (outputs outside).

    Examples
    --------
    >>> import pullback as pb
    >>> pb.autograd.functional.jacobian(lambda x: x * x, pb.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    _check_options("jacobian", strategy, strict, vectorize)
    single, points = _as_tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode" and tangents.current_level() is None:
        return _columns(func, points, single, create_graph)
    points = _points(points, create_graph)
    alone, outputs = _call(func, points, "jacobian", strict)
    if vectorize:
        rows = tuple([_jacobian_at_once(y, points, create_graph) for y in outputs])
    else:
        rows = tuple([_jacobian_of(y, k, points, create_graph, strict) for k, y in enumerate(outputs)])
    rows = tuple([_finish(row, single, create_graph) for row in rows])
    return rows[0] if alone else rows


def _check_options(name: str, strategy: str, strict: bool, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise lesson(
            AssertionError,
            f'Expected strategy to be either "forward-mode" or "reverse-mode", but got {strategy!r}.',
            instead='"forward-mode" for few inputs and many outputs, "reverse-mode" otherwise.',
        )
    if strict and (vectorize or strategy == "forward-mode"):
        raise lesson(
            RuntimeError,
            f"{name}: `strict=True` and `vectorized=True` (or forward mode) are not supported together.",
            why="what does not depend on an input is told by its graph, which neither has.",
            instead="strict=False, or vectorize=False with the reverse-mode strategy.",
        )


def _jacobian_at_once(y: Any, points: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """One backward pass for all rows."""
    if not y.requires_grad or not y._array.size:
        return _jacobian_of(y, 0, points, create_graph, False)
    from pullback.batching import pull_entries

    blocks = pull_entries(y, lambda entry: _pull((entry,), points, (None,), create_graph))
    return tuple([Recorded.xp.reshape(g, (*y.shape, *x.shape)) for g, x in zip(blocks, points, strict=True)])


def _jacobian_of(y: Any, number: int, points: tuple[Any, ...], create_graph: bool, strict: bool) -> tuple[Any, ...]:
    xp = namespace(y._array)
    shape = tuple(y.shape)
    rows = []
    for k in range(y._array.size):
        seed = xp.reshape(xp.arange(y._array.size) == k, shape)
        seed = wrap(type(y), xp.astype(seed, y._array.dtype))
        row = _pull((y,), points, (seed,), create_graph, f"output {number}" if strict else "")
        if strict and create_graph:
            check_results(row, "jacobian")
        rows.append(row)
    nx = Recorded.xp
    if not rows:
        return tuple([wrap(type(x), xp.zeros((*shape, *x.shape), dtype=x._array.dtype)) for x in points])
    columns = zip(*rows, strict=True)
    return tuple([nx.reshape(nx.stack(list(c)), (*shape, *x.shape)) for c, x in zip(columns, points, strict=True)])


def _columns(func: Callable[..., Any], inputs: tuple[Any, ...], single: bool, create_graph: bool) -> Any:
    """The Jacobians in forward mode: all elements of an input are moved at once, each in an entry of a batch."""
    plain = tuple([x if create_graph and x.requires_grad else wrap(type(x), x._array) for x in inputs])
    tangents.enter()
    try:
        alone, outputs = _as_tuple(func(*plain), _OUTPUTS, "jacobian")
        blocks = [_moved(func, plain, number) for number in range(len(plain))]
        nx = Recorded.xp
        rows = []
        for position, y in enumerate(outputs):
            row = [nx.reshape(block[position], (*y.shape, *x.shape)) for x, block in zip(plain, blocks, strict=True)]
            rows.append(_finish(tuple(row), single, create_graph))
    finally:
        tangents.leave()
    return rows[0] if alone else tuple(rows)


def _moved(func: Callable[..., Any], plain: tuple[Any, ...], number: int) -> list[Any]:
    """The tangents of the outputs along a last axis, where each element of one input moves."""
    from pullback.batching import push_entries

    def push(dual: Any) -> list[Any]:
        _, outputs = _as_tuple(func(*plain[:number], dual, *plain[number + 1 :]), _OUTPUTS, "jacobian")
        return [tangents.tangent_of(y) if tangents.carries(y) else _zeros(y) for y in outputs]

    x, level = plain[number], tangents.current_level()
    return push_entries(x, lambda direction: push(tangents.make(x, direction, level)))  # type: ignore[arg-type]


def _scalar(func: Callable[..., Any], name: str, strict: bool) -> Callable[..., Any]:
    """`func`, checked to return a single number."""

    def checked(*points: Any) -> Any:
        alone, outputs = _call(func, points, name, strict)
        if not alone or outputs[0]._array.size != 1:
            what = (
                f"The Tensor returned by the function given to {name} should contain a single element"
                if alone
                else f"The function given to {name} should return a single Tensor"
            )
            raise lesson(RuntimeError, what, instead="a function that returns one number, for example a sum.")
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
    _check_options("hessian", outer_jacobian_strategy, strict, vectorize)
    single, points = _as_tuple(inputs, "inputs", "hessian")
    scalar = _scalar(func, "hessian", strict)

    def gradient(*xs: Any) -> Any:
        places = tuple([x if x.requires_grad else point(x) for x in xs])  # in forward mode they have none yet
        found = _pull((scalar(*places),), places, (None,), True, "output" if strict else "")
        if strict:
            check_results(found, "hessian")
        return found[0] if single else found

    return jacobian(gradient, inputs if single else points, create_graph, strict, vectorize, outer_jacobian_strategy)


def _hessian_product(name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool) -> Any:
    single, points = _as_tuple(inputs, "inputs", name)
    points = _points(points, create_graph)
    vectors = _vectors(v, points, _OF_INPUT, name, single)
    output = _scalar(func, name, strict)(*points)
    gradient = _pull((output,), points, (None,), True, "output" if strict else "")
    if strict:
        check_results(gradient, "hessian")
    products = _pull(gradient, points, vectors, create_graph)
    if strict and create_graph:
        check_results(products, "product")
    return _finish((output,), True, create_graph), _finish(products, single, create_graph)


@enable_grad()
def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of `func`, and the product ``vᵀ H`` with its Hessian."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


@enable_grad()
def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The value of `func`, and the product ``H v`` with its Hessian (which is symmetric, so this is `vhp`)."""
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)
