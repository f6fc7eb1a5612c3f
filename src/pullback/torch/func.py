"""``torch.func``: transformations of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pullback.autograd import forward_ad as _fwd
from pullback.autograd import functional as _functional
from pullback.batching import leaves_of as _leaves_of
from pullback.batching import map_tree as _map_tree
from pullback.batching import mapped as _mapped
from pullback.batching import pull_entries as _pull_entries
from pullback.core.differentiate import grad as _grad
from pullback.core.differentiate import transforming as _transforming
from pullback.core.errors import lesson as _lesson
from pullback.core.graph import reach as _reach
from pullback.core.modes import enable_grad as _enable_grad
from pullback.core.tangents import Point as _Point
from pullback.core.tangents import current_level as _current_level
from pullback.core.tensor import Tensor as _Base
from pullback.torch._export import xp as _xp
from pullback.torch._functional_call import functional_call, stack_module_state
from pullback.torch._missing import refuse as _refuse

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize"]
__all__ += ["stack_module_state", "vjp", "vmap"]


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
        graph = _needs_graph(value, points)
        found = (
            _grad(value, points, retain_graph=True, create_graph=graph, materialize_grads=True)
            if value.requires_grad
            else _zeros(points)
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


def _needs_graph(values: Any, points: tuple[Any, ...]) -> bool:
    """Whether results depend on anything that may be differentiated, besides the transformation's own points."""
    ends = [v for v in _leaves_of(values) if isinstance(v, _Base) and v.requires_grad]
    return any(_settled(v, points) is v for v in ends)


def jacrev(
    func: Callable[..., Any], argnums: Any = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that returns the Jacobian of `func`: all rows in one backward pass, or `chunk_size` of them in each.

    >>> import pullback.torch as torch
    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    @_enable_grad()
    def transformed(*args: Any, **kwargs: Any) -> Any:
        points, full, _ = _split(args, argnums)
        result = _call(func, *full, **kwargs)
        result, aux = result if has_aux else (result, None)
        outputs = result if isinstance(result, tuple) else (result,)
        graph = _needs_graph(outputs, points)
        rows = [_rows(y, points, graph, chunk_size) for y in outputs]
        found = [_settled(row[0] if isinstance(argnums, int) else tuple(row), points) for row in rows]
        jacobian = tuple(found) if isinstance(result, tuple) else found[0]
        return (jacobian, _settled(aux, points)) if has_aux else jacobian

    return transformed


def _rows(y: Any, points: tuple[Any, ...], graph: bool, chunk_size: int | None) -> list[Any]:
    """The Jacobian of one result with respect to each point."""
    if not isinstance(y, _Base):
        raise _lesson(RuntimeError, f"jacrev: expected the function to return Tensors, got {type(y)}")
    shape = tuple(y.shape)
    if not y.requires_grad or 0 in shape:
        return [_xp.zeros((*shape, *x.shape), dtype=y.dtype) for x in points]
    blocks = _pull_entries(y, lambda entry: _functional._pull((entry,), points, (None,), graph), chunk_size)
    return [_xp.reshape(g, (*shape, *x.shape)) for g, x in zip(blocks, points, strict=True)]


def jacfwd(
    func: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable[..., Any]:
    """The function that returns the Jacobian of `func`: all columns from one evaluation in forward mode.

    >>> import pullback.torch as torch
    >>> torch.func.jacfwd(lambda x: x.sum() * x)(torch.ones(2))
    tensor([[3., 1.],
            [1., 3.]])
    """

    @functools.wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        if _current_level() is not None:
            return jacrev(func, argnums, has_aux=has_aux, chunk_size=chunk_size)(*args, **kwargs)
        _split(args, argnums)
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        blocks = [_columns(func, args, n % len(args), kwargs, has_aux, chunk_size, randomness) for n in numbers]
        aux = blocks[0][1]
        rows = tuple([row[0] if isinstance(argnums, int) else row for row in zip(*[b for b, _ in blocks], strict=True)])
        found = rows[0] if len(rows) == 1 else rows
        return (found, aux) if has_aux else found

    return transformed


def _columns(
    func: Any, args: tuple[Any, ...], number: int, kwargs: Any, has_aux: bool, chunk_size: int | None, randomness: str
) -> tuple[list[Any], Any]:
    """The Jacobian of each result with respect to one argument, and the auxiliary result."""
    x = args[number]
    kept: list[Any] = []

    def of_one(y: Any) -> Any:
        result = func(*args[:number], y, *args[number + 1 :], **kwargs)
        if has_aux:
            result, aux = result
            kept.append(_map_tree(lambda a: _fwd.unpack_dual(a).primal if isinstance(a, _Base) else a, aux))
        return result

    def along(direction: Any) -> Any:
        return jvp(of_one, (x,), (direction,))[1]

    size = x.numel()
    if not size:  # nothing to move, and nothing to tell the shapes of the results from
        rows = jacrev(of_one)(x)
        return list(rows) if isinstance(rows, tuple) else [rows], kept[0] if has_aux else None
    basis = _xp.reshape(_xp.eye(size, dtype=x.dtype), (size, *x.shape))
    found = vmap(along, out_dims=-1, randomness=randomness, chunk_size=chunk_size)(basis)
    columns = found if isinstance(found, tuple) else (found,)
    return [_xp.reshape(c, (*c.shape[:-1], *x.shape)) for c in columns], kept[0] if has_aux else None


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
