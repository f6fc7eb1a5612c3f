"""What the names of array libraries mean to a derivative: the words that the rules know."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: facts about a Tensor that are no Tensors
FACT_ATTRIBUTES = _words(
    "shape dtype device ndim layout requires_grad is_cuda is_sparse is_leaf size itemsize nbytes grad_fn names "
    "is_quantized is_meta is_contiguous"
)
FACT_METHODS = _words(
    "size dim numel stride storage_offset is_contiguous get_device element_size ndimension nelement is_floating_point "
    "is_complex data_ptr untyped_storage tolist item"
)
FACT_CALLS = _words(
    "len isinstance hasattr int float bool str range id repr issubclass callable type finfo iinfo get_rank "
    "get_world_size is_tensor is_grad_enabled is_autocast_enabled get_autocast_dtype broadcast_shapes result_type "
    "promote_types is_floating_point is_complex"
)
#: comparisons and tests
MASK_CALLS = _words(
    "gt lt ge le eq ne greater less greater_equal less_equal equal not_equal isnan isinf isfinite isclose allclose "
    "logical_and logical_or logical_not logical_xor bool any all signbit isin bernoulli"
)
#: integers, or values that are constant almost everywhere
INDEX_CALLS = _words(
    "argmax argmin argsort nonzero argwhere long int short byte searchsorted bucketize digitize randint randperm "
    "arange sign sgn round floor ceil trunc rint fix floor_divide multinomial bincount count_nonzero unique histc "
    "heaviside offsets lengths indices crow_indices col_indices"
)
#: new values that depend on no other value
CREATORS = _words(
    "zeros ones empty full eye rand randn normal linspace logspace zeros_like ones_like empty_like full_like "
    "rand_like randn_like new_zeros new_ones new_empty new_full new_tensor empty_strided uniform identity tri "
    "hann_window Generator"
)
ZEROS = _words("zeros zeros_like new_zeros")
#: the same memory under another shape
VIEWS = _words(
    "view view_as reshape reshape_as t transpose permute swapaxes swapdims movedim moveaxis squeeze unsqueeze expand "
    "expand_as broadcast_to narrow select flatten unflatten ravel diagonal unfold real imag conj chunk split unbind "
    "tensor_split as_strided atleast_1d atleast_2d view_as_real view_as_complex adjoint mT"
)
#: the same object where nothing has to be done
MAYBE_SAME = _words("contiguous requires_grad_ asarray ascontiguousarray as_tensor cpu cuda")
CASTS = _words("float double half bfloat16 to type_as astype type_ cfloat cdouble")
#: linear in their (first) argument
LINEAR_CALLS = (
    _words(
        "sum mean neg negative positive clone contiguous cumsum flip fliplr flipud roll rot90 gather index_select "
        "masked_select take take_along_dim tril triu trace diag diag_embed repeat repeat_interleave tile pad fft ifft "
        "rfft irfft fft2 ifft2 sum_to_size masked_fill index_add scatter scatter_add to cpu cuda float double half copy "
        "detach nan_to_num squeeze index_put diff kron logcumsum_ cat concat concatenate stack hstack vstack tensor "
        "as_tensor array asarray from_numpy numpy broadcast_tensors fold col2im sub add subtract interpolate"
    )
    | VIEWS
    | CASTS
)
#: linear in each argument by itself
PRODUCTS = _words(
    "mul multiply matmul mm bmm mv dot einsum tensordot outer ger inner vdot addmm baddbmm linear conv1d conv2d "
    "conv3d conv_transpose1d conv_transpose2d conv_transpose3d cross bilinear vecdot addcmul"
)
QUOTIENTS = _words("div divide true_divide")
#: curved in every argument
CURVED = _words(
    "abs absolute clamp clip clamp_min clamp_max norm pow power square exp log log2 log10 log1p expm1 tanh sigmoid "
    "relu sqrt rsqrt sin cos tan sinh cosh asin acos atan arcsin arccos arctan asinh acosh atanh softmax log_softmax "
    "softplus logsumexp max min amax amin maximum minimum median sort topk kthvalue std var erf erfc erfinv gelu silu "
    "mish selu elu leaky_relu hardtanh softsign reciprocal prod cumprod normalize vector_norm matrix_norm inv inverse "
    "cholesky det logdet slogdet svd eigh eig qr exponential lgamma digamma polygamma hypot atan2 arctan2 logaddexp "
    "sinc lerp cdist"
)
#: two results: values, and where they were found
VALUES_AND_INDICES = _words("max min sort topk kthvalue median mode cummax cummin")

NUMPY_LIKE = ("numpy", "scipy", "cupy", "np")
#: the modules whose functions compute with arrays; a deeper or private module is somebody's program
_ARRAY_MODULES = (
    "torch torch.nn.functional torch.special torch.linalg torch.fft torch.functional F nn.functional math jax.numpy jnp jax.nn "
    "pullback pullback.linalg pullback.special pullback.torch pullback.torch.nn.functional pb"
)
ARRAY_MODULES = _words(_ARRAY_MODULES)


def computes(dotted: str) -> bool:
    """Whether a dotted name is a function of an array library."""
    module = dotted.rpartition(".")[0]
    return module in ARRAY_MODULES or module.partition(".")[0] in NUMPY_LIKE


#: out of the graph, as methods
LEAVING_CALLS = _words("detach numpy item tolist detach_")
#: out of the graph, as attributes
LEAVING_ATTRIBUTES = _words("data")

#: methods that write in place and return their object (all that end in one underscore do)
NOT_WRITING = _words("requires_grad_ retain_grad_ detach_ share_memory_ pin_memory_ __")


def writes(name: str) -> bool:
    """Whether a method of that name writes into its object."""
    return name.endswith("_") and not name.endswith("__") and not name.startswith("_") and name not in NOT_WRITING
