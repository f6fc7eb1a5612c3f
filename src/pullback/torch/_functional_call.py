"""Modules as functions of their parameters: ``torch.func.functional_call``, ``stack_module_state``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pullback.core.errors import lesson
from pullback.torch._export import FUNCTIONS


@contextmanager
def _replaced(module: Any, values: dict[str, Any], strict: bool) -> Iterator[None]:
    """The module with other Tensors in the place of its parameters and buffers."""
    places: dict[str, tuple[dict[str, Any], str]] = {}
    for path, inner in module.named_modules(remove_duplicate=False):
        for table in (inner._parameters, inner._buffers):
            places.update({f"{path}.{name}" if path else name: (table, name) for name in table})
    unknown = values.keys() - places.keys()
    if unknown or (strict and places.keys() - values.keys()):
        raise lesson(
            RuntimeError,
            f"Unexpected key(s): {sorted(unknown)}, missing key(s): {sorted(places.keys() - values.keys()) if strict else []}",
            instead="the names of dict(module.named_parameters()).",
        )
    before = {path: places[path][0][places[path][1]] for path in values}
    try:
        for path, value in values.items():
            table, name = places[path]
            table[name] = value
        yield
    finally:
        for path, value in before.items():
            table, name = places[path]
            table[name] = value


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: Any = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with other parameters and buffers, given by their names; the module stays as it was.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> linear = torch.nn.Linear(2, 1)
    >>> weights = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(linear, weights, torch.tensor([1.0, 2.0]))
    tensor([3.])
    """
    given = parameter_and_buffer_dicts
    dicts = [given] if isinstance(given, dict) else list(given)
    values = {name: value for each in dicts for name, value in each.items()}
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, values, strict):
        return module(*args, **(kwargs or {}))


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters, and the buffers, of modules of one kind, stacked along a new first axis; fresh leaves."""
    if not models:
        raise lesson(RuntimeError, "stack_module_state: Expected at least one model, got 0.")
    if len({type(model) for model in models}) > 1:
        raise lesson(RuntimeError, "stack_module_state: Expected all models to be of the same class.")

    def stacked(dicts: list[dict[str, Any]]) -> dict[str, Any]:
        found = {}
        for name, first in dicts[0].items():
            whole = FUNCTIONS["stack"]([values[name].detach() for values in dicts])
            found[name] = whole.requires_grad_(first.requires_grad)
        return found

    return (
        stacked([dict(model.named_parameters()) for model in models]),
        stacked([dict(model.named_buffers()) for model in models]),
    )
