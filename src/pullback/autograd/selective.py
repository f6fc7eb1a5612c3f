"""Checkpoints that keep some results: what is dear to compute is kept, the rest is computed again.

A policy is asked at every operator.  Where it says so the result is kept, and the second call of the function finds it in the
place of a computation; what such an operator saved of its arguments is computed again all the same.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any

from pullback.core import arrays, modes
from pullback.core.errors import lesson
from pullback.core.function import Function
from pullback.core.packing import SavedTensorHooks
from pullback.core.primitive import Primitive
from pullback.core.refusal import Constant
from pullback.core.tensor import Tensor, wrap
from pullback.ops.registry import REGISTRY

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What becomes of the result of an operator; ``MUST`` and ``PREFER`` mean the same, since nothing overrules a policy."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5

    @property
    def saves(self) -> bool:
        """Whether the result is kept (in the same memory: there is no other)."""
        return self not in (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


class SelectiveCheckpointContext:
    """What a policy is told besides the operator: whether this is the first call of the function or a later one."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


#: The names that torch and NumPy have for operators.
_NAMES = {
    "absolute": "abs",
    "bmm": "matmul",
    "concatenate": "concat",
    "cat": "concat",
    "div": "divide",
    "mm": "matmul",
    "mul": "multiply",
    "mv": "matmul",
    "neg": "negative",
    "sub": "subtract",
    "true_divide": "divide",
}


def operator_of(function: Any) -> Any:
    """The operator behind a public function, such as ``matmul``; a Function or Primitive stands for itself.

    Raises
    ------
    ValueError
        For a function that is composed of several operators.
    """
    function = getattr(function, "operator", function)  # torch.ops.aten.mm
    if isinstance(function, type) and issubclass(function, (Primitive, Function)):
        return function
    name = function if isinstance(function, str) else getattr(function, "__name__", "")
    record = REGISTRY.get(_NAMES.get(name, name))
    if record is None or record.operator is None:
        raise lesson(
            ValueError,
            f"{name or function!r} is no single operator, so its result cannot be kept",
            why="a policy is asked at every operator; other functions are composed of several.",
            instead="the operators that it is made of (matmul, exp, sum, ...), a Function or Primitive class, or a policy "
            "function, which is called with every operator.",
        )
    return record.operator


class _Kept:
    """The result of one call, and what it saved: an argument by its position, or anything else as it is."""

    def __init__(self, outputs: list[Any], single: bool, saved: list[Any]) -> None:
        self.single = single
        self.saved = saved
        self.outputs = [_Output(y) if isinstance(y, Tensor) else y for y in outputs]


class _Output:
    """A result without its place in the graph, which would hold all of it."""

    def __init__(self, tensor: Tensor) -> None:
        self.kind = type(tensor)
        self.array = tensor._array
        self.buffer = tensor._shared_buffer()
        self.version = self.buffer.version
        self.differentiable = tensor.requires_grad

    def copied(self) -> _Output:
        """The same in memory of its own, which nobody writes into."""
        self.array = arrays.copy(self.array, arrays.namespace(self.array))
        return self

    def again(self, operator: Any, mutable: bool) -> Tensor:
        """The result, at a place in the graph that leads nowhere."""
        if mutable:
            tensor = wrap(self.kind, arrays.copy(self.array, arrays.namespace(self.array)))
        elif self.buffer.version == self.version:
            tensor = wrap(self.kind, self.array)
        else:
            raise lesson(
                RuntimeError,
                f"Tensor cached during selective activation checkpoint has been mutated: the result of {operator.__name__}",
                why="it was kept in the place of a second computation, and was written in place since.",
                instead="the operation out of place, or allow_cache_entry_mutation=True, which keeps a copy.",
            )
        if self.differentiable:
            tensor._edge = (Constant((), tensor), 0)
        return tensor


class _Selecting(modes._Switch):
    """One of the two contexts: inside, `call` is called in the place of operators."""

    def __new__(cls, *args: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, policy: Callable[..., Any], kept: dict[Any, list[_Kept]], mutable: bool) -> None:
        super().__init__()
        self.policy = policy
        self.kept = kept
        self.mutable = mutable

    def mode(self) -> Any:
        old = modes.current()
        return modes.plain(old._recording, old._settings.replace(operators=self.call))

    def call(self, operator: Any, args: Any, options: Any) -> Any:
        """Apply an operator, or find what it gave."""
        mode = modes.current()
        settings = mode._settings.replace(operators=None)
        token = modes.enter(modes.plain(mode._recording, settings))
        try:
            recorded = mode._recording and any(isinstance(x, Tensor) and x.requires_grad for x in args)
            if not recorded or getattr(operator, "view", False) or not self.saves(operator, args, options):
                return operator.apply(*args, **options)
            return self.selected(operator, args, options, settings.hooks)
        finally:
            modes.leave(token)

    def saves(self, operator: Any, args: Any, options: Any) -> bool:
        """Ask the policy."""
        context = SelectiveCheckpointContext(is_recompute=isinstance(self, _Finding))
        answer = self.policy(context, operator, *args, **options)
        return answer.saves if isinstance(answer, CheckpointPolicy) else bool(answer)

    def selected(self, operator: Any, args: Any, options: Any, hooks: Any) -> Any:
        raise NotImplementedError


class _Keeping(_Selecting):
    """The first call: results that the policy names are kept."""

    def selected(self, operator: Any, args: Any, options: Any, hooks: Any) -> Any:
        """Apply the operator and keep its result."""
        saved: list[Any] = []

        def pack(tensor: Tensor) -> Any:
            position = next((k for k, x in enumerate(args) if x is tensor), None)
            saved.append(wrap(type(tensor), tensor._array) if position is None else position)
            return hooks.pack(tensor)

        mode = modes.current()
        noting = SavedTensorHooks(pack, hooks.unpack) if isinstance(hooks, SavedTensorHooks) else hooks
        token = modes.enter(modes.plain(True, mode._settings.replace(hooks=noting)))
        try:
            answer = operator.apply(*args, **options)
        finally:
            modes.leave(token)
        single = not isinstance(answer, tuple)
        kept = _Kept([answer] if single else list(answer), single, saved)
        if self.mutable:
            kept.outputs = [y.copied() if isinstance(y, _Output) else y for y in kept.outputs]
        self.kept.setdefault(operator, []).append(kept)
        return answer


class _Finding(_Selecting):
    """The calls in the backward pass: what was kept stands in the place of a computation."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.used: dict[Any, int] = {}

    def __enter__(self) -> None:
        self.used = {}
        super().__enter__()

    def selected(self, operator: Any, args: Any, options: Any, hooks: Any) -> Any:
        """The kept result, and what the operator saved."""
        number = self.used.get(operator, 0)
        entries = self.kept.get(operator, ())
        if number >= len(entries):
            raise lesson(
                RuntimeError,
                f"{operator.__name__} encountered during backward, but not found in storage: the policy did not keep its result "
                "in the first call",
                why="a policy has to give the same answers in both calls.",
                instead="a policy that depends on the operator and its arguments only.",
            )
        kept = entries[number]
        if isinstance(hooks, SavedTensorHooks):
            for source in kept.saved:
                hooks.pack(args[source] if isinstance(source, int) else source)
        self.used[operator] = number + 1  # only now: inside vmap an operator may be tried again, entry by entry
        outputs = [y.again(operator, self.mutable) if isinstance(y, _Output) else y for y in kept.outputs]
        return outputs[0] if kept.single else tuple(outputs)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | Iterable[Any], allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """The two contexts of a checkpoint that keeps some results.

    Parameters
    ----------
    policy_fn_or_list
        ``policy(context, operator, *args, **options)`` gives a `CheckpointPolicy`, or whether to keep the result; or a list of
        the operators whose results are kept, as public functions (``[pb.matmul]``) or classes.
    allow_cache_entry_mutation
        Keep copies, so that the function may write into the results.

    Returns
    -------
    tuple of two contexts, for the first call of the function and for the second.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> from pullback.torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> w = torch.eye(2, requires_grad=True)
    >>> keep_products = lambda: create_selective_checkpoint_contexts([torch.matmul])
    >>> y = checkpoint(lambda x: torch.sin(x @ w), torch.ones(2, 2), context_fn=keep_products)
    >>> y.sum().backward()
    """
    if callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        chosen = {operator_of(function) for function in policy_fn_or_list}

        def policy(context: Any, operator: Any, *args: Any, **options: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if operator in chosen else CheckpointPolicy.PREFER_RECOMPUTE

    kept: dict[Any, list[_Kept]] = {}
    return _Keeping(policy, kept, allow_cache_entry_mutation), _Finding(policy, kept, allow_cache_entry_mutation)
