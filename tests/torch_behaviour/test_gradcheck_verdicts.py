"""gradcheck: what passes, what fails with which words, and what is raised in any case."""

import pytest

from torch_behaviour.entry import entry


def double(torch, *values, dtype="float64"):
    return torch.tensor(list(values), dtype=getattr(torch, dtype), requires_grad=True)


def hooked(hook, value=lambda x: x.clone()):
    """A function whose gradient goes through `hook`."""

    def func(x):
        y = value(x)
        y.register_hook(hook)
        return y

    return func


@entry("H", "gradcheck_single_input")
@pytest.mark.parametrize("fast", [True, False])
def test_a_tensor_alone_is_one_input(torch, fast):
    assert torch.autograd.gradcheck(lambda x: x * 5, double(torch, 1.0, 2.0), fast_mode=fast)
    assert torch.autograd.gradgradcheck(lambda x: x * x, double(torch, 1.0, 2.0), fast_mode=fast)


@entry("H", "gradcheck_nondeterministic", "nondet_tol")
@pytest.mark.parametrize("fast", [True, False])
def test_a_backward_that_varies(torch, fast):

    class Jitter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, size=0.0):
            ctx.size = size
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return Jitter.apply(g, ctx.size) * (1 + torch.rand_like(g) * ctx.size), None

    x = double(torch, 0.5, -1.0, 2.0)
    check = {"gradcheck": torch.autograd.gradcheck, "gradgradcheck": torch.autograd.gradgradcheck}
    for name, run in check.items():
        assert run(lambda x: Jitter.apply(x, 0.0), x, check_batched_grad=False), name
        with pytest.raises(RuntimeError, match="Backward is not reentrant"):
            run(lambda x: Jitter.apply(x, 1e-6), x, check_batched_grad=False, fast_mode=fast)
        assert run(lambda x: Jitter.apply(x, 1e-12), x, nondet_tol=1e-5, check_batched_grad=False, fast_mode=fast), name


@entry("H", "gradcheck_check_no_differentiable_outputs")
@pytest.mark.parametrize("fast", [True, False])
def test_an_output_without_gradients_must_not_move(torch, fast):
    x = double(torch, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        torch.autograd.gradcheck(lambda x: (x * 1).detach(), x, fast_mode=fast)
    assert not torch.autograd.gradcheck(lambda x: (x * 1).detach(), x, raise_exception=False, fast_mode=fast)
    assert torch.autograd.gradcheck(lambda x: (), x, fast_mode=fast)
    assert torch.autograd.gradcheck(lambda x: torch.ones(2, dtype=torch.float64), x, fast_mode=fast)


@entry("H", "gradcheck_undefined_grad", differs="the error comes without the warning about compatibility")
@pytest.mark.filterwarnings("ignore:Backwards compatibility")
@pytest.mark.parametrize("fast", [True, False])
def test_a_missing_cotangent(torch, fast):

    def demand(g):
        if g is None:
            raise RuntimeError("x is undefined")
        return g

    x = double(torch, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="Expected backward function to handle undefined output grads"):
        torch.autograd.gradcheck(hooked(demand), x, fast_mode=fast)
    assert torch.autograd.gradcheck(hooked(demand), x, fast_mode=fast, check_undefined_grad=False)
    assert torch.autograd.gradcheck(hooked(lambda g: g), x, fast_mode=fast)


@entry("H", "gradcheck_jacobian_mismatch")
@pytest.mark.parametrize("fast", [True, False])
def test_a_wrong_jacobian_between_real_numbers(torch, fast):
    x, wrong = double(torch, 1.0, 2.0), hooked(lambda g: g + 1e-2)
    with pytest.raises(RuntimeError, match=r"Jacobian mismatch for output 0 with respect to input 0,\n\s*numerical"):
        torch.autograd.gradcheck(wrong, x, fast_mode=fast)
    assert not torch.autograd.gradcheck(wrong, x, raise_exception=False, fast_mode=fast)


@entry("H", "gradcheck_jacobian_mismatch")
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("kind", ["C->C", "R->C", "C->R"])
def test_a_wrong_jacobian_between_complex_numbers(torch, fast, kind):
    x = double(torch, 1.0, 2.0, dtype="float64" if kind == "R->C" else "complex128")
    value = {"C->C": lambda x: x.clone(), "R->C": lambda x: torch.complex(x, x), "C->R": lambda x: torch.real(x)}[kind]
    wrong = hooked(lambda g: g * 1.5, value)
    part = "" if kind == "C->R" else "While considering the imaginary part of complex outputs only, "
    with pytest.raises(RuntimeError, match=f"^{part}Jacobian mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(wrong, x, fast_mode=fast)
    assert not torch.autograd.gradcheck(wrong, x, raise_exception=False, fast_mode=fast)
    assert torch.autograd.gradcheck(value, x, fast_mode=fast)


@entry("H", "gradcheck_output_shape_or_dtype_depend_on_values")
def test_outputs_may_not_change_their_kind(torch):
    x = double(torch, 1.0)

    def other_shape(x):
        return torch.cat([x, x]) if (x >= 1).all() else x

    def other_dtype(x):
        return x if (x >= 1).all() else x.to(torch.float32)

    for func in (other_shape, other_dtype):
        with pytest.raises(AssertionError, match=r"outputs with the same .* when inputs are perturbed"):
            torch.autograd.gradcheck(func, x)
        with pytest.raises(AssertionError):
            torch.autograd.gradcheck(func, x, raise_exception=False)


@entry("H", "gradcheck_complex_non_complex_outputs")
@pytest.mark.parametrize("fast", [True, False])
def test_real_and_complex_together(torch, fast):
    a, b, c = double(torch, 1.0, 2.0), double(torch, 3.0, -1.0), double(torch, 1 + 2j, 3j, dtype="complex128")
    assert torch.autograd.gradcheck(lambda x, y: (torch.complex(x, y), x + 1), (a, b), fast_mode=fast)
    assert torch.autograd.gradcheck(lambda z: (z, torch.real(z)), c, fast_mode=fast)
    assert torch.autograd.gradgradcheck(lambda z: (z * z, torch.real(z)), c, fast_mode=fast)


@entry("H", "gradcheck_custom_error")
@pytest.mark.parametrize("fast", [True, False])
def test_the_error_has_a_class_and_other_errors_pass(torch, fast):
    x = double(torch, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="Jacobian mismatch") as caught:
        torch.autograd.gradcheck(hooked(lambda g: g * 2), x, fast_mode=fast)
    assert type(caught.value).__name__ == "GradcheckError"

    def broken(x):
        raise RuntimeError("of its here")

    with pytest.raises(RuntimeError, match="of its here") as caught:
        torch.autograd.gradcheck(broken, x, fast_mode=fast, raise_exception=False)
    assert type(caught.value).__name__ == "RuntimeError"


@entry("H", "gradcheck_validates_inputs", "no_requires_grad")
@pytest.mark.parametrize("fast", [True, False])
def test_what_cannot_be_checked_is_refused_always(torch, fast):
    plain = torch.ones(2, dtype=torch.float64)
    stretched = torch.ones(1, dtype=torch.float64).expand((2, 2)).requires_grad_()
    for options in ({}, {"raise_exception": False}):
        with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
            torch.autograd.gradcheck(lambda x: x, plain, fast_mode=fast, **options)
        with pytest.raises(RuntimeError, match="dimension with stride 0"):
            torch.autograd.gradcheck(lambda x: x * 1, stretched, fast_mode=fast, **options)
    single = torch.ones(1, dtype=torch.float32, requires_grad=True)
    with pytest.warns(UserWarning, match="double precision floating point"):
        torch.autograd.gradcheck(lambda x: x * 1, single, atol=1e-1, rtol=1e-1, fast_mode=fast, eps=1e-2)


@entry("H", "gradcheck_backward_mul_by_grad_output")
@pytest.mark.parametrize("fast", [True, False])
def test_a_gradient_out_of_nothing(torch, fast):
    x, wrong = double(torch, 1.0, 2.0), hooked(lambda g: g + 1e-2)
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        torch.autograd.gradcheck(wrong, x, atol=1e-1, fast_mode=fast)
    assert not torch.autograd.gradcheck(wrong, x, atol=1e-1, fast_mode=fast, raise_exception=False)


@entry("H", "gradcheck_adjusted_atol_complex_inputs")
def test_fast_mode_allows_for_all_elements_of_complex_inputs(torch):
    x = torch.linspace(-2.0, 3.0, 20, dtype=torch.float64).to(torch.complex128) * (1 + 0.5j)
    x = x.detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: z / torch.linalg.norm(z), x, fast_mode=True)
    wrong = hooked(lambda g: g * 1.01, lambda z: z * z)
    assert not torch.autograd.gradcheck(wrong, x, fast_mode=True, raise_exception=False)
