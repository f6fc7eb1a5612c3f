"""``torch.nn.functional``: activations, losses, convolutions, pooling, normalisation and what else networks are made of."""

import builtins as _builtins
from typing import Any

from pullback.torch import (
    _functions_elementwise,  # noqa: F401 - fill the tables
    _functions_indexing,  # noqa: F401
    _functions_reductions,  # noqa: F401
    _functions_shapes,  # noqa: F401
    _functions_special,  # noqa: F401
    random,
)
from pullback.torch._errors import with_torchs_errors as _with_torchs_errors
from pullback.torch._missing import refuse as _refuse
from pullback.torch.nn.functional import (
    _activations,
    _convolution,
    _distances,
    _dropout,
    _linear,
    _lookup,
    _losses,
    _normalisation,
    _padding,
    _pooling,
    _resampling,
)
from pullback.torch.nn.functional._activations import sigmoid, tanh  # noqa: F401 - operators

del random
_here: dict[str, Any] = {}
for _module in (
    *(_activations, _convolution, _distances, _dropout, _linear, _lookup, _losses, _normalisation, _padding, _pooling),
    _resampling,
):
    for _name, _value in vars(_module).items():
        if not _name.startswith("_") and getattr(_value, "__module__", "") == _module.__name__:
            _here[_name] = _with_torchs_errors(_value, _name)
globals().update(_here)
__all__ = _builtins.sorted([*_here, "sigmoid", "tanh"])


def __getattr__(name: str) -> Any:
    _refuse("nn.functional", name)
