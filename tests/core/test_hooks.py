"""Hooks on Tensors, leaves and nodes: what they get, what they may return, and in which order they run."""

import gc

import numpy as np
import pytest

import pullback as pb
from core.helpers import Exp, Item, Product, Square, derivatives, leaf, ones_like, teaches, values
from pullback.autograd import grad


# ------------------------------------------------------------------------------------------------ tensor hooks
def test_a_tensor_hook_runs_once_with_the_summed_gradient():
    seen = []
    x = leaf(2.0)
    y = x * 1
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 3 + y * 4).backward()
    assert seen == [7.0]


def test_hooks_of_one_tensor_run_in_the_order_of_registration_and_chain():
    x = leaf(1.0)
    y = x * 1
    y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: None)
    same = lambda g: g * 10  # noqa: E731
    y.register_hook(same)
    y.register_hook(same)
    y.backward()
    assert x.grad.item() == (1 * 2 + 1) * 100


def test_hooks_on_leaves_and_on_every_output_of_a_node():
    class Two(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 1

        @staticmethod
        def backward(ctx, g, h):
            return g + h

    x = leaf(1.0)
    x.register_hook(lambda g: g * 1000)
    a, b = Two.apply(x)
    a.register_hook(lambda g: g * 2)
    b.register_hook(lambda g: g * 3)
    (a + b).backward()
    assert x.grad.item() == 5000.0


def test_a_hook_may_get_none():
    class Two(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 1

        @staticmethod
        def backward(ctx, g, h):
            return g

    seen = []
    a, b = Two.apply(leaf(1.0))
    b.register_hook(lambda g: seen.append(g))
    a.backward()
    assert seen == [None]


def test_a_hook_may_fill_in_what_is_missing():
    class Two(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 1

        @staticmethod
        def backward(ctx, g, h):
            return g + h

    x = leaf(1.0)
    a, b = Two.apply(x)
    b.register_hook(lambda g: pb.tensor(5.0))
    a.backward()
    assert x.grad.item() == 6.0


def test_the_result_of_a_hook_is_seen_by_grad_and_by_retained_gradients():
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g * 100)
    assert grad(y, x, retain_graph=True)[0].item() == 4000.0
    assert grad(y, y, retain_graph=True)[0].item() == 10.0
    assert values(grad(y, [x, y], retain_graph=True)) == [4000.0, 10.0]
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.backward()
    assert y.grad.item() == 20.0


@pytest.mark.parametrize("create_graph", [False, True])
def test_what_a_hook_returns_is_checked(create_graph):
    def returning(value):
        def scaled(g):
            return value

        return scaled

    for result, kind, words in (
        (3, TypeError, ["expected Variable", "'int'"]),
        (np.ones(2), TypeError, ["'ndarray'"]),
        (pb.tensor([1.0]), RuntimeError, ["'scaled'", "changed the size of value"]),
        (
            pb.tensor([1.0, 1.0], dtype="float32"),
            RuntimeError,
            ["'scaled'", "changed the type of value", "float64", "float32"],
        ),
    ):
        x = leaf([1.0, 2.0])
        y = x * 1
        y.register_hook(returning(result))
        with teaches(kind, *words, notes=["Write instead"]):
            grad(y, x, ones_like(y), create_graph=create_graph)


def test_hooks_need_a_gradient():
    plain = pb.tensor(1.0)
    for register in (
        lambda: plain.register_hook(print),
        lambda: plain.register_post_accumulate_grad_hook(print),
        plain.retain_grad,
    ):
        with teaches(RuntimeError, "require", notes=["requires_grad=True"]):
            register()


def test_handles_remove_once_or_twice_or_as_a_block():
    calls = []
    x = leaf(1.0)
    handle = x.register_hook(lambda g: calls.append("x"))
    x.backward()
    handle.remove()
    handle.remove()
    x.backward()
    assert calls == ["x"]
    with x.register_hook(lambda g: calls.append("block")):
        x.backward()
    x.backward()
    assert calls == ["x", "block"]


def test_removing_a_later_hook_while_running_does_not_stop_it_this_time():
    calls = []
    x = leaf(1.0)

    def first(g):
        calls.append("first")
        second.remove()

    x.register_hook(first)
    second = x.register_hook(lambda g: calls.append("second"))
    x.backward()
    x.backward()
    assert calls == ["first", "second", "first"]


def test_hooks_stay_with_the_version_of_the_tensor_that_they_were_registered_on():
    seen = []
    x = leaf(1.0)
    a = x * 2
    a.register_hook(lambda g: seen.append(("old", g.item())))
    a *= 3
    a.register_hook(lambda g: seen.append(("new", g.item())))
    a.backward()
    assert seen == [("new", 1.0), ("old", 3.0)]


def test_retained_gradients_follow_the_tensor_through_writes():
    x = leaf(1.0)
    a = x * 2
    a.retain_grad()
    a *= 3
    assert a.retains_grad
    (a * 5).backward()
    assert a.grad.item() == 5.0


@pytest.mark.parametrize("written", ["view", "base"])
def test_retained_gradients_of_views_follow_writes(written):
    x = leaf([1.0, 2.0])
    a = x * 1
    v = Item.apply(a, index=slice(0, 1))
    v.retain_grad()
    if written == "view":
        v *= 3.0
    else:
        a *= 3.0
    assert v.retains_grad
    (v * 5).backward()
    np.testing.assert_array_equal(v.grad.numpy(), [5.0])
    np.testing.assert_array_equal(x.grad.numpy(), [15.0, 0.0])


def test_recording_in_hooks_is_that_of_the_pass():
    seen = []
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: seen.append(pb.is_grad_enabled()))
    x.register_hook(lambda g: seen.append(pb.is_grad_enabled()))
    grad(y, x, create_graph=True)
    grad(y, x)
    assert seen == [True, True, False, False]


def test_derivatives_flow_through_what_hooks_return():
    def f(x):
        y = x * x
        y.register_hook(lambda g: g * g)
        return y * x

    x = leaf(2.0)
    # y = x², z = yx: the cotangent x of y is squared; dz/dx = x²·2x + y = 2x³ + x²
    np.testing.assert_allclose(values(derivatives(f, x)), [20.0, 28.0, 26.0])


def test_errors_in_hooks_keep_their_type():
    x = leaf(2.0)

    def fails(g):
        raise KeyError("hook")

    y = x * x
    y.register_hook(fails)
    with teaches(KeyError, "hook"):
        y.backward()
    assert pb.is_grad_enabled()


def test_a_hook_may_start_a_pass_of_its_own():
    x, w = leaf(2.0), leaf(3.0)
    y = x * x

    def runs(g):
        with pb.enable_grad():
            (w * w).backward()

    y.register_hook(runs)
    y.backward()
    assert values([x.grad, w.grad]) == [4.0, 6.0]


# ------------------------------------------------------------------------------------------------ retain_grad
def test_retain_grad_fills_and_accumulates_for_inner_tensors():
    x = leaf(2.0)
    a = x * 3
    assert not a.retains_grad
    a.retain_grad()
    a.retain_grad()
    assert a.retains_grad
    y = a * a
    y.backward(retain_graph=True)
    y.backward()
    assert a.grad.item() == 24.0
    x.retain_grad()
    assert not x.retains_grad
    assert not pb.tensor(1.0).retains_grad


def test_retained_gradients_stay_undefined_with_the_cotangent():
    class Cuts(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    a = leaf(2.0) * 3
    a.retain_grad()
    Cuts.apply(a).backward()
    assert a.grad is None


def test_a_retained_tensor_is_not_kept_alive():
    x = leaf(2.0)
    a = x * 3
    a.retain_grad()
    y = a + 1
    del a
    gc.collect()
    y.backward()
    assert x.grad.item() == 3.0


# ------------------------------------------------------------------------------------------------ post-accumulate hooks
def test_post_accumulate_hooks_see_the_filled_gradient_and_do_not_run_for_grad():
    seen = []
    x = leaf(2.0)
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.item())))
    (x * x).backward()
    grad(x * x, x)
    (x * x).backward()
    handle.remove()
    (x * x).backward()
    assert seen == [(True, 4.0), (True, 8.0)]


def test_an_optimiser_in_the_hook():
    x = leaf(2.0)

    def step(t):
        with pb.no_grad():
            t -= 0.1 * t.grad
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).backward()
    np.testing.assert_allclose(x.item(), 1.6)
    assert x.grad is None


def test_post_accumulate_hooks_return_nothing_and_live_on_leaves():
    x = leaf(2.0)
    x.register_post_accumulate_grad_hook(lambda t: t)
    (x * x).backward()
    handle = x.register_post_accumulate_grad_hook(lambda t: 5)
    with teaches(TypeError, "hook returned 'int'", "post accumulate grad hooks should return None", notes=["in place"]):
        (x * x).backward()
    handle.remove()
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with teaches(RuntimeError, "post accumulate grad hooks should return None", notes=["in place"]):
        (x * x).backward()
    with teaches(RuntimeError, "cannot be registered on non-leaf tensors", notes=["register_hook"]):
        (x * x).register_post_accumulate_grad_hook(print)


def test_post_accumulate_hooks_run_where_no_gradient_came():
    class Nothing(pb.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return None, g * 2

    x, y, seen = leaf(2.0), leaf(3.0), []
    for name, tensor in (("x", x), ("y", y)):
        tensor.register_post_accumulate_grad_hook(lambda t, name=name: seen.append((name, t.grad and t.grad.item())))
    Nothing.apply(x, y).backward()
    assert seen == [("x", None), ("y", 2.0)]


@pytest.mark.parametrize("first", [0, 1])
def test_leaves_of_one_node_are_filled_in_the_order_of_its_arguments(first):
    """Whichever of them was found first on another way."""
    leaves, seen = [leaf(2.0), leaf(3.0)], []
    for name, tensor in zip("ab", leaves, strict=True):
        tensor.register_hook(lambda g, name=name: seen.append(name))
    other = leaves[first] * 1
    product = leaves[0] * leaves[1]
    (product + other).backward()
    assert seen == (["b", "a"] if first == 0 else ["a", "b"])  # what `other` needs is complete a node later
    seen.clear()
    product = leaves[0] * leaves[1]
    other = leaves[first] * 1
    (product + other).backward()
    assert seen == ["a", "b"]


def test_leaf_hooks_registered_before_and_after_a_graph_was_built():
    calls = []
    x = leaf(1.0)
    x.register_hook(lambda g: calls.append("before"))
    y = x * 2
    x.register_hook(lambda g: calls.append("after"))
    x.register_post_accumulate_grad_hook(lambda t: calls.append("accumulated"))
    y.backward()
    z = leaf(1.0)
    y = z * 2
    z.register_hook(lambda g: calls.append("late"))
    y.backward()
    assert calls == ["before", "after", "accumulated", "late"]


# ------------------------------------------------------------------------------------------------ node hooks
def test_node_hooks_see_and_replace_gradients():
    seen = []
    a, b = leaf(2.0), leaf(3.0)
    y = Product.apply(a, b)
    y.grad_fn.register_prehook(lambda outer: seen.append(("pre", values(outer))))
    y.grad_fn.register_prehook(lambda outer: (outer[0] * 10,))
    y.grad_fn.register_hook(lambda inner, outer: seen.append(("post", values(inner), values(outer))))
    y.grad_fn.register_hook(lambda inner, outer: (inner[0] * 2, None))
    y.backward()
    assert seen == [("pre", [1.0]), ("post", [30.0, 20.0], [10.0])]
    assert a.grad.item() == 60.0
    assert b.grad is None


def test_node_hooks_have_one_entry_per_tensor():
    class Mixed(pb.Function):
        @staticmethod
        def forward(ctx, x, text, y):
            return x * 1, "text"

        @staticmethod
        def backward(ctx, g, nothing):
            return g, None, None

    seen = []
    x = leaf(1.0)
    y, _ = Mixed.apply(x, "text", pb.tensor(2.0))
    y.grad_fn.register_prehook(lambda outer: seen.append(values(outer)))
    y.grad_fn.register_hook(lambda inner, outer: seen.append(values(inner)))
    y.backward()
    assert seen == [[1.0, None], [1.0, None]]


@pytest.mark.parametrize("create_graph", [False, True])
def test_what_node_hooks_return_is_checked(create_graph):
    def returning(value):
        def hook(*args):
            return value

        return hook

    for pre in (True, False):
        for result, kind, words in (
            (pb.tensor(1.0), TypeError, ["expected tuple", "Tensor"]),
            ([pb.tensor(1.0)], TypeError, ["expected tuple", "list"]),
            ((), RuntimeError, ["'hook'", "incorrect number of values", "got 0", "expected 1"]),
            ((pb.tensor([1.0]),), RuntimeError, ["'hook'", "changed the size"]),
            ((1.0,), TypeError, ["expected Variable", "float"]),
        ):
            x = leaf(1.0)
            y = Square.apply(x)
            (y.grad_fn.register_prehook if pre else y.grad_fn.register_hook)(returning(result))
            with teaches(kind, *words, notes=["Write instead"] if words[0] != "x" else []):
                grad(y, x, create_graph=create_graph)


def test_node_hooks_on_builtin_nodes_and_accumulators():
    seen = []
    x = leaf(2.0)
    y = pb.exp(x)
    y.grad_fn.register_hook(lambda inner, outer: seen.append(("exp", len(inner), len(outer))))
    accumulator = x._resolved()[0]
    accumulator.register_prehook(lambda outer: seen.append(("acc pre", x.grad is None)) or (outer[0] * 2,))
    accumulator.register_hook(lambda inner, outer: seen.append(("acc post", inner, x.grad is None)))
    y.backward()
    np.testing.assert_allclose(x.grad.item(), 2 * np.exp(2.0))
    assert seen == [("exp", 1, 1), ("acc pre", True), ("acc post", (), False)]


def test_node_hooks_of_a_node_that_gives_no_gradients():
    class Cuts(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return None, None

    seen = []
    a, b = leaf(1.0), leaf(2.0)
    y = Cuts.apply(a, b)
    y.grad_fn.register_hook(lambda inner, outer: seen.append(inner))
    y.backward()
    assert seen == [(None, None)]


def test_node_hooks_can_be_removed():
    calls = []
    x = leaf(1.0)
    y = Square.apply(x)
    y.grad_fn.register_hook(lambda *g: calls.append(1)).remove()
    y.grad_fn.register_prehook(lambda g: calls.append(1)).remove()
    y.backward()
    assert not calls


# ------------------------------------------------------------------------------------------------ order
def log_everything(x, log):
    """Hooks of every kind on a leaf, an inner Tensor and its node."""
    y = Exp.apply(x)
    y.register_hook(lambda g: log.append(("tensor hook", y.grad if y.retains_grad else None)))
    y.retain_grad()
    y.grad_fn.register_prehook(lambda g: log.append(("node pre", y.grad.item())))
    y.grad_fn.register_hook(lambda inner, outer: log.append(("node post", x.grad is None)))
    x.register_hook(lambda g: log.append(("leaf hook", x.grad)))
    accumulator = x._resolved()[0]
    accumulator.register_prehook(lambda g: log.append(("acc pre", x.grad)))
    accumulator.register_hook(lambda inner, outer: log.append(("acc post", x.grad.item())))
    x.register_post_accumulate_grad_hook(lambda t: log.append(("post accumulate", t.grad.item())))
    return y


def test_the_order_of_all_hooks():
    log = []
    x = leaf(0.0)
    y = log_everything(x, log)
    (y * 2).backward()
    assert log == [
        ("tensor hook", None),
        ("node pre", 2.0),
        ("node post", True),
        ("leaf hook", None),
        ("acc pre", None),
        ("post accumulate", 2.0),
        ("acc post", 2.0),
    ]


def test_grad_runs_the_tensor_hooks_of_leaves_only():
    log = []
    x = leaf(0.0)
    y = log_everything(x, log)
    grad(y * 2, x)
    assert [entry[0] for entry in log] == ["tensor hook", "node pre", "node post", "leaf hook"]
    log.clear()
    grad(y * 2, y)
    assert [entry[0] for entry in log] == ["tensor hook"], "the node of the requested Tensor does not run"


def test_hooks_are_called_with_tensors_of_the_class_of_their_tensor():
    class Own(pb.Tensor):
        __slots__ = ()

    kinds = []
    x = Own(np.ones(2), requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: kinds.append(type(g)))
    x.register_hook(lambda g: kinds.append(type(g)))
    y.grad_fn.register_prehook(lambda g: kinds.append(type(g[0])))
    y.backward(Own(np.ones(2)))
    assert kinds == [Own] * 3
    assert type(x.grad) is Own


def test_a_gradient_kept_by_a_hook_is_not_changed_by_later_accumulation():
    kept = []
    x = leaf([1.0, 2.0])
    x.register_hook(kept.append)
    for _ in range(2):
        (x * 2).backward(ones_like(x))
    np.testing.assert_array_equal(values(kept), [[2.0, 2.0]] * 2)


# ------------------------------------------------------------------------------------- hooks of what is not asked for
def test_hooks_of_a_leaf_that_is_not_asked_for_are_not_called():
    x, y = leaf(2.0), leaf(3.0)
    y.register_hook(lambda g: pytest.fail("nobody asked for the gradient of y"))
    assert pb.autograd.grad(x + y, x)[0].item() == 1.0
    assert pb.autograd.grad(x * y, x)[0].item() == 3.0


def test_hooks_and_retained_gradients_beside_the_asked_path_stay_silent():
    x = leaf(2.0)
    a, b = x * 2, x * 3
    a.retain_grad()
    a.register_hook(lambda g: pytest.fail("a is not on the way to b"))
    (g,) = pb.autograd.grad([b, a], [b], [pb.tensor(1.0), pb.tensor(1.0)])
    assert g.item() == 1.0
    assert a.grad is None


def test_a_leaf_that_stopped_asking_gets_nothing():
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None
    assert w.grad.item() == 2.0


def test_hooks_on_the_node_of_a_leaf_see_the_gradient_and_survive_hooks_on_the_leaf():
    x = leaf(2.0)
    y = x * 5
    node, seen = y.grad_fn.next_functions[0][0], []
    node.register_hook(lambda inner, outer: seen.append(("post", inner, outer[0].item())))
    node.register_prehook(lambda outer: seen.append(("pre", outer[0].item())))
    x.register_hook(lambda g: seen.append(("tensor", g.item())))
    y.backward()
    assert seen == [("tensor", 5.0), ("pre", 5.0), ("post", (), 5.0)]
    assert x.grad.item() == 5.0


# ------------------------------------------------------------------------------------------------ hooks that write
def _write_all(g):
    g.mul_(3.0)


def _write_one(g):
    g[0] = 7.0


def _write_data(g):
    g.data.mul_(3.0)


def _write_alias(g):
    g.detach().mul_(3.0)


def _register(kind, x, y, write):
    def on_tensors(*groups):
        for g in [g for group in groups for g in group]:
            write(g)

    if kind == "tensor":
        y.register_hook(write)
    elif kind == "leaf":
        x.register_hook(write)
    elif kind == "prehook":
        y.grad_fn.register_prehook(on_tensors)
    elif kind == "node":
        y.grad_fn.register_hook(on_tensors)
    elif kind == "accumulator":
        y.grad_fn.next_functions[0][0].register_prehook(on_tensors)
        y.grad_fn.next_functions[0][0].register_hook(on_tensors)
    else:
        x.register_post_accumulate_grad_hook(lambda x: write(x.grad))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("write", [_write_all, _write_one, _write_data, _write_alias])
@pytest.mark.parametrize("kind", ["tensor", "leaf", "prehook", "node", "accumulator", "accumulated"])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_hook_that_writes_into_its_gradient_changes_that_and_nothing_else(kind, write, create_graph):
    """As if it had returned the new gradient: neither the seed, nor the gradients of others that are the same memory."""
    x, other, seed = leaf([1.0, 2.0]), leaf([1.0, 2.0]), pb.tensor([1.0, 1.0])
    y = x + other
    y.retain_grad()
    _register(kind, x, y, write)
    y.backward(seed, create_graph=create_graph)
    written = [7, 1] if write is _write_one else [3, 3]
    everything = kind in ("tensor", "prehook")  # a hook of y itself, or of its node
    assert seed.tolist() == [1, 1]
    assert y.grad.tolist() == (written if kind == "tensor" else [1, 1])
    assert x.grad.tolist() == written
    assert other.grad.tolist() == (written if everything or kind == "node" else [1, 1])
    if kind == "leaf":
        first, second, middle = grad(x + other + y, [x, other, y], seed, create_graph=create_graph)
        assert first.tolist() == ([7, 2] if write is _write_one else [6, 6])
        assert second.tolist() == [2, 2]
        assert (middle.tolist(), seed.tolist()) == ([1, 1], [1, 1])


@pytest.mark.parametrize("kind", ["tensor", "leaf", "prehook", "node"])
def test_what_a_hook_wrote_is_differentiated_like_what_it_returned(kind):
    def derivatives_with(tensor_hook, node_hook):
        x = leaf([1.0, 2.0])
        y = x * x
        if kind in ("tensor", "leaf"):
            (y if kind == "tensor" else x).register_hook(tensor_hook)
        elif kind == "prehook":
            y.grad_fn.register_prehook(node_hook)
        else:
            y.grad_fn.register_hook(lambda inner, outer: node_hook(inner))
        (first,) = grad((y * y).sum(), x, create_graph=True)
        (second,) = grad(first.sum(), x)
        return first.tolist(), second.tolist()

    def write(gs):
        for g in gs:
            g *= 3.0

    written = derivatives_with(_write_all, write)
    returned = derivatives_with(lambda g: g * 3.0, lambda gs: tuple(g * 3.0 for g in gs))
    assert written == returned
    assert written[0] == [12.0, 96.0]


def _write_unseen(g):
    with pb.no_grad():
        g.mul_(3.0)


@pytest.mark.parametrize("write", [_write_unseen, _write_data, _write_alias])
@pytest.mark.parametrize("kind", ["tensor", "leaf", "prehook", "node"])
def test_a_write_that_is_not_recorded_is_refused_where_the_gradient_has_a_graph(kind, write):
    x = leaf([1.0, 2.0])
    y = x * x
    _register(kind, x, y, write)
    with teaches(pb.DerivativeRefused, "wrote into its gradient without recording", notes=["return the new gradient"]):
        grad((y * y).sum(), x, create_graph=True)
    assert grad((x * x * x).sum(), x)[0] is not None


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_that_a_hook_keeps_or_returns_is_not_the_result(create_graph):
    x, kept, constant = leaf([1.0, 2.0]), [], pb.tensor([5.0, 5.0])
    y, z = x * 1, x * 1
    y.register_hook(kept.append)
    z.register_hook(lambda g: constant)
    results = grad([y, z], [y, z], [pb.ones(2), pb.ones(2)], create_graph=create_graph)
    for result in results:
        result.mul_(10.0)
    assert (kept[0].tolist(), constant.tolist()) == ([1, 1], [5, 5])


def test_what_was_computed_from_a_gradient_before_a_hook_wrote_into_it_keeps_its_values():
    x, w, products = leaf([1.0, 2.0]), leaf([3.0, 4.0]), []
    y = x * 1

    def hook(g):
        products.append(Product.apply(g, w))
        with pb.no_grad():
            g.mul_(10.0)

    y.register_hook(hook)
    grad(y, x, pb.ones(2), create_graph=True)
    assert grad(products[0].sum(), w)[0].tolist() == [1, 1]
