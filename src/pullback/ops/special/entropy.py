"""``x log y`` and the entropies that are made of it.

At x = 0 they are 0 whatever y is, and so are their slopes in y.  The slope in x is a logarithm, infinite at y = 0.
"""

from __future__ import annotations

from typing import Any

from pullback.ops.elementary import log, log1p, sqrt
from pullback.ops.samples import pairs, singles
from pullback.ops.selection import where
from pullback.ops.special.family import special


def _quotient(x: Any, y: Any) -> Any:
    """``x / y``, and 0 where both are 0, but with the infinite slope in x that it has there: that of a root."""
    both = (x == 0) & (y == 0)
    return where(both, sqrt(where(both, x, 1.0)), x / where(both, 1.0, y))


xlogy: Any = special(
    "xlogy(x, y)",
    "``x log y``, and 0 where x = 0.  df/dx = log y, df/dy = x / y, and 0 where both are 0",
    pairs(second=(0.4, 2)),
    complex=True,
    x=lambda y: log(y),
    y=lambda x, y: _quotient(x, y),
)
xlog1py: Any = special(
    "xlog1py(x, y)",
    "``x log(1 + y)``, and 0 where x = 0.  df/dx = log(1 + y), df/dy = x / (1 + y), and 0 where both are 0",
    pairs(second=(-0.6, 2)),
    complex=True,
    x=lambda y: log1p(y),
    y=lambda x, y: _quotient(x, 1 + y),
)
entr: Any = special(
    "entr(x)",
    "``-x log x``, 0 at 0 and -∞ below.  df/dx = -log x - 1, infinite at 0",
    singles(0.4, 2),
    x=lambda x: -log(x) - 1,
)
rel_entr: Any = special(
    "rel_entr(x, y)",
    "``x log(x/y)``, 0 where x = 0, and ∞ where one is negative.  df/dx = log(x/y) + 1, df/dy = -x / y, and 0 where both "
    "are 0",
    pairs((0.4, 2), (0.4, 2)),
    x=lambda x, y: log(x / y) + 1,
    y=lambda x, y: -_quotient(x, y),
)
kl_div: Any = special(
    "kl_div(x, y)",
    "``x log(x/y) - x + y``, and ∞ where one is negative.  df/dx = log(x/y), df/dy = 1 - x / y, and 1 where both are 0",
    pairs((0.4, 2), (0.4, 2)),
    x=lambda x, y: log(x / y),
    y=lambda x, y: 1 - _quotient(x, y),
)
