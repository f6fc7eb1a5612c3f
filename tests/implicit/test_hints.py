"""SciPy's own solvers refuse Tensors that require gradients, and name what to call instead."""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.sparse.linalg

import pullback as pb
from pullback.doors.libraries import SOLVERS

EYE, V = np.eye(2), np.array([1.0, 2.0])


def test_what_is_named_exists():
    assert set(SOLVERS.values()) <= set(pb.implicit.__all__)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x, v: scipy.linalg.expm(x), "expm"),
        (lambda x, v: scipy.sparse.linalg.spsolve(scipy.sparse.eye_array(2).tocsc(), v), "solve_sparse"),
        (lambda x, v: scipy.integrate.solve_ivp(lambda t, y: -y * v, (0, 1), [1.0, 1.0]), "solve_ivp"),
        (lambda x, v: scipy.optimize.minimize(lambda y: ((y - v) ** 2).sum(), [0.0, 0.0]), "minimize"),
    ],
)
def test_errors_name_the_way_out(call, name):
    with pytest.raises(RuntimeError) as caught:
        call(pb.tensor(EYE, requires_grad=True), pb.tensor(V, requires_grad=True))
    assert f"pullback.implicit.{name}, which is differentiable" in "".join(caught.value.__notes__)
