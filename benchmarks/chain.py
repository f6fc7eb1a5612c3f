"""How much a graph costs: a chain of small operations, forward and backward, against the same
arithmetic by hand.

The arrays hold 4 numbers, so the arithmetic itself takes next to no time: what is measured is what
a library does around each operation. 100 nodes, float64, one process, all contenders in turns; see
benchmarks/README.md for how to read it.

The columns: the median time of one round trip (record 100 operations, pull a seed back through
them), the median ratio to hand-written NumPy, and the quartiles of that ratio, between which half
of the rounds lie. A ratio of 3 means: three times as slow as hand-written code. Ratios differ
little between machines, times a lot.

PyTorch and HIPS autograd take part if they can be imported.
"""

import argparse
import json

from _peers import TITLES, compete, environment, gather, show_environment, show_row


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  python benchmarks/chain.py                       both tables\n"
        "  python benchmarks/chain.py --operator square     only operators that the user writes\n"
        "  python benchmarks/chain.py --skip torch --json   without PyTorch, for a program to read",
    )
    parser.add_argument("--operator", choices=[*TITLES], help="only one of the two tables")
    parser.add_argument("--nodes", type=int, default=100, help="length of the chain (default: %(default)s)")
    parser.add_argument("--size", type=int, default=4, help="numbers per array (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=300, help="rounds; medians are over them (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=5, help="round trips per turn (default: %(default)s)")
    parser.add_argument("--skip", action="append", default=[], metavar="WORD", help="leave out contenders named so")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    options = parser.parse_args()

    report = {
        "benchmark": "chain",
        "nodes": options.nodes,
        "size": options.size,
        "rounds": options.rounds,
        "environment": environment(),
        "results": [],
    }
    if not options.json:
        print(f"A chain of {options.nodes} nodes on {options.size} float64 values, forward and backward.")
        print(f"{options.rounds} rounds; {show_environment()}")
    for operator in [options.operator] if options.operator else TITLES:
        contenders, absent = gather(operator, options.size, options.nodes, options.skip)
        summaries = [timing.summary() for timing in compete(contenders, options.rounds, options.repeat)]
        report["results"] += [{"operator": operator, **summary} for summary in summaries]
        if not options.json:
            print(f"\n{TITLES[operator]:<40}  times as long as by hand")
            print("\n".join(show_row(summary) for summary in summaries))
            print("".join(f"  left out: {reason}\n" for reason in absent), end="")
    if options.json:
        print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
