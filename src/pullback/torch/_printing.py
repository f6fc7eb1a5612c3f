"""How a Tensor prints itself: four decimals, one width for all elements, torch's suffixes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core import dual
from pullback.core.arrays import everything
from pullback.core.dual import OPEN
from pullback.torch._dtypes import default_complex, get_default_dtype

PRECISION, THRESHOLD, EDGE_ITEMS, LINE_WIDTH = 4, 1000, 3, 80


class _Format:
    """One way to write numbers, chosen for a whole array."""

    def __init__(self, values: Any) -> None:
        self.floating = values.dtype.kind == "f"
        self.integral = self.scientific = False
        if self.floating:
            values = values[np.isfinite(values) & (values != 0)]
            self._choose(values)
        self.width = max((len(self.text(v)) for v in values), default=1)

    def _choose(self, values: Any) -> None:
        size = np.abs(values.astype(np.float64))
        self.integral = bool(np.all(size == np.ceil(size)))
        if size.size:
            low, high = size.min(), size.max()
            self.scientific = high / low > 1000 or high > 1e8 or (not self.integral and low < 1e-4)

    def text(self, value: Any) -> str:
        if not self.floating:
            return str(value.item() if hasattr(value, "item") else value)
        value = float(value)
        if self.scientific:
            return f"{value:.{PRECISION}e}"
        if self.integral:
            return f"{value:.0f}" + ("." if math.isfinite(value) else "")
        return f"{value:.{PRECISION}f}"

    def __call__(self, value: Any) -> str:
        return self.text(value).rjust(self.width)


class _ComplexFormat:
    """Real and imaginary part, each in its own format."""

    def __init__(self, values: Any) -> None:
        self.real, self.imag = _Format(values.real), _Format(values.imag)
        self.width = self.real.width + self.imag.width + 2

    def __call__(self, value: Any) -> str:
        imaginary = self.imag(value.imag).strip()
        sign = "" if imaginary[0] in "+-" else "+"
        return f"{self.real(value.real)}{sign}{imaginary}j"


def _shown(array: Any) -> Any:
    """The elements that appear at all: with an ellipsis, only the borders."""
    for axis, n in enumerate(array.shape):
        if n > 2 * EDGE_ITEMS:
            keep = [*range(EDGE_ITEMS), *range(n - EDGE_ITEMS, n)]
            array = np.take(array, keep, axis=axis)
    return array


def _body(array: Any, write: Any, indent: int, short: bool) -> str:
    if array.ndim == 0:
        return write(array[()])
    cut = short and array.shape[0] > 2 * EDGE_ITEMS
    dots = " ..." if array.ndim == 1 else "..."
    rows = [*array[:EDGE_ITEMS], dots, *array[-EDGE_ITEMS:]] if cut else list(array)
    if array.ndim == 1:
        per_line = max(1, (LINE_WIDTH - indent) // max(1, write.width + 2))
        words = [row if isinstance(row, str) else write(row) for row in rows]
        lines = [", ".join(words[k : k + per_line]) for k in range(0, len(words), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    inner = [row if isinstance(row, str) else _body(row, write, indent + 1, short) for row in rows]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(inner) + "]"


def values_text(array: Any, indent: int = 0) -> str:
    """The elements of an array, nested in brackets."""
    array = np.asarray(array)
    if array.dtype.kind == "V":  # bfloat16 and its like
        array = array.astype(np.float32)
    short = array.size > THRESHOLD
    shown = (_shown(array) if short else array).reshape(-1)
    write = _ComplexFormat(shown) if array.dtype.kind == "c" else _Format(shown)
    return _body(array, write, indent, short)


def tensor_text(tensor: Any) -> str:
    """What ``repr`` shows: values, and what is not usual about the Tensor."""
    array, suffixes = everything(tensor._array), []
    if hasattr(tensor._array, "batch"):
        suffixes.append(f"vmap={[batch.size for batch in tensor._array.batches]}")
    if not array.size:
        body = "[]"
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        usual = [get_default_dtype()]
    else:
        body = values_text(array, len("tensor("))
        usual = [get_default_dtype(), default_complex(), np.dtype(np.int64), np.dtype(np.bool_)]
    if tensor.dtype not in usual:
        suffixes.append(f"dtype=torch.{tensor.dtype.name}")
    node = tensor.grad_fn
    if node is not None:
        suffixes.append(f"grad_fn=<{node.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    if OPEN and (tangent := dual.tangent_of(tensor)) is not None:
        shown = values_text(tangent._array, len("tangent=tensor("))
        suffixes.append(f"tangent={shown if not tangent.ndim else tensor_text(tangent)}")
    return _with_suffixes(f"tensor({body}", suffixes) + ")"


def _with_suffixes(text: str, suffixes: list[str]) -> str:
    """The suffixes behind the last line, or on lines of their own where they do not fit."""
    width = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        fits = width + len(suffix) + 2 <= LINE_WIDTH
        text += f", {suffix}" if fits else ",\n" + " " * len("tensor(") + suffix
        width = width + len(suffix) + 2 if fits else len("tensor(") + len(suffix)
    return text
