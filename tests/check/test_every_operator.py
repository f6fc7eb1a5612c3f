"""`pullback check` finds no fault in any registered operator, on its first sample that has something to differentiate."""

import functools
import warnings

import numpy as np
import pytest

import pullback.namespaces.special
import pullback.ops.all  # noqa: F401 - fills the registry
from pullback.check import check
from pullback.ops.registry import REGISTRY, samples_of

pytestmark = pytest.mark.slow

_FAR_OUT = "SciPy's own values or slopes are NaN that far out"
#: What an operator is excused from, with the reason; an excuse that is not needed fails.
EXCUSED = {
    "special.besselpoly": "at 800 the slope is 5e306, and overflows on the way",
    "special.binom": "at -800 gamma functions overflow on the way",
    "special.elliprj": "at p = -1 the integral is a principal value, whose slope the rule does not give",
    "special.it2struve0": "its slope -H0(x)/x is written with x in the denominator, also at 0",
    "special.nctdtr": _FAR_OUT,
    "special.nctdtrit": _FAR_OUT,
    **{
        f"special.mathieu_mod{kind}m{number}_{part}": _FAR_OUT
        for kind in ("ce", "se")
        for number in (1, 2)
        for part in ("f", "df")
    },
}


def _operators():
    for name, record in sorted(REGISTRY.items()):
        if not record.differentiable or record.call is None:
            continue
        for sample in samples_of(record):
            floats = [a for a in sample.args if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]
            if floats and all(a.size for a in floats):
                yield pytest.param(record, sample, id=name)
                break


@pytest.mark.parametrize(("record", "sample"), list(_operators()))
def test_no_fault(record, sample):
    call = functools.partial(record.call, **sample.options) if sample.options else record.call
    if record.observe is not None:  # what is defined of a result that is not: eigenvectors up to a phase
        plain, call = call, lambda *arguments: record.observe(plain(*arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = check(call, sample.args, library="pullback")
    names = [fault.name for fault in report.faults]
    assert bool(names) is (record.name in EXCUSED), str(report)
    assert set(names) <= {"nan-gradient", "overflow"}, str(report)
