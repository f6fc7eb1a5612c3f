"""The Array API standard 2025.12: every name is there, and takes its arguments as the standard says.

`array_api_strict` has the standard's functions with exactly its signatures.
"""

import inspect
from operator import attrgetter

import array_api_strict as strict
import numpy as np
import pytest

import pullback as pb
from pullback.namespaces.info import KINDS
from pullback.ops.registry import REGISTRY

#: What array_api_strict has besides the standard.
OWN = {"__version__", "ArrayAPIStrictFlags", "Device", "get_array_api_strict_flags", "reset_array_api_strict_flags"} | {
    "set_array_api_strict_flags"
}
NAMES = sorted(
    [name for name in strict.__all__ if name not in OWN]
    + [f"linalg.{name}" for name in strict.linalg.__all__]
    + [f"fft.{name}" for name in strict.fft.__all__]
)
FUNCTIONS = [name for name in NAMES if inspect.isfunction(attrgetter(name)(strict))]
STRICT_ARRAY = type(strict.ones(1))
SPECIFIED = [name for name in dir(STRICT_ARRAY) if name not in dir(object) and (name[0] != "_" or name[:2] == "__")]
SPECIFIED.remove("__buffer__")  # Python's, where it has it

EVERYWHERE = {"pullback": pb, "x.__array_namespace__()": pb.zeros(1).__array_namespace__()}


def find(namespace, name):
    return attrgetter(name)(namespace)


def parameters(function):
    return list(inspect.signature(function).parameters.values())


def misfits(ours, theirs):
    """What a call that the standard allows would trip over, in words; nothing where every such call is understood."""
    given = parameters(theirs)
    mine = {p.name: p for p in parameters(ours)}
    for place, wanted in enumerate(given):
        if wanted.kind is wanted.POSITIONAL_ONLY:
            found = [*mine.values()][min(place, len(mine) - 1)] if mine else None
            if (
                found is None
                or found.kind is wanted.KEYWORD_ONLY
                or (place >= len(mine) and found.kind != wanted.VAR_POSITIONAL)
            ):
                yield f"argument {place + 1} cannot be given by position"
            continue
        if wanted.kind is wanted.VAR_POSITIONAL:
            found = next((p for p in mine.values() if p.kind is p.VAR_POSITIONAL), None)
        else:
            found = mine.get(wanted.name)
        if found is None:
            yield f"there is no {wanted.name}"
        elif wanted.kind is wanted.POSITIONAL_OR_KEYWORD and found.kind is not wanted.kind:
            yield f"{wanted.name} can be given in one way only"
        elif found.kind is wanted.POSITIONAL_ONLY:
            yield f"{wanted.name} cannot be given by name"
        elif wanted.default is not wanted.empty and not _same_default(found.default, wanted.default):
            yield f"{wanted.name} is {found.default!r} when left out, not {wanted.default!r}"
    for extra in mine.values():
        if extra.default is extra.empty and extra.name not in [p.name for p in given] and len(mine) > len(given):
            yield f"{extra.name} has to be given"


def _same_default(found, wanted):
    return found == wanted or type(wanted).__name__ == "Undef"


@pytest.mark.parametrize("space", EVERYWHERE)
@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(space, name):
    assert find(EVERYWHERE[space], name) is find(pb, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_what_the_standard_says(name):
    assert list(misfits(find(pb, name), find(strict, name))) == []


def test_misfits_are_seen():
    def theirs(x, y, /, shape, *, axis=0, k=2):
        pass

    def another_default(x, y, /, shape, *, axis=1, k=2):
        pass

    def one_short(x, /, *, axis=0, k=2, shape):
        pass

    def one_more(x, y, /, shape, *, axis=0, k=2, q):
        pass

    assert list(misfits(theirs, theirs)) == []
    assert list(misfits(another_default, theirs)) == ["axis is 1 when left out, not 0"]
    assert list(misfits(one_short, theirs)) == [
        "argument 2 cannot be given by position",
        "shape can be given in one way only",
    ]
    assert list(misfits(one_more, theirs)) == ["q has to be given"]


@pytest.mark.parametrize("name", SPECIFIED)
def test_every_attribute_is_there(name):
    ours, theirs = getattr(pb.Tensor, name), getattr(STRICT_ARRAY, name)
    assert callable(ours) == callable(theirs)
    if callable(theirs) and name not in ("__array_ufunc__", "__array__", "to_device"):
        assert list(misfits(ours, theirs)) == []


@pytest.mark.parametrize("name", ["e", "pi", "inf", "nan", "newaxis"])
def test_constants(name):
    found = getattr(pb, name)
    assert found is None if name == "newaxis" else type(found) is float
    np.testing.assert_equal(found, getattr(strict, name))


def test_the_inspection_interface():
    ours, theirs = pb.__array_namespace_info__(), strict.__array_namespace_info__()
    assert pb.__array_api_version__ == strict.__array_api_version__ == "2025.12"
    assert ours.capabilities() == theirs.capabilities()
    assert ours.default_device() in ours.devices()
    assert isinstance(ours.devices(), tuple)
    kinds = [None, *KINDS, ("bool", "real floating")]
    for kind in kinds:
        found = ours.dtypes(kind=kind)
        assert set(found) == set(theirs.dtypes(kind=kind))
        assert all(dtype == getattr(pb, name) for name, dtype in found.items())
    assert {k: str(v) for k, v in ours.default_dtypes().items()} == {
        k: str(v).rpartition(".")[2] for k, v in theirs.default_dtypes().items()
    }
    for wrong in (lambda: ours.dtypes(kind="text"), lambda: ours.default_dtypes(device="cuda")):
        with pytest.raises(ValueError, match="unsupported"):
            wrong()


def test_versions_of_the_namespace():
    x = pb.zeros(1)
    assert x.__array_namespace__(api_version="2021.12") is x.__array_namespace__()
    with pytest.raises(ValueError, match=r"2099\.12"):
        x.__array_namespace__(api_version="2099.12")


def test_dtypes_are_different_from_each_other():
    dtypes = list(pb.__array_namespace_info__().dtypes().values())
    assert all((a == b) is (i == k) for i, a in enumerate(dtypes) for k, b in enumerate(dtypes))


# --------------------------------------------------------------------------------------------------- without derivative
def test_what_has_no_derivative_says_why():
    missing = [name for name, record in REGISTRY.items() if not record.differentiable and not record.reason]
    assert missing == [], "register(..., differentiable=False, reason=...)"


def test_every_function_of_the_standard_has_a_derivative_or_a_reason():
    calls = {id(record.call): record for record in REGISTRY.values()}
    calls |= {id(getattr(record.call, "__wrapped__", None)): record for record in REGISTRY.values()}
    known = {"linalg.diagonal"}  # the registered one, with the axes of the standard
    assert [n for n in FUNCTIONS if id(find(pb, n)) not in calls and n not in known] == ["__array_namespace_info__"]


@pytest.mark.parametrize("name", ["argmax", "argsort", "count_nonzero", "isnan", "all", "signbit"])
def test_asking_for_a_gradient_that_is_none_is_an_error(name):
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = getattr(pb, name)(x)
    with pytest.raises(RuntimeError, match="does not require grad") as caught:
        pb.autograd.grad(y.sum(), x)
    assert any("what cannot change by small amounts" in note for note in caught.value.__notes__)


def test_the_next_number_refuses_a_gradient():
    x = pb.tensor([1.0], requires_grad=True)
    assert pb.nextafter(x, pb.tensor(2.0)).item() > 1
    with pytest.raises(pb.DerivativeRefused, match="nextafter with respect to a"):
        pb.autograd.grad(pb.nextafter(x, 2.0).sum(), x)
