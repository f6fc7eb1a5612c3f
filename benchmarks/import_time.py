"""How long `import pullback` takes, beside `import numpy`, which it cannot do without.

Each measurement is a fresh interpreter that runs one line. The three lines take turns, so that a
slow moment of the machine meets all of them; the first turn only fills the disk's cache and does
not count. The ratio is that of whole commands within one turn, as a user meets them; "over NumPy"
is the time that pullback itself adds.

To see which import costs what: python -X importtime -c "import pullback"
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

LINES = {"nothing": "pass", "numpy": "import numpy", "pullback": "import pullback"}


def measure(line: str) -> float:
    """Seconds from the start of an interpreter to its end."""
    began = time.perf_counter()
    # bytecode is cached, as it is after `pip install`, also where the environment forbids new caches
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-c", line], check=True, env=environment)
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="turns; medians are over them (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    options = parser.parse_args()

    seconds: dict[str, list[float]] = {name: [] for name in LINES}
    try:
        for turn in range(options.rounds + 1):
            for name, line in LINES.items():
                taken = measure(line)
                if turn:
                    seconds[name].append(taken)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{error.cmd[-1]!r} failed. Try `make bench`, which installs what it needs.") from None

    pairs = list(zip(seconds["pullback"], seconds["numpy"], strict=True))
    ratio = statistics.median(mine / numpy for mine, numpy in pairs)
    over = statistics.median(mine - numpy for mine, numpy in pairs)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    if options.json:
        report = {"benchmark": "import_time", "rounds": options.rounds, "python": platform.python_version()}
        print(json.dumps({**report, "median_seconds": medians, "ratio": ratio, "over_numpy_seconds": over}, indent=2))
        return
    print(f"A fresh interpreter, {options.rounds} turns, Python {platform.python_version()}")
    for name, median in medians.items():
        print(f"  {LINES[name]:<18}{median * 1000:>7.1f} ms")
    print(f"  import pullback takes {ratio:.2f} times as long as import numpy ({over * 1000:+.1f} ms over NumPy)")


if __name__ == "__main__":
    main()
