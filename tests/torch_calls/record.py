#!/usr/bin/env python3
"""Write recorded.json: what torch computes for every call of the tables here (needs torch).

    python tests/torch_calls/record.py

Of a Tensor: its dtype, its shape, and a number made of its entries; of gradients the numbers alone.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

import test_torch_calls as calls


def main():
    warnings.simplefilter("ignore")
    lines = []
    for call in calls.CALLS:
        with np.errstate(all="ignore"):
            value, leaves = calls.run(torch, call)
            first, second = calls.torchs_derivatives(torch, value, leaves)
        entry = [calls.prints(value), calls.totals(first), calls.totals(second)]
        lines.append(f"{json.dumps(call)}: {json.dumps(entry)}")
    calls.RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
