"""What is special about the code of libraries that compute with Tensors: their writes are remembered, their numbers refused."""

import sys

import numpy as np
import pytest

import pullback as pb
from pullback.core import places
from pullback.doors import libraries

CODE = """
def overwritten(x, pb):
    e = pb.exp(x)
    y = e * e
    e[0] = 0.0
    e *= 2.0
    return pb.sum(y) + pb.sum(e)


def through_a_view(x, pb):
    e = pb.exp(x)
    row = e[1:]
    y = pb.sum(e * row[0])
    row[...] = row * row
    return y + pb.sum(e)


def number(x, pb):
    return x * float(x[0])


def array(x, pb):
    return pb.asarray(x.numpy())
"""


def made_in(file):
    """The functions above, as if their code stood in a file."""
    space = {"__name__": "scipy.example"}
    exec(compile(CODE, file, "exec"), space)
    return space


@pytest.fixture
def theirs(monkeypatch):
    """The functions as code of a library."""
    monkeypatch.setattr(places, "of_library", libraries.is_theirs)
    scipy = pytest.importorskip("scipy")
    return made_in(f"{scipy.__path__[0]}/example.py")


def leaf():
    return pb.tensor([0.3, 0.8, -0.5], requires_grad=True)


def test_what_they_write_over_can_still_be_read(theirs):
    x = leaf()
    (g,) = pb.autograd.grad(theirs["overwritten"](x, pb), x)
    e = np.exp(x.detach().numpy())
    np.testing.assert_allclose(g.numpy(), 2 * e * e + np.array([0, 2, 2]) * e)
    for name in ("overwritten", "through_a_view"):
        assert pb.gradcheck(lambda x, f=theirs[name]: f(x, pb), x)
        assert pb.gradgradcheck(lambda x, f=theirs[name]: f(x, pb), x)


def test_code_of_users_is_told_as_before(theirs):
    x = leaf()
    y = made_in("program.py")["overwritten"](x, pb)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    assert made_in("program.py")["number"](x, pb).requires_grad


def test_numbers_and_arrays_that_they_take_are_refused(theirs):
    with pytest.raises(RuntimeError, match=r"scipy's number\(\) takes a number out of a Tensor") as caught:
        theirs["number"](leaf(), pb)
    assert "x.detach()" in caught.value.__notes__[-1]
    assert theirs["number"](leaf().detach(), pb).tolist() == pytest.approx([0.09, 0.24, -0.15])
    with pytest.raises(RuntimeError, match="requires grad"):
        theirs["array"](leaf(), pb)


def test_whose_code_it_is():
    scipy = pytest.importorskip("scipy")
    assert libraries.library_of(f"{scipy.__path__[0]}/stats/_stats_py.py") == "scipy"
    assert libraries.library_of(__file__) is None
    assert places.called_by_library(sys._getframe()) is None
    assert places.called_by_library(sys._getframe(1))[0] in ("pytest", "_pytest", "pluggy")
