"""`__all__` is what is visible: no public name is forgotten in it, none is promised and missing, nothing leaks."""

import importlib
import importlib.util
from types import ModuleType

import pytest

# Namespaces that users import from. A module that does not exist (yet) is left out.
NAMESPACES = [
    "pullback",
    "pullback.autograd",
    "pullback.implicit",
    "pullback.bridges",
    "pullback.linalg",
    "pullback.fft",
    "pullback.torch",
]
PRESENT = [name for name in NAMESPACES if name == "pullback" or importlib.util.find_spec(name) is not None]


def visible_names(module: ModuleType) -> set[str]:
    """Names without a leading underscore, except submodules that stand there only because something imported them."""
    promised = set(module.__all__)

    def is_bystander(name: str) -> bool:
        value = getattr(module, name)
        return isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{name}" and name not in promised

    return {name for name in dir(module) if not name.startswith("_") and not is_bystander(name)}


@pytest.mark.parametrize("name", PRESENT)
def test_all_equals_what_is_visible(name):
    module = importlib.import_module(name)
    promised = {public for public in module.__all__ if not public.startswith("_")}
    visible = visible_names(module)
    assert promised - visible == set(), "in __all__, but not to be seen"
    assert visible - promised == set(), "to be seen, but not in __all__ (give it an underscore, delete it, or list it)"


@pytest.mark.parametrize("name", PRESENT)
def test_every_name_of_all_can_be_had_once(name):
    module = importlib.import_module(name)
    assert [public for public in module.__all__ if not hasattr(module, public)] == []
    assert len(module.__all__) == len(set(module.__all__)), "a name stands twice in __all__"


def test_a_leak_and_a_forgotten_name_are_seen():
    module = ModuleType("example")
    module.__all__ = ["sin"]
    module.sin = abs
    module.np = importlib.import_module("math")
    module.core = ModuleType("example.core")
    assert visible_names(module) == {"sin", "np"}
