"""How long the Hessian of a function of 325 variables takes: pullback beside HIPS autograd, PyTorch and JAX.

Everybody evaluates the same mathematics on the same float64 values, written in the library's own functions; before anything
is timed, the Hessians are compared.  All contenders run in one process, in turns, and ratios are taken within a round: of the
time by the clock, and of the time that the processors worked, which a busy machine blurs less.

* Rosenbrock        a sum over neighbours, written with slices
* perceptron        the loss of a small network with 325 parameters (two layers), on 64 examples
* log-sum-exp       of a linear map to 200 numbers

The contenders: `pullback.hessian`; `autograd.hessian` of HIPS autograd; `torch.func.hessian` and
`torch.autograd.functional.hessian(vectorize=True)`; `jax.hessian`, compiled and not.  Who is not installed is left out.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from _peers import MissingLibrary, environment, need, show_environment

SIZE = 325
RNG = np.random.default_rng(0)
POINT = RNG.normal(size=SIZE) * 0.3
EXAMPLES, ANSWERS = RNG.normal(size=(64, 16)), RNG.normal(size=64)
MAP = RNG.normal(size=(200, SIZE)) / 10
HIDDEN = 18  # 16 * 18 weights, 18 biases, 18 weights and a bias: 325


def rosenbrock(xp: Any, array: Any, x: Any) -> Any:
    """Rosenbrock's function of many variables."""
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def perceptron(xp: Any, array: Any, w: Any) -> Any:
    """The mean squared error of a network of one hidden layer."""
    first = xp.reshape(w[:288], (16, HIDDEN))
    hidden = xp.tanh(array(EXAMPLES) @ first + w[288:306])
    return xp.sum((hidden @ w[306:324] + w[324] - array(ANSWERS)) ** 2) / 64


def logsumexp(xp: Any, array: Any, x: Any) -> Any:
    """The logarithm of a sum of exponentials."""
    return xp.log(xp.sum(xp.exp(array(MAP) @ x)))


FUNCTIONS = {"Rosenbrock": rosenbrock, "perceptron": perceptron, "log-sum-exp": logsumexp}


def as_it_is(values: Any) -> Any:
    """The constant arrays of libraries that take NumPy's."""
    return values


def by_pullback(function: Any) -> Callable[[], Any]:
    """`pullback.hessian`."""
    pb = need("pullback")
    hessian = pb.hessian(lambda x: function(pb, as_it_is, x))
    return lambda: hessian(POINT)


def by_hips(function: Any) -> Callable[[], Any]:
    """`autograd.hessian`."""
    hips, anp = need("autograd"), need("autograd.numpy")
    hessian = hips.hessian(lambda x: function(anp, as_it_is, x))
    return lambda: hessian(POINT)


def by_torch(function: Any) -> Callable[[], Any]:
    """`torch.func.hessian`."""
    torch = need("torch")
    hessian, x = torch.func.hessian(lambda x: function(torch, torch.from_numpy, x)), torch.from_numpy(POINT)
    return lambda: hessian(x).numpy()


def by_torch_functional(function: Any) -> Callable[[], Any]:
    """`torch.autograd.functional.hessian`, vectorised."""
    torch = need("torch")
    x = torch.from_numpy(POINT)
    return lambda: torch.autograd.functional.hessian(
        lambda x: function(torch, torch.from_numpy, x), x, vectorize=True
    ).numpy()


def by_jax(function: Any) -> Callable[[], Any]:
    """`jax.hessian`."""
    jax = need("jax")
    jax.config.update("jax_enable_x64", True)
    hessian = jax.hessian(lambda x: function(jax.numpy, as_it_is, x))
    return lambda: np.asarray(hessian(POINT))


def by_compiled_jax(function: Any) -> Callable[[], Any]:
    """`jax.hessian` under `jax.jit`: the time of a call, without that of the compilation."""
    jax = need("jax")
    jax.config.update("jax_enable_x64", True)
    hessian = jax.jit(jax.hessian(lambda x: function(jax.numpy, as_it_is, x)))
    return lambda: np.asarray(hessian(POINT))


CONTENDERS = {
    "pullback": by_pullback,
    "HIPS autograd": by_hips,
    "torch.func": by_torch,
    "torch functional": by_torch_functional,
    "JAX": by_jax,
    "JAX, compiled": by_compiled_jax,
}


def compete(function: Any, rounds: int, skip: list[str]) -> tuple[dict[str, list[tuple[float, float]]], list[str]]:
    """Seconds of each round, by the clock and of the processors, for everybody who can take part, and who cannot and why."""
    runs, absent = {}, []
    for name, make in CONTENDERS.items():
        if any(word.lower() in name.lower() for word in skip):
            continue
        try:
            runs[name] = make(function)
        except MissingLibrary as missing:
            absent.append(f"{name}: {missing}")
    expected = runs["pullback"]()
    for name, run in runs.items():  # also the round that does not count
        np.testing.assert_allclose(run(), expected, rtol=1e-7, atol=1e-9, err_msg=name)
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    names = [*runs]
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            began, worked = time.perf_counter(), time.process_time()
            runs[name]()
            seconds[name].append((time.perf_counter() - began, time.process_time() - worked))
    return seconds, absent


def summary(seconds: dict[str, list[tuple[float, float]]]) -> list[dict[str, Any]]:
    """Medians, and how many times as long as pullback within a round: by the clock, and of the processors' time."""
    own = seconds["pullback"]
    ratios = {
        name: [[t / o for t, o in zip(time, mine, strict=True)] for time, mine in zip(times, own, strict=True)]
        for name, times in seconds.items()
    }
    return [
        {
            "contender": name,
            "median_seconds": statistics.median([clock for clock, _ in times]),
            "times_as_long_as_pullback": statistics.median([clock for clock, _ in ratios[name]]),
            "times_the_work_of_pullback": statistics.median([work for _, work in ratios[name]]),
        }
        for name, times in seconds.items()
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds; medians are over them (default: %(default)s)")
    parser.add_argument("--skip", action="append", default=[], metavar="WORD", help="leave out contenders named so")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    options = parser.parse_args()
    report: dict[str, Any] = {"benchmark": "hessian", "variables": SIZE, "environment": environment(), "results": []}
    if not options.json:
        print(f"The Hessian of functions of {SIZE} variables; {options.rounds} rounds; {show_environment()}")
    for title, function in FUNCTIONS.items():
        seconds, absent = compete(function, options.rounds, options.skip)
        rows = summary(seconds)
        report["results"] += [{"function": title, **row} for row in rows]
        if not options.json:
            print(f"\n{title:<24} median      times as long as pullback      times the work")
            for row in rows:
                milliseconds = f"{row['median_seconds'] * 1e3:.1f} ms"
                print(
                    f"  {row['contender']:<20} {milliseconds:>10}   {row['times_as_long_as_pullback']:8.2f}"
                    f"   {row['times_the_work_of_pullback']:22.2f}"
                )
            print("".join(f"  left out: {reason}\n" for reason in absent), end="")
    if options.json:
        print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
