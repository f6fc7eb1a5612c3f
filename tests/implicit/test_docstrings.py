"""The examples in the docstrings of what users see."""

import doctest
import inspect

import pytest

import pullback as pb

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PUBLIC = {f"implicit.{name}": getattr(pb.implicit, name) for name in pb.implicit.__all__}
PUBLIC |= {f"bridges.scipy.{name}": getattr(pb.bridges.scipy, name) for name in pb.bridges.scipy.__all__}
#: What functions return, or take, or raise.
RECORDS = {"implicit.Minimum", "implicit.NotConverged", "implicit.Pattern", "implicit.Trajectory"}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_examples_run(name):
    value = PUBLIC[name]
    assert value.__doc__
    test = doctest.DocTestParser().get_doctest(inspect.cleandoc(value.__doc__), {}, name, None, 0)
    assert bool(test.examples) is (name not in RECORDS)
    said = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert said == []
