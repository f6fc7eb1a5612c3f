"""torch's names over this library: programs written for torch's autograd run with only the import changed.

::

    import pullback.torch as torch
    from pullback.torch.autograd import Function, gradcheck

`torch.Tensor` is a subclass of `pullback.Tensor` with torch's methods, promotion and printing; node, engine and
operators are the same.  dtypes are NumPy's, the default is float32.  A name that is missing says what to use instead.
"""

# ruff: noqa: F401 - __all__ is what stands here at the end
import builtins as _builtins

from numpy import dtype as _numpy_dtype

from pullback.autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from pullback.core.modes import is_inference_mode_enabled
from pullback.torch import (
    _C,
    _functions_creation,
    _functions_elementwise,
    _functions_flips,
    _functions_indexing,
    _functions_linalg,
    _functions_matrices,
    _functions_numbers,
    _functions_pieces,
    _functions_reductions,
    _functions_scattering,
    _functions_shapes,
    _functions_signal,
    _functions_solving,
    _functions_special,
    _functions_statistics,
    _methods_kinds,
    _methods_more,
    _settings,
    amp,
    autograd,
    backends,
    compiler,
    cuda,
    distributed,
    fft,
    func,
    jit,
    linalg,
    nn,
    onnx,
    ops,
    optim,
    profiler,
    random,
    special,
    testing,
    torchviz,
    types,
    utils,
)

from pullback.torch import _functions_networks  # isort: skip - needs nn
from pullback.torch._dtypes import CONSTANTS as _CONSTANTS
from pullback.torch._dtypes import DTYPES as _DTYPES
from pullback.torch._dtypes import finfo, get_default_dtype, iinfo, set_default_dtype
from pullback.torch._export import FUNCTIONS as _FUNCTIONS
from pullback.torch._grad_modes import is_anomaly_check_nan_enabled, is_anomaly_enabled
from pullback.torch._methods_kinds import device
from pullback.torch._missing import refuse as _refuse
from pullback.torch._promotion import can_cast, promote_types, result_type
from pullback.torch._size import Size
from pullback.torch._tensor import Tensor
from pullback.torch._tensor import bind as _bind
from pullback.torch.amp import autocast
from pullback.torch.func import vmap
from pullback.torch.random import Generator, default_generator

_bind()
_functions_numbers.enter_in_place_functions(Tensor)
globals().update(_FUNCTIONS | _DTYPES | _CONSTANTS)

strided = "torch.strided"
preserve_format = "torch.preserve_format"
contiguous_format = "torch.contiguous_format"
channels_last = "torch.channels_last"
channels_last_3d = "torch.channels_last_3d"
newaxis = None
has_lapack = has_spectral = True
has_mkl = has_openmp = False
dtype = _numpy_dtype
layout = memory_format = str
__version__ = "2.13.0+pullback"


def __getattr__(name):
    _refuse("", name)


__all__ = _builtins.sorted(name for name in globals() if not name.startswith("_"))
