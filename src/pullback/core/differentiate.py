"""``backward`` and ``grad``: check what is asked, seed the walk, hand out what it found."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from sys import getrefcount
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from pullback.core import arrays, dual, modes
from pullback.core.cuts import never_recorded, no_path, unused
from pullback.core.dual import OPEN
from pullback.core.engine import Pass, run
from pullback.core.errors import lesson
from pullback.core.graph import LEAF_NUMBER, Freed, Node, next_number, reach
from pullback.core.masked import unmask
from pullback.core.places import caller
from pullback.core.recorded import Recorded
from pullback.core.references import IN_A_VARIABLE
from pullback.core.refusal import constant
from pullback.core.tensor import Tensor, lent, wrap

#: True while a transformation of `pullback.torch.func` runs its function.
transforming: ContextVar[bool] = ContextVar("pullback transforming", default=False)
#: For each node that computed a derivative: weak references to the nodes of what it is a derivative with respect to.
_derivative_of: WeakKeyDictionary[Node, set[Any]] = WeakKeyDictionary()


class GradientEdge(NamedTuple):
    """A place in the graph, usable instead of a Tensor as output or input of `grad` and `backward`."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place of a Tensor in the graph, as it is now: later in-place writes to the Tensor do not move it.

    An edge keeps the graph alive, not the values of the Tensor.
    """
    edge = tensor._resolved()
    if edge is None:
        raise lesson(
            RuntimeError,
            "It is not possible to get the gradient edge for a Tensor that does not require gradients",
            instead="ask for gradients where the Tensor is made: tensor(..., requires_grad=True).",
        )
    return GradientEdge(*edge)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the derivative of the sum of `tensors` (weighted by `grad_tensors`) to the ``.grad`` of the leaves.

    Parameters
    ----------
    tensors
        One Tensor or several; a Tensor with more than one element needs its entry of `grad_tensors`.
    grad_tensors
        For each of `tensors` a Tensor of its shape, or ``None`` for ones.
    retain_graph
        Keep saved values for another pass; defaults to `create_graph`.
    create_graph
        Record the pass, so that the gradients can be differentiated again.
    inputs
        Accumulate only into these; those that are no leaves retain their gradient, in later passes too.

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> pb.autograd.backward(x * x)
    >>> x.grad
    tensor(6.)
    """
    _backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)


def _backward(
    tensors: Any, grad_tensors: Any, retain_graph: Any, create_graph: bool, grad_variables: Any, inputs: Any
) -> None:
    if transforming.get():
        raise lesson(
            RuntimeError,
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
            "instead or call backward() outside of functorch transforms first.",
            why="a transformation returns its derivatives, and leaves the .grad of every Tensor alone.",
            instead="torch.func.grad or torch.func.vjp inside; they can be nested.  (torch.autograd.grad works, too.)",
        )
    if grad_variables is not None:
        warnings.warn("'grad_variables' is deprecated. Use 'grad_tensors' instead.", FutureWarning, stacklevel=3)
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    outputs = _as_tuple(tensors)
    targets = None
    if inputs is not None:
        wanted = _as_tuple(list(inputs.values()) if _is_dict(inputs) else inputs)
        if not wanted:
            raise lesson(
                RuntimeError,
                "`inputs` argument to `backward()` cannot be empty.",
                instead="leave it out to accumulate into every leaf.",
            )
        targets = [_edge_of_input(x, k) for k, x in enumerate(wanted)]
        for x in wanted:
            if isinstance(x, Tensor):
                x.retain_grad()  # of no effect on leaves
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True stores gradients that hold their own graph in .grad, which holds the leaf: "
            "a reference cycle until .grad is reset. grad(..., create_graph=True) makes none.",
            UserWarning,
            stacklevel=3,
        )
    _run(outputs, _seeds(outputs, grad_tensors), targets, retain_graph, create_graph, accumulate=True, depth=4)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The derivative of the sum of `outputs` (weighted by `grad_outputs`) with respect to `inputs`.

    Parameters
    ----------
    outputs, inputs
        A Tensor or several (`inputs` may be a dict, and the result is one then).
    grad_outputs
        For each output a Tensor of its shape, or ``None`` for ones (single elements only).
    retain_graph
        Keep saved values for another pass; defaults to `create_graph`.
    create_graph
        Record the pass, so that the result can be differentiated again.
    allow_unused
        Give ``None`` for inputs that take no part, instead of an error.
    is_grads_batched
        The first axis of each of `grad_outputs` counts separate derivatives.
    materialize_grads
        Give zeros instead of ``None``.

    Returns
    -------
    tuple of Tensors, one per input, of the input's shape and dtype (a dict for a dict).

    Examples
    --------
    >>> import pullback as pb
    >>> x = pb.tensor(3.0, requires_grad=True)
    >>> pb.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if _is_dict(inputs):
        values = grad(
            outputs,
            list(inputs.values()),
            grad_outputs,
            retain_graph,
            create_graph,
            only_inputs,
            allow_unused,
            is_grads_batched,
            materialize_grads,
        )
        return dict(zip(inputs, values, strict=True))
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True).", FutureWarning, stacklevel=2
        )
    outs, ins = _as_tuple(outputs), _as_tuple(inputs)
    if not ins:
        raise lesson(RuntimeError, "`inputs` argument to `grad()` cannot be empty.", instead="at least one Tensor.")
    allow_unused = _check_materialize(ins, allow_unused, materialize_grads)
    unrecorded = [never_recorded(x) for x in ins]
    targets = [_edge_of_input(x, k) for k, x in enumerate(ins)]
    if is_grads_batched:
        return _grad_batched(outs, ins, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    seeds = _seeds(outs, grad_outputs)
    start = next_number()
    task = _run(outs, seeds, targets, retain_graph, create_graph)
    results: list[Any] = []
    taken: dict[Any, Any] = {id(seed): seed for seed in seeds}
    for k, (x, edge) in enumerate(zip(ins, targets, strict=True)):
        found = unmask(task.captured.get(edge) if edge in targets[k + 1 :] else task.captured.pop(edge, None))
        if found is not None:
            kind = type(x) if isinstance(x, Tensor) else type(outs[0]) if isinstance(outs[0], Tensor) else Tensor
            if task.settle is not None:
                results.append(lent(task.settle(_own(found, start, taken))))
            elif create_graph:
                results.append(lent(_connect(_own(found, start, taken), targets, True)))
            else:
                alone = getrefcount(found) == IN_A_VARIABLE and _is_whole(found)
                results.append(wrap(kind, found if alone else arrays.copy(found, arrays.namespace(found))))
        elif materialize_grads or _is_derivative_of(outs, edge):
            results.append(_zeros_like(x, create_graph))
        elif allow_unused:
            results.append(None)
        else:
            nodes = [_edge_of_output(output, j)[0] for j, output in enumerate(outs)]
            raise unused(k, edge, nodes, unrecorded[k])
    return tuple(results)


def _is_dict(inputs: Any) -> bool:
    """True for a dict of inputs; other mappings are refused, because the answer would be none of their kind."""
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise lesson(
            TypeError,
            f"inputs must be Tensors, a sequence or a dict, but got {type(inputs).__name__}",
            instead="dict(inputs), or a list of the Tensors.",
        )
    return isinstance(inputs, dict)


def _own(found: Tensor, start: int, taken: dict[Any, Any]) -> Tensor:
    """A derivative with a place of its own; a rule may pass on what others hold: the seed, a saved value, one Tensor twice."""
    edge = found._resolved()
    key = id(found) if edge is None else edge
    if key in taken or (edge is not None and edge[0]._number < start):
        with modes.enable_grad():
            return found.clone()  # type: ignore[attr-defined]
    taken[key] = found
    return found


def _is_whole(found: Any) -> bool:
    """True for an array that owns its memory, which may become the user's."""
    return isinstance(found, np.ndarray) and found.base is None and found.flags.owndata and found.flags.writeable


def _run(
    outputs: Any,
    seeds: Any,
    targets: Any,
    retain_graph: bool | None,
    create_graph: bool,
    accumulate: bool = False,
    depth: int = 3,
) -> Pass:
    retain = create_graph if retain_graph is None else retain_graph
    task = Pass(create_graph, retain, targets)
    if not retain:
        task.freed = Freed()
        task.freed.place = caller(depth)
    task.connect = _connect
    task.accumulate = accumulate
    settings = modes.current()._settings
    if settings.detect_anomaly:
        from pullback.core.anomaly import checker

        task.around = checker(settings)
    if settings.log is not None:
        task.around = settings.log.around(task.around)
    roots = []
    task.roots = edges = [_edge_of_output(output, k) for k, output in enumerate(outputs)]
    if OPEN and not create_graph:
        task.settle = dual.settle(edges, seeds)
        task.record = task.settle is not None
    for edge, seed in zip(edges, seeds, strict=True):
        roots.append((edge, _taken_over(seed) if task.record else seed._array))
    if settings.watcher is not None and not create_graph:
        settings.watcher.passes([edge[0] for edge, _ in roots] + [edge[0] for edge in map(_place, seeds) if edge])
    return run(roots, task)


def _taken_over(seed: Tensor) -> Tensor:
    """A seed for a recorded pass, whose graph must not change when its owner writes into it later."""
    return lent(seed, arrays.copy(seed._array, arrays.namespace(seed._array)))


def _place(value: Any) -> Any:
    return value._resolved() if isinstance(value, Tensor) else None


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (Tensor, GradientEdge)):
        return (value,)
    if isinstance(value, (str, bytes)) or arrays.is_array(value) or not isinstance(value, Iterable):
        raise _not_a_tensor(value)
    return tuple(value)


def _not_a_tensor(value: Any) -> TypeError:
    return lesson(
        TypeError,
        f"expected a Tensor or a sequence of Tensors, but got {type(value).__name__}",
        instead="pullback.tensor(value, requires_grad=True) makes a Tensor.",
    )


def _edge_of_output(output: Any, position: int) -> Any:
    if isinstance(output, GradientEdge):
        return output.node, output.output_nr
    if not isinstance(output, Tensor):
        raise _not_a_tensor(output)
    edge = output._resolved()
    if edge is None:
        raise no_path(output, position)
    return edge


def _edge_of_input(x: Any, position: int) -> Any:
    if isinstance(x, GradientEdge):
        return x.node, x.output_nr
    if not isinstance(x, Tensor):
        raise lesson(
            RuntimeError,
            f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}",
            instead="pullback.tensor(value, requires_grad=True) makes a Tensor.",
        )
    edge = x._resolved()
    if edge is None:
        raise lesson(
            RuntimeError,
            f"One of the differentiated Tensors does not require grad (input {position})",
            why="no operation on it was recorded, so nothing is known of how the outputs depend on it.",
            instead="make it with requires_grad=True before computing with it."
            if arrays.is_inexact(x.dtype)
            else f"make it floating point (it is {x.dtype}), with requires_grad=True, before computing with it.",
        )
    return edge


def _check_materialize(ins: Any, allow_unused: bool | None, materialize: bool) -> bool:
    if materialize and allow_unused is False:
        raise lesson(
            ValueError,
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.",
            why="zeros in the place of None are a way to allow unused inputs.",
            instead="leave allow_unused out.",
        )
    if materialize and any(isinstance(x, GradientEdge) for x in ins):
        raise lesson(
            RuntimeError,
            "materialize_grads cannot be used when the given input is a GradientEdge",
            instead="allow_unused=True, and zeros of your own where the result is None.",
        )
    return materialize if allow_unused is None else allow_unused


def _spec(output: Any) -> Any:
    if isinstance(output, GradientEdge):
        return output.node._specs[output.output_nr]
    return tuple(output._array.shape), output.dtype


def _seeds(outputs: Any, given: Any) -> list[Any]:
    """The first cotangents: given ones, checked; ones for single real elements."""
    if given is None:
        seeds: Sequence[Any] = [None] * len(outputs)
    elif isinstance(given, Tensor) or arrays.is_array(given) or not isinstance(given, Iterable):
        seeds = [given]
    else:
        seeds = list(given)
    if len(outputs) == 1 and seeds and all(isinstance(seed, (int, float, complex)) for seed in seeds):
        raise _not_a_seed(given)  # a list of numbers for one output
    if len(seeds) != len(outputs):
        raise lesson(
            RuntimeError,
            f"got {len(outputs)} tensors and {len(seeds)} gradients",
            instead="one gradient (or None) per output.",
        )
    for output in outputs:
        if not isinstance(output, (Tensor, GradientEdge)):
            raise _not_a_tensor(output)
    return [_seed(output, seed, k) for k, (output, seed) in enumerate(zip(outputs, seeds, strict=True))]


def _seed(output: Any, seed: Any, position: int) -> Any:
    shape, dtype = _spec(output)
    kind = type(output) if isinstance(output, Tensor) else Tensor
    if seed is None:
        if math.prod(shape) != 1:
            raise lesson(
                RuntimeError,
                f"grad can be implicitly created only for scalar outputs, output {position} has shape {list(shape)}",
                why="a derivative of several elements needs to know their weights.",
                instead="y.sum(), or one weight per element: y.backward(weights), grad(y, x, weights).",
            )
        if arrays.is_complex(dtype):
            raise lesson(
                RuntimeError,
                f"grad can be implicitly created only for real scalar outputs but got {dtype}",
                instead="differentiate a real function of it, such as abs(y), or pass the gradient.",
            )
        xp = arrays.namespace(output._array) if isinstance(output, Tensor) else np
        return wrap(kind, xp.ones(shape, dtype=arrays.from_numpy_dtype(dtype, xp)))
    if not isinstance(seed, Tensor):
        raise _not_a_seed(seed)
    if tuple(seed._array.shape) != tuple(shape):
        raise lesson(
            RuntimeError,
            f"Mismatch in shape: grad_output[{position}] has a shape of {seed.shape!r} and output[{position}] has a shape of "
            f"{output.shape if isinstance(output, Tensor) else shape!r}.",
            why="there is one weight per element; nothing is broadcast here.",
            instead="a gradient of the output's own shape.",
        )
    if arrays.is_complex(seed.dtype) != arrays.is_complex(dtype):
        raise lesson(
            RuntimeError,
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{position}] has a dtype of {seed.dtype} and output[{position}] has a dtype of {dtype}.",
            why="a real gradient of a complex output would leave out half of it, and the other way round.",
            instead="a gradient of the output's own dtype: gradient.astype(output.dtype), or its real part.",
        )
    if seed.dtype != dtype:
        xp = arrays.namespace(seed._array)
        return (
            Recorded.xp.astype(seed, dtype) if seed.requires_grad else wrap(kind, arrays.cast(seed._array, dtype, xp))
        )
    return seed


def _not_a_seed(value: Any) -> TypeError:
    return lesson(
        TypeError,
        f"gradients can be either Tensors or None, but got {type(value).__name__}",
        instead="pullback.asarray(weights), with one weight per element of the output.",
    )


def _connect(found: Any, targets: Any, create_graph: bool) -> Any:
    """Under create_graph: make a derivative differentiable, and remember what it is a derivative of."""
    found = unmask(found)
    if not create_graph:
        return found
    if not found.requires_grad:
        return constant(found, targets)
    node = found._resolved()[0]
    if node._number != LEAF_NUMBER:
        _derivative_of.setdefault(node, set()).update(ref(edge[0]) for edge in targets)
    return found


def _is_derivative_of(outputs: Any, edge: Any) -> bool:
    """True when the outputs come from a derivative with respect to this input that happens not to depend on it."""
    order, _ = reach([_edge_of_output(output, k)[0] for k, output in enumerate(outputs)])
    wanted = ref(edge[0])
    return any(wanted in _derivative_of.get(node, ()) for node in order)


def _zeros_like(x: Any, create_graph: bool) -> Any:
    shape, dtype = _spec(x)
    kind = type(x) if isinstance(x, Tensor) else Tensor
    xp = arrays.namespace(x._array) if isinstance(x, Tensor) else np
    zeros = wrap(kind, arrays.zeros(shape, dtype, xp))
    return constant(zeros, [x._resolved()]) if create_graph and isinstance(x, Tensor) else zeros


def _grad_batched(outs: Any, ins: Any, grad_outputs: Any, retain: Any, create: bool, allow: bool, zeros: bool) -> Any:
    """One pass with a batch of seeds, along their first axes."""
    seeds = _as_tuple(grad_outputs)
    for position, (output, seed) in enumerate(zip(outs, seeds, strict=True)):
        shape = tuple(_spec(output)[0])
        if tuple(seed._array.shape[1:]) != shape or seed.ndim == 0:
            raise lesson(
                RuntimeError,
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
                f"sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
                f"detected: grad_output[{position}] has a shape of {seed.shape!r} and output[{position}] has a shape of "
                f"{output.shape!r}.",
                instead="stack the gradients along a new first axis: one of the output's shape for each derivative.",
            )
    from pullback.batching import pull_batch

    return pull_batch(
        lambda inside: grad(
            outs,
            ins,
            inside,
            retain_graph=retain,
            create_graph=create,
            allow_unused=allow,
            materialize_grads=zeros,
        ),
        list(seeds),
        seeds[0].shape[0],
    )


def tensor_backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the derivative of this Tensor to the ``.grad`` of the leaves; see `pullback.autograd.backward`."""
    _backward(self, gradient, retain_graph, create_graph, None, inputs)


Tensor.backward = tensor_backward  # type: ignore[attr-defined]
