"""``no_grad``, ``enable_grad``, ``set_grad_enabled``: as blocks, as decorators, around generators."""

import pytest

from torch_behaviour.entry import entry


@entry("D", "grad_mode_class_decoration")
def test_decorating_a_class_warns_decorating_its_methods_does_not(torch):
    with pytest.warns(FutureWarning, match="Decorating"):

        @torch.no_grad()
        class Decorated:
            def __init__(self):
                self.enabled = torch.is_grad_enabled()

    assert Decorated().enabled is False
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def function():
        return torch.is_grad_enabled()

    class Methods:
        @torch.no_grad()
        def __init__(self):
            self.enabled = torch.is_grad_enabled()

        @torch.enable_grad()
        def method(self):
            return torch.is_grad_enabled()

    assert function() is False
    assert Methods().enabled is False
    with torch.no_grad():
        assert Methods().method() is True


@entry("D", "no_grad")
def test_no_grad_as_a_block_and_as_a_decorator(torch):
    x, y = torch.ones(5, 5, requires_grad=True), torch.ones(5, 5) * 4

    @torch.no_grad()
    def with_parentheses(x, y):
        return x + y

    @torch.no_grad
    def without_parentheses(x, y):
        return x + y

    with torch.no_grad():
        w = x + y
    for result in (w, with_parentheses(x, y), without_parentheses(x, y)):
        assert not result.requires_grad
        assert result.grad_fn is None
        with pytest.raises(RuntimeError, match="does not require grad"):
            result.backward(torch.ones(5, 5))
    assert (x + y).requires_grad
    assert with_parentheses.__name__ == "with_parentheses"


@entry("D", "no_grad")
def test_no_grad_is_left_by_an_exception(torch):
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        1 / 0  # noqa: B018
    assert torch.is_grad_enabled()
    with torch.no_grad(), torch.enable_grad():
        assert torch.is_grad_enabled()


@entry("D", "enable_grad_decorator_no_paren")
def test_enable_grad_as_a_decorator(torch):
    @torch.enable_grad
    def double(x):
        return x * 2

    with torch.no_grad():
        assert double(torch.tensor(1.0, requires_grad=True)).requires_grad


@entry("D", "set_grad_enabled")
def test_set_grad_enabled_works_at_once_and_as_a_block(torch):
    x = torch.tensor([1.0], requires_grad=True)
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    with torch.set_grad_enabled(True):
        assert (x * 2).requires_grad
    with torch.set_grad_enabled(False):
        torch.set_grad_enabled(True)
        assert (x * 2).requires_grad
    assert torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    torch.set_grad_enabled(True)


@entry("D", "set_grad_enabled_wraps")
@pytest.mark.parametrize("ambient", [True, False])
def test_set_grad_enabled_as_a_decorator_leaves_the_mode_of_the_caller(torch, ambient):
    with torch.set_grad_enabled(ambient):

        @torch.set_grad_enabled(False)
        def inner(x):
            assert not torch.is_grad_enabled()
            return x.sin()

        assert torch.is_grad_enabled() is ambient
        assert not inner(torch.zeros(2, requires_grad=True)).requires_grad
        assert torch.is_grad_enabled() is ambient
        later = torch.set_grad_enabled(not ambient)
        assert torch.is_grad_enabled() is not ambient
        later(inner)
        assert torch.is_grad_enabled() is ambient


# ------------------------------------------------------------------------------------------------ generators
@entry("D", "set_grad_generator_functions")
def test_a_generator_and_its_caller_keep_their_own_modes(torch):
    for switch, inside in ((torch.no_grad, False), (torch.enable_grad, True)):

        @switch()
        def generator(inside=inside):
            for _ in range(10):
                assert torch.is_grad_enabled() is inside
                yield torch.is_grad_enabled()

        for outside in (True, False):
            with torch.set_grad_enabled(outside):
                for mode in generator():
                    assert torch.is_grad_enabled() is outside
                    assert mode is inside


@entry("D", "set_grad_generator_functions_recursive")
def test_generators_that_start_themselves(torch):
    @torch.enable_grad()
    def recording(depth):
        assert torch.is_grad_enabled()
        if depth > 0:
            yield from silent(depth - 1)
            assert torch.is_grad_enabled()
        yield torch.is_grad_enabled()

    @torch.no_grad()
    def silent(depth):
        assert not torch.is_grad_enabled()
        if depth > 0:
            yield from recording(depth - 1)
            assert not torch.is_grad_enabled()
        yield torch.is_grad_enabled()

    for outside in (True, False):
        with torch.set_grad_enabled(outside):
            assert list(recording(6)) == [True, False, True, False, True, False, True]
            assert torch.is_grad_enabled() is outside


@entry("D", "set_grad_coroutines")
def test_what_is_sent_into_a_generator_is_received_in_its_own_mode(torch):
    @torch.no_grad()
    def silent():
        received = yield torch.is_grad_enabled()
        while received is not None:
            assert not torch.is_grad_enabled()
            received = yield received * 2
        return "done"

    for outside in (True, False):
        with torch.set_grad_enabled(outside):
            generator = silent()
            assert next(generator) is False
            for k in range(1, 4):
                assert generator.send(k) == 2 * k
                assert torch.is_grad_enabled() is outside
            with pytest.raises(StopIteration) as stop:
                generator.send(None)
            assert stop.value.value == "done"
            assert torch.is_grad_enabled() is outside


@entry("D", "set_grad_coroutines_benign_exceptions")
def test_an_exception_that_a_generator_handles(torch):
    class Continue(Exception):
        pass

    @torch.no_grad()
    def silent():
        has_raised = False
        while True:
            try:
                assert not torch.is_grad_enabled()
                yield has_raised
            except Continue:
                assert not torch.is_grad_enabled()
                has_raised = True

    generator = silent()
    assert next(generator) is False
    assert torch.is_grad_enabled()
    assert generator.throw(Continue()) is True
    assert torch.is_grad_enabled()
    assert next(generator) is True


@entry("D", "set_grad_coroutines_critical_exceptions")
def test_an_exception_that_a_generator_turns_into_another(torch):
    class First(Exception):
        pass

    class Second(Exception):
        pass

    @torch.no_grad()
    def silent():
        try:
            yield
        except First:
            assert not torch.is_grad_enabled()
            raise Second from None

    generator = silent()
    next(generator)
    with pytest.raises(Second):
        generator.throw(First())
    assert torch.is_grad_enabled()


@entry("D", "set_grad_coroutines_exit")
def test_closing_a_generator_runs_its_end_in_its_own_mode(torch):
    ends = []

    @torch.no_grad()
    def silent(catch):
        try:
            yield
        except GeneratorExit:
            ends.append(torch.is_grad_enabled())
            if not catch:
                raise

    for catch in (False, True):
        generator = silent(catch)
        next(generator)
        generator.close()
        assert torch.is_grad_enabled()
    assert ends == [False, False]


# ------------------------------------------------------------------------------------------------ writes
@entry("D", "no_grad_assignment")
def test_a_leaf_written_under_no_grad_stays_a_leaf(torch):
    x, y = torch.ones(5, 5, requires_grad=True), torch.ones(5)
    with torch.no_grad():
        x[0] = y
    assert x.requires_grad
    assert x.is_leaf
    assert x.grad_fn is None


@entry("D", "no_grad_modifies_version")
def test_a_write_under_no_grad_is_counted(torch):
    x, y = torch.ones(5, requires_grad=True), torch.ones(5, requires_grad=True)
    z = (x * y).sum()
    with torch.no_grad():
        x *= 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
