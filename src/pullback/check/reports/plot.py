"""Curves as SVG, drawn with nothing but text: logarithmic axes, a line for each curve."""

from __future__ import annotations

import math
from collections.abc import Sequence

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 420, 260, 64, 40, 28, 16


def loglog(title: str, across: str, up: str, curves: Sequence[tuple[str, Sequence[float], Sequence[float]]]) -> str:
    """An SVG of curves ``(label, x, y)`` on logarithmic axes; points that are not positive are left out."""
    cleaned = [
        (label, [(x, y) for x, y in zip(xs, ys, strict=True) if x > 0 and y > 0 and math.isfinite(y)])
        for label, xs, ys in curves
    ]
    points = [point for _, line in cleaned for point in line]
    if not points:
        return ""
    low_x, high_x = _decades(x for x, _ in points)
    low_y, high_y = _decades(y for _, y in points)

    def place(x: float, y: float) -> tuple[float, float]:
        u = (math.log10(x) - low_x) / (high_x - low_x)
        v = (math.log10(y) - low_y) / (high_y - low_y)
        return LEFT + u * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - v * (HEIGHT - BOTTOM - TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{title}">',
        f'<text x="{LEFT}" y="16" class="title">{title}</text>',
    ]
    for decade in range(math.ceil(low_x), math.floor(high_x) + 1, max(1, round((high_x - low_x) / 5))):
        x, _ = place(10.0**decade, 10.0**low_y)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" class="grid"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" class="tick" text-anchor="middle">1e{decade}</text>'
        )
    for decade in range(math.ceil(low_y), math.floor(high_y) + 1, max(1, round((high_y - low_y) / 5))):
        _, y = place(10.0**low_x, 10.0**decade)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="tick" text-anchor="end">1e{decade}</text>')
    for number, (label, line) in enumerate(cleaned):
        if not line:
            continue
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline points="{path}" class="curve c{number}"/>')
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" class="dot c{number}"/>'
            for x, y in (place(*point) for point in line)
        ]
        x, y = place(*line[-1])
        parts.append(f'<text x="{LEFT + 8}" y="{TOP + 14 + 14 * number}" class="label c{number}">{label}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" class="tick" text-anchor="middle">{across}</text>')
    parts.append(
        f'<text x="14" y="{HEIGHT / 2}" class="tick" text-anchor="middle" transform="rotate(-90 14 {HEIGHT / 2})">{up}</text>'
    )
    return "".join([*parts, "</svg>"])


def _decades(values: object) -> tuple[float, float]:
    logs = [math.log10(v) for v in values]  # type: ignore[attr-defined]
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    return float(low), float(high if high > low else low + 1)
