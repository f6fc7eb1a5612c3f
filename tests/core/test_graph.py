"""The graph alone: nodes, edges, the order of `reach`, what pictures and hooks need of a node."""

import gc
import random
import weakref

import pytest

import pullback as pb
from core.helpers import Number, Sink, Square, leaf
from pullback.core.graph import FREED, LEAF_NUMBER, NOT_A_TENSOR, Node, leading_to, reach, walk


def chain(length, end):
    node = Number((end, 0))
    for _ in range(length - 1):
        node = Number((node, 0))
    return node


def random_graph(seed, size=60):
    """Nodes that each consume some of the earlier ones, and two leaves."""
    choose = random.Random(seed)
    leaves = [Sink(), Sink()]
    nodes = []
    for _ in range(size):
        pool = nodes + leaves
        edges = [(choose.choice(pool), 0) for _ in range(choose.randint(1, 3))]
        edges += choose.choices([None, NOT_A_TENSOR], k=choose.randint(0, 1))
        nodes.append(Number(*edges))
    return nodes, leaves


def test_numbers_grow_with_creation():
    first, second = Number(), Number()
    assert second.number > first.number >= 0
    assert Sink().number == LEAF_NUMBER


@pytest.mark.parametrize("seed", range(8))
def test_reach_finds_exactly_what_edges_lead_to_consumers_first(seed):
    nodes, _ = random_graph(seed)
    root = nodes[-1]
    expected, stack = set(), [root]
    while stack:
        node = stack.pop()
        if node not in expected:
            expected.add(node)
            stack += [edge[0] for edge in node.edges if edge]
    order, last_consumer = reach([root])
    assert set(order) | set(last_consumer) == expected
    assert len(order) == len(set(order))
    position = {node: k for k, node in enumerate(order)}
    for node in order:
        for edge in node.edges:
            if edge and edge[0] in position:
                assert position[node] < position[edge[0]]


@pytest.mark.parametrize("seed", range(8))
def test_a_leaf_is_closed_by_its_earliest_made_consumer(seed):
    nodes, leaves = random_graph(seed)
    order, last_consumer = reach(nodes)
    for found in leaves:
        consumers = [node for node in order if any(edge and edge[0] is found for edge in node.edges)]
        assert last_consumer[found] is min(consumers, key=lambda node: node.number)


def test_a_leaf_that_is_a_root_has_no_consumer():
    alone = Sink()
    assert reach([alone]) == ([], {alone: None})


def test_a_root_leaf_with_a_consumer_waits_for_it():
    end = Sink()
    node = Number((end, 0))
    assert reach([end, node]) == ([node], {end: node})


def test_roots_may_repeat_and_contain_each_other():
    end = Sink()
    inner = Number((end, 0))
    outer = Number((inner, 0))
    order, _ = reach([inner, outer, inner])
    assert order == [outer, inner]


def test_reach_does_not_recurse():
    order, _ = reach([chain(50_000, Sink())])
    assert len(order) == 50_000


def test_leading_to_counts_a_target_only_if_it_leads_to_another():
    end, other = Sink(), Sink()
    below = Number((end, 0))
    middle = Number((below, 0))
    side = Number((other, 0))
    top = Number((middle, 0), (side, 0))
    order, _ = reach([top])
    assert leading_to(order, {end}) == {top, middle, below}
    assert leading_to(order, {middle}) == {top}
    assert leading_to(order, {middle, end}) == {top, middle, below}
    assert leading_to(order, {other}) == {top, side}
    assert leading_to(order, set()) == set()


def test_walk_gives_inner_nodes_then_leaves():
    end = Sink()
    below = Number((end, 0))
    top = Number((below, 0))
    assert list(walk([top])) == [top, below, end]


def test_edges_say_path_no_gradient_or_no_tensor():
    class Three(pb.Function):
        @staticmethod
        def forward(ctx, a, b, c):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g, g, None

    x = leaf(2.0)
    node = Three.apply(x, pb.tensor(3.0), "text").grad_fn
    assert node.edges[0] == x._resolved()
    assert node.edges[1] is None
    assert node.edges[2] is NOT_A_TENSOR
    assert not node.edges[1], "both are falsy: `if edge:` asks whether a path leads on"
    assert not node.edges[2]
    assert node.next_functions == (x._resolved(), (None, 0)), "as torch shows it: Tensor arguments only"


def test_next_functions_lead_from_node_to_node():
    x = leaf(2.0)
    y = pb.exp(x)
    z = y * y
    assert z.grad_fn.next_functions == ((y.grad_fn, 0), (y.grad_fn, 0))
    accumulate = y.grad_fn.next_functions[0][0]
    assert accumulate.name() == "AccumulateGrad"
    assert accumulate.variable is x


def test_names_representation_and_sequence_numbers():
    x = leaf(2.0)
    y = Square.apply(x)
    assert y.grad_fn.name() == "SquareBackward"
    assert repr(y.grad_fn).startswith("<SquareBackward object at 0x")
    assert (x * x).grad_fn.name() == "MulBackward0"
    assert pb.exp(y).grad_fn._sequence_nr() > y.grad_fn._sequence_nr()
    assert x._resolved()[0]._sequence_nr() == 2**64 - 1
    assert repr(FREED) == "<freed>"


def test_metadata_is_one_dict_per_node_that_dies_with_it():
    class Note:
        pass

    y = pb.exp(leaf(2.0))
    y.grad_fn.metadata["note"] = note = Note()
    assert y.grad_fn.metadata == {"note": note}
    assert pb.exp(leaf(2.0)).grad_fn.metadata == {}
    reference = weakref.ref(note)
    del y, note
    assert reference() is None


def test_metadata_that_leads_back_to_its_node_is_collected():
    y = pb.exp(leaf(2.0))
    y.grad_fn.metadata["result"] = y
    reference = weakref.ref(y.grad_fn)
    del y
    assert reference() is not None
    gc.collect()
    assert reference() is None


def test_the_accumulator_of_a_leaf_is_one_object_while_a_graph_lives():
    x = leaf(2.0)
    y, z = pb.exp(x), pb.sin(x)
    assert y.grad_fn.edges[0][0] is z.grad_fn.edges[0][0]


def test_a_bare_node_cannot_be_pulled():
    with pytest.raises(NotImplementedError):
        Node((), None, (), None)._pull([1.0], None)
