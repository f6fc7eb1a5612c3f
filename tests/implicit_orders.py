"""Derivatives of three orders of a function of arrays, against finite differences of the order below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from numeric import along, directions_like, slope


def check_orders(f: Callable[..., Any], *points: Any, orders: int = 3, tolerance: float = 1e-7, seed: int = 0) -> None:
    """Compare the derivatives of ``f(*points)`` along one direction; `f` returns a Tensor, or a tuple, list or dict of them."""
    rng = np.random.default_rng(seed)
    points = tuple([np.asarray(p) for p in points])
    v = directions_like(points, rng)
    weights = [directions_like([np.asarray(y)], rng)[0] for y in _leaves(f(*points))]

    def derivative(xs: Any, order: int) -> Any:
        if order == 0:
            terms = [_dot(w, y) for w, y in zip(weights, _leaves(f(*xs)), strict=True)]
            return sum(terms[1:], start=terms[0])
        below = derivative(xs, order - 1)
        found = pb.autograd.grad(below, xs, create_graph=True, allow_unused=True)
        terms = [_dot(d, g) for d, g in zip(v, found, strict=True) if g is not None]
        return sum(terms[1:], start=terms[0])

    def at(t: float, order: int) -> float:
        xs = [pb.tensor(p, requires_grad=True) for p in along(points, v, t)]
        return derivative(xs, order).item()

    for order in range(1, orders + 1):
        expected = slope(lambda t, order=order: at(t, order - 1))
        assert abs(at(0.0, order) - expected) <= tolerance * (1 + abs(expected)), order


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [leaf for branch in tree for leaf in _leaves(branch)] if isinstance(tree, (tuple, list)) else [tree]


def _dot(w: Any, y: Any) -> Any:
    return pb.sum(pb.real(w.conj() * y) if np.iscomplexobj(w) else w * y)
