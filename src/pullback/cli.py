"""The command line: ``pullback COMMAND``.

Each command is a module with ``SUMMARY``, ``DESCRIPTION``, ``EXAMPLES``, ``add_arguments(parser)`` and
``run(arguments)``, which returns the exit status.  Such a module imports at its head only what its help text needs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS = {
    "demo": "pullback.demo.command",
    "check": "pullback.commands.check",
    "lint": "pullback.commands.lint",
}

DESCRIPTION = """\
pullback differentiates Python programs. You write an operator once, forward and backward with a ctx, and it can be
differentiated to any order. This command shows it; the work is done in Python, as below.
"""
EPILOG = """\
examples:
  pullback demo                   a course of short programs, every number checked
  pullback demo square            one of them
  pullback demo --help            more about a command

in Python:
  >>> import pullback as pb
  >>> x = pb.tensor(3.0, requires_grad=True)
  >>> (x * x).backward()
  >>> x.grad
  tensor(6.)
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="pullback",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="say which version this is")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name, place in COMMANDS.items():
        module = importlib.import_module(place)
        command = commands.add_parser(
            name,
            help=module.SUMMARY,
            description=module.DESCRIPTION,
            epilog=module.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    commands.add_parser("version", help="say which version this is").set_defaults(run=_print_version)
    return parser


def version() -> str:
    """One line: this library's version, and what it runs on."""
    import platform

    import numpy as np

    from pullback import __version__

    return f"pullback {__version__} (Python {platform.python_version()}, NumPy {np.__version__})"


def _print_version(arguments: argparse.Namespace) -> int:
    print(version())
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if arguments.version:
        return _print_version(arguments)
    if arguments.command is None:
        parser.print_help()
        return 0
    try:
        return int(arguments.run(arguments))
    except BrokenPipeError:  # the reader, such as head, has seen enough: no message, but not everything was said
        sys.stderr.close()
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
