"""How a custom Function is called: setup_context, defaults, keywords, instances."""

import gc

import pytest

from torch_behaviour.entry import entry


@entry("A", "legacy_function_deprecation_exception")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_calling_an_instance_is_refused(torch):
    class Legacy(torch.autograd.Function):
        def forward(self, x):
            return x

        def backward(self, g):
            return g

    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        Legacy()(torch.rand(2, 3))


@entry("A", "naughty_autograd_function_attribute_access")
def test_an_instance_of_a_function_is_of_no_use(torch):
    """Making one warns; the node of a result has its name."""

    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Identity()
    assert not hasattr(instance, "saved_tensors") or instance.saved_tensors == ()
    result = Identity.apply(torch.ones(1, requires_grad=True))
    assert result.grad_fn.name() == "IdentityBackward"


@entry("A", "custom_function_vmap_defaults")
def test_vmap_attributes_exist(torch):
    class Anything(torch.autograd.Function):
        pass

    assert Anything.generate_vmap_rule is False
    assert callable(Anything.vmap)


@entry("A", "custom_function_setup_context_simple")
def test_forward_without_ctx_and_setup_context(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            (x,) = inputs
            assert output.grad_fn is None
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * 3 * y / x

    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
    assert first.item() == 12.0
    assert torch.autograd.grad(first, x)[0].item() == 12.0


@entry("A", "custom_function_setup_context_multi_output")
def test_setup_context_sees_all_results_also_those_that_are_no_tensors(torch):
    class CubeAndSlope(torch.autograd.Function):
        @staticmethod
        def forward(x):
            two = x.item() * 2
            return x**3, two

        @staticmethod
        def setup_context(ctx, inputs, output):
            (ctx.x,) = inputs
            _, ctx.two = output

        @staticmethod
        def backward(ctx, g, nothing):
            assert nothing is None
            return g * 1.5 * ctx.two * ctx.x

    x = torch.tensor(2.0, requires_grad=True)
    y, two = CubeAndSlope.apply(x)
    assert two == 4.0
    y.backward()
    assert x.grad.item() == 12.0


@entry("A", "custom_function_setup_context_multi_input")
def test_both_forms_of_forward_give_the_same(torch):
    class Separate(torch.autograd.Function):
        @staticmethod
        def forward(x, shape, weight, factor):
            return x.reshape(shape) * weight * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, _, weight, ctx.factor = inputs
            ctx.save_for_backward(x, weight)

        @staticmethod
        def backward(ctx, g):
            x, weight = ctx.saved_tensors
            grad_x = (g * weight * ctx.factor).reshape(x.shape)
            return grad_x, None, (g * x.reshape(g.shape)).sum() * ctx.factor, None

    class Combined(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, shape, weight, factor):
            output = Separate.forward(x, shape, weight, factor)
            Separate.setup_context(ctx, (x, shape, weight, factor), output)
            return output

        backward = Separate.backward

    x = torch.arange(6.0, requires_grad=True)
    weight = torch.tensor(2.0, requires_grad=True)
    results = []
    for function in (Separate, Combined):
        y = function.apply(x, (2, 3), weight, 5.0)
        results.append((y.tolist(), [g.tolist() for g in torch.autograd.grad((y * y).sum(), [x, weight])]))
    assert results[0] == results[1]
    assert results[0][0] == (x.detach().reshape(2, 3) * 10).tolist()


@entry("A", "setup_context_when_forward_has_default_args")
@pytest.mark.parametrize("method", [staticmethod, classmethod], ids=["static", "class"])
def test_setup_context_gets_the_defaults_of_forward(torch, method):
    with_class = method is classmethod

    def forward(*args):
        x, exponent = args[1:] if with_class else args
        return x**exponent

    class Power(torch.autograd.Function):
        if with_class:

            @classmethod
            def forward(cls, x, exponent=2):
                return x**exponent

            @classmethod
            def setup_context(cls, ctx, inputs, output):
                ctx.x, ctx.exponent = inputs

            @classmethod
            def backward(cls, ctx, g):
                return g * ctx.exponent * ctx.x ** (ctx.exponent - 1), None
        else:

            @staticmethod
            def forward(x, exponent=2):
                return x**exponent

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.x, ctx.exponent = inputs

            @staticmethod
            def backward(ctx, g):
                return g * ctx.exponent * ctx.x ** (ctx.exponent - 1), None

    x = torch.tensor(3.0, requires_grad=True)
    assert torch.autograd.grad(Power.apply(x), x)[0].item() == 6.0
    assert torch.autograd.grad(Power.apply(x, 3), x)[0].item() == 27.0


@entry("A", "custom_function_apply_kwargs", "custom_function_apply_kwargs_tensor")
def test_keywords_are_bound_to_the_parameters_of_forward(torch):
    """A Tensor that is given by keyword gets its gradient."""

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, power=1):
            ctx.save_for_backward(x, factor)
            ctx.power = power
            return x**power * factor

        @staticmethod
        def backward(ctx, g):
            x, factor = ctx.saved_tensors
            n = ctx.power
            return g * factor * n * x ** (n - 1), g * x**n, None

    x, factor = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    for result in (
        Scale.apply(x, factor, 2),
        Scale.apply(x, factor, power=2),
        Scale.apply(x, factor=factor, power=2),
        Scale.apply(x, power=2, factor=factor),
        Scale.apply(power=2, factor=factor, x=x),
    ):
        assert [g.item() for g in torch.autograd.grad(result, [x, factor])] == [30.0, 9.0]
        assert len([edge for edge, _ in result.grad_fn.next_functions if edge is not None]) == 2


@entry("A", "custom_function_apply_kwargs_errors", "custom_function_apply_kwargs_required")
def test_keywords_that_do_not_fit_are_errors(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g, None

    x = torch.ones(1, requires_grad=True)
    with pytest.raises(TypeError, match="other"):
        Scale.apply(x, 2.0, other=3.0)
    with pytest.raises(TypeError, match="factor"):
        Scale.apply(x, 2.0, factor=3.0)
    with pytest.raises(TypeError, match="factor"):
        Scale.apply(x=x)
    assert Scale.apply(x=x, factor=3.0).item() == 3.0


@entry("A", "custom_function_apply_kwargs_setup_context")
def test_keywords_and_setup_context(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, factor, power=2):
            return x**power * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            assert len(inputs) == 3
            ctx.x, ctx.factor, ctx.power = inputs

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor * ctx.power * ctx.x ** (ctx.power - 1), g * ctx.x**ctx.power, None

    x, factor = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    for result in (
        Scale.apply(x, factor=factor),
        Scale.apply(factor=factor, x=x),
        Scale.apply(x, power=2, factor=factor),
    ):
        assert [g.item() for g in torch.autograd.grad(result, [x, factor])] == [30.0, 9.0]


@entry("A", "no_grad_python_function")
def test_apply_under_no_grad_records_nothing(torch):
    class Shift(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = Shift.apply(x)
    assert not y.requires_grad
    assert y.grad_fn is None


@entry("A", "no_grad_input")
def test_an_argument_returned_under_no_grad(torch):
    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        y = Identity.apply(x)
    assert x.requires_grad
    assert y.grad_fn is None
    assert not y.requires_grad


@entry("A", "hook_none")
def test_needs_input_grad_is_known_in_forward_and_a_hook_of_an_unused_result_is_not_called(torch):
    calls = []

    class OneOfTwo(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            assert ctx.needs_input_grad[0]
            assert not ctx.needs_input_grad[1]
            return x * 1, y * 1

        @staticmethod
        def backward(ctx, g, h):
            return g, None

    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    a, b = OneOfTwo.apply(x, y)
    b.register_hook(lambda g: calls.append(g))
    (a.sum() + b.sum()).backward()
    assert all(g is not None for g in calls)
    assert x.grad.tolist() == [1.0, 1.0]


@entry("A", "gc_in_destructor")
def test_a_destructor_may_run_the_garbage_collector(torch):
    collected = []

    class Guard:
        def __del__(self):
            gc.collect()
            collected.append(True)

    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.guard = Guard()
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g + 0 * ctx.saved_tensors[0]

    x = torch.ones(1, requires_grad=True)
    y = Identity.apply(x)
    y.backward()
    del y
    gc.collect()
    assert collected == [True]


@entry("A", "custom_function_preserve_torch_function_when_return_as_is")
def test_the_class_of_an_argument_is_that_of_the_result(torch):
    class Named(torch.Tensor):
        pass

    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    x = Named([1.0, 2.0])
    assert type(Identity.apply(x)) is Named
