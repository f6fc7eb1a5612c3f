"""``make_dot`` under the name of the package that programs import it from."""

from pullback.draw import make_dot

__all__ = ["make_dot"]
