"""Which rules are asked, of which files: ``[tool.pullback.lint]`` in pyproject.toml, and the command line over it.

[tool.pullback.lint]
select = ["PB"]              # codes or beginnings of codes
ignore = ["PB1"]
exclude = ["tests/data/*"]
per-file-ignores = { "tests/*" = ["PB603"] }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

_KEYS = {"select", "ignore", "exclude", "per-file-ignores"}


class BadConfig(Exception):
    """What is wrong with the configuration, in one sentence."""


@dataclass(frozen=True)
class Config:
    """The rules that are asked, and the files that are left out."""

    select: Sequence[str] = ("PB",)
    ignore: Sequence[str] = ()
    exclude: Sequence[str] = ()
    per_file_ignores: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def wants(self, code: str, path: str) -> bool:
        """Whether a rule is asked of a file: the longest beginning of its code that is named decides."""
        chosen = max((len(s) for s in self.select if code.startswith(s)), default=-1)
        refused = max((len(s) for s in self.ignore if code.startswith(s)), default=-1)
        if chosen < 0 or refused > chosen or (refused == chosen >= 0):
            return False
        here = [
            codes
            for pattern, codes in self.per_file_ignores.items()
            if fnmatch(path, pattern) or fnmatch(path, f"*/{pattern}")
        ]
        return not any(code.startswith(start) for codes in here for start in codes)

    def with_options(self, select: Sequence[str], ignore: Sequence[str], exclude: Sequence[str]) -> Config:
        """The same with what the command line says."""
        return replace(
            self, select=select or self.select, ignore=[*self.ignore, *ignore], exclude=[*self.exclude, *exclude]
        )


def load(start: Path) -> Config:
    """The configuration of the project around a path; the defaults where there is none.

    Raises `BadConfig` where the file cannot be read or says something that means nothing.
    """
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            return _from(file)
    return Config()


def _from(file: Path) -> Config:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("pullback", {}).get("lint", {})
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{file} cannot be read: {error}") from None
    if not isinstance(table, dict):
        raise BadConfig(f"{file}: tool.pullback.lint is no table")
    unknown = set(table) - _KEYS
    if unknown:
        raise BadConfig(f"{file}: tool.pullback.lint has no key {min(unknown)!r}; there are {', '.join(sorted(_KEYS))}")
    for key in ("select", "ignore", "exclude"):
        _check_strings(file, key, table.get(key, []))
    perfile = table.get("per-file-ignores", {})
    if not isinstance(perfile, dict):
        raise BadConfig(f"{file}: tool.pullback.lint.per-file-ignores is no table of patterns")
    for pattern, codes in perfile.items():
        _check_strings(file, f"per-file-ignores.{pattern}", codes)
    return Config(table.get("select", ("PB",)), table.get("ignore", ()), table.get("exclude", ()), perfile)


def _check_strings(file: Path, key: str, value: Any) -> None:
    if not (isinstance(value, list) and all(isinstance(part, str) for part in value)):
        raise BadConfig(f"{file}: tool.pullback.lint.{key} is no list of texts")
