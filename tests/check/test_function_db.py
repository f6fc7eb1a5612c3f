"""torch's own collection of custom Functions, with its own samples: no false alarm."""

import warnings

import numpy as np
import pytest

from pullback.check import check

pytestmark = pytest.mark.torch

#: Faults that these Functions really have, each looked at.
TRUE = {
    # grad_saved is not used, and grad_output not everywhere
    "CubeGenVmap": {
        "upstream-missing",
        "wrong-gradient",
        "undefined-cotangent",
        "gradient-missing",
        "wrong-second-derivative",
    },
    # grad_output is not multiplied with; the entry is a function around the class
    "NumpyCubeNotComposableAutogradFunction": {"upstream-missing", "wrong-second-derivative"},
    # forward returns its input unsorted
    "NumpySort": {"wrong-gradient", "kink", "wrong-second-derivative", "jvp-disagrees"},
    # its zeros have one axis too many, which torch sums
    "ZeroGradientsGenVmap": {"gradient-shape"},
}


def _entries():
    db = pytest.importorskip("torch.testing._internal.autograd_function_db")
    for info in db.autograd_function_db:
        samples = list(info.sample_inputs("cpu", __import__("torch").float64, requires_grad=True))
        yield info.name, info.op, samples[0]


def test_no_false_alarm():
    import torch

    wrong = {}
    for name, op, sample in _entries():
        arguments = [sample.input, *sample.args, *sample.kwargs.values()]
        if not all(isinstance(a, (torch.Tensor, int, float, bool, str, type(None), tuple)) for a in arguments):
            continue
        inputs = [np.array(a.detach().numpy()) if isinstance(a, torch.Tensor) else a for a in arguments]
        owner = getattr(op, "__self__", None)
        target = owner if isinstance(owner, type) else op
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = check(target, inputs, library="torch")
        names = (
            {fault.name for fault in report.faults}
            - TRUE.get(getattr(target, "__name__", ""), set())
            - TRUE.get(name, set())
        )
        if names:
            wrong[name] = (names, str(report))
    assert not wrong, "\n\n".join(f"{name}: {found}\n{text}" for name, (found, text) in wrong.items())
