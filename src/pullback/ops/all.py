"""Imports every module of operators, so that the registry is full."""

from pullback.ops import arithmetic, creation, elementary, shapes

__all__ = ["arithmetic", "creation", "elementary", "shapes"]
