"""No function of NumPy or SciPy takes a Tensor that requires gradients and gives it back without, in silence."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from doors.hunt import LINE, NUMPY, hunt, lost
from pullback.core.tensor import Tensor


def test_in_numpy():
    found, calls = hunt(NUMPY)
    assert found == []
    assert calls > 1000


@pytest.mark.slow
def test_in_scipy():
    hunter = Path(__file__).with_name("hunt.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, str(hunter)], capture_output=True, text=True, check=False, env=environment)
    found, calls = json.loads(done.stdout.splitlines()[-1])
    assert found == []
    assert calls > 1000


def test_the_hunter_sees_what_is_lost():
    def bare(x):
        return x._array * 2 if isinstance(x, Tensor) else x * 2

    assert lost(bare, (LINE,))
    assert lost(lambda x: x.detach() * 2 if isinstance(x, Tensor) else x * 2, (LINE,))
    assert lost(lambda x: float(x[0]), (LINE,))
    assert not lost(np.sin, (LINE,))
    assert not lost(np.floor, (LINE,))
    assert not lost(np.argsort, (LINE,))
