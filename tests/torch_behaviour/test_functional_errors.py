"""torch.autograd.functional: what is refused, with which words; what strict mode refuses besides."""

import pytest

from torch_behaviour.entry import entry

PRODUCTS = ["vjp", "jvp", "vhp", "hvp"]
ALL = [*PRODUCTS, "jacobian", "hessian"]


def functional(torch, name):
    return getattr(torch.autograd.functional, name)


def call(torch, name, func, inputs, v=None, **options):
    """One of the six, with a vector where it takes one."""
    vector = (v,) if name in PRODUCTS else ()
    return functional(torch, name)(func, inputs, *vector, **options)


def scalar(name):
    return name in ("hessian", "vhp", "hvp")


def base(name):
    return (lambda a: (3 * a.narrow(0, 0, 3)).exp().sum()) if scalar(name) else (lambda a: 3 * a.narrow(0, 0, 3))


def vector(torch, name):
    return torch.ones(3) if name == "vjp" else torch.ones(4)


@entry(
    "M", "vjp_err_check", "jvp_err_check", "jacobian_err_check", "hessian_err_check", "vhp_err_check", "hvp_err_check"
)
@pytest.mark.parametrize("name", ALL)
def test_inputs_and_outputs_are_tensors(torch, name):
    x, v, f = torch.rand(4), vector(torch, name), base(name)
    with pytest.raises(TypeError, match=f"The inputs given to {name} must be either a Tensor"):
        call(torch, name, f, (x, 2), v)
    with pytest.raises(TypeError, match=f"The outputs of the user-provided function given to {name} must"):
        call(torch, name, lambda a: (f(a), "text"), x, v)
    call(torch, name, f, x, v)


@entry("M", "vjp_err_check", "jvp_err_check", "vhp_err_check", "hvp_err_check")
@pytest.mark.parametrize("name", PRODUCTS)
def test_the_vector_fits(torch, name):
    x, v, f = torch.rand(4), vector(torch, name), base(name)
    whose = "user-provided function returns" if name == "vjp" else "input to the user-provided function"
    with pytest.raises(RuntimeError, match=f"The vector v can only be None if the {whose}"):
        call(torch, name, f, x)
    with pytest.raises(RuntimeError, match=r"v has invalid size: should be torch\.Size"):
        call(torch, name, f, x, v[:2])
    with pytest.raises(TypeError, match=f"The v given to {name} must be either a Tensor or a tuple of Tensors"):
        call(torch, name, f, x, (v, 2))
    with pytest.raises(RuntimeError, match="The given v should contain a single Tensor"):
        call(torch, name, f, x, (v, v))
    pair = (lambda a, b: (f(a), f(b))) if name == "vjp" else (lambda a, b: f(a) + f(b))
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length: should be 2 but got 1"):
        call(torch, name, pair, (x, x), v)


@entry("M", "hessian_err_check", "vhp_err_check", "hvp_err_check")
@pytest.mark.parametrize("name", ["hessian", "vhp", "hvp"])
def test_second_derivatives_are_of_one_number(torch, name):
    x, v = torch.rand(4), torch.ones(4)
    with pytest.raises(
        RuntimeError, match=f"The Tensor returned by the function given to {name} should contain a single element"
    ):
        call(torch, name, lambda a: 3 * a.narrow(0, 0, 3), x, v)
    with pytest.raises(RuntimeError, match=f"The function given to {name} should return a single Tensor"):
        call(torch, name, lambda a: (a.sum(), a.sum()), x, v)


def reduced(name):
    return (lambda y: y.sum()) if scalar(name) else (lambda y: y)


def zeros(torch, name, result):
    """Whether the derivative in a result is zero."""
    found = result[1] if name in PRODUCTS else result
    return bool((found == 0).all())


@entry(
    "M",
    "vjp_err_check_strict",
    "jvp_err_check_strict",
    "jacobian_err_check_strict",
    "hessian_err_check_strict",
    "vhp_err_check_strict",
    "hvp_err_check_strict",
)
@pytest.mark.parametrize("name", ALL)
def test_a_result_without_gradients(torch, name):
    x, v, last = torch.rand(4), torch.rand(4), reduced(name)
    with pytest.raises(RuntimeError, match=r"Output 0 of the user-provided function does not require gradients\."):
        call(torch, name, lambda a: last(a.detach()), x, v, strict=True)
    assert zeros(torch, name, call(torch, name, lambda a: last(a.detach()), x, v, strict=False))


@entry(
    "M",
    "vjp_err_check_strict",
    "jvp_err_check_strict",
    "jacobian_err_check_strict",
    "hessian_err_check_strict",
    "vhp_err_check_strict",
    "hvp_err_check_strict",
)
@pytest.mark.parametrize("name", ALL)
def test_a_result_with_gradients_of_something_else(torch, name):
    x, v, last = torch.rand(4), torch.rand(4), reduced(name)

    def other(a):
        return last(a.detach().long().float().requires_grad_().clone())

    with pytest.raises(
        RuntimeError, match=r"of the user-provided function (with respect to input 0 )?is independent of"
    ):
        call(torch, name, other, x, v, strict=True)
    assert zeros(torch, name, call(torch, name, other, x, v, strict=False))


@entry("M", "vjp_err_check_strict", "jvp_err_check_strict", "jacobian_err_check_strict")
@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian"])
def test_a_constant_derivative_that_is_to_be_differentiated(torch, name):
    x, v = torch.rand(4), torch.rand(4)
    with pytest.raises(RuntimeError, match=r"jacobian of the user-provided function is independent of input 0\."):
        call(torch, name, lambda a: a.clone(), x, v, create_graph=True, strict=True)
    call(torch, name, lambda a: a.clone(), x, v, create_graph=False, strict=True)
    call(torch, name, lambda a: a.clone(), x, v, create_graph=True, strict=False)
    call(torch, name, lambda a: a.exp(), x.requires_grad_(), v, create_graph=True, strict=True)


@entry("M", "hessian_err_check_strict", "vhp_err_check_strict", "hvp_err_check_strict")
@pytest.mark.parametrize("name", ["hessian", "vhp", "hvp"])
def test_a_linear_function_has_no_second_derivative(torch, name):
    x, v = torch.rand(4), torch.rand(4)
    with pytest.raises(RuntimeError, match=r"jacobian of the user-provided function with respect to input 0 is"):
        call(torch, name, lambda a: (3 * a).sum(), x, v, strict=True)
    assert zeros(torch, name, call(torch, name, lambda a: (3 * a).sum(), x, v, strict=False))


@entry("M", "hessian_err_check_strict", "vhp_err_check_strict", "hvp_err_check_strict", "jacobian_err_check_strict")
@pytest.mark.parametrize("name", ["hessian", "vhp", "hvp", "jacobian", "vjp", "jvp"])
def test_functions_that_depend_on_everything_pass(torch, name):
    x, v, last = torch.rand(4), torch.rand(4), reduced(name)
    strict = call(torch, name, lambda a: last(a.exp()), x, v, strict=True)
    loose = call(torch, name, lambda a: last(a.exp()), x, v, strict=False)
    for a, b in zip(strict if name in PRODUCTS else [strict], loose if name in PRODUCTS else [loose], strict=True):
        assert torch.allclose(a, b)


@entry("M", "jacobian_err_check_strict_vectorize", "hessian_err_check_strict_vectorize")
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_strict_and_vectorize_exclude_each_other(torch, name):
    with pytest.raises(RuntimeError, match="not supported together"):
        functional(torch, name)(lambda a: a.exp().sum(), torch.rand(4), strict=True, vectorize=True)


@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_strategies(torch, here, name):
    x = torch.rand(4)
    option = "strategy" if name == "jacobian" else "outer_jacobian_strategy"
    with pytest.raises(AssertionError, match="Expected strategy to be either"):
        functional(torch, name)(lambda a: a.exp().sum(), x, **{option: "sideways"})
    if not here:
        with pytest.raises(NotImplementedError, match="vectorize=True"):
            functional(torch, name)(lambda a: a.exp().sum(), x, **{option: "forward-mode"})


@entry("M", "hessian_err_check_strict")
def test_a_function_whose_inputs_do_not_meet(torch):
    x, y = torch.rand(2), torch.rand(2)
    hessian = functional(torch, "hessian")
    with pytest.raises(RuntimeError, match="is independent of input 1"):
        hessian(lambda a, b: (a * a).sum() + (b * b).sum(), (x, y), strict=True)
    assert (hessian(lambda a, b: (a * a).sum() + (b * b).sum(), (x, y))[0][1] == 0).all()
    with pytest.raises(RuntimeError, match=r"jacobian of the user-provided function is independent of input 0\."):
        hessian(lambda a: (a * a).sum(), x, strict=True, create_graph=True)
    hessian(lambda a: (a * a * a).sum(), x, strict=True, create_graph=True)
