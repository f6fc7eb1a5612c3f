"""What every test shares: how Hypothesis runs, and when tests of optional libraries are skipped."""

import importlib.util
import os

import numpy as np
import pytest
from hypothesis import settings

# Machines that are busy with other tests make single examples slow, so time is no reason to fail here. Under CI=true
# Hypothesis starts from its own profile "ci" (the same examples in every run), which this one keeps.
settings.register_profile("pullback", parent=settings.default, deadline=None)
settings.load_profile("pullback")

OPTIONAL = ("torch", "jax")
REQUIRED = sorted(filter(None, os.environ.get("PULLBACK_REQUIRE", "").split(",")))


def is_installed(library: str) -> bool:
    """Whether a library can be imported, without importing it (a folder of that name does not count)."""
    spec = importlib.util.find_spec(library)
    return spec is not None and spec.origin is not None


MISSING = frozenset(library for library in OPTIONAL if not is_installed(library))


def pytest_configure(config: pytest.Config) -> None:
    """PULLBACK_REQUIRE=torch,jax makes a missing library an error: CI must not pass on skips."""
    if lost := [library for library in REQUIRED if not is_installed(library)]:
        raise pytest.UsageError(f"PULLBACK_REQUIRE names what is not installed: {', '.join(lost)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for library in MISSING:
        skip = pytest.mark.skip(reason=f"{library} is not installed")
        for item in items:
            if item.get_closest_marker(library):
                item.add_marker(skip)


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(20260101)
