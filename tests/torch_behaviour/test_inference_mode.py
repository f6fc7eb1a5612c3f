"""``inference_mode``: as in torch while it lasts; what it makes are ordinary Tensors here (docs/differences.md)."""

import pytest

from torch_behaviour.entry import entry


@entry("D", "inference_mode_context_manager")
def test_the_mode_is_known_and_can_be_nested(torch):
    assert not torch.is_inference_mode_enabled()
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled()
        with torch.inference_mode(False):
            assert not torch.is_inference_mode_enabled()
        assert torch.is_inference_mode_enabled()
    assert not torch.is_inference_mode_enabled()


@entry("D", "inference_mode_decorator")
@pytest.mark.parametrize("mode", [True, False, None])
def test_the_mode_as_a_decorator(torch, mode):
    switch = torch.inference_mode if mode is None else torch.inference_mode(mode)

    @switch
    def function(x):
        assert torch.is_inference_mode_enabled() is (mode is not False)
        return x * x

    x = torch.ones(2, requires_grad=True)
    assert function(x).requires_grad is (mode is False)


@entry(
    "D", "inference_mode_tensor_creation", differs="is_inference() is False: what the mode makes are ordinary Tensors"
)
def test_what_is_made_inside(torch, here):
    with torch.inference_mode():
        made = torch.ones(1, 2, 3)
        asked = torch.ones(1, 2, 3, requires_grad=True)
    assert not made.requires_grad
    assert asked.requires_grad
    assert made.is_inference() is (not here)
    assert not torch.ones(2).is_inference()


@entry("D", "inference_mode_existing_autograd_session")
def test_a_graph_from_before_the_mode_can_be_differentiated_after_it(torch):
    s = torch.ones(1, 2, 3, requires_grad=True)
    a = s.clone()
    out = a * a
    with torch.inference_mode():
        a.add_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    out = (s.clone() * s.clone()).sum()
    with torch.inference_mode():
        assert not (s * 2).requires_grad
    out.backward()
    assert s.grad.tolist() == [[[2.0] * 3] * 2]


@entry("D", "inference_mode_inf_tensor_in_inf_mode_functional_op")
@pytest.mark.parametrize("requires_grad", [True, False])
def test_results_inside_have_no_gradients(torch, requires_grad):
    with torch.inference_mode():
        c = torch.ones(1, 2, 3, requires_grad=requires_grad)
        result = c * c
    assert not result.requires_grad
    assert result.grad_fn is None
    assert result.is_leaf


@entry("D", "inference_mode_inf_tensor_in_inf_mode_inplace_op", "inference_mode_inf_tensor_in_inf_mode_view_op")
def test_writes_and_views_inside(torch):
    with torch.inference_mode():
        c = torch.ones(1, 2, 3)
        c.mul_(2)
        view = c.view(2, 3)
        view[0] = 7.0
    assert c.tolist() == [[[7.0] * 3, [2.0] * 3]]
    assert not view.requires_grad
    assert view.grad_fn is None


@entry("D", "inference_mode_inf_tensor_in_normal_mode_functional_op")
def test_what_was_made_inside_is_used_outside(torch):
    with torch.inference_mode():
        c = torch.ones(1, 2, 3)
    result = c * 3
    assert not result.requires_grad
    x = torch.ones(1, 2, 3, requires_grad=True)
    (x + c).sum().backward()  # nothing needs to be saved
    assert x.grad.tolist() == [[[1.0] * 3] * 2]


@entry(
    "D",
    "inference_mode_mix_inference_and_normal_tensor_functional_op",
    differs="what the mode made can be saved for backward: it is an ordinary Tensor",
)
def test_what_was_made_inside_is_saved_for_backward(torch, here):
    with torch.inference_mode():
        c = torch.ones(2) * 3
    x = torch.ones(2, requires_grad=True)
    if here:
        (x * c).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
    else:
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            x * c


@entry(
    "D",
    "inference_mode_inf_tensor_in_normal_mode_inplace_op",
    "inference_mode_mix_inference_and_normal_tensor_inplace_op",
    differs="what the mode made can be written outside: it is an ordinary Tensor",
)
def test_what_was_made_inside_is_written_outside(torch, here):
    with torch.inference_mode():
        c = torch.ones(2)
    x = torch.ones(2, requires_grad=True)
    if here:
        c.mul_(3)
        c.add_(x)
        c.sum().backward()
        assert c.tolist() == [4.0, 4.0]
        assert x.grad.tolist() == [1.0, 1.0]
    else:
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            c.mul_(3)


@entry(
    "D", "inference_mode_inf_tensor_in_normal_mode_view_op", "inference_mode_mix_inference_and_normal_tensor_view_op"
)
def test_views_outside_of_what_was_made_inside(torch):
    with torch.inference_mode():
        c = torch.ones(2, 3)
    view = c.view(6)
    assert not view.requires_grad
    assert view.grad_fn is None
    x = torch.ones(6, requires_grad=True)
    (x.view_as(view) * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 6


@entry("D", "inference_mode_normal_tensor_inplace_output_in_inference_mode")
def test_an_ordinary_tensor_written_inside_keeps_its_flag(torch):
    a = torch.ones(2, requires_grad=True).clone()
    with torch.inference_mode():
        a.add_(2)
        assert a.requires_grad
        a.view(2).mul_(3)
    assert a.tolist() == [9.0, 9.0]
    assert a.requires_grad
    assert not a.is_inference()


@entry("D", "inference_mode_normal_tensor_inplace_output_in_normal_mode")
def test_an_ordinary_tensor_written_inside_and_then_outside(torch):
    s = torch.ones(2, requires_grad=True)
    a = s.clone()
    with torch.inference_mode():
        a.add_(2)
    a.add_(2)
    (a * 3).sum().backward()
    assert a.tolist() == [5.0, 5.0]
    assert s.grad.tolist() == [3.0, 3.0]


@entry(
    "D",
    "inference_mode_normal_tensor_view_output_in_inference_mode",
    differs="a view made without recording says that it does not require gradients",
)
def test_a_view_made_inside_of_an_ordinary_tensor(torch, here):
    a = torch.ones(2, 3, requires_grad=True).clone()
    with torch.inference_mode():
        view = a.view(6)
        assert view.requires_grad is (not here)
        assert view.grad_fn is None
        view.mul_(2)
    assert a.tolist() == [[2.0] * 3] * 2


@entry(
    "D",
    "inference_mode_normal_tensor_view_output_in_normal_mode",
    "inference_mode_handle_direct_view_on_rebase",
    "inference_mode_handle_indirect_view_on_rebase",
)
@pytest.mark.parametrize("indirect", [False, True])
def test_a_view_made_inside_cannot_be_written_outside(torch, indirect):
    a = torch.ones(2, 3, requires_grad=True).clone()
    with torch.inference_mode():
        view = a.view(6)
    view = view.view(3, 2) if indirect else view
    with pytest.raises(RuntimeError, match="is being modified inplace"):
        view.mul_(2)
    assert a.tolist() == [[1.0] * 3] * 2
