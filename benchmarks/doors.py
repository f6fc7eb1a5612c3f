"""What the doors cost: the same operator by the library's name, by NumPy's, and by the standard's namespace.

The arrays hold 4 numbers, so that only what stands around the arithmetic is measured. The calls take
turns within one process; the columns are the median time of one call, and the median of its ratio to
the first call of its table within the same round, with the quartiles of that ratio.
"""

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from _peers import environment, show_environment, show_seconds

TABLES = {
    "recorded": ("pb.sin(x)", "np.sin(x)", "x.__array_namespace__().sin(x)", "np.sin(a)"),
    "not recorded": ("pb.sin(t)", "np.sin(t)", "t.__array_namespace__().sin(t)"),
    "two arguments": ("x * y", "np.multiply(x, y)", "y * a", "a * y"),
    "a reduction": ("pb.sum(x)", "np.sum(x)", "x.sum()"),
}
#: How many times as long as the operator itself a call may take.
LIMITS = {
    "np.sin(x)": 3.0,
    "np.sin(t)": 3.0,
    "x.__array_namespace__().sin(x)": 1.3,
    "t.__array_namespace__().sin(t)": 1.3,
}


def calls() -> dict[str, Any]:
    """The names that the calls use."""
    values = np.array([0.1, 0.2, 0.3, 0.4])
    x, y = (pb.tensor(values, requires_grad=True) for _ in range(2))
    return {"pb": pb, "np": np, "x": x, "y": y, "t": pb.tensor(values), "a": values}


def measure(lines: tuple[str, ...], rounds: int, repeat: int) -> list[dict[str, Any]]:
    """Time some calls in turns."""
    runs: list[Callable[[], Any]] = [eval(f"lambda: {line}", calls()) for line in lines]
    seconds: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for run, times in zip(runs, seconds, strict=True):
            began = time.perf_counter()
            for _ in range(repeat):
                run()
            times.append((time.perf_counter() - began) / repeat)
    gc.unfreeze()
    found = []
    for line, times in zip(lines, seconds, strict=True):
        ratios = [mine / first for mine, first in zip(times, seconds[0], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
        found.append(
            {
                "call": line,
                "median_seconds": statistics.median(times),
                "ratio": middle,
                "ratio_quartiles": [low, high],
            }
        )
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="rounds; medians are over them (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=500, help="calls per turn (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    options = parser.parse_args()

    results = {title: measure(lines, options.rounds, options.repeat) for title, lines in TABLES.items()}
    if options.json:
        print(json.dumps({"benchmark": "doors", "environment": environment(), "results": results}, indent=2))
        return
    print(f"One call on 4 float64 values; {options.rounds} rounds of {options.repeat}; {show_environment()}")
    for title, rows in results.items():
        print(f"\n{title:<40}  times as long as the first")
        for row in rows:
            low, high = row["ratio_quartiles"]
            cells = f"  {row['call']:<32}{show_seconds(row['median_seconds']):>10}"
            limit = LIMITS.get(row["call"])
            mark = f"   at most {limit}" + ("" if row["ratio"] <= limit else "  TOO LONG") if limit else ""
            print(f"{cells}{row['ratio']:>9.2f}   ({low:.2f} to {high:.2f}){mark}")


if __name__ == "__main__":
    main()
