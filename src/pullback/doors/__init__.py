"""Doors: ways in for programs that were written for another library, and are handed a Tensor.

``numpy``: ``np.f(tensor)`` gives a Tensor, through NumPy's own protocols.
"""

from pullback.doors.numpy import implements

__all__ = ["implements"]
