"""The graph as a listing, made to be read, compared and diffed: one line per box, producers first."""

from __future__ import annotations

from pullback.draw.model import Arrow, Box, Kind, Model


def listing(model: Model) -> str:
    """One line per box; arguments are given by name, results by the key of their operation."""
    alias: dict[str, str] = {}  # an AccumulateGrad is not worth a line: say the name of its leaf
    incoming: dict[str, list[Arrow]] = {}
    for arrow in model.arrows:
        incoming.setdefault(arrow.head, []).append(arrow)
    for box in model.boxes:
        if box.kind is Kind.ACCUMULATE:
            alias[box.key] = incoming[box.key][0].tail
    lines = [_line(box, incoming.get(box.key, []), alias) for box in model.boxes if box.kind is not Kind.ACCUMULATE]
    return "\n".join(lines) + "\n"


def _line(box: Box, arrows: list[Arrow], alias: dict[str, str]) -> str:
    if box.kind is Kind.SAVED:
        return f"    {box.detail.partition(' ')[2]}"
    sources = [_source(arrow, alias) for arrow in arrows]
    if box.kind is Kind.MORE:
        return f"{box.key}: {' '.join(box.lines)}" + (f" of {', '.join(sources)}" if sources else "")
    if box.kind in (Kind.LEAF, Kind.OUTPUT, Kind.BASE):
        origin = f" = {', '.join(sources)}" if sources else ""
        return f"{box.key}: {box.kind}{origin} {' '.join(box.lines[1:])}"
    names = " ".join(box.lines[1:])
    extra = "".join(f"\n    {line}" for line in box.attributes)
    refused = f"  # {box.detail}" if box.kind is Kind.REFUSED else ""
    return f"{box.key}: ({', '.join(sources)}) -> {box.spec} {names}".rstrip() + refused + extra


def _source(arrow: Arrow, alias: dict[str, str]) -> str:
    value = alias.get(arrow.tail, arrow.tail) + ("" if arrow.output is None else f"[{arrow.output}]")
    if arrow.dotted:
        return f"view of {value}"
    return f"{arrow.argument}={value}" if arrow.argument else value
