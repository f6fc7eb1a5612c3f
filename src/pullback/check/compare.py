"""Two Jacobian matrices side by side: which entries disagree, and what mistake that looks like.  Plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


def allowed(numerical: Any, atol: float, rtol: float) -> Any:
    """How far the analytical value may be from the numerical one."""
    return atol + rtol * np.abs(numerical)


def disagree(analytical: Any, numerical: Any, atol: float, rtol: float) -> np.ndarray:
    """True where the two differ by more than `allowed`; NaN disagrees with everything."""
    with np.errstate(invalid="ignore"):
        return np.asarray(~(np.abs(analytical - numerical) <= allowed(numerical, atol, rtol)))


def worst(analytical: np.ndarray, numerical: np.ndarray, among: np.ndarray) -> tuple[int, int]:
    """Row and column of the entry that is furthest off, of those marked in `among`."""
    with np.errstate(invalid="ignore"):
        distance = np.abs(analytical - numerical)
    distance = np.where(np.isfinite(distance), distance, np.inf)
    row, column = np.unravel_index(np.where(among, distance, -1.0).argmax(), distance.shape)
    return int(row), int(column)


class Pattern(NamedTuple):
    """A recognised mistake: its short name, what to say about it, and the constant factor if it is one."""

    name: str
    text: str
    factor: complex | float | None = None


@dataclass
class Case:
    """What is known about a disagreement.

    Attributes
    ----------
    numerical, analytical
        Matrices of shape (elements of the input, elements of the output); where a disagreement was explained, the first
        holds the accepted value.
    wrong
        Where they disagree.
    in_shape, out_shape
        Shapes of that input and output.
    values
        Arrays that the rule might have forgotten or used twice, by the name to call them.
    deaf
        Whether backward gives something for a cotangent of zeros.
    """

    numerical: np.ndarray
    analytical: np.ndarray
    wrong: np.ndarray
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    atol: float
    rtol: float
    values: dict[str, np.ndarray] = field(default_factory=dict)
    deaf: bool = False

    def same(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Equal to within a few tolerances."""
        return not disagree(a, b, 3 * self.atol, 3 * self.rtol).any()


def recognise(case: Case) -> Pattern:
    """The first pattern that explains every entry; an empty one when none does."""
    if not np.isfinite(case.analytical).all():
        return Pattern("not finite", "the analytical derivative is not finite")
    for look in (_zero, _upstream, _step, _conjugate, _factor, _transpose, _chain, _term, _offset, _single):
        found = look(case)
        if found is not None:
            return found
    return Pattern("", "")


def _zero(case: Case) -> Pattern | None:
    if np.any(case.analytical):
        return None
    return Pattern(
        "zero",
        "the analytical derivative is zero everywhere: backward returned None or zeros for this input, or the path "
        "to it was cut (detach(), no_grad, NumPy, an input that is not an argument)",
    )


def _upstream(case: Case) -> Pattern | None:
    if not case.deaf:
        return None
    return Pattern(
        "upstream", "backward gives the same whatever comes in: it is not multiplied by the incoming gradient"
    )


def _step(case: Case) -> Pattern | None:
    if np.any(case.numerical):
        return None
    return Pattern(
        "step",
        "func is constant around this point (a step, or it does not use this input); is the rule a straight-through "
        "estimator? Then gradcheck cannot agree",
    )


def _conjugate(case: Case) -> Pattern | None:
    for conjugated in (np.conj(case.analytical), -np.conj(case.analytical)):
        if np.iscomplexobj(case.analytical) and case.same(conjugated, case.numerical):
            return Pattern(
                "conjugate", "a conj() is missing: for complex values backward returns grad * conj(derivative)"
            )
    return None


def _factor(case: Case) -> Pattern | None:
    n, a = case.numerical.reshape(-1), case.analytical.reshape(-1)
    norm = np.vdot(n, n).real
    if norm == 0 or n.size < 1:
        return None
    factor = np.vdot(n, a) / norm
    if factor == 0 or not case.same(a / factor, n):
        return None
    if np.isreal(factor):
        factor = float(np.real(factor))
    if abs(factor + 1) < 1e-3:
        return Pattern("sign", "the sign is wrong", -1.0)
    nice = _nice(factor)
    text = f"the analytical derivative is {nice:.6g} times the numerical one in every entry"
    # of two elements a factor of 2 says nothing: it is forgotten more often than a mean is taken for a sum
    for size, whose in ((np.prod(case.in_shape), "input"), (np.prod(case.out_shape), "output")):
        if size > 2 and abs(abs(nice) * size - 1) < 1e-3:
            text += f" (1/{int(size)}, the number of elements of the {whose}: a mean in place of a sum?)"
            break
        if size > 2 and abs(abs(nice) / size - 1) < 1e-3:
            text += f" (the number of elements of the {whose}: a sum in place of a mean?)"
            break
    return Pattern("factor", text, nice)


def _nice(factor: Any) -> Any:
    """The simple number that a measured factor stands for."""
    for simple in (round(np.real(factor) * 12) / 12, 1 / (round(np.real(1 / factor)) or np.inf)):
        if simple and abs(factor - simple) < 1e-3 * abs(factor):
            return float(simple)
    return factor


def _transpose(case: Case) -> Pattern | None:
    n, a = case.numerical, case.analytical
    if n.shape[0] == n.shape[1] and case.same(a.T, n):
        return Pattern("transpose", "the analytical Jacobian is the transpose of the numerical one")
    for shape, axis, whose in ((case.in_shape, 0, "input"), (case.out_shape, 1, "output")):
        if len(shape) > 1:
            order = np.arange(int(np.prod(shape))).reshape(shape)
            mixed = order.T.reshape(-1)
            for permutation in (mixed, np.argsort(mixed)):
                if case.same(np.take(a, permutation, axis), n):
                    return Pattern(
                        "transpose", f"the entries belong to the transposed {whose}: a transpose or a reshape is wrong"
                    )
    return None


def _chain(case: Case) -> Pattern | None:
    n, a = case.numerical, case.analytical
    for name, value in case.values.items():
        flat = value.reshape(-1)
        for count, shaped in ((n.shape[0], flat[:, None]), (n.shape[1], flat[None])):
            if flat.size not in (count, 1) or np.allclose(shaped, 1):
                continue
            if case.same(a * shaped, n):
                return Pattern("chain", f"a factor is missing: the values of {name}")
            if case.same(a, n * shaped):
                return Pattern("chain", f"a factor is too much: the values of {name}")
    return None


def _term(case: Case) -> Pattern | None:
    """Some entries are right; the wrong ones are zero, or should be."""
    if case.wrong.all() or case.wrong.sum() < 2:
        return None
    if not np.any(case.analytical[case.wrong]):
        return Pattern(
            "term", "the wrong entries are all zero, the others are right: a term, or a part of the input, is left out"
        )
    if not disagree(case.numerical[case.wrong], 0, case.atol, 0).any():
        return Pattern(
            "term", "the wrong entries should be zero, the others are right: outputs are mixed that are independent"
        )
    return None


def _offset(case: Case) -> Pattern | None:
    difference = (case.analytical - case.numerical)[case.wrong]
    if difference.size > 1 and case.same(difference, np.full_like(difference, difference.mean())):
        return Pattern(
            "offset", f"the wrong entries are all off by {difference.mean():.4g}: a term is too much, or missing"
        )
    return None


def _single(case: Case) -> Pattern | None:
    if case.wrong.sum() == 1 and case.wrong.size > 1:
        return Pattern("single", f"one entry of {case.wrong.size} is wrong, the others are right")
    return None
