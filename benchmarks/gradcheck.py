"""gradcheck of a linear map with a 1,000 by 1,000 matrix: time and memory, beside torch's slow gradcheck.

`--size 300` takes a smaller one.  torch is left out where it is not installed.
"""

import argparse
import resource
import subprocess
import sys
import time


def measure(library: str, size: int) -> None:
    """One gradcheck in this process: prints seconds, and how many megabytes the peak of memory rose."""
    import importlib

    import numpy as np

    torch = importlib.import_module(library)
    rng = np.random.default_rng(0)
    matrix = torch.tensor(rng.standard_normal((size, size)))
    x = torch.tensor(rng.standard_normal(size), requires_grad=True)
    torch.autograd.gradcheck(
        lambda t: matrix[:5, :5] @ t, (x[:5].detach().requires_grad_(),)
    )  # whatever is loaded late
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    passed = torch.autograd.gradcheck(lambda t: matrix @ t, (x,))
    seconds = time.perf_counter() - start
    print(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, passed)


def main() -> None:
    """Measure each library in a process of its own, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1000, help="rows and columns of the matrix (%(default)s)")
    parser.add_argument("--library", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.library:
        measure(arguments.library, arguments.size)
        return
    found = {}
    for library in ("pullback.torch", "torch"):
        command = [sys.executable, __file__, "--library", library, "--size", str(arguments.size)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{library:16} not measured: {(done.stderr.splitlines() or ['?'])[-1]}")
            continue
        seconds, megabytes, passed = done.stdout.split()
        found[library] = float(seconds), float(megabytes)
        print(f"{library:16} {float(seconds):7.2f} s {float(megabytes):8.1f} MB more   {passed}")
    if len(found) == 2:
        ours, theirs = found.values()
        print(f"ratio            {ours[0] / theirs[0]:7.2f}   {ours[1] / max(theirs[1], 1.0):8.2f}")


if __name__ == "__main__":
    main()
