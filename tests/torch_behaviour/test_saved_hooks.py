"""``saved_tensors_hooks``: what is packed and unpacked, how often, and what comes of errors."""

import contextlib
import gc
import math
import threading
import weakref

import pytest

from torch_behaviour.entry import entry


@entry("E", "saved_variable_packing_unpacking_saved_original_with_default_hooks")
def test_hooks_of_a_block_get_every_saved_input(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: t * 2, lambda t: t + 1):
        a = torch.ones(5, requires_grad=True)
        y = a * a
    assert y.grad_fn._saved_self.tolist() == y.grad_fn._saved_other.tolist() == [3.0] * 5
    y.sum().backward()
    assert a.grad.tolist() == [6.0] * 5
    count = [0]

    def pack(t):
        count[0] += 1
        return t

    with hooks(pack, lambda t: t):
        b = torch.ones(5, requires_grad=True)
        y = b * b
        assert count == [2]
        y = b * 2
    count[0] = 0
    y = b * b  # outside: nothing is packed
    assert count == [0]
    assert y.grad_fn._saved_self is b


@entry("E", "saved_variable_packing_unpacking_did_not_save_original_with_default_hooks")
def test_hooks_of_a_block_get_every_saved_result(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: ("packed", t.detach() * 2), lambda p: p[1] / 2):
        a = torch.tensor([0.0, 1.0], requires_grad=True)
        y = a.exp()
    assert torch.equal(y.grad_fn._saved_result, y)
    (y * 2).sum().backward()
    assert torch.allclose(a.grad, 2 * y.detach())


@entry("E", "saved_variable_packing_unpacking_saved_original_with_hooks")
def test_hooks_of_one_saved_input(torch):
    def packing(factor, first=lambda t: t):
        x = torch.tensor([3.0, 1.0], requires_grad=True)
        y = x.pow(2)
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t * factor, first)
        return x, y

    for factor in (1.0, 2.0, 3.0):
        x, y = packing(factor)
        assert y.grad_fn._saved_self.tolist() == [3.0 * factor, factor]
        y.sum().backward()
        assert x.grad.tolist() == [6.0 * factor, 2.0 * factor]
    x, y = packing(2.0)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [2.0, 2.0]
    x, y = packing(1.0, lambda t: "no Tensor")
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor"):
        y.sum().backward()
    x, y = packing(1.0)
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


@entry("E", "saved_variable_packing_unpacking_did_not_save_original_with_hooks")
def test_hooks_of_one_saved_result(torch):
    a = torch.tensor([0.0, 1.0], requires_grad=True)
    y = a.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: (t.detach().clone(),), lambda packed: packed[0])
    saved = y.grad_fn._saved_result
    assert torch.equal(saved, y)
    assert saved.grad_fn is y.grad_fn
    y.sum().backward()
    assert torch.equal(a.grad, y.detach())


@entry("E", "get_data_and_hooks_from_raw_saved_variable")
def test_what_a_raw_saved_value_shows(torch):
    def pack(t):
        return ("packed", t)

    def unpack(packed):
        return packed[1]

    a = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        b = a.pow(2)
    raw = b.grad_fn._raw_saved_self
    assert raw.data[0] == "packed"
    assert raw.data[1] is a
    assert raw.unpack_hook is unpack
    c = a.pow(2)
    assert c.grad_fn._raw_saved_self.data is a
    assert c.grad_fn._raw_saved_self.unpack_hook is None
    d = a.exp()
    assert torch.equal(d.grad_fn._raw_saved_result.data, d)
    assert not d.grad_fn._raw_saved_result.data.requires_grad


@entry("E", "grad_fn_attr_bindings")
def test_saved_values_and_options_of_built_in_nodes(torch):
    a = torch.ones(2, requires_grad=True)
    b = a * torch.full((2,), 3.0)
    assert b.grad_fn._saved_self is None  # of no use: the other does not require gradients
    assert b.grad_fn._saved_other.tolist() == [3.0, 3.0]
    assert (a * a).grad_fn._saved_other is a
    assert a.sin().grad_fn._saved_self is a
    assert a.exp().grad_fn._saved_result.tolist() == a.exp().tolist()
    y = a.exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        y.grad_fn._saved_result  # noqa: B018


@entry("E", "no_unnecessary_unwrapping")
def test_inputs_are_kept_as_they_are_results_as_aliases(torch):
    a = torch.ones(5, requires_grad=True)
    b = a * a
    assert b.grad_fn._saved_self is a
    assert b.grad_fn._saved_other is a
    c = a.exp()
    assert c.grad_fn._saved_result is not c
    assert torch.equal(c.grad_fn._saved_result, c)


@entry("E", "setting_default_saved_variable_hooks_twice_should_not_fail")
def test_blocks_with_hooks_can_be_nested(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks
    a = torch.ones(2, requires_grad=True)
    with hooks(lambda t: t, lambda t: t), hooks(lambda t: t, lambda t: t):
        y = a * a
    y.sum().backward()
    assert a.grad.tolist() == [2.0, 2.0]


@entry("E", "setting_default_saved_variable_hooks_twice_should_use_inner")
def test_the_innermost_hooks_are_used(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with hooks(lambda t: t * 3, lambda t: t * 3):
        x = (b * b).sum()
        with hooks(lambda t: t * 5, lambda t: t * 5):
            y = (a * a).sum()
        z = (b * b).sum()
    (x + y + z).backward()
    assert a.grad.tolist() == [50.0, 50.0]
    assert b.grad.tolist() == [36.0, 36.0]


@entry("E", "disabling_saved_tensor_hooks")
def test_hooks_can_be_forbidden(torch):
    graph = torch.autograd.graph
    forbidden, hooks = graph.disable_saved_tensors_hooks, graph.saved_tensors_hooks
    with forbidden("not here"), pytest.raises(RuntimeError, match="not here"), hooks(lambda t: t, lambda t: t):
        raise AssertionError("never reached")
    with hooks(lambda t: t, lambda t: t):
        pass
    with hooks(lambda t: t, lambda t: t), pytest.raises(RuntimeError, match="not here"), forbidden("not here"):
        raise AssertionError("never reached")


@entry("E", "disabling_saved_tensor_hooks_nested")
def test_the_innermost_prohibition_speaks(torch):
    graph = torch.autograd.graph
    forbidden, hooks = graph.disable_saved_tensors_hooks, graph.saved_tensors_hooks
    with forbidden("outer"):
        with forbidden("inner"), pytest.raises(RuntimeError, match="inner"), hooks(lambda t: t, lambda t: t):
            raise AssertionError("never reached")
        with pytest.raises(RuntimeError, match="outer"), hooks(lambda t: t, lambda t: t):
            raise AssertionError("never reached")
    with hooks(lambda t: t, lambda t: t):
        pass


@entry("E", "saved_tensor_hooks_custom_error_propagation")
def test_errors_of_the_hooks_reach_the_caller(torch):
    class PackError(Exception):
        pass

    class UnpackError(Exception):
        pass

    def raise_(error):
        raise error

    hooks = torch.autograd.graph.saved_tensors_hooks
    a = torch.tensor(1.0, requires_grad=True)
    with pytest.raises(PackError), hooks(lambda t: raise_(PackError), lambda t: t):
        a.sin()
    with hooks(lambda t: t, lambda t: raise_(UnpackError)):
        y = a.sin()
    with pytest.raises(UnpackError):
        y.backward()
    (a * a).backward()
    assert a.grad.item() == 2.0


@entry("E", "saved_tensor_hooks_custom_function_intermediates")
def test_hooks_work_on_intermediates_of_a_function(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            intermediate = x.exp()
            ctx.save_for_backward(intermediate.clone().detach_().requires_grad_(True))
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            (intermediate,) = ctx.saved_tensors
            return g * intermediate

    packed = []
    a = torch.tensor(1.0, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        y = Exp.apply(a)
    y.backward()
    assert len(packed) == 1
    assert a.grad.item() == pytest.approx(y.item())


@entry("E", "unpack_hooks_exec_count")
def test_one_packing_and_one_unpacking_per_saved_value(torch):
    counts = [0, 0]

    def pack(t):
        counts[0] += 1
        return t

    def unpack(t):
        counts[1] += 1
        return t

    x, y = torch.ones(5, requires_grad=True), torch.ones(5, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        z = x * y
    assert counts == [2, 0]
    z.sum().backward()
    assert counts == [2, 2]
    counts[:] = [0, 0]
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        z = (x * y).sum()
        z.backward()
    assert counts == [2, 2]


@entry("E", "default_saved_tensors_hooks_double_backward")
@pytest.mark.parametrize(
    ("forward", "backward", "factor"), [(False, False, 1), (True, False, 2), (False, True, 4), (True, True, 8)]
)
def test_hooks_take_part_in_what_backward_saves(torch, forward, backward, factor):
    """The rule of x cubed reads x, and its square saves x again while backward is recorded."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    a = torch.tensor(3.0, requires_grad=True)

    @contextlib.contextmanager
    def doubled(wanted):
        with hooks(lambda t: t * 2, lambda t: t) if wanted else contextlib.nullcontext():
            yield

    with doubled(forward):
        y = a**3
    with doubled(backward):
        (first,) = torch.autograd.grad(y, a, create_graph=True)
    (second,) = torch.autograd.grad(first, a)
    assert first.item() == 27.0 * (4 if forward else 1)
    assert second.item() == 18.0 * factor


@entry("E", "wrapped_number_saved_tensors_hooks")
def test_numbers_are_not_packed(torch):
    def refuse(t):
        raise AssertionError("a number was packed")

    with torch.autograd.graph.saved_tensors_hooks(refuse, refuse):
        y = torch.ones(5, requires_grad=True) * 2.5
    y.sum().backward()


@entry("E", "saved_tensor_hooks_extra_exit_during_bw_no_crash", "saved_tensor_hooks_extra_enter_during_bw_no_leak")
@pytest.mark.parametrize("misuse", ["enter", "exit"])
def test_hooks_that_are_entered_or_left_while_unpacking_do_no_harm(torch, misuse):
    """In a thread of its own: what stays entered is gone with it."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    grads, errors = [], []

    def run():
        other = hooks(lambda t: t, lambda t: t)

        def unpack(t):
            other.__enter__() if misuse == "enter" else other.__exit__(None, None, None)
            return t

        for _ in range(10):
            a = torch.tensor(1.0, requires_grad=True)
            with hooks(lambda t: t, unpack):
                other.__enter__()
                y = a.sin()
            try:
                y.backward()
                grads.append(a.grad.item())
            except Exception as error:
                errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert grads == [pytest.approx(math.cos(1.0))] * 10
    assert errors == []
    b = torch.tensor(1.0, requires_grad=True)
    assert (b * b).grad_fn._raw_saved_self.unpack_hook is None


@entry("E", "graph_save_on_cpu")
@pytest.mark.parametrize("pin_memory", [False])
def test_save_on_cpu_keeps_copies(torch, pin_memory):
    a = torch.arange(6.0).reshape(2, 3).requires_grad_()
    with torch.autograd.graph.save_on_cpu(pin_memory):
        y = a * a
        saved = y.grad_fn._saved_self
    assert saved.dtype == a.dtype
    assert saved.tolist() == a.tolist()
    y.sum().backward()
    assert torch.equal(a.grad, 2 * a.detach())


@entry("E", "save_on_cpu_and_checkpoint")
def test_save_on_cpu_around_and_inside_a_checkpoint(torch):
    checkpoint = torch.utils.checkpoint.checkpoint

    def f(x):
        return x.pow(2).pow(2).pow(2).pow(2)

    def direct(x):
        return f(x)

    def around(x):
        with torch.autograd.graph.save_on_cpu():
            return checkpoint(f, x, use_reentrant=False)

    def inside(x):
        def saved(x):
            with torch.autograd.graph.save_on_cpu():
                return f(x)

        return checkpoint(saved, x, use_reentrant=False)

    grads = []
    for function in (direct, around, inside):
        a = torch.tensor([1.0, 1.1], requires_grad=True)
        function(a).sum().backward()
        grads.append(a.grad)
    assert torch.equal(grads[0], grads[1])
    assert torch.equal(grads[0], grads[2])


@entry("E", "saving_variable_to_disk")
def test_saved_values_may_go_to_a_file(torch, tmp_path):
    import numpy as np

    class File:
        def __init__(self, t):
            self.path = tmp_path / f"{id(self)}.npy"
            np.save(self.path, t.detach().numpy())

        def load(self):
            return torch.from_numpy(np.load(self.path))

    with torch.autograd.graph.saved_tensors_hooks(File, File.load):
        x = torch.ones(5, requires_grad=True)
        y = x * x
    assert y.grad_fn._saved_self.tolist() == x.tolist()
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 5


@entry("E", "saved_tensor_hooks_extra_enter_during_bw_no_leak")
def test_what_was_packed_is_released_with_the_graph(torch):
    class Box:
        def __init__(self, t):
            self.t = t

    boxes = []

    def pack(t):
        box = Box(t)
        boxes.append(weakref.ref(box))
        return box

    x = torch.ones(5, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda box: box.t):
        y = x.exp() * x
    assert all(box() is not None for box in boxes)
    y.sum().backward()
    gc.collect()
    assert [box() for box in boxes] == [None] * 3


@entry("E", "saved_tensor_constructor_forbidden_without_flag")
def test_a_saved_tensor_cannot_be_made_by_hand(torch):
    kind = type(torch.ones(1, requires_grad=True).exp().grad_fn._raw_saved_result)
    with pytest.raises((RuntimeError, TypeError)):
        kind(torch.ones(1))
