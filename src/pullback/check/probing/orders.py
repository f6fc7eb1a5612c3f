"""The derivatives of derivatives, and where they are cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pullback.check.probing import jacobian
from pullback.check.probing.outcome import Fault, Outcome, first_line
from pullback.check.probing.probe import probe
from pullback.check.probing.specimen import Specimen
from pullback.check.probing.values import judge, surrogate
from pullback.check.probing.watch import Seen, watched
from pullback.check.worlds import as_tuple


@probe("orders")
def orders(specimen: Specimen, outcome: Outcome) -> None:
    """The second derivative, and higher ones up to ``--order``, against differences of the order below.

    The gradient is a function of the arguments and of the incoming gradients; it is differentiated in all of them, and compared
    with difference quotients of its values. It is done once for the function alone and once for its square, where the
    incoming gradient depends on the arguments: a rule that leaves the graph is silent only there. A second derivative that is
    wrong is traced to the value that was cut: a saved intermediate, one on ctx, NumPy or detach in backward.
    """
    if not specimen.first.differentiable:
        outcome.verdict = "not applicable"
        return
    declared = getattr(specimen.target, "order", None)
    highest = max(specimen.order, declared if isinstance(declared, int) else 0)
    current = specimen
    for level in range(2, highest + 1):
        try:
            current = current.derivative(specimen.rng)
            _one(specimen, current, outcome)
        except Exception as error:
            _refused(specimen, level, error, outcome)
            break
        if outcome.verdict == "fault":
            break
        outcome.tried.append(f"order {level}, in the arguments and the incoming gradients")
    if outcome.verdict != "fault" and not surrogate(specimen):
        _composed(specimen, outcome)
    _blame(specimen, outcome)
    if isinstance(declared, int) and outcome.verdict in {"fault", "inconclusive"}:
        outcome.faults.append(
            Fault("order-not-kept", f"the class says order = {declared}", where=specimen.line_of("backward"))
        )
        outcome.verdict = "fault"


def _one(specimen: Specimen, gradient: Specimen, outcome: Outcome) -> None:
    """Compare one order with differences of the one below."""
    call = gradient.first
    if len(call.differentiable) < len(call.outputs):
        gradient = _all_taken(gradient)
    matrices = jacobian.pulled(gradient) if gradient.first.differentiable else []
    for k, position in enumerate(gradient.wanted):
        size = gradient.arguments[position].size * (2 if gradient.arguments[position].dtype.kind == "c" else 1)
        matrix = matrices[k] if matrices else np.zeros((size, gradient.values().size))
        judge(gradient, position, matrix, outcome)


def _all_taken(gradient: Specimen) -> Specimen:
    """The same function, where outputs without history count too: they must be constant."""
    call = gradient.first
    known = list(call.differentiable)
    pull = call.pull

    def pull_all(*cotangents: Any) -> Any:
        chosen = [cotangents[k] for k in known]
        return pull(*chosen) if any(c is not None for c in chosen) else [None] * len(gradient.wanted)

    every = [k for k, y in enumerate(call.outputs) if y is not None and y.dtype.kind in "fc"]
    changed = replace(gradient)
    changed.__dict__["first"] = replace(call, differentiable=every, pull=pull_all)
    return changed


def _composed(specimen: Specimen, outcome: Outcome) -> None:
    """The square of the function: its incoming gradient depends on the arguments."""
    function = specimen.function

    def squared(*arguments: Any) -> tuple[Any, ...]:
        outputs = as_tuple(function(*arguments))
        return tuple(
            y * y if specimen.world.is_tensor(y) and k in specimen.first.differentiable else y
            for k, y in enumerate(outputs)
        )

    try:
        _one(specimen, replace(specimen, function=squared).derivative(specimen.rng), outcome)
    except Exception as error:
        if outcome.verdict == "pass":
            _refused(specimen, 2, error, outcome)
        return


def _refused(specimen: Specimen, level: int, error: BaseException, outcome: Outcome) -> None:
    text = first_line(error, 200) or type(error).__name__
    if specimen.once:
        outcome.note(f"derivative {level} is refused, as once_differentiable declares")
        return
    if type(error).__name__ == "DerivativeRefused":
        outcome.unsure(f"derivative {level} is refused: {text}")
        return
    outcome.unsure(f"derivative {level} raises {type(error).__name__}: {text}")


def _blame(specimen: Specimen, outcome: Outcome) -> None:
    """Give a wrong second derivative the name of its cause."""
    for fault in outcome.faults:
        if specimen.once:
            fault.name = "once-differentiable-leaks"
        if fault.name in {"once-differentiable-leaks", "kink"}:
            continue
        name, what = _cause(specimen)
        fault.facts["symptom"] = fault.name
        fault.name = name
        if what:
            fault.message += f"; {what}"


def _cause(specimen: Specimen) -> tuple[str, str]:
    seen = _seen(specimen)
    if seen is not None:
        label = _intermediate(specimen, seen, seen.saved)
        if label is not None:
            return "intermediate-saved", f"the saved value {label} was computed in forward and is a constant here"
        for attribute, value in seen.attributes.items():
            if _intermediate(specimen, seen, value if isinstance(value, (tuple, list)) else [value]) is not None:
                return "intermediate-on-ctx", f"ctx.{attribute} was computed in forward and is a constant here"
    cut = _cut_in_source(specimen)
    return ("graph-left-in-backward", cut) if cut else ("wrong-second-derivative", "")


def _seen(specimen: Specimen) -> Seen | None:
    found = watched(specimen)
    if found is None:
        return None
    witness, apply = found
    try:
        apply(*specimen.make())
    except Exception:
        return None
    return witness.calls[-1] if witness.calls else None


def _intermediate(specimen: Specimen, seen: Seen, values: Any) -> str | None:
    """The place of a floating-point Tensor among some values that is neither an input nor an output."""
    known = [id(value) for value in (*seen.inputs, *as_tuple(seen.output))]
    for k, value in enumerate(values):
        if (
            specimen.world.is_tensor(value)
            and id(value) not in known
            and specimen.world.array(value).dtype.kind in "fc"
        ):
            return f"number {k}"
    return None


def _cut_in_source(specimen: Specimen) -> str:
    """Where backward leaves the graph, as `pullback lint` sees it."""
    for finding in specimen.findings:
        if finding.code in {"PB501", "PB502"}:
            return f"line {finding.line}: {finding.message}"
    return ""
