"""Forward mode through a custom Function: what its jvp gets, and what it must give."""

import pytest

from torch_behaviour.entry import entry


def derivative(torch, function, point, tangent):
    """The tangent of ``function(point)``."""
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(point, tangent))).tangent


@entry("A", "custom_function_save_for_forward")
@pytest.mark.parametrize("saved_for", ["forward", "backward", "both"])
def test_jvp_reads_what_was_saved_for_forward(torch, saved_for):
    seen = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if saved_for in ("forward", "both"):
                ctx.save_for_forward(x)
            if saved_for in ("backward", "both"):
                ctx.save_for_backward(x)
            ctx.x = x
            return x * x

        @staticmethod
        def jvp(ctx, t):
            seen.append(len(ctx.saved_tensors))
            return 2 * ctx.x * t

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.x * g

    found = derivative(torch, Square.apply, torch.tensor(3.0), torch.tensor(2.0))
    assert found.item() == 12.0
    assert seen == [0 if saved_for == "backward" else 1]


@entry("A", "custom_function_forward_mode_wrong_formula")
def test_gradcheck_finds_a_wrong_jvp(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.x * g

        @staticmethod
        def jvp(ctx, t):
            return 3 * ctx.x * t

    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Wrong.apply, (x,))
    with pytest.raises(RuntimeError, match="Jacobian"):
        torch.autograd.gradcheck(Wrong.apply, (x,), check_forward_ad=True)


@entry("A", "custom_function_forward_mode_non_tensor_before_tensor_args")
def test_the_tangent_of_a_number_is_none(torch):
    seen = []

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, factor, x, name, y):
            ctx.factor = factor
            return factor * x + y

        @staticmethod
        def jvp(ctx, *tangents):
            seen.append([t is None for t in tangents])
            return ctx.factor * tangents[1] + tangents[3]

    found = derivative(torch, lambda x: Scale.apply(5.0, x, "name", x), torch.tensor(3.0), torch.tensor(2.0))
    assert found.item() == 12.0
    assert seen == [[True, False, True, False]]


@entry("A", "custom_function_forward_mode_non_differentiable")
def test_results_without_gradient_have_no_tangent(torch):
    class Sort(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            index = x.argsort()
            rank = x * 1
            ctx.mark_non_differentiable(rank)
            return x * 2, index, rank, "name"

        @staticmethod
        def jvp(ctx, t):
            return t * 2, None, None, None

    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        results = Sort.apply(forward_ad.make_dual(torch.tensor([3.0, 1.0]), torch.ones(2)))
        assert forward_ad.unpack_dual(results[0]).tangent.tolist() == [2.0, 2.0]
        assert forward_ad.unpack_dual(results[1]).tangent is None
        assert forward_ad.unpack_dual(results[2]).tangent is None
        assert results[3] == "name"


@entry("A", "custom_function_forward_mode_forward_is_no_op")
def test_the_jvp_of_an_argument_returned_as_it_is(torch):
    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def jvp(ctx, t):
            return t.view_as(t)

    found = derivative(torch, Identity.apply, torch.tensor([3.0, 1.0]), torch.tensor([2.0, 5.0]))
    assert found.tolist() == [2.0, 5.0]


@entry("A", "custom_function_forward_mode_view_checks")
def test_the_jvp_of_a_view_has_to_give_the_same_view(torch):
    class Part(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, share):
            ctx.share = share
            return x.narrow(0, 0, 2)

        @staticmethod
        def jvp(ctx, t, _):
            part = t.narrow(0, 0, 2)
            return part if ctx.share else part.clone()

    point, tangent = torch.arange(3.0), torch.tensor([2.0, 5.0, 7.0])
    assert derivative(torch, lambda x: Part.apply(x, True), point, tangent).tolist() == [2.0, 5.0]
    with pytest.raises(RuntimeError, match="jvp is not returning a view"):
        derivative(torch, lambda x: Part.apply(x, False), point, tangent)


@entry(
    "A",
    "custom_function_forward_mode_inplace_checks",
    "custom_function_mark_dirty_not_differentiable",
    differs="tangents are values: a jvp may give a new one where forward writes in place",
)
def test_the_jvp_of_a_write_in_place_may_be_a_new_value(torch, here):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, in_place):
            ctx.in_place = in_place
            ctx.mark_dirty(x)
            x.mul_(2)
            return x

        @staticmethod
        def jvp(ctx, t, _):
            return t.mul_(2) if ctx.in_place else t * 2

    point, tangent = torch.arange(3.0), torch.tensor([2.0, 5.0, 7.0])
    assert derivative(torch, lambda x: Double.apply(x.clone(), True), point, tangent).tolist() == [4.0, 10.0, 14.0]
    if here:
        assert derivative(torch, lambda x: Double.apply(x.clone(), False), point, tangent).tolist() == [4.0, 10.0, 14.0]
    else:
        with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
            derivative(torch, lambda x: Double.apply(x.clone(), False), point, tangent)


@entry("A", "custom_function_mark_dirty_not_differentiable")
def test_a_written_argument_comes_back_as_the_same_object(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.tensor(2.0)
    assert Double.apply(x) is x
    y = torch.tensor(2.0, requires_grad=True).clone()
    assert Double.apply(y) is y
    assert type(y.grad_fn).__name__ == "DoubleBackward"
