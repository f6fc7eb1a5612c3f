"""A derivative written by hand, as a formula, against backward and against differences."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from pullback.check.inputs import BadInputs
from pullback.check.numeric import central
from pullback.check.probing import Outcome, Specimen, jacobian
from pullback.check.probing.outcome import Fault

_ALLOWED = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.Name,
    ast.Constant,
    ast.Call,
    ast.Load,
    ast.operator,
    ast.unaryop,
    ast.Compare,
    ast.cmpop,
)


def compare_by_hand(specimen: Specimen, formula: str) -> Outcome:
    """Compare ``d(sum of the outputs) / d(first argument)`` with a formula in the names of forward's arguments.

    The formula may use NumPy's functions by their plain names: ``"2*x"``, ``"cosh(x)"``, ``"where(x > 0, 1.0, 0.1)"``.
    """
    outcome = Outcome("by hand")
    position = specimen.wanted[0]
    name = specimen.argument_name(position)
    told = np.broadcast_to(_evaluate(formula, specimen), specimen.arguments[position].shape)
    gradient = specimen.run().pull(*[np.ones_like(y) for y in specimen.outputs])[0]
    outcome.tried.append(f"d/d{name} = {formula}")
    numerical = _differences(specimen, position)
    found = np.zeros_like(told) if gradient is None else gradient
    wrong = ~np.isclose(found, told, rtol=1e-6, atol=1e-9)
    if not wrong.any():
        return outcome
    number = int(np.where(wrong, np.abs(found - told), -1).argmax())
    element = np.unravel_index(number, told.shape)
    hand_right = bool(np.isclose(told[element], numerical[element], rtol=1e-4, atol=1e-7))
    who = "differences side with the formula" if hand_right else "differences do not side with the formula"
    outcome.add(
        Fault(
            "derivative-by-hand",
            f"the gradient of {specimen.place(position, number)} is not {formula}; {who} ({numerical[element]:.6g})",
            found=f"{found[element]:.8g}",
            expected=f"{told[element]:.8g}",
            inputs=specimen.shown(),
            where=specimen.line_of("backward"),
        )
    )
    return outcome


def _differences(specimen: Specimen, position: int) -> np.ndarray:
    slopes = [
        central(jacobian.line(specimen, position, direction), 1e-6 * max(1.0, abs(value))).sum()
        for direction, value in jacobian.directions(specimen, position)
    ]
    base = specimen.arguments[position]
    return np.array(slopes[: base.size]).reshape(base.shape)


def _evaluate(formula: str, specimen: Specimen) -> Any:
    try:
        tree = ast.parse(formula, mode="eval")
    except SyntaxError:
        raise BadInputs(f"--expected is no formula: {formula!r}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise BadInputs(f"--expected may use numbers, names, operators and NumPy's functions only: {formula!r}")
    names: dict[str, Any] = {specimen.argument_name(k): a for k, a in enumerate(specimen.arguments)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in names:
            value = getattr(np, node.id, None)
            if node.id.startswith("_") or not (
                isinstance(value, np.ufunc) or node.id in {"where", "pi", "e", "zeros_like", "ones_like"}
            ):
                raise BadInputs(
                    f"--expected: there is no {node.id}; there are {', '.join(names)} and NumPy's functions"
                )
            names[node.id] = value
    with np.errstate(all="ignore"):
        return eval(compile(tree, "<expected>", "eval"), {"__builtins__": {}}, names)  # only what was allowed above
