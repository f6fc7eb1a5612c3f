"""Derivatives of functions: take a function, give a function.

    grad(f)(x)                gradient of a scalar function       value_and_grad(f)(x)   with its value
    jacobian(f)(x)            all first derivatives               hessian(f)(x)          all second ones
    vjp(f, x)                 value, and the map  ȳ → Jᵀ ȳ        hvp(f)(x, v)           H v, without H
    jvp(f, (x,), (v,))        value, and  J v               vmap(f)(xs)            f of a whole batch at once

The functions are ordinary Python on arrays: they receive Tensors in the place of the arguments that are differentiated.

*What comes in goes out*: Python's numbers give Python's numbers, NumPy's give NumPy's, arrays give arrays, Tensors give
Tensors.  There is one exception, so
that no derivative is ever cut off silently: a result that depends on *other* Tensors that require gradients (captured
ones, or those of an enclosing transform) is a Tensor, connected to them.

Every call makes variables of its own.  So transforms nest to any order, a derivative is never confused with that of an
enclosing call, and ``.grad`` of nobody is touched.  Inside, recording is on whatever the mode around is; under
`no_grad` the results are not connected to anything.

Arguments and results may also be tuples, lists and dicts of arrays; derivatives have the same structure.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.differentiate import grad as _grad
from pullback.core.differentiate import transforming
from pullback.core.errors import lesson
from pullback.core.graph import Node, reach
from pullback.core.leaving import running_transforms
from pullback.core.recorded import Recorded
from pullback.core.tangents import at, carries, settled
from pullback.core.tensor import Tensor, wrap
from pullback.core.trees import leaves_of, outline, refilled

__all__ = ["grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp", "vmap"]


def _name(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


# ---------------------------------------------------------------------------------------------------------- variables
class Variable(Node):
    """The place of a variable of one call: the way out to the argument it stands for, where that is in a graph.

    ``open`` until the call returns: so long, what is computed from it may have to be differentiated.
    """

    __slots__ = ("open",)

    def __init__(self, kind: Any, array: Any, edge: Any) -> None:
        self.open = True
        super().__init__((edge,) if edge else (), kind, array.shape, arrays.dtype_of(array))

    def _name(self) -> str:
        return "VariableBackward"

    def _pull(self, cotangents: list[Any], task: Any) -> Any:
        return cotangents


def _make(kind: Any, array: Any, edge: Any = None, buffer: Any = None) -> Tensor:
    """A Tensor that is differentiated, over memory that must not be written through it."""
    return wrap(kind, arrays.readonly(array), buffer, (Variable(kind, array, edge), 0))


def _zeros(like: Tensor, shape: Any) -> Tensor:
    return wrap(type(like), arrays.zeros(tuple(shape), like.dtype, arrays.namespace(like._array)))


def _not_differentiable(what: str, dtype_or_type: Any) -> TypeError:
    return lesson(
        TypeError,
        f"{what} cannot be differentiated: it is {dtype_or_type}",
        why="a derivative needs floating-point values, which can change by small amounts.",
        instead="make it floating point: np.asarray(x, dtype=float); or choose other arguments with argnums.",
    )


def _array_of(value: Any, what: str) -> Any:
    """The bare floating-point array behind an argument."""
    if isinstance(value, Tensor):
        array = value._array
    elif isinstance(value, (int, float, complex)) and not isinstance(value, bool):
        array = np.asarray(value if isinstance(value, complex) else float(value))
    elif arrays.is_array(value):
        array = np.asarray(value) if isinstance(value, np.generic) else value
    else:
        raise _not_differentiable(what, type(value).__name__)
    if not arrays.is_inexact(arrays.dtype_of(array)):
        raise _not_differentiable(what, arrays.dtype_of(array))
    return array


def _variable(value: Any, what: str, recording: bool, lasting: bool) -> Tensor:
    """A fresh variable with the value of an argument, connected to what the argument depends on.

    `lasting` ones are used after the call has returned, and so are those of a Tensor on which the results depend: they have
    to notice writes to the argument.
    """
    array = _array_of(value, what)
    if not isinstance(value, Tensor):
        return _make(Tensor, arrays.copy(array, arrays.namespace(array)) if lasting else array)
    buffer = value._shared_buffer() if lasting or (recording and value.requires_grad) else value._buffer
    variable = _make(type(value), array, value._resolved() if recording else None, buffer)
    variable._edge = at(variable._edge, value)
    return variable


class _Call:
    """One call of a function: its variables, what it returned, and whether the results depend on anything else."""

    def __init__(self, f: Any, args: tuple[Any, ...], argnums: Any, lasting: bool = False) -> None:
        self.f = f
        self.recording = modes.is_grad_enabled()
        self.positions = _positions(f, args, argnums)
        self.given = tuple([args[k] for k in self.positions])
        variables: dict[int, list[Tensor]] = {}
        for k in set(self.positions):
            what = f"argument {k} of {_name(f)}"
            variables[k] = [_variable(leaf, what, self.recording, lasting) for leaf in leaves_of(args[k])]
        self.flat = [x for k in self.positions for x in variables[k]]
        self.args = [refilled(arg, iter(variables[k])) if k in variables else arg for k, arg in enumerate(args)]
        given = leaves_of(self.given)
        self.plain = not any(isinstance(leaf, Tensor) for leaf in given)
        self.example = 0.0 if all(type(leaf) in _NUMBERS for leaf in given) else np.float64(0)

    def run(self, kwargs: dict[str, Any], has_aux: bool = False) -> tuple[Any, Any]:
        """Call the function on the variables: what it returned, and the auxiliary part of that."""
        with modes.enable_grad():
            result = self.f(*self.args, **kwargs)
        value, aux = self._split(result) if has_aux else (result, None)
        self.outputs = leaves_of(value)
        self.connected = self.recording and self._reaches_out(leaves_of(result))
        return value, aux

    def _split(self, result: Any) -> Any:
        if isinstance(result, tuple) and len(result) == 2:
            return result
        raise lesson(
            TypeError,
            f"with has_aux=True, {_name(self.f)} has to return a pair (value, aux), but returned "
            f"{type(result).__name__}",
            instead="return value, aux.",
        )

    def _reaches_out(self, results: list[Any]) -> bool:
        """Whether the results depend on Tensors outside: through an argument, or captured by the function."""
        own = {x._resolved()[0] for x in self.flat}
        if any(variable._edges for variable in own):
            return True
        order, leaves = reach([edge[0] for y in results if isinstance(y, Tensor) and (edge := y._resolved())])
        return bool(leaves) or any(n.__class__ is Variable and n.open and n not in own for n in order)

    def __enter__(self) -> _Call:
        running_transforms.add(id(self))
        return self

    def __exit__(self, *exception: object) -> None:
        running_transforms.discard(id(self))
        for x in self.flat:
            x._resolved()[0].open = False

    def pull(
        self, outputs: list[Tensor], seeds: list[Any] | None, create_graph: bool, keep: bool = False
    ) -> list[Tensor]:
        """The cotangents of the variables."""
        live = [k for k, y in enumerate(outputs) if y.requires_grad]
        if not live:
            return [_zeros(x, x.shape) for x in self.flat]
        return list(
            _grad(
                [outputs[k] for k in live],
                self.flat,
                None if seeds is None else [seeds[k] for k in live],
                retain_graph=True if keep else None,
                create_graph=create_graph,
                materialize_grads=True,
            )
        )

    def pull_all(self, y: Tensor, size: int) -> list[Tensor]:
        """The derivatives of all entries of a result, along a first axis: so many of them in one pass."""
        from pullback.batching import pull_entries

        return pull_entries(y, lambda entry: self.pull([entry], None, self.connected, keep=True), size)

    def per_argument(self, leaves: list[Any]) -> tuple[Any, ...]:
        """One entry per differentiated argument, in its structure and of its kind (Tensor, array, number)."""
        entries = iter([self._as_given(x, given) for x, given in zip(leaves, leaves_of(self.given), strict=True)])
        return tuple([refilled(given, entries) for given in self.given])

    def _as_given(self, found: Tensor, given: Any) -> Any:
        if self.connected or found.requires_grad or isinstance(given, Tensor) or carries(found) or is_batched(found):
            return found
        return _bare(found._array, given)

    def leave(self, tree: Any) -> Any:
        """What the function returned, as its caller gets it."""
        return refilled(tree, [self._outside(leaf) for leaf in leaves_of(tree)])

    def _outside(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or self.connected or (is_batched(value) and not value.requires_grad):
            return value
        if carries(value):
            return settled(value)
        return (
            _bare(value._array, self.example)
            if self.plain and not is_batched(value)
            else wrap(type(value), value._array)
        )


def _positions(f: Any, args: tuple[Any, ...], argnums: Any) -> tuple[int, ...]:
    wanted = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    for k in wanted:
        if not -len(args) <= k < len(args):
            raise lesson(
                TypeError,
                f"argnums={argnums!r}, but {_name(f)} was called with {len(args)} positional arguments",
                instead="differentiated arguments are passed by position, and counted from 0.",
            )
    return tuple([k % len(args) for k in wanted])


_NUMBERS = (float, int, complex)


def _bare(array: Any, given: Any) -> Any:
    """An array of the caller's own: a writable copy; one entry as a number of the kind of `given`, Python's or NumPy's."""
    if not isinstance(array, np.ndarray):
        return array
    if array.ndim or isinstance(given, np.ndarray):
        return np.array(array, order="C")
    return array.item() if type(given) in _NUMBERS else array[()]


def _one_or_all(argnums: Any, entries: tuple[Any, ...]) -> Any:
    return entries if isinstance(argnums, (tuple, list)) else entries[0]


def _scalar(f: Any, outputs: list[Any], value: Any) -> Tensor:
    """The one real number that a function returned, as a Tensor."""
    if len(outputs) == 1 and outputs[0] is value:
        y = value if isinstance(value, Tensor) else _constant(f, value)
        if arrays.size(y._array) == 1 and not arrays.is_complex(y.dtype):
            return y
        what = f"an array of shape {tuple(y.shape)}" if arrays.size(y._array) != 1 else f"a complex number ({y.dtype})"
    else:
        what = f"a {type(value).__name__}"
    raise lesson(
        RuntimeError,
        f"grad needs a function that returns one real number, but {_name(f)} returned {what}",
        why="a gradient is the derivative of one number; several numbers have a Jacobian.",
        instead="jacobian(f) for all derivatives, vjp(f, x) for a weighted sum of them, or reduce the result: "
        "f(x).sum(); of a complex number take abs or real.  For (value, extra) pass has_aux=True.",
    )


def _constant(f: Any, value: Any) -> Tensor:
    """A result that does not depend on the arguments."""
    if not isinstance(value, (int, float, complex)) and not arrays.is_array(value):
        raise lesson(
            TypeError,
            f"{_name(f)} returned {type(value).__name__}, which cannot be differentiated",
            instead="return a Tensor, a number, or tuples, lists and dicts of them.",
        )
    return wrap(Tensor, np.asarray(value) if isinstance(value, (int, float, complex)) else value)


# --------------------------------------------------------------------------------------------------------- transforms
def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The gradient of a scalar function, as a function of the same arguments.

    Parameters
    ----------
    f
        Takes arrays or Tensors, returns one real number (an array with a single entry).
    argnums
        Which positional argument to differentiate; several in a tuple give a tuple of gradients.
    has_aux
        `f` returns a pair ``(value, aux)``, and the result is ``(gradient, aux)``.

    Returns
    -------
    A function.  Its result has the shape, dtype and kind (number, array, Tensor) of the differentiated argument.

    Raises
    ------
    RuntimeError
        When `f` returns anything but one real number.
    TypeError
        When an argument to differentiate is not of floating-point or complex dtype (a Python integer counts as a
        float).

    Examples
    --------
    >>> import pullback as pb
    >>> def f(x):
    ...     return x ** 3
    >>> grad(f)(2.0), grad(grad(f))(2.0), grad(grad(grad(f)))(2.0)
    (12.0, 12.0, 6.0)
    """
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def value_and_grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The value and the gradient of a scalar function, from one evaluation; see `grad` for the parameters.

    This is what ``scipy.optimize.minimize(..., jac=True)`` takes.  With `has_aux` the result is ``((value, aux),
    gradient)``.

    Examples
    --------
    >>> import numpy as np
    >>> def f(x):
    ...     return (x * x).sum()
    >>> value_and_grad(f)(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """

    @functools.wraps(f)
    def both(*args: Any, **kwargs: Any) -> Any:
        with _Call(f, args, argnums) as call:
            value, aux = call.run(kwargs, has_aux)
            found = call.pull([_scalar(f, call.outputs, value)], None, call.connected)
        result = call.leave((value, aux) if has_aux else value)
        return result, _one_or_all(argnums, call.per_argument(found))

    return both


def vjp(f: Callable[..., Any], *args: Any, has_aux: bool = False) -> Any:
    """The value of a function, and the map that pulls cotangents of the result back to cotangents of the arguments.

    Parameters
    ----------
    f
        Any function of arrays or Tensors; its result may also be a tuple, list or dict of them.
    args
        Where to evaluate it; all are differentiated.
    has_aux
        `f` returns a pair ``(value, aux)``, and the result is ``(value, pull, aux)``.

    Returns
    -------
    ``value, pull``.  ``pull(cotangent)`` takes what has the structure and shapes of the value, and gives a tuple with
    one entry per argument.  It may be called any number of times.

    Examples
    --------
    >>> import numpy as np
    >>> value, pull = vjp(lambda x, y: x * y, np.array([1.0, 2.0]), 3.0)
    >>> value, pull(np.array([1.0, 10.0]))
    (array([3., 6.]), (array([ 3., 30.]), 21.0))
    """
    with _Call(f, args, tuple(range(len(args))), lasting=True) as call:
        value, aux = call.run({}, has_aux)
    outputs = [y if isinstance(y, Tensor) else _constant(f, y) for y in call.outputs]

    def pull(cotangent: Any) -> tuple[Any, ...]:
        seeds = [_weight(s, y, "the cotangent") for s, y in zip(_matching(cotangent, value), outputs, strict=True)]
        record = call.connected or (modes.is_grad_enabled() and any(s.requires_grad for s in seeds))
        return call.per_argument(call.pull(outputs, seeds, record, keep=True))

    result = call.leave(value)
    return (result, pull, call.leave(aux)) if has_aux else (result, pull)


def jvp(f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], has_aux: bool = False) -> Any:
    """The value of a function, and its derivative in a direction.

    Pulls back twice: the map ``u → Jᵀ u`` is linear, and its own pullback is ``v → J v``.  So everything that can be
    differentiated twice has a jvp, at the cost of about two backward passes.

    Parameters
    ----------
    f
        Any function of arrays or Tensors; its result may also be a tuple, list or dict of them.
    primals
        The arguments, in a tuple.
    tangents
        A direction per argument, of its structure and shape.
    has_aux
        `f` returns a pair ``(value, aux)``, and the result is ``(value, tangent, aux)``.

    Returns
    -------
    ``value, tangent``, of the same structure and shapes.

    Examples
    --------
    >>> import numpy as np
    >>> jvp(lambda x: x * x, (np.array([1.0, 2.0]),), (np.array([1.0, 0.5]),))
    (array([1., 4.]), array([2., 2.]))
    """
    with _Call(f, tuple(primals), tuple(range(len(primals)))) as call:
        value, aux = call.run({}, has_aux)
        pairs = zip(_matching(tuple(tangents), call.given), call.flat, strict=True)
        outputs = [y if isinstance(y, Tensor) else _constant(f, y) for y in call.outputs]
        found = _push(call, outputs, [_weight(v, x, "the tangent") for v, x in pairs])
    pushed = iter([t if t.requires_grad else call._outside(t) for t in found])
    result = call.leave(value), refilled(value, pushed)
    return (*result, call.leave(aux)) if has_aux else result


def _push(call: _Call, outputs: list[Tensor], directions: list[Tensor]) -> list[Tensor]:
    """``J v``: the pullback of the pullback."""
    found = [_zeros(y, y.shape) for y in outputs]
    live = [k for k, y in enumerate(outputs) if y.requires_grad]
    if not live:
        return found
    weights = [_make(type(found[k]), found[k]._array) for k in live]
    with modes.enable_grad():
        pulled = call.pull([outputs[k] for k in live], weights, create_graph=True)
    record = call.connected or (call.recording and any(v.requires_grad for v in directions))
    pushed = _grad(pulled, weights, directions, create_graph=record, materialize_grads=True)
    for k, tangent, weight in zip(live, pushed, weights, strict=True):
        found[k] = tangent
        weight._edge[0].open = False
    return found


def jacobian(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """All first derivatives of a function, as a function of the same arguments.

    One backward pass for all entries of the result of `f` at once (or for `chunk_size` of them, where memory is short).

    Parameters
    ----------
    f
        Any function of arrays or Tensors; its result may also be a tuple, list or dict of them.
    argnums
        Which positional argument to differentiate; several in a tuple give a tuple of Jacobians.
    has_aux
        `f` returns a pair ``(value, aux)``, and the result is ``(jacobian, aux)``.
    chunk_size
        So many rows in one pass: each array that the pass computes has as many times the entries.

    Returns
    -------
    A function.  Its result has the shape ``result.shape + argument.shape``; for a structure of results, that structure
    of Jacobians.  It is exactly 0 where a result does not depend on an entry of the argument.

    Examples
    --------
    >>> import numpy as np
    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """

    @functools.wraps(f)
    def derivative(*args: Any, **kwargs: Any) -> Any:
        with _Call(f, args, argnums) as call:
            value, aux = call.run(kwargs, has_aux)
            rows = [_rows(call, y if isinstance(y, Tensor) else _constant(f, y), chunk_size) for y in call.outputs]
        blocks = [_one_or_all(argnums, call.per_argument(found)) for found in rows]
        result = refilled(value, iter(blocks))
        return (result, call.leave(aux)) if has_aux else result

    return derivative


def _rows(call: _Call, y: Tensor, chunk_size: int | None) -> list[Tensor]:
    """For each variable the derivatives of all entries of one result, stacked."""
    n = arrays.size(y._array)
    if n == 0 or not y.requires_grad:
        return [_zeros(x, (*y.shape, *x.shape)) for x in call.flat]
    if arrays.is_complex(y.dtype):
        raise lesson(
            RuntimeError,
            f"jacobian needs real results, but {_name(call.f)} returned {y.dtype}",
            why="a function of complex numbers has two derivatives, with respect to z and to its conjugate.",
            instead="jacobian of the real and of the imaginary part, or vjp(f, x).",
        )
    with modes.enable_grad():
        rows = call.pull_all(y, n if chunk_size is None else chunk_size)
        return [Recorded.xp.reshape(g, (*y.shape, *x.shape)) for g, x in zip(rows, call.flat, strict=True)]


def hessian(
    f: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """All second derivatives of a scalar function, as a function of the same arguments: ``jacobian(grad(f))``.

    Parameters
    ----------
    f, argnums, has_aux, chunk_size
        As for `grad` and `jacobian`; several argnums give a tuple of tuples of blocks.

    Returns
    -------
    A function.  Its result has the shape ``argument.shape + argument.shape``.  It is as symmetric as the rules of the
    operators are right (up to rounding): it is not made so, because a Hessian that is not symmetric tells of a wrong
    rule.

    Examples
    --------
    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacobian(grad(f, argnums, has_aux), argnums, has_aux, chunk_size=chunk_size)


def hvp(f: Callable[..., Any]) -> Callable[..., Any]:
    """Products of the Hessian of a scalar function with a vector, without the Hessian: ``hvp(f)(x, v)``.

    This is what ``scipy.optimize.minimize(..., hessp=hvp(f))`` takes.

    Parameters
    ----------
    f
        A scalar function, differentiated with respect to its first argument `x`.

    Returns
    -------
    A function of ``(x, v, *args)``, with further arguments handed to `f`.  Its result has the structure and shapes of
    `x`.

    Examples
    --------
    >>> import numpy as np
    >>> hvp(lambda x: (x ** 3).sum())(np.array([1.0, 2.0]), np.array([1.0, 0.5]))
    array([6., 6.])
    """

    @functools.wraps(f)
    def product(x: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        _, pull = vjp(lambda primal: grad(f)(primal, *args, **kwargs), x)
        return pull(v)[0]

    return product


def vmap(
    f: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function of one example as a function of a batch of them, computed at once.

    Parameters
    ----------
    f
        Takes arrays or Tensors and returns them, also in tuples, lists and dicts.  It is called once.
    in_dims
        The batch axis of each positional argument: an integer, ``None`` for what all examples share, or these in the
        structure of the arguments.
    out_dims
        Where the batch axis is put in the results.
    randomness
        What the random functions of `pullback.torch` do inside: ``"error"``, ``"same"`` numbers for all examples, or
        ``"different"`` ones.
    chunk_size
        So many examples at a time, where memory is short.

    Returns
    -------
    A function.  Its results are arrays where all arguments are, unless they depend on Tensors that require gradients.

    Raises
    ------
    ValueError
        When axes or sizes do not fit.
    RuntimeError
        When `f` has to look at the numbers (``if x > 0``, ``float(x)``), or writes values that differ between the examples
        into an array that they share.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> xs = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> vmap(lambda x: pb.sum(x * x))(xs)
    array([ 5., 25.])
    >>> vmap(grad(lambda w, x: pb.sum(w * x) ** 2), in_dims=(None, 0))(np.array([1.0, 0.0]), xs)
    array([[ 2.,  4.],
           [18., 24.]])
    """
    from pullback.batching import mapped

    def call(f: Any, *args: Any, **kwargs: Any) -> Any:
        token = transforming.set(True)  # there is no backward() inside: whose .grad would it be?
        try:
            return f(*args, **kwargs)
        finally:
            transforming.reset(token)

    run = mapped(f, in_dims, out_dims, randomness, chunk_size, call, False)

    @functools.wraps(f)
    def over_batch(*args: Any, **kwargs: Any) -> Any:
        result = run(*args, **kwargs)
        if any(isinstance(leaf, Tensor) for leaf in leaves_of(args)):
            return result
        return refilled(result, [_as_array(leaf) for leaf in leaves_of(result)])

    return over_batch


def _as_array(found: Any) -> Any:
    """A result as an array, where nothing else depends on it."""
    bare = isinstance(found, Tensor) and not found.requires_grad and not carries(found)
    return found._array if bare and not is_batched(found) else found


def is_batched(x: Tensor) -> bool:
    """Whether a value belongs to a batch that is being mapped over."""
    return hasattr(x._array, "batch")


def _matching(tree: Any, pattern: Any) -> list[Any]:
    """The leaves of a cotangent or tangent, which must have the structure of what it belongs to."""
    if outline(tree) != outline(pattern):
        raise lesson(
            TypeError,
            f"expected the structure {outline(pattern)}, but got {outline(tree)}",
            why="there is one weight for each array.",
            instead="the same tuples, lists and dicts, with an array of the right shape in each place.",
        )
    return leaves_of(tree)


def _weight(weight: Any, like: Tensor, what: str) -> Tensor:
    """A cotangent or tangent as a Tensor with the shape and dtype of what it belongs to."""
    if not isinstance(weight, Tensor):
        weight = wrap(type(like), np.asarray(weight) if np.isscalar(weight) else weight)
    if not arrays.is_array(weight._array) or tuple(weight.shape) != tuple(like.shape):
        raise lesson(
            ValueError,
            f"{what} has the shape {tuple(np.shape(weight._array))}, expected {tuple(like.shape)}",
            why="there is one weight for each entry; nothing is broadcast here.",
            instead="an array of that shape.",
        )
    if weight.dtype == like.dtype:
        return weight
    if arrays.is_complex(weight.dtype) and not arrays.is_complex(like.dtype):
        raise lesson(
            ValueError,
            f"{what} is {weight.dtype}, but belongs to values of {like.dtype}",
            instead="a real weight.",
        )
    return Recorded.xp.astype(weight, like.dtype)
