"""What a name that is not offered says: that it is not, and what to use."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from pullback.core.errors import lesson

_ADAM = "torch.optim.Adam; or a subclass of torch.optim.Optimizer with a step of its own."

_INSTEAD = {
    "sparse_coo_tensor": "a dense Tensor, or a Function around scipy.sparse.",
    "sparse_csr_tensor": "a dense Tensor, or a Function around scipy.sparse.",
    **dict.fromkeys(
        ("ASGD", "Adadelta", "Adafactor", "Adamax", "Muon", "NAdam", "RAdam", "Rprop", "SparseAdam"), _ADAM
    ),
    "lr_scheduler": 'group["lr"] *= factor for group in optimizer.param_groups.',
    "GradScaler": "nothing: dtypes stay as they are.",
    "distributions": "scipy.stats, or the density written out.",
    "load": "numpy.load.",
    "save": "numpy.save, or pickle: Tensors can be pickled.",
    "get_deterministic_debug_mode": "nothing: operators are deterministic.",
    "bfloat16": "torch.float32: NumPy has no such dtype.",
    "apply": "a Function's apply, F.apply(x); Tensors have apply_.",
    "storage": "x.numpy(), the memory as a NumPy array; x.data_ptr(), its address.",
    "untyped_storage": "x.numpy(), the memory as a NumPy array; x.data_ptr(), its address.",
    "TypedStorage": "NumPy arrays.",
    "UntypedStorage": "NumPy arrays.",
    "to_sparse": "a dense Tensor, or a Function around scipy.sparse.",
    "to_dense": "the Tensor itself: all are dense.",
    "coalesce": "a dense Tensor, or a Function around scipy.sparse.",
    "indices": "x.nonzero(): Tensors are dense.",
    "values": "x[x != 0]: Tensors are dense.",
    "crow_indices": "a Function around scipy.sparse.csr_array.",
    "col_indices": "a Function around scipy.sparse.csr_array.",
    "geqrf": "torch.linalg.qr.",
    "symeig": "torch.linalg.eigh.",
    "eig": "torch.linalg.eig.",
    "solve": "torch.linalg.solve(A, b).",
    "lstsq": "torch.linalg.lstsq(A, b).",
    "lu": "torch.linalg.lu_factor(A), torch.linalg.lu(A).",
    "ldl_factor": "torch.linalg.lu_factor, or eigh.",
    "lobpcg": "torch.linalg.eigh.",
    "svd_lowrank": "torch.linalg.svd, and its first columns.",
    "pca_lowrank": "torch.linalg.svd of the centred matrix.",
    "ctc_loss": "the recursion written with torch.logsumexp.",
    "Storage": "NumPy arrays.",
    "xpu": "NumPy arrays on the CPU.",
    "mps": "NumPy arrays on the CPU.",
    "lstm": "the cell written out with torch.nn.functional.linear.",
    "gru": "the cell written out with torch.nn.functional.linear.",
    "linear_cross_entropy": "torch.nn.functional.cross_entropy of torch.nn.functional.linear.",
    "LinearCrossEntropyLoss": "torch.nn.Linear and torch.nn.CrossEntropyLoss.",
    "LinearCrossEntropyOptions": "torch.nn.Linear and torch.nn.CrossEntropyLoss.",
    "UninitializedBuffer": "torch.nn.Buffer.",
    "UninitializedParameter": "torch.nn.Parameter.",
    "feature_dropout_": "torch.feature_dropout.",
    "CTCLoss": "the recursion written with torch.logsumexp.",
    "chalf": "torch.complex64: NumPy has no such dtype.",
    "complex32": "torch.complex64: NumPy has no such dtype.",
    "as_strided_": "y = x.as_strided(...).",
    "index": "x[indices].",
    "index_put": "x.index_put(indices, values).",
    "histogramdd": "numpy.histogramdd.",
    "nonzero_static": "torch.nonzero.",
    "from_file": "torch.from_numpy(numpy.memmap(...)).",
    "while_loop": "Python's while.",
    "cond": "Python's if; torch.where for elements; torch.linalg.cond for the condition of a matrix.",
    "matrix_rank": "torch.linalg.matrix_rank.",
    "nuclear_norm": "torch.linalg.matrix_norm(A, 'nuc').",
    "EmbeddingBag": "torch.nn.functional.embedding_bag.",
    "Softmax2d": "torch.nn.Softmax(dim=1).",
    "NLLLoss2d": "torch.nn.NLLLoss.",
    "CrossMapLRN2d": "torch.nn.LocalResponseNorm.",
    "Container": "torch.nn.Module.",
    "DataParallel": "the module itself.",
    "SyncBatchNorm": "torch.nn.BatchNorm2d.",
    "AdaptiveLogSoftmaxWithLoss": "torch.nn.functional.log_softmax.",
    "TripletMarginWithDistanceLoss": "torch.nn.functional.triplet_margin_with_distance_loss.",
    "weight_norm": "w = v * g / torch.norm_except_dim(v), in forward.",
    "remove_weight_norm": "w = v * g / torch.norm_except_dim(v), in forward.",
    "spectral_norm": "w / torch.linalg.matrix_norm(w, 2), in forward.",
    "remove_spectral_norm": "w / torch.linalg.matrix_norm(w, 2), in forward.",
    "set_deterministic_debug_mode": "nothing: operators are deterministic.",
    "functionalize": "the function itself.",
    "rearrange": "einops.rearrange, which takes these Tensors.",
    "SavedTensor": "ctx.saved_tensors; torch.autograd.graph.saved_tensors_hooks.",
    "const_data_ptr": "x.data_ptr().",
    "dense_dim": "x.dim(): Tensors are dense.",
    "row_indices": "a Function around scipy.sparse.csr_array.",
    "volatile": "torch.no_grad().",
    "grad_dtype": "x.grad.dtype, which is that of x.",
    "to_mkldnn": "the Tensor itself.",
    "multi_head_attention_forward": "torch.nn.functional.scaled_dot_product_attention.",
    "hub": "nothing: there are no models here.",
    "export": "PyTorch itself.",
    "fx": "pullback.draw, which shows the graph that was recorded.",
    "quantize_per_tensor": "(x / scale).round() * scale.",
}


#: How names begin: what to use for all of them.
_BEGINNINGS = {
    "sparse_": "a dense Tensor, or a Function around scipy.sparse.",
    "to_sparse": "a dense Tensor, or a Function around scipy.sparse.",
    "float4_": "torch.float16 or torch.float32: NumPy has no such dtype.",
    "float8_": "torch.float16 or torch.float32: NumPy has no such dtype.",
    "ldl_": "torch.linalg.lu_factor, or torch.linalg.eigh.",
    "Lazy": "the module of the same name without Lazy, and the number of channels.",
    "Transformer": "torch.nn.functional.scaled_dot_product_attention, torch.nn.Linear, torch.nn.LayerNorm.",
    "MultiheadAttention": "torch.nn.functional.scaled_dot_product_attention and four torch.nn.Linear.",
    "LSTM": "the cell written out with torch.nn.functional.linear.",
    "GRU": "the cell written out with torch.nn.functional.linear.",
    "RNN": "the cell written out with torch.nn.functional.linear.",
    "fractional_max_pool": "torch.nn.functional.adaptive_max_pool2d, or max_pool2d.",
    "FractionalMaxPool": "torch.nn.AdaptiveMaxPool2d, or MaxPool2d.",
    "per_": "(x / scale).round() * scale: there is no quantisation.",
}


#: Where a function of the same name may be found: its public place, and the module.
_PLACES = {
    "pullback.torch": "pullback.torch",
    "pullback.torch.linalg": "pullback.torch.linalg",
    "pullback.torch.special": "pullback.torch.special",
    "pullback.torch.nn.functional": "pullback.torch.nn.functional",
    "pullback": "pullback.namespaces.array_api",
    "pullback.linalg": "pullback.linalg",
}


def refuse(place: str, name: str) -> NoReturn:
    """Raise the error for a name that `place` (a module or class of the namespace) does not have."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise lesson(
        AttributeError,
        f"pullback.torch{place and '.'}{place} has no attribute {name!r}",
        why="what custom Functions use of torch, on arrays, is offered under its names.",
        instead=instead_of(name),
        name=name,
    )


def instead_of(name: str) -> str:
    """What can be used in the place of a name that is not offered."""
    for beginning, answer in _BEGINNINGS.items():
        if name.startswith(beginning):
            return answer
    return _INSTEAD.get(name) or f"{_elsewhere(name)}Tensor operators, or a Function."


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
as_strided_ bfloat16 ccol_indices chalf coalesce col_indices const_data_ptr crow_indices dense_dim dequantize eig
geqrf grad_dtype hash_tensor index indices int_repr ipu lstsq lu module_load mtia nonzero_static q_per_channel_axis
q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme record_stream reinforce resize_as_sparse_
row_indices slice_inverse smm solve sparse_dim sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm storage
symeig to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc
to_sparse_csr untyped_storage values volatile xpu
"""
#: What `torch.Tensor` has and the Tensor here has not.
OF_TENSORS = frozenset(_NAMES.split())
