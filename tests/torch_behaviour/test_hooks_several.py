"""One hook on several Tensors."""

import pytest

from torch_behaviour.entry import entry


@entry("C", "multi_grad_all_hooks")
def test_all_waits_for_every_tensor_that_will_be_reached(torch):
    a, b, c, d = (torch.tensor(1.0, requires_grad=True) * 1 for _ in range(4))
    calls = []
    handle = torch.autograd.graph.register_multi_grad_hook(
        (a, b, c, d), lambda grads: calls.append([None if g is None else g.item() for g in grads])
    )
    (a * b * c * 2 + b * 3).backward(retain_graph=True)
    assert calls == [[2.0, 5.0, 2.0, None]]
    (d * 7).backward(retain_graph=True)
    assert calls[1:] == [[None, None, None, 7.0]]
    handle.remove()
    (d * 7).backward(retain_graph=True)
    assert len(calls) == 2


@entry("C", "multi_grad_all_hooks")
def test_all_is_called_as_soon_as_the_last_gradient_is_there(torch):
    events = []
    x = torch.tensor(1.0, requires_grad=True)
    a = x * 2
    b = a * 3
    c = b * 4
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: events.append([g.item() for g in grads]))
    a.register_hook(lambda g: events.append("a"))
    x.register_hook(lambda g: events.append("x"))
    c.backward()
    assert events == [[12.0, 4.0], "a", "x"]


@entry("C", "multi_grad_all_hooks")
def test_an_error_of_the_hook_is_that_of_the_pass_and_the_next_pass_starts_afresh(torch):
    calls = []

    def hook(grads):
        calls.append(len(calls))
        if len(calls) == 1:
            raise LookupError("the first time")

    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook((a, b), hook)
    with pytest.raises(LookupError, match="the first time"):
        (a * b).backward()
    (a * b).backward()
    assert calls == [0, 1]


@entry("C", "multi_grad_all_hooks")
def test_gradients_that_are_missing_are_none(torch):
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g, None

    calls = []
    a, b = (torch.tensor(1.0, requires_grad=True) * 1 for _ in range(2))
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: calls.append([g is None for g in grads]))
    Nothing.apply(a, b).backward()
    assert calls == [[False, True]]


@entry("C", "multi_grad_any_hooks")
def test_any_is_called_once_per_pass_with_the_first_gradient(torch):
    x = torch.tensor(1.0, requires_grad=True)
    a = x * 2
    b = a * 3
    c = b * 4
    calls = []
    handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda g: calls.append(g.item()), mode="any")
    c.backward(retain_graph=True)
    assert calls == [4.0]
    a.backward(retain_graph=True)
    assert calls == [4.0, 1.0]
    handle.remove()
    c.backward()
    assert len(calls) == 2


@entry("C", "multi_grad_hooks_invalid_mode")
def test_modes_have_names(torch):
    x = torch.tensor(1.0, requires_grad=True)
    with pytest.raises(ValueError, match="some"):
        torch.autograd.graph.register_multi_grad_hook((x,), lambda g: None, mode="some")
