"""gradcheck in forward mode: tangents are compared with difference quotients too, and each mode can be checked alone."""

import pytest

from torch_behaviour.entry import entry

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # torch's own forward mode


def double(torch, *values, dtype="float64", requires_grad=True):
    return torch.tensor(list(values), dtype=getattr(torch, dtype), requires_grad=requires_grad)


def square(torch, of_jvp=lambda g: g, of_backward=lambda g: g, seen=None):
    """x * y with a jvp and a backward that may be spoilt."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            ctx.save_for_forward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return of_backward(g) * y, of_backward(g) * x

        @staticmethod
        def jvp(ctx, tx, ty):
            x, y = ctx.saved_tensors
            if seen is not None:
                seen.append((tx, ty))
            return of_jvp(tx) * y + x * ty

    return Product.apply


def boom(text):
    def fail(value):
        raise RuntimeError(text)

    return fail


@entry("H", "gradcheck_forward_ad")
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_wrong_tangent_is_found(torch, fast, dtype):
    x, y = double(torch, 1.0, 2.0, dtype=dtype), double(torch, -0.5, 3.0, dtype=dtype)
    options = {"check_forward_ad": True, "check_batched_grad": False, "fast_mode": fast}
    assert torch.autograd.gradcheck(square(torch), (x, y), **options)
    part = "While considering the imaginary part of complex .*only, " if dtype == "complex128" else ""
    with pytest.raises(
        RuntimeError, match=f"{part}Jacobian computed with forward mode mismatch for output 0 with respect to"
    ):
        torch.autograd.gradcheck(square(torch, of_jvp=lambda t: t * 2), (x, y), **options)
    assert not torch.autograd.gradcheck(square(torch, of_jvp=lambda t: t * 2), (x, y), raise_exception=False, **options)


@entry("H", "gradcheck_forward_ad", differs="torch compares one direction at a time and lets this pass")
def test_a_tangent_that_is_not_linear_in_its_directions(torch, here):
    if here:
        odd = square(torch, of_jvp=lambda t: t * (1 + (t != 0).sum() // 2))
        with pytest.raises(RuntimeError, match="not linear"):
            torch.autograd.gradcheck(odd, (double(torch, 1.0, 2.0), double(torch, 1.0, 1.0)), check_forward_ad=True)


@entry("H", "gradcheck_forward_ad")
def test_a_tangent_that_is_missing(torch):

    class Absent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, g

        @staticmethod
        def jvp(ctx, tx, ty):
            if tx is None:
                return 2 * ty
            return tx if ty is None else tx + ty

    inputs = double(torch, 1.0, 2.0), double(torch, 3.0, 4.0)
    options = {"check_forward_ad": True, "check_backward_ad": False}
    with pytest.raises(RuntimeError, match="Mismatch in tangent values for output with index"):
        torch.autograd.gradcheck(Absent.apply, inputs, **options)
    assert torch.autograd.gradcheck(Absent.apply, inputs, check_undefined_grad=False, **options)


@entry("H", "gradcheck_forward_ad_runs_with_no_requires_grad")
@pytest.mark.parametrize("fast", [True, False])
def test_inside_the_function_nothing_requires_gradients(torch, fast):
    seen = []

    def func(x, y):
        seen.append((x.requires_grad, y.requires_grad))
        return square(torch)(x, y)

    x, y = double(torch, 1.0, 2.0), double(torch, 3.0, 4.0)
    assert torch.autograd.gradcheck(func, (x, y), check_forward_ad=True, check_backward_ad=False, fast_mode=fast)
    assert (False, False) in seen


@entry("H", "gradcheck_forward_ad_respects_requires_grad")
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("backward", [True, False])
def test_only_inputs_that_require_gradients_are_moved(torch, fast, backward):
    seen = []
    func = square(torch, seen=seen)
    x, y = double(torch, 0.5), double(torch, 3.0, requires_grad=False)
    options = {"check_forward_ad": True, "check_backward_ad": backward, "fast_mode": fast}
    assert torch.autograd.gradcheck(func, (x, y), **options)
    only_x = len(seen)
    assert only_x
    assert all((ty == 0).all() for _, ty in seen)
    seen.clear()
    assert torch.autograd.gradcheck(func, (x, y.clone().requires_grad_()), **options)
    assert len(seen) > only_x
    assert any((ty != 0).all() for _, ty in seen)


@entry("H", "gradcheck_check_forward_or_backward_only")
@pytest.mark.parametrize("fast", [True, False])
def test_each_mode_alone(torch, fast):
    inputs = double(torch, 1.0, 2.0), double(torch, 3.0, 4.0)
    forward = {"check_forward_ad": True, "check_backward_ad": False, "check_undefined_grad": False, "fast_mode": fast}
    backward = {"check_forward_ad": False, "check_backward_ad": True, "check_undefined_grad": False, "fast_mode": fast}
    broken_jvp, broken_backward = square(torch, of_jvp=boom("FWD")), square(torch, of_backward=boom("BWD"))
    assert torch.autograd.gradcheck(broken_backward, inputs, **forward)
    assert torch.autograd.gradcheck(broken_jvp, inputs, **backward)
    with pytest.raises(RuntimeError, match="FWD"):
        torch.autograd.gradcheck(broken_jvp, inputs, **forward)
    with pytest.raises(RuntimeError, match="BWD"):
        torch.autograd.gradcheck(broken_backward, inputs, **backward)
    both = {"check_forward_ad": True, "fast_mode": fast}
    with pytest.raises(RuntimeError, match="BWD"):
        torch.autograd.gradcheck(broken_backward, inputs, **both)
    with pytest.raises(RuntimeError, match="FWD"):
        torch.autograd.gradcheck(broken_jvp, inputs, **both)


@entry("H", "gradcheck_forward_ad")
@pytest.mark.parametrize("func", ["sin", "exp", "cumsum", "prod", "matmul", "views", "mixed"])
@pytest.mark.parametrize("fast", [True, False])
def test_operators_in_all_modes(torch, here, func, fast):
    functions = {
        "sin": lambda x: torch.sin(x),
        "exp": lambda x: torch.exp(x),
        "cumsum": lambda x: torch.cumsum(x, 0),
        "prod": lambda x: torch.prod(x),
        "matmul": lambda x: x.reshape(2, 2) @ x.reshape(2, 2),
        "views": lambda x: x.reshape(2, 2).t()[1],
        "mixed": lambda x: (
            (x * x, x.sum(), x.detach()) if here else (x * x, x.sum())
        ),  # torch loses count of the outputs
    }
    x = double(torch, 0.5, 1.5, -0.7, 2.0)
    assert torch.autograd.gradcheck(functions[func], x, check_forward_ad=True, fast_mode=fast)
    if func not in ("views", "mixed"):
        assert torch.autograd.gradgradcheck(functions[func], x, check_fwd_over_rev=True, fast_mode=fast)


@entry("H", "gradcheck_forward_ad")
def test_complex_operators_in_all_modes(torch):
    z, x = double(torch, 1 + 2j, 3j, dtype="complex128"), double(torch, 1.0, -2.0)
    for func in (
        lambda z, x: z * x,
        lambda z, x: torch.real(z) + x,
        lambda z, x: z.conj() * z,
        lambda z, x: torch.complex(x, x) / z,
    ):
        assert torch.autograd.gradcheck(func, (z, x), check_forward_ad=True)


@entry("H", "gradcheck_forward_ad")
def test_an_input_that_is_given_twice(torch):
    x = double(torch, 1.0, -2.0)
    assert torch.autograd.gradcheck(lambda a, b: a * b, (x, x.clone().detach().requires_grad_()), check_forward_ad=True)


@entry("H", "gradcheck_check_forward_or_backward_only", "gradgradcheck")
def test_second_derivatives_forward_over_reverse(torch):

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, g, x):
            ctx.save_for_backward(g, x)
            ctx.save_for_forward(g, x)
            return 2 * g * x

        @staticmethod
        def backward(ctx, gg):
            g, x = ctx.saved_tensors
            return 2 * gg * x, 2 * gg * g

        @staticmethod
        def jvp(ctx, tg, tx):
            g, x = ctx.saved_tensors
            return 2 * tg * x + 3 * g * tx

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return Wrong.apply(g, *ctx.saved_tensors)

        @staticmethod
        def jvp(ctx, t):
            return 2 * ctx.saved_tensors[0] * t

    x = double(torch, 1.0, -2.0)
    assert torch.autograd.gradcheck(Square.apply, x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(Square.apply, x)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch"):
        torch.autograd.gradgradcheck(Square.apply, x, check_fwd_over_rev=True)


@entry("H", "gradcheck_forward_ad_batched_grad")
@pytest.mark.parametrize("fast", [True, False])
def test_several_tangents_at_once(torch, fast):
    x, y = double(torch, 0.5, 1.5, -0.7), double(torch, 1.0, 2.0, 3.0)
    options = {
        "check_forward_ad": True,
        "check_batched_grad": True,
        "check_batched_forward_grad": True,
        "fast_mode": fast,
    }
    for func in (lambda x, y: (x.clone(), x + y, (x * y).sum()), lambda x, y: torch.sin(x) @ y):
        assert torch.autograd.gradcheck(func, (x, y), **options)


@pytest.mark.parametrize("fast", [True, False])
def test_a_tangent_that_is_wrong_in_a_batch(torch, here, fast):
    """Its jvp calls a Function whose rule for batches does not agree with its forward."""
    if not here:
        pytest.skip("torch batches these tangents by another mechanism than its vmap, which does not ask the rule")

    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def vmap(info, in_dims, x):
            return x * 3, in_dims[0]

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return Odd.apply(t)

    x = double(torch, 0.5, 1.5, -0.7)
    assert torch.autograd.gradcheck(Twice.apply, x, check_forward_ad=True, fast_mode=fast)
    with pytest.raises(RuntimeError, match="pushed together"):
        torch.autograd.gradcheck(Twice.apply, x, check_forward_ad=True, check_batched_forward_grad=True, fast_mode=fast)
