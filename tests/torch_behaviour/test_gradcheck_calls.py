"""gradcheck as a caller sees it: every option has its effect."""

import pytest

from torch_behaviour.entry import entry

PROGRAMS = {
    "mul": (lambda t, x: x * x, 1),
    "linear": (lambda t, x: x.reshape(1, -1) @ t.ones(4, 3, dtype=t.float64), 1),
    "sin_cos": (lambda t, x: t.sin(x) * t.cos(x), 1),
    "exp": (lambda t, x: t.exp(x), 1),
    "sum": (lambda t, x: x.sum(), 1),
    "multiple inputs": (lambda t, x, y: x * y + t.sin(y), 2),
    "tuple output": (lambda t, x: (x * 2, t.exp(x), x.sum()), 1),
}


def leaf(torch, start=0.5):
    return torch.linspace(start, start + 1.5, 4, dtype=torch.float64).requires_grad_()


@entry(
    "H",
    "slow_mode_mul",
    "slow_mode_linear",
    "slow_mode_sin_cos",
    "slow_mode_exp",
    "slow_mode_sum",
    "slow_mode_multiple_inputs",
    "slow_mode_tuple_output",
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_programs_pass(torch, name):
    func, count = PROGRAMS[name]
    inputs = tuple(leaf(torch, 0.5 + k) for k in range(count))
    assert torch.autograd.gradcheck(lambda *xs: func(torch, *xs), inputs, fast_mode=False) is True


@entry("H", "gradgradcheck")
@pytest.mark.parametrize("name", ["mul", "sin_cos", "exp", "multiple inputs", "tuple output"])
def test_right_second_derivatives_pass(torch, name):
    func, count = PROGRAMS[name]
    inputs = tuple(leaf(torch, 0.5 + k) for k in range(count))
    assert torch.autograd.gradgradcheck(lambda *xs: func(torch, *xs), inputs) is True


def wrong_by(torch, size):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (2 * x + size)

    return Wrong.apply


@entry("H", "raise_exception_false")
def test_a_wrong_rule_raises_or_gives_false(torch):
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(wrong_by(torch, 1.0), leaf(torch))
    assert torch.autograd.gradcheck(wrong_by(torch, 1.0), leaf(torch), raise_exception=False) is False


@entry("H", "raise_exception_false", "gradgradcheck")
def test_second_derivatives_raise_or_give_false(torch):

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return WrongProduct.apply(g, *ctx.saved_tensors)

    class WrongProduct(torch.autograd.Function):
        @staticmethod
        def forward(ctx, g, x):
            ctx.save_for_backward(g, x)
            return 2 * g * x

        @staticmethod
        def backward(ctx, gg):
            g, x = ctx.saved_tensors
            return 2 * gg * x, 3 * gg * g

    assert torch.autograd.gradcheck(Half.apply, leaf(torch))
    assert torch.autograd.gradgradcheck(Half.apply, leaf(torch), raise_exception=False) is False
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradgradcheck(Half.apply, leaf(torch))


@entry("H", "check_flags")
@pytest.mark.parametrize("flag", ["check_undefined_grad", "check_grad_dtypes", "check_batched_grad"])
@pytest.mark.parametrize("on", [True, False])
def test_flags_are_taken(torch, flag, on):
    assert torch.autograd.gradcheck(lambda x: torch.sin(x), leaf(torch), **{flag: on}) is True
    assert torch.autograd.gradgradcheck(lambda x: torch.sin(x), leaf(torch), **{flag: on}) is True


@entry("H", "check_flags")
def test_flags_that_contradict(torch):
    x = leaf(torch)
    with pytest.raises(AssertionError, match="check_forward_ad or check_backward_ad"):
        torch.autograd.gradcheck(torch.sin, x, check_forward_ad=False, check_backward_ad=False)
    with pytest.raises(AssertionError, match="check_batched_grad=True requires check_backward_ad"):
        torch.autograd.gradcheck(torch.sin, x, check_forward_ad=True, check_backward_ad=False, check_batched_grad=True)
    with pytest.raises(AssertionError, match="check_batched_forward_grad=True requires check_forward_ad"):
        torch.autograd.gradcheck(torch.sin, x, check_batched_forward_grad=True)
    with pytest.raises(AssertionError, match="check_fwd_over_rev or check_rev_over_rev"):
        torch.autograd.gradgradcheck(torch.sin, x, check_fwd_over_rev=False, check_rev_over_rev=False)
    with pytest.raises(TypeError):
        torch.autograd.gradcheck(torch.sin, x, 1e-6)


@entry("H", "custom_eps")
def test_the_step_is_the_one_asked_for(torch):
    seen = []

    def func(x):
        seen.append(x.detach().clone()[0].item())
        return x * x

    assert torch.autograd.gradcheck(func, leaf(torch), eps=1e-3)
    assert any(abs(v - 0.501) < 1e-9 for v in seen)
    assert any(abs(v - 0.499) < 1e-9 for v in seen)


@entry("H", "custom_atol", "custom_rtol")
def test_tolerances_decide(torch):
    x = leaf(torch)
    slightly = wrong_by(torch, 1e-3)
    assert not torch.autograd.gradcheck(slightly, x, atol=1e-5, rtol=1e-6, raise_exception=False)
    assert torch.autograd.gradcheck(slightly, x, atol=2e-3, rtol=0.0)
    assert torch.autograd.gradcheck(slightly, x, atol=0.0, rtol=2e-3)
    assert not torch.autograd.gradcheck(slightly, x, atol=0.0, rtol=2e-4, raise_exception=False)


@entry("H", "single_element")
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element(torch, shape):
    x = torch.full(shape, 0.7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.sin(x) * x, x)
    assert torch.autograd.gradgradcheck(lambda x: torch.sin(x) * x, x)


@entry("H", "masked")
@pytest.mark.parametrize("masked", [True, False])
def test_the_option_about_sparse_tensors_changes_nothing_for_dense_ones(torch, masked):
    assert torch.autograd.gradcheck(lambda x: x * x, leaf(torch), masked=masked)
    assert not torch.autograd.gradcheck(wrong_by(torch, 1.0), leaf(torch), masked=masked, raise_exception=False)
