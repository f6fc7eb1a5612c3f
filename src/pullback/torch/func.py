"""``torch.func``: transformations of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.autograd import forward_ad as _fwd
from pullback.autograd import functional as _functional
from pullback.batching import mapped as _mapped
from pullback.core.differentiate import grad as _grad
from pullback.core.differentiate import transforming as _transforming
from pullback.core.errors import lesson as _lesson
from pullback.core.graph import reach as _reach
from pullback.core.modes import enable_grad as _enable_grad
from pullback.core.tangents import Point as _Point
from pullback.core.tangents import current_level as _current_level
from pullback.core.tensor import Tensor as _Base
from pullback.torch._export import xp as _xp
from pullback.torch._missing import refuse as _refuse

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap"]


def _call(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the function that is transformed; it must not call backward()."""
    token = _transforming.set(True)
    try:
        return func(*args, **kwargs)
    finally:
        _transforming.reset(token)


def _point(x: Any) -> Any:
    """A fresh place in the graph for an argument: connected to the caller's where that is differentiable."""
    return x.clone() if x.requires_grad else _functional.point(x)


def _settled(value: Any, points: tuple[Any, ...]) -> Any:
    """A result without graph where nothing but the transformation's own points hangs on it."""
    if isinstance(value, (tuple, list)):
        return type(value)([_settled(v, points) for v in value])
    if not isinstance(value, _Base) or not value.requires_grad:
        return value
    order, leaves = _reach([value._resolved()[0]])
    ends = [*leaves, *[node for node in order if isinstance(node, _Point)]]
    own = {p._resolved()[0] for p in points}
    return value if any(end not in own for end in ends) else _functional.without_graph(value)


def _split(args: tuple[Any, ...], argnums: Any) -> tuple[tuple[Any, ...], list[Any], tuple[int, ...]]:
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise _lesson(RuntimeError, f"Got argnum={n}, but only {len(args)} positional inputs")
        if not isinstance(args[n], _Base):
            raise _lesson(
                TypeError, f"argument {n} must be a Tensor, not {type(args[n]).__name__}", instead="torch.tensor(...)."
            )
    points = tuple([_point(args[n]) for n in numbers])
    full = list(args)
    for n, point in zip(numbers, points, strict=True):
        full[n] = point
    return points, full, numbers


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that returns gradient and value of `func`, which must return one number."""

    @functools.wraps(func)
    @_enable_grad()
    def transformed(*args: Any, **kwargs: Any) -> Any:
        points, full, _ = _split(args, argnums)
        result = _call(func, *full, **kwargs)
        value, aux = result if has_aux else (result, None)
        if not isinstance(value, _Base) or value.ndim:
            what = f"tensor with {value.ndim} dims" if isinstance(value, _Base) else type(value).__name__
            raise _lesson(
                RuntimeError,
                f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got {what}.",
                instead="vjp or jacrev for functions with several outputs.",
            )
        found = (
            _grad(value, points, create_graph=True, materialize_grads=True) if value.requires_grad else _zeros(points)
        )
        found = _settled(found[0] if isinstance(argnums, int) else tuple(found), points)
        return (
            (found, (_settled(value, points), _settled(aux, points))) if has_aux else (found, _settled(value, points))
        )

    return transformed


def _zeros(points: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([_xp.zeros_like(p.detach()) for p in points])


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that returns the gradient of `func`.

    >>> import pullback.torch as torch
    >>> torch.func.grad(torch.func.grad(lambda x: x**3))(torch.tensor(3.0))
    tensor(18.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return transformed


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `func`, and the function from cotangents to the vector-Jacobian product."""
    with _enable_grad():
        points = tuple([_point(x) for x in primals])
        result = _call(func, *points)
    value, aux = result if has_aux else (result, None)
    outputs = value if isinstance(value, tuple) else (value,)

    def pull(*cotangents: Any) -> Any:
        given = cotangents[0] if len(cotangents) == 1 and isinstance(cotangents[0], tuple) else cotangents
        found = _functional._pull(outputs, points, given, True)
        return tuple([_settled(g, points) for g in found])

    return (_settled(value, points), pull, aux) if has_aux else (_settled(value, points), pull)


def jvp(func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """The value of `func`, and the Jacobian-vector product: one evaluation in forward mode.

    >>> import pullback.torch as torch
    >>> torch.func.jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))
    (tensor([0.]), tensor([1.]))
    """
    if len(primals) != len(tangents):
        raise _lesson(
            RuntimeError,
            f"jvp: got {len(primals)} primals and {len(tangents)} tangents",
            instead="one tangent of the same shape for each primal.",
        )
    if _current_level() is not None:  # one level at a time: this derivative is found by pulling back twice
        create_graph = any(p.requires_grad for p in primals)
        return _functional.jvp(
            functools.partial(_call, func), tuple(primals), tuple(tangents), create_graph=create_graph
        )
    with _enable_grad(), _fwd.dual_level():
        result = _call(func, *[_fwd.make_dual(x, t) for x, t in zip(primals, tangents, strict=True)])
        single = not isinstance(result, tuple)
        pairs = [_fwd.unpack_dual(y) for y in ((result,) if single else result)]
        found = [p.tangent if p.tangent is not None else _xp.zeros_like(p.primal.detach()) for p in pairs]
    return (pairs[0].primal, found[0]) if single else (tuple([p.primal for p in pairs]), tuple(found))


def linearize(func: Callable[..., Any], *primals: Any) -> Any:
    """The value of `func`, and the function from tangents to the Jacobian-vector product, which evaluates it no more.

    >>> import pullback.torch as torch
    >>> value, push = torch.func.linearize(torch.exp, torch.zeros(2))
    >>> push(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    with _enable_grad():
        points = tuple([_point(x) for x in primals])
        value = _call(func, *points)
        outputs = value if isinstance(value, tuple) else (value,)
        seeds = tuple([_functional._zeros(y).requires_grad_() for y in outputs])
        products = _functional._pull(outputs, points, seeds, True)

    def push(*tangents: Any) -> Any:
        vectors = _functional._vectors(tangents, points, "the input")
        found = _functional._pull(products, seeds, vectors, True)
        settled = tuple([_settled(t, (*points, *seeds)) for t in found])
        return settled if isinstance(value, tuple) else settled[0]

    return _settled(value, points), push


def jacrev(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """The function that returns the Jacobian of `func`, row by row."""

    @functools.wraps(func)
    @_enable_grad()
    def transformed(*args: Any, **kwargs: Any) -> Any:
        points, full, numbers = _split(args, argnums)

        def of_points(*xs: Any) -> Any:
            for n, x in zip(numbers, xs, strict=True):
                full[n] = x
            return _call(func, *full, **kwargs)

        found = _functional.jacobian(of_points, points[0] if isinstance(argnums, int) else points, create_graph=True)
        return _settled(found, points)

    return transformed


def jacfwd(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """The function that returns the Jacobian of `func`, column by column: one evaluation in forward mode for each."""

    @functools.wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        if _current_level() is not None:
            return jacrev(func, argnums)(*args, **kwargs)
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        blocks = [_columns(func, args, n, kwargs) for n in numbers]
        rows = tuple([row[0] if isinstance(argnums, int) else row for row in zip(*blocks, strict=True)])
        return rows[0] if len(rows) == 1 else rows

    return transformed


def _columns(func: Callable[..., Any], args: tuple[Any, ...], number: int, kwargs: Any) -> list[Any]:
    """The Jacobian of each result with respect to one argument."""
    _, _, (number,) = _split(args, number)
    number %= len(args)
    x = args[number]

    def of_one(y: Any) -> Any:
        return func(*args[:number], y, *args[number + 1 :], **kwargs)

    basis = _xp.reshape(_xp.eye(x.numel(), dtype=x.dtype), (x.numel(), *x.shape))
    columns = []
    for direction in basis:
        _, found = jvp(of_one, (x,), (direction,))
        columns.append(found if isinstance(found, tuple) else (found,))
    if not columns:  # nothing to move, and nothing to tell the shapes of the results from
        rows = jacrev(of_one)(x)
        return list(rows) if isinstance(rows, tuple) else [rows]
    return [_xp.reshape(_xp.stack(list(c), axis=-1), (*c[0].shape, *x.shape)) for c in zip(*columns, strict=True)]


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """The function that returns the Hessian of `func`."""
    return jacrev(jacrev(func, argnums), argnums)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that applies `func` to every entry of a batch at once.

    Parameters
    ----------
    func
        Takes and returns Tensors, also in tuples, lists and dicts.
    in_dims
        The batch axis of each argument: an integer, ``None`` for what all entries share, or these in the structure of the
        arguments.
    out_dims
        Where the batch axis is put in the results.
    randomness
        What random functions do inside: ``"error"``, ``"same"`` numbers for all entries, or ``"different"`` ones.
    chunk_size
        So many entries at a time, where memory is short; all when ``None``.

    Raises
    ------
    ValueError
        When axes or sizes do not fit.
    RuntimeError
        When the function has to look at the numbers: ``if x > 0``, ``x.item()``, ``x.numpy()``.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.func.vmap(torch.dot, in_dims=(0, None))(x, torch.tensor([1.0, 10.0]))
    tensor([21., 43.])
    >>> torch.func.vmap(torch.func.grad(lambda row: (row ** 3).sum()))(x)
    tensor([[ 3., 12.],
            [27., 48.]])
    """
    return _mapped(func, in_dims, out_dims, randomness, chunk_size, _call, True)


def __getattr__(name: str) -> Any:
    _refuse("func", name)
