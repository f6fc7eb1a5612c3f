"""Random expressions of three to eight operators: gradient, Hessian-vector product and third derivative are the differences."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.expressions import STATEMENTS, Expression
from numeric import STENCIL

COUNT = 200
steps = st.tuples(st.integers(0, len(STATEMENTS) - 1), st.integers(0, 4), st.integers(0, 4))
expressions = st.tuples(
    st.tuples(st.integers(0, 2**16), st.integers(0, 27), st.integers(0, 27)), st.lists(steps, min_size=3, max_size=8)
)


def differences(expression, order, step):
    """The derivative of an order by differences of the one before."""
    direction = expression.directions[order - 1]

    def at(t):
        return expression.derivative(order - 1, [p + t * d for p, d in zip(expression.points, direction, strict=True)])

    return sum(weight * (at(k * step) - at(-k * step)) for k, weight in STENCIL) / step


def test_three_orders_are_those_of_finite_differences():
    compared = [0, 0, 0]
    used = set()

    @settings(
        max_examples=COUNT, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(expressions)
    def agrees(numbers):
        expression = Expression(*numbers)
        text = "\n".join(expression.lines)
        for order in (1, 2, 3):
            with np.errstate(all="ignore"):
                found = expression.derivative(order, expression.points)
                fine, coarse = (differences(expression, order, step) for step in (2.0**-10, 2.0**-9))
            size = max(1.0, abs(fine), abs(expression.derivative(order - 1, expression.points)))
            if not np.isfinite(fine) or size > 1e6 or abs(fine - coarse) > 1e-7 * size:
                return  # near a kink or a tie, or too steep for differences
            assert abs(found - fine) <= 1e-5 * size, f"order {order}: {found}, differences say {fine}\n{text}"
            compared[order - 1] += 1
        used.update(expression.lines)

    agrees()
    assert compared[0] >= COUNT * 0.8
    assert compared[2] >= COUNT * 0.6
    assert len(used) > COUNT


def test_a_wrong_rule_is_seen(monkeypatch):
    """An expression with a rule that is wrong in its second derivative alone is not taken for right."""
    import pullback as pb

    class Bent(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, ct):
            (x,) = ctx.saved_tensors
            bare = getattr(x, "_array", x)
            return ct * 3 * bare * bare  # a constant, while recorded

    monkeypatch.setattr(pb, "sin", Bent.apply)
    expression = Expression((1, 2, 2), [(STATEMENTS.index("pb.sin({a})"), 0, 0)] * 3)
    assert abs(expression.derivative(1, expression.points) - differences(expression, 1, 2.0**-10)) < 1e-6
    assert abs(expression.derivative(2, expression.points) - differences(expression, 2, 2.0**-10)) > 1e-3
