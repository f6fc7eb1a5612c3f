"""The backward walk on plain numbers: no Tensor, no array, only nodes made by hand and Python floats."""

import threading

import pytest

from core.helpers import Number, Sink, teaches
from pullback.core import engine, modes
from pullback.core.engine import Pass, current_pass, run
from pullback.core.graph import FREED


def pull(*roots, targets=None, retain=False, record=False):
    """Run a pass from ``(node, seed)`` pairs."""
    return run([((node, 0), seed) for node, seed in roots], Pass(record, retain, targets))


class Text(Number):
    """Cotangents are strings: proof that the engine needs ``+`` and nothing else."""

    def _pull(self, cotangents, task):
        return [f"{self.label}({cotangents[0]})" for _ in self.edges]


def test_a_chain_multiplies_its_factors():
    end = Sink()
    node = Number((end, 0), factors=[2.0])
    for factor in (3.0, 5.0):
        node = Number((node, 0), factors=[factor])
    pull((node, 7.0))
    assert end.total == 2 * 3 * 5 * 7


def test_cotangents_are_opaque():
    class Ends(Sink):
        def _pull(self, cotangents, task):
            self.total = cotangents[0]

    end = Ends()
    shared = Text((end, 0), name="s")
    top = Text((Text((shared, 0), name="a"), 0), (Text((shared, 0), name="b"), 0), name="t")
    pull((top, "1"))
    assert end.total in ("s(b(t(1))a(t(1)))", "s(a(t(1))b(t(1)))")


def test_each_node_runs_once_after_all_its_consumers_latest_first():
    log = []
    x, y = Sink(log, "acc x"), Sink(log, "acc y")
    a = Number((x, 0), log=log, name="a")
    b = Number((y, 0), log=log, name="b")
    y0 = Number((a, 0), log=log, name="y0")
    y1 = Number((a, 0), (b, 0), factors=[2.0, 1.0], log=log, name="y1")
    top = Number((y0, 0), (y1, 0), log=log, name="top")
    pull((top, 1.0))
    assert log == [
        ("top", 1.0),
        ("y1", 1.0),
        ("y0", 1.0),
        ("b", 1.0),
        ("acc y", 1.0),
        ("a", 3.0),
        ("acc x", 3.0),
    ]


def test_a_leaf_accumulates_as_soon_as_its_last_consumer_ran():
    log = []
    x, y = Sink(log, "acc x"), Sink(log, "acc y")
    a = Number((x, 0), log=log, name="a")
    b = Number((a, 0), (y, 0), log=log, name="b")
    pull((b, 1.0))
    assert [entry[0] for entry in log] == ["b", "acc y", "a", "acc x"]


def test_outputs_of_one_node_keep_separate_sums():
    log = []
    end = Sink()
    split = Number((end, 0), outputs=3, log=log, name="split")
    left = Number((split, 0))
    right = Number((split, 2), (split, 2), factors=[10.0, 5.0])
    top = Number((left, 0), (right, 0))
    pull((top, 1.0))
    assert log == [("split", 1.0, None, 15.0)]
    assert end.total == 16.0


def test_the_same_edge_twice_adds_up():
    end = Sink()
    twice = Number((end, 0), (end, 0), factors=[2.0, 3.0])
    pull((twice, 1.0))
    assert end.total == 5.0


def test_equal_roots_add_up():
    end = Sink()
    node = Number((end, 0), factors=[2.0])
    pull((node, 1.0), (node, 10.0))
    assert end.total == 22.0


def test_a_root_inside_the_graph_of_another_root():
    end = Sink()
    inner = Number((end, 0), factors=[2.0])
    outer = Number((inner, 0), factors=[3.0])
    pull((outer, 1.0), (inner, 100.0))
    assert end.total == 2 * (3 + 100)


def test_a_leaf_may_be_the_root():
    end = Sink()
    pull((end, 4.0))
    assert end.total == 4.0


def test_roots_that_share_nothing():
    first, second = Sink(), Sink()
    pull((Number((first, 0)), 1.0), (Number((second, 0)), 2.0))
    assert (first.total, second.total) == (1.0, 2.0)


def test_dead_ends_and_missing_cotangents_are_skipped():
    class Gives(Number):
        def _pull(self, cotangents, task):
            return [None, 2.0]

    first, second = Sink(), Sink()
    log = []
    behind = Number((first, 0), log=log, name="behind")
    pull((Gives((behind, 0), (second, 0), None, ()), 1.0))
    assert second.total == 2.0
    assert first.total == 0.0


def test_a_node_without_inputs_ends_the_walk():
    log = []
    pull((Number(None, log=log), 1.0))
    pull((Number(None, (), log=log), 1.0), (Number(log=log), 2.0))
    assert len(log) == 3


def test_targets_capture_and_leave_leaves_alone():
    x, y = Sink(), Sink()
    a = Number((x, 0), factors=[2.0])
    b = Number((a, 0), (y, 0), factors=[3.0, 5.0])
    task = pull((b, 1.0), targets=[(x, 0), (a, 0), (b, 0)])
    assert task.captured == {(x, 0): 6.0, (a, 0): 3.0, (b, 0): 1.0}
    assert (x.total, y.total) == (0.0, 0.0)


def test_only_nodes_that_lead_to_a_target_run():
    log = []
    x, y = Sink(), Sink()
    a = Number((x, 0), log=log, name="a")
    b = Number((y, 0), log=log, name="b")
    top = Number((a, 0), (b, 0), log=log, name="top")
    task = pull((top, 1.0), targets=[(y, 0)])
    assert [entry[0] for entry in log] == ["top", "b"]
    assert task.captured == {(y, 0): 1.0}


def test_the_producer_of_a_target_does_not_run():
    log = []
    x = Sink()
    a = Number((x, 0), log=log, name="a")
    top = Number((a, 0), log=log, name="top")
    task = pull((top, 1.0), targets=[(a, 0)])
    assert [entry[0] for entry in log] == ["top"]
    assert task.captured == {(a, 0): 1.0}


def test_an_unreached_target_is_not_captured():
    x, other = Sink(), Sink()
    task = pull((Number((x, 0)), 1.0), targets=[(other, 0), (x, 0)])
    assert task.captured == {(x, 0): 1.0}


def test_a_pass_knows_which_edges_it_wants():
    x, y = Sink(), Sink()
    seen = {}

    class Asks(Number):
        def _pull(self, cotangents, task):
            seen.update({k: task.wants(edge) for k, edge in enumerate(self.edges)})
            return super()._pull(cotangents, task)

    inner = Number((x, 0))
    pull((Asks((inner, 0), (y, 0), None, ()), 1.0), targets=[(x, 0)])
    assert seen == {0: True, 1: False, 2: False, 3: False}
    assert Pass(False, False, None).wants((x, 0)), "everything is wanted when nothing was asked for"
    assert not Pass(False, False, None).wants(None)


@pytest.mark.parametrize("long", [False, True])
def test_saved_values_are_released_right_after_their_node_ran(long):
    end = Sink()
    seen = []

    class Looks(Number):
        def _pull(self, cotangents, task):
            seen.append([node.saved for node in (bottom, middle, top)])
            return super()._pull(cotangents, task)

    bottom = Looks((end, 0))
    middle = Looks((bottom, 0), *([(end, 0)] if long else []))
    top = Looks((middle, 0))
    for node in (bottom, middle, top):
        node._saved = ("kept",)
    pull((top, 1.0), retain=True)
    assert [node.saved for node in (bottom, middle, top)] == [("kept",)] * 3
    seen.clear()
    pull((top, 1.0))
    kept = ("kept",)
    assert seen == [[kept, kept, kept], [kept, kept, FREED], [kept, FREED, FREED]]
    assert [node.saved for node in (bottom, middle, top)] == [FREED] * 3


def test_a_node_that_saved_nothing_is_not_marked_as_freed():
    node = Number((Sink(), 0))
    pull((node, 1.0))
    assert node.saved is None


def test_a_node_that_did_not_run_keeps_its_saved_values():
    x, y = Sink(), Sink()
    kept = Number((x, 0))
    kept._saved = ("kept",)
    top = Number((kept, 0), (y, 0))
    pull((top, 1.0), targets=[(y, 0)])
    assert kept.saved == ("kept",)


def test_sums_never_write_into_a_cotangent_that_someone_else_holds():
    class Vector(list):
        """Adds like a vector; ``+=`` would write in place."""

        def __add__(self, other):
            return Vector(a + b for a, b in zip(self, other, strict=True))

        def __iadd__(self, other):
            self[:] = [a + b for a, b in zip(self, other, strict=True)]
            return self

    class Passes(Number):
        def _pull(self, cotangents, task):
            held.append(cotangents[0])
            return [cotangents[0]] * len(self.edges)

    class Ends(Sink):
        def _pull(self, cotangents, task):
            self.total = cotangents[0]

    held = []
    end = Ends()
    bottom = Passes((end, 0))
    arms = [Passes((bottom, 0)) for _ in range(5)]
    top = Passes(*[(arm, 0) for arm in arms])
    seed = Vector([1.0, 2.0])
    pull((top, seed))
    assert end.total == [5.0, 10.0]
    assert seed == [1.0, 2.0]
    assert all(value == [1.0, 2.0] for value in held[:-1]), "the arms all passed the caller's own seed on"


def test_final_callbacks_run_at_the_end_of_their_pass():
    order = []

    class Calls(Number):
        def _pull(self, cotangents, task):
            current_pass().final.append(lambda: order.append("final"))
            order.append("node")
            return super()._pull(cotangents, task)

    end = Sink()
    pull((Calls((Calls((end, 0)), 0)), 1.0))
    assert order == ["node", "node", "final", "final"]


def test_there_is_a_current_pass_only_inside_one():
    seen = []

    class Looks(Number):
        def _pull(self, cotangents, task):
            seen.append(current_pass() is task)
            return super()._pull(cotangents, task)

    assert current_pass() is None
    pull((Looks((Sink(), 0)), 1.0))
    assert seen == [True]
    assert current_pass() is None


class Fails(Number):
    def _pull(self, cotangents, task):
        raise ZeroDivisionError("inside")


@pytest.mark.parametrize("branches", [1, 2])
def test_an_error_keeps_its_type_says_where_and_leaves_everything_usable(branches):
    end = Sink()
    bad = Fails((end, 0))
    top = Number((bad, 0), *([(end, 0)] * (branches - 1)))
    with teaches(ZeroDivisionError, "inside", notes=[f"Raised while pulling back through {bad.name()}"]):
        pull((top, 1.0))
    assert current_pass() is None
    assert modes.current() is modes.ON
    good = Sink()
    pull((Number((good, 0)), 1.0))
    assert good.total == 1.0


def test_a_nested_pass_locates_an_error_once():
    bad = Fails((Sink(), 0))

    class Nests(Number):
        def _pull(self, cotangents, task):
            return pull((bad, 1.0))

    with pytest.raises(ZeroDivisionError) as caught:
        pull((Nests((Sink(), 0)), 1.0))
    assert len(caught.value.__notes__) == 1


def nest(depth, log=None):
    """A pass inside a pass, `depth` levels deep; gives the thread names and modes that were seen at the bottom."""
    seen = []

    class Nests(Number):
        def __init__(self, levels):
            super().__init__((Sink(), 0))
            self.levels = levels

        def _pull(self, cotangents, task):
            if self.levels == 0:
                seen.append((threading.current_thread().name, task.depth, modes.current()._recording))
                if log is not None:
                    raise log
            else:
                pull((Nests(self.levels - 1), 1.0), record=True)
            return [cotangents[0]]

    pull((Nests(depth), 1.0))
    return seen


def test_passes_nest_hundreds_deep_on_fresh_stacks():
    ((name, depth, recording),) = nest(300)
    assert depth == 300
    assert name == "pullback nested backward", "deep levels run on a stack of their own"
    assert recording
    ((name, depth, _),) = nest(engine.NESTING_PER_STACK - 1)
    assert name == threading.main_thread().name, "shallow ones stay in the caller's thread"
    assert current_pass() is None


def test_an_error_comes_back_through_all_nested_stacks():
    error = KeyError("deep")
    with pytest.raises(KeyError) as caught:
        nest(120, error)
    assert caught.value is error
    assert current_pass() is None


def test_recording_inside_a_pass_is_what_the_pass_asks_for():
    seen = []

    class Looks(Number):
        def _pull(self, cotangents, task):
            seen.append(modes.current()._recording)
            return super()._pull(cotangents, task)

    end = Sink()
    token = modes.enter(modes.OFF)
    try:
        pull((Looks((end, 0)), 1.0), record=True)
        assert not modes.current()._recording
    finally:
        modes.leave(token)
    pull((Looks((end, 0)), 1.0), record=False)
    assert modes.current()._recording
    assert seen == [True, False]
