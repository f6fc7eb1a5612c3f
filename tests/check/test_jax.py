"""``jax.custom_vjp`` functions are examined as they are, in double precision whatever JAX is set to."""

import numpy as np
import pytest

from pullback.check import check

pytestmark = pytest.mark.jax


def _square(slope):
    import jax

    @jax.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, g: (slope(x, g),))
    return square


X = np.array([0.4, -0.7, 1.3])


def test_a_right_rule_passes():
    report = check(_square(lambda x, g: 2 * x * g), [X])
    assert report.ok, str(report)
    assert report.world == "jax"
    tried = next(outcome.tried for outcome in report.outcomes if outcome.probe == "modes")
    assert {"jit", "vmap"} <= set(tried)


@pytest.mark.parametrize(
    ("slope", "fault"),
    [
        (lambda x, g: x * g, "wrong-gradient"),
        (lambda x, g: 2 * x, "upstream-missing"),
        (lambda x, g: 2 * x * g * abs(g), "not-linear"),
    ],
)
def test_a_wrong_rule_is_reported(slope, fault):
    assert fault in [found.name for found in check(_square(slope), [X]).faults]


def test_a_second_derivative_that_is_cut():
    import jax

    report = check(_square(lambda x, g: 2 * jax.lax.stop_gradient(x) * g), [X])
    assert "wrong-second-derivative" in [fault.name for fault in report.faults]


def test_plain_functions_are_examined_too():
    import jax.numpy as jnp

    assert check(lambda x, y: jnp.sin(x) * y, [X, X + 1]).ok
