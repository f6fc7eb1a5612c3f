#!/usr/bin/env python3
"""Write calls.json: what torch computes for every call and statement of ``test_torch_namespace.py`` (needs torch).

    python tests/conformance/record_calls.py

Of an array: its dtype, its shape, and the sum of its elements with different weights.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from test_torch_namespace import CALLS, RECORDED, STATEMENTS, evaluate, execute, fingerprint, plain


def main():
    calls = {call: fingerprint(plain(evaluate(torch, call)[0])) for call in CALLS}
    statements = {statement: [fingerprint(part) for part in execute(torch, statement)] for statement in STATEMENTS}
    tables = ",\n".join(f'"{name}": {lines(table)}' for name, table in (("calls", calls), ("statements", statements)))
    RECORDED.write_text(f'{{"torch": "{torch.__version__}",\n{tables}}}\n', encoding="utf-8")


def lines(table):
    """A dict as JSON with one line per entry."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()) + "}"


if __name__ == "__main__":
    main()
