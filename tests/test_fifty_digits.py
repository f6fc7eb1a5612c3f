"""Derivatives of orders 1 to 4 are those of the definition at fifty digits, to the precision of the arithmetic.

A random direction is gone along; the value there is a function of one number, whose derivatives mpmath finds from values
with more digits than are asked for.
"""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

import pullback as pb
from every_operator import REGISTRY
from fifty_digits import DIGITS, ORACLES, exact
from numeric import Call, as_list, directions_like, pull, tensors
from pullback.ops.registry import samples_of

ORDERS = 4
#: Not here, and why.
ELSEWHERE = {
    "astype": "a cast",
    "eig": "unique up to factors of the vectors: third order by differences in test_every_op",
    "eigh": "unique up to factors of the vectors",
    "qr": "unique up to signs",
    "svd": "unique up to factors of the vectors",
    "eigvals": "an order that only LAPACK knows",
    "logcumsumexp": "NumPy's logaddexp; orders to 3 by differences in test_every_op",
    **dict.fromkeys(
        ("logm", "sqrtm", "sinm", "cosm", "signm", "fractional_matrix_power", "matrix_exp"),
        "SciPy's numbers; orders to 3 in tests/implicit",
    ),
    **dict.fromkeys(
        ("solve_sylvester", "solve_continuous_lyapunov", "solve_discrete_lyapunov"),
        "SciPy's numbers; see tests/implicit",
    ),
}
RECORDS = [
    record
    for name, record in REGISTRY.items()
    if record.differentiable and not name.startswith("special.") and name not in ELSEWHERE
]


def jet(call, direction, weights):
    """The derivatives of orders 0 to 4 of ``Re ⟨w, f(x + t v)⟩`` at t = 0, by pulling back again and again."""
    xs = tensors(call.arrays)
    total = weighted(call.differentiable(xs), weights)
    found = [total.item()]
    for _ in range(ORDERS):
        slopes = pull([total], xs, [np.ones(())], create_graph=True)
        total = weighted(slopes, direction)
        found.append(total.item())
    return found


def weighted(values, weights):
    return sum([pb.sum(pb.real(v * np.conj(w))) for v, w in zip(values, weights, strict=True)], pb.tensor(0.0))


def by_definition(call, oracle, direction, weights):
    """The same from the definition, with fifty digits."""
    points = [exact(x) for x in call.arrays]
    ways, factors = [exact(v) for v in direction], [exact(np.conj(w)) for w in weights]

    def value(t):
        args, options = call.arguments([x + t * v for x, v in zip(points, ways, strict=True)])
        found = [np.asarray(r) for r in as_list(oracle(*args, **options))]
        found = [r for r in found if r.dtype == object]
        return mp.fsum(
            mp.re(r * w) for y, f in zip(found, factors, strict=True) for r, w in zip(y.flat, f.flat, strict=True)
        )

    coefficients = mp.taylor(value, 0, ORDERS)
    return [float(c * mp.factorial(k)) for k, c in enumerate(coefficients)]


def samples(record, dtype):
    for sample in samples_of(record, dtype):
        call = Call(record, sample)
        if call.arrays and all(0 < x.size <= 12 for x in call.arrays):
            yield call


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_four_orders(record):
    oracle = ORACLES.get(record.name, record.reference)
    compared = 0
    for dtype in (np.float64, np.complex128) if record.complex else (np.float64,):
        for number, call in enumerate(samples(record, dtype)):
            rng = np.random.default_rng(number)
            outputs = call.differentiable(tensors(call.arrays))
            weights = directions_like([y._array for y in outputs], rng)
            direction = directions_like(call.arrays, rng)
            with mp.workdps(DIGITS):
                expected = by_definition(call, oracle, direction, weights)
            found = jet(call, direction, weights)
            scale = np.maximum.accumulate(np.maximum(np.abs(expected), 1.0))
            np.testing.assert_allclose(np.asarray(found) / scale, np.asarray(expected) / scale, rtol=0, atol=1e-12)
            compared += 1
    assert compared


def test_exceptions_are_operators():
    assert set(ELSEWHERE) <= set(REGISTRY)


def test_a_wrong_digit_is_seen(monkeypatch):
    monkeypatch.setitem(ORACLES, "sin", lambda x: ORACLES["cos"](x * (1 + mp.mpf(10) ** -11) - mp.pi / 2))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        test_four_orders(REGISTRY["sin"])
    monkeypatch.setitem(ORACLES, "sin", lambda x: ORACLES["cos"](x - mp.pi / 2) + x**4 * mp.mpf(10) ** -11)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        test_four_orders(REGISTRY["sin"])
