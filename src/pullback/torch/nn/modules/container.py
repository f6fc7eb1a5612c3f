"""Modules and parameters in sequences and dicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pullback.torch.nn.modules.module import Module
from pullback.torch.nn.parameter import Parameter


class _Listed(Module):
    """What lists have in common: entries by number."""

    def _table(self) -> dict[str, Any]:
        return self._modules

    def __len__(self) -> int:
        return len(self._table())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._table().values())

    def _name(self, index: int) -> str:
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range")
        return str(index % n)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(*list(self)[index]) if isinstance(self, Sequential) else type(self)(list(self)[index])
        return list(self)[int(self._name(index))]

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, list(self._table())[int(self._name(index))], value)

    def __delitem__(self, index: Any) -> None:
        rest = list(self)
        del rest[index]
        self._table().clear()
        self._table().update({str(k): value for k, value in enumerate(rest)})

    def append(self, value: Any) -> Any:
        """Add one at the end."""
        setattr(self, str(len(self)), value)
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        """Add several at the end."""
        for value in values:
            self.append(value)
        return self

    def insert(self, index: int, value: Any) -> Any:
        """Add one before another one."""
        rest = list(self)
        rest.insert(index, value)
        self._table().clear()
        self.extend(rest)
        return self


class Sequential(_Listed):
    """One module after the other.

    >>> import pullback.torch as torch
    >>> torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())(torch.tensor([[-1.0, 2.0]]))
    tensor([[0., 2.]])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input: Any) -> Any:
        """The result of the last module."""
        for module in self:
            input = module(input)
        return input


class ModuleList(_Listed):
    """Modules in a list, whose parameters are found."""

    def __init__(self, modules: Iterable[Any] = ()) -> None:
        super().__init__()
        self.extend(modules)


class ParameterList(_Listed):
    """Parameters in a list."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__()
        self.extend(values)

    def _table(self) -> dict[str, Any]:
        return self._parameters

    def append(self, value: Any) -> Any:
        """Add one at the end; a Tensor becomes a parameter."""
        return super().append(value if isinstance(value, Parameter) else Parameter(value))


class _Named(Module):
    """What dicts have in common: entries by name."""

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self.update(values or {})

    def _table(self) -> dict[str, Any]:
        return self._modules

    def update(self, values: Any) -> None:
        """Add several."""
        for name, value in values.items() if hasattr(values, "items") else values:
            self[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._table()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._table()[name] = value

    def __delitem__(self, name: str) -> None:
        del self._table()[name]

    def __len__(self) -> int:
        return len(self._table())

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __contains__(self, name: str) -> bool:
        return name in self._table()

    def keys(self) -> Any:
        """The names."""
        return self._table().keys()

    def values(self) -> Any:
        """The entries."""
        return self._table().values()

    def items(self) -> Any:
        """Names and entries."""
        return self._table().items()

    def pop(self, name: str) -> Any:
        """Take one away, and return it."""
        return self._table().pop(name)


class ModuleDict(_Named):
    """Modules in a dict."""


class ParameterDict(_Named):
    """Parameters in a dict."""

    def _table(self) -> dict[str, Any]:
        return self._parameters

    def __setitem__(self, name: str, value: Any) -> None:
        self._parameters[name] = value if isinstance(value, Parameter) else Parameter(value)
