"""``torch.func``: transformations of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from pullback.autograd import forward_ad as _fwd
from pullback.autograd import functional as _functional
from pullback.batching import mapped as _mapped
from pullback.batching import pull_entries as _pull_entries
from pullback.core.differentiate import transforming as _transforming
from pullback.core.errors import lesson as _lesson
from pullback.core.graph import reach as _reach
from pullback.core.modes import enable_grad as _enable_grad
from pullback.core.modes import is_grad_enabled as _is_grad_enabled
from pullback.core.tangents import Point as _Point
from pullback.core.tangents import current_level as _current_level
from pullback.core.tensor import Tensor as _Base
from pullback.core.trees import leaves_of as _leaves_of
from pullback.core.trees import map_tree as _map_tree
from pullback.core.trees import refilled as _refilled
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


def _point(x: Any, outer: bool = True) -> Any:
    """A fresh place in the graph for an argument: connected to the caller's where that is differentiable, and records."""
    return x.clone() if outer and x.requires_grad else _functional.point(x)


def _settled(value: Any, points: Any, outer: bool = True) -> Any:
    """A result without graph where nothing but the transformation's own points hangs on it, or the caller does not record."""
    return _map_tree(lambda v: _settled_leaf(v, points, outer), value)


def _settled_leaf(value: Any, points: Any, outer: bool) -> Any:
    if not isinstance(value, _Base) or not value.requires_grad:
        return value
    if not outer:
        return _functional.without_graph(value)
    order, leaves = _reach([value._resolved()[0]])
    ends = [*leaves, *[node for node in order if isinstance(node, _Point)]]
    own = {p._resolved()[0] for p in points}
    return value if any(end not in own for end in ends) else _functional.without_graph(value)


# ------------------------------------------------------------------------------------------------------------- structures
def _alike(a: Any, b: Any) -> bool:
    """Whether two trees have the same structure."""
    if isinstance(a, dict) or isinstance(b, dict):
        return (
            isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys() and all(_alike(a[k], b[k]) for k in a)
        )
    if isinstance(a, (tuple, list)) or isinstance(b, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_alike, a, b))
    return True


class _Arguments:
    """The arguments of a transformed function, of which some are differentiated."""

    def __init__(self, args: tuple[Any, ...], argnums: Any) -> None:
        self.args = args
        self.single = isinstance(argnums, int)
        numbers = (argnums,) if self.single else argnums
        if not isinstance(numbers, tuple) or not all(isinstance(n, int) for n in numbers):
            raise _lesson(RuntimeError, f"argnums must be int or Tuple[int, ...], got: {argnums!r}")
        if not numbers:
            raise _lesson(RuntimeError, "argnums must be non-empty", instead="the positions of the arguments.")
        for n in numbers:
            if not -len(args) <= n < len(args):
                raise _lesson(RuntimeError, f"Got argnum={n}, but only {len(args)} positional inputs")
        self.numbers = [n % len(args) for n in numbers]
        self.trees = [args[n] for n in self.numbers]
        self.leaves = _leaves_of(self.trees)
        for n, x in [(n, x) for n, tree in zip(numbers, self.trees, strict=True) for x in _leaves_of(tree)]:
            if not isinstance(x, _Base):
                raise _lesson(
                    TypeError, f"argument {n} must be a Tensor, not {type(x).__name__}", instead="torch.tensor(...)."
                )

    def filled(self, leaves: Iterable[Any]) -> list[Any]:
        """All arguments, with these Tensors in the place of those that are differentiated."""
        full = list(self.args)
        for n, tree in zip(self.numbers, _refilled(self.trees, leaves), strict=True):
            full[n] = tree
        return full

    def shaped(self, leaves: Iterable[Any]) -> Any:
        """One Tensor for each that is differentiated, in the structure of the arguments."""
        trees = _refilled(self.trees, leaves)
        return trees[0] if self.single else tuple(trees)


def _with_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise _lesson(
            RuntimeError,
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True",
            instead="return (output, aux).",
        )
    return result


# ------------------------------------------------------------------------------------------------------------- gradients
def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that returns gradient and value of `func`, which must return one number."""

    @functools.wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        outer = _is_grad_enabled()
        with _enable_grad():
            arguments = _Arguments(args, argnums)
            points = tuple([_point(x, outer) for x in arguments.leaves])
            result = _call(func, *arguments.filled(points), **kwargs)
            value, aux = _with_aux(result, has_aux, "grad_and_value(f)(*args)")
            _check_scalar(value)
            graph = outer and _needs_graph(value, points)
            found = _functional._pull((value,), points, (None,), graph)
            found = _settled(arguments.shaped(found), points, outer)
            value = _settled(value, points, outer)
            return (found, (value, _settled(aux, points, outer))) if has_aux else (found, value)

    return transformed


def _check_scalar(value: Any) -> None:
    if isinstance(value, _Base) and not value.ndim:
        return
    what = f"tensor with {value.ndim} dims" if isinstance(value, _Base) else type(value).__name__
    raise _lesson(
        RuntimeError,
        f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got {what}.",
        instead="vjp or jacrev for functions with several outputs.",
    )


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
    """The value of `func`, and the function from cotangents to the vector-Jacobian product.

    Arguments and results may be nested tuples, lists and dicts of Tensors; cotangents have the structure of the value.

    >>> import pullback.torch as torch
    >>> value, pull = torch.func.vjp(lambda x: {"a": x * x}, torch.tensor(3.0))
    >>> pull({"a": torch.tensor(1.0)})
    (tensor(6.),)
    """
    outer = _is_grad_enabled()
    arguments = _Arguments(primals, tuple(range(len(primals))))
    with _enable_grad():
        points = tuple([_point(x, outer) for x in arguments.leaves])
        value, aux = _with_aux(_call(func, *arguments.filled(points)), has_aux, "vjp(f, *primals)")
    outputs = _leaves_of(value)

    def pull(*cotangents: Any) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        if not _alike(given, value):
            raise _lesson(
                RuntimeError,
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function.",
                instead="one cotangent for each Tensor that the function returns, in the same structure.",
            )
        found = _functional._pull(outputs, points, _leaves_of(given), True)
        return arguments.shaped(_settled(list(found), points, outer and _is_grad_enabled()))

    settled = _settled(value, points, outer)
    return (settled, pull, _settled(aux, points, outer)) if has_aux else (settled, pull)


# ---------------------------------------------------------------------------------------------------------- forward mode
def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of `func`, and the Jacobian-vector product: one evaluation in forward mode.

    Arguments and results may be nested tuples, lists and dicts of Tensors; tangents have the structure of the arguments.

    >>> import pullback.torch as torch
    >>> torch.func.jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))
    (tensor([0.]), tensor([1.]))
    """
    if not isinstance(primals, tuple):
        raise _lesson(
            RuntimeError,
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
            instead="(x,) for one argument.",
        )
    if not _alike(primals, tangents):
        raise _lesson(
            RuntimeError,
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure",
            instead="one tangent of the same shape for each primal.",
        )
    outer = _is_grad_enabled()
    arguments = _Arguments(primals, tuple(range(len(primals))))
    directions = _leaves_of(tangents)
    if _current_level() is not None:  # one level at a time: this derivative is found by pulling back twice
        return _pulled_twice(func, arguments, directions, has_aux)
    places = [x if outer else x.detach() for x in arguments.leaves]
    with _enable_grad(), _fwd.dual_level():
        full = arguments.filled([_fwd.make_dual(x, t) for x, t in zip(places, directions, strict=True)])
        result, aux = _with_aux(_call(func, *full), has_aux, "jvp(f, primals, tangents)")
        value = _map_tree(_primal, result)
        moved = _map_tree(lambda y: _tangent(y, strict), result)
        aux = _map_tree(_primal, aux)
    if not outer:
        value, moved, aux = (_settled(tree, (), False) for tree in (value, moved, aux))
    return (value, moved, aux) if has_aux else (value, moved)


def _primal(y: Any) -> Any:
    return _fwd.unpack_dual(y).primal if isinstance(y, _Base) else y


def _tangent(y: Any, strict: bool) -> Any:
    if not isinstance(y, _Base):
        raise _lesson(
            RuntimeError,
            f"jvp(f, primals, tangents): Expected f(*args) to return only tensors, got unsupported type {type(y).__name__}.",
            instead="return Tensors, in tuples, lists or dicts.",
        )
    pair = _fwd.unpack_dual(y)
    if pair.tangent is None and strict:
        raise _lesson(
            RuntimeError,
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
            "strict=True.",
            instead="strict=False, which gives zeros.",
        )
    return _xp.zeros_like(pair.primal.detach()) if pair.tangent is None else pair.tangent


def _pulled_twice(func: Callable[..., Any], arguments: _Arguments, directions: list[Any], has_aux: bool) -> Any:
    kept: list[Any] = []

    def flat(*leaves: Any) -> tuple[Any, ...]:
        result, aux = _with_aux(_call(func, *arguments.filled(leaves)), has_aux, "jvp(f, primals, tangents)")
        kept.extend([result, aux])
        return tuple(_leaves_of(result))

    graph = any(x.requires_grad for x in arguments.leaves)
    value, moved = _functional.jvp(flat, tuple(arguments.leaves), tuple(directions), create_graph=graph)
    value, moved = _refilled(kept[0], value), _refilled(kept[0], moved)
    return (value, moved, kept[1]) if has_aux else (value, moved)


def linearize(func: Callable[..., Any], *primals: Any) -> Any:
    """The value of `func`, and the function from tangents to the Jacobian-vector product, which evaluates it no more.

    >>> import pullback.torch as torch
    >>> value, push = torch.func.linearize(torch.exp, torch.zeros(2))
    >>> push(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    outer = _is_grad_enabled()
    arguments = _Arguments(primals, tuple(range(len(primals))))
    with _enable_grad():
        points = tuple([_point(x, outer) for x in arguments.leaves])
        value = _call(func, *arguments.filled(points))
        outputs = _leaves_of(value)
        seeds = tuple([_functional._zeros(y).requires_grad_() for y in outputs])
        products = _functional._pull(outputs, points, seeds, True)

    def push(*tangents: Any) -> Any:
        if not _alike(tangents, primals):
            raise _lesson(
                RuntimeError,
                "linearize: Expected the tangents to have the same structure as the primals",
                instead="one tangent of the same shape for each primal.",
            )
        vectors = _functional._vectors(tuple(_leaves_of(tangents)), points, "the input")
        found = _functional._pull(products, seeds, vectors, True)
        return _refilled(value, _settled(list(found), (*points, *seeds), outer))

    return _settled(value, points, outer), push


# ------------------------------------------------------------------------------------------------------------- Jacobians
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
    def transformed(*args: Any, **kwargs: Any) -> Any:
        outer = _is_grad_enabled()
        with _enable_grad():
            arguments = _Arguments(args, argnums)
            points = tuple([_point(x, outer) for x in arguments.leaves])
            result, aux = _with_aux(_call(func, *arguments.filled(points), **kwargs), has_aux, "jacrev(f)(*args)")
            graph = outer and _needs_graph(result, points)
            rows = [arguments.shaped(_rows(y, points, graph, chunk_size)) for y in _leaves_of(result)]
            jacobian = _refilled(result, [_settled(row, points, outer) for row in rows])
            return (jacobian, _settled(aux, points, outer)) if has_aux else jacobian

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
        arguments = _Arguments(args, argnums)
        blocks = []
        aux: Any = None
        structure: Any = None
        for k in range(len(arguments.leaves)):
            block, structure, aux = _columns(func, arguments, k, kwargs, has_aux, chunk_size, randomness)
            blocks.append(block)
        found = _refilled(structure, [arguments.shaped(row) for row in zip(*blocks, strict=True)])
        return (found, aux) if has_aux else found

    return transformed


def _columns(
    func: Any, arguments: _Arguments, number: int, kwargs: Any, has_aux: bool, chunk_size: int | None, randomness: str
) -> tuple[list[Any], Any, Any]:
    """The Jacobian of each result with respect to one Tensor, a result, and the auxiliary one."""
    leaves = arguments.leaves
    x = leaves[number]
    kept: list[Any] = []

    def of_one(y: Any) -> Any:
        result = func(*arguments.filled([*leaves[:number], y, *leaves[number + 1 :]]), **kwargs)
        result, aux = _with_aux(result, has_aux, "jacfwd(f)(*args)")
        kept[:] = [_map_tree(lambda _: None, result), _map_tree(_primal, aux)]
        return tuple(_leaves_of(result))

    def along(direction: Any) -> Any:
        return jvp(of_one, (x,), (direction,))[1]

    size = x.numel()
    if not size:  # nothing to move, and nothing to tell the shapes of the results from
        rows = list(jacrev(of_one)(x))
        return rows, kept[0], kept[1]
    basis = _xp.reshape(_xp.eye(size, dtype=x.dtype), (size, *x.shape))
    columns = vmap(along, out_dims=-1, randomness=randomness, chunk_size=chunk_size)(basis)
    return [_xp.reshape(c, (*c.shape[:-1], *x.shape)) for c in columns], kept[0], kept[1]


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
