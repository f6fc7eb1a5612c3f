"""Pictures of graphs: what they must show, that they always come out the same, and that they can be looked at."""

import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import graphviz
import numpy as np
import pytest

import pullback as pb
from pullback import draw
from pullback.draw import dot as dot_module
from pullback.draw import layout as layout_module
from pullback.draw.layout import Cell, Line, layout
from pullback.draw.model import COLOURS, Kind, model

FORMATS = {
    "text": draw.text,
    "svg": draw.svg,
    "mermaid": draw.mermaid,
    "dot": lambda *args, **options: draw.make_dot(*args, **options).source,
}


class Square(pb.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x


class Sinh(pb.Function):
    """Three results: the value, and the two intermediates that its backward needs."""

    @staticmethod
    def forward(ctx, x):
        rising, falling = pb.exp(x), pb.exp(-x)
        ctx.save_for_backward(rising, falling)
        return (rising - falling) / 2, rising, falling

    @staticmethod
    def backward(ctx, grad, grad_rising, grad_falling):
        rising, falling = ctx.saved_tensors
        return grad * (rising + falling) / 2 + grad_rising * rising - grad_falling * falling


class Hoarder(pb.Function):
    """Keeps a value of every origin."""

    @staticmethod
    def forward(ctx, x, scale):
        inner = pb.exp(x)
        y = inner * scale
        ctx.save_for_backward(x, y, inner)
        ctx.kept = pb.sin(x)
        ctx.scale = scale
        ctx.key = lambda: 0
        ctx.table = np.arange(6).reshape(2, 3)
        ctx.story = "long " * 40
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def leaf(*shape):
    return pb.tensor(np.ones(shape), requires_grad=True)


def square_with_gradient():
    x = leaf()
    out = Square.apply(x)
    (grad,) = pb.autograd.grad(out, x, create_graph=True)
    return (grad, x, out), {"grad_x": grad, "x": x, "out": out}


def sinh_with_gradient():
    x = leaf()
    out, rising, _ = Sinh.apply(x)
    (grad,) = pb.autograd.grad(out, x, create_graph=True)
    return (grad, out), {"grad_x": grad, "x": x, "out": out, "exp": rising}


def shared_nodes():
    a = leaf(2)
    s = a * a
    out = pb.sin((pb.exp(s) + s) * s) + s * a
    return out, {"a": a, "s": s, "out": out}


def deep_gradient(depth=12):
    x = leaf()
    y = x
    for _ in range(depth):
        y = pb.sin(y * x)
    (grad,) = pb.autograd.grad(y, x, create_graph=True)
    return grad, {"x": x}


GRAPHS = [square_with_gradient, sinh_with_gradient, shared_nodes, deep_gradient]


def boxes(picture, kind):
    return [box for box in picture.boxes if box.kind is kind]


def svg_texts(source):
    """All words of an SVG that can be seen."""
    root = ET.fromstring(source)
    return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


# ------------------------------------------------------------------------------------------------------- what is shown
def test_the_listing_of_a_function_and_its_gradient():
    var, params = square_with_gradient()
    assert draw.text(var, params) == (
        "x: leaf ()\n"
        "SquareBackward: (x=x) -> ()\n"
        "    keeps x (): input x, 8 bytes\n"
        "MulBackward0: (b=x) -> ()\n"
        "grad_x: output = MulBackward0 ()\n"
        "out: output = SquareBackward ()\n"
    )


def test_make_dot_is_a_digraph_with_names_shapes_and_colours():
    x, w = leaf(2, 3), leaf(3)
    y = Square.apply(x) * w
    picture = draw.make_dot(y, {"x": x, "w": w, "y": y})
    assert isinstance(picture, graphviz.Digraph)
    source = picture.source
    for line in (
        'x [label="x\n(2, 3)" fillcolor=lightblue',
        'w [label="w\n(3)" fillcolor=lightblue',
        'y [label="y\n(2, 3)" fillcolor=darkolivegreen1',
        "SquareBackward [label=SquareBackward fillcolor=plum",
        "MulBackward0 [label=MulBackward0 fillcolor=lightgrey",
        "x -> AccumulateGrad\n",
        "AccumulateGrad -> SquareBackward\n",
        "SquareBackward -> MulBackward0\n",
        "AccumulateGrad_2 -> MulBackward0\n",
        "MulBackward0 -> y\n",
    ):
        assert line in source


def test_make_dot_takes_its_arguments_in_the_order_of_torchviz():
    x = leaf()
    y = Hoarder.apply(x, 3.0) * 1.0
    source = draw.make_dot(y, {"x": x}, True, True, 10).source
    assert "scale: 3.0" in source
    assert "story: long lo..." in source


def test_a_saved_value_is_a_box_of_its_own_even_for_a_times_a():
    a = leaf(2)
    picture = model(a * a, {"a": a}, show_saved=True)
    assert [box.lines for box in boxes(picture, Kind.SAVED)] == [("a (2)", "input a"), ("a (2)", "input b")]
    assert len({box.key for box in picture.boxes}) == len(picture.boxes)
    assert [box.lines for box in boxes(picture, Kind.LEAF)] == [("a", "(2)")]
    source = draw.make_dot(a * a, {"a": a}, show_saved=True).source
    assert source.count("fillcolor=orange") == 2
    assert source.count("[dir=none style=dotted]") == 2
    assert svg_texts(draw.svg(a * a, {"a": a}, show_saved=True)).count("a (2)") == 2


def test_saved_values_of_library_operators_only_when_asked_for():
    x = leaf(2)
    assert boxes(model(x * x), Kind.SAVED) == []
    assert len(boxes(model(Square.apply(x)), Kind.SAVED)) == 1


def test_saved_values_say_where_they_came_from():
    x = leaf(3)
    y = Hoarder.apply(x, 2.0)
    origins = [box.lines for box in boxes(model(y, {"x": x, "y": y}), Kind.SAVED)]
    assert origins == [
        ("x (3)", "input x"),
        ("y (3)", "output"),
        ("(3)", "intermediate"),
        ("(3)", "ctx.kept, intermediate"),
    ]


def test_a_saved_constant_shows_its_value_or_shape():
    x = leaf(3)
    saved = boxes(model(x * 2.5 * pb.tensor([1.0, 2.0, 3.0]), show_saved=True), Kind.SAVED)
    assert [box.lines[0] for box in saved] == ["2.5", "(3)"]
    assert saved[0].lines[1] == "constant b"
    assert saved[1].lines[1] == "input b"


def test_one_tensor_given_twice_and_saved_twice_is_two_arguments():
    class Product(pb.Function):
        @staticmethod
        def forward(ctx, scale, a, b):
            ctx.save_for_backward(a, b)
            return a * b * scale

    a = leaf()
    saved = boxes(model(Product.apply(2.0, a, a)), Kind.SAVED)
    assert [box.lines[1] for box in saved] == ["input a", "input b"]


def test_saved_outputs_of_several_are_numbered_and_named():
    var, params = sinh_with_gradient()
    assert [box.lines for box in boxes(model(var, params), Kind.SAVED)] == [
        ("exp ()", "output 1"),
        ("()", "output 2"),
    ]


def test_released_values_are_shown_as_released():
    x = leaf()
    y = x * x
    y.backward()
    assert [box.lines[1] for box in boxes(model(y, show_saved=True), Kind.SAVED)] == ["released by backward"]


def test_arrows_say_which_result_they_carry():
    var, params = sinh_with_gradient()
    picture = model(var, params)
    carried = {arrow.output for arrow in picture.arrows if arrow.tail == "SinhBackward"}
    assert carried == {0, 1, 2}
    assert all(arrow.output is None for arrow in picture.arrows if arrow.tail != "SinhBackward")
    assert {"0", "1", "2"} <= set(svg_texts(draw.svg(var, params)))
    assert "SinhBackward -> out [label=0]" in draw.make_dot(var, params).source
    assert re.search(r"-->\|2\| n\d+", draw.mermaid(var, params))
    assert "out: output = SinhBackward[0] ()" in draw.text(var, params)


def test_a_named_result_inside_the_graph_is_named_in_its_box():
    out, params = shared_nodes()
    assert ("MulBackward0", "= s") in [box.lines for box in model(out, params).boxes]
    (grad, out), params = sinh_with_gradient()
    assert ("SinhBackward", "[1] = exp") in [box.lines for box in model((grad, out), params).boxes]


def test_attributes_of_ctx_are_listed_without_addresses():
    y = Hoarder.apply(leaf(), 2.0)
    assert "scale" not in draw.text(y)
    (box,) = boxes(model(y, show_attrs=True, max_attr_chars=12), Kind.FUNCTION)
    assert box.attributes == ("scale: 2.0", "key: <function...", "table: [array (2...", "story: long long...")
    assert "<lambda>>" in draw.text(y, show_attrs=True, max_attr_chars=200)
    assert "key: " in " ".join(svg_texts(draw.svg(y, show_attrs=True)))
    assert "-----" in draw.make_dot(y, show_attrs=True).source


def test_an_attribute_that_cannot_be_shown_does_not_spoil_the_picture():
    class Shy:
        def __str__(self):
            raise RuntimeError

    class Holder(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shy = Shy()
            return x * 2

    assert "shy: [Shy]" in draw.text(Holder.apply(leaf()), show_attrs=True)


def test_the_base_of_a_view_is_drawn_dark_green_with_a_dotted_arrow():
    x = leaf(4)
    base = x * 2
    view = base[1:]
    picture = model(view, {"x": x, "view": view, "base": base})
    assert [box.lines for box in boxes(picture, Kind.BASE)] == [("base", "(4)")]
    assert [(a.tail, a.head) for a in picture.arrows if a.dotted] == [("base", "view")]
    source = draw.make_dot(view, {"base": base, "view": view}).source
    assert "fillcolor=darkolivegreen3" in source
    assert "base -> view [style=dotted]" in source
    assert ", view of base (3)\n" in draw.text(view, {"base": base, "view": view})


def test_leaves_constants_and_integers_can_be_drawn():
    x = leaf(2)
    assert [box.kind for box in model(x).boxes] == [Kind.LEAF]
    (box,) = model(pb.tensor([1, 2])).boxes
    assert box.lines == ("output", "(2) int64", "no gradient")
    for make in FORMATS.values():
        assert make((x, pb.tensor(1.0)))


def test_an_output_that_is_also_a_leaf_is_one_box():
    x = leaf()
    picture = model((x, pb.exp(x), x), {"x": x})
    assert [box.key for box in picture.boxes if box.kind in (Kind.LEAF, Kind.OUTPUT)] == ["x", "output"]


def test_a_refused_derivative_is_red_and_says_why():
    class Once(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @pb.once_differentiable
        def backward(ctx, grad):
            return grad * 2

    x = leaf()
    (grad,) = pb.autograd.grad(Once.apply(x), x, create_graph=True)
    (box,) = boxes(model(grad), Kind.REFUSED)
    assert "once_differentiable" in box.detail
    assert "once_differentiable" in draw.text(grad)
    assert COLOURS[Kind.REFUSED][1] in draw.svg(grad)


def test_primitives_written_by_a_user_are_the_users():
    class Double(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    assert [box.lines[0] for box in boxes(model(Double.apply(leaf())), Kind.FUNCTION)] == ["DoubleBackward"]


def test_arguments_of_a_variadic_function_are_numbered():
    class Total(pb.Function):
        @staticmethod
        def forward(ctx, first, *rest):
            return first + rest[0] + rest[1]

    a, b, c = leaf(), leaf(), leaf()
    listing = draw.text(Total.apply(a, b, c), {"a": a, "b": b, "c": c})
    assert "TotalBackward: (first=a, rest[0]=b, rest[1]=c) -> ()" in listing


# ------------------------------------------------------------------------------------------------------- names and text
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_the_same_program_gives_the_same_text(graph, form):
    make = FORMATS[form]
    first = make(*graph(), show_saved=True, show_attrs=True)
    keep = [leaf() * 2 for _ in range(50)]  # memory and creation numbers move on
    assert make(*graph(), show_saved=True, show_attrs=True) == first
    assert str(id(keep)) not in first


HOSTILE = [
    '<b>&"x"</b>',
    "<b>",
    "end",
    "a:b",
    "back\\slash",
    "line\nbreak",
    "nul\x00",
    "MulBackward0",
    "日本",
    "]]>",
    "`;#",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_shown_as_they_are_in_every_format(name):
    x = leaf()
    y = x * x
    shown = name.replace("\n", " ").replace("\x00", " ")
    params = {name: x, "out": y}
    assert shown in svg_texts(draw.svg(y, params))
    assert f"{shown}: leaf ()" in draw.text(y, params)
    source = draw.make_dot(y, params).source
    identifier = r'("(?:[^"\\]|\\.)*"|[^\s"<>]+)'
    arrows = re.findall(rf"^\t{identifier} -> {identifier}$", source, re.MULTILINE)
    assert len(arrows) == 4
    known = re.findall(rf"^\t{identifier} \[label", source, re.MULTILINE)
    assert {end for arrow in arrows for end in arrow} == set(known)
    assert "\x00" not in source + draw.mermaid(y, params)
    label = re.search(r'n0\(\["(.*?)"\]\)', draw.mermaid(y, params)).group(1)
    assert not set('"&`;\\') & set(re.sub(r"#\d+;", "", label.replace("<br/>", "")))


def test_equal_names_get_keys_of_their_own():
    x, y = leaf(), leaf()
    picture = model((x * y, y * x), {"MulBackward0": x, "MulBackward0_2": y})
    keys = [box.key for box in picture.boxes]
    out = x * y
    assert boxes(model(out, {"MulBackward0": out}), Kind.OUTPUT)[0].lines[0] == "MulBackward0"
    assert len(set(keys)) == len(keys)
    named = [box.lines[0] for box in picture.boxes if box.kind is Kind.LEAF]
    assert named == ["MulBackward0", "MulBackward0_2"]
    assert {arrow.tail for arrow in picture.arrows} | {arrow.head for arrow in picture.arrows} <= set(keys)


def test_drawing_leaves_the_graph_as_it_was():
    x = leaf()
    y = Sinh.apply(x)[0] * x
    for make in FORMATS.values():
        make(y, {"x": x}, show_saved=True, show_attrs=True)
    y.backward()
    assert x.grad.item() == pytest.approx(np.sinh(1) + np.cosh(1))


def test_pictures_can_be_made_where_nothing_is_recorded():
    var, params = square_with_gradient()
    expected = draw.svg(var, params)
    with pb.no_grad():
        assert draw.svg(var, params) == expected


# --------------------------------------------------------------------------------------------------------- large graphs
def chain(length):
    x = leaf()
    y = x
    for _ in range(length):
        y = pb.sin(y)
    return y, {"x": x}


def test_a_long_chain_is_cut_and_says_so():
    y, params = chain(20_000)
    for make in (draw.svg, draw.mermaid, FORMATS["dot"]):
        source = make(y, params)
        assert "19501 more nodes" in source  # 19500 operations and the leaf
    assert source.count("SinBackward0 ") < 2 * draw.MAX_NODES
    assert "… 19998 more nodes" in svg_texts(draw.svg(y, params, max_nodes=3))


def test_a_long_chain_can_be_had_whole_without_recursion():
    y, params = chain(3_000)
    assert draw.text(y, params).count("\n") == 3_002
    assert len(boxes(model(y, params, max_nodes=None), Kind.OPERATION)) == 3_000
    ET.fromstring(draw.svg(y, params, max_nodes=None))


@pytest.mark.parametrize("limit", range(30))
def test_a_cut_graph_has_no_cycle_and_counts_what_is_missing(limit):
    grad, params = deep_gradient(5)
    whole = model(grad, params, max_nodes=None)
    part = model(grad, params, max_nodes=limit)
    operations = len(boxes(part, Kind.OPERATION))
    leaves = len(boxes(part, Kind.LEAF))
    total = len(boxes(whole, Kind.OPERATION)) + len(boxes(whole, Kind.LEAF))
    assert operations == min(limit, total - 1)
    assert part.hidden == total - operations - leaves
    assert len(boxes(part, Kind.MORE)) == (1 if part.hidden else 0)
    assert_downwards(part)
    connected = {arrow.tail for arrow in part.arrows} | {arrow.head for arrow in part.arrows}
    assert connected == {box.key for box in part.boxes if not box.owner}


def assert_downwards(picture):
    """Arrows can be sorted topologically."""
    waiting = {box.key: set() for box in picture.boxes}
    for arrow in picture.arrows:
        waiting[arrow.head].add(arrow.tail)
    while waiting:
        ready = [key for key, sources in waiting.items() if not sources & waiting.keys()]
        assert ready, "a cycle"
        for key in ready:
            del waiting[key]


def test_a_leaf_that_is_used_by_what_is_left_out_leads_there():
    grad, params = deep_gradient(5)
    arrows = {(arrow.tail, arrow.head) for arrow in model(grad, params, max_nodes=10).arrows}
    assert ("AccumulateGrad", "more") in arrows
    assert re.search(
        r"^more: … \d+ more nodes \(max_nodes=10\) of x$", draw.text(grad, params, max_nodes=10), re.MULTILINE
    )


def test_many_leaves_are_cut_too():
    class Total(pb.Function):
        @staticmethod
        def forward(ctx, *parts):
            return parts[0] * 1

    picture = model(Total.apply(*[leaf() for _ in range(40)]), max_nodes=5)
    assert len(boxes(picture, Kind.LEAF)) == 5
    assert picture.hidden == 35


# --------------------------------------------------------------------------------------------------------------- layout
def random_graph(seed, count=40):
    rng = random.Random(seed)
    cells = []
    for _ in range(count):
        width, height = rng.uniform(30, 120), rng.uniform(20, 50)
        extra = rng.choice([0, 0, 60])
        cells.append(Cell(width / 2, width / 2 + extra, height + rng.choice([0, 30]), width, height))
    lines = []
    for head in range(1, count):
        for _ in range(rng.choice([1, 1, 2, 3])):
            tail = rng.randrange(max(0, head - 15), head)
            lines += [Line(tail, head, rng.choice([None, 1]), rng.choice([0.1, 1.0]))]
    return cells, lines


def rooms(cells, places):
    """Rectangles that belong to a cell: left, top, right, bottom."""
    return [
        (x - cell.left, y - cell.height / 2, x + cell.right, y + cell.height / 2)
        for cell, (x, y) in zip(cells, places.centres, strict=True)
    ]


def points_of(route):
    """Points along a route: straight down the runs, and an S between two of them."""
    for (x, top, bottom), following in zip(route, [*route[1:], None], strict=True):
        yield from ((x, top + (bottom - top) * k / 8) for k in range(9))
        if following:
            x1, y1 = following[:2]
            half = (bottom + y1) / 2
            for k in range(1, 16):
                t = k / 16
                bezier = lambda a, b, c, d, t=t: (  # noqa: E731
                    (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t * t * (1 - t) * c + t**3 * d
                )
                yield bezier(x, x, x1, x1), bezier(bottom, half, half, y1)


@pytest.mark.parametrize("seed", range(12))
def test_boxes_do_not_overlap_and_no_line_runs_through_one(seed):
    cells, lines = random_graph(seed)
    places = layout(cells, lines)
    areas = rooms(cells, places)
    for k, (left, top, right, bottom) in enumerate(areas):
        assert left >= -0.01
        assert top >= -0.01
        assert right <= places.width + 0.01
        assert bottom <= places.height + 0.01
        for other in areas[:k]:
            apart = other[2] <= left + 0.01 or right <= other[0] + 0.01
            assert apart or other[3] <= top + 0.01 or bottom <= other[1] + 0.01
    for line, route in zip(lines, places.routes, strict=True):
        for x, y in points_of(route):
            for k, (left, top, right, bottom) in enumerate(areas):
                if k not in (line.tail, line.head):
                    assert not (left < x < right and top < y < bottom), f"{line} runs through box {k}"


@pytest.mark.parametrize("seed", range(12))
def test_lines_lead_down_from_the_foot_of_one_box_to_the_head_of_another(seed):
    cells, lines = random_graph(seed)
    places = layout(cells, lines)
    for line, route in zip(lines, places.routes, strict=True):
        heights = [y for _, top, bottom in route for y in (top, bottom)]
        assert heights == pytest.approx(sorted(heights))
        tail, head = places.centres[line.tail], places.centres[line.head]
        assert route[0][1] == pytest.approx(tail[1] + cells[line.tail].box_height / 2)
        assert route[-1][2] == pytest.approx(head[1] - cells[line.head].box_height / 2)
        assert abs(route[0][0] - tail[0]) < cells[line.tail].box_width / 2
        assert abs(route[-1][0] - head[0]) < cells[line.head].box_width / 2


BOX = Cell(30, 30, 20, 60, 20)


def test_sorting_the_layers_removes_crossings(monkeypatch):
    def crossings():
        """Of twelve random graphs together."""
        found = 0
        for seed in range(12):
            cells, lines = random_graph(seed)
            graph = layout_module._Layered(cells, layout_module._layers(len(cells), lines))
            layout_module._ways(graph, lines)
            layout_module._order(graph)
            place = [0.0] * len(graph.layer)
            layout_module._number(graph.layers, place)
            found += layout_module._crossings(graph, graph.layers, place)
        return found

    full = crossings()
    monkeypatch.setattr(layout_module, "_swap", lambda *args: None)
    without_swaps = crossings()
    monkeypatch.setattr(layout_module, "_sort", lambda *args: None)
    unsorted = crossings()
    assert full < 0.95 * without_swaps < 0.7 * unsorted


def test_crossings_are_counted():
    cells = [BOX] * 6
    graph = layout_module._Layered(cells, [0, 0, 0, 1, 1, 1])
    for upper, lower in [(0, 5), (1, 4), (2, 3), (2, 3), (0, 3)]:
        graph.join(upper, lower, 1.0)
    layers = [[0, 1, 2], [3, 4, 5]]
    assert layout_module._crossings(graph, layers, [0, 1, 2, 0, 1, 2]) == 5  # 05 with 14, 23, 23; 14 with 23, 23


def test_a_long_line_is_straight_where_there_is_room():
    cells = [BOX] * 10
    cells[5] = Cell(150, 150, 20, 300, 20)
    places = layout(cells, [Line(k, k + 1) for k in range(9)] + [Line(0, 9, 1)])
    assert len({round(x, 3) for x, _, _ in places.routes[-1][1:-1]}) == 1


def test_a_chain_is_a_straight_column():
    places = layout([BOX] * 5, [Line(k, k + 1) for k in range(4)])
    assert len({round(x, 3) for x, _ in places.centres}) == 1


def test_lines_of_one_value_share_their_way():
    lines = [Line(k, k + 1) for k in range(6)] + [Line(0, 4), Line(0, 6), Line(0, 5, "another value")]
    places = layout([BOX] * 7, lines)
    first, second, third = places.routes[6], places.routes[7], places.routes[8]
    assert first[:3] == second[:3]
    assert (places.shared[6], places.shared[7], places.shared[8]) == (0, 3, 0)
    assert third[0][0] != first[0][0]


def test_parts_that_are_not_connected_stand_side_by_side():
    places = layout([BOX] * 4, [Line(0, 2), Line(1, 3)])
    assert places.centres[0][0] == places.centres[2][0]
    assert places.centres[1][0] == places.centres[3][0] > places.centres[0][0] + 60


# ------------------------------------------------------------------------------------------------------------------ SVG
@pytest.mark.parametrize("graph", GRAPHS)
def test_an_svg_is_well_formed_described_and_has_a_legend(graph):
    var, params = graph()
    source = draw.svg(var, params, show_saved=True)
    root = ET.fromstring(source)
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    assert root.find(f"{space}title").text == root.get("aria-label")
    assert "leaf" in root.find(f"{space}desc").text
    picture = model(var, params, show_saved=True)
    assert {str(kind) for kind in picture.kinds()} <= set(svg_texts(source))
    assert "id=" not in source  # two pictures in one page must not share names
    assert "<style" not in source


def test_everything_of_an_svg_lies_inside_it():
    var, params = sinh_with_gradient()
    root = ET.fromstring(draw.svg(var, params, show_saved=True))
    left, top, width, height = map(float, root.get("viewBox").split())
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y, w, h = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        assert left <= x
        assert x + w <= left + width
        assert top <= y
        assert y + h <= top + height


def test_what_lines_share_is_drawn_once():
    source = draw.svg(*deep_gradient())
    curves = re.findall(r"[V ]([\d.]+)(C[^CV]+)", source)
    assert len(curves) > 40
    assert len(curves) == len(set(curves))


def contrast(a, b):
    def luminance(colour):
        channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_text_and_lines_can_be_read_on_white_on_black_and_in_their_boxes():
    source = draw.svg(*square_with_gradient())
    for colour in set(re.findall(r'stroke="(#\w+)" stroke-width="1', source)) | {"#767676"}:
        assert contrast(colour, "#ffffff") >= 4.5
        assert contrast(colour, "#000000") >= 4.5
    for _, fill in COLOURS.values():
        assert contrast("#111111", fill) >= 7


# ---------------------------------------------------------------------------------------------------------------- files
@pytest.mark.parametrize(
    ("suffix", "start"),
    [("svg", "<svg"), ("txt", "x: leaf"), ("mmd", "flowchart"), ("dot", "// Colours"), ("GV", "// Colours")],
)
def test_save_writes_the_format_of_the_suffix(tmp_path, suffix, start):
    var, params = square_with_gradient()
    path = draw.save(var, tmp_path / f"graph.{suffix}", params)
    assert path.read_text(encoding="utf-8").startswith(start)


def test_save_refuses_other_suffixes_and_says_which_there_are(tmp_path):
    with pytest.raises(ValueError, match=r"'\.jpg'") as info:
        draw.save(leaf(), str(tmp_path / "graph.jpg"))
    assert ".svg" in info.value.__notes__[0]
    assert not (tmp_path / "graph.jpg").exists()


def test_png_by_whichever_program_is_there_or_a_lesson(tmp_path, monkeypatch):
    var, params = square_with_gradient()
    if dot_module._program():
        assert draw.save(var, tmp_path / "graph.png", params).read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(dot_module, "_program", lambda: None)
    with pytest.raises(RuntimeError, match="PNG") as info:
        draw.save(var, tmp_path / "none.png", params)
    assert "graphviz-pure" in info.value.__notes__[0]


def test_a_program_that_fails_is_quoted(monkeypatch):
    monkeypatch.setattr(dot_module, "_program", lambda: sys.executable)
    with pytest.raises(RuntimeError, match="did not make PNG"):
        dot_module.render("digraph {}", "png")


def test_a_digraph_is_shown_in_a_notebook_without_any_program(monkeypatch):
    monkeypatch.setattr(dot_module.shutil, "which", lambda *args, **options: None)
    var, params = square_with_gradient()
    picture = draw.make_dot(var, params)
    assert picture._repr_mimebundle_()["image/svg+xml"] == draw.svg(var, params)
    assert picture.pipe("svg").startswith(b"<svg")
    picture.node("a change of the user's")
    with pytest.raises(RuntimeError, match="no program"):
        picture.pipe("svg")


@pytest.mark.parametrize("how", ["render", "view"])
def test_without_the_program_graphviz_says_so_and_a_note_says_what_works(how, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    picture = draw.make_dot(*square_with_gradient())
    with pytest.raises(sys.modules["graphviz"].ExecutableNotFound, match="dot") as info:
        getattr(picture, how)()
    (note,) = info.value.__notes__
    assert "pullback.draw.save(out, 'graph.svg')" in note


def test_a_picture_shows_itself():
    var, params = square_with_gradient()
    picture = draw.Picture(var, params)
    assert picture._repr_svg_() == picture.svg() == draw.svg(var, params)
    assert str(picture) == draw.text(var, params).rstrip()


def test_without_graphviz_make_dot_says_what_to_do_and_the_rest_works(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    dot_module._digraph_class.cache_clear()
    var, params = square_with_gradient()
    with pytest.raises(ImportError, match="graphviz") as info:
        draw.make_dot(var, params)
    assert "pip install graphviz" in info.value.__notes__[0]
    assert draw.svg(var, params)
    dot_module._digraph_class.cache_clear()


def test_importing_draw_does_not_import_graphviz():
    code = "import sys, pullback.draw; print('graphviz' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# --------------------------------------------------------------------------------------------------------------- errors
def test_what_is_no_tensor_is_refused_with_its_type():
    with pytest.raises(TypeError, match="ndarray"):
        draw.text(np.ones(3))
    with pytest.raises(TypeError, match=r"params\['x'\] is a float"):
        draw.text(leaf(), {"x": 1.0})
    with pytest.raises(ValueError, match="nothing to draw"):
        draw.text(())
