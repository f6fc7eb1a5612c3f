"""Large arrays: no copy that hand-written code would not make.

The same chains as in chain.py with 1,000,000 numbers per array and 20 nodes. Here the arithmetic is
everything, so the ratio of the times should be close to 1, and the memory at its peak no higher
than by hand: a library that copies what it need not, or frees late what the pass has used, shows it
here.

The peak is what was allocated during one round trip, measured with tracemalloc in a run of its own
(tracing costs time). It sees NumPy's buffers. PyTorch's memory is its own and cannot be seen that
way, so PyTorch gets times only; its arithmetic uses one thread here, as NumPy's does.
"""

import argparse
import json
import tracemalloc
from typing import Any

from _peers import HAND, TITLES, Contender, compete, environment, gather, show_environment, show_row


def measure_peak(contender: Contender) -> int | None:
    """Bytes allocated at the worst moment of one round trip, over those at its beginning."""
    if "torch" in contender.name:
        return None
    contender.run()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        contender.run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def limit_torch() -> None:
    """One thread for PyTorch, if it is there."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  python benchmarks/large.py                            both tables\n"
        "  python benchmarks/large.py --size 100000 --nodes 50   where overhead and arithmetic meet\n"
        "  python benchmarks/large.py --json                     for a program to read",
    )
    parser.add_argument("--operator", choices=[*TITLES], help="only one of the two tables")
    parser.add_argument("--nodes", type=int, default=20, help="length of the chain (default: %(default)s)")
    parser.add_argument("--size", type=int, default=1_000_000, help="numbers per array (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds; medians are over them (default: %(default)s)")
    parser.add_argument("--skip", action="append", default=[], metavar="WORD", help="leave out contenders named so")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    options = parser.parse_args()
    if "torch" not in options.skip:
        limit_torch()

    report: dict[str, Any] = {
        "benchmark": "large",
        "nodes": options.nodes,
        "size": options.size,
        "rounds": options.rounds,
        "environment": environment(),
        "results": [],
    }
    if not options.json:
        print(f"A chain of {options.nodes} nodes on {options.size:,} float64 values, forward and backward.")
        print(f"{options.rounds} rounds; {show_environment()}")
    for operator in [options.operator] if options.operator else TITLES:
        contenders, absent = gather(operator, options.size, options.nodes, options.skip)
        peaks = {contender.name: measure_peak(contender) for contender in contenders}
        by_hand = peaks[HAND]
        assert by_hand
        if not options.json:
            print(f"\n{TITLES[operator]:<40}  times as long as by hand      peak        ratio")
        for timing in compete(contenders, options.rounds, repeat=1):
            summary, peak = timing.summary(), peaks[timing.name]
            ratio = None if peak is None else peak / by_hand
            report["results"].append({"operator": operator, **summary, "peak_bytes": peak, "peak_ratio": ratio})
            if not options.json:
                cells = ("not seen", "") if peak is None else (f"{peak / 1e6:.0f} MB", f"{ratio:.2f}")
                print(show_row(summary, *cells))
        if not options.json:
            print("".join(f"  left out: {reason}\n" for reason in absent), end="")
    if options.json:
        print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
