"""Saved values and writes in place: versions, and ``allow_mutation_on_saved_tensors``."""

import pytest

from torch_behaviour.entry import entry


@entry("E", "saved_variable_version_counter")
def test_a_saved_result_knows_of_writes_to_the_result(torch):
    a = torch.rand(2, requires_grad=True)
    b = a.exp()
    saved = b.grad_fn._saved_result
    assert b._version == saved._version == 0
    with torch.no_grad():
        b.add_(1)
    assert b._version == saved._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        b.grad_fn._saved_result  # noqa: B018


@entry("E", "saved_variable_version_counter")
@pytest.mark.parametrize("operator", ["built in", "custom"])
@pytest.mark.parametrize("retain_graph", [True, False])
def test_what_backward_saves_of_a_saved_result_is_stale_when_the_result_is_written(torch, operator, retain_graph):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x, w = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    y = x.exp() if operator == "built in" else Exp.apply(x)
    (slope,) = torch.autograd.grad(y * w, x, create_graph=True, retain_graph=retain_graph)
    with torch.no_grad():
        y.mul_(5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(slope, w)


@entry("E", "saved_variable_saved_original_inplace_detach")
def test_detaching_a_saved_input_in_place_is_an_error_a_saved_result_is_not(torch):
    a = torch.tensor(1.0, requires_grad=True).clone()
    b = a.sin()
    a.detach_()
    with pytest.raises(RuntimeError, match="detached in-place"):
        b.backward()
    x = torch.tensor(1.0, requires_grad=True)
    a = x.clone()
    b = a.exp()
    a.detach_()
    b.backward()
    assert x.grad.item() == pytest.approx(b.item())


@entry("E", "saved_tensors_hook_version_counter_not_shared")
def test_what_hooks_hand_out_counts_its_own_writes(torch):
    class Watch(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            before = packed._version
            with torch.no_grad():
                packed.add_(1)
            versions.append((before, packed._version, ctx.saved_tensors[0]._version))
            return g

    versions = []
    packed = torch.tensor(2.0)
    a = torch.tensor(1.0, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed, lambda t: t.detach().clone()):
        y = Watch.apply(a)
    y.backward()
    assert versions == [(0, 1, 0)]


@entry("E", "pack_hook_with_inplace_modification_should_fail")
def test_a_pack_hook_must_not_write(torch):
    def pack(t):
        t += 1
        return t

    a = torch.rand(2, requires_grad=True)
    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t),
        pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"),
    ):
        a.exp()
    y = a.exp()
    with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        y.grad_fn._raw_saved_result.register_hooks(pack, lambda t: t)


# --------------------------------------------------------------------------- allow_mutation_on_saved_tensors
@pytest.fixture
def allow(torch):
    return torch.autograd.graph.allow_mutation_on_saved_tensors


@entry("E", "allow_mutation_basic")
def test_a_saved_value_is_copied_before_it_is_written(torch, allow):
    a = torch.rand(2, 3, requires_grad=True)

    def f(write):
        b = a.clone()
        out = (b**2).sum()
        if write:
            b.sin_()
        return torch.autograd.grad(out, a)[0]

    with allow():
        assert torch.equal(f(True), f(False))


@entry("E", "allow_mutation_views")
def test_a_saved_view_survives_a_write_to_its_base(torch, allow):
    with allow():
        a = torch.ones(2, 3, requires_grad=True)
        b = a.clone()
        c = b.view_as(b)
        out = (c**2).sum()
        b.sin_()
        out.backward()
        assert a.grad.tolist() == [[2.0] * 3] * 2


@entry("E", "allow_mutation_save_base_and_modify_view")
def test_a_saved_base_survives_a_write_to_a_view(torch, allow):
    with allow():
        a = torch.ones(2, 3, requires_grad=True)
        b = a.clone()
        c = b[:1]
        out = (b**2).sum()
        c *= 10
        out.backward()
        assert a.grad.tolist() == [[2.0] * 3] * 2


@entry("E", "allow_mutation_save_view_modify_base")
def test_a_saved_part_survives_a_write_to_the_whole(torch, allow):
    with allow():
        a = torch.ones(2, 3, requires_grad=True)
        b = a.clone()
        c = b[:1]
        out = (c**2).sum()
        b *= 2
        out.backward()
        assert a.grad.tolist() == [[2.0] * 3, [0.0] * 3]


@entry("E", "allow_mutation_double_backward")
def test_second_derivatives_with_a_write_between(torch, allow):
    with allow():
        a = torch.full((2, 3), 3.0, requires_grad=True)
        b = a.clone()
        out = (b**3).sum()
        (first,) = torch.autograd.grad(out, a, create_graph=True)
        b.sin_()
        (second,) = torch.autograd.grad(first.sum(), a)
        assert first.tolist() == [[27.0] * 3] * 2
        assert second.tolist() == [[18.0] * 3] * 2


@entry("E", "allow_mutation_saved_but_not_anymore")
def test_a_write_after_the_graph_is_gone(torch, allow):
    with allow():
        a = torch.rand(2, 3, requires_grad=True).clone()
        out = (a**2).sum()
        out.backward()
        a.sin_()
        del out
        a.sin_()


@entry("E", "allow_mutation_saved_same_tensor_many_times")
def test_one_value_saved_several_times(torch, allow):
    with allow():
        x = torch.full((2,), 3.0, requires_grad=True)
        a = x.clone()
        b, c = a**2, a**2
        a.sin_()
        assert [g.tolist() for g in torch.autograd.grad((b.sum(), c.sum()), (x,))] == [[12.0, 12.0]]


@entry("E", "allow_mutation_saved_same_tensor_different_versions")
def test_one_tensor_saved_before_and_after_a_write(torch, allow):
    with allow():
        x = torch.full((2,), 3.0, requires_grad=True)
        a = x.clone()
        b = a**2
        a *= 5
        c = a**2
        a.zero_()
        (grad,) = torch.autograd.grad(b.sum() + c.sum(), x)
        assert grad.tolist() == [6.0 + 150.0] * 2


@entry("E", "allow_mutation_with_math_views")
def test_views_of_complex_values(torch, allow):
    with allow():
        a = torch.tensor([1.0 + 1.0j, 2.0], requires_grad=True)
        b = a.conj()
        out = (b * b).sum()
        b = b * 1
        b.mul_(2)
        out.real.backward()
        assert a.grad.tolist() == [2.0 - 2.0j, 4.0]


@entry("E", "allow_mutation_with_out_variant")
@pytest.mark.parametrize("recorded", [False, True])
def test_saved_values_written_by_out(torch, allow, recorded):
    with allow():
        a = torch.rand(2, requires_grad=True)
        b = a.clone().detach()
        out = (a * b).sum()
        expected = b.tolist()
        with torch.no_grad():
            torch.sin(torch.zeros(2), out=b)
        assert b.tolist() == [0.0, 0.0]
        out.backward()
        assert a.grad.tolist() == expected


@entry("E", "allow_mutation_backward_out_of_context")
def test_backward_outside_of_the_block_is_an_error(torch, allow):
    a = torch.rand(2, 3, requires_grad=True)
    with allow():
        out = (a**2).sum()
    with pytest.raises(AssertionError, match="outside"):
        out.backward()
    with allow() as ctx:
        out = (a**2).sum()
        ctx.clear()
        with pytest.raises(AssertionError, match=r"outside|out of"):
            out.backward()


@entry("E", "allow_mutation_disallow_nesting")
def test_the_block_cannot_be_nested(torch, allow):
    with allow(), pytest.raises(RuntimeError, match=r"once|nest"), allow():
        raise AssertionError("never reached")
