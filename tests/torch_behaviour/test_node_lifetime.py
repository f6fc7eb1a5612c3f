"""Nodes, hooks and what they hold live as long as somebody needs them, and are freed by reference counting alone."""

import gc
import weakref

import pytest

from torch_behaviour.entry import entry


class Mark:
    """Something whose death can be seen."""


@pytest.fixture(autouse=True)
def without_collector():
    """What is freed here is freed without the garbage collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def marked(node):
    """Hang a mark on a node; the weak reference tells when both are gone."""
    mark = Mark()
    node.metadata["mark"] = mark
    return weakref.ref(mark)


def doubled(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 + 0 * ctx.saved_tensors[0]

    return Double.apply


KINDS = {"builtin": lambda torch: torch.exp, "function": doubled}


def make(torch, kind):
    x = torch.ones(2, requires_grad=True)
    return x, KINDS[kind](torch)(x)


def hook_of(kind, y, mark):
    """Hang a hook that holds `mark` on a Tensor or its node."""
    if kind == "tensor_hook":
        y.register_hook(lambda g: (mark, None)[1])
    elif kind == "node_hook":
        y.grad_fn.register_hook(lambda *g: (mark, None)[1])


@entry(
    "L",
    "node_freed_builtin_no_hook_unused",
    "node_freed_builtin_no_hook_after_backward",
    "node_freed_builtin_tensor_hook_unused",
    "node_freed_builtin_tensor_hook_after_backward",
    "node_freed_builtin_node_hook_unused",
    "node_freed_builtin_node_hook_after_backward",
    "node_freed_function_no_hook_unused",
    "node_freed_function_no_hook_after_backward",
    "node_freed_function_tensor_hook_unused",
    "node_freed_function_tensor_hook_after_backward",
    "node_freed_function_node_hook_unused",
    "node_freed_function_node_hook_after_backward",
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hook", ["no_hook", "tensor_hook", "node_hook"])
@pytest.mark.parametrize("use", ["unused", "after_backward"])
def test_a_node_dies_with_its_result(torch, kind, hook, use):
    _x, y = make(torch, kind)
    node, held = marked(y.grad_fn), Mark()
    of_hook = weakref.ref(held)
    hook_of(hook, y, held)
    del held
    if hook == "no_hook":
        assert of_hook() is None
    else:
        assert of_hook() is not None
    if use == "after_backward":
        y.sum().backward()
    assert node() is not None
    del y
    assert node() is None
    assert of_hook() is None


@entry(
    "L",
    "cycle_builtin_tensor_hook",
    "cycle_builtin_node_hook",
    "cycle_function_tensor_hook",
    "cycle_function_node_hook",
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hook", ["tensor_hook", "node_hook"])
@pytest.mark.parametrize("use", ["unused", "after_backward"])
def test_a_hook_that_holds_its_own_node_needs_the_collector(torch, kind, hook, use):
    _x, y = make(torch, kind)
    node = marked(y.grad_fn)
    hook_of(hook, y, y.grad_fn)
    if use == "after_backward":
        y.sum().backward()
    del y
    assert node() is not None
    gc.collect()
    assert node() is None


@entry("L", "node_prehook_freed")
@pytest.mark.parametrize("kind", KINDS)
def test_a_prehook_dies_with_its_node(torch, kind):
    _x, y = make(torch, kind)
    held = Mark()
    seen = weakref.ref(held)
    y.grad_fn.register_prehook(lambda g, held=held: None)
    del held
    y.sum().backward()
    assert seen() is not None
    del y
    assert seen() is None


@entry("L", "removed_hook_freed")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hook", ["tensor", "node", "leaf"])
def test_a_hook_that_is_removed_is_freed(torch, kind, hook):
    x, y = make(torch, kind)
    held = Mark()
    seen = weakref.ref(held)
    place = {"tensor": y, "node": y.grad_fn, "leaf": x}[hook]
    handle = place.register_hook(lambda *g, held=held: None)
    del held, place
    assert seen() is not None
    handle.remove()
    assert seen() is None
    y.sum().backward()
    assert x.grad is not None


@entry("L", "node_kept_by_reference")
@pytest.mark.parametrize("kind", KINDS)
def test_a_node_outlives_its_result_where_it_is_held(torch, kind):
    x, y = make(torch, kind)
    node, seen = y.grad_fn, marked(y.grad_fn)
    del y
    assert seen() is not None
    assert node.next_functions[0][0].variable is x
    del node
    assert seen() is None


@entry("L", "leaf_freed", "leaf_node_freed")
def test_a_leaf_is_not_kept_by_its_own_node(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    node = marked(y.grad_fn.next_functions[0][0])
    leaf = weakref.ref(x)
    del x
    assert leaf() is not None  # the graph holds it
    y.sum().backward()
    del y
    assert leaf() is None
    assert node() is None


@entry("L", "leaf_node_freed")
def test_the_node_of_a_leaf_dies_with_the_graph(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    node = marked(y.grad_fn.next_functions[0][0])
    y.sum().backward()
    assert node() is not None
    del y
    assert node() is None
    assert x.grad.tolist() == [2.0, 2.0]


@entry("L", "leaf_post_accumulate_hook_freed")
def test_a_hook_after_accumulation_dies_with_its_leaf(torch):
    x, held = torch.ones(2, requires_grad=True), Mark()
    seen = weakref.ref(held)
    x.register_post_accumulate_grad_hook(lambda t, held=held: None)
    del held
    (x * 2).sum().backward()
    assert seen() is not None
    del x
    assert seen() is None


@entry("L", "leaf_hook_survives_graph")
def test_a_hook_of_a_leaf_outlives_graphs(torch):
    x, seen = torch.ones(2, requires_grad=True), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    for factor in (2.0, 3.0):
        (x * factor).sum().backward()
    assert seen == [[2.0, 2.0], [3.0, 3.0]]


def two_outputs(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:1].clone(), x[1:].clone()

        @staticmethod
        def backward(ctx, a, b):
            return torch.cat([a, b])

    return Two.apply


SHARED = {"split": lambda torch: lambda x: torch.split(x.clone(), 1), "function": two_outputs}


@entry(
    "L",
    "shared_node_kept_by_any_output",
    "shared_node_freed_with_last_output",
    "shared_node_builtin_split",
    "shared_node_function_two_outputs",
)
@pytest.mark.parametrize("kind", ["split", "function"])
@pytest.mark.parametrize("first", [0, 1])
def test_a_node_of_two_results_lives_until_both_are_gone(torch, kind, first):
    if (
        kind == "split" and torch.__name__ == "pullback.torch"
    ):  # one node per part here: the node below is what they share
        x = torch.ones(2, requires_grad=True)
        base = x.clone()
        node, parts = marked(base.grad_fn), list(torch.split(base, 1))
        del base
    else:
        parts = list(SHARED[kind](torch)(torch.ones(2, requires_grad=True)))
        node = marked(parts[0].grad_fn)
    parts[first] = None
    assert node() is not None
    parts[1 - first] = None
    assert node() is None


@entry("L", "shared_node_hook_cycle")
@pytest.mark.parametrize("hook", ["tensor_hook", "node_hook"])
def test_a_hook_of_one_result_that_holds_the_shared_node(torch, hook):
    one, two = two_outputs(torch)(torch.ones(2, requires_grad=True))
    node = marked(one.grad_fn)
    hook_of(hook, one, two.grad_fn)
    del one, two
    assert node() is not None
    gc.collect()
    assert node() is None


@entry("L", "shared_node_unused_output")
@pytest.mark.parametrize("used", [0, 1])
def test_a_result_that_nobody_kept_changes_nothing(torch, used):
    x = torch.ones(2, requires_grad=True)
    out = two_outputs(torch)(x)[used]
    node = marked(out.grad_fn)
    out.sum().backward()
    assert x.grad.tolist() == ([1.0, 0.0] if used == 0 else [0.0, 1.0])
    del out
    assert node() is None


@entry("L", "chain_freed", "chain_freed_after_backward")
@pytest.mark.parametrize("use", ["unused", "after_backward"])
def test_a_chain_is_freed_as_a_whole(torch, use):
    x = torch.ones(2, requires_grad=True)
    y, nodes = x, []
    for k in range(5):
        y = KINDS["function" if k % 2 else "builtin"](torch)(y) * 0.5
        nodes.append(marked(y.grad_fn))
    if use == "after_backward":
        y.sum().backward()
    assert all(node() is not None for node in nodes)
    del y
    assert all(node() is None for node in nodes)


@entry("L", "chain_shared_prefix_kept")
def test_the_common_part_of_two_chains_lives_as_long_as_either(torch):
    x = torch.ones(2, requires_grad=True)
    common = x * 2
    node = marked(common.grad_fn)
    a, b = common + 1, common * 3
    own = marked(a.grad_fn)
    del common, a
    assert own() is None
    assert node() is not None
    b.sum().backward()
    del b
    assert node() is None


@entry("L", "chain_deep", "chain_deep_functions")
@pytest.mark.parametrize("kind", KINDS)
def test_deep_chains_are_freed_without_recursion(torch, kind):
    x = torch.zeros(1, requires_grad=True)
    step, y = (doubled(torch) if kind == "function" else lambda v: v + 1), x
    for _ in range(5000):
        y = step(y)
    first = marked(y.grad_fn)
    del y
    assert first() is None
