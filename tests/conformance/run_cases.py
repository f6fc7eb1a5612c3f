#!/usr/bin/env python3
"""Run every caseNN.py of a folder on an engine with a torch-shaped API and print a table.

    python run_cases.py                          # the cases beside this file, on pullback.torch
    python run_cases.py --engine torch           # on torch itself: it passes few of them
    python run_cases.py --folder DIR case07

Each case prints one line that starts with PASS or FAIL; anything else counts as NO VERDICT.
A case passes for the right value or, where its header says so, for a loud error in place of a wrong value.
"""

import argparse
import collections
import contextlib
import io
import re
import warnings
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"


def title_of(path):
    """The first line of a case's docstring."""
    return re.search(r'"""(case\d+: .*)', path.read_text(encoding="utf-8")).group(1)


def run_case(path, engine="pullback.torch"):
    """The line with the verdict of one case."""
    code = re.sub(r"(?m)^import torch$", f"import {engine} as torch", path.read_text(encoding="utf-8"))
    out, trouble = io.StringIO(), "?"
    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("ignore")
        try:
            exec(compile(code, str(path), "exec"), {"__name__": "__main__", "__file__": str(path)})
        except SystemExit:
            pass
        except BaseException as error:
            trouble = f"{type(error).__name__}: {error}"
    lines = [line for line in out.getvalue().splitlines() if line.startswith(("PASS", "FAIL"))]
    return lines[-1] if lines else f"NO VERDICT: {trouble}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--engine", default="pullback.torch")
    parser.add_argument("--folder", type=Path, default=CASES)
    chosen = parser.parse_args()
    count = collections.Counter()
    for path in sorted(chosen.folder.glob("case[0-9]*.py")):
        if chosen.names and path.stem not in chosen.names:
            continue
        line = run_case(path, chosen.engine)
        verdict = line.split(":")[0]
        count[verdict] += 1
        print(f"{verdict:<10} {title_of(path)}\n           {line[:200]}")
    print(f"cases passed: {count['PASS']}/{sum(count.values())}")


if __name__ == "__main__":
    main()
