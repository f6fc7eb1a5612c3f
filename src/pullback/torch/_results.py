"""The named tuples that torch returns where there are several results."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any


@functools.cache
def named(name: str, fields: str) -> Any:
    """The class of named tuples with this name and these fields."""
    return namedtuple(name, fields.split())
