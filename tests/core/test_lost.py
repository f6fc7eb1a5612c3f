"""Errors about saved values that are lost say who saved, who overwrote or released, and what exactly."""

import numpy as np
import pytest

import pullback as pb
import pullback.torch as torch_names
from core.helpers import Square, leaf, teaches
from pullback.autograd import grad
from pullback.core import lost
from pullback.core.versions import Buffer


class Doubles(pb.Function):
    """Writes into its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)  # in forward

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def start():
    return leaf([1.0, 2.0, 3.0, 4.0]) * 1


def set_one(h):
    h[2] = 5.0  # writes


def set_some(h):
    h[::3] = 5.0  # writes


def set_by_list(h):
    h[[0, 1]] = 5.0  # writes


def times(h):
    h *= 2.0  # writes


def method(h):
    pb.sin(h.mul_(2.0))  # writes


def chained(h):
    h.detach()[1:3].mul_(2.0)  # writes


def copy(h):
    h.copy_(h + 1)  # writes


def copy_values(h):
    h.copy_(pb.ones(4))  # writes


def direct(h):
    with pb.no_grad():
        h.add_(1.0)  # writes


def recorded(h):
    h[0] = leaf(1.0)  # writes


def unrecorded(h):
    with pb.no_grad():
        h -= 1.0  # writes


def counted(h):
    pb.autograd.graph.increment_version(h)  # writes


def other_data(h):
    h.data = pb.zeros(4)  # writes


WRITES = {
    set_one: "in its element [2] by an assignment at",
    set_some: "in 2 of its 4 elements, from [0] to [3], by an assignment at",
    set_by_list: "as a whole by an assignment at",  # an index with arrays is logged as a write to all
    times: "as a whole by *= at",
    method: "as a whole by mul_() at",
    chained: "in 2 of its 4 elements, from [1] to [2], by mul_() at",
    copy: "as a whole by copy_() at",
    copy_values: "as a whole by copy_() at",
    direct: "as a whole by add_() at",
    recorded: "in its element [0] by an assignment at",
    unrecorded: "as a whole by -= at",
    counted: "overwritten by increment_version() at",
    other_data: "overwritten at",
}


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_who_saved_who_wrote_and_what(write):
    h = start()
    y = Square.apply(h).sum()  # saves
    write(h)
    with teaches(RuntimeError, "modified by an inplace operation", notes=[WRITES[write]]) as caught:
        y.backward()
    saver, writer = (note for note in caught.value.__notes__ if f" at {__file__}:" in note)
    assert saver.startswith("SquareBackward was recorded at")
    assert saver.endswith("# saves")
    assert writer.endswith("# writes")


def test_every_kind_of_saved_value_and_both_namespaces_name_the_writer():
    y = pb.exp(start())
    y[0] = 1.0  # into a result
    with teaches(RuntimeError, notes=["# into a result"]):
        y.sum().backward()
    x = torch_names.ones(2, requires_grad=True)
    h = x * 1
    y = (h * h).sum()
    h.add_(1)  # torch's name
    with teaches(RuntimeError, notes=["as a whole by add_()", "# torch's name"]):
        y.backward()


def test_a_function_that_writes_is_named_with_both_lines():
    h = start()
    y = Square.apply(h).sum()
    Doubles.apply(h)  # the call
    with teaches(RuntimeError, notes=["mul_()", "# in forward", "by apply()", "# the call"]):
        y.backward()


def test_a_pass_that_adds_to_grad_is_a_writer():
    x = leaf(1.0)
    Square.apply(x).backward()
    y = Square.apply(x.grad.requires_grad_())
    Square.apply(x).backward()
    with teaches(RuntimeError, notes=["by a backward pass, which added to .grad."]):
        y.backward()


def test_writes_before_and_beside_are_not_blamed():
    h = start()
    h[0] = 2.0  # earlier
    y = Square.apply(h[:2]).sum()
    h[3] = 1.0  # beside
    h[1] = 1.0  # the culprit
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    notes = "\n".join(caught.value.__notes__)
    assert "# the culprit" in notes
    assert "# earlier" not in notes
    assert "# beside" not in notes


def test_only_a_few_of_many_writes_are_named():
    h = start()
    y = Square.apply(h).sum()
    for k in range(4):
        h[k] = 0.0
    h[:2] = 0.0
    with teaches(
        RuntimeError, notes=["element [0]", "element [1]", "element [2]", "2 later writes overlap it"]
    ) as caught:
        y.backward()
    assert "element [3]" not in "\n".join(caught.value.__notes__)


# ------------------------------------------------------------------------------------------------ regions in words
GRID = np.zeros((4, 6))
REGIONS = [
    (GRID, GRID, " as a whole"),
    (GRID, GRID[1, 2:3], " in its element [1, 2]"),
    (GRID, GRID[:, 5], " in 4 of its 24 elements, from [0, 5] to [3, 5],"),
    (GRID[1], GRID[:, 5], " in its element [5]"),
    (GRID.T, GRID[1, 2:3], " in its element [2, 1]"),
    (GRID[::2], GRID[1::2], ""),
    (GRID[::-1], GRID[0, :1], " in its element [3, 0]"),
    (np.broadcast_to(GRID[0, :1], (3,)), GRID, " as a whole"),
    (GRID[0, 0], GRID, ""),
    (GRID, None, ""),
    (GRID[:0], GRID, ""),
]


@pytest.mark.parametrize(("array", "region", "words"), REGIONS)
def test_the_part_that_was_overwritten(array, region, words):
    assert lost._part(array, region) == words


def test_elements_of_another_size():
    numbers = np.zeros(3, dtype=complex)
    assert lost._part(numbers, numbers.imag[1:2]) == " in its element [1]"
    assert lost._part(numbers.imag, numbers[:2]) == " in 2 of its 3 elements, from [0] to [1],"


def test_very_large_overlaps_are_not_counted(monkeypatch):
    monkeypatch.setattr(lost, "COUNTED", 5)
    assert lost._part(GRID, GRID) == ""


def test_the_log_knows_the_latest_write_to_each_region():
    log = Buffer()
    log.wrote(GRID[0])
    log.wrote(GRID[1])
    log.wrote(GRID[0])
    assert [write[0] for write in log.writes(GRID, 0)] == [2, 3]
    assert [write[0] for write in log.writes(GRID, 2)] == [3]
    assert log.writes(GRID[2], 0) == []


# ------------------------------------------------------------------------------------------------ released values
def by_backward(y, x):
    y.backward()  # releases


def by_grad(y, x):
    grad(y, x)  # releases


def by_function(y, x):
    pb.autograd.backward([y])  # releases


@pytest.mark.parametrize("release", [by_backward, by_grad, by_function])
@pytest.mark.parametrize("operator", [pb.exp, pb.sin, lambda x: x * x, Square.apply, lambda x: x**x, pb.linalg.inv])
def test_the_pass_that_released_a_value_is_named(release, operator):
    x = leaf([[1.0, 0.5], [0.0, 2.0]])
    y = operator(x).sum()
    release(y, x)
    with teaches(RuntimeError, "a second time", "saved are gone", notes=["retain_graph=True", "# releases"]):
        y.backward()


def test_the_first_node_without_values_is_named():
    x = leaf(1.0)
    h = pb.exp(x)  # shared
    Square.apply(h).backward()
    with teaches(RuntimeError, "ExpBackward0", notes=["ExpBackward0 was recorded at", "# shared"]):
        pb.sin(h).backward()


def test_a_pass_that_keeps_the_values_is_not_blamed():
    x = leaf(1.0)
    y = pb.exp(x)
    y.backward(retain_graph=True)  # keeps
    y.backward()  # releases
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    notes = "\n".join(caught.value.__notes__)
    assert "# releases" in notes
    assert "# keeps" not in notes
