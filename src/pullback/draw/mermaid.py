"""The graph as a Mermaid flowchart, which many documentation systems draw by themselves."""

from __future__ import annotations

from pullback.draw.model import COLOURS, Box, Kind, Model

_ROUND = {Kind.LEAF, Kind.OUTPUT, Kind.BASE}


def flowchart(model: Model) -> str:
    """Mermaid source, with the colours of the other formats."""
    ids = {box.key: f"n{k}" for k, box in enumerate(model.boxes)}  # keys may be words that Mermaid reserves
    lines = ["flowchart TD"]
    lines += [f"    {ids[box.key]}{_box(box)}" for box in model.boxes]
    for arrow in model.arrows:
        label = "" if arrow.output is None else f"|{arrow.output}|"
        lines.append(f"    {ids[arrow.tail]} {'-.->' if arrow.dotted else '-->'}{label} {ids[arrow.head]}")
    lines += [f"    {ids[box.owner]} -.- {ids[box.key]}" for box in model.boxes if box.owner]
    lines += [
        f"    classDef {kind.name.lower()} fill:{COLOURS[kind][1]},stroke:#4d4d4d,color:#111" for kind in model.kinds()
    ]
    return "\n".join(lines) + "\n"


def _box(box: Box) -> str:
    text = "<br/>".join(_escape(line) for line in (*box.lines, *box.attributes))
    left, right = ("([", "])") if box.kind in _ROUND else ("[", "]")
    return f'{left}"{text}"{right}:::{box.kind.name.lower()}'


def _escape(text: str) -> str:
    """Mermaid's own entities, so that no character of a name is taken for markup."""
    return "".join(f"#{ord(c)};" if c in '#"&<>`;\\' else c for c in text)
