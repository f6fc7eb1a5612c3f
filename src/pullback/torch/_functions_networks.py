"""What ``torch.nn.functional`` offers and ``torch`` too, in part with other arguments."""

from __future__ import annotations

from typing import Any

from pullback.core.errors import lesson
from pullback.torch._export import FUNCTIONS, METHODS
from pullback.torch.nn import functional

_SAME = """
adaptive_avg_pool1d alpha_dropout avg_pool1d bilinear celu celu_ channel_shuffle conv1d conv2d conv3d
conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity embedding_bag feature_alpha_dropout hardshrink max_pool1d
max_pool1d_with_indices max_pool2d max_pool3d pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rms_norm rrelu
rrelu_ selu selu_ threshold threshold_
"""
#: In torch these have the arguments of `torch.nn.functional`.
FUNCTIONS.update({name: getattr(functional, name) for name in _SAME.split()})
FUNCTIONS["adaptive_max_pool1d"] = functional.adaptive_max_pool1d_with_indices
METHODS.update({"hardshrink": functional.hardshrink, "prelu": functional.prelu})

#: The losses that ``torch`` has too; `reduction` is a number there.
_LOSSES = """
binary_cross_entropy_with_logits cosine_embedding_loss hinge_embedding_loss kl_div margin_ranking_loss poisson_nll_loss
triplet_margin_loss
"""
_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def _enter(call: Any) -> Any:
    call.__name__ = call.__qualname__ = name = call.__name__.removeprefix("_")
    FUNCTIONS[name] = call
    return call


def _loss(name: str) -> None:
    loss = getattr(functional, name)

    def call(*args: Any, reduction: Any = 0 if name == "kl_div" else 1, **options: Any) -> Any:
        return loss(*args, reduction=_REDUCTIONS.get(reduction, reduction), **options)

    call.__name__ = name
    call.__doc__ = f"See `torch.nn.functional.{name}`; `reduction` is 0 (none), 1 (mean) or 2 (sum)."
    _enter(call)


for _name in _LOSSES.split():
    _loss(_name)


@_enter
def _dropout(input: Any, p: float, train: bool) -> Any:
    """See `torch.nn.functional.dropout`."""
    return functional.dropout(input, p, train)


def _in_place_forms() -> None:
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout"):
        written = getattr(functional, name).__wrapped__.written

        def call(input: Any, p: float, train: bool, written: Any = written) -> Any:
            return written(input, p, train)

        call.__doc__ = f"`{name}`, written into `input`."
        FUNCTIONS[f"{name}_"] = call


_in_place_forms()


@_enter
def _feature_dropout(input: Any, p: float, train: bool) -> Any:
    """Dropout of whole channels (axis 1)."""
    lead = tuple(input.shape[:2]) + (1,) * (input.ndim - 2)
    if not train or p == 0:
        return input
    kept = FUNCTIONS["rand"](lead) >= p
    return FUNCTIONS["where"](kept, input * (0.0 if p == 1 else 1 / (1 - p)), 0.0)


@_enter
def _embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """The rows of `weight` that `indices` names; see `torch.nn.functional.embedding`."""
    return functional.embedding(
        indices, weight, None if padding_idx < 0 else padding_idx, None, 2.0, scale_grad_by_freq
    )


@_enter
def _batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Any:
    """See `torch.nn.functional.batch_norm`, which has another order of arguments."""
    return functional.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@_enter
def _instance_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Any:
    """See `torch.nn.functional.instance_norm`, which has another order of arguments."""
    return functional.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@_enter
def _layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """See `torch.nn.functional.layer_norm`."""
    return functional.layer_norm(input, normalized_shape, weight, bias, eps)


@_enter
def _group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Any:
    """See `torch.nn.functional.group_norm`."""
    return functional.group_norm(input, num_groups, weight, bias, eps)


@_enter
def _constant_pad_nd(input: Any, pad: Any, value: Any = 0) -> Any:
    """A number around the last axes, see `torch.nn.functional.pad`."""
    return functional.pad(input, pad, "constant", value)


@_enter
def _convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """Any of the convolutions, by the number of axes."""
    ndim = weight.ndim - 2
    if not 1 <= ndim <= 3:
        raise lesson(RuntimeError, f"convolution: the weight must have 3 to 5 axes, not {weight.ndim}")
    if transposed:
        call = getattr(functional, f"conv_transpose{ndim}d")
        return call(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(functional, f"conv{ndim}d")(input, weight, bias, stride, padding, dilation, groups)
