"""Anomaly detection: which node made the NaN, and where it was recorded."""

import contextlib
import gc
import warnings
import weakref

import pytest

from torch_behaviour.entry import entry


def story(error, told):
    """What a reader is told: torch warns, here it stands below the error."""
    return "\n".join([*map(str, getattr(error, "__notes__", ())), *(str(w.message) for w in told)])


@contextlib.contextmanager
def warned():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield told


class Note(dict):
    """A dict that can be referred to weakly."""


def nan_maker(torch, name="MyFunc", outputs=1):
    """A Function whose backward gives NaN to its first argument, or from the second output to its second."""

    def forward(ctx, x, y, bad):
        ctx.bad = bad
        return (x.sum(), y.sum())

    def backward(ctx, gx, gy):
        gx, gy = gx.expand(3).clone(), gy.expand(3).clone()
        (gx, gy)[ctx.bad].mul_(float("nan"))
        return gx, gy, None

    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(name, (torch.autograd.Function,), body)


@entry("G", "anomaly_detect_nan", differs="the story stands in the notes of the error, not in warnings")
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("recorded", [True, False])
def test_nan_names_the_node_its_output_and_the_call(torch, here, number, recorded):
    function = nan_maker(torch)
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    with torch.autograd.set_detect_anomaly(recorded):
        one, two = function.apply(x, y, number)
    with (
        warned() as told,
        torch.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match="Function 'MyFuncBackward' returned nan values in its") as caught,
    ):
        (one + two).backward()
    assert f"in its {number}th output" in str(caught.value)
    text = story(caught.value, told)
    known = "one, two = function.apply(x, y, number)" in text
    assert known == (recorded or here)  # the line of the call is known here in any case
    assert here or ("No forward pass information" in text) == (not recorded)


@entry("G", "anomaly_detect_nan")
def test_without_detection_nan_goes_on(torch):
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    one, two = nan_maker(torch).apply(x, y, 0)
    (one + two).backward()
    assert x.grad.isnan().all()
    assert (y.grad == 1).all()


@entry("G", "nested_anomaly_detect_nan", differs="the story stands in the notes of the error, not in warnings")
def test_a_backward_of_a_backward_tells_the_whole_story(torch, here):

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, g):
            return g * 2

        @staticmethod
        def backward(ctx, gg):
            return gg * float("nan")

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return Inner.apply(g)  # recorded here, differentiated later

    with warned() as told, torch.autograd.detect_anomaly():
        x = torch.ones(3, requires_grad=True)
        (first,) = torch.autograd.grad(Outer.apply(x).pow(2).sum(), x, create_graph=True)
        with pytest.raises(
            RuntimeError, match="Function 'InnerBackward' returned nan values in its 0th output"
        ) as caught:
            first.sum().backward()
    text = story(caught.value, told)
    assert "return Inner.apply(g)" in text
    assert ("in the backward of OuterBackward" if here else "induced by OuterBackward") in text
    assert "torch.autograd.grad(Outer.apply(x).pow(2)" in text


@entry("G", "anomaly_assign_parent_cleanup")
def test_notes_on_a_node_die_with_it(torch):

    def program():
        x = torch.ones(2, requires_grad=True)
        y = x.exp()
        note = Note()
        y.grad_fn.metadata["note"] = note
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (g * 1).sum().backward()
        return weakref.ref(note)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            note = program()
    gc.collect()
    assert note() is None


@entry("G", "nested_anomaly_printstack_cleanup")
@pytest.mark.parametrize("printed", [True, False])
def test_a_story_that_was_told_keeps_nothing_alive(torch, here, printed):

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, g):
            return g * 1.0

        @staticmethod
        def backward(ctx, gg):
            return gg * (float("nan") if printed else 1.0)

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return Inner.apply(g)

    def program():
        x = torch.ones(2, requires_grad=True)
        y = Outer.apply(x)
        note = Note()
        y.grad_fn.metadata["note"] = note
        (g,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
        if printed:
            with pytest.raises(RuntimeError, match="nan values"):
                g.sum().backward()
        else:
            g.sum().backward()
        return weakref.ref(note)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            note = program()
    gc.collect()
    assert note() is None or (printed and not here)  # torch keeps it as long as the error is the last one raised


@entry("G", "anomaly_mode_no_check_nan")
def test_the_story_can_be_had_without_the_search_for_nan(torch):

    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return torch.tensor(float("nan")).expand(10, 10)

    def run():
        x = torch.ones(10, 10, requires_grad=True)
        Bad.apply(x).sum().backward()
        return x.grad

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(check_nan=False):
            assert run().isnan().all()
            with (
                torch.autograd.detect_anomaly(check_nan=True),
                pytest.raises(RuntimeError, match="returned nan values in its 0th output"),
            ):
                run()
            assert run().isnan().all()


@entry("G", "anomaly_grad_warnings", differs="the story stands in the notes of the error, not in warnings")
def test_an_error_in_backward_gives_one_warning_with_the_recorded_line(torch, here):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            x = torch.ones(3, requires_grad=True)
            y = x.exp()
            y.add_(1)
            with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
                y.sum().backward()
    text = story(caught.value, told)
    assert text.count("y = x.exp()") == 1
    assert here or "Error detected in ExpBackward0" in text


@entry("G", "anomaly_grad_warnings")
def test_a_warning_that_is_an_error_does_not_hide_the_fault(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guard = torch.autograd.detect_anomaly()
    with warnings.catch_warnings(), guard:
        warnings.simplefilter("error")
        x = torch.ones(3, requires_grad=True)
        y = x.exp().add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
