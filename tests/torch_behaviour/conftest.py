"""Each test runs on this library and, where it is installed, on torch itself: so the test asserts what torch does."""

import importlib
import warnings

import pytest


@pytest.fixture(params=["pullback.torch", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request):
    """The module under test, under torch's name."""
    module = importlib.import_module(request.param)
    if request.param == "torch":
        _import_what_warns()
        module.set_warn_always(True)
    yield module
    module.set_grad_enabled(True)


def _import_what_warns():
    """torch imports a deprecated part of itself when forward mode is first used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("torch._decomp.decompositions_for_jvp")


@pytest.fixture
def here(torch):
    """True when this library runs, False when torch does: for the few places where they differ on purpose."""
    return torch.__name__ != "torch"
