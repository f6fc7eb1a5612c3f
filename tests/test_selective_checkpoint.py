"""Checkpoints that keep some results: these are not computed again, the gradients are the same, the rest is forgotten."""

import gc
import weakref

import numpy as np
import pytest

import pullback.torch as torch
from pullback.autograd.selective import operator_of
from pullback.ops.linalg import Matmul
from pullback.torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)


class Counter:
    """Asked at every operator: counts the calls of each, and keeps the results of some."""

    def __init__(self, *names, policy=CheckpointPolicy.MUST_SAVE):
        self.names, self.policy = names, policy
        self.first, self.again = [], []

    def __call__(self, context, operator, *args, **options):
        (self.again if context.is_recompute else self.first).append(operator.__name__)
        return self.policy if operator.__name__ in self.names else CheckpointPolicy.PREFER_RECOMPUTE


class Runs:
    """Counts how often the forward of an operator really runs."""

    def __init__(self, monkeypatch, operator):
        self.count = 0
        run = operator.forward

        def forward(ctx, *args, **options):
            self.count += 1
            return run(ctx, *args, **options)

        monkeypatch.setattr(operator, "forward", staticmethod(forward))


def block(x, w):
    h = torch.sin(x @ w)
    return torch.exp(h @ w) * x


def inputs():
    rng = np.random.default_rng(0)
    return [torch.tensor(rng.normal(size=(3, 3)), requires_grad=True) for _ in range(2)]


def expected():
    x, w = inputs()
    return [g.numpy() for g in torch.autograd.grad(block(x, w).sum(), (x, w))]


@pytest.mark.parametrize(
    "policy",
    [
        [],
        [torch.matmul],
        [torch.mm, torch.sin],
        [torch.exp],
        [torch.matmul, torch.exp, torch.sin, torch.mul],
        lambda context, operator, *args, **options: True,
        lambda context, operator, *args, **options: False,
        lambda context, operator, *args, **options: CheckpointPolicy.PREFER_SAVE,
        lambda context, operator, *args, **options: CheckpointPolicy.MUST_RECOMPUTE,
    ],
)
def test_gradients_are_the_same(policy):
    x, w = inputs()
    y = checkpoint(block, x, w, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
    y.sum().backward()
    for found, right in zip((x.grad, w.grad), expected(), strict=True):
        np.testing.assert_array_equal(found.numpy(), right)


def test_second_derivatives_and_several_passes():
    x, w = inputs()

    def first(function):
        return torch.autograd.grad(function(x, w).sum(), x, create_graph=True)[0]

    def selective(x, w):
        return checkpoint(block, x, w, context_fn=lambda: create_selective_checkpoint_contexts([torch.matmul]))

    for _ in range(2):
        (found,) = torch.autograd.grad((first(selective) ** 2).sum(), w)
        (right,) = torch.autograd.grad((first(block) ** 2).sum(), w)
        np.testing.assert_allclose(found.numpy(), right.numpy(), rtol=1e-12)
    y = selective(x, w).sum()
    y.backward(retain_graph=True)
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * expected()[0], rtol=1e-12)


def test_what_is_kept_is_not_computed_again(monkeypatch):
    runs = Runs(monkeypatch, Matmul)
    x, w = inputs()
    for policy, count in (([], 4), ([torch.matmul], 2)):
        runs.count = 0
        y = checkpoint(
            lambda *a: torch.sin(block(*a)), x, w, context_fn=lambda p=policy: create_selective_checkpoint_contexts(p)
        )
        assert runs.count == 2
        y.backward(torch.ones(3, 3, dtype=torch.float64))
        assert runs.count == count


def test_the_policy_is_asked_in_both_calls():
    counter = Counter("Matmul")
    x, w = inputs()
    y = checkpoint(block, x, w, context_fn=lambda: create_selective_checkpoint_contexts(counter))
    assert counter.first == ["Matmul", "Sin", "Matmul", "Exp", "Multiply"]
    y.sum().backward()
    assert counter.again[:4] == ["Matmul", "Sin", "Matmul", "Exp"]


def test_only_what_the_policy_names_stays():
    x, w = inputs()
    kept = []

    def watched(x, w):
        product = x @ w
        sine = torch.sin(product)
        kept.extend([weakref.ref(product._array), weakref.ref(sine._array)])
        return torch.exp(sine)

    gc.collect()
    gc.disable()
    try:
        y = checkpoint(watched, x, w, context_fn=lambda: create_selective_checkpoint_contexts([torch.matmul]))
        assert [reference() is not None for reference in kept] == [True, False]
        del y
        assert [reference() is not None for reference in kept] == [False, False]
        y = checkpoint(watched, x, w, context_fn=lambda: create_selective_checkpoint_contexts([torch.matmul]))
        y.sum().backward()
        del y
        assert [reference() is not None for reference in kept[2:]] == [False] * (len(kept) - 2)
    finally:
        gc.enable()


def test_a_kept_result_that_was_written():
    x, w = inputs()

    def writing(x, w):
        y = x @ w
        y.add_(1)
        return torch.sin(y) * x

    refusing = checkpoint(writing, x, w, context_fn=lambda: create_selective_checkpoint_contexts([torch.matmul]))
    with pytest.raises(RuntimeError, match="has been mutated"):
        refusing.sum().backward()
    allowing = checkpoint(
        writing,
        x,
        w,
        context_fn=lambda: create_selective_checkpoint_contexts([torch.matmul], allow_cache_entry_mutation=True),
    )
    found = torch.autograd.grad(allowing.sum(), (x, w))
    right = torch.autograd.grad(writing(x, w).sum(), (x, w))
    for a, b in zip(found, right, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_a_policy_that_changes_its_mind():
    x, w = inputs()

    def fickle(context, operator, *args, **options):
        return context.is_recompute and operator is Matmul

    y = checkpoint(block, x, w, context_fn=lambda: create_selective_checkpoint_contexts(fickle))
    with pytest.raises(RuntimeError, match="not found in storage"):
        y.sum().backward()


def test_functions_and_views_and_several_results():
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            s, c = torch.sin(x), torch.cos(x)
            ctx.save_for_backward(s, c)
            calls.append(1)
            return s, c

        @staticmethod
        def backward(ctx, gs, gc):
            s, c = ctx.saved_tensors
            return gs * c - gc * s

    calls = []
    x, _ = inputs()

    def function(x):
        s, c = Both.apply(x[:, 1:].t())
        return torch.exp(s * c)[0]

    (right,) = torch.autograd.grad(function(x).sum(), x)
    for policy, count in (([Both], 1), ([], 2)):
        calls.clear()
        y = checkpoint(function, x, context_fn=lambda p=policy: create_selective_checkpoint_contexts(p))
        (found,) = torch.autograd.grad(y.sum(), x)
        np.testing.assert_allclose(found.numpy(), right.numpy())
        assert len(calls) == count


def test_names_of_operators():
    assert operator_of(torch.mm) is operator_of(torch.matmul) is operator_of(Matmul) is Matmul
    with pytest.raises(ValueError, match="no single operator"):
        create_selective_checkpoint_contexts([torch.nn.functional.cross_entropy])


def test_operators_by_the_names_of_the_dispatcher(monkeypatch):
    """A policy as it is written for torch."""
    runs = Runs(monkeypatch, Matmul)
    x, w = inputs()
    keep = {torch.ops.aten.mm.default, torch.ops.aten.sin.default}
    assert torch.ops.aten.mm == Matmul

    def policy(context, operator, *args, **kwargs):
        return CheckpointPolicy.MUST_SAVE if operator in keep else CheckpointPolicy.PREFER_RECOMPUTE

    y = checkpoint(block, x, w, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))
    y.sum().backward()
    assert runs.count == 2
    np.testing.assert_array_equal(w.grad.numpy(), expected()[1])
    create_selective_checkpoint_contexts([torch.ops.aten.mm.default, torch.ops.aten.exp])
    with pytest.raises(AttributeError, match="no single operator"):
        torch.ops.aten.scaled_dot_product_attention  # noqa: B018


def test_outside_of_a_checkpoint_the_contexts_change_nothing():
    first, second = create_selective_checkpoint_contexts([torch.matmul])
    x, w = inputs()
    with first:
        y = block(x, w)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected()[0])
    with torch.no_grad(), second:
        block(x, w)


def test_under_transformations():
    x = torch.tensor(np.linspace(0.1, 1.2, 6).reshape(2, 3))

    def selective(t):
        contexts = lambda: create_selective_checkpoint_contexts([torch.sin])  # noqa: E731
        return checkpoint(lambda t: torch.exp(torch.sin(t)).sum(), t, context_fn=contexts)

    slope = torch.cos(x) * torch.exp(torch.sin(x))
    np.testing.assert_allclose(torch.func.vmap(torch.func.grad(selective))(x).numpy(), slope.numpy())
    np.testing.assert_allclose(torch.func.jacfwd(selective)(x[0]).numpy(), slope[0].numpy())
    plain = torch.func.hessian(lambda t: torch.exp(torch.sin(t)).sum())(x[0])
    np.testing.assert_allclose(torch.func.hessian(selective)(x[0]).numpy(), plain.numpy())
