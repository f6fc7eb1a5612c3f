"""What a custom Function keeps for its backward: saved Tensors, marks, missing gradients."""

import gc
import weakref

import pytest

from torch_behaviour.entry import entry


class Notes(dict):
    """A dict that can be referred to weakly."""


def mul_add(torch, record):
    """``a + number * b + a * b``, which keeps both arguments and the number; `record` gets what backward sees."""

    class MulAdd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, number, b):
            ctx.number = number
            ctx.save_for_backward(a, b)
            return a + number * b + a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            record.append((torch.is_grad_enabled(), ctx.needs_input_grad))
            return g + g * b, None, g * ctx.number + g * a

    return MulAdd


@entry("A", "function")
def test_saved_tensors_and_a_number_with_a_graph_of_the_gradient(torch):
    seen = []
    x, y = torch.rand(5, 5, requires_grad=True), torch.rand(5, 5, requires_grad=True)
    result = mul_add(torch, seen).apply(x, 2, y)
    dx, dy = torch.autograd.grad(result, [x, y], torch.ones(5, 5), create_graph=True)
    assert torch.equal(dx, y + 1)
    assert torch.equal(dy, x + 2)
    assert dx.grad_fn is not None
    assert dy.grad_fn is not None
    assert seen == [(True, (True, False, True))]
    second = torch.autograd.grad((dx * dy).sum(), [x, y])
    assert torch.allclose(second[0], y + 1)
    assert torch.allclose(second[1], x + 2)


@entry("A", "once_differentiable")
def test_once_differentiable_runs_without_recording_and_leaves_an_error_behind(torch):
    modes = []

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            modes.append(torch.is_grad_enabled())
            return g * b, g * a

    a, b, seed = (torch.ones(3, requires_grad=True) for _ in range(3))
    da, _ = torch.autograd.grad(Once.apply(a, b), [a, b], seed, create_graph=True)
    assert modes == [False]
    assert da.tolist() == [1.0] * 3
    assert da.grad_fn is not None
    with pytest.raises(RuntimeError, match="once_differentiable"):
        da.sum().backward()


def _undefined(torch, materialize, seen):
    """Two results, of which only one is used: what backward gets for the other."""

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if materialize is not None:
                ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            seen.append(None if h is None else (h.tolist(), h.requires_grad))
            return g

    return Two


@entry("A", "materialize_grads", "unused_grad_requires_grad_with_materialize")
@pytest.mark.parametrize("materialize", [None, True])
def test_a_missing_gradient_arrives_as_zeros_without_a_graph(torch, materialize):
    seen = []
    x = torch.ones(2, requires_grad=True)
    first, _ = _undefined(torch, materialize, seen).apply(x)
    (first**2).sum().backward()
    assert seen == [([0.0, 0.0], False)]


@entry("A", "dont_materialize_grads")
def test_a_missing_gradient_arrives_as_none_where_that_is_asked_for(torch):
    seen = []
    x = torch.ones(2, requires_grad=True)
    first, _ = _undefined(torch, False, seen).apply(x)
    first.sum().backward()
    assert seen == [None]


@entry("A", "materialize_grads", "dont_materialize_grads")
@pytest.mark.parametrize("materialize", [True, False])
def test_none_from_a_consumer_is_a_missing_gradient(torch, materialize):
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    seen = []

    class Watch(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append(None if g is None else g.tolist())
            return g

    x = torch.ones(2, requires_grad=True)
    Nothing.apply(Watch.apply(x)).sum().backward()
    assert seen == [[0.0, 0.0] if materialize else None]


@entry("A", "set_materialize_non_diff_grads")
def test_only_results_without_gradient_may_be_left_out_of_materializing(torch):
    seen = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x.clone(), x.clone()
            ctx.mark_non_differentiable(second)
            ctx._materialize_non_diff_grads = False
            return first, second

        @staticmethod
        def backward(ctx, g, h):
            seen.append(h)
            return g

    x = torch.ones(2, requires_grad=True)
    Two.apply(x)[0].sum().backward()
    assert seen == [None]


@entry("A", "mark_non_differentiable")
def test_a_marked_mask_needs_no_gradient(torch):
    class Positive(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            mask = x > 0
            ctx.mark_non_differentiable(mask)
            ctx.save_for_backward(mask)
            return mask

        @staticmethod
        def backward(ctx, g):
            return (g * 0).to(torch.float32)

    x = torch.tensor([1.0, -1.0, 2.0], requires_grad=True)
    mask = Positive.apply(x)
    assert not mask.requires_grad
    y = x.masked_fill(mask, 0)
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


@entry("A", "mark_non_differentiable_mixed")
def test_a_marked_result_gets_zeros_the_other_its_gradient(torch):
    seen = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            a, b = x + 1, x + 2
            ctx.mark_non_differentiable(a)
            return a, b

        @staticmethod
        def backward(ctx, g, h):
            seen.append((g.tolist(), h.tolist()))
            return h

    x = torch.ones(2, requires_grad=True)
    a, b = Two.apply(x)
    assert not a.requires_grad
    assert b.requires_grad
    b.sum().backward()
    assert seen == [([0.0, 0.0], [1.0, 1.0])]


@entry("A", "mark_non_differentiable_none")
def test_none_from_backward_goes_through_built_in_operators(torch):
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return None

    x = torch.ones(2, requires_grad=True)
    Nothing.apply(x * x).sum().backward()
    assert x.grad is None


@entry("A", "save_output_nr")
def test_a_saved_tensor_remembers_which_result_it_was(torch):
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2].clone(), x[2:].clone()

        @staticmethod
        def backward(ctx, g, h):
            return torch.cat([g, h])

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            numbers.append(x.output_nr)
            return g * 2

    numbers = []
    x = torch.arange(4.0, requires_grad=True)
    _, b = Split.apply(x)
    assert b.output_nr == 1
    Keep.apply(b).sum().backward()
    assert numbers == [1]
    assert x.grad.tolist() == [0.0, 0.0, 2.0, 2.0]


@entry("A", "saved_variables_deprecated")
def test_the_old_name_of_saved_tensors_warns(torch):
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            with pytest.warns(DeprecationWarning, match="saved_variables"):
                x, y = ctx.saved_variables
            return g * y, g * x

    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    Old.apply(x, y).backward()
    assert (x.grad.item(), y.grad.item()) == (3.0, 2.0)


@entry("A", "save_none_for_backward")
def test_none_may_be_saved(torch):
    class Sparse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(None, x, None)
            return x * x

        @staticmethod
        def backward(ctx, g):
            first, x, last = ctx.saved_tensors
            assert first is None
            assert last is None
            return 2 * x * g

    x = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Sparse.apply, (x,))
    assert torch.autograd.gradgradcheck(Sparse.apply, (x,))


@entry("A", "custom_autograd_repeated_grad_grad")
def test_second_derivatives_through_a_saved_result_can_be_repeated(torch):
    class Inverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = 1 / x
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, g):
            (result,) = ctx.saved_tensors
            return -g * result * result

    x = torch.tensor([2.0, 4.0], dtype=torch.float64, requires_grad=True)
    for _ in range(3):
        y = Inverse.apply(x).prod()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad(first[0], x, retain_graph=True)
        (again,) = torch.autograd.grad(first[0], x)
        assert second.tolist() == pytest.approx([2 / (8 * 4), 1 / (4 * 16)])
        assert again.tolist() == second.tolist()


@entry("A", "custom_autograd_no_early_free")
def test_a_saved_result_survives_the_first_differentiation(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x**2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * 2 * y / x

    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(Double.apply(x), x, create_graph=True)
    assert torch.autograd.grad(first, x)[0].item() == 2.0
    assert torch.autograd.gradcheck(Double.apply, (x,))
    assert torch.autograd.gradgradcheck(Double.apply, (x,))


@entry("A", "naughty_autograd_function_stashing_ctx")
def test_a_ctx_that_was_kept_does_not_give_released_values(torch):
    kept = []

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            kept.append(ctx)
            return ctx.saved_tensors[0] * g

    x = torch.ones(2, requires_grad=True)
    Keep.apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        kept[0].saved_tensors  # noqa: B018
    y = Keep.apply(x)
    y.sum().backward(retain_graph=True)
    assert kept[1].saved_tensors[0] is x


@entry("A", "custom_function_saved_tensors")
def test_the_node_shows_what_was_saved(torch):
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, save):
            if save:
                ctx.save_for_backward(x, None, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g, g, None

    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    node = Keep.apply(x, y, True).grad_fn
    saved, raw = node.saved_tensors, node._raw_saved_tensors
    assert saved[0] is x
    assert saved[1] is None
    assert saved[2] is y
    assert len(raw) == 3
    raw[0].register_hooks(lambda t: t * 1, lambda t: t)
    with pytest.raises(RuntimeError, match="already been set"):
        raw[0].register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="register_hooks"):
        raw[2].register_hooks(lambda t: t)
    with pytest.raises(RuntimeError, match="None is forbidden"):
        raw[1].register_hooks(lambda t: t, lambda t: t)
    result = Keep.apply(x, y, True)
    result.sum().backward()
    for name in ("saved_tensors", "_raw_saved_tensors"):
        with pytest.raises(RuntimeError, match="after they have already been freed"):
            getattr(result.grad_fn, name)
    result = Keep.apply(x, y, False)
    assert result.grad_fn.saved_tensors == ()
    assert result.grad_fn._raw_saved_tensors == ()


@entry("A", "clear_saved_tensors_on_access")
def test_saved_tensors_may_be_handed_over_at_the_first_reading(torch):
    class Give(torch.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            own = x.clone()
            held.append(weakref.ref(own))
            ctx.save_for_backward(own)
            return own * 2

        @staticmethod
        def backward(ctx, g):
            (own,) = ctx.saved_tensors
            assert held[0]() is own
            del own
            assert held[0]() is None
            return g * 2

    held = []
    x = torch.ones(2, requires_grad=True)
    Give.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@entry("A", "clear_saved_tensors_on_access_double_access_error")
def test_values_handed_over_cannot_be_read_again(torch):
    class Give(torch.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.clone())
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ctx.saved_tensors  # noqa: B018
            return g * ctx.saved_tensors[0]

    with pytest.raises(RuntimeError, match="can only be accessed once"):
        Give.apply(torch.ones(2, requires_grad=True)).sum().backward()


@entry("A", "custom_function_cycle")
@pytest.mark.parametrize("backward", [False, True])
def test_a_cycle_through_something_on_ctx_is_collected(torch, backward):
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, notes):
            y = x.clone()
            ctx.notes = notes
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            assert ctx.notes["result"].item() == y.item()
            return g * y, None

    def run():
        notes = Notes()
        x = torch.tensor(3.5, requires_grad=True)
        y = Keep.apply(x, notes)
        notes["result"] = y
        if backward:
            y.backward()
        return weakref.ref(notes)

    gc.collect()
    reference = run()
    gc.collect()
    assert reference() is None


def test_a_cycle_through_metadata_is_collected(torch, here):
    """torch keeps node and metadata for ever."""
    notes = Notes()
    y = torch.ones(2, requires_grad=True) * 2
    y.grad_fn.metadata["result"] = y
    y.grad_fn.metadata["notes"] = notes
    reference = weakref.ref(notes)
    del y, notes
    gc.collect()
    assert (reference() is None) == here


@entry("A", "grad_mode_restored_reentrant")
@pytest.mark.parametrize("create_graph", [False, True])
def test_an_inner_grad_leaves_the_mode_of_the_outer_pass(torch, create_graph):
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            before = torch.is_grad_enabled()
            with torch.enable_grad():
                z = torch.rand(2, requires_grad=True)
                torch.autograd.grad((z**2).sum(), z, create_graph=create_graph)
            modes.append((before, torch.is_grad_enabled()))
            return g

    modes = []
    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad(Inner.apply(x).sum(), x, create_graph=create_graph)
    assert modes == [(create_graph, create_graph)]


@entry("A", "autograd_node_isinstance")
def test_every_grad_fn_and_ctx_is_a_node(torch):
    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            assert isinstance(ctx, torch.autograd.graph.Node)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            assert isinstance(ctx, torch.autograd.graph.Node)
            return g

    x = torch.ones(2, requires_grad=True)
    y = Identity.apply(x)
    for node in (y.grad_fn, y.exp().grad_fn, y.sum().grad_fn, y.grad_fn.next_functions[0][0]):
        assert isinstance(node, torch.autograd.graph.Node)
        assert issubclass(type(node), torch.autograd.graph.Node)
    assert not isinstance(x, torch.autograd.graph.Node)
    y.sum().backward()


@entry("A", "preserve_backtrace")
def test_the_traceback_leads_into_the_users_backward(torch):
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("something")

    with pytest.raises(ValueError, match="something") as caught:
        Broken.apply(torch.ones(2, requires_grad=True)).sum().backward()
    assert caught.traceback[-1].name == "backward"
    assert caught.traceback[-1].path.name == "test_functions_saving.py"


@entry("A", "custom_autograd_ac_early_stop")
def test_a_recomputation_that_stops_early_keeps_nothing(torch):
    alive = []

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            alive.append(weakref.ref(y))
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = torch.ones(2, requires_grad=True)
    result = torch.utils.checkpoint.checkpoint(lambda x: Keep.apply(x * 2) + 1, x, use_reentrant=False)
    result.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    del result
    gc.collect()
    assert [reference() for reference in alive] == [None] * len(alive)


@entry("A", "not_implemented_grad")
def test_an_operator_without_derivative_raises_when_it_is_differentiated(torch):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = torch.special.zeta(x, torch.ones(2)).sum()
    with pytest.raises(RuntimeError, match=r"derivative (for 'zeta' is not implemented|of zeta .* refused)"):
        y.backward()
