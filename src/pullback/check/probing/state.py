"""What is left behind: state that calls share, values that nobody frees."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.check.probing.agree import agree
from pullback.check.probing.outcome import Fault, Outcome
from pullback.check.probing.probe import probe
from pullback.check.probing.specimen import Specimen
from pullback.check.probing.watch import Seen, watched
from pullback.check.worlds import as_tuple


@probe("state")
def state(specimen: Specimen, outcome: Outcome) -> None:
    """State and lifetime: whether one call disturbs another, and whether it is freed.

    Two forward passes at different points run before the two backward passes, in both orders, and four threads run at the same
    time: each has to get its own gradient. The attributes of the class and what its methods capture are compared before and
    after. A result that is dropped has to be freed, without a collection of cycles.
    """
    if not specimen.first.differentiable:
        outcome.verdict = "not applicable"
        return
    _class_state(specimen, outcome)
    _captured(specimen, outcome)
    _crossed(specimen, outcome)
    _threads(specimen, outcome)
    _on_ctx(specimen, outcome)
    _freed(specimen, outcome)
    outcome.tried += ["two calls crossed", "4 threads", "attributes of the class", "freed when dropped"]


def _other(specimen: Specimen) -> list[Any]:
    """The arguments of another call: another point close by."""
    return [a * 0.75 + 0.01 if k in specimen.wanted else a for k, a in enumerate(specimen.arguments)]


def _gradients(specimen: Specimen, arguments: Any, cotangents: list[np.ndarray]) -> list[np.ndarray | None]:
    return specimen.run(arguments).pull(*cotangents)


def _same(a: list[np.ndarray | None], b: list[np.ndarray | None]) -> bool:
    return all(agree(p, q, 1e-9, 0.0) for p, q in zip(a, b, strict=True))


# ---------------------------------------------------------------------------------------------------------- crossed calls
def _crossed(specimen: Specimen, outcome: Outcome) -> None:
    cotangents = specimen.cotangents(specimen.rng)
    here, there = (
        list(specimen.arguments),
        [np.asarray(a) if isinstance(a, np.ndarray) else a for a in _other(specimen)],
    )
    try:
        expected = _gradients(specimen, here, cotangents), _gradients(specimen, there, cotangents)
        for first_back in (0, 1):
            calls = specimen.run(here), specimen.run(there)
            found = [calls[k].pull(*cotangents) for k in (first_back, 1 - first_back)]
            if first_back:
                found.reverse()
            if not (_same(found[0], expected[0]) and _same(found[1], expected[1])):
                wrong = 0 if not _same(found[0], expected[0]) else 1
                message = (
                    f"of two calls before the first backward, the {('first', 'second')[wrong]} gets another gradient"
                )
                fault = Fault("state-shared", message, inputs=specimen.shown(), where=specimen.line_of("forward"))
                for name, values in (("found", found), ("expected", expected)):
                    setattr(fault, name, _shown(values[wrong]))
                outcome.add(fault)
                return
    except Exception as error:
        outcome.note(f"crossed calls could not be tried: {type(error).__name__}")


def _shown(values: list[np.ndarray | None]) -> str:
    known = [v for v in values if v is not None and v.size]
    return f"{known[0].reshape(-1)[0]:.6g}" if known else "None"


def _threads(specimen: Specimen, outcome: Outcome) -> None:
    cotangents = specimen.cotangents(specimen.rng)
    points = [
        [a * (1 - 0.1 * n) if k in specimen.wanted else a for k, a in enumerate(specimen.arguments)] for n in range(4)
    ]
    try:
        expected = [_gradients(specimen, point, cotangents) for point in points]
    except Exception:
        return
    wrong: list[int] = []
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        try:
            barrier.wait(5)
            with specimen.world.running():  # what it sets belongs to a thread
                same = [_same(_gradients(specimen, points[number], cotangents), expected[number]) for _ in range(5)]
            if not all(same):
                wrong.append(number)
        except Exception:
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    if wrong:
        outcome.add(
            Fault("state-shared", "four threads at the same time disturb each other", where=specimen.line_of("forward"))
        )


# ---------------------------------------------------------------------------------------------------------- class, closure
def _class_state(specimen: Specimen, outcome: Outcome) -> None:
    target = specimen.target
    if not isinstance(target, type):
        return
    ours = {"_node", "_guarded", "_outside", "_left_outside", "_watched", "_rules", "_operator"}
    before = {k: v for k, v in vars(target).items() if k not in ours}
    specimen.run(_other(specimen)).pull(*specimen.cotangents(specimen.rng))
    for name, value in vars(target).items():
        if name not in ours and not name.startswith("_abc") and (name not in before or before[name] is not value):
            outcome.add(
                Fault("state-on-class", f"{target.__name__}.{name} is set by a call", where=specimen.line_of("forward"))
            )


def _captured(specimen: Specimen, outcome: Outcome) -> None:
    for name in ("forward", "backward", "setup_context"):
        rule = specimen.rule(name)
        if rule is None:
            continue
        for label, value in _outside(rule):
            if specimen.world.is_tensor(value) and getattr(value, "requires_grad", False):
                message = f"{name} uses {label}, a Tensor from outside that requires a gradient"
                outcome.add(Fault("captured-tensor", message, where=specimen.line_of(name)))


def _outside(rule: Callable[..., Any]) -> list[tuple[str, Any]]:
    """The names from outside that a function uses, and what they hold."""
    code = getattr(rule, "__code__", None)
    if code is None:
        wrapped = getattr(rule, "__wrapped__", None)
        return _outside(wrapped) if wrapped is not None else []
    found = [(name, rule.__globals__[name]) for name in code.co_names if name in rule.__globals__]
    for name, cell in zip(code.co_freevars, rule.__closure__ or (), strict=True):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:  # not yet filled
            continue
    return found


# ---------------------------------------------------------------------------------------------------------------- lifetime
def _on_ctx(specimen: Specimen, outcome: Outcome) -> None:
    found = watched(specimen)
    if found is None:
        return
    witness, apply = found
    apply(*specimen.make())
    if not witness.calls:
        return
    seen = witness.calls[-1]
    watched_over = specimen.world.name != "torch"  # pullback looks after attributes as after saved values
    for name, value in seen.attributes.items() if not watched_over else ():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            what = _whose(specimen, seen, part)
            if what:
                outcome.add(Fault("tensor-on-ctx", f"ctx.{name} keeps {what}", where=specimen.line_of("forward")))
    size = sum(v.nbytes for v in witness.copies(seen.saved) if v is not None)
    outcome.notes.append(f"saves {len(seen.saved)} values, {size} bytes")


def _whose(specimen: Specimen, seen: Seen, value: Any) -> str:
    for k, given in enumerate(seen.inputs):
        if value is given and specimen.world.is_tensor(given) and k in specimen.wanted:
            return f"the argument {specimen.argument_name(k)}"
    if any(value is result and specimen.world.is_tensor(result) for result in as_tuple(seen.output)):
        return "a result"
    return ""


class _Token:
    """Something that can be watched dying."""


def _freed(specimen: Specimen, outcome: Outcome) -> None:
    found = watched(specimen)
    if found is None:
        return
    witness, apply = found
    try:
        outputs = as_tuple(apply(*specimen.make()))
    except Exception:
        return
    node = next(
        (y.grad_fn for y in outputs if specimen.world.is_tensor(y) and getattr(y, "grad_fn", None) is not None), None
    )
    if node is None or not hasattr(node, "__dict__"):
        return
    token = _Token()
    try:
        node._check_token = token
    except Exception:
        return
    watch = weakref.ref(token)
    enabled = gc.isenabled()
    gc.disable()
    try:
        witness.calls.clear()
        witness.of_ctx.clear()
        del node, outputs, token
        if watch() is not None:
            gc.collect()
            how = "only by the collection of cycles" if watch() is None else "not at all"
            outcome.add(Fault("leak", f"a result that is dropped is freed {how}", where=specimen.line_of("forward")))
    finally:
        if enabled:
            gc.enable()
