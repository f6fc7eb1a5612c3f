"""Modules with parameters: linear maps, convolutions, normalisation, embeddings."""

from __future__ import annotations

import math
from typing import Any

from pullback.core.errors import lesson
from pullback.torch._export import FUNCTIONS
from pullback.torch.nn import functional, init
from pullback.torch.nn.functional._common import per_axis
from pullback.torch.nn.modules.module import Module
from pullback.torch.nn.parameter import Parameter


def _empty(*shape: int, dtype: Any = None) -> Any:
    return Parameter(FUNCTIONS["empty"](*shape, dtype=dtype))


def _reset(weight: Any, bias: Any) -> None:
    """What linear maps and convolutions start from."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None and weight.numel():
        bound = 1 / math.sqrt(max(math.prod(weight.shape[1:]), 1))
        init.uniform_(bias, -bound, bound)


class Identity(Module):
    """The argument itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The argument itself."""
        return input


class Linear(Module):
    """``x @ weight.T + bias``."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = _empty(out_features, in_features, dtype=dtype)
        self.register_parameter("bias", _empty(out_features, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start again from random numbers."""
        _reset(self.weight, self.bias)

    def forward(self, input: Any) -> Any:
        """See `torch.nn.functional.linear`."""
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """``x1ᵀ A x2 + bias`` for every matrix A of `weight`."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.weight = _empty(out_features, in1_features, in2_features, dtype=dtype)
        self.register_parameter("bias", _empty(out_features, dtype=dtype) if bias else None)
        bound = 1 / math.sqrt(in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        """See `torch.nn.functional.bilinear`."""
        return functional.bilinear(input1, input2, self.weight, self.bias)


class _Convolution(Module):
    """What convolutions have in common."""

    ndim: int
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise lesson(ValueError, "in_channels and out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = per_axis(kernel_size, self.ndim, "kernel_size")
        self.stride, self.dilation, self.padding = stride, dilation, padding
        self.padding_mode = padding_mode
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = _empty(first, second // groups, *self.kernel_size, dtype=dtype)
        self.register_parameter("bias", _empty(out_channels, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start again from random numbers."""
        _reset(self.weight, self.bias)

    def forward(self, input: Any) -> Any:
        """See the function of the same name in `torch.nn.functional`."""
        padding = self.padding
        if self.padding_mode != "zeros":
            edges = per_axis(padding, self.ndim, "padding")
            numbers = [n for edge in reversed(edges) for n in (edge, edge)]
            input, padding = functional.pad(input, numbers, mode=self.padding_mode), 0
        call = getattr(functional, f"conv{self.ndim}d")
        return call(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"


class _Transposed(_Convolution):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype=dtype
        )
        self.output_padding = output_padding

    def forward(self, input: Any) -> Any:
        """See the function of the same name in `torch.nn.functional`."""
        call = getattr(functional, f"conv_transpose{self.ndim}d")
        options = (self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        return call(input, self.weight, self.bias, *options)


def _of_axes(base: Any, name: str, ndim: int, doc: str) -> Any:
    return type(name, (base,), {"ndim": ndim, "__doc__": doc, "__module__": __name__})


Conv1d, Conv2d, Conv3d = (_of_axes(_Convolution, f"Conv{n}d", n, f"A convolution along {n} axes.") for n in (1, 2, 3))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = (
    _of_axes(_Transposed, f"ConvTranspose{n}d", n, f"A transposed convolution along {n} axes.") for n in (1, 2, 3)
)


class _Running(Module):
    """What normalisations with running statistics have in common."""

    tracks = True

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: Any = 0.1,
        affine: Any = None,
        track_running_stats: Any = None,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        affine = self.tracks if affine is None else affine
        track = self.tracks if track_running_stats is None else track_running_stats
        self.num_features, self.eps, self.momentum, self.track_running_stats = num_features, eps, momentum, track
        ones, zeros = FUNCTIONS["ones"], FUNCTIONS["zeros"]
        self.register_parameter("weight", Parameter(ones(num_features, dtype=dtype)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_features, dtype=dtype)) if affine and bias else None)
        self.register_buffer("running_mean", zeros(num_features, dtype=dtype) if track else None)
        self.register_buffer("running_var", ones(num_features, dtype=dtype) if track else None)
        self.register_buffer("num_batches_tracked", FUNCTIONS["tensor"](0) if track else None)

    def _momentum(self) -> float:
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        if self.momentum is not None:
            return float(self.momentum)
        return 1 / float(self.num_batches_tracked)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class _BatchNorm(_Running):
    def forward(self, input: Any) -> Any:
        """See `torch.nn.functional.batch_norm`."""
        training = self.training or self.running_mean is None
        keeps = not self.training or self.track_running_stats
        return functional.batch_norm(
            input,
            self.running_mean if keeps else None,
            self.running_var if keeps else None,
            self.weight,
            self.bias,
            training,
            self._momentum() if self.training else 0.0,
            self.eps,
        )


class _InstanceNorm(_Running):
    tracks = False

    def forward(self, input: Any) -> Any:
        """See `torch.nn.functional.instance_norm`."""
        use_input = self.training or not self.track_running_stats
        momentum = self._momentum() if self.training and self.track_running_stats else 0.0
        return functional.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, use_input, momentum, self.eps
        )


BatchNorm1d, BatchNorm2d, BatchNorm3d = (
    type(f"BatchNorm{n}d", (_BatchNorm,), {"__doc__": "Normalisation by batch.", "__module__": __name__})
    for n in (1, 2, 3)
)
InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = (
    type(f"InstanceNorm{n}d", (_InstanceNorm,), {"__doc__": "Normalisation by instance.", "__module__": __name__})
    for n in (1, 2, 3)
)


class LayerNorm(Module):
    """Normalisation over the last axes."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.normalized_shape, self.eps = shape, eps
        ones, zeros = FUNCTIONS["ones"], FUNCTIONS["zeros"]
        self.register_parameter("weight", Parameter(ones(shape, dtype=dtype)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(zeros(shape, dtype=dtype)) if elementwise_affine and bias else None)

    def forward(self, input: Any) -> Any:
        """See `torch.nn.functional.layer_norm`."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Division by the root mean square of the last axes."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: Any = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
        self.normalized_shape, self.eps = shape, eps
        self.register_parameter(
            "weight", Parameter(FUNCTIONS["ones"](shape, dtype=dtype)) if elementwise_affine else None
        )

    def forward(self, input: Any) -> Any:
        """See `torch.nn.functional.rms_norm`."""
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    """Normalisation by groups of channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_groups, self.eps = num_groups, eps
        self.register_parameter("weight", Parameter(FUNCTIONS["ones"](num_channels, dtype=dtype)) if affine else None)
        self.register_parameter(
            "bias", Parameter(FUNCTIONS["zeros"](num_channels, dtype=dtype)) if affine and bias else None
        )

    def forward(self, input: Any) -> Any:
        """See `torch.nn.functional.group_norm`."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class Embedding(Module):
    """Rows of a table by their numbers."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: Any = None,
        max_norm: Any = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.options = (max_norm, norm_type, scale_grad_by_freq)
        given = FUNCTIONS["empty"](num_embeddings, embedding_dim, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(given, requires_grad=not _freeze)
        if _weight is None:
            init.normal_(self.weight)
            if padding_idx is not None:
                self.weight.detach()[padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: Any = None, **options: Any) -> Any:
        """A module over a table that exists."""
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, _weight=embeddings, _freeze=freeze, **options)

    def forward(self, input: Any) -> Any:
        """See `torch.nn.functional.embedding`."""
        return functional.embedding(input, self.weight, self.padding_idx, *self.options)


class PReLU(Module):
    """`leaky_relu` with learned slopes."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.weight = Parameter(FUNCTIONS["full"]((num_parameters,), float(init), dtype=dtype))

    def forward(self, input: Any) -> Any:
        """See `torch.nn.functional.prelu`."""
        return functional.prelu(input, self.weight)
