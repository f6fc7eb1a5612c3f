"""The graph as Graphviz' DOT: a ``graphviz.Digraph`` like that of torchviz, and pictures by whichever program is there.

``graphviz`` is imported when a Digraph is asked for, never before.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pullback.core.errors import lesson
from pullback.draw.model import COLOURS, Box, Kind, Model
from pullback.draw.svg import picture

if TYPE_CHECKING:
    from graphviz import Digraph

WITHOUT_PROGRAM = (
    "Why it matters: render() and view() run Graphviz' program dot, which is no part of the Python package graphviz.\n"
    "Write instead: pullback.draw.save(out, 'graph.svg'), which needs no program; or install Graphviz, for dot."
)
_PLAIN = str.maketrans(":\\<>", "./()")
_NODES = {"style": "filled", "shape": "box", "fontsize": "10", "height": "0.2", "fontname": "Courier"}


def digraph(model: Model) -> Digraph:
    """A ``graphviz.Digraph`` of the model; shown in a notebook, it needs no Graphviz program."""
    legend = "; ".join(f"{COLOURS[kind][0]}: {kind}" for kind in model.kinds())
    dot = _digraph_class()(
        comment=f"Colours: {legend}. Arrows lead from arguments to results; gradients flow against them.",
        node_attr=_NODES,
        edge_attr={"fontsize": "9", "fontname": "Courier"},
        graph_attr={"ranksep": "0.3"},
    )
    escape, ids = _graphviz().escape, _ids(model)
    for box in model.boxes:
        extra = {"style": "filled,dashed"} if box.kind is Kind.MORE else {}
        dot.node(ids[box.key], escape(_label(box)), fillcolor=COLOURS[box.kind][0], tooltip=escape(box.detail), **extra)
    for arrow in model.arrows:
        label = None if arrow.output is None else str(arrow.output)
        extra = {"style": "dotted"} if arrow.dotted else {}
        dot.edge(ids[arrow.tail], ids[arrow.head], label, **extra)
    for box in model.boxes:
        if box.owner:
            dot.edge(ids[box.owner], ids[box.key], dir="none", style="dotted")
    dot.drawn = (dot.source, model)
    return dot


def _ids(model: Model) -> dict[str, str]:
    """The keys without the characters that mean something to DOT: a port, an escape, HTML."""
    ids: dict[str, str] = {}
    taken = {box.key for box in model.boxes}
    for box in model.boxes:
        name = box.key.translate(_PLAIN)
        while name != box.key and name in taken:
            name += "_"
        taken.add(name)
        ids[box.key] = name
    return ids


def _label(box: Box) -> str:
    lines = list(box.lines)
    if box.attributes:
        lines += ["-" * max(map(len, (*box.lines, *box.attributes))), *box.attributes]
    return "\n".join(lines)


def _graphviz() -> Any:
    try:
        import graphviz
    except ImportError as error:
        raise lesson(
            ImportError,
            "make_dot() returns a graphviz.Digraph, and the package graphviz is not installed",
            instead="pip install graphviz; or pullback.draw.save(out, 'graph.svg'), which needs nothing at all.",
        ) from error
    return graphviz


@functools.cache
def _digraph_class() -> Any:
    class Graph(_graphviz().Digraph):  # type: ignore[misc]
        """A Digraph that can be looked at where Graphviz' ``dot`` is not installed."""

        drawn: tuple[str, Model] | None = None

        def pipe(self, format: str | None = None, *args: Any, encoding: str | None = None, **options: Any) -> Any:
            if shutil.which("dot"):
                return super().pipe(format, *args, encoding=encoding, **options)
            form = format or self.format
            if form == "svg" and self.drawn and self.drawn[0] == self.source and not _program():
                data = picture(self.drawn[1]).encode()
            else:
                data = render(self.source, form)
            return data if encoding is None else data.decode(encoding)

        def render(self, *args: Any, **options: Any) -> Any:
            with _explained(_graphviz().ExecutableNotFound):
                return super().render(*args, **options)

        def view(self, *args: Any, **options: Any) -> Any:
            with _explained(_graphviz().ExecutableNotFound):
                return super().view(*args, **options)

    Graph.__name__ = Graph.__qualname__ = "Digraph"
    return Graph


@contextmanager
def _explained(not_found: type[Exception]) -> Iterator[None]:
    """Add to graphviz' own error what works without its program; once, as ``view`` calls ``render``."""
    try:
        yield
    except not_found as error:
        if not getattr(error, "__notes__", None):
            error.add_note(WITHOUT_PROGRAM)
        raise


def _program() -> str | None:
    """Graphviz' ``dot``, or the one of the package graphviz-pure."""
    beside = str(Path(sysconfig.get_path("scripts")))
    return shutil.which("dot") or shutil.which("graphviz-pure") or shutil.which("graphviz-pure", path=beside)


def render(source: str, form: str) -> bytes:
    """DOT source as an image: ``"png"``, ``"svg"``, or what else the program at hand can do."""
    program = _program()
    if program is None:
        raise lesson(
            RuntimeError,
            f"no program was found that makes {form.upper()} from DOT",
            instead="pip install graphviz-pure (or Graphviz' dot); or an SVG: pullback.draw.save(out, 'graph.svg').",
        )
    done = subprocess.run([program, f"-T{form}"], input=source.encode(), capture_output=True, check=False)
    if done.returncode:
        reason = (done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"])[-1]
        raise lesson(
            RuntimeError,
            f"{Path(program).name} did not make {form.upper()} of the graph: {reason}",
            instead="another format, for example 'svg' or 'png'.",
        )
    return done.stdout
