"""The graph as SVG, by our own layout: no other program, no other package.

Boxes carry dark text on a light fill, and lines and words between them are of the one grey that has a contrast of 4.5
to black and to white alike, so that the picture can stand on any page.  Nothing in it depends on style sheets or on
ids, which two pictures in one page would share.
"""

from __future__ import annotations

import unicodedata
from xml.sax.saxutils import escape, quoteattr

from pullback.draw.layout import PORT, Cell, Layout, Line, Run, layout
from pullback.draw.model import COLOURS, Arrow, Box, Kind, Model
from pullback.draw.text import listing

_FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_SIZE, _LINE, _EM = 12.0, 15.0, 7.25  # font size, distance of lines, width of a letter
_PAD_X, _PAD_Y = 10.0, 6.0
_MARGIN = 14.0
_BESIDE, _STACK = 20.0, 6.0  # from an operation to its saved values, and between these
_HEAD = 7.0
#: Leaves follow their consumers and stand aside, so that the way from operation to operation is straight.
_WEIGHTS = {Kind.LEAF: 0.01, Kind.ACCUMULATE: 0.1}
_GREY, _INK, _RIM = "#767676", "#111111", "#4d4d4d"
_TENSORS = {Kind.LEAF, Kind.OUTPUT, Kind.BASE}
_HINT = "Arrows lead from arguments to results; gradients flow against them."


def picture(model: Model) -> str:
    """The model as an SVG document."""
    saved: dict[str, list[Box]] = {}
    for box in model.boxes:
        if box.owner:
            saved.setdefault(box.owner, []).append(box)
    main = [box for box in model.boxes if not box.owner]
    sizes = _sizes(model)
    cells = [_cell(sizes[box.key], [sizes[s.key] for s in saved.get(box.key, [])]) for box in main]
    places = layout(cells, _lines(model, main))

    shapes = [_arrow(arrow, places, k) for k, arrow in enumerate(model.arrows)]
    shapes += _output_numbers(model.arrows, places)
    for box, (x, y) in zip(main, places.centres, strict=True):
        shapes += _beside(saved.get(box.key, []), x, y, sizes)
        shapes.append(_box(box, x, y, sizes[box.key]))
    width = max(places.width, 36 * _EM)
    legend, height = _legend(model, width, places.height + 24)
    middle = f"translate({(width - places.width) / 2:.1f} 0)"
    return _document(model, [f'<g transform="{middle}">', *shapes, "</g>", *legend], width, height)


def _lines(model: Model, main: list[Box]) -> list[Line]:
    index = {box.key: k for k, box in enumerate(main)}
    weights = {box.key: _WEIGHTS.get(box.kind, 1.0) for box in main}
    return [Line(index[a.tail], index[a.head], (a.output, a.dotted), weights[a.tail]) for a in model.arrows]


def _document(model: Model, shapes: list[str], width: float, height: float) -> str:
    title = _title(model)
    wide, high = f"{width + 2 * _MARGIN:.0f}", f"{height + 2 * _MARGIN:.0f}"
    lines = listing(model).splitlines()
    story = "\n".join([_HINT, *lines[:60], *(["…"] if len(lines) > 60 else [])])
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
            f'viewBox="{-_MARGIN:g} {-_MARGIN:g} {wide} {high}" '
            f'role="img" aria-label={quoteattr(title)} font-family="{_FONT}" font-size="{_SIZE:g}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(story)}</desc>",
            *shapes,
            "</svg>",
            "",
        ]
    )


def _title(model: Model) -> str:
    outputs = [box.lines[0] for box in model.boxes if box.kind is Kind.OUTPUT]
    count = sum(box.kind in (Kind.OPERATION, Kind.FUNCTION, Kind.REFUSED) for box in model.boxes)
    hidden = f", {model.hidden} more nodes left out" if model.hidden else ""
    return f"Graph of {', '.join(outputs) or 'a leaf'}: {count} operation{'' if count == 1 else 's'}{hidden}"


# ---------------------------------------------------------------------------------------------------------------- sizes
def _columns(text: str) -> int:
    """How many letters wide a line is in a monospaced font."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def _sizes(model: Model) -> dict[str, tuple[float, float]]:
    """Width and height of every box: its text, and room for the arrows that enter it."""
    entering: dict[str, int] = {}
    for arrow in model.arrows:
        entering[arrow.head] = entering.get(arrow.head, 0) + 1
    sizes = {}
    for box in model.boxes:
        rows = len(box.lines) + len(box.attributes)
        text = max(map(_columns, (*box.lines, *box.attributes))) * _EM + 2 * _PAD_X
        ports = min((entering.get(box.key, 1) - 1) * PORT + 12, 420.0)
        sizes[box.key] = (max(text, ports, 40.0), rows * _LINE + 2 * _PAD_Y + (4 if box.attributes else 0))
    return sizes


def _cell(size: tuple[float, float], saved: list[tuple[float, float]]) -> Cell:
    width, height = size
    right = width / 2 + (_BESIDE + max(w for w, _ in saved) if saved else 0)
    stack = sum(h for _, h in saved) + _STACK * (len(saved) - 1)
    return Cell(width / 2, right, max(height, stack), width, height)


# --------------------------------------------------------------------------------------------------------------- shapes
def _box(box: Box, x: float, y: float, size: tuple[float, float]) -> str:
    width, height = size
    left, top = x - width / 2, y - height / 2
    radius = height / 2 if box.kind in _TENSORS and len(box.lines) == 1 else 9 if box.kind in _TENSORS else 4
    dashed = ' stroke-dasharray="5 4"' if box.kind is Kind.MORE else ""
    parts = [
        f"<g><title>{escape(box.detail)}</title>",
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:g}" '
        f'fill="{COLOURS[box.kind][1]}" stroke="{_RIM}"{dashed}/>',
    ]
    baseline = top + _PAD_Y + _LINE - 4
    for k, line in enumerate(box.lines):
        bold = ' font-weight="bold"' if k == 0 and box.kind in _TENSORS else ""
        parts.append(_text(line, x, baseline + k * _LINE, f' text-anchor="middle"{bold}'))
    if box.attributes:
        rule = top + _PAD_Y + len(box.lines) * _LINE + 2
        parts.append(
            f'<path d="M{left + 5:.1f} {rule:.1f}H{left + width - 5:.1f}" stroke="{_RIM}" stroke-width="0.5"/>'
        )
    for k, line in enumerate(box.attributes, len(box.lines)):
        parts.append(_text(line, left + _PAD_X, baseline + 4 + k * _LINE))
    return "".join([*parts, "</g>"])


def _text(line: str, x: float, y: float, extra: str = "", fill: str = _INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}"{extra}>{escape(line)}</text>'


def _beside(boxes: list[Box], x: float, y: float, sizes: dict[str, tuple[float, float]]) -> list[str]:
    """Saved values in a stack to the right of their operation, on dotted lines."""
    shapes = []
    edge = x + sizes[boxes[0].owner][0] / 2 if boxes else x
    stack = sum(sizes[box.key][1] for box in boxes) + _STACK * (len(boxes) - 1)
    top = y - stack / 2
    for box in boxes:
        width, height = sizes[box.key]
        middle = top + height / 2
        bend = edge + _BESIDE / 2
        way = f"M{edge:.1f} {y:.1f}H{bend:.1f}V{middle:.1f}H{edge + _BESIDE:.1f}"
        shapes.append(f'<path d="{way}" fill="none" stroke="{_GREY}" stroke-width="1.5" stroke-dasharray="1.5 3"/>')
        shapes.append(_box(box, edge + _BESIDE + width / 2, middle, sizes[box.key]))
        top += height + _STACK
    return shapes


def _arrow(arrow: Arrow, places: Layout, k: int) -> str:
    runs = places.routes[k]
    x, _, tip = runs[-1]
    runs = [*runs[:-1], (x, runs[-1][1], tip - _HEAD + 1)]
    dotted = ' stroke-dasharray="3 4"' if arrow.dotted else ""
    head = f"M{x:.1f} {tip:.1f}l-3.5 -{_HEAD:g}h7z"
    what = f"{arrow.tail}{'' if arrow.output is None else f'[{arrow.output}]'} → {arrow.head}"
    what += f" (argument {arrow.argument})" if arrow.argument else ""
    return (
        f"<g><title>{escape(what)}</title>"
        f'<path d="{_curve(runs[places.shared[k] :])}" fill="none" stroke="{_GREY}" stroke-width="1.3"{dotted}/>'
        f'<path d="{head}" fill="{_GREY}"/></g>'
    )


def _curve(runs: list[Run]) -> str:
    """Straight down along each run, and in an S from one to the next."""
    x, top, bottom = runs[0]
    way = [f"M{x:.1f} {top:.1f}V{bottom:.1f}"]
    for x1, y1, y2 in runs[1:]:
        if abs(x1 - x) < 0.1:
            way.append(f"V{y2:.1f}")
        else:
            half = (bottom + y1) / 2
            way.append(f"C{x:.1f} {half:.1f} {x1:.1f} {half:.1f} {x1:.1f} {y1:.1f}V{y2:.1f}")
        x, bottom = x1, y2
    return "".join(way)


def _output_numbers(arrows: tuple[Arrow, ...], places: Layout) -> list[str]:
    """Which result of its producer an arrow carries, where there are several."""
    found = {
        (places.routes[k][0][0], places.routes[k][0][1]): arrow.output
        for k, arrow in enumerate(arrows)
        if arrow.output is not None
    }
    return [_text(str(number), x + 3, y + 11, ' font-size="10"', _GREY) for (x, y), number in found.items()]


# --------------------------------------------------------------------------------------------------------------- legend
def _legend(model: Model, width: float, top: float) -> tuple[list[str], float]:
    """What the colours mean, in as many rows as the width asks for; and the height at which it ends."""
    shapes = []
    x, y = 0.0, top
    for kind in model.kinds():
        needed = 18 + len(str(kind)) * _EM + 14
        if x and x + needed > width:
            x, y = 0.0, y + 20
        dashed = ' stroke-dasharray="3 2"' if kind is Kind.MORE else ""
        colours = f'fill="{COLOURS[kind][1]}" stroke="{_RIM}"{dashed}'
        shapes.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="12" height="12" rx="3" {colours}/>')
        shapes.append(_text(str(kind), x + 18, y + 10, fill=_GREY))
        x += needed
    y += 12
    for line in _wrapped(_HINT, int(width / (_EM * 11 / _SIZE))):
        y += 16
        shapes.append(_text(line, 0, y, ' font-size="11"', _GREY))
    return shapes, y + 2


def _wrapped(text: str, columns: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > columns:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
