"""What forward and backward of a custom Function may take and return."""

import pytest

from torch_behaviour.entry import entry


@entry("A", "function_returns_input")
@pytest.mark.parametrize("shape", [(1,), ()])
def test_an_argument_returned_as_it_is_goes_through_the_rule(torch, shape):
    """The gradient is that of backward (twice), for a leaf and for a computed Tensor."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(shape, requires_grad=True)
    Twice.apply(x).backward()
    assert x.grad.item() == 2.0
    x.grad = None
    Twice.apply(x.clone() * 3).backward()
    assert x.grad.item() == 6.0


@entry("A", "function_returns_undefined_tensor")
def test_none_from_backward_is_no_gradient_not_zero(torch):
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = torch.ones(2, requires_grad=True)
    Nothing.apply(x).sum().backward()
    assert x.grad is None
    Nothing.apply(x**2).sum().backward()
    assert x.grad is None
    (Nothing.apply(x).sum() + (x * 3).sum()).backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert torch.autograd.grad(Nothing.apply(x).sum(), x, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        torch.autograd.grad(Nothing.apply(x).sum(), x)


@entry("A", "custom_function_exception")
def test_an_exception_of_backward_reaches_the_caller_unchanged(torch):
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            raise error

    error = LookupError("no such thing")
    x, y = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    with pytest.raises(LookupError) as caught:
        Broken.apply(x * 2, y.clone()).sum().backward()
    assert caught.value is error


@entry("A", "custom_function_non_tensor_inputs_outputs")
def test_numbers_and_strings_go_in_and_come_out_between_tensors(torch):
    """They come out as they are; backward gets None in their places, and returns None for them."""
    seen = []

    class Mixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, y, name):
            ctx.factor = factor
            ctx.save_for_backward(x, y)
            return name, x * y * factor, None, x + y, 7, [1, 2], y * factor

        @staticmethod
        def backward(ctx, *grads):
            seen.append([g is None for g in grads])
            x, y = ctx.saved_tensors
            _, product, _, total, _, _, scaled = grads
            return product * y * ctx.factor + total, None, (product * x + scaled) * ctx.factor + total, None

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    results = Mixed.apply(x, 5.0, y, "a name")
    assert (results[0], results[2], results[4], results[5]) == ("a name", None, 7, [1, 2])
    (results[1] + results[3] + results[6]).sum().backward()
    assert seen == [[True, False, True, False, True, True, False]]
    assert x.grad.tolist() == [16.0, 21.0]
    assert y.grad.tolist() == [11.0, 16.0]
    tensors = lambda x, y: [r for r in Mixed.apply(x, 5.0, y, "") if isinstance(r, torch.Tensor)]  # noqa: E731
    assert torch.autograd.gradcheck(lambda x, y: tuple(tensors(x, y)), (x, y))


@entry("A", "custom_function_no_tensors")
def test_apply_on_numbers_only_runs_forward(torch):
    class MulAdd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, c):
            return a * b + c

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("never called")

    assert MulAdd.apply(2, 3, 4.5) == 10.5


@entry("A", "invalid_gradients")
def test_a_gradient_of_a_wrong_shape_is_refused(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return torch.rand(10)

    x = torch.rand(5, 5, requires_grad=True)
    with pytest.raises(RuntimeError, match="expected shape"):
        Wrong.apply(x).sum().backward()


@entry("A", "too_many_grads")
def test_trailing_nones_are_ignored(torch):
    class Generous(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g, None, None

    x = torch.ones(3, requires_grad=True)
    Generous.apply(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


@entry("A", "unrelated_inputs")
def test_an_argument_that_forward_does_not_use_has_gradient_zero(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g, None

    x = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)
    y = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Square.apply, (x, y))
    assert torch.autograd.gradgradcheck(Square.apply, (x, y))


@entry("A", "return_duplicate")
def test_one_tensor_returned_twice_is_one_result(torch):
    class Twin(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x * 2
            return result, result

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 2

    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    first, second = Twin.apply(x)
    assert first is second
    assert torch.autograd.gradcheck(Twin.apply, (x,))
    assert torch.autograd.gradgradcheck(Twin.apply, (x,))
    (first + 3 * second).sum().backward()
    assert x.grad.tolist() == [8.0, 8.0, 8.0]


@entry("A", "return_leaf")
def test_a_hook_on_an_argument_that_is_returned_sees_the_gradient_through_the_rule_only(torch):
    """The result is another Tensor: hooks of the argument see the sum of all ways, those of the result its own."""

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a, a + b

        @staticmethod
        def backward(ctx, g, h):
            return g + h, h

    seen = []
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    same, total = Pair.apply(x, y)
    assert same is not x
    same.register_hook(lambda g: seen.append(g.tolist()))
    (same * 2 + total * 5 + x * 100).sum().backward()
    assert seen == [[2.0, 2.0, 2.0]]
    assert x.grad.tolist() == [107.0] * 3
    assert y.grad.tolist() == [5.0] * 3


@entry("A", "dep_nograd")
def test_a_result_without_gradient_may_feed_another_function(torch):
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            mask = x > 0
            index = x * 10
            ctx.mark_non_differentiable(mask, index)
            return x * 2, mask, index

        @staticmethod
        def backward(ctx, g, *rest):
            return g * 2

    class Join(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, mask, index):
            ctx.save_for_backward(mask)
            return x * mask + index

        @staticmethod
        def backward(ctx, g):
            (mask,) = ctx.saved_tensors
            return g * mask, None, None

    x = torch.tensor([1.0, -1.0], requires_grad=True)
    Join.apply(*Split.apply(x)).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0]


@entry("A", "boxed_grads_call")
def test_backward_may_ask_for_one_list_of_gradients_that_it_can_empty(torch):
    seen = []

    class Boxed(torch.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grads):
            seen.append(type(grads))
            first, second = grads
            grads.clear()
            return first * 2 + second * 3

    x = torch.ones(2, requires_grad=True)
    a, b = Boxed.apply(x)
    (a + b).sum().backward()
    assert seen == [list]
    assert x.grad.tolist() == [5.0, 5.0]


@entry("A", "custom_function_error")
def test_what_a_function_class_lacks_is_named_when_it_is_needed(torch):
    class NoForward(torch.autograd.Function):
        @staticmethod
        def backward(ctx, g):
            return g

    class NoBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def vjp(ctx, g):
            return g

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="must implement the forward"):
        NoForward.apply(x)
    result = NoBackward.apply(x)
    with pytest.raises(NotImplementedError, match="must implement either the backward"):
        result.sum().backward()
    result = Both.apply(x)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        result.sum().backward()


@entry(
    "A", "custom_function_error", differs="a Function without jvp has a forward mode: it is derived from its backward"
)
def test_a_missing_jvp(torch, here):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        if here:
            assert forward_ad.unpack_dual(Square.apply(dual)).tangent.item() == 6.0
        else:
            with pytest.raises(NotImplementedError, match="must implement the jvp"):
                Square.apply(dual)
