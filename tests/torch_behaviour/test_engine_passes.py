"""Backward passes: the order of nodes, passes inside passes, released values, deep graphs."""

import gc
import subprocess
import sys
import threading
import weakref

import pytest

from torch_behaviour.entry import entry


# ------------------------------------------------------------------------------------------------ deep graphs
def _deep(torch, depth, step):
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(depth):
        y = step(y)
    return x, y


@entry("B", "free_deep_graph")
@pytest.mark.parametrize("backward", [False, True])
def test_a_deep_graph_is_walked_and_freed(torch, backward):
    x, y = _deep(torch, 30_000, lambda y: y + y * 0.000001)
    if backward:
        y.sum().backward()
        assert x.grad.item() == pytest.approx(1.0304545, rel=1e-1)
    del y


@entry("B", "free_deep_graph_complicated")
def test_a_deep_graph_with_many_paths_is_freed(torch):
    x = torch.ones(1, requires_grad=True)
    previous = [None, None]
    y = x
    for k in range(20_000):
        kept = previous[k % 2]
        previous[k % 2] = y
        y = y * 0.5 if kept is None else y * 0.5 + kept * 0.5
    previous.clear()
    del kept
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert gradient.item() > 0
    del y


@entry("B", "free_deep_graph_pyfunction")
def test_a_deep_graph_of_custom_functions_is_freed(torch):
    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return (a + b) * 0.5

        @staticmethod
        def backward(ctx, g):
            return g * 0.5, g * 0.5

    y = torch.ones(1, requires_grad=True)
    for _ in range(20_000):
        y = Add.apply(y, y)
    del y


# ------------------------------------------------------------------------------------------------ released values
def _with_saved(torch):
    x = torch.ones(3, requires_grad=True)
    y = x.clone()
    y = y * torch.tensor([1.0, 2.0, 3.0]) * y
    return x, y.sum()


@entry("B", "backward_twice_with_saved_values")
def test_a_second_pass_over_released_values_is_an_error(torch):
    _, y = _with_saved(torch)
    y.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()


@entry("B", "backward_twice_retained_graph_with_saved_values")
def test_a_second_pass_over_retained_values(torch):
    x, y = _with_saved(torch)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0, 12.0]


@entry("B", "backward_twice_without_saved_values", "backward_twice_retained_graph_without_saved_values")
@pytest.mark.parametrize("retain_graph", [False, True])
def test_a_second_pass_where_nothing_was_saved(torch, retain_graph):
    x = torch.ones(3, requires_grad=True)
    y = x + torch.ones(3)
    y.backward(torch.ones(3), retain_graph=retain_graph)
    y.backward(torch.ones(3))
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


@entry("B", "backward_create_graph_warns")
def test_backward_with_a_graph_warns_of_the_cycle_grad_does_not(torch, recwarn):
    x = torch.ones(3, requires_grad=True)
    torch.autograd.grad((x * x).sum(), x, create_graph=True)
    assert [w for w in recwarn if "backward" in str(w.message)] == []
    with pytest.warns(UserWarning, match=r"Using backward\(\) with create_graph=True"):
        (x * x).sum().backward(create_graph=True)
    x.grad = None


# ------------------------------------------------------------------------------------------------ unused results, copies
@entry("B", "unused_output")
def test_results_that_are_not_used_give_zeros(torch):
    x = torch.rand(10, 3, requires_grad=True)
    parts = x.chunk(5)
    (parts[2] * 4).sum().backward()
    assert x.grad.tolist() == [[4.0] * 3 if 4 <= k < 6 else [0.0] * 3 for k in range(10)]


@entry("B", "isolated_node")
def test_results_without_gradients_lead_nowhere(torch):
    x, y = torch.rand(5, 5, requires_grad=True), torch.rand(5, 5, requires_grad=True)
    a = x + y
    b = torch.max(a, 1, keepdim=True)[1].repeat(1, 5).to(torch.float32)
    assert not b.requires_grad
    (b + a).sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [[1.0] * 5] * 5


@entry("B", "backward_copy")
def test_one_cotangent_for_several_arguments_is_not_written_into(torch):
    """Sums along different paths; a shared buffer would double them."""

    class Pass(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g, g

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x, y = torch.ones(5, 5, requires_grad=True), torch.ones(5, 5, requires_grad=True)
    a = x + 2
    b = y + 2
    c = x + 2
    added = Pass.apply(a, b)
    other = Pass.apply(added, c)
    (Twice.apply(other) + added * 15).sum().backward()
    assert x.grad.tolist() == [[19.0] * 5] * 5
    assert y.grad.tolist() == [[17.0] * 5] * 5


@entry("B", "input_buffer_accum")
def test_a_seed_of_the_user_is_never_written(torch):
    leaf = torch.rand(2, 2, requires_grad=True)
    index = torch.zeros(1, 2, dtype=torch.int64)
    a, b = leaf.clone(), leaf.gather(0, index)
    for retain in (True, False):
        seed_a, seed_b = torch.ones(2, 2), torch.ones(1, 2)
        torch.autograd.backward([a, b, a], [seed_a, seed_b, seed_a], retain_graph=retain)
        assert seed_a.tolist() == [[1.0, 1.0]] * 2
        assert seed_b.tolist() == [[1.0, 1.0]]
    assert leaf.grad.tolist() == [[6.0, 6.0], [4.0, 4.0]]


@entry("B", "no_grad_copy")
def test_two_leaves_never_share_the_memory_of_their_gradients(torch):
    kept = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            kept.append(g)
            return g, g

    a, b = torch.rand(5, 6, requires_grad=True), torch.rand(5, 6, requires_grad=True)
    Both.apply(a, b).sum().backward()
    assert a.grad.data_ptr() != b.grad.data_ptr()
    a.grad.zero_()
    assert b.grad.tolist() == [[1.0] * 6] * 5
    assert kept[0].tolist() == [[1.0] * 6] * 5


# ------------------------------------------------------------------------------------------------ passes inside passes
@entry("B", "simple_reentrant")
def test_a_pass_inside_backward(torch):
    inner = torch.rand(2, 2)

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = torch.tensor(x.tolist(), requires_grad=True)
                ctx.y = torch.tensor(inner.tolist(), requires_grad=True)
                ctx.out = ctx.x * ctx.y
            return ctx.out.detach()

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                ctx.out.sum().backward()
            return ctx.x.grad * g

    x = torch.rand(2, 2, requires_grad=True)
    Inner.apply(x).sum().backward()
    assert x.grad.tolist() == inner.tolist()


@entry("B", "reentrant_child_error")
def test_an_error_of_an_inner_pass_is_that_of_the_outer_one(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise LookupError("from inside")

    class Starts(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                inner.sum().backward()
            return g

    inner = Fails.apply(torch.rand(3, requires_grad=True))
    with pytest.raises(LookupError, match="from inside"):
        Starts.apply(torch.rand(10, requires_grad=True)).sum().backward()


@entry("B", "deep_reentrant")
def test_many_passes_inside_each_other(torch, here):
    """Deeper than Python's own limit of recursion: the engine has to take care of the stack."""
    depth = 1500 if here else 300  # torch starts a thread for every 60

    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = torch.tensor(x.item() - 1, requires_grad=True)
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            calls[0] += 1
            if ctx.x.item() < 0:
                return g
            with torch.enable_grad():
                Deep.apply(ctx.x).sum().backward()
            return g

    calls = [0]
    v = torch.tensor(float(depth), requires_grad=True)
    Deep.apply(v).sum().backward()
    assert calls[0] == depth + 1


@entry("B", "reentrant_priority")
def test_an_inner_pass_runs_before_what_waits_outside(torch):
    order = []

    class MyFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            order.append("MyFunction")
            return g

    class Reentrant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = torch.tensor(x.item() - 1, requires_grad=True)
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            order.append("Reentrant")
            if ctx.x.item() < 0:
                return g
            with torch.enable_grad():
                Reentrant.apply(ctx.x).backward()
            return g

    a = MyFunction.apply(torch.tensor(6.0, requires_grad=True))
    b = Reentrant.apply(torch.tensor(9.0, requires_grad=True))
    (a * b).backward()
    assert order == ["Reentrant"] * 10 + ["MyFunction"]


@entry("B", "reentrant_with_leaf_variable_hook", "reentrant_with_non_leaf_variable_hook")
@pytest.mark.parametrize("leaf", [True, False])
def test_a_pass_inside_a_hook(torch, leaf):
    handle = None
    parameter = torch.tensor([123.0, 2.0], requires_grad=True)
    x = parameter if leaf else parameter * 2

    def add_penalty(g):
        handle.remove()
        with torch.enable_grad():
            other = g.detach().clone().requires_grad_(True)
            ((other * 5) ** 2).sum().backward()
        return g + other.grad

    handle = x.register_hook(add_penalty)
    (x * 3).sum().backward()
    assert parameter.grad.tolist() == [153.0 * (1 if leaf else 2)] * 2


def _callback(torch):
    return torch.autograd.Variable._execution_engine.queue_callback


@entry(
    "B",
    "reentrant_with_callbacks_depth_0",
    "reentrant_with_callbacks_depth_1",
    "reentrant_with_callbacks_both_depths",
)
@pytest.mark.parametrize("depths", [(0,), (1,), (0, 1)])
def test_a_callback_runs_once_at_the_end_of_the_pass_it_was_queued_in(torch, depths):
    events = []

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            events.append("inner")
            if 1 in depths:
                _callback(torch)(lambda: events.append("after inner"))
            return g

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if 0 in depths:
                _callback(torch)(lambda: events.append("after outer"))
            with torch.enable_grad():
                Inner.apply(torch.ones(1, requires_grad=True)).sum().backward()
            events.append("outer")
            return g

    x = torch.ones(2, requires_grad=True)
    Outer.apply(x).sum().backward()
    after = ["inner", *["after inner"] * (1 in depths), "outer", *["after outer"] * (0 in depths)]
    assert events == after
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        _callback(torch)(lambda: None)


@entry("B", "callback_adds_callback")
def test_a_callback_may_queue_another(torch):
    events = []

    class Queue(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            def first():
                events.append("first")
                _callback(torch)(lambda: events.append("second"))

            _callback(torch)(first)
            return g

    Queue.apply(torch.ones(3, requires_grad=True)).sum().backward()
    assert events == ["first", "second"]


# ------------------------------------------------------------------------------------------------ what the engine tells
@entry("B", "current_graph_task_id")
def test_every_pass_has_a_number(torch):
    ids = []

    def current(*args):
        ids.append(torch._C._current_graph_task_id())

    x = torch.tensor(1.0, requires_grad=True)
    y = x.clone()
    y.register_hook(current)
    current()
    y.backward(retain_graph=True)
    y.backward()
    current()
    assert ids[0] == ids[3] == -1
    assert ids[2] > ids[1] >= 0


@entry("B", "current_graph_task_execution_order")
@pytest.mark.parametrize("shape", ["chain", "diamond", "several leaves", "inputs"])
def test_the_order_can_be_asked_for_and_is_kept(torch, shape):
    predicted, ran = [None], []

    def ask(*args):
        predicted[0] = torch._C._current_graph_task_execution_order()

    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    if shape == "chain":
        y = a.sin().cos().exp()
    elif shape == "diamond":
        h = a.sin()
        y = h.cos() * h.exp()
    else:
        y = (a * b).sin() * b.cos()
    nodes, stack = [], [y.grad_fn]
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes.append(node)
            stack += [edge[0] for edge in node.next_functions if edge[0] is not None]
    for node in nodes:
        node.register_prehook(lambda gs, node=node: ran.append(node))
    y.register_hook(ask)
    with torch.autograd.set_multithreading_enabled(False):
        y.backward(inputs=[b] if shape == "inputs" else None)
    assert predicted[0] == ran
    with pytest.raises(RuntimeError, match="backward"):
        torch._C._current_graph_task_execution_order()


@entry("B", "will_engine_execute_node")
def test_which_nodes_will_run(torch):
    counter = [0]

    def run(use_grad, inputs, expected):
        def hook(g):
            counter[0] += 1
            for node, value in expected.items():
                assert torch._C._will_engine_execute_node(node) is value

        handle = out.register_hook(hook)
        if use_grad:
            torch.autograd.grad(out, inputs, retain_graph=True)
        else:
            out.backward(inputs=inputs, retain_graph=True)
        handle.remove()

    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    c, d = a * 2, b * 3
    e = c.exp()
    total = e * d
    out = total + 1
    other = (a + 1).grad_fn
    of = {"out": out.grad_fn, "total": total.grad_fn, "c": c.grad_fn, "d": d.grad_fn, "e": e.grad_fn}
    run(False, None, {of["total"]: True, of["c"]: True, of["d"]: True, of["e"]: True, other: False})
    run(False, [b], {of["total"]: True, of["c"]: False, of["d"]: True, of["e"]: False, other: False})
    run(True, [a], {of["total"]: True, of["c"]: True, of["d"]: False, of["e"]: True, other: False})
    run(True, [c], {of["total"]: True, of["e"]: True, of["d"]: False, other: False})
    assert counter == [4]
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        torch._C._will_engine_execute_node(of["c"])


@entry("B", "node_ordering_when_none_returned")
def test_a_leaf_is_finished_before_older_nodes_also_without_a_gradient(torch):
    order = []

    class Multiply(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x * w

        @staticmethod
        def backward(ctx, g):
            order.append("multiply")
            return g, None

    class Before(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            order.append("before")
            return g

    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    w.register_hook(lambda g: order.append("hook of w"))
    Multiply.apply(Before.apply(x), w).sum().backward()
    assert order == ["multiply", "hook of w", "before"]


# ------------------------------------------------------------------------------------------------ ends of programs
@entry("B", "thread_shutdown", "pynode_destruction_deadlock")
@pytest.mark.parametrize("error", [False, True])
def test_a_program_with_passes_in_threads_ends(torch, error):
    program = f"""
import threading, {torch.__name__} as torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, g):
        if {error}:
            raise RuntimeError("expected")
        return g
def run():
    try:
        x = torch.ones(3, requires_grad=True)
        y = F.apply(x * 2)
        z = F.apply(y.pow(2))
        z.sum().backward()
    except RuntimeError as e:
        assert "expected" in str(e)
threads = [threading.Thread(target=run) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
run()
print("done")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("done")


@entry("B", "variable_traverse")
def test_a_cycle_through_a_result_does_not_stop_backward(torch):
    class Holder:
        pass

    def graph():
        x = torch.ones(3, requires_grad=True)
        y = x.view(3)
        holder = Holder()
        holder.y, holder.itself = y, holder
        return x, y.view(1, 3), weakref.ref(holder)

    x, z, reference = graph()
    gc.collect()
    assert reference() is None
    z.sum().backward()
    assert x.grad.tolist() == [1.0] * 3


@entry("B", "is_retain_graph")
@pytest.mark.parametrize("retain_graph", [False, True])
def test_values_are_there_afterwards_exactly_when_they_were_retained(torch, retain_graph):
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.sum().backward(retain_graph=retain_graph)
    if retain_graph:
        assert y.grad_fn._saved_result.tolist() == y.tolist()
    else:
        with pytest.raises(RuntimeError, match="already been freed"):
            y.grad_fn._saved_result  # noqa: B018


@entry("B", "thread_shutdown")
def test_a_pass_runs_in_the_thread_that_started_it(torch):
    seen = []

    class Where(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(threading.get_ident())
            return g

    Where.apply(torch.ones(1, requires_grad=True)).sum().backward()
    assert seen == [threading.get_ident()]
