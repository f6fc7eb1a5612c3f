"""Threads and tasks: every call has its own state.

Eight threads wait for each other between forward and backward, so that all eight calls are open at the same time;
then eight asyncio tasks do the same. Whether operations are recorded is also a matter of each thread and task: one
that works under no_grad does not switch off its neighbours.
"""

import asyncio
import threading

import pullback as pb


class Square(pb.Function):
    """y = x²,  dy/dx = 2x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        return grad_y * 2 * x


def in_threads(starts):
    """The derivative of x² at each start, each in a thread, all forwards before any backward."""
    everybody, found = threading.Barrier(len(starts)), {}

    def work(start):
        x = pb.tensor(start, requires_grad=True)
        y = Square.apply(x)
        everybody.wait(timeout=10)
        found[start] = pb.autograd.grad(y, x)[0].item()

    threads = [threading.Thread(target=work, args=(start,)) for start in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[start] for start in starts]


async def in_tasks(starts):
    """The same in asyncio tasks, each handing over to the others between forward and backward."""

    async def work(start):
        x = pb.tensor(start, requires_grad=True)
        y = Square.apply(x)
        await asyncio.sleep(0)
        return pb.autograd.grad(y, x)[0].item()

    return await asyncio.gather(*[work(start) for start in starts])


async def side_by_side():
    """One task under no_grad, one that records, taking turns."""

    async def quiet():
        with pb.no_grad():
            await asyncio.sleep(0)
            return pb.is_grad_enabled()

    async def recording():
        await asyncio.sleep(0)
        return pb.is_grad_enabled()

    return await asyncio.gather(quiet(), recording())


def main(show=print):
    starts = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    right = [2 * start for start in starts]
    show("eight threads, dy/dx", in_threads(starts), "should be", right)
    show("eight tasks, dy/dx", asyncio.run(in_tasks(starts)), "should be", right)
    quiet, recording = asyncio.run(side_by_side())
    show("no_grad holds in its own task", not quiet)
    show("and not in the task beside it", recording)

    x = pb.tensor(starts, requires_grad=True)
    show("gradcheck", pb.gradcheck(Square.apply, (x,)))
    show("gradgradcheck", pb.gradgradcheck(Square.apply, (x,)))


if __name__ == "__main__":
    main()
