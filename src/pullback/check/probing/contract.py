"""What backward owes to the engine: counts, shapes, dtypes, linearity, flags, and leaving things as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pullback.check.probing.agree import close, repeatable, show_furthest
from pullback.check.probing.outcome import Fault, Outcome, raises
from pullback.check.probing.probe import probe
from pullback.check.probing.raising import line_in, raised
from pullback.check.probing.specimen import Specimen, flat
from pullback.check.probing.watch import Pulled, Witness, watched
from pullback.check.worlds import as_tuple


@probe("contract")
def contract(specimen: Specimen, outcome: Outcome) -> None:
    """The contract of backward, apart from the numbers.

    One gradient per argument, of its shape and dtype. Zeros for zeros, twice as much for twice as much, a sum for a sum. The
    same again when it is asked again. Each output alone. Each subset of the arguments alone: the gradient is the same, and
    nothing raises. Arguments, incoming gradients and saved values stay as they were.
    """
    if not specimen.first.differentiable:
        outcome.verdict = "not applicable"
        return
    rng = specimen.rng
    cotangents = specimen.cotangents(rng)
    found = watched(specimen)
    call = None
    if found is not None:
        call = specimen.world.vjp(found[1], specimen.make(), specimen.wanted)
        _left_by_forward(specimen, found[0], outcome)
    reference = _pull(specimen, cotangents, outcome)
    if reference is None:
        return
    if found is not None and call is not None and len(call.differentiable) == len(cotangents):
        call.pull(*cotangents)
        _left_by_backward(specimen, found[0], outcome)
    _linear(specimen, cotangents, reference, outcome)
    _repeated(specimen, outcome)
    _each_output(specimen, cotangents, outcome)
    _subsets(specimen, cotangents, reference, outcome)
    outcome.tried += [
        "zeros, multiples, sums",
        "each output alone",
        f"subsets of {len(specimen.wanted)} arguments",
        "twice",
    ]


def _pull(
    specimen: Specimen, cotangents: Sequence[np.ndarray | None], outcome: Outcome
) -> list[np.ndarray | None] | None:
    try:
        return specimen.run().pull(*cotangents)
    except Exception as error:
        raised(specimen, error, outcome)
        return None


# ------------------------------------------------------------------------------------------------------ what is returned
def _left_by_forward(specimen: Specimen, witness: Witness, outcome: Outcome) -> None:
    for seen in witness.calls[:1]:
        where = specimen.line_of("forward")
        for k in seen.changed:
            if not any(seen.inputs[k] is mark for mark in seen.dirty):
                message = f"forward changes {specimen.argument_name(k)}, which is not marked dirty"
                outcome.add(Fault("input-written", message, where=where))
        if isinstance(seen.output, (list, dict)):
            outcome.add(Fault("container-output", f"forward returns a {type(seen.output).__name__}", where=where))


def _left_by_backward(specimen: Specimen, witness: Witness, outcome: Outcome) -> None:
    where = specimen.line_of("backward")
    if len(witness.calls) != 1:
        return
    for pulled in witness.calls[0].pulls[:1]:
        _gradients(specimen, witness, pulled, outcome)
        for name, what, changed in (
            ("cotangent-written", "incoming gradient", pulled.cotangent_changed),
            ("saved-value-written", "saved value", pulled.saved_changed),
        ):
            if changed:
                outcome.add(Fault(name, f"the {what} {changed[0]} has other values afterwards", where=where))


def _gradients(specimen: Specimen, witness: Witness, pulled: Pulled, outcome: Outcome) -> None:
    where = specimen.line_of("backward")
    returned = as_tuple(pulled.returned)
    inputs = witness.calls[0].inputs
    if any(g is not None for g in returned[len(inputs) :]) or (len(returned) < len(inputs) and len(returned) > 1):
        outcome.add(Fault("gradient-count", f"{len(returned)} gradients for {len(inputs)} arguments", where=where))
    world = specimen.world
    for k, (value, gradient) in enumerate(zip(inputs, returned, strict=False)):
        if not world.is_tensor(value) and not isinstance(value, np.ndarray):
            continue
        if gradient is None or not (world.is_tensor(gradient) or isinstance(gradient, np.ndarray)):
            continue
        name = specimen.argument_name(k)
        if k not in specimen.wanted:
            continue
        if tuple(gradient.shape) != tuple(value.shape):
            message = f"the gradient of {name} has shape {tuple(gradient.shape)}, and {name} has {tuple(value.shape)}"
            if not _broadcasts(tuple(value.shape), specimen, tuple(gradient.shape)):
                outcome.add(
                    Fault("gradient-shape", message, str(tuple(gradient.shape)), str(tuple(value.shape)), where=where)
                )
        if str(gradient.dtype) != str(value.dtype):
            message = f"the gradient of {name} is {world.dtype(gradient)}, and {name} is {world.dtype(value)}"
            outcome.add(Fault("gradient-dtype", message, where=where))
    unneeded = [
        specimen.argument_name(k)
        for k, g in enumerate(returned)
        if g is not None and k < len(pulled.needs) and not pulled.needs[k]
    ]
    if unneeded:
        outcome.note(f"computed although nobody needs it: the gradient of {', '.join(unneeded)}")


def _broadcasts(shape: tuple[int, ...], specimen: Specimen, found: tuple[int, ...]) -> bool:
    """Whether a gradient has the shape of an output to which its argument was broadcast: the engine sums it, as documented."""
    if not any(y is not None and y.shape == found for y in specimen.first.outputs):
        return False
    try:
        return np.broadcast_shapes(shape, found) == found
    except ValueError:
        return False


# ------------------------------------------------------------------------------------------------------------ linearity
def _linear(
    specimen: Specimen, cotangents: list[np.ndarray], reference: list[np.ndarray | None], outcome: Outcome
) -> None:
    where = specimen.line_of("backward")
    zeros = _pull(specimen, [np.zeros_like(c) for c in cotangents], outcome)
    if zeros is None:
        return
    finite = [r is None or bool(np.isfinite(r).all()) for r in reference]
    for k, gradient in enumerate(zeros):
        if gradient is not None and np.any(gradient) and finite[k]:
            name = specimen.argument_name(specimen.wanted[k])
            fault = Fault(
                "upstream-missing", f"the gradient of {name} is not zero for an incoming gradient of zeros", where=where
            )
            fault.found, fault.expected, fault.inputs = f"{float(np.abs(gradient).max()):.6g}", "0", specimen.shown()
            outcome.add(fault)
            return
    other = specimen.cotangents(np.random.default_rng(specimen.seed + 1))
    tries = {
        "-2 times": (
            [(-2 * c).astype(c.dtype) for c in cotangents],
            [None if r is None else -2 * r for r in reference],
        ),
        "the sum of two": ([a + b for a, b in zip(cotangents, other, strict=True)], None),
    }
    for label, (given, expected) in tries.items():
        found = _pull(specimen, given, outcome)
        if expected is None:
            second = _pull(specimen, other, outcome) or []
            expected = [None if a is None or b is None else a + b for a, b in zip(reference, second, strict=False)]
        for k, (a, b) in enumerate(zip(found or [], expected, strict=False)):
            if a is None or b is None or not finite[k]:
                continue
            if not close(a, b):
                name = specimen.argument_name(specimen.wanted[k])
                message = f"for {label} the incoming gradient, {name} gets another gradient than {label} the old one"
                fault = Fault("not-linear", message, inputs=specimen.shown(), where=where)
                show_furthest(fault, a, b)
                outcome.add(fault)
                return


# ---------------------------------------------------------------------------------------------------------- once more
def _repeated(specimen: Specimen, outcome: Outcome) -> None:
    fault = repeatable(specimen)
    if fault is not None:
        outcome.add(fault)


def _each_output(specimen: Specimen, cotangents: list[np.ndarray], outcome: Outcome) -> None:
    """The gradients of single outputs add up to that of all."""
    if len(cotangents) < 2:
        return
    whole = _pull(specimen, cotangents, outcome)
    parts: list[list[np.ndarray | None]] = []
    for k in range(len(cotangents)):
        try:
            parts.append(specimen.run().pull(*[c if j == k else None for j, c in enumerate(cotangents)]))
        except Exception as error:
            message = f"with output {k} alone backward {raises(error)}"
            outcome.add(Fault("undefined-cotangent", message, where=line_in(error, specimen)))
            return
    for j, total in enumerate(whole or []):
        summed = [part[j] for part in parts if part[j] is not None]
        if total is None or not summed or not np.isfinite(total).all():
            continue
        together = np.sum(np.stack([s for s in summed if s is not None]), axis=0)
        if not close(together, total):
            name = specimen.argument_name(specimen.wanted[j])
            message = f"the gradients of {name} for each output alone do not add up to that of all outputs"
            outcome.add(
                Fault("undefined-cotangent", message, where=specimen.line_of("backward"), inputs=specimen.shown())
            )
            return


# -------------------------------------------------------------------------------------------------------------- subsets
def _subsets(
    specimen: Specimen, cotangents: list[np.ndarray], reference: list[np.ndarray | None], outcome: Outcome
) -> None:
    wanted = specimen.wanted
    if len(wanted) < 2:
        return
    subsets = [(k,) for k in wanted] + ([tuple(j for j in wanted if j != k) for k in wanted] if len(wanted) > 2 else [])
    for subset in subsets[:24]:
        names = " and ".join(specimen.argument_name(k) for k in subset)
        try:
            call = specimen.run(wanted=subset)
            if not call.differentiable:
                continue
            given = [
                c for k, c in zip(specimen.first.differentiable, cotangents, strict=True) if k in call.differentiable
            ]
            found = call.pull(*given)
        except Exception as error:
            message = f"with only {names} needing a gradient, backward {raises(error)}"
            outcome.add(Fault("subset-raises", message, where=line_in(error, specimen), inputs=specimen.shown()))
            continue
        for k, gradient in zip(subset, found, strict=True):
            expected = reference[wanted.index(k)]
            name = specimen.argument_name(k)
            if expected is None or not np.any(expected):
                continue
            if gradient is None or not np.any(gradient):
                message = f"{name} gets no gradient when only {names} need one"
                outcome.add(
                    Fault(
                        "subset-none", message, "None", f"{flat([expected])[0]:.6g}", where=specimen.line_of("backward")
                    )
                )
            elif not close(gradient, expected):
                message = f"{name} gets another gradient when only {names} need one"
                outcome.add(Fault("subset-none", message, where=specimen.line_of("backward"), inputs=specimen.shown()))
