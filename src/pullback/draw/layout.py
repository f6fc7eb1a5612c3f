"""Where boxes go: a layered layout, as Sugiyama, Tagawa and Toda described it, in four steps.

1. *Layers.*  Every arrow leads downwards.  Where an arrow spans several layers, a *bend* takes a place in each layer
   between, so that lines have room of their own and never run through a box.  Arrows of one value share their bends.
2. *Order.*  Sweeps up and down sort each layer by the mean position of its neighbours, and the order with the fewest
   crossings is kept.
3. *Columns.*  The weighted sum of squared horizontal distances along the arrows is made small, one layer after the
   other; each layer is solved exactly (isotonic regression by pooling adjacent violators), so order and gaps hold.
   Then bends are put below each other where there is room.
4. *Heights.*  Layers are stacked, with more air where lines go far to the side.

Source: K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system structures", 1981.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf

GAP = 22.0  # between boxes of one layer
BEND_GAP = 12.0  # between a line and what is beside it
AIR = 30.0  # between two layers, at least
PORT = 14.0  # between two arrows at one box
LARGE = 3000  # vertices, bends included, from which on speed matters more than the last crossing
STRAIGHT = 8.0  # how much more it matters that a line is straight between two bends than that it is short


@dataclass(frozen=True)
class Cell:
    """The room that a box needs to the left and to the right of its axis, and the box itself."""

    left: float
    right: float
    height: float
    box_width: float
    box_height: float


@dataclass(frozen=True)
class Line:
    """An arrow between two cells; those of one tail and one value share their way, a heavy one is kept short."""

    tail: int
    head: int
    value: Hashable = None
    weight: float = 1.0


#: A line runs straight down at ``x`` from one height to another; between two runs it swings over.
Run = tuple[float, float, float]


@dataclass
class Layout:
    """Centres of the boxes, one list of runs per arrow, and how many of them an earlier arrow has already drawn."""

    centres: list[tuple[float, float]]
    routes: list[list[Run]]
    shared: list[int]
    width: float
    height: float


def layout(cells: Sequence[Cell], arrows: Sequence[Line]) -> Layout:
    """Place `cells`; parts that are not connected stand side by side."""
    result = Layout([(0.0, 0.0)] * len(cells), [[]] * len(arrows), [0] * len(arrows), 0.0, 0.0)
    for members in _parts(len(cells), arrows):
        index = {cell: k for k, cell in enumerate(members)}
        own = [k for k, arrow in enumerate(arrows) if arrow.tail in index]
        lines = [replace(arrows[k], tail=index[arrows[k].tail], head=index[arrows[k].head]) for k in own]
        part = _part([cells[c] for c in members], lines)
        shift = result.width + 2 * GAP if result.width else 0.0
        for cell, (x, y) in zip(members, part.centres, strict=True):
            result.centres[cell] = (x + shift, y)
        for k, route, shared in zip(own, part.routes, part.shared, strict=True):
            result.routes[k] = [(x + shift, top, bottom) for x, top, bottom in route]
            result.shared[k] = shared
        result.width = shift + part.width
        result.height = max(result.height, part.height)
    return result


def _parts(count: int, arrows: Sequence[Line]) -> list[list[int]]:
    """The connected parts, in the order of their first cells."""
    leader = list(range(count))

    def find(cell: int) -> int:
        while leader[cell] != cell:
            leader[cell] = cell = leader[leader[cell]]
        return cell

    for arrow in arrows:
        a, b = sorted((find(arrow.tail), find(arrow.head)))
        leader[b] = a
    parts: dict[int, list[int]] = {}
    for cell in range(count):
        parts.setdefault(find(cell), []).append(cell)
    return list(parts.values())


@dataclass
class _Layered:
    """The graph with bends: vertices below ``len(cells)`` are cells."""

    cells: Sequence[Cell]
    layer: list[int]
    up: list[list[int]] = field(init=False)
    down: list[list[int]] = field(init=False)
    weight: dict[tuple[int, int], float] = field(default_factory=dict)
    trunks: list[list[int]] = field(default_factory=list)
    layers: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.up = [[] for _ in self.layer]
        self.down = [[] for _ in self.layer]

    def bend(self, layer: int) -> int:
        self.layer.append(layer)
        self.up.append([])
        self.down.append([])
        return len(self.layer) - 1

    def join(self, upper: int, lower: int, weight: float) -> None:
        self.weight[upper, lower] = self.weight.get((upper, lower), 0.0) + weight
        self.down[upper].append(lower)
        self.up[lower].append(upper)

    def is_bend(self, v: int) -> bool:
        return v >= len(self.cells)


def _part(cells: Sequence[Cell], arrows: Sequence[Line]) -> Layout:
    graph = _Layered(cells, _layers(len(cells), arrows))
    ways = _ways(graph, arrows)
    _order(graph)
    x = _columns(graph)
    tops, bottoms = _heights(graph, x)
    starts, ends = _ports(cells, arrows, ways, x)

    left = min(x[v] - cell.left for v, cell in enumerate(cells))
    bends = [x[v] for v in range(len(cells), len(x))]
    left = min([left, *[b - BEND_GAP for b in bends]])
    right = max([*[x[v] + cell.right for v, cell in enumerate(cells)], *[b + BEND_GAP for b in bends]])

    def middle(v: int) -> float:
        return (tops[graph.layer[v]] + bottoms[graph.layer[v]]) / 2

    routes, shared = [], []
    drawn: set[tuple[int, float, int]] = set()
    for way, start, end in zip(ways, starts, ends, strict=True):
        tail, head = way[0], way[-1]
        runs = [(start - left, middle(tail) + cells[tail].box_height / 2, bottoms[graph.layer[tail]])]
        runs += [(x[v] - left, tops[graph.layer[v]], bottoms[graph.layer[v]]) for v in way[1:-1]]
        runs += [(end - left, tops[graph.layer[head]], middle(head) - cells[head].box_height / 2)]
        steps = [(tail, start, v) for v in way[1:-1]]
        known = sum(step in drawn for step in steps)
        drawn.update(steps)
        routes.append(runs)
        shared.append(known)
    centres = [(x[v] - left, middle(v)) for v in range(len(cells))]
    return Layout(centres, routes, shared, right - left, bottoms[-1])


# --------------------------------------------------------------------------------------------------------------- layers
def _layers(count: int, arrows: Sequence[Line]) -> list[int]:
    """Longest path from above; then whoever does not lengthen its lines by it moves down to its first consumer."""
    below: list[list[int]] = [[] for _ in range(count)]
    above: list[list[int]] = [[] for _ in range(count)]
    values: list[set[Hashable]] = [set() for _ in range(count)]
    for arrow in arrows:
        below[arrow.tail].append(arrow.head)
        above[arrow.head].append(arrow.tail)
        values[arrow.tail].add(arrow.value)
    waiting = [len(a) for a in above]
    order = [v for v in range(count) if not waiting[v]]
    layer = [0] * count
    for v in order:  # grows while it is read
        for w in below[v]:
            layer[w] = max(layer[w], layer[v] + 1)
            waiting[w] -= 1
            if not waiting[w]:
                order.append(w)
    for v in reversed(order):
        if below[v] and len(set(above[v])) <= max(1, len(values[v])):
            layer[v] = min(layer[w] for w in below[v]) - 1
    first = min(layer)
    return [number - first for number in layer]


def _ways(graph: _Layered, arrows: Sequence[Line]) -> list[list[int]]:
    """For every arrow its vertices from tail to head, bends included."""
    trunks: dict[tuple[int, Hashable], list[int]] = {}  # the bends of one value, one per layer
    ways = []
    for arrow in arrows:
        trunk = trunks.setdefault((arrow.tail, arrow.value), [])
        span = graph.layer[arrow.head] - graph.layer[arrow.tail]
        while len(trunk) < span - 1:
            above = trunk[-1] if trunk else arrow.tail
            bend = graph.bend(graph.layer[above] + 1)
            graph.join(above, bend, arrow.weight if above == arrow.tail else STRAIGHT)
            trunk.append(bend)
        way = [arrow.tail, *trunk[: span - 1]]
        graph.join(way[-1], arrow.head, arrow.weight)
        ways.append([*way, arrow.head])
    graph.trunks = [trunk for trunk in trunks.values() if trunk]
    return ways


# ---------------------------------------------------------------------------------------------------------------- order
def _order(graph: _Layered) -> None:
    """Fill ``graph.layers`` so that few lines cross: the better end of two starts (one where that would take long)."""
    starts = [_first_order(graph, graph.down)]
    if len(graph.layer) < LARGE:
        starts.append(_first_order(graph, [d + u for d, u in zip(graph.down, graph.up, strict=True)]))
    graph.layers = min((_swept(graph, start) for start in starts), key=lambda end: end[0])[1]


def _first_order(graph: _Layered, beside: list[list[int]]) -> list[list[int]]:
    """Layers in the order of a depth-first search along `beside`."""
    layers: list[list[int]] = [[] for _ in range(max(graph.layer) + 1)]
    seen = [False] * len(graph.layer)
    for source in range(len(graph.cells)):
        stack = [] if graph.up[source] else [source]
        while stack:
            v = stack.pop()
            if not seen[v]:
                seen[v] = True
                layers[graph.layer[v]].append(v)
                stack.extend(reversed(beside[v]))
    return layers


def _swept(graph: _Layered, layers: list[list[int]]) -> tuple[int, list[list[int]]]:
    """Sort the layers up and down by their neighbours; the fewest crossings seen, and the order that has them."""
    place = [0.0] * len(graph.layer)
    _number(layers, place)
    best, fewest, since = [list(row) for row in layers], _crossings(graph, layers, place), 0
    careful = len(graph.layer) < LARGE
    for sweep in range(24 if careful else 8):
        if not fewest or since > 7:
            break
        downwards = sweep % 2 == 0
        for row in layers if downwards else reversed(layers):
            if sweep % 4 > 1:
                row.reverse()  # so that ties fall the other way
            _sort(row, graph.up if downwards else graph.down, place)
        if careful:
            _swap(graph, layers, place)
        count = _crossings(graph, layers, place)
        since += 1
        if count < fewest:
            best, fewest, since = [list(row) for row in layers], count, 0
    return fewest, best


def _number(layers: Sequence[list[int]], place: list[float]) -> None:
    for row in layers:
        for k, v in enumerate(row):
            place[v] = k


def _sort(row: list[int], beside: list[list[int]], place: list[float]) -> None:
    """Sort by the mean position of the neighbours; a vertex without any keeps its place."""
    row.sort(key=lambda v: sum(place[u] for u in beside[v]) / len(beside[v]) if beside[v] else place[v])
    for k, v in enumerate(row):
        place[v] = k


def _swap(graph: _Layered, layers: Sequence[list[int]], place: list[float]) -> None:
    """Exchange neighbours wherever their own lines cross less then."""
    for row in layers:
        for k in range(len(row) - 1):
            a, b = row[k], row[k + 1]
            as_is = swapped = 0
            for beside in (graph.up, graph.down):
                for p in beside[a]:
                    for q in beside[b]:
                        as_is += place[p] > place[q]
                        swapped += place[q] > place[p]
            if swapped < as_is:
                row[k], row[k + 1] = b, a
                place[a], place[b] = k + 1, k


def _crossings(graph: _Layered, layers: Sequence[list[int]], place: list[float]) -> int:
    """Pairs of lines that cross: inversions of the lower ends, when lines are sorted by their upper ends."""
    total = 0
    for row in layers:
        ends: list[float] = []
        for v in row:
            for end in sorted(place[w] for w in graph.down[v]):
                total += len(ends) - bisect_left(ends, end + 0.5)
                insort(ends, end)
    return total


# -------------------------------------------------------------------------------------------------------------- columns
def _columns(graph: _Layered) -> list[float]:
    """Horizontal positions."""
    x = [0.0] * len(graph.layer)
    for row in graph.layers:
        for v, offset in zip(row, _offsets(graph, row), strict=True):
            x[v] = offset
    neither: list[list[int]] = [[] for _ in graph.layer]
    rounds = 24 if len(graph.layer) < LARGE else 8
    for k in range(rounds):
        if k < 4:
            up, down = (graph.up, neither) if k % 2 == 0 else (neither, graph.down)
        else:
            up, down = graph.up, graph.down
        for row in graph.layers if k % 2 == 0 else reversed(graph.layers):
            _settle(graph, row, up, down, x)
    _straighten(graph, x)
    return x


def _straighten(graph: _Layered, x: list[float]) -> None:
    """Put as many bends of a line as there is room for exactly below each other."""
    beside: dict[int, tuple[int | None, int | None]] = {}
    for row in graph.layers:
        for k, v in enumerate(row):
            beside[v] = (row[k - 1] if k else None, row[k + 1] if k + 1 < len(row) else None)

    def limits(v: int) -> tuple[float, float]:
        left, right = beside[v]
        low = -inf if left is None else x[left] + BEND_GAP + (0.0 if graph.is_bend(left) else graph.cells[left].right)
        high = (
            inf if right is None else x[right] - BEND_GAP - (0.0 if graph.is_bend(right) else graph.cells[right].left)
        )
        return low, high

    for trunk in graph.trunks:
        room = {v: limits(v) for v in trunk}
        k = 0
        while k < len(trunk):
            low, high = room[trunk[k]]
            end = k + 1
            while end < len(trunk) and max(low, room[trunk[end]][0]) <= min(high, room[trunk[end]][1]):
                low, high = max(low, room[trunk[end]][0]), min(high, room[trunk[end]][1])
                end += 1
            wish = sum(x[v] for v in trunk[k:end]) / (end - k)
            for v in trunk[k:end]:
                x[v] = min(max(wish, low), high)
            k = end


def _offsets(graph: _Layered, row: list[int]) -> list[float]:
    """Smallest positions that keep the gaps, from 0."""
    offsets = [0.0]
    for a, b in pairwise(row):
        gap = BEND_GAP if graph.is_bend(a) or graph.is_bend(b) else GAP
        right = 0.0 if graph.is_bend(a) else graph.cells[a].right
        left = 0.0 if graph.is_bend(b) else graph.cells[b].left
        offsets.append(offsets[-1] + right + gap + left)
    return offsets


def _settle(graph: _Layered, row: list[int], up: list[list[int]], down: list[list[int]], x: list[float]) -> None:
    """Move one layer to where its lines are shortest, order and gaps kept."""
    offsets = _offsets(graph, row)
    pools: list[tuple[float, float, int]] = []  # (where its members want the first of the row, weight, how many)
    for v, offset in zip(row, offsets, strict=True):
        weight = pull = 0.0
        for u in up[v]:
            weight += (w := graph.weight[u, v])
            pull += w * x[u]
        for u in down[v]:
            weight += (w := graph.weight[v, u])
            pull += w * x[u]
        if not weight:
            weight, pull = 0.001, 0.001 * x[v]
        pool = (pull / weight - offset, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            want, heavy, many = pools.pop()
            both = heavy + pool[1]
            pool = ((want * heavy + pool[0] * pool[1]) / both, both, many + pool[2])
        pools.append(pool)
    k = 0
    for want, _, many in pools:
        for _ in range(many):
            x[row[k]] = want + offsets[k]
            k += 1


# -------------------------------------------------------------------------------------------------------------- heights
def _heights(graph: _Layered, x: list[float]) -> tuple[list[float], list[float]]:
    """Top and bottom of every layer."""
    tops, bottoms = [], []
    y = 0.0
    for row in graph.layers:
        tops.append(y)
        y += max([graph.cells[v].height for v in row if not graph.is_bend(v)], default=8.0)
        bottoms.append(y)
        widest = max([abs(x[v] - x[w]) for v in row for w in graph.down[v]], default=0.0)
        y += min(AIR + 0.12 * widest, 3 * AIR)
    return tops, bottoms


def _ports(
    cells: Sequence[Cell], arrows: Sequence[Line], ways: list[list[int]], x: list[float]
) -> tuple[list[float], list[float]]:
    """Where each arrow leaves its tail (one port per value) and where it enters its head (one port per arrow)."""
    leaving: dict[int, dict[Hashable, list[float]]] = {}
    entering: dict[int, list[tuple[float, int]]] = {}
    for k, (arrow, way) in enumerate(zip(arrows, ways, strict=True)):
        leaving.setdefault(arrow.tail, {}).setdefault(arrow.value, []).append(x[way[1]])
        entering.setdefault(arrow.head, []).append((x[way[-2]], k))
    starts, ends = [0.0] * len(arrows), [0.0] * len(arrows)
    where: dict[tuple[int, Hashable], float] = {}
    for tail, values in leaving.items():
        ranked = sorted(values, key=lambda value: sum(values[value]) / len(values[value]))
        for value, port in zip(ranked, _spread(x[tail], cells[tail].box_width, len(ranked)), strict=True):
            where[tail, value] = port
    for head, incoming in entering.items():
        for (_, k), port in zip(sorted(incoming), _spread(x[head], cells[head].box_width, len(incoming)), strict=True):
            ends[k] = port
    for k, arrow in enumerate(arrows):
        starts[k] = where[arrow.tail, arrow.value]
    return starts, ends


def _spread(centre: float, width: float, count: int) -> list[float]:
    step = min(PORT, (width - 12.0) / (count - 1)) if count > 1 else 0.0
    return [centre + (k - (count - 1) / 2) * step for k in range(count)]
