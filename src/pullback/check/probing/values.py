"""The first derivative, number by number."""

from __future__ import annotations

import numpy as np

from pullback.check.numeric import central
from pullback.check.probing import jacobian
from pullback.check.probing.agree import repeatable
from pullback.check.probing.outcome import Fault, Outcome, raises
from pullback.check.probing.probe import probe
from pullback.check.probing.raising import line_in, raised
from pullback.check.probing.specimen import MANY, Specimen, flat
from pullback.check.probing.watch import forward_mode


@probe("values")
def values(specimen: Specimen, outcome: Outcome) -> None:
    """Every number of the gradient against difference quotients.

    Each element of each argument is moved by a step suited to it; entries that disagree are looked at again with many steps
    and on both sides, which tells a wrong rule from a kink (any subgradient passes), a jump, an edge of the domain and a lack of
    precision. Then the remainder of a Taylor expansion has to fall with the square of the step, and where the class has a
    jvp, it has to be the transpose of backward.
    """
    if not deterministic(specimen, outcome):
        return
    if not specimen.first.differentiable:
        _constant(specimen, outcome)
        return
    numbers = sum(specimen.arguments[k].size for k in specimen.wanted)
    if numbers > MANY or flat(specimen.outputs).size > MANY:
        outcome.unsure(f"{numbers} numbers are too many to move one by one; give smaller inputs")
        return
    try:
        matrices = jacobian.pulled(specimen)
    except Exception as error:
        if specimen.level > 1:
            raise
        _not_each_alone(specimen, error, outcome)
        return
    for position, matrix in zip(specimen.wanted, matrices, strict=True):
        judge(specimen, position, matrix, outcome)
    outcome.tried.append(f"{numbers} numbers in {len(specimen.wanted)} arguments, order {specimen.level}")
    if specimen.level == 1:
        _taylor(specimen, matrices, outcome)
        _steps(specimen, matrices, outcome)
        if outcome.verdict == "pass":
            _forward_mode(specimen, matrices, outcome)


def deterministic(specimen: Specimen, outcome: Outcome) -> bool:
    """Whether a second call gives the same values; the seed is set before each, so a seeded dropout passes."""
    taken = specimen.first.differentiable
    one, other = (_again(specimen, taken) for _ in range(2))
    if np.array_equal(one, other, equal_nan=True):
        return True
    off = float(np.nanmax(np.abs(one - other))) if one.shape == other.shape else np.inf
    outcome.add(
        Fault(
            "random-forward",
            f"called twice with the same inputs, the values differ by {off:.4g}",
            inputs=specimen.shown(),
            where=specimen.line_of("forward"),
        )
    )
    return False


def _again(specimen: Specimen, taken: list[int]) -> np.ndarray:
    specimen.world.seed(specimen.seed)
    outputs = specimen.world.call(specimen.function, specimen.make(None, ())).outputs
    return flat([outputs[k] for k in taken or range(len(outputs))])


def _constant(specimen: Specimen, outcome: Outcome) -> None:
    """Nothing is differentiable: then nothing may move."""
    arrays = [y for y in specimen.first.outputs if y is not None and y.dtype.kind in "fc"]
    if not arrays or not specimen.wanted:
        outcome.verdict = "not applicable"
        outcome.note("no output is differentiable")
        return
    for position in specimen.wanted:
        base = specimen.arguments[position]
        moved = specimen.world.call(
            specimen.function, specimen.make(specimen.moved(position, base * (1 + 1e-3) + 1e-3), ())
        )
        if not np.allclose(flat(moved.outputs), flat(specimen.first.outputs), equal_nan=True):
            outcome.add(
                Fault(
                    "gradient-missing",
                    f"the outputs change with {specimen.argument_name(position)}, and none of them has a gradient",
                    inputs=specimen.shown(),
                    where=specimen.line_of("forward"),
                )
            )


def judge(specimen: Specimen, position: int, matrix: np.ndarray, outcome: Outcome) -> None:
    """Compare one argument's Jacobian with differences, and say what the matter is."""
    found = jacobian.compare(specimen, position, matrix)
    name = specimen.argument_name(position)
    if found.how != "differences":
        outcome.tried.append(f"{name} with {found.how}")
    if found.kinks:
        outcome.note(
            f"{found.kinks} entries of the gradient of {name} are at a kink or an edge: a subgradient, accepted"
        )
    if not found.wrong.any():
        return
    if found.unsure == found.wrong.sum():
        outcome.unsure(f"too little precision to judge {found.unsure} entries of the gradient of {name}")
        return
    if specimen.level == 1 and (reason := surrogate(specimen)):
        outcome.unsure(f"{reason}: the gradient of {name} is meant to be another one than that of the function")
        return
    deaf = is_deaf(specimen)
    seen = jacobian.pattern(specimen, found, deaf)
    if seen.name == "step":
        outcome.unsure(
            f"the function is constant around this point in {name}, and its rule is not zero: a surrogate gradient "
            "(straight-through), which no difference can confirm"
        )
        return
    if specimen.level == 1 and (fault := repeatable(specimen)) is not None:  # no Jacobian can be made of such a node
        outcome.add(fault)
        return
    row, column = found.worst
    verdict = found.findings[row, column].verdict if (row, column) in found.findings else "mismatch"
    fault_name = "kink" if verdict in {"kink", "jump", "edge"} else _named(seen.name)
    where = specimen.line_of("backward") or specimen.line_of("forward")
    count = f"{int(found.wrong.sum())} of {found.wrong.size} entries"
    message = f"the gradient of {specimen.place(position, row)} is wrong in {count}"
    if specimen.level > 1:
        message = f"derivative {specimen.level}: {message}"
    outcome.add(
        Fault(
            fault_name,
            message,
            found=_number(matrix[row, column]),
            expected=_number(found.numerical[row, column]),
            pattern=seen.text,
            inputs=specimen.shown(),
            where=where,
            facts={"argument": name, "pattern": seen.name, "order": specimen.level},
        )
    )


def _not_each_alone(specimen: Specimen, error: Exception, outcome: Outcome) -> None:
    """One output at a time is too little for backward; perhaps all of them together are not."""
    try:
        specimen.run().pull(*specimen.cotangents(specimen.rng))
    except Exception as whole:
        raised(specimen, whole, outcome)
        return
    text = f"with only one of the outputs used, backward {raises(error)}"
    outcome.add(Fault("undefined-cotangent", text, inputs=specimen.shown(), where=line_in(error, specimen)))


def surrogate(specimen: Specimen) -> str:
    """Why the gradient is plainly meant to differ from that of the function; empty if it is not.

    The class says so (``surrogate = True``), or forward is the identity: nobody writes that for its values.
    """
    if getattr(specimen.target, "surrogate", False):
        return "the class says that it has a surrogate gradient"
    return "forward is the identity" if isinstance(specimen.target, type) and _is_identity(specimen) else ""


def _is_identity(specimen: Specimen) -> bool:
    """Whether each output is one of the arguments, here and at another point: x*x is x at 1."""
    for shift in (0.0, 0.137):
        arguments = [a * (1 + shift) + shift if k in specimen.wanted else a for k, a in enumerate(specimen.arguments)]
        inputs = [arguments[k] for k in specimen.wanted]
        try:
            outputs = specimen.world.call(specimen.function, specimen.make(arguments, ())).outputs
        except Exception:
            return False
        taken = [outputs[k] for k in specimen.first.differentiable]
        if not taken or not all(
            any(np.array_equal(x, y, equal_nan=True) for x in inputs) for y in taken if y is not None
        ):
            return False
    return True


def _named(pattern: str) -> str:
    return {"upstream": "upstream-missing", "zero": "gradient-missing"}.get(pattern, "wrong-gradient")


def _number(value: float) -> str:
    return f"{value:.8g}"


def is_deaf(specimen: Specimen) -> bool:
    """Whether backward gives something for a cotangent of zeros."""
    try:
        found = specimen.run().pull(*[np.zeros_like(y) for y in specimen.outputs])
    except Exception:
        return False
    return any(g is not None and np.any(g) for g in found)


def _taylor(specimen: Specimen, matrices: list[np.ndarray], outcome: Outcome) -> None:
    """|f(x + hv) - f(x) - h J v| along one direction, for many h: the curve of the page, and its rate."""
    rng = specimen.rng
    moves = []
    slope: np.ndarray | float = 0.0
    for position, matrix in zip(specimen.wanted, matrices, strict=True):
        base = specimen.arguments[position]
        move = rng.uniform(-1, 1, base.shape).astype(base.real.dtype)
        moves.append((position, move))
        slope = slope + (flat([move.astype(base.dtype)]) @ matrix)
    start = specimen.values()
    steps, remainders = [], []
    for k in range(2, 13):
        h = 2.0**-k
        arguments = list(specimen.arguments)
        for position, move in moves:
            arguments[position] = (arguments[position] + h * move).astype(arguments[position].dtype)
        try:
            with np.errstate(all="ignore"):
                remainder = float(np.abs(specimen.values(arguments) - start - h * slope).max(initial=0.0))
        except Exception:
            return  # the edge of the domain is near
        steps.append(h)
        remainders.append(remainder)
    outcome.curves["taylor"] = {"h": steps, "remainder": remainders}
    floor = 1e3 * jacobian.unit_of(specimen) * max(1.0, float(np.abs(start).max(initial=0.0)))
    usable = [(h, r) for h, r in zip(steps, remainders, strict=True) if np.isfinite(r) and r > floor]
    if len(usable) > 3:
        (h0, r0), (h1, r1) = usable[-4], usable[-1]
        rate = float(np.log(r0 / r1) / np.log(h0 / h1))
        outcome.tried.append(f"Taylor remainder falls with h^{rate:.2f}")
    else:
        outcome.tried.append("Taylor remainder at rounding level")


def _steps(specimen: Specimen, matrices: list[np.ndarray], outcome: Outcome) -> None:
    """How far central differences of one number lie from the rule, for many steps: the other curve of the page."""
    position, matrix = specimen.wanted[0], matrices[0]
    if not matrix.size:
        return
    row, column = np.unravel_index(int(np.abs(np.nan_to_num(matrix)).argmax()), matrix.shape)
    direction, _ = jacobian.directions(specimen, position)[row]
    along = jacobian.line(specimen, position, direction)
    steps = [10.0 ** -(k / 2) for k in range(2, 25)]
    try:
        with np.errstate(all="ignore"):
            errors = [float(abs(central(along, h)[column] - matrix[row, column])) for h in steps]
    except Exception:
        return  # the edge of the domain is near
    outcome.curves["steps"] = {"h": steps, "error": errors, "entry": specimen.place(position, int(row))}


def _forward_mode(specimen: Specimen, matrices: list[np.ndarray], outcome: Outcome) -> None:
    rng = specimen.rng
    tangents = [
        rng.uniform(-1, 1, specimen.arguments[k].shape).astype(specimen.arguments[k].dtype) for k in specimen.wanted
    ]
    try:
        pushed = forward_mode(specimen, tangents)
    except Exception as error:
        outcome.add(Fault("jvp-disagrees", f"jvp {raises(error)}", where=specimen.line_of("jvp")))
        return
    if pushed is None:
        return
    expected = sum((flat([t]) @ m for t, m in zip(tangents, matrices, strict=True)), np.zeros(matrices[0].shape[1]))
    if not np.allclose(pushed, expected, rtol=1e-6, atol=1e-8 * max(1.0, float(np.abs(expected).max(initial=0.0)))):
        worst = int(np.abs(pushed - expected).argmax())
        outcome.add(
            Fault(
                "jvp-disagrees",
                "J v from jvp is not what backward says",
                found=_number(pushed[worst]),
                expected=_number(expected[worst]),
                inputs=specimen.shown(),
                where=specimen.line_of("jvp"),
            )
        )
    outcome.tried.append("jvp against backward")
