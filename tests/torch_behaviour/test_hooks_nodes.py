"""Hooks of nodes, and the order in which hooks of all kinds run."""

import gc
import weakref

import pytest

from torch_behaviour.entry import entry


def recorder(seen, name, factor=None):
    """A hook for a Tensor, or a pre-hook for a node."""

    def hook(g):
        seen.append(name)
        if factor is not None:
            return tuple(one * factor for one in g) if isinstance(g, tuple) else g * factor

    return hook


@entry("C", "prehook_ordering")
def test_tensor_hooks_run_before_node_prehooks_whatever_was_registered_first(torch):
    for use_grad in (False, True):
        seen = []
        x = torch.tensor(1.0, requires_grad=True)
        y = x.clone()
        leaf = y.grad_fn.next_functions[0][0]
        y.grad_fn.register_prehook(recorder(seen, "y node"))
        y.register_hook(recorder(seen, "y"))
        y.grad_fn.register_prehook(recorder(seen, "y node again"))
        leaf.register_prehook(recorder(seen, "x node", 100))
        x.register_hook(recorder(seen, "x", 10))
        if use_grad:
            assert torch.autograd.grad(y, x)[0].item() == 10.0
            assert seen == ["y", "y node", "y node again", "x"]
        else:
            y.backward()
            assert x.grad.item() == 1000.0
            assert seen == ["y", "y node", "y node again", "x", "x node"]


@entry("C", "prehook_ordering")
def test_a_retained_gradient_is_stored_before_node_prehooks(torch):
    x = torch.tensor(1.0, requires_grad=True)
    y = x.clone()
    y.grad_fn.register_prehook(recorder([], "", 10))
    y.retain_grad()
    y.register_hook(recorder([], "", 2))
    y.backward()
    assert y.grad.item() == 2.0
    assert x.grad.item() == 20.0


@entry("C", "retains_grad_can_always_observe_tensor_prehook")
def test_a_retained_gradient_sees_all_tensor_hooks(torch):
    a = torch.tensor(1.0, requires_grad=True)
    b = a.clone()
    b.register_hook(recorder([], "", 2))
    b.retain_grad()
    b.register_hook(recorder([], "", 3))
    b.clone().backward()
    assert b.grad.item() == 6.0
    assert a.grad.item() == 6.0


@entry("C", "accumulate_grad_posthooks_can_observe_tensor_prehook")
def test_hooks_after_accumulating_see_what_tensor_hooks_made(torch):
    seen = []
    a = torch.tensor(1.0, requires_grad=True)
    a.register_hook(recorder([], "", 2))
    b = a.clone()
    b.grad_fn.next_functions[0][0].register_hook(lambda inner, outer: seen.append((inner, outer[0].item())))
    a.register_hook(recorder([], "", 2))
    b.backward()
    assert seen == [((), 4.0)]


@entry("C", "accumulate_grad_posthooks_should_not_execute")
def test_hooks_of_a_leaf_that_is_not_asked_for_do_not_run(torch):
    seen = []
    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    c = a.clone()
    d = c + b
    c.grad_fn.next_functions[0][0].register_hook(lambda inner, outer: seen.append("a node"))
    a.register_hook(lambda g: seen.append("a"))
    a.register_post_accumulate_grad_hook(lambda t: seen.append("a accumulated"))
    d.backward(inputs=[b])
    assert seen == []
    assert a.grad is None


@entry("C", "hook_edge_case_when_called_with_grad")
def test_which_hooks_run_for_grad_and_for_backward_with_inputs(torch):
    def graph():
        seen = []
        a = torch.tensor(1.0, requires_grad=True)
        b = a * 2
        c = b * 2
        leaf = b.grad_fn.next_functions[0][0]
        for name, tensor, node in (("a", a, leaf), ("b", b, b.grad_fn), ("c", c, c.grad_fn)):
            tensor.register_hook(recorder(seen, name))
            node.register_prehook(recorder(seen, f"{name} before"))
            node.register_hook(lambda inner, outer, name=name: seen.append(f"{name} after"))
        a.register_post_accumulate_grad_hook(lambda t: seen.append("a accumulated"))
        return a, b, c, seen

    everything = ["c", "c before", "c after", "b", "b before", "b after", "a", "a before", "a accumulated", "a after"]
    a, b, c, seen = graph()
    c.backward()
    assert seen == everything
    a, b, c, seen = graph()
    c.backward(inputs=[a])
    assert seen == everything
    a, b, c, seen = graph()
    torch.autograd.grad(c, a)
    assert seen == everything[:7]
    a, b, c, seen = graph()
    torch.autograd.grad(c, b)
    assert seen == everything[:4]
    a, b, c, seen = graph()
    torch.autograd.grad(c, c)
    assert seen == ["c"]
    a, b, c, seen = graph()
    c.backward(inputs=[a, b])
    assert seen == everything


@entry("C", "grad_fn_prehooks")
def test_prehooks_and_hooks_of_a_node(torch):
    counts = [0, 0, 0]

    def pre(k, factor=None):
        def hook(gs):
            counts[k] += 1
            assert isinstance(gs, tuple)
            return None if factor is None else (gs[0] * factor,)

        return hook

    def post(inner, outer):
        counts[2] += 1
        assert (len(inner), len(outer)) == (2, 1)
        return tuple(None if g is None else g * 5 for g in inner)

    a = torch.ones(2, requires_grad=True)
    b = a * 2
    b.grad_fn.register_prehook(pre(0, 3))
    b.grad_fn.register_prehook(pre(1))
    b.grad_fn.register_hook(post)
    b.sum().backward()
    assert counts == [1, 1, 1]
    assert a.grad.tolist() == [30.0, 30.0]


@entry("C", "grad_fn_prehooks_multiple_outputs")
def test_a_prehook_gets_and_gives_one_gradient_per_result(torch):
    seen = []

    def hook(gs):
        seen.append([g is None for g in gs])
        return tuple(None if g is None else g * 2 for g in gs)

    x = torch.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)
    weights = torch.tensor([1.0, 3.0])
    for use, expected in (((1, 1), [False, False]), ((1, 0), [False, True]), ((0, 1), [True, False])):
        grads = []
        for hooked in (False, True):
            values, vectors = torch.linalg.eigh(x)
            assert values.grad_fn is vectors.grad_fn
            if hooked:
                values.grad_fn.register_prehook(hook)
            results = (values * weights).sum(), (vectors[0] ** 2 * weights).sum()
            total = sum(result for result, used in zip(results, use, strict=True) if used)
            grads.append(torch.autograd.grad(total, x)[0])
        assert torch.allclose(grads[1], grads[0] * 2)
        assert seen.pop() == expected


@entry("C", "grad_fn_prehooks_multiple_outputs")
def test_a_prehook_may_leave_out_a_gradient_or_add_one(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 1

        @staticmethod
        def backward(ctx, g, h):
            return g + 10 * h

    x = torch.tensor(1.0, requires_grad=True)
    a, b = Two.apply(x)
    a.grad_fn.register_prehook(lambda gs: (None, gs[0] * 2))
    (a + b).backward()
    assert x.grad.item() == 20.0


@entry("C", "grad_fn_prehooks_remove_hooks")
def test_prehooks_can_be_removed_also_while_they_run(torch):
    for when in ("before", "inside", "by the other"):
        seen, handles = [], {}

        def first(gs, seen=seen, handles=handles, when=when):
            seen.append("first")
            if when == "by the other":
                handles["second"].remove()

        def second(gs, seen=seen, handles=handles, when=when):
            seen.append("second")
            if when == "inside":
                handles["second"].remove()

        b = torch.ones(1, requires_grad=True) * 2
        handles["first"] = b.grad_fn.register_prehook(first)
        handles["second"] = b.grad_fn.register_prehook(second)
        if when == "before":
            handles["second"].remove()
        b.sum().backward(retain_graph=True)
        assert seen[:1] == ["first"]
        seen.clear()
        b.sum().backward()
        assert seen == ["first"]


@entry("C", "node_post_hook_registered_during_unpack_hook")
def test_a_hook_registered_while_the_node_runs_still_runs(torch):
    seen = []

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ctx.saved_tensors  # noqa: B018
            return g * 2

    x = torch.ones(2, requires_grad=True)

    def unpack(packed):
        y.grad_fn.register_hook(lambda inner, outer: seen.append(inner[0].tolist()))
        return packed

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = Keep.apply(x)
    y.sum().backward()
    assert seen == [[2.0, 2.0]]


@entry("C", "backward_hook_relative_ordering")
def test_the_order_of_hooks_along_a_product_of_matrices(torch):
    seen = []
    x, w, b = (torch.ones(shape, requires_grad=True) for shape in ((2, 3), (3, 2), (2,)))
    product = x @ w
    y = product + b
    for name, tensor in (("x", x), ("w", w), ("b", b), ("product", product), ("y", y)):
        tensor.register_hook(recorder(seen, name))
    product.grad_fn.register_prehook(recorder(seen, "product before"))
    product.grad_fn.register_hook(lambda inner, outer: seen.append("product after"))
    y.grad_fn.register_hook(lambda inner, outer: seen.append("y after"))
    y.sum().backward()
    order = {name: k for k, name in enumerate(seen)}
    assert len(order) == len(seen) == 8
    assert order["y"] < order["y after"] < order["product"] < order["product before"] < order["product after"]
    assert order["y after"] < order["b"]
    assert max(order["x"], order["w"]) > order["product after"]


@pytest.mark.parametrize("node", ["python", "builtin"])
@pytest.mark.parametrize("kind", ["tensor", "node"])
@entry(
    "C",
    "hook_closure_cycle_python_node_tensor_hook",
    "hook_closure_cycle_python_node_node_hook",
    "hook_closure_cycle_builtin_node_tensor_hook",
    "hook_closure_cycle_builtin_node_node_hook",
)
def test_a_hook_that_holds_its_node_is_neither_lost_nor_leaked(torch, node, kind):
    class Copy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    class Witness:
        pass

    count = [0]

    def run():
        x = torch.tensor(1.0, requires_grad=True)
        y = Copy.apply(x) if node == "python" else x.clone()
        witness, grad_fn = Witness(), y.grad_fn

        def hook(*gs):
            count[0] += 1
            assert witness is not grad_fn

        y.register_hook(hook) if kind == "tensor" else grad_fn.register_hook(hook)
        return y.clone(), weakref.ref(witness)

    gc.collect()
    y, reference = run()
    gc.collect()
    assert reference() is not None
    y.backward()
    assert count == [1]
    del y
    gc.collect()
    assert reference() is None
