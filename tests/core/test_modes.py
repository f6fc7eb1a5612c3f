"""Grad modes: when operators are recorded, as a block, decorator, generator, function call; per thread, per asyncio task."""

import asyncio
import contextvars
import threading
import warnings

import pytest

import pullback as pb
from core.helpers import Square, leaf
from pullback.core import modes


@pytest.fixture(autouse=True)
def mode_is_restored():
    yield
    assert modes.current() is modes.ON, "a test (or the code under test) left another mode behind"


def recorded():
    """Whether an operator on a differentiable Tensor is recorded right now: asked of the operator, and of the flag."""
    flag, fact = pb.is_grad_enabled(), (leaf(1.0) * 2).requires_grad
    assert flag is fact
    assert Square.apply(leaf(1.0)).requires_grad is fact
    return fact


def test_recording_is_on_from_the_start():
    assert recorded()


def test_blocks_switch_and_restore():
    with pb.no_grad():
        assert not recorded()
        with pb.enable_grad():
            assert recorded()
            with pb.no_grad():
                assert not recorded()
            assert recorded()
        assert not recorded()
    assert recorded()


def test_blocks_restore_after_an_error():
    with pytest.raises(KeyError), pb.no_grad():
        raise KeyError
    assert recorded()


def test_one_object_can_be_entered_again_and_inside_itself():
    quiet = pb.no_grad()
    for _ in range(2):
        with quiet:
            assert not recorded()
            with quiet:
                assert not recorded()
            assert not recorded()
        assert recorded()


@pytest.mark.parametrize("decorator", [pb.no_grad, pb.no_grad()], ids=["without parentheses", "with parentheses"])
def test_decorated_functions(decorator):
    @decorator
    def quiet(a, *, b):
        """Docstring."""
        return recorded(), a, b

    assert quiet(1, b=2) == (False, 1, 2)
    assert (quiet.__name__, quiet.__doc__) == ("quiet", "Docstring.")
    assert recorded()

    @decorator
    def recursive(n):
        return [recorded(), *(recursive(n - 1) if n else [])]

    assert recursive(3) == [False] * 4

    with pytest.raises(KeyError):
        decorator(lambda: {}["missing"])()
    assert recorded()


def test_enable_grad_decorates_too():
    @pb.enable_grad()
    def loud():
        return recorded()

    with pb.no_grad():
        assert loud()
        assert not recorded()


def test_inference_mode_records_nothing():
    with pb.inference_mode():
        assert modes.is_inference_mode_enabled()
        assert not recorded()
        with pb.inference_mode(False):
            assert not modes.is_inference_mode_enabled()
    assert recorded()
    assert not modes.is_inference_mode_enabled()
    with pb.inference_mode(False):
        assert recorded()

    @pb.inference_mode
    def bare():
        return recorded(), modes.is_inference_mode_enabled()

    @pb.inference_mode()
    def called():
        return recorded(), modes.is_inference_mode_enabled()

    assert bare() == called() == (False, True)


def test_set_grad_enabled_acts_at_once_until_told_otherwise():
    pb.set_grad_enabled(False)
    assert not recorded()
    pb.set_grad_enabled(True)
    assert recorded()


def test_set_grad_enabled_as_a_block_restores():
    with pb.set_grad_enabled(False):
        assert not recorded()
    assert recorded()
    with pb.no_grad():
        with pb.set_grad_enabled(True):
            assert recorded()
        assert not recorded()
    with pytest.raises(KeyError), pb.set_grad_enabled(False):
        raise KeyError
    assert recorded()


@pytest.mark.parametrize("enabled", [True, False])
def test_set_grad_enabled_as_a_decorator_undoes_its_own_effect(enabled):
    with pb.set_grad_enabled(not enabled):

        @pb.set_grad_enabled(enabled)
        def switched():
            return recorded()

        assert recorded() is not enabled
        assert switched() is enabled
        assert recorded() is not enabled


def test_generators_are_switched_around_every_resume():
    @pb.no_grad()
    def numbers():
        received = []
        for k in range(3):
            try:
                received.append((recorded(), (yield (k, recorded()))))
            except KeyError:
                received.append((recorded(), "thrown"))
        return received

    generator = numbers()
    assert next(generator) == (0, False)
    assert recorded(), "the caller keeps its own mode while the generator is suspended"
    assert generator.send("sent") == (1, False)
    assert recorded()
    assert generator.throw(KeyError()) == (2, False)
    assert recorded()
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == [(False, "sent"), (False, "thrown"), (False, None)]


def test_a_decorated_generator_closes_in_its_own_mode():
    seen = []

    @pb.no_grad()
    def numbers():
        try:
            yield 1
        finally:
            seen.append(recorded())

    generator = numbers()
    next(generator)
    generator.close()
    assert seen == [False]
    assert recorded()


def test_errors_pass_through_a_decorated_generator():
    @pb.no_grad()
    def numbers():
        yield 1
        raise KeyError("inside")

    generator = numbers()
    next(generator)
    with pytest.raises(KeyError, match="inside"):
        next(generator)
    assert recorded()


def test_a_generator_with_a_block_may_end_in_another_context():
    def numbers():
        with pb.no_grad():
            yield 1

    generator = numbers()
    contextvars.copy_context().run(next, generator)
    generator.close()
    assert recorded()


def test_decorating_a_class_warns_that_only_instantiation_is_switched():
    with pytest.warns(FutureWarning, match=r"class Model .*Decorate its methods"):

        @pb.no_grad()
        class Model:
            def __init__(self):
                self.recorded = recorded()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Model().recorded is False


def test_coroutines_run_in_the_mode_of_their_decorator():
    @pb.no_grad()
    async def quiet():
        first = recorded()
        await asyncio.sleep(0)
        return first, recorded()

    async def main():
        result = await quiet()
        return result, recorded()

    assert asyncio.run(main()) == ((False, False), True)


def test_asynchronous_generators_cannot_be_decorated():
    async def numbers():
        yield 1

    for switch in (pb.no_grad, pb.no_grad(), pb.enable_grad(), pb.set_grad_enabled(True)):
        with pytest.raises(TypeError, match="numbers"):
            switch(numbers)


def test_tasks_have_modes_of_their_own():
    async def one(quiet, seen):
        for _ in range(5):
            with pb.set_grad_enabled(not quiet):
                await asyncio.sleep(0)
                seen.append(recorded() is not quiet)
            await asyncio.sleep(0)
            seen.append(recorded())

    async def main():
        seen = []
        await asyncio.gather(*[one(k % 2 == 0, seen) for k in range(6)])
        return seen

    assert all(asyncio.run(main()))


def test_a_task_inherits_the_mode_that_started_it():
    async def child():
        return recorded()

    async def main():
        with pb.no_grad():
            task = asyncio.create_task(child())
        return await task, recorded()

    assert asyncio.run(main()) == (False, True)


def test_threads_have_modes_of_their_own_and_start_recording():
    gate = threading.Barrier(2)
    seen = {}

    def other():
        seen["start"] = recorded()
        gate.wait()
        gate.wait()
        seen["while the main thread is quiet"] = recorded()
        with pb.no_grad():
            gate.wait()
            gate.wait()

    thread = threading.Thread(target=other)
    with pb.no_grad():
        thread.start()
        gate.wait()
        assert not recorded()
        gate.wait()
    gate.wait()
    assert recorded(), "the other thread is quiet, this one is not"
    gate.wait()
    thread.join()
    assert seen == {"start": True, "while the main thread is quiet": True}


def test_one_decorated_function_serves_many_threads():
    gate = threading.Barrier(4)
    wrong = []

    @pb.no_grad()
    def quiet():
        gate.wait()
        return recorded()

    def run():
        wrong.extend(1 for _ in range(20) if quiet() or not recorded())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_one_block_object_serves_many_threads():
    gate = threading.Barrier(4)
    quiet = pb.no_grad()
    wrong = []

    def run():
        try:
            for _ in range(20):
                with quiet:
                    gate.wait()
                    wrong.extend([1] if recorded() else [])
                wrong.extend([] if recorded() else [1])
        except Exception as error:
            gate.abort()
            wrong.append(repr(error))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_making_a_leaf_ignores_no_grad():
    with pb.no_grad():
        assert leaf(1.0).requires_grad


def test_results_made_quietly_never_require_gradients():
    x = leaf(1.0)
    with pb.no_grad():
        y = x * 2
    assert not y.requires_grad
    assert y.is_leaf
    assert not (y * 3).requires_grad


def test_create_graph_records_even_inside_no_grad():
    x = leaf(3.0)
    y = x * x * x
    with pb.no_grad():
        (g,) = pb.autograd.grad(y, x, create_graph=True)
        assert not recorded()
    assert pb.autograd.grad(g, x)[0].item() == 18.0


def test_backward_records_exactly_when_create_graph_says_so():
    seen = []

    class Looks(pb.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(("forward", pb.is_grad_enabled()))
            return x * 1

        @staticmethod
        def backward(ctx, g):
            seen.append((pb.is_grad_enabled(), (leaf(1.0) * 2).requires_grad))
            return g * 1

    x = leaf(1.0)
    for mode in (pb.enable_grad, pb.no_grad):
        for create_graph in (False, True):
            y = Looks.apply(x)
            with mode():
                pb.autograd.grad(y, x, create_graph=create_graph)
    assert seen == [
        ("forward", False),
        (False, False),
        ("forward", False),
        (True, True),
        ("forward", False),
        (False, False),
        ("forward", False),
        (True, True),
    ]


def test_forward_may_switch_recording_on_for_itself():
    class Inner(pb.Function):
        @staticmethod
        def forward(ctx, x):
            assert not pb.is_grad_enabled()
            with pb.enable_grad():
                assert pb.is_grad_enabled()
                x = leaf(x.item())
                (g,) = pb.autograd.grad(x * x, x)
            assert not pb.is_grad_enabled()
            return g

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(3.0)
    y = Inner.apply(x)
    y.backward()
    assert (y.item(), x.grad.item()) == (6.0, 2.0)


def test_an_imperative_switch_inside_forward_ends_with_it():
    class Switches(pb.Function):
        @staticmethod
        def forward(ctx, x):
            pb.set_grad_enabled(True)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            pb.set_grad_enabled(True)
            return g * 1

    with pb.no_grad():
        Switches.apply(leaf(1.0))
        assert not recorded()
    with pb.enable_grad():
        y = Switches.apply(leaf(1.0))
        with pb.no_grad():
            y.backward()
            assert not recorded()


def test_the_two_plain_modes_are_shared_objects():
    assert modes.plain(True) is modes.ON
    assert modes.plain(False) is modes.OFF
    watched = modes.PLAIN.replace(watcher=object())
    assert modes.plain(True, watched) is not modes.ON
    assert modes.plain(True, watched.replace(watcher=None)) is modes.ON
    assert watched.replace(inference=True).watcher is watched.watcher
