"""Finding what a command line names: ``package.module:Name``, ``path/to/file.py:Name``, or a file with all its Functions."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

from pullback.check.probing.outcome import first_line


class BadTarget(Exception):
    """Why a target cannot be examined, in one sentence."""


def load(text: str) -> list[tuple[str, Any]]:
    """The objects that a target names, each with the text that names it alone.

    Importing runs the module, which is the user's code; whoever calls this says so before.
    """
    place, _, name = _split(text)
    module = _file(place) if place.endswith(".py") or "/" in place else _module(place)
    if name:
        return [(text, _member(module, name, text))]
    found = [(f"{place}:{key}", value) for key, value in vars(module).items() if _is_function(value, module)]
    if not found:
        raise BadTarget(f"{place} defines no Function class; name what to examine: {place}:NAME")
    return found


def _split(text: str) -> tuple[str, str, str]:
    """Place and name; a colon behind a drive letter belongs to the place."""
    place, colon, name = text.rpartition(":")
    if not colon or "/" in name or "\\" in name or name.endswith(".py"):
        return text, "", ""
    return place, colon, name


def _file(place: str) -> Any:
    path = Path(place)
    if not path.is_file():
        raise BadTarget(f"there is no file {place}")
    path = path.resolve()
    name = f"pullback_target_{path.stem}"
    for known in list(sys.modules.values()):
        if (
            getattr(known, "__file__", None) == str(path)
            and known is not None
            and getattr(known, "__name__", "") == name
        ):
            return known
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadTarget(f"{place} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise BadTarget(f"{place} cannot be imported: {type(error).__name__}: {first_line(error, 200)}") from None
    finally:
        sys.path.remove(str(path.parent))
    return module


def _module(name: str) -> Any:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BadTarget(f"{name} cannot be imported: {first_line(error, 200)}") from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise BadTarget(f"{name} cannot be imported: {type(error).__name__}: {first_line(error, 200)}") from None
    finally:
        sys.path.remove("")


def _member(module: Any, name: str, text: str) -> Any:
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            near = [key for key, value in vars(module).items() if _is_function(value, module)]
            known = f"; there are {', '.join(near)}" if near else ""
            raise BadTarget(f"{text}: {getattr(module, '__name__', 'it')} has no {name}{known}")
        found = getattr(found, part)
    if not callable(found):
        raise BadTarget(f"{text} is {type(found).__name__}, which cannot be called")
    return found


def _is_function(value: Any, module: Any) -> bool:
    """Whether a member is a Function class that the module itself defines, or a custom_vjp function."""
    if inspect.isclass(value) and value.__module__ == module.__name__:
        return any(base.__name__ in {"Function", "Primitive"} for base in value.__mro__[1:]) and hasattr(value, "apply")
    return type(value).__name__ in {"custom_vjp", "custom_jvp"}
