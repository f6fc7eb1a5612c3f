"""The sub-command ``pullback check``."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pullback.commands.words import complain, separated

if TYPE_CHECKING:
    from pullback.check.verdicts import Report

SUMMARY = "examine custom autograd Functions: gradients, orders, contract, state, layouts, dtypes, edges, modes"
DESCRIPTION = """\
Examines a custom Function as a whole: torch.autograd.Function classes as they are, pullback's Functions and Primitives,
callables of either library, and jax.custom_vjp functions. Each probe passes, finds a fault, or says why it cannot tell; a fault
comes with the numbers that show it, the line, why it matters and what to write instead.

TARGET is package.module:Name, path/to/file.py:Name, or a file (every Function in it). Importing it runs its code.
The exit status is 0 without faults, 1 with some, 2 if nothing could be examined.
"""
EXAMPLES = """\
examples:
  pullback check ops.py                                   every Function in the file
  pullback check ops.py:Sinh --inputs "randn(3, 4), 0.5"  with these arguments: arrays, numbers, texts
  pullback check ops.py:Sinh --samples ops.py:inputs      a function that returns the arguments
  pullback check ops.py:Sinh --order 3 --only values,orders
  pullback check ops.py:Sinh --expected "cosh(x)"         compare with a derivative written by hand
  pullback check ops.py:Sinh --trace                      every forward and backward, with what they kept and gave
  pullback check ops.py --html report.html --junit report.xml
  pullback check --probes                                 what each probe does
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the sub-command understands."""
    add = parser.add_argument
    add("targets", nargs="*", metavar="TARGET", help="package.module:Name, file.py:Name, or a file")
    add("--inputs", metavar="TEXT", help='the arguments, such as "randn(3, 4), randn(4), 0.1"')
    add("--samples", metavar="TARGET", help="a function that returns the arguments")
    add("--order", type=int, default=2, metavar="N", help="the highest derivative (%(default)s)")
    add("--only", action="append", default=[], metavar="PROBES", help="these probes only, with commas")
    add("--skip", action="append", default=[], metavar="PROBES", help="without these probes")
    add("--seed", type=int, default=0, help="of all random numbers (%(default)s); the same seed finds the same faults")
    add(
        "--library",
        choices=("torch", "pullback", "pullback.torch", "jax"),
        default="",
        help="whose Tensors to use (found out)",
    )
    add("--expected", metavar="FORMULA", help="the derivative by hand, in the names of forward's arguments")
    add("--trace", action="store_true", help="show each forward and backward: saved values, gradients in and out")
    add("--json", action="store_true", help="write one JSON document instead of the report")
    add("--junit", type=Path, metavar="FILE", help="write JUnit XML as well")
    add("--html", type=Path, metavar="FILE", help="write a page with curves as well")
    add("--workers", type=int, default=0, metavar="N", help="processes that share the work (0: this one)")
    add("--timeout", type=float, default=300.0, metavar="S", help="seconds for everything (%(default)s)")
    add("--probes", action="store_true", help="say what each probe does and stop")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit status: 0 no fault, 1 faults, 2 nothing could be examined."""
    from pullback.check.inputs import BadInputs
    from pullback.check.probing import PROBES
    from pullback.check.targets import BadTarget

    if arguments.probes:
        from pullback.check.pages import as_text

        print(as_text())
        return 0
    if not arguments.targets:
        return complain("check", "name what to examine: file.py:Name; --help shows examples")
    for name in [*separated(arguments.only), *separated(arguments.skip)]:
        if name not in PROBES:
            return complain("check", f"there is no probe {name!r}; there are {', '.join(PROBES)}")
    if arguments.order < 1:
        return complain("check", "--order is 1 or more")
    try:
        with _limit(arguments.timeout):
            return _trace(arguments) if arguments.trace else _examine(arguments)
    except (BadTarget, BadInputs) as error:
        return complain("check", str(error))
    except TimeoutError:
        return complain(
            "check", f"still running after {arguments.timeout:g} s; --timeout gives more, --only fewer probes"
        )
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        return complain("check", f"cannot write {error.filename or ''}: {error.strerror or error}")


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in this thread after some seconds, also in the middle of a user's endless loop."""
    import _thread

    expired, done = threading.Event(), threading.Event()

    def interrupt() -> None:
        pause = seconds
        while not done.wait(pause):  # again and again: one interrupt can be lost, as in a finaliser
            expired.set()
            _thread.interrupt_main()
            pause = 0.5

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        if expired.is_set():
            raise TimeoutError from None
        raise
    finally:
        done.set()


# -------------------------------------------------------------------------------------------------------------- the work
def _loaded(arguments: argparse.Namespace) -> list[tuple[str, Any]]:
    from pullback.check.targets import load

    if sys.stderr.isatty():
        sys.stderr.write(f"importing {', '.join(arguments.targets)}: this runs its code\n")
    return [pair for target in arguments.targets for pair in load(target)]


def _inputs(arguments: argparse.Namespace) -> Any:
    from pullback.check.inputs import parsed
    from pullback.check.targets import BadTarget, load

    if arguments.inputs is not None:
        return parsed(arguments.inputs, arguments.seed)
    if arguments.samples is None:
        return None
    ((_, function),) = load(arguments.samples)
    try:
        found = function()
    except Exception as error:
        raise BadTarget(f"{arguments.samples} raises {type(error).__name__}: {error}") from None
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _examine(arguments: argparse.Namespace) -> int:
    targets, inputs = _loaded(arguments), _inputs(arguments)
    reports = []
    with _progress(arguments, len(targets)) as step, _pool(arguments.workers) as pool:
        for text, target in targets:
            reports.append(_one(text, target, inputs, arguments, step, pool))
    _write(reports, arguments)
    if any(report.error for report in reports) and all(report.error or report.ok for report in reports):
        return 2
    if any(fault.name == "forward-raises" for report in reports for fault in report.faults):
        return 2 if len(reports) == 1 else 1
    return 0 if all(report.ok for report in reports) else 1


def _one(text: str, target: Any, inputs: Any, arguments: argparse.Namespace, step: Any, pool: Any) -> Report:
    from pullback.check.jobs import examine

    return examine(
        text,
        target,
        inputs,
        order=arguments.order,
        only=separated(arguments.only),
        skip=separated(arguments.skip),
        seed=arguments.seed,
        library=arguments.library,
        expected=arguments.expected,
        pool=pool,
        progress=step,
    )


@contextmanager
def _pool(workers: int) -> Iterator[Any]:
    if workers < 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool


@contextmanager
def _progress(arguments: argparse.Namespace, count: int) -> Iterator[Any]:
    """A bar where a person watches; nothing at all elsewhere."""
    if not sys.stderr.isatty() or arguments.json:
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import Progress

    from pullback.check.probing import PROBES

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=count * len(PROBES))
        yield lambda name: bar.update(task, advance=1, description=name)


def _write(reports: list[Report], arguments: argparse.Namespace) -> None:
    if arguments.html:
        from pullback.check.reports.html import as_html

        arguments.html.write_text(as_html(reports), encoding="utf-8")
    if arguments.junit:
        from pullback.check.reports.junit import as_junit

        arguments.junit.write_text(as_junit(reports), encoding="utf-8")
    if arguments.json:
        from pullback.check.reports.json import as_json

        print(as_json(reports))
        return
    from pullback.check.reports.terminal import show

    for report in reports:
        show(report)


def _trace(arguments: argparse.Namespace) -> int:
    from pullback.check.trace import trace

    inputs = _inputs(arguments)
    for _, target in _loaded(arguments):
        print(trace(target, inputs, seed=arguments.seed, library=arguments.library))
    return 0
