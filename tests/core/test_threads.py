"""Many threads and tasks at once: every call has its own ctx, every thread its own mode, leaves can be shared."""

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import pullback as pb
from core.helpers import Exp, PrimitiveSquare, Square, leaf
from pullback.autograd import grad


class Scale(pb.Function):
    """x · factor, with everything that a ctx can keep."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.parts = {"x": x, "e": pb.exp(x * 0.1)}
        ctx.save_for_backward(x)
        ctx.recording = pb.is_grad_enabled()
        return x * x * factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert ctx.parts["x"] is x
        assert ctx.recording is False
        return g * 2 * x * ctx.factor, None


def run_all(target, count):
    """Start `count` threads together; give back what went wrong."""
    gate, wrong = threading.Barrier(count), []

    def run(k):
        try:
            gate.wait()
            target(k)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def test_eight_threads_of_two_thousand_calls_in_mixed_modes():
    calls, totals = 2000, [0] * 8

    def work(k):
        for n in range(calls):
            x = leaf(float(n % 7 + k))
            factor = float(n % 5 - 2)
            if n % 3 == 0:
                with pb.no_grad():
                    assert Scale.apply(x, factor).grad_fn is None
                    assert not pb.is_grad_enabled()
            y = Scale.apply(x, factor)
            assert y.requires_grad
            if n % 8 == 0:
                (g,) = grad(y, x, create_graph=True)
                assert grad(g, x)[0].item() == 2 * factor
            elif n % 2:
                y.backward()
                assert x.grad.item() == 2 * x.item() * factor
            else:
                with pb.set_grad_enabled(n % 4 == 0):
                    (g,) = grad(y, x)
                assert g.item() == 2 * x.item() * factor
            totals[k] += 1

    assert not run_all(work, 8)
    assert totals == [calls] * 8


def test_shared_leaves_accumulate_every_contribution():
    x = leaf(np.zeros(50))
    count = 200

    def work(k):
        for _ in range(count):
            y = x * float(k + 1)
            y.backward(pb.tensor(np.ones(50)))

    assert not run_all(work, 6)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(50, count * 21.0))


def test_the_first_use_of_a_shared_leaf_by_many_threads():
    """All edges of one graph lead to one accumulator, whoever made it."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(300):
            x, found = leaf(3.0), []

            def work(k, x=x, found=found):
                y = x * x * x
                found.append(grad(y, x)[0].item())

            assert not run_all(work, 4)
            assert found == [27.0] * 4
    finally:
        sys.setswitchinterval(interval)


def test_a_shared_graph_that_is_retained_serves_all():
    x = leaf(2.0)
    y = Exp.apply(Square.apply(PrimitiveSquare.apply(x)))
    expected = grad(y, x, retain_graph=True)[0].item()
    found = []

    def work(k):
        found.extend(grad(y, x, retain_graph=True)[0].item() for _ in range(100))

    assert not run_all(work, 6)
    assert set(found) == {expected}
    assert len(found) == 600


def test_a_shared_graph_that_is_not_retained_is_walked_right_or_refused():
    for _ in range(20):
        x = leaf(3.0)
        y = Square.apply(x)
        found = []

        def work(k, y=y, x=x, found=found):
            try:
                found.append(grad(y, x)[0].item())
            except RuntimeError as error:
                found.append("freed" if "a second time" in str(error) else error)

        assert not run_all(work, 4)
        assert set(found) <= {6.0, "freed"}
        assert 6.0 in found


def test_a_graph_made_in_one_thread_is_walked_in_another():
    x = leaf(2.0)
    y = Scale.apply(x, 3.0)
    with ThreadPoolExecutor(1) as pool, pb.no_grad():
        pool.submit(y.backward).result()
    assert x.grad.item() == 12.0


def test_names_of_ctx_values_do_not_leak_between_passes_of_one_graph():
    """Narrowed flags belong to one pass: two threads ask the same node for different gradients."""
    seen = {0: set(), 1: set()}

    class Two(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            flags = ctx.needs_input_grad
            seen[int(threading.current_thread().name)].add(flags)
            return g, g

    a, b = leaf(1.0), leaf(2.0)
    y = Two.apply(a, b)

    def work(k):
        threading.current_thread().name = str(k)
        for _ in range(200):
            grad(y, (a, b)[k], retain_graph=True)

    assert not run_all(work, 2)
    assert seen == {0: {(True, False)}, 1: {(False, True)}}


def test_hundreds_of_tasks():
    async def one(k):
        x = leaf(float(k))
        with pb.set_grad_enabled(k % 2 == 0):
            await asyncio.sleep(0)
            y = Scale.apply(x, 2.0)
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        return (y.requires_grad, grad(y, x)[0].item() if y.requires_grad else None)

    async def main():
        return await asyncio.gather(*[one(k) for k in range(200)])

    assert asyncio.run(main()) == [(k % 2 == 0, 4.0 * k if k % 2 == 0 else None) for k in range(200)]
