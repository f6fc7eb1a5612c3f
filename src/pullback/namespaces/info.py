"""What ``__array_namespace_info__()`` tells: the dtypes, devices and abilities of this namespace."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The dtypes of the standard, by their kinds.
KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
_ALL = KINDS["bool"] + KINDS["numeric"]


class Info:
    """The inspection interface of the standard.

    Examples
    --------
    >>> import pullback as pb
    >>> pb.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float64')
    """

    def capabilities(self) -> dict[str, Any]:
        """Whether indices may be boolean and shapes depend on data, and how many dimensions there may be."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Where new Tensors live."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """Where new Tensors can live; one over another library's array lives where that does."""
        return ("cpu",)

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes that are taken where none is given."""
        _check(device)
        names = {"real floating": "float64", "complex floating": "complex128", "integral": "int64", "indexing": "int64"}
        return {kind: np.asarray(0).dtype if name == "int64" else np.dtype(name) for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of the standard, all of them or those of a kind (or of several, in a tuple)."""
        _check(device)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        unknown = [k for k in kinds if k is not None and k not in KINDS]
        if unknown:
            raise ValueError(f"unsupported kind of dtypes: {unknown[0]!r}; there are {', '.join(map(repr, KINDS))}")
        wanted = {name for k in kinds for name in (_ALL if k is None else KINDS[k])}
        return {name: np.dtype(name) for name in _ALL if name in wanted}


def _check(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"unsupported device {device!r}: Tensors made here live on 'cpu'")


def namespace_info() -> Info:
    """What this namespace can do; see `Info`."""
    return Info()
