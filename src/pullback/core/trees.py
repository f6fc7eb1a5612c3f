"""Structures of arguments and results: nested tuples, lists and dicts, whose leaves are arrays.

Here every container is looked into and everything else is a leaf; ``contents.py`` searches what a user hung on ctx.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def is_branch(tree: Any) -> bool:
    """True for containers that are looked into."""
    return isinstance(tree, (tuple, list, dict))


def leaves_of(tree: Any) -> list[Any]:
    """The leaves in order."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (tuple, list)):
        return [leaf for branch in tree for leaf in leaves_of(branch)]
    return [tree]


def map_tree(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """`function` of the leaves, beside those of others of the same structure."""
    if isinstance(tree, dict):
        return {key: map_tree(function, branch, *[o[key] for o in others]) for key, branch in tree.items()}
    if isinstance(tree, (tuple, list)):
        branches = [map_tree(function, *items) for items in zip(tree, *others, strict=True)]
        return type(tree)(*branches) if hasattr(tree, "_fields") else type(tree)(branches)
    return function(tree, *others)


def refilled(tree: Any, leaves: Iterable[Any]) -> Any:
    """The structure of `tree` with other leaves."""
    fresh = iter(leaves)
    return map_tree(lambda _: next(fresh), tree)


def outline(tree: Any) -> str:
    """The structure in words: ``(*, [*, *])``."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {outline(branch)}" for key, branch in tree.items()) + "}"
    if isinstance(tree, (tuple, list)):
        inner = ", ".join(map(outline, tree))
        return f"[{inner}]" if isinstance(tree, list) else f"({inner})"
    return "*"
