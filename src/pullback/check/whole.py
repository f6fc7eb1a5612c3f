"""`check`: examine a custom Function as a whole."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pullback.check.inputs import declared, proposed
from pullback.check.probing import ORDER, PROBES, Outcome, Specimen
from pullback.check.probing.outcome import Fault, first_line
from pullback.check.probing.specimen import plain
from pullback.check.source import findings_of
from pullback.check.verdicts import CheckFailed, Report
from pullback.check.worlds import world_of

__all__ = ["CheckFailed", "Report", "assert_ok", "check"]


def check(
    fn: Any,
    inputs: Sequence[Any] | None = None,
    *,
    order: int = 2,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    seed: int = 0,
    library: str = "",
    executor: Any = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Examine a custom Function: its gradient, higher orders, contract, state, layouts, dtypes, edges and modes.

    Parameters
    ----------
    fn
        A ``pullback.Function``, ``Primitive`` or ``torch.autograd.Function`` class, a callable of either library, or a
        ``jax.custom_vjp`` function.
    inputs
        Its arguments: NumPy arrays (or Tensors) where it takes Tensors, anything else as it is. Arrays of floating-point numbers
        are differentiated; a Tensor only if it requires a gradient. Without them ``fn.samples`` is used, else inputs
        are proposed from the signature.
    order
        The highest derivative that is examined.
    only, skip
        Names of probes: values, orders, contract, state, layouts, dtypes, edges, modes.
    seed
        Of all random numbers. The same seed finds the same faults.
    library
        ``"torch"``, ``"pullback"``, ``"pullback.torch"`` or ``"jax"``; found out where it is empty.
    executor
        Anything with the ``submit`` of `concurrent.futures`; each probe is then a task. `fn` has to be importable there.
    progress
        Called with the name of each probe before it runs.

    Raises
    ------
    ValueError
        For a probe that does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> import pullback as pb
    >>> from pullback.check import check
    >>> class Square(pb.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return x * grad  # forgot the factor 2
    >>> report = check(Square, [np.array([1.0, 3.0])])
    >>> report.faults[0].name, report.faults[0].found, report.faults[0].expected
    ('wrong-gradient', '3', '6')
    """
    names = chosen(only, skip)
    report, specimen = prepare(fn, inputs, order, seed, library)
    if specimen is None:
        return report
    submit = None if executor is None else partial(executor.submit, remote, fn, inputs, order, seed, library)
    report.outcomes = run_probes(names, specimen, submit, progress)
    return report


def assert_ok(fn: Any, inputs: Sequence[Any] | None = None, **options: Any) -> Report:
    """`check`, and raise `CheckFailed` (an AssertionError with the whole report) if there is a fault."""
    report = check(fn, inputs, **options)
    if not report.ok:
        raise CheckFailed(report)
    return report


def chosen(only: Iterable[str], skip: Iterable[str]) -> list[str]:
    """The names of the probes that are asked for, in the order in which they run."""
    only, skip = list(only), list(skip)
    for name in [*only, *skip]:
        if name not in PROBES:
            raise ValueError(f"there is no probe {name!r}; there are {', '.join(PROBES)}")
    return [name for name in ORDER if (not only or name in only) and name not in skip]


def prepare(
    fn: Any, inputs: Sequence[Any] | None, order: int, seed: int, library: str
) -> tuple[Report, Specimen | None]:
    """The report to fill, and the specimen; None in its place where nothing can be examined, and the report says why."""
    world = world_of(fn, library)
    findings = findings_of(fn)
    report = Report(name_of(fn), _where(fn), world.name, seed=seed, order=order, findings=findings)
    given = inputs if inputs is not None else declared(fn)
    if given is None:
        given, report.proposed = proposed(fn, seed, world), True
    if given is None:
        report.error = "no inputs: give them, or write a `samples` function beside forward"
        return report, None
    arguments, wanted = _split(given, world)
    specimen = Specimen(
        target=fn,
        function=fn.apply if isinstance(fn, type) and hasattr(fn, "apply") else fn,
        world=world,
        arguments=arguments,
        wanted=wanted,
        order=order,
        seed=seed,
        name=report.name,
        argument_names=_argument_names(fn),
        once=_once(fn),
        findings=findings,
    )
    report.inputs = specimen.shown()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), world.running():
            warnings.simplefilter("ignore")
            specimen.first.outputs  # noqa: B018 - runs forward once
    except Exception as error:
        if "in-place" in str(error) and "leaf" in str(
            error
        ):  # it writes into its arguments, which must not be leaves then
            return report, _on_copies(specimen, report)
        text = first_line(error, 200)
        outcome = Outcome("forward")
        name = (
            "input-written" if "mark_dirty" in "".join([text, *getattr(error, "__notes__", ())]) else "forward-raises"
        )
        outcome.add(
            Fault(name, f"{type(error).__name__}: {text}", inputs=report.inputs, where=specimen.line_of("forward"))
        )
        report.outcomes.append(outcome)
        return report, None
    return report, specimen


def _on_copies(specimen: Specimen, report: Report) -> Specimen:
    """The specimen with copies of its arguments: what forward writes into is an intermediate value then."""
    report.inputs += "   (given as copies: forward writes in place)"
    changed = replace(specimen, copies=True)
    return replace(changed, function=changed.calling(specimen.function))


def _split(given: Sequence[Any], world: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The arguments as arrays, and the positions that are differentiated."""
    values = given if isinstance(given, (tuple, list)) else (given,)
    arguments, wanted = [], []
    for k, value in enumerate(values):
        if world.is_tensor(value):
            arguments.append(world.array(value))
            needed = bool(getattr(value, "requires_grad", True)) or not any(
                getattr(v, "requires_grad", False) for v in values
            )
        else:
            arguments.append(value)
            needed = isinstance(value, np.ndarray)
        if needed and arguments[-1].dtype.kind in "fc":
            wanted.append(k)
    return tuple(arguments), tuple(wanted)


def run_probes(
    names: Sequence[str],
    specimen: Specimen,
    submit: Callable[[str], Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Outcome]:
    """The outcomes of some probes: one after the other up to what ends it, or each a task that `submit` makes."""
    tasks = {name: submit(name) for name in names} if submit is not None else {}
    outcomes: list[Outcome] = []
    for name in names:
        if progress is not None:
            progress(name)
        outcomes.append(tasks[name].result() if tasks else run_probe(name, specimen))
        if outcomes[-1].ends_it and not tasks:
            break
    return outcomes


def run_probe(name: str, specimen: Specimen) -> Outcome:
    """One probe; what goes wrong inside it ends there."""
    outcome = Outcome(name)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), specimen.world.running():
            warnings.simplefilter("ignore")
            PROBES[name].look(specimen, outcome)
    except Exception as error:
        text = first_line(error, 200)
        outcome.unsure(f"the probe could not go on: {type(error).__name__}: {text}")
    outcome.seconds = time.perf_counter() - start
    return outcome


def remote(fn: Any, inputs: Any, order: int, seed: int, library: str, name: str) -> Outcome:
    """One probe where there is no specimen yet: in a task of an executor."""
    _, specimen = prepare(fn, inputs, order, seed, library)
    return run_probe(name, specimen) if specimen is not None else Outcome(name, "inconclusive")


# ----------------------------------------------------------------------------------------------------- facts of a target
def name_of(fn: Any) -> str:
    """How a target is called."""
    return getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or type(fn).__name__


def _where(fn: Any) -> str:
    try:
        file = inspect.getsourcefile(inspect.unwrap(fn))
        return f"{file}:{inspect.getsourcelines(inspect.unwrap(fn))[1]}"
    except (TypeError, OSError):
        return ""


def _argument_names(fn: Any) -> tuple[str, ...]:
    function = plain(fn, "forward") if isinstance(fn, type) else getattr(fn, "fun", fn)
    try:
        names = [
            p.name
            for p in inspect.signature(function).parameters.values()
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        ]
    except (TypeError, ValueError):
        return ()
    return tuple(names[1:] if isinstance(fn, type) and plain(fn, "setup_context") is None else names)


def _once(fn: Any) -> bool:
    """Whether backward is decorated with once_differentiable."""
    backward = plain(fn, "backward") if isinstance(fn, type) else None
    if backward is None:
        return False
    if getattr(backward, "_once_differentiable", False):
        return True
    code = getattr(backward, "__code__", None)
    return code is not None and "once_differentiable" in code.co_qualname
