"""A pytest plugin: `check_function` in a test, and a marker that makes a test of a class.

    def test_sinh(check_function):
        check_function(Sinh, [np.ones(3)])

    @pytest.mark.pullback_function(Sinh, inputs=[np.ones(3)], order=3)
    def test_sinh_as_a_whole(): ...

``pytest --pullback-seed 7`` repeats what another seed found.
"""

from __future__ import annotations

from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that sets the seed of every check."""
    group = parser.getgroup("pullback")
    group.addoption("--pullback-seed", type=int, default=0, help="seed of the checks of custom Functions (%(default)s)")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "pullback_function(fn, inputs=None, **options): examine a custom autograd Function with pullback.check",
    )


@pytest.fixture
def check_function(request: pytest.FixtureRequest) -> Any:
    """`pullback.check.assert_ok`, with the seed of the command line."""

    def check(fn: Any, inputs: Any = None, **options: Any) -> Any:
        from pullback.check import assert_ok

        options.setdefault("seed", request.config.getoption("--pullback-seed"))
        return assert_ok(fn, inputs, **options)

    return check


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """A marked test examines its Function before its own body runs."""
    for mark in item.iter_markers("pullback_function"):
        from pullback.check import assert_ok

        options = dict(mark.kwargs)
        inputs = options.pop("inputs", None)
        options.setdefault("seed", item.config.getoption("--pullback-seed"))
        for fn in mark.args:
            assert_ok(fn, inputs, **options)
