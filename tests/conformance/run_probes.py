#!/usr/bin/env python3
"""Run small autograd programs against an engine with a torch-shaped API and compare with what torch 2.13 printed.

    python run_probes.py                        # every probe in probes.json against pullback.torch
    python run_probes.py --engine torch         # the same against torch itself (needs torch)
    python run_probes.py a24 c12 --show         # two probes, with code and both outputs
    python run_probes.py --list                 # ids and titles

A probe passes when the facts it prints agree: numbers (4 significant digits), True/False/None, and the types of
the exceptions it ends in. Wording is free: keep str(exception) on one line and put the lesson into add_note().
Exit status 0 always; the last line is the score.
"""

import argparse
import collections
import contextlib
import importlib
import io
import json
import os
import re
import signal
import sys
import textwrap
import warnings

PRELUDE = """
import torch, warnings, gc, weakref, threading, sys
from torch.autograd import Function, grad, backward, gradcheck, gradgradcheck
from torch.autograd.function import once_differentiable
from torch.autograd import graph as G
import torch.autograd.functional as AF
import torch.autograd.forward_ad as fwAD
from torch.utils.checkpoint import checkpoint
def X(v=2.0, rg=True): return torch.tensor(v, dtype=torch.float64, requires_grad=rg)
class Mul2(Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return g * 2
class Sq(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x); return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors; return 2 * x * g
"""
TOKEN = re.compile(
    r"""
    (?P<num>[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?j?|\bnan\b|[-+]?\binf\b)
  | (?P<word>\bTrue\b|\bFalse\b|\bNone\b|\b[A-Z]\w*(?:Error|Exception)\b)
""",
    re.X,
)


def facts(text):
    """The comparable facts in a printed text: numbers, truth values, exception types; warnings and prose dropped."""
    found = []
    for line in text.splitlines():
        if line.startswith(("[warn", "V1", "  File", "Traceback")):
            continue
        # an uncaught exception, or one printed as 'TypeName message': only its type counts
        error = re.match(r"(!! )?([A-Z]\w*(?:Error|Exception))\b", line)
        if error:
            found.append(error.group(2))
            if error.group(1):  # an uncaught exception ends the output: its text is free, over any number of lines
                break
            continue
        line = re.sub(r"dtype=[\w.]+|torch\.\w+|grad_fn=<[^>]*>|0x\.\.|<[^<>]*>|\[f\d+\[[^\]]*\]\]", " ", line)
        line = re.sub(r"\b(?:bfloat|float|complex|uint|int)\d+\b|\b\w*Backward\d*\b", " ", line)
        for m in TOKEN.finditer(line):
            if m.group("word"):
                found.append(m.group("word"))
            else:
                s = m.group("num")
                if s.endswith("j"):
                    found.append(s)
                else:
                    v = float(s)
                    found.append("%.4g" % (0.0 if abs(v) < 1e-9 else v))
    return found


def alias(engine):
    """Make 'import torch' inside the probes mean the engine."""
    if engine == "torch":
        return importlib.import_module("torch")
    root = importlib.import_module(engine)
    sys.modules["torch"] = root
    for sub in (
        *("autograd", "autograd.function", "autograd.graph", "autograd.functional", "autograd.forward_ad"),
        *("autograd.gradcheck", "utils", "utils.checkpoint", "func", "linalg", "nn", "nn.functional"),
    ):
        with contextlib.suppress(ImportError):
            sys.modules["torch." + sub] = importlib.import_module(engine + "." + sub)
    return root


class Timeout(Exception):
    """A probe ran too long."""


def exception_name(error):
    """The built-in type that an exception counts as, or the engine's own where torch has its own."""
    own = ("GradcheckError", "CheckpointError")
    return next(
        t.__name__
        for t in type(error).__mro__
        if t.__module__ == "builtins" or t.__module__.startswith("torch.") or t.__name__ in own
    )


def run(code, torch, seconds=20):
    out, ns = io.StringIO(), {}
    with contextlib.suppress(AttributeError):
        torch.manual_seed(0)

    def stop(*_):
        raise Timeout()

    signal.signal(signal.SIGALRM, stop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            signal.alarm(seconds)
            try:
                exec(compile(PRELUDE, "<prelude>", "exec"), ns)
                exec(compile(textwrap.dedent(code), "<probe>", "exec"), ns)
            except BaseException as e:
                print(f"!! {exception_name(e)}: {e}")
            finally:
                signal.alarm(0)
    with contextlib.suppress(Exception):
        torch.set_grad_enabled(True)
    return re.sub(r"0x[0-9a-f]+", "0x..", out.getvalue().strip())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("ids", nargs="*")
    p.add_argument("--engine", default="pullback.torch")
    p.add_argument("--probes", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes.json"))
    p.add_argument("--show", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("--failing", action="store_true", help="print only the ids that fail")
    a = p.parse_args()
    with open(a.probes, encoding="utf-8") as file:
        known = json.load(file)
    probes = [q for q in known if not a.ids or q["id"] in a.ids]
    if a.list:
        for q in probes:
            print(q["id"], "|", q["title"])
        return
    torch = alias(a.engine)
    group = collections.defaultdict(lambda: [0, 0])
    passed = 0
    for q in probes:
        got = run(q["code"], torch)
        ok = facts(got) == facts(q["observed"])
        passed += ok
        g = group[q["id"][0]]
        g[0] += ok
        g[1] += 1
        if a.show:
            print(f"== {q['id']} | {q['title']} -> {'pass' if ok else 'FAIL'}\n{q['code']}")
            print(f"-- torch 2.13:\n{q['observed']}\n-- {a.engine}:\n{got}\n")
        elif not ok:
            found = f"torch {facts(q['observed'])[:6]} | here {facts(got)[:6]}"
            print(q["id"] if a.failing else f"FAIL {q['id']} | {q['title']} | {found}")
    print("by group:", {k: f"{v[0]}/{v[1]}" for k, v in sorted(group.items())})
    print(f"probes agreeing with torch: {passed}/{len(probes)}")


if __name__ == "__main__":
    main()
