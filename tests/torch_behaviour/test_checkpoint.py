"""Checkpoints: the same gradients as without, of any order, from a second call of the function."""

import warnings

import pytest

from torch_behaviour.entry import entry


def checkpoint(torch, *args, **options):
    import importlib

    module = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    return module.checkpoint(*args, use_reentrant=False, **options)


def tools(torch):
    import importlib

    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


class Counted:
    """A function that counts its calls."""

    def __init__(self, func):
        self.func, self.calls = func, 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.func(*args, **kwargs)


@entry("I", "checkpointing_without_reentrant_correct_grad")
def test_backward_and_grad_agree_with_a_plain_call(torch):
    x = torch.linspace(0.5, 2.0, 4, dtype=torch.float64).requires_grad_()

    def func(x):
        return torch.exp(torch.sin(x) * x)

    plain = torch.autograd.grad(func(x).sum(), x)[0]
    assert torch.allclose(torch.autograd.grad(checkpoint(torch, func, x).sum(), x)[0], plain)
    checkpoint(torch, func, x).sum().backward()
    assert torch.allclose(x.grad, plain)
    (first,) = torch.autograd.grad(checkpoint(torch, func, x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    (expected,) = torch.autograd.grad(torch.autograd.grad(func(x).sum(), x, create_graph=True)[0].sum(), x)
    assert torch.allclose(second, expected)


@entry("I", "access_saved_tensor_twice_without_recomputation_works")
def test_one_recomputation_serves_one_pass(torch):
    runs = Counted(lambda a: torch.exp(a) * a)
    a = torch.tensor(1.0, requires_grad=True)
    y = checkpoint(torch, runs, a)
    assert runs.calls == 1
    y.backward(retain_graph=True)
    assert runs.calls == 2
    y.backward(retain_graph=True)
    assert runs.calls == 3
    y.backward()
    assert runs.calls == 4
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


@entry("I", "access_saved_tensor_twice_without_recomputation_works")
def test_a_value_that_is_read_twice_in_one_pass(torch):
    reads = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (one,) = ctx.saved_tensors
            (two,) = ctx.saved_tensors
            reads.append((one.item(), two.item()))
            return g * (one + two)

    runs = Counted(lambda x: Twice.apply(torch.sin(x)))
    x = torch.tensor(0.5, requires_grad=True)
    if torch.__name__ == "torch":  # torch gives each value of a recomputation out once
        with pytest.raises(Exception, match="Unpack is being triggered for a tensor that was already unpacked once"):
            checkpoint(torch, runs, x).backward()
        return
    checkpoint(torch, runs, x).backward()
    assert runs.calls == 2
    assert reads[0][0] == reads[0][1]


@entry(
    "I",
    "checkpointing_without_reentrant_custom_function_works",
    differs="a value may be read twice: the recomputed values are kept until the pass ends",
)
def test_a_custom_function_in_a_checkpoint(torch):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, z):
            w = x * y * z
            ctx.save_for_backward(x, y, z, w)
            return w

        @staticmethod
        def backward(ctx, g):
            x, y, z, w = ctx.saved_tensors
            assert torch.allclose(w, x * y * z)
            return g * y * z, g * x * z, g * x * y

    def func(x, y, z):
        return Product.apply(x, y, z).sum()

    xs = [torch.full((3,), float(k), requires_grad=True) for k in (1, 2, 3)]
    checkpoint(torch, func, *xs).backward()
    assert [x.grad.tolist() for x in xs] == [[6.0] * 3, [3.0] * 3, [2.0] * 3]


@entry("I", "checkpointing_without_reentrant_with_context_fn")
def test_contexts_of_the_first_call_and_of_the_second(torch):
    seen = []

    class Tells:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(f"into {self.name}")

        def __exit__(self, *_):
            seen.append(f"out of {self.name}")

    def func(x):
        seen.append("call")
        return torch.exp(x)

    x = torch.tensor(1.0, requires_grad=True)
    y = checkpoint(torch, func, x, context_fn=lambda: (Tells("first"), Tells("second")))
    assert seen == ["into first", "call", "out of first"]
    y.backward()
    assert seen[3:] == ["into second", "call", "out of second"]


@entry("I", "checkpoint_warns_if_use_reentrant_not_passed")
def test_nothing_has_to_be_said_about_reentrance(torch, here):
    x = torch.tensor(1.0, requires_grad=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tools(torch).checkpoint(torch.exp, x, use_reentrant=False).backward()
        assert not told
        if here:
            tools(torch).checkpoint(torch.exp, x).backward()
            assert not told


class Changing:
    """Another function in its second call."""

    def __init__(self, first, second):
        self.functions = [first, second]

    def __call__(self, x):
        return self.functions.pop(0)(x)


@entry("I", "checkpoint_detects_non_determinism")
def test_a_recomputation_that_saves_less_or_more(torch):
    x = torch.ones(3, requires_grad=True)
    error = tools(torch).CheckpointError
    less = Changing(lambda x: x.sin().exp().sin(), lambda x: x.sin())
    with pytest.raises(error, match="different number"):
        checkpoint(torch, less, x).sum().backward()
    more = Changing(lambda x: x.sin(), lambda x: x.sin().exp().sin())
    with (
        tools(torch).set_checkpoint_early_stop(False),
        pytest.raises(error, match=r"save more tensors|different number"),
    ):
        checkpoint(torch, more, x).sum().backward()


@entry("I", "checkpoint_detects_non_determinism")
def test_a_recomputation_that_saves_something_else(torch):
    x = torch.ones(3, requires_grad=True)
    error = tools(torch).CheckpointError
    for second in (lambda x: torch.cat([x, x]).exp()[:3], lambda x: x.to(torch.float64).exp()):
        other = Changing(lambda x: x.exp(), second)
        with pytest.raises(error, match=r"different metadata|different number"):
            checkpoint(torch, other, x).sum().backward()
    assert issubclass(error, RuntimeError)


@entry("I", "checkpoint_detects_non_determinism")
def test_the_check_can_be_left_out(torch):
    x = torch.ones(3, requires_grad=True)
    other = Changing(lambda x: (x * 2).exp(), lambda x: (x * 2).to(torch.float64).exp())
    checkpoint(torch, other, x, determinism_check="none").sum().backward()
    assert torch.allclose(x.grad, 2 * torch.exp(torch.full((3,), 2.0)))
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(torch, torch.exp, x, determinism_check="everything")


@entry("I", "checkpoint_valid_reset_on_error", differs="grad() works, whatever use_reentrant says")
def test_a_pass_after_one_that_failed(torch, here):
    x = torch.ones(2, requires_grad=True)
    y = tools(torch).checkpoint(torch.exp, x, use_reentrant=True).sum()
    if here:
        torch.autograd.grad(y, x)
    else:
        with pytest.raises(RuntimeError, match=r"when use_reentrant=True|torch\.utils\.checkpoint is incompatible"):
            torch.autograd.grad(y, x)
    z = tools(torch).checkpoint(torch.exp, x, use_reentrant=True).sum()
    z.backward()
    assert torch.allclose(x.grad, torch.exp(torch.ones(2)))


def test_a_pass_after_a_function_that_failed_in_its_second_call(torch):
    x = torch.ones(2, requires_grad=True)

    def broken(x):
        raise RuntimeError("second call")

    with pytest.raises(RuntimeError, match="second call"):
        checkpoint(torch, Changing(torch.exp, broken), x).sum().backward()
    checkpoint(torch, torch.exp, x).sum().backward()
    assert torch.allclose(x.grad, torch.exp(torch.ones(2)))


@entry("I", "checkpointing_without_reentrant_detached_tensor")
def test_parts_without_recording(torch):
    weight = torch.tensor([2.0, 3.0], requires_grad=True)
    x = torch.ones(2, requires_grad=True)

    def func(x):
        with torch.no_grad():
            scale = (x * weight).exp()
        return x * scale * weight

    out = checkpoint(torch, func, x)
    assert out.requires_grad
    out.sum().backward()
    assert torch.allclose(x.grad, torch.exp(weight.detach()) * weight.detach())
    nothing = checkpoint(torch, lambda x: func(x).detach(), x)
    assert not nothing.requires_grad
    assert nothing.grad_fn is None


@entry("I", "checkpointing_without_reentrant_saved_object_identity")
def test_a_constant_that_is_saved_is_the_same_object(torch, here):
    seen = []

    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, constant):
            ctx.save_for_backward(constant)
            return x * constant

        @staticmethod
        def backward(ctx, g):
            (constant,) = ctx.saved_tensors
            seen.append(constant)
            return g * constant, None

    x, constant = torch.ones(2, requires_grad=True), torch.tensor([2.0, 3.0])
    checkpoint(torch, Times.apply, x, constant).sum().backward()
    assert seen[0] is constant
    assert x.grad.tolist() == [2.0, 3.0]


@entry("I", "checkpointing_without_reentrant_parameter_used_in_an_out")
def test_a_hook_of_a_leaf_that_is_used_inside_and_outside_runs_once(torch):
    w, x = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    hooked = []
    w.register_hook(lambda g: hooked.append(g.tolist()))
    out = checkpoint(torch, lambda x: x * w * w, x) * w
    out.sum().backward()
    assert hooked == [[9.0, 48.0]]
    assert w.grad.tolist() == [9.0, 48.0]


@entry("I", "checkpointing_without_reentrant_arbitrary_input_output")
def test_dicts_and_lists_go_in_and_out(torch):
    w = torch.tensor([2.0, 3.0], requires_grad=True)

    def func(batch, *, scale):
        return {"out": [batch["x"] * w * scale], "name": batch["name"]}

    x = torch.ones(2, requires_grad=True)
    result = checkpoint(torch, func, {"x": x, "name": "b"}, scale=5)
    assert result["name"] == "b"
    result["out"][0].sum().backward()
    assert x.grad.tolist() == [10.0, 15.0]
    assert w.grad.tolist() == [5.0, 5.0]
