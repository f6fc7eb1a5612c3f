"""The logistic function's relatives; `expit` itself is `pullback.sigmoid`."""

from __future__ import annotations

from typing import Any

from pullback.ops.activations import sigmoid
from pullback.ops.samples import singles
from pullback.ops.special.family import special

logit: Any = special(
    "logit(p)",
    "``log(p / (1 - p))``, the inverse of `expit`.  df/dp = 1/p + 1/(1 - p), infinite at 0 and 1",
    singles(0.2, 0.8),
    p=lambda p: 1 / p + 1 / (1 - p),
)
log_expit: Any = special(
    "log_expit(x)",
    "``log expit(x) = -softplus(-x)``, exact also where it is tiny.  df/dx = expit(-x)",
    singles(),
    x=lambda x: sigmoid(-x),
)
softplus: Any = special(
    "softplus(x)",
    "``log(1 + exp x)`` without overflow.  df/dx = expit(x)",
    singles(),
    forward=lambda xp, x: xp.logaddexp(x, 0 * x),
    x=lambda x: sigmoid(x),
)
