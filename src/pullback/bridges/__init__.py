"""Ways out to other libraries: what they take, made from functions of Tensors."""

from pullback.bridges import scipy

__all__ = ["scipy"]
