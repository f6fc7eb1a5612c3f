"""Modules without parameters: a function of ``torch.nn.functional`` with its options, from a table."""

from __future__ import annotations

from typing import Any

from pullback.torch._export import FUNCTIONS
from pullback.torch.nn import functional
from pullback.torch.nn.modules.module import Module

#: Module: the function, and its options in torch's order with their defaults.
_TABLE: dict[str, tuple[str, dict[str, Any]]] = {
    "ReLU": ("relu", {"inplace": False}),
    "ReLU6": ("relu6", {"inplace": False}),
    "LeakyReLU": ("leaky_relu", {"negative_slope": 0.01, "inplace": False}),
    "ELU": ("elu", {"alpha": 1.0, "inplace": False}),
    "SELU": ("selu", {"inplace": False}),
    "CELU": ("celu", {"alpha": 1.0, "inplace": False}),
    "GELU": ("gelu", {"approximate": "none"}),
    "SiLU": ("silu", {"inplace": False}),
    "Mish": ("mish", {"inplace": False}),
    "Sigmoid": ("sigmoid", {}),
    "Tanh": ("tanh", {}),
    "LogSigmoid": ("logsigmoid", {}),
    "Softplus": ("softplus", {"beta": 1.0, "threshold": 20.0}),
    "Softsign": ("softsign", {}),
    "Tanhshrink": ("tanhshrink", {}),
    "Hardtanh": ("hardtanh", {"min_val": -1.0, "max_val": 1.0, "inplace": False}),
    "Hardsigmoid": ("hardsigmoid", {"inplace": False}),
    "Hardswish": ("hardswish", {"inplace": False}),
    "Hardshrink": ("hardshrink", {"lambd": 0.5}),
    "Softshrink": ("softshrink", {"lambd": 0.5}),
    "Threshold": ("threshold", {"threshold": None, "value": None, "inplace": False}),
    "GLU": ("glu", {"dim": -1}),
    "Softmax": ("softmax", {"dim": None}),
    "LogSoftmax": ("log_softmax", {"dim": None}),
    "Softmin": ("softmin", {"dim": None}),
    "CosineSimilarity": ("cosine_similarity", {"dim": 1, "eps": 1e-8}),
    "PairwiseDistance": ("pairwise_distance", {"p": 2.0, "eps": 1e-6, "keepdim": False}),
    "PixelShuffle": ("pixel_shuffle", {"upscale_factor": None}),
    "PixelUnshuffle": ("pixel_unshuffle", {"downscale_factor": None}),
    "ChannelShuffle": ("channel_shuffle", {"groups": None}),
    "LocalResponseNorm": ("local_response_norm", {"size": None, "alpha": 1e-4, "beta": 0.75, "k": 1.0}),
    "Unfold": ("unfold", {"kernel_size": None, "dilation": 1, "padding": 0, "stride": 1}),
    "Fold": ("fold", {"output_size": None, "kernel_size": None, "dilation": 1, "padding": 0, "stride": 1}),
    "Upsample": ("interpolate", {"size": None, "scale_factor": None, "mode": "nearest", "align_corners": None}),
    "UpsamplingNearest2d": ("upsample_nearest", {"size": None, "scale_factor": None}),
    "UpsamplingBilinear2d": ("upsample_bilinear", {"size": None, "scale_factor": None}),
}
_REDUCTION = {"size_average": None, "reduce": None, "reduction": "mean"}
_WEIGHTED = {"weight": None, **_REDUCTION}
_TABLE |= {
    "L1Loss": ("l1_loss", _REDUCTION),
    "MSELoss": ("mse_loss", _REDUCTION),
    "SmoothL1Loss": ("smooth_l1_loss", {**_REDUCTION, "beta": 1.0}),
    "HuberLoss": ("huber_loss", {"reduction": "mean", "delta": 1.0}),
    "GaussianNLLLoss": ("gaussian_nll_loss", {"full": False, "eps": 1e-6, "reduction": "mean"}),
    "PoissonNLLLoss": (
        "poisson_nll_loss",
        {"log_input": True, "full": False, "size_average": None, "eps": 1e-8, "reduce": None, "reduction": "mean"},
    ),
    "BCELoss": ("binary_cross_entropy", _WEIGHTED),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", {**_WEIGHTED, "pos_weight": None}),
    "NLLLoss": (
        "nll_loss",
        {"weight": None, "size_average": None, "ignore_index": -100, "reduce": None, "reduction": "mean"},
    ),
    "CrossEntropyLoss": (
        "cross_entropy",
        {
            "weight": None,
            "size_average": None,
            "ignore_index": -100,
            "reduce": None,
            "reduction": "mean",
            "label_smoothing": 0.0,
        },
    ),
    "KLDivLoss": ("kl_div", {**_REDUCTION, "log_target": False}),
    "MarginRankingLoss": ("margin_ranking_loss", {"margin": 0.0, **_REDUCTION}),
    "HingeEmbeddingLoss": ("hinge_embedding_loss", {"margin": 1.0, **_REDUCTION}),
    "SoftMarginLoss": ("soft_margin_loss", _REDUCTION),
    "CosineEmbeddingLoss": ("cosine_embedding_loss", {"margin": 0.0, **_REDUCTION}),
    "TripletMarginLoss": (
        "triplet_margin_loss",
        {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False, **_REDUCTION},
    ),
    "MultiMarginLoss": ("multi_margin_loss", {"p": 1, "margin": 1.0, **_WEIGHTED}),
    "MultiLabelMarginLoss": ("multilabel_margin_loss", _REDUCTION),
    "MultiLabelSoftMarginLoss": ("multilabel_soft_margin_loss", _WEIGHTED),
}
for _n in (1, 2, 3):
    _TABLE[f"MaxPool{_n}d"] = (
        f"max_pool{_n}d",
        {
            "kernel_size": None,
            "stride": None,
            "padding": 0,
            "dilation": 1,
            "return_indices": False,
            "ceil_mode": False,
        },
    )
    _TABLE[f"AvgPool{_n}d"] = (
        f"avg_pool{_n}d",
        {"kernel_size": None, "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True}
        | ({} if _n == 1 else {"divisor_override": None}),
    )
    _TABLE[f"LPPool{_n}d"] = (
        f"lp_pool{_n}d",
        {"norm_type": None, "kernel_size": None, "stride": None, "ceil_mode": False},
    )
    _TABLE[f"MaxUnpool{_n}d"] = (f"max_unpool{_n}d", {"kernel_size": None, "stride": None, "padding": 0})
    _TABLE[f"AdaptiveAvgPool{_n}d"] = (f"adaptive_avg_pool{_n}d", {"output_size": None})
    _TABLE[f"AdaptiveMaxPool{_n}d"] = (f"adaptive_max_pool{_n}d", {"output_size": None, "return_indices": False})


class _OfFunction(Module):
    """A function with options."""

    function: str
    defaults: dict[str, Any]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        unknown = options.keys() - self.defaults.keys()
        if unknown or len(args) > len(self.defaults):
            raise TypeError(
                f"{type(self).__name__}() takes {', '.join(self.defaults)}, not {', '.join(unknown) or args}"
            )
        given = {**self.defaults, **dict(zip(self.defaults, args, strict=False)), **options}
        self._options = tuple(given)
        for name, value in given.items():
            if isinstance(value, _TENSOR):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs: Any, **more: Any) -> Any:
        """See the function in `torch.nn.functional`."""
        options = {name: getattr(self, name) for name in self._options}
        return getattr(functional, self.function)(*inputs, **options, **more)

    def extra_repr(self) -> str:
        """The options that are not the usual ones."""
        chosen = [(name, getattr(self, name)) for name in self._options]
        return ", ".join([f"{name}={value}" for name, value in chosen if value is not self.defaults[name]])


_TENSOR: Any = type(FUNCTIONS["empty"](0))


def _module(name: str) -> Any:
    function, defaults = _TABLE[name]
    doc = f"`torch.nn.functional.{function}` as a module."
    return type(
        name, (_OfFunction,), {"function": function, "defaults": defaults, "__doc__": doc, "__module__": __name__}
    )


MODULES: dict[str, Any] = {name: _module(name) for name in _TABLE}


class _Dropping(Module):
    """Dropout, in training only."""

    function: str

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Any) -> Any:
        """See the function in `torch.nn.functional`."""
        return getattr(functional, self.function)(input, self.p, self.training, inplace=self.inplace)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


for _name, _function in (
    *(("Dropout", "dropout"), ("Dropout1d", "dropout1d"), ("Dropout2d", "dropout2d"), ("Dropout3d", "dropout3d")),
    *(("AlphaDropout", "alpha_dropout"), ("FeatureAlphaDropout", "feature_alpha_dropout")),
):
    MODULES[_name] = type(_name, (_Dropping,), {"function": _function, "__doc__": "Dropout.", "__module__": __name__})


class RReLU(Module):
    """`leaky_relu` with random slopes in training."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Any) -> Any:
        """See `torch.nn.functional.rrelu`."""
        return functional.rrelu(input, self.lower, self.upper, self.training, inplace=self.inplace)


class Flatten(Module):
    """Axes made one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:
        """See `torch.flatten`."""
        return FUNCTIONS["flatten"](input, self.start_dim, self.end_dim)


class Unflatten(Module):
    """One axis made several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Any) -> Any:
        """See `torch.unflatten`."""
        return FUNCTIONS["unflatten"](input, self.dim, self.unflattened_size)


class _Padding(Module):
    """Numbers around the last axes."""

    ndim: int
    mode: str

    def __init__(self, padding: Any, value: float = 0.0) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.ndim) if isinstance(padding, int) else tuple(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        """See `torch.nn.functional.pad`."""
        value = self.value if self.mode == "constant" else None
        return functional.pad(input, self.padding, self.mode, value)


for _n in (1, 2, 3):
    for _name, _mode in (
        *(("Constant", "constant"), ("Zero", "constant"), ("Reflection", "reflect")),
        *(("Replication", "replicate"), ("Circular", "circular")),
    ):
        MODULES[f"{_name}Pad{_n}d"] = type(
            f"{_name}Pad{_n}d", (_Padding,), {"ndim": _n, "mode": _mode, "__doc__": "Padding.", "__module__": __name__}
        )
MODULES |= {"RReLU": RReLU, "Flatten": Flatten, "Unflatten": Unflatten}
