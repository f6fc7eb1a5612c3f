"""The ways in which a program may call a Function."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from pullback.check.probing.agree import agree
from pullback.check.probing.outcome import Fault, Outcome, raises
from pullback.check.probing.probe import probe
from pullback.check.probing.specimen import Specimen, flat
from pullback.check.worlds import as_tuple


@probe("modes")
def modes(specimen: Specimen, outcome: Outcome) -> None:
    """no_grad, inference mode, checkpoints, hooks on saved tensors, transforms.

    Values without recording are those with it. Inside a checkpoint, and with hooks that send every saved value through
    NumPy, the gradients are the same. Where the class has setup_context, torch.func's vjp gives them too; where it promises vmap,
    that is a loop over entries. A JAX function is compiled with jit and mapped with vmap.
    """
    if not specimen.first.differentiable:
        outcome.verdict = "not applicable"
        return
    expected = specimen.values()
    for name, mode in specimen.world.modes().items():
        try:
            with mode():
                outputs = specimen.world.call(specimen.function, specimen.make(None, ())).outputs
        except Exception as error:
            outcome.add(
                Fault(
                    "mode-changes-result",
                    f"{name}: {raises(error)}",
                    where=specimen.line_of("forward"),
                )
            )
            continue
        outcome.tried.append(name)
        values = flat([outputs[k] for k in specimen.first.differentiable])
        if not np.array_equal(values, expected, equal_nan=True):
            outcome.add(Fault("mode-changes-result", f"{name}: other values", where=specimen.line_of("forward")))
    cotangents = specimen.cotangents(specimen.rng)
    reference = specimen.run().pull(*cotangents)
    if specimen.world.name == "jax":
        _jax(specimen, expected, outcome)
        return
    for label, call in (
        ("checkpoint", _checkpoint),
        ("hooks on saved tensors", _hooks),
        ("func.vjp", _func),
        ("vmap", _vmap),
    ):
        try:
            found = call(specimen, cotangents)
        except Exception as error:
            name = "transform-fails" if label in {"func.vjp", "vmap"} else "mode-changes-result"
            outcome.add(Fault(name, f"{label}: {raises(error)}", where=specimen.line_of("forward")))
            continue
        if found is None:
            outcome.left_out.append(label)
            continue
        outcome.tried.append(label)
        against = [expected] if label == "vmap" else reference
        if not all(_same(a, b) for a, b in zip(found, against, strict=True)):
            name = "transform-fails" if label in {"func.vjp", "vmap"} else "mode-changes-result"
            outcome.add(Fault(name, f"{label}: other results", where=specimen.line_of("backward")))


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None:
        return (a is None or not np.any(a)) and (b is None or not np.any(b))
    return agree(a, b, 1e-7, 1e-10)


def _library(specimen: Specimen) -> Any:
    return importlib.import_module("torch" if specimen.world.name == "torch" else "pullback.torch")


def _checkpoint(specimen: Specimen, cotangents: list[np.ndarray]) -> list[np.ndarray | None] | None:
    if specimen.world.name == "pullback":
        return None
    checkpoint = importlib.import_module(f"{_library(specimen).__name__}.utils.checkpoint").checkpoint

    def function(*arguments: Any) -> Any:
        return checkpoint(specimen.function, *arguments, use_reentrant=False)

    specimen.world.seed(specimen.seed)
    return specimen.world.vjp(function, specimen.make(), specimen.wanted).pull(*cotangents)


def _hooks(specimen: Specimen, cotangents: list[np.ndarray]) -> list[np.ndarray | None] | None:
    graph = importlib.import_module(
        "torch.autograd.graph" if specimen.world.name == "torch" else "pullback.autograd.graph"
    )
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> int:
        kept[len(kept)] = specimen.world.array(tensor)
        return len(kept) - 1

    def unpack(number: int) -> Any:
        return specimen.world.tensor(kept[number])

    specimen.world.seed(specimen.seed)
    with graph.saved_tensors_hooks(pack, unpack):
        call = specimen.world.vjp(specimen.function, specimen.make(), specimen.wanted)
    return call.pull(*cotangents)


def _func(specimen: Specimen, cotangents: list[np.ndarray]) -> list[np.ndarray | None] | None:
    """torch.func asks for setup_context."""
    if specimen.rule("setup_context") is None or specimen.world.name == "pullback":
        return None
    func = importlib.import_module(f"{_library(specimen).__name__}.func")
    made = specimen.make(None, ())
    fixed = dict(enumerate(made))

    def some(*chosen: Any) -> tuple[Any, ...]:
        full = {**fixed, **dict(zip(specimen.wanted, chosen, strict=True))}
        outputs = as_tuple(specimen.function(*[full[k] for k in sorted(full)]))
        return tuple(outputs[k] for k in specimen.first.differentiable)

    _, pull = func.vjp(some, *[made[k] for k in specimen.wanted])
    found = pull(tuple(specimen.world.tensor(c) for c in cotangents))
    return [specimen.world.array(g) for g in found]


def _vmap(specimen: Specimen, cotangents: list[np.ndarray]) -> list[np.ndarray | None] | None:
    """Map over copies of the arguments: the first entry of the batch has to be the call itself."""
    target = specimen.target
    promised = getattr(target, "generate_vmap_rule", False) or (
        isinstance(target, type) and specimen.rule("vmap") is not None
    )
    if not promised or specimen.world.name == "pullback":
        return None
    func = importlib.import_module(f"{_library(specimen).__name__}.func")
    made = specimen.make(None, ())
    batched = [
        specimen.world.tensor(np.stack([specimen.arguments[k]] * 3)) if k in specimen.wanted else v
        for k, v in enumerate(made)
    ]
    in_dims = tuple(0 if k in specimen.wanted else None for k in range(len(made)))
    outputs = as_tuple(func.vmap(specimen.function, in_dims=in_dims)(*batched))
    return [flat([specimen.world.array(outputs[k])[0] for k in specimen.first.differentiable])]


def _jax(specimen: Specimen, expected: np.ndarray, outcome: Outcome) -> None:
    jax = importlib.import_module("jax")
    made = specimen.make(None, ())
    others = tuple(k for k in range(len(made)) if not isinstance(specimen.arguments[k], np.ndarray))
    for label in ("jit", "vmap"):
        try:
            if label == "jit":
                outputs = as_tuple(jax.jit(specimen.function, static_argnums=others)(*made))
                found = flat([np.asarray(outputs[k]) for k in specimen.first.differentiable])
            else:
                batched = [np.stack([np.asarray(a)] * 2) if k in specimen.wanted else a for k, a in enumerate(made)]
                in_axes = tuple(0 if k in specimen.wanted else None for k in range(len(made)))
                outputs = as_tuple(jax.vmap(specimen.function, in_axes=in_axes)(*batched))
                found = flat([np.asarray(outputs[k])[0] for k in specimen.first.differentiable])
        except Exception as error:
            outcome.add(
                Fault(
                    "transform-fails",
                    f"{label}: {raises(error)}",
                    where=specimen.line_of("forward"),
                )
            )
            continue
        outcome.tried.append(label)
        if not np.allclose(found, expected, rtol=1e-6, atol=1e-9, equal_nan=True):
            outcome.add(Fault("transform-fails", f"{label}: other values", where=specimen.line_of("forward")))
