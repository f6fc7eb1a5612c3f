"""A Function with a witness: the same class, whose forward and backward say what they were given and what they left."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pullback.check.probing.specimen import Specimen, flat, plain
from pullback.check.worlds import as_tuple


@dataclass
class Seen:
    """One call of the class, as its witness saw it."""

    serial: int
    inputs: tuple[Any, ...] = ()
    output: Any = None
    saved: tuple[Any, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    dirty: tuple[Any, ...] = ()
    changed: list[int] = field(default_factory=list)  # inputs whose values are others after forward
    pulls: list[Pulled] = field(default_factory=list)


@dataclass
class Pulled:
    """One call of backward."""

    cotangents: tuple[Any, ...]
    returned: Any = None
    cotangent_changed: list[int] = field(default_factory=list)
    saved_changed: list[int] = field(default_factory=list)
    needs: tuple[bool, ...] = ()


@dataclass
class Witness:
    """What happened in all calls."""

    specimen: Specimen
    calls: list[Seen] = field(default_factory=list)
    of_ctx: dict[int, Seen] = field(default_factory=dict)

    def copies(self, values: Sequence[Any]) -> list[np.ndarray | None]:
        """The numbers in some values; None for what has none."""
        return [self._copy(value) for value in values]

    def _copy(self, value: Any) -> np.ndarray | None:
        if isinstance(value, np.ndarray):
            return value.copy()
        return self.specimen.world.array(value) if self.specimen.world.is_tensor(value) else None

    def changed(self, before: Sequence[np.ndarray | None], values: Sequence[Any]) -> list[int]:
        """The positions where the numbers are others than before."""
        found = []
        for k, (old, value) in enumerate(zip(before, values, strict=True)):
            new = self._copy(value)
            if old is not None and new is not None and not np.array_equal(old, new, equal_nan=old.dtype.kind in "fc"):
                found.append(k)
        return found


def watched(specimen: Specimen) -> tuple[Witness, Callable[..., Any]] | None:
    """The class of a specimen with a witness, and its ``apply``; None where there is no class with a ctx."""
    target = specimen.target
    if not isinstance(target, type) or not specimen.world.recorded or specimen.rule("backward") is None:
        return None
    witness = Witness(specimen)
    members: dict[str, Any] = {"backward": staticmethod(_backward(target, witness)), "__module__": target.__module__}
    if plain(target, "setup_context") is not None:
        members["setup_context"] = staticmethod(_setup(target, witness))
    else:
        members["forward"] = staticmethod(_forward(target, witness))
    return witness, specimen.calling(type(target.__name__, (target,), members).apply)  # type: ignore[attr-defined]


def _forward(target: type, witness: Witness) -> Callable[..., Any]:
    original = plain(target, "forward")

    @functools.wraps(original)
    def forward(ctx: Any, *inputs: Any, **named: Any) -> Any:
        seen = Seen(len(witness.calls), inputs)
        before = witness.copies(inputs)
        seen.output = original(ctx, *inputs, **named)
        seen.changed = witness.changed(before, inputs)
        _note(ctx, seen, witness)
        return seen.output

    return forward


def _setup(target: type, witness: Witness) -> Callable[..., Any]:
    original = plain(target, "setup_context")

    @functools.wraps(original)
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        seen = Seen(len(witness.calls), tuple(inputs), output)
        original(ctx, inputs, output)
        _note(ctx, seen, witness)

    return setup_context


def _note(ctx: Any, seen: Seen, witness: Witness) -> None:
    seen.saved = tuple(getattr(ctx, "to_save", None) or getattr(ctx, "_to_save", None) or ())
    marks = getattr(ctx, "_marks", None)
    seen.dirty = tuple(getattr(ctx, "dirty_tensors", None) or getattr(marks, "dirty", None) or ())
    hidden = {"to_save", "saved_for_forward", "dirty_tensors", "non_differentiable", "materialize_grads"}
    seen.attributes = (
        {k: v for k, v in vars(ctx).items() if not k.startswith("_") and k not in hidden}
        if hasattr(ctx, "__dict__")
        else {}
    )
    witness.calls.append(seen)
    witness.of_ctx[id(ctx)] = seen


def _backward(target: type, witness: Witness) -> Callable[..., Any]:
    original = plain(target, "backward")

    @functools.wraps(original)
    def backward(ctx: Any, *cotangents: Any) -> Any:
        seen = witness.of_ctx.get(id(ctx)) or (witness.calls[-1] if witness.calls else Seen(-1))
        pulled = Pulled(cotangents, needs=tuple(getattr(ctx, "needs_input_grad", ())))
        seen.pulls.append(pulled)
        before, kept = witness.copies(cotangents), witness.copies(seen.saved)
        pulled.returned = original(ctx, *cotangents)
        pulled.cotangent_changed = witness.changed(before, cotangents)
        pulled.saved_changed = witness.changed(kept, seen.saved)
        return pulled.returned

    return backward


def forward_mode(specimen: Specimen, tangents: Sequence[np.ndarray]) -> np.ndarray | None:
    """J v in forward mode, as one flat array; None where the class has no jvp of its own."""
    if specimen.rule("jvp") is None or not specimen.world.recorded:
        return None
    import importlib

    module = (
        "pullback.autograd.forward_ad"
        if specimen.world.name == "pullback"
        else f"{specimen.world.name}.autograd.forward_ad"
    )
    forward_ad = importlib.import_module(module)
    with forward_ad.dual_level():
        arguments = specimen.make(None, ())
        for position, tangent in zip(specimen.wanted, tangents, strict=True):
            arguments[position] = forward_ad.make_dual(arguments[position], specimen.world.tensor(tangent))
        outputs = as_tuple(specimen.function(*arguments))
        parts = []
        for k in specimen.first.differentiable:
            tangent = forward_ad.unpack_dual(outputs[k]).tangent
            value = specimen.first.outputs[k]
            parts.append(np.zeros_like(value) if tangent is None else specimen.world.array(tangent))
        return flat(parts)
