"""What a name that is not offered says: that it is not, and what to use."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from pullback.core.errors import lesson

_INSTEAD = {
    "sparse_coo_tensor": "a dense Tensor, or a Function around scipy.sparse.",
    "sparse_csr_tensor": "a dense Tensor, or a Function around scipy.sparse.",
    "optim": "scipy.optimize with pullback's gradients; or x.data -= lr * x.grad inside no_grad().",
    "distributions": "scipy.stats, or the density written out.",
    "jit": "plain Python: nothing is compiled here.",
    "compile": "plain Python: nothing is compiled here.",
    "load": "numpy.load.",
    "save": "numpy.save, or pickle: Tensors can be pickled.",
    "get_deterministic_debug_mode": "nothing: operators are deterministic.",
    "as_strided": "indexing with slices, or x.unfold-like indexing with integer arrays.",
}


#: Where a function of the same name may be found: its public place, and the module.
_PLACES = {
    "pullback.torch": "pullback.torch",
    "pullback.torch.linalg": "pullback.torch.linalg",
    "pullback.torch.special": "pullback.torch.special",
    "pullback.torch.nn.functional": "pullback.torch.nn.functional",
    "pullback": "pullback.namespaces.array_api",
    "pullback.linalg": "pullback.namespaces.linalg",
}


def refuse(place: str, name: str) -> NoReturn:
    """Raise the error for a name that `place` (a module or class of the namespace) does not have."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise lesson(
        AttributeError,
        f"pullback.torch{place and '.'}{place} has no attribute {name!r}",
        why="only what custom Functions use most is offered under torch's names.",
        instead=_INSTEAD.get(name) or f"{_elsewhere(name)}Tensor operators, or a Function.",
        name=name,
    )


def _elsewhere(name: str) -> str:
    """Where this library has a function of that name after all."""
    for place, module in _PLACES.items():
        if callable(vars(sys.modules[module]).get(name)) and not name.startswith("_"):
            own = " (with the arguments of the Array API standard)" if module not in place else ""
            return f"{place}.{name}{own}, "
    return ""


class Missing:
    """Stands for an attribute of `torch.Tensor` that is not offered.

    One for every name, rather than a ``__getattr__``: a class with that method reads each of its attributes more slowly.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Any, kind: Any = None) -> NoReturn:
        refuse("Tensor", self.name)


_NAMES = """
addbmm addbmm_ addmm_ addmv_ addr addr_ aminmax apply_ argwhere as_strided as_strided_ as_strided_scatter as_subclass
baddbmm_ bfloat16 cauchy_ ccol_indices chalf cholesky_inverse coalesce col_indices conj_physical_ const_data_ptr
corrcoef cov crow_indices cummax cummin deg2rad deg2rad_ dense_dim dequantize diagflat diagonal_scatter dim_order
dsplit eig exponential_ float_power float_power_ frexp gcd gcd_ geometric_ geqrf grad_dtype hash_tensor heaviside
heaviside_ histc histogram hsplit index index_reduce index_reduce_ indices int_repr ipu is_coalesced is_conj is_cpu
is_distributed is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_neg is_nested is_pinned is_quantized is_same_size
is_set_to is_shared is_signed is_sparse_csr is_vulkan is_xla is_xpu isneginf isposinf isreal istft lcm lcm_ ldexp
ldexp_ log_normal_ logaddexp2 logcumsumexp lstsq lu lu_solve map2_ map_ matrix_exp mode module_load msort mtia name
nan_to_num nan_to_num_ nanmean nanmedian nanquantile narrow_copy new_empty_strided nextafter nextafter_ nonzero_static
orgqr ormqr pin_memory put put_ q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point
qscheme quantile rad2deg rad2deg_ random_ record_stream reinforce renorm renorm_ resize resize_as resize_as_sparse_
resolve_conj resolve_neg row_indices scatter_reduce scatter_reduce_ select_scatter share_memory_ slice_inverse
slice_scatter smm solve sparse_dim sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm stft storage
storage_type swapaxes_ swapdims_ symeig to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr
to_sparse_coo to_sparse_csc to_sparse_csr triangular_solve unfold unique_consecutive unsafe_chunk unsafe_split
unsafe_split_with_sizes untyped_storage values volatile vsplit xpu
"""
#: What `torch.Tensor` has and the Tensor here has not.
OF_TENSORS = frozenset(_NAMES.split())
