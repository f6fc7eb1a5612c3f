"""Switches by torch's names: multithreading, and what torch.func refuses inside its transformations."""

import threading

import pytest

import pullback.torch as torch
from core.helpers import teaches

enabled = torch._C._is_multithreading_enabled
switch = torch.autograd.set_multithreading_enabled


@pytest.fixture(autouse=True)
def restore():
    yield
    switch(True)


def test_multithreading_is_remembered_at_once_and_per_thread():
    assert enabled()
    switch(False)
    assert not enabled()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(enabled()))
    thread.start()
    thread.join()
    assert seen == [True]


def test_multithreading_comes_back_at_the_end_of_a_block_or_function():
    with switch(False):
        assert not enabled()
        with switch(True):
            assert enabled()
        assert not enabled()
    assert enabled()

    @switch(False)
    def run():
        return enabled()

    switch(True)
    assert run() is False
    assert enabled()


# ------------------------------------------------------------------------------------------------ backward in torch.func
TRANSFORMS = {
    "grad": lambda f, x: torch.func.grad(f)(x),
    "grad_and_value": lambda f, x: torch.func.grad_and_value(f)(x),
    "vjp": lambda f, x: torch.func.vjp(f, x),
    "jvp": lambda f, x: torch.func.jvp(f, (x,), (x,)),
    "jacrev": lambda f, x: torch.func.jacrev(f)(x),
    "jacfwd": lambda f, x: torch.func.jacfwd(f)(x),
    "hessian": lambda f, x: torch.func.hessian(f)(x),
    "vmap": lambda f, x: torch.func.vmap(f)(x.reshape(1)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_backward_inside_a_transformation_is_refused(name):
    w = torch.tensor(2.0, requires_grad=True)

    def f(x):
        (w * 3).backward()
        return x * 1

    message = "backward() called inside a functorch transform"
    with teaches(RuntimeError, message, notes=["torch.func.grad or torch.func.vjp inside"]):
        TRANSFORMS[name](f, torch.tensor(1.0))
    assert w.grad is None
    (w * 3).backward()
    assert w.grad.item() == 3.0


def test_grad_inside_a_transformation_is_no_backward():
    w = torch.tensor(2.0, requires_grad=True)

    def f(x):
        return x * torch.autograd.grad(w * w, w)[0].detach()

    assert torch.func.grad(f)(torch.tensor(1.0)).item() == 4.0


def test_the_pull_of_vjp_runs_outside():
    y, pull = torch.func.vjp(lambda x: x * x, torch.tensor(3.0))
    w = torch.tensor(2.0, requires_grad=True)
    (w * y).backward()
    assert pull(torch.tensor(1.0))[0].item() == 6.0
