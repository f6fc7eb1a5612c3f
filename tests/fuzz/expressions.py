"""Random expressions over random shapes and layouts in memory, as lists of whole numbers that say what is done to what.

Any list of numbers is an expression: each number is taken modulo the choices that there are, so Hypothesis can make a failing one
shorter.  An expression can be read: `Expression.lines` are assignments that can be run alone.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pullback as pb

#: Statements with one operand; each may be used where its condition on the shape ``s`` holds.
OF_ONE = {
    "pb.sin({a})": "True",
    "pb.cos({a})": "True",
    "pb.tanh({a})": "True",
    "pb.exp(0.3 * {a})": "True",
    "pb.log({a} * {a} + 1)": "True",
    "pb.sqrt({a} * {a} + 0.5)": "True",
    "pb.atan({a})": "True",
    "pb.reciprocal({a} * {a} + 1)": "True",
    "{a} ** 3": "True",
    "pb.abs({a}) * {a}": "True",
    "pb.real(pb.exp(1j * {a}))": "True",
    "pb.imag(pb.square({a} + 0.5j))": "True",
    "pb.sigmoid({a})": "True",
    "pb.relu({a})": "True",
    "pb.special.erf({a})": "True",
    "pb.reshape({a}, (-1,))": "True",
    "pb.expand_dims({a}, axis=-1)": "len(s) < 3",
    "pb.expand_dims({a}, axis=0)": "len(s) < 3",
    "pb.flip({a})": "True",
    "pb.permute_dims({a}, tuple(range({a}.ndim))[::-1])": "True",
    "pb.roll({a}, 1)": "True",
    "pb.concat([{a}, {a} * 2], axis=0)": "len(s) and s[0] < 4",
    "pb.stack([{a}, pb.sin({a})], axis=-1)": "len(s) < 3",
    "pb.broadcast_to({a}, (2, *{a}.shape))": "len(s) < 3",
    "pb.tile({a}, (2,))": "len(s) and s[-1] < 4",
    "pb.repeat({a}, 2, axis=0)": "len(s) and s[0] < 4",
    "{a}[..., ::-1]": "len(s)",
    "{a}[1:]": "len(s) and s[0] > 1",
    "{a}[..., None] * {a}[..., None, :]": "0 < len(s) < 3",
    "{a}[np.array([0, 0, -1])]": "len(s)",
    "pb.take({a}, np.array([-1, 0, 0]), axis=-1)": "len(s)",
    "pb.sum({a}, axis=0)": "len(s)",
    "pb.sum({a})": "True",
    "pb.mean({a}, axis=-1, keepdims=True)": "len(s)",
    "pb.prod({a}, axis=-1)": "len(s)",
    "pb.max({a}, axis=0)": "len(s)",
    "pb.var({a}, axis=-1)": "len(s)",
    "pb.logsumexp({a}, axis=0)": "len(s)",
    "pb.vector_norm({a} + 3.0, axis=-1)": "len(s)",
    "pb.cumulative_sum({a}, axis=0)": "len(s)",
    "pb.cumulative_prod({a}, axis=-1)": "len(s)",
    "pb.sort({a}, axis=-1)": "len(s)",
    "pb.diff({a}, axis=0, append=0.5)": "len(s)",
    "pb.triu(pb.sin({a}))": "len(s) > 1",
    "{a} @ {a}.mT": "len(s) > 1",
    "pb.linalg.inv({a} @ {a}.mT + 3 * np.eye({a}.shape[-2]))": "len(s) > 1",
    "pb.linalg.det({a} @ {a}.mT + np.eye({a}.shape[-2]))": "len(s) > 1",
    "pb.linalg.cholesky({a} @ {a}.mT + 2 * np.eye({a}.shape[-2]))": "len(s) > 1",
    "pb.linalg.solve({a} @ {a}.mT + 3 * np.eye({a}.shape[-2]), {a})": "len(s) > 1",
    "pb.abs(pb.fft.fft({a})) ** 2": "len(s)",
    "pb.fft.irfft(pb.fft.rfft({a}, n=4) * 1j, n=3)": "len(s)",
}
#: With two operands that broadcast.
OF_TWO = (
    "{a} + {b}", "{a} * {b}", "{a} - {b}", "{a} / ({b} * {b} + 1)", "pb.maximum({a}, {b})", "pb.hypot({a}, {b} + 3.0)",
    "pb.where({a} > {b}, {a} * {b}, pb.sin({b}))", "pb.logaddexp({a}, {b})", "pb.atan2({a}, {b} * {b} + 1)",
    "({a} * {a} + 1) ** pb.sin({b})", "pb.clip({a}, -0.8, None) * {b}", "pb.minimum({a}, {b})",
)  # fmt: skip
STATEMENTS = [*OF_ONE, *OF_TWO]
LAYOUTS = ("C", "F", "reversed", "gaps")
SHAPES = ((), (1,), (3,), (2, 2), (2, 3), (1, 3), (2, 1, 2))


def laid_out(array: Any, layout: str) -> Any:
    """The same entries in another order in memory."""
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "reversed":
        everywhere = (slice(None, None, -1),) * array.ndim
        return array[everywhere].copy()[everywhere]
    if layout == "gaps":
        wide = np.zeros((*array.shape, 3))
        wide[..., 1] = array
        return wide[..., 1]
    return array.copy()


@dataclass
class Expression:
    """What to do: numbers for the leaves, and three for each operator."""

    leaves: tuple[int, int, int]
    steps: list[tuple[int, int, int]]
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        seed, first, second = self.leaves
        rng = np.random.default_rng(seed)
        self.points = [rng.uniform(-1.2, 1.2, SHAPES[n % len(SHAPES)]).round(3) for n in (first, second)]
        self.layouts = [LAYOUTS[n // len(SHAPES) % len(LAYOUTS)] for n in (first, second)]
        self.directions = [[rng.uniform(-1, 1, p.shape) for p in self.points] for _ in range(3)]
        shapes = {"x": self.points[0].shape, "y": self.points[1].shape}
        with np.errstate(all="ignore"):
            values = dict(zip("xy", self.tensors(self.points), strict=True))
            for number, (kind, i, j) in enumerate(self.steps):
                line = f"v{number} = {self._statement(kind, i, j, shapes)}"
                exec(line, {"pb": pb, "np": np}, values)
                shapes[f"v{number}"] = tuple(values[f"v{number}"].shape)
                self.lines.append(line)
        self.weights = rng.uniform(-1, 1, shapes[f"v{len(self.steps) - 1}"])

    def _statement(self, kind: int, i: int, j: int, shapes: dict[str, Any]) -> str:
        """The statement of a step: the first one from `kind` on that its operands allow."""
        names = list(shapes)[::-1]  # small numbers choose what was made last
        a, b = names[i % len(names)], names[j % len(names)]
        for k in itertools.count(kind):
            statement = STATEMENTS[k % len(STATEMENTS)]
            if statement in OF_ONE:
                if eval(OF_ONE[statement], {"s": shapes[a]}):
                    return statement.format(a=a)
            elif _broadcast(shapes[a], shapes[b]):
                return statement.format(a=a, b=b)
        raise AssertionError

    def tensors(self, points: Any) -> list[Any]:
        """Leaves that require gradients, in their layouts."""
        arrays = [laid_out(p, layout) for p, layout in zip(points, self.layouts, strict=True)]
        return [pb.Tensor(array, requires_grad=True) for array in arrays]

    def value(self, leaves: Any) -> Any:
        """A number: what the last operator gave, weighted."""
        names = dict(zip("xy", leaves, strict=True))
        for line in self.lines:
            exec(line, {"pb": pb, "np": np}, names)
        return pb.sum(names[f"v{len(self.lines) - 1}"] * self.weights) + 0.0 * sum(pb.sum(leaf) for leaf in leaves)

    def derivative(self, order: int, points: Any) -> float:
        """The derivative along the first `order` directions, each of the one before."""
        leaves = self.tensors(points)
        value = self.value(leaves)
        for k, direction in enumerate(self.directions[:order], 1):
            slopes = pb.autograd.grad(value, leaves, create_graph=k < order, materialize_grads=True)
            value = sum(pb.sum(g * d) for g, d in zip(slopes, direction, strict=True))
        return value.item()


def _broadcast(a: Any, b: Any) -> bool:
    try:
        return len(np.broadcast_shapes(a, b)) < 4
    except ValueError:
        return False
