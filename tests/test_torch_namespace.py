"""``pullback.torch`` computes what torch computes: values, shapes, dtypes and gradients, call by call.

`CALLS` are expressions that run on either library.  Each must give what torch 2.13 gave (`conformance/calls.json`), and its
gradient must agree with difference quotients; where PyTorch is installed (marker ``torch``), everything must agree with it.
"""

import json
import math
import pickle
import weakref
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pullback as pb
import pullback.torch as torch
from pullback.core.modes import no_grad
from pullback.torch._missing import OF_TENSORS, Missing

# x, y: (3, 4); p: positive (3, 4); v, w: (4,); m: positive definite (3, 3); t: (2, 3, 4); s: 0-d float64
# f: float32 (3, 4); i: int64 (3, 4); k: indices (2, 4); j, q: 1-d indices; b: booleans (3, 4); c: complex (3, 4)
CALLS = """
x + y; x - y; x * y; x / p; -x; x ** 2; p ** y; 2 ** x; p ** 0.5; x + 1; 1 - x; 2 / p; x * 2.5; x // p; x % p
abs(x); x @ y.T; x @ v; v @ x.T; x > y; x >= 0; x == y; x != 1; b & (x > 0); b | (x > 0); ~b; b ^ (x > 0); i // 2
i % 2; i / 2; f * s; s * f; f + 1; i + 1.5; i * f; i + s; f * x; b + 1; b * 2.5; i * b; x * 1j; f * 1j; c * x
i ** 2; f / i; i / i; torch.exp(x); torch.log(p); torch.sqrt(p); torch.sin(x); torch.cos(x); torch.tan(x)
torch.tanh(x); torch.sinh(x); torch.asin(x / 4); torch.acos(x / 4); torch.atan(x); torch.asinh(x)
torch.acosh(p + 1); torch.atanh(x / 4); torch.expm1(x); torch.log1p(p); torch.log2(p); torch.log10(p)
torch.exp2(x); torch.rsqrt(p); torch.reciprocal(p); torch.sigmoid(x); torch.erf(x); torch.erfc(x)
torch.erfinv(x / 4); torch.lgamma(p); torch.digamma(p); torch.square(x); torch.abs(x); torch.neg(x); torch.sign(x)
torch.floor(x); torch.ceil(x); torch.trunc(x); torch.frac(x); torch.round(x); torch.round(x, decimals=1)
torch.relu(x); torch.exp(i); torch.sqrt(i); i.sin(); i.sigmoid(); torch.isnan(x); torch.isfinite(x)
torch.maximum(x, y); torch.minimum(x, y); torch.atan2(x, y); torch.hypot(x, y); torch.logaddexp(x, y)
torch.copysign(x, y); torch.fmax(x, y); torch.fmin(x, y); torch.fmod(x, p); torch.remainder(x, p)
torch.floor_divide(x, p); torch.add(x, y, alpha=2); torch.sub(x, y, alpha=2); torch.mul(x, y); torch.div(x, p)
torch.pow(p, y); torch.pow(x, 3); torch.div(x, p, rounding_mode="floor"); torch.div(x, p, rounding_mode="trunc")
torch.true_divide(i, 2); x.add(y); x.mul(2); x.sub(1); x.div(2); x.pow(2); x.eq(y); x.lt(y); x.ge(y)
torch.logical_and(b, i); torch.logical_not(i); torch.logical_or(b, b); torch.clamp(x, -1, 1); x.clamp(min=0)
x.clamp(max=0.5); torch.clamp(x, y - 1, y + 1); x.clamp_min(0.2); x.clamp_max(0.2); torch.where(b, x, y)
torch.where(b, x, 0.0); torch.where(b, 1.0, 0.0); x.where(b, y); torch.where(x > 0)[0]; torch.lerp(x, y, 0.3)
torch.addcmul(x, y, y, value=2); torch.addcdiv(x, y, p, value=0.5); x.addcmul(y, y); torch.sum(x); x.sum()
x.sum(0); x.sum(dim=1); x.sum(axis=1); x.sum(-1, keepdim=True); x.sum(axis=0, keepdims=True); x.sum((0, 1))
x.sum([0, 1]); i.sum(); b.sum(); f.sum(); f.sum(dtype=torch.float64); x.mean(); x.mean(0); x.mean(dim=(0, 1))
x.prod(); x.prod(1); x.var(); x.var(0); x.var(0, unbiased=False); x.var(1, keepdim=True); x.std(); x.std(1)
x.std(correction=0); x.max(); x.min(); x.max(1).values; x.max(1).indices; x.max(1)[0]; x.min(0).values
x.min(0, keepdim=True).indices; x.max(y); torch.max(x, 1).values; x.amax(1); x.amin((0, 1)); x.amax(); x.argmax()
x.argmin(1); x.argmax(1, keepdim=True); b.all(); b.any(0); b.all(dim=1); torch.count_nonzero(b); x.cumsum(0)
x.cumsum(dim=1); x.cumprod(1); torch.diff(x); torch.logsumexp(x, 1); x.logsumexp(dim=0, keepdim=True)
x.softmax(1); torch.softmax(x, dim=0); torch.log_softmax(x, 1); x.sort(1).values
x.sort(0, descending=True).values; x.sort(1).indices; x.argsort(1); torch.sort(v)[0]; x.topk(2).values
x.topk(2, dim=0, largest=False).values; x.topk(2).indices; x.median(); x.median(1).values; v.kthvalue(2).values
torch.norm(x); x.norm(); x.norm(1); x.norm(2, dim=1); x.norm(dim=0, keepdim=True); x.norm(p=3); torch.dist(x, y)
torch.linalg.norm(x); torch.linalg.norm(x, dim=1); torch.linalg.norm(v, 1); torch.linalg.norm(x, "fro")
torch.linalg.norm(x, 2); torch.linalg.vector_norm(x, 3); torch.linalg.matrix_norm(x); torch.nansum(x)
torch.unique(i); x.view(4, 3); x.view(-1); x.view(2, 6).sum(1); x.reshape(2, -1); torch.reshape(x, (6, 2))
x.view_as(x); x.flatten(); t.flatten(1); t.flatten(0, 1); x.unflatten(1, (2, 2)); x.ravel(); x.T; x.t(); v.t()
t.mT; x.transpose(0, 1); t.permute(2, 0, 1); t.permute((2, 0, 1)); torch.permute(t, (1, 0, 2)); t.transpose(-1, 0)
t.movedim(0, -1); torch.swapaxes(t, 0, 1); x.unsqueeze(0); x.unsqueeze(-1); x.unsqueeze(1).squeeze(1)
x.unsqueeze(0).squeeze(); x.squeeze(); x.unsqueeze(0).squeeze(-1); v.expand(3, 4); v.expand(3, -1); v.expand_as(x)
v.unsqueeze(0).expand(3, 4); torch.broadcast_to(v, (3, 4)); v.repeat(2); x.repeat(2, 1); x.tile((2,))
x.repeat_interleave(2, dim=0); v.repeat_interleave(2); torch.flip(x, (0,)); x.flip(0, 1);
torch.fliplr(x); x.flipud(); torch.rot90(x, 1, (0, 1)); x.rot90(-1); torch.roll(x, 1, 0)
x.roll((1, 2), (0, 1)); torch.cat([x, y]); torch.cat((x, y), dim=1); torch.cat([x, f]); torch.stack([x, y])
torch.stack([x, y], dim=-1); torch.stack((x, y), 1); torch.hstack([x, y]); torch.vstack([v, w]); x.split(2)[1]
x.split(2, dim=1)[0]; x.split([1, 3], 1)[1]; x.chunk(2)[1]; torch.chunk(x, 3, dim=1)[1]; x.unbind()[1]
torch.unbind(x, 1)[2]; x.tensor_split(3, 1)[0]; x.select(0, 1); x.select(1, -1); x.narrow(1, 1, 2); x[0]; x[:, 1]
x[1:, ::2]; x[..., None]; x[b]; x[j]; x[:, j]; x[b].sum(); x[1, 2]; t[..., 1]; t[:, 1:, :2]; x[i[0] % 3]
torch.diagonal(m); t.diagonal(dim1=1, dim2=2); torch.diag(v); torch.diag(m); torch.diag(m, 1); torch.diag(v, -1)
torch.diag_embed(x); torch.diag_embed(x, 1); torch.tril(m); x.triu(1); m.trace(); x.gather(0, k); x.gather(1, k)
torch.gather(x, dim=0, index=k); x.scatter(0, k, y[:2]); x.scatter(1, k % 4, 2.0); x.scatter_add(0, k, y[:2])
x.index_select(0, j); x.index_select(1, j); torch.index_select(x, 0, j); x.index_add(0, j, y[:3])
x.index_copy(0, q, y[:2]); x.index_fill(1, q, 3.0); x.masked_fill(b, 7.0); torch.masked_select(x, b); x.take(k)
torch.take_along_dim(x, k, 0); x.masked_scatter(b, y); x.nonzero(); torch.nonzero(b); x.index_put((q,), y[:2])
torch.matmul(x, y.T); x.mm(y.T); torch.mm(x, m.new_ones(4, 2)); t.bmm(t.transpose(1, 2)); torch.bmm(t, t.mT)
v.dot(w); x.mv(v); torch.outer(v, w); torch.einsum("ij,kj->ik", x, y); torch.einsum("ij->ji", x)
torch.tensordot(x, y, dims=([1], [1])); torch.tensordot(x, y.T, 1); torch.inner(v, w); torch.kron(m, m)
torch.addmm(m, x, y.T, beta=0.5, alpha=2); torch.addmv(v[:3], x, v); torch.baddbmm(t.bmm(t.mT), t, t.mT)
torch.trace(m); torch.det(m); torch.logdet(m); torch.inverse(m); m.inverse(); torch.slogdet(m)[1]
torch.linalg.solve(m, x); torch.linalg.inv(m); torch.linalg.det(m); torch.linalg.cholesky(m); torch.cholesky(m)
m.det(); torch.linalg.eigh(m)[0]; torch.linalg.eigvalsh(m); torch.linalg.svdvals(x)
torch.linalg.svd(x, full_matrices=False)[1]; torch.svd(x)[1]; torch.linalg.qr(m)[1].abs()
torch.linalg.solve_triangular(m.tril(), x, upper=False); torch.linalg.pinv(x); torch.linalg.matrix_power(m, 3)
torch.matrix_power(m, 2); torch.cross(x[:, :3], y[:, :3], dim=1); torch.cholesky_solve(x, m.tril()); torch.cdist(x, y)
torch.trapezoid(x); torch.trapz(x, dim=0); torch.linalg.multi_dot([m, x, y.T]); torch.linalg.vecdot(x, y)
x.to(torch.float32); x.float(); f.double(); x.long(); x.int(); x.bool(); x.half(); x.type(torch.float32)
f.type_as(x); x.type("torch.FloatTensor"); x.type(); f.type(); x.to(f); x.to("cpu"); x.cpu(); x.clone()
x.contiguous(); x.T.contiguous(); x.size(); x.size(1); x.shape; x.dim(); x.ndim; x.numel(); x.nelement()
x.stride(); x.T.stride(); x.is_contiguous(); x.T.is_contiguous(); x.storage_offset(); x[1:].storage_offset()
x.element_size(); x.is_floating_point(); i.is_floating_point(); x.is_complex(); c.is_complex()
x.dtype == torch.float64; f.dtype == torch.float32; i.dtype == torch.long; len(x); x.tolist(); x.shape.numel()
x.shape[1:]; x.size()[0]; x.shape + (1,); x.T.shape; tuple(t.shape); x.item() if x.numel() == 1 else 0; c.real
c.imag; c.conj(); torch.conj(c); c.abs(); torch.angle(c); torch.real(c); torch.complex(x, y); x.real; x.conj()
c.mH; x.H; x.adjoint(); c.H; torch.special.expit(x); torch.special.xlogy(p, p); torch.special.logit(p / 9)
torch.special.entr(p); torch.nn.functional.relu(x); torch.nn.functional.softmax(x, dim=1)
torch.nn.functional.log_softmax(x, dim=1); torch.nn.functional.mse_loss(x, y)
torch.nn.functional.mse_loss(x, y, reduction="sum"); torch.nn.functional.linear(x, y, w[:3])
torch.nn.functional.pad(x, (1, 2)); torch.nn.functional.pad(x, (1, 1, 2, 0), value=3.0)
torch.nn.functional.pad(x, (-1, 1)); torch.nn.functional.softplus(x); torch.nn.functional.silu(x)
torch.nn.functional.gelu(x); torch.nn.functional.elu(x); torch.nn.functional.leaky_relu(x, 0.1)
torch.nn.functional.l1_loss(x, y); torch.nn.functional.smooth_l1_loss(x, y); torch.nn.functional.logsigmoid(x)
torch.nn.functional.normalize(x, dim=1); torch.nn.functional.cross_entropy(x, j[:3] % 4)
torch.nn.functional.nll_loss(x, j[:3] % 4); torch.nn.functional.one_hot(j, 4)
torch.nn.functional.gelu(x, approximate="tanh")
torch.nn.functional.binary_cross_entropy_with_logits(x, b.double()); torch.tensor(2); torch.tensor(2.0)
torch.tensor([1, 2]); torch.tensor([1.0, 2]); torch.tensor(True); torch.tensor(1j); torch.tensor([])
torch.tensor([[1, 2], [3, 4]], dtype=torch.float64); torch.zeros(2, 3); torch.zeros((2, 3)); torch.zeros([])
torch.ones(2); torch.ones(2, dtype=torch.int64); torch.full((2,), 3); torch.full((2, 2), 1.5); torch.zeros_like(x)
torch.ones_like(f); torch.full_like(x, 2); torch.arange(5); torch.arange(1, 4); torch.arange(0, 1, 0.25)
torch.arange(3.0); torch.linspace(0, 1, 5); torch.eye(3); torch.eye(2, 3); torch.empty(2, 3).shape
torch.empty_like(x).dtype == torch.float64; x.new_zeros(2, 3); x.new_ones((2,)); f.new_full((2,), 3)
x.new_tensor([1, 2]); x.new_zeros(2, dtype=torch.float32); torch.logspace(0, 2, 3); torch.tril_indices(3, 3)
torch.triu_indices(3, 3, 1); torch.meshgrid(v, w, indexing="ij")[1]; torch.broadcast_tensors(x, v)[1]
torch.searchsorted(torch.arange(5.0), f); torch.bucketize(f, torch.arange(5.0)); torch.bincount(i.flatten().abs())
torch.allclose(x, x + 1e-12); torch.isclose(x, y); torch.equal(x, x); x.allclose(y); torch.is_tensor(x)
torch.numel(x); torch.is_floating_point(x); torch.is_complex(c)
torch.promote_types(torch.int32, torch.float32) == torch.float32; torch.result_type(f, s) == torch.float32
torch.result_type(i, 1.5) == torch.float32; torch.finfo(torch.float32).eps; torch.finfo(torch.float64).max
torch.iinfo(torch.int32).max; torch.Size([2, 3]); torch.Size([2, 3]).numel(); torch.pi; torch.atleast_1d(s)
torch.atleast_2d(v); x.sum_to_size(1, 4); x.sum_to_size(4); torch.argwhere(b); x.fill_diagonal_(0)
torch.bitwise_and(i, 3); torch.bitwise_or(i, 3); torch.bitwise_xor(i, 3); torch.bitwise_not(i)
torch.bitwise_left_shift(i, 1); torch.bitwise_right_shift(i, 1); torch.cosh(x); x.gt(y); torch.imag(c)
torch.isinf(x * float("inf")); x.le(y); torch.logical_xor(b, i > 2); x.ne(y); torch.pinverse(x); torch.sgn(x) + x
torch.signbit(x); torch.vdot(v, w); x.short(); i.byte(); x.char(); x.cfloat(); x.cdouble(); x.reshape_as(y)
x.new_empty(2).dtype == torch.float64; x.ndimension(); x.get_device(); f.new([1, 2]); torch.vdot(c[0], c[1])
c * 2; c @ c.T; i << 1; i >> 1; torch.i0(x); torch.sinc(x); i.sinc(); i.lgamma(); torch.polygamma(1, p); p.polygamma(2)
torch.mvlgamma(p + 1, 2); torch.igamma(torch.full_like(p, 2.5), p); torch.igammac(torch.full_like(p, 2.5), p)
torch.logit(p / 9); torch.logit(x, eps=0.1); torch.xlogy(x, p); torch.xlogy(2, p); torch.xlogy(x, 2.0); x.xlogy(i * i)
torch.special.erfcx(x); torch.special.ndtr(x); torch.special.ndtri(p / 9); torch.special.log_ndtr(x)
torch.special.i0e(x); torch.special.i1(x); torch.special.i1e(x); torch.special.xlog1py(x, p)
torch.special.zeta(torch.full_like(p, 2.5), p); torch.special.zeta(2.5, p); torch.special.psi(p)
torch.special.gammaln(p); torch.special.multigammaln(p + 1, 3); torch.special.gammainc(torch.full_like(p, 0.5), p)
torch.special.gammaincc(torch.full_like(p, 0.5), p); torch.special.sinc(x); torch.special.polygamma(0, p)
torch.special.airy_ai(f); torch.special.bessel_j0(f); torch.special.bessel_j1(f); torch.special.bessel_y0(f * f)
torch.special.bessel_y1(f * f); torch.special.modified_bessel_i0(f); torch.special.modified_bessel_i1(f)
torch.special.modified_bessel_k0(f * f); torch.special.modified_bessel_k1(f * f); torch.special.spherical_bessel_j0(f)
torch.special.scaled_modified_bessel_k0(f * f); torch.special.scaled_modified_bessel_k1(f * f)
torch.special.chebyshev_polynomial_t(f, 3); torch.special.chebyshev_polynomial_u(f, 3)
torch.special.hermite_polynomial_h(f, 3); torch.special.hermite_polynomial_he(f, 3)
torch.special.laguerre_polynomial_l(f, 3); torch.special.legendre_polynomial_p(f, 3)
torch.special.shifted_chebyshev_polynomial_t(f, 3); torch.special.shifted_chebyshev_polynomial_u(f, 3)
""".replace("\n", ";").split(";")
CALLS = [call.strip() for call in CALLS if call.strip()]

STATEMENTS = """
z.add_(y); z.add_(y, alpha=2); z.sub_(1); z.mul_(y); z.mul_(2); z.div_(p); z.pow_(2); z.neg_(); z.exp_()
z.clamp_(-1, 1); z.clamp_min_(0); z.abs_(); z.sin_(); z.cos_(); z.tanh_(); z.sigmoid_(); z.zero_(); z.fill_(3)
z.copy_(y); z.copy_(v); z += y; z -= y; z *= y; z /= p; z **= 2; z += 1; z *= 2; z[0] = 1.0; z[:, 1] = y[:, 0]
z[b] = 0.0; z[0] += v; z[1:] *= 2; z[j] = y[j] * 0 + 1; z.masked_fill_(b, 5.0); z.index_add_(0, j, y[:3])
z.index_copy_(0, q, y[:2]); z.index_fill_(1, q, 2.0); z.scatter_(0, k, y[:2]); z.scatter_add_(0, k, y[:2])
z.scatter_(0, k, 2.0); z.lerp_(y, 0.5); z.addcmul_(y, y, value=2); z.square_(); z.round_(); z.floor_()
z.reciprocal_(); z.addcdiv_(y, p); z.view(-1).add_(1); z[0].mul_(3); z.T.mul_(2); z.unsqueeze_(0); z.t_()
z.transpose_(0, 1); z.index_put_((q,), y[:2]); z.index_put_((j,), y[:3], accumulate=True); z.masked_scatter_(b, y)
z.add_(f); z.mul_(s); z.fill_(s); z.sub_(y, alpha=3); z.erf_(); z.expm1_(); z.cumsum_(0); z.maximum(y)
z.squeeze_(); z.squeeze_(0); z.tril_(1); z.triu_(); z.abs_().sqrt_(); z.relu_(); z.sign_(); z.cosh_(); z.atan_()
z.hypot_(y); z.clip_(-1, 1); z.subtract_(y); z.multiply_(y); z.divide_(p); z.fmod_(p); z.remainder_(p); z.trunc_()
z.frac_(); z.cumprod_(1); z.gt_(0); z.sinh_(); z.tan_(); z.erfc_(); z.i0_(); z.sinc_(); z.xlogy_(p); z.mul_(y).logit_(0.1)
z.square_().add_(1).lgamma_(); z.square_().add_(1).digamma_(); z.square_().add_(1).polygamma_(1)
z.div_(9).erfinv_(); z.square_().add_(1).mvlgamma_(2)
""".replace("\n", ";").split(";")
STATEMENTS = [statement.strip() for statement in STATEMENTS if statement.strip()]

# no derivative in torch (floor division), or one that needs a choice (signs of eigenvectors)
NOT_DIFFERENTIATED = ("x // p", "torch.floor_divide", "torch.linalg.qr", "torch.linalg.eigh(m)[0]", "x.fill_diagonal_")


#: The public names of torch, place by place, written by `conformance/record_names.py`.
NAMES = json.loads((Path(__file__).parent / "conformance" / "names.json").read_text(encoding="utf-8"))["names"]
#: What torch computed, written by `conformance/record_calls.py`.
RECORDED = Path(__file__).parent / "conformance" / "calls.json"


def data(library):
    """The same small arrays in either library."""
    rng = np.random.default_rng(5)

    def make(*shape, low=-2.0, high=2.0):
        return np.round(rng.uniform(low, high, shape), 3)

    a = make(3, 3)
    arrays = {
        "x": make(3, 4),
        "y": make(3, 4),
        "p": make(3, 4, low=0.5),
        "v": make(4),
        "w": make(4),
        "t": make(2, 3, 4),
        "m": a @ a.T + 2 * np.eye(3),
        "s": np.asarray(1.7),
        "f": make(3, 4).astype(np.float32),
        "i": rng.integers(1, 6, (3, 4)),
        "k": rng.permuted(np.tile([[0], [1], [2]], (1, 4)), axis=0)[:2],
        "j": np.array([2, 0, 2]),
        "q": np.array([0, 2]),
        "b": make(3, 4) > 0,
        "c": make(3, 4) + 1j * make(3, 4),
    }
    return {name: library.from_numpy(array.copy()) for name, array in arrays.items()}


def evaluate(library, call, differentiable=()):
    """The value of a call, and the Tensors it was made of."""
    names = data(library)
    for name in differentiable:
        names[name].requires_grad_()
    return eval(call, {"torch": library, **names}), names


def execute(library, statement):
    """``z`` and the gradients of ``x`` and ``y`` after a statement that writes into ``z = x * 1``."""
    names = data(library)
    names["x"].requires_grad_()
    names["y"].requires_grad_()
    names["z"] = names["x"] * 1
    exec(statement, {"torch": library}, names)
    weights = library.from_numpy(np.linspace(1, 2, names["z"].numel()).reshape(tuple(names["z"].shape)))
    (names["z"] * weights).sum().backward()
    return names["z"].detach().numpy(), gradient(names["x"]), gradient(names["y"])


def gradient(tensor):
    return None if tensor.grad is None else tensor.grad.numpy()


def plain(value):
    """A result as something that can be compared: arrays, numbers, tuples."""
    if isinstance(value, (tuple, list)):
        return tuple([plain(v) for v in value])
    if hasattr(value, "resolve_conj"):
        value = value.resolve_conj()  # torch conjugates when somebody looks
    return value.detach().numpy() if hasattr(value, "detach") else value


def differentiable_names(call):
    """The floating-point operands of a call whose result can be differentiated."""
    value, names = evaluate(torch, call)
    if not isinstance(value, torch.Tensor) or value.dtype.kind != "f" or call.startswith(NOT_DIFFERENTIATED):
        return []
    words = set(call.replace(".", " ").replace("(", " ").replace(")", " ").replace(",", " ").replace("[", " ").split())
    return sorted(name for name in names if name in words and names[name].dtype == torch.float64)


def weighted(library, value):
    return (value * library.from_numpy(np.linspace(1, 2, value.numel()).reshape(tuple(value.shape)))).sum()


def fingerprint(value):
    """A few numbers that tell one result from another: dtype, shape, and the sum of the elements with different weights."""
    if isinstance(value, tuple):
        return [fingerprint(part) for part in value]
    if not isinstance(value, np.ndarray):
        return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
    weights = np.linspace(1, 2, value.size).reshape(value.shape)
    total = complex((value.astype(complex) * weights).sum())
    return [str(value.dtype), list(value.shape), total.real, total.imag]


def same(ours, theirs, single=False):
    """Two fingerprints, to the precision of the dtype."""
    if isinstance(theirs, list):
        single = single or theirs[:1] in (["float32"], ["float16"], ["complex64"])
        return len(ours) == len(theirs) and all(same(a, b, single) for a, b in zip(ours, theirs, strict=True))
    if isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-3 if single else 1e-9, abs_tol=1e-3 if single else 1e-9)
    return ours == theirs


@pytest.fixture(scope="module")
def recorded():
    return json.loads(RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("call", CALLS)
def test_every_call_gives_what_torch_gave(call, recorded):
    assert same(fingerprint(plain(evaluate(torch, call)[0])), recorded["calls"][call])


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_gives_what_torch_gave(statement, recorded):
    """The written values and both gradients; no gradient and a zero gradient are the same here."""
    for ours, theirs in zip(execute(torch, statement), recorded["statements"][statement], strict=True):
        if ours is None or theirs is None:
            assert not np.any(ours) if theirs is None else theirs[2:] == [0.0, 0.0]
        else:
            assert same(fingerprint(ours), theirs)


@pytest.mark.parametrize("call", CALLS)
def test_every_call_runs_and_its_gradient_is_right(call):
    """One random direction per operand: the derivative along it is that of a difference quotient."""
    names = differentiable_names(call)
    value, operands = evaluate(torch, call, names)
    if not (isinstance(value, torch.Tensor) and value.requires_grad and value.dtype == torch.float64):
        return
    weighted(torch, value).backward()
    rng, eps = np.random.default_rng(1), 1e-6
    for name in names:
        direction = rng.uniform(-1, 1, operands[name].shape)
        if name == "m":  # some decompositions read one triangle only, and their gradient is that for symmetric matrices
            direction = direction + direction.T
        ends = []
        for sign in (1, -1):
            moved = data(torch)
            moved[name] = torch.from_numpy(moved[name].numpy() + sign * eps * direction)
            ends.append(weighted(torch, eval(call, {"torch": torch, **moved})).item())
        found = 0.0 if operands[name].grad is None else float((operands[name].grad.numpy() * direction).sum())
        assert math.isclose(found, (ends[0] - ends[1]) / (2 * eps), rel_tol=1e-5, abs_tol=1e-5), name


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::UserWarning")  # torch deprecates some of these names
@pytest.mark.parametrize("call", CALLS)
def test_every_call_agrees_with_torch(call):
    """Value, shape, dtype; and the gradients where the result can be differentiated."""
    import torch as original

    names = differentiable_names(call)
    with np.errstate(all="ignore"):
        ours, mine = evaluate(torch, call, names)
        theirs, others = evaluate(original, call, names)
        compare(plain(ours), plain(theirs))
        if isinstance(ours, torch.Tensor):
            assert ours.requires_grad == theirs.requires_grad
            if ours.requires_grad:
                weighted(torch, ours).backward()
                weighted(original, theirs).backward()
        for name in names:
            compare_gradients(gradient(mine[name]), gradient(others[name]), plain(ours).dtype)


def compare(ours, theirs):
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            compare(a, b)
        return
    if isinstance(theirs, np.ndarray):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        single = theirs.dtype in (np.float32, np.complex64, np.float16)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5 if single else 1e-9, atol=1e-6 if single else 1e-10)
    elif isinstance(theirs, float):
        assert math.isclose(ours, theirs, rel_tol=1e-6)
    else:
        assert ours == theirs


def compare_gradients(ours, theirs, dtype=np.float64):
    """The same to the precision of the computation; nothing and zeros are the same here."""
    if ours is None or theirs is None:
        assert not np.any(ours if theirs is None else theirs)
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9 if dtype == np.float64 else 1e-5, atol=1e-10)


@pytest.mark.torch
@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_writes_as_torch_does(statement):
    """The written values, and the gradients of what was there before and of what was written."""
    import torch as original

    for ours, theirs in zip(execute(torch, statement), execute(original, statement), strict=True):
        compare_gradients(ours, theirs)


# ------------------------------------------------------------------------------------------------ conventions
def test_every_name_of_the_tables_is_called_by_some_test():
    """A function that no call mentions is untested: say so here, or test it."""
    from pullback.torch._export import FUNCTIONS

    tables = [table.read_text(encoding="utf-8") for table in (Path(__file__).parent / "torch_calls").glob("*.txt")]
    text = " ".join(CALLS + STATEMENTS + tables).replace("F.", "torch.")
    names = {name for name in FUNCTIONS if not name.endswith("_")}  # torch.exp_ is Tensor.exp_
    missing = {name for name in names if f"torch.{name}(" not in text and f".{name}(" not in text}
    assert missing - ELSEWHERE - ALIASES == set()
    assert ELSEWHERE - missing == set(), "is tested above now"


ELSEWHERE = {
    *("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state"),
    *("get_num_threads", "get_num_interop_threads", "set_num_interop_threads", "are_deterministic_algorithms_enabled"),
    *("set_anomaly_enabled", "is_warn_always_enabled", "is_deterministic_algorithms_warn_only_enabled", "to_dlpack"),
    *("compiled_with_cxx11_abi", "is_autocast_cpu_enabled", "is_autocast_cache_enabled"),
}
ALIASES = {
    *(
        "absolute",
        "negative",
        "fix",
        "arcsin",
        "arccos",
        "arctan",
        "arcsinh",
        "arccosh",
        "arctanh",
        "arctan2",
        "multiply",
    ),
    *(
        "subtract",
        "divide",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "clip",
        "concat",
        "concatenate",
    ),
    *("row_stack", "swapdims", "moveaxis", "split_with_sizes", "asarray", "conj_physical", "ger"),
}


def tensor(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda: torch.tensor(2.0), "tensor(2.)"),
        (lambda: torch.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (lambda: torch.tensor([1, 20]), "tensor([ 1, 20])"),
        (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
        (lambda: torch.tensor(0.00001), "tensor(1.0000e-05)"),
        (lambda: torch.tensor([1.0, 1e6]), "tensor([1.0000e+00, 1.0000e+06])"),
        (lambda: torch.tensor([1.0, float("nan"), float("inf")]), "tensor([1., nan, inf])"),
        (lambda: torch.tensor([1 + 2j]), "tensor([1.+2.j])"),
        (lambda: torch.tensor([]), "tensor([])"),
        (lambda: torch.zeros(2, 0), "tensor([], size=(2, 0))"),
        (lambda: torch.zeros(2, 2), "tensor([[0., 0.],\n        [0., 0.]])"),
        (lambda: torch.zeros(1, 2, 2), "tensor([[[0., 0.],\n         [0., 0.]]])"),
        (lambda: torch.zeros(2, 1, 1), "tensor([[[0.]],\n\n        [[0.]]])"),
        (lambda: tensor(2.0), "tensor([2.], dtype=torch.float64, requires_grad=True)"),
        (lambda: tensor(2.0) * 2, "tensor([4.], dtype=torch.float64, grad_fn=<MulBackward0>)"),
        (lambda: torch.zeros(2, dtype=torch.int32), "tensor([0, 0], dtype=torch.int32)"),
        (lambda: torch.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
        (lambda: torch.zeros(3, 4).shape, "torch.Size([3, 4])"),
        (lambda: torch.zeros(()).shape, "torch.Size([])"),
    ],
)
def test_printing(value, text):
    assert repr(value()) == text


@pytest.mark.torch
def test_printing_agrees_with_torch():
    """Many arrays of every kind print the same characters in both."""
    import torch as original

    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-3, 1e-6, 1e5, 1e9):
        for shape in ((), (1,), (5,), (30,), (3, 4), (2, 3, 2), (7, 200), (40, 40)):
            values = rng.normal(size=shape) * scale
            for array in (
                values,
                np.round(values),
                values.astype(np.float32),
                values + 1j * values[..., ::-1] if shape else values,
            ):
                assert repr(torch.from_numpy(array)) == repr(original.from_numpy(np.array(array)))


def test_dtypes_are_numpys():
    assert torch.float64 is np.dtype(np.float64)
    assert torch.zeros(1).dtype == torch.float32 == torch.float
    assert torch.tensor(1.0, dtype="float64").dtype == torch.double
    assert torch.zeros(1, dtype=float).dtype == torch.float32
    assert torch.zeros(1, dtype=int).dtype == torch.int64


def test_the_default_dtype_can_be_changed():
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.zeros(1).dtype == torch.float64
        assert repr(torch.tensor(1.0)) == "tensor(1.)"
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(TypeError, match="floating-point"):
        torch.set_default_dtype(torch.int64)


def test_results_have_the_class_of_their_operands_and_the_subclass_wins():
    plain, ours = pb.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert type(plain + plain) is pb.Tensor
    assert type(plain + ours) is type(ours + plain) is torch.Tensor
    assert type(torch.exp(plain)) is pb.Tensor
    x = tensor(1.0, 2.0)
    (x * x).sum().backward()
    assert type(x.grad) is torch.Tensor


def test_a_zero_dimensional_double_does_not_promote_and_gets_its_own_gradient():
    x = torch.ones(3, requires_grad=True)
    s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = x * s
    y.sum().backward()
    assert (y.dtype, x.grad.dtype, s.grad.dtype) == (torch.float32, torch.float32, torch.float64)
    assert s.grad.item() == 3.0


def test_extremes_along_an_axis_are_named_and_send_the_gradient_to_one_element():
    x = tensor(1.0, 3.0, 3.0)
    found = x.max(0)
    assert found.values.item() == found[0].item() == 3.0
    values, indices = x.max(0)
    values.backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    assert indices.item() == 1


def test_views_share_memory_and_a_view_that_needs_a_copy_is_refused():
    x = torch.zeros(2, 3)
    x.view(3, 2)[0, 0] = 1.0
    assert x[0, 0].item() == 1.0
    assert x.view(6).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="not compatible") as caught:
        x.t().view(6)
    assert "reshape" in "".join(caught.value.__notes__)


def test_as_tensor_stacks_and_tensor_copies():
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    torch.as_tensor([[a * a, b], [b, 1.0]]).sum().backward()
    assert (a.grad.item(), b.grad.item()) == (4.0, 2.0)
    array = np.zeros(2)
    torch.as_tensor(array)[0] = 1.0
    torch.tensor(array)[1] = 1.0
    assert array.tolist() == [1.0, 0.0]
    with pytest.warns(UserWarning, match="torch.stack"):
        assert not torch.tensor([a, b]).requires_grad


def test_old_constructors():
    assert torch.Tensor([1, 2]).dtype == torch.float32
    assert torch.Tensor(2, 3).shape == (2, 3)
    assert torch.FloatTensor([1]).dtype == torch.float32
    assert torch.LongTensor([1]).dtype == torch.int64
    assert torch.DoubleTensor(2).shape == (2,)
    assert [torch.IntTensor([1]).dtype, torch.BoolTensor([1]).dtype] == [torch.int32, torch.bool]
    assert torch.zeros(2).new([1, 2]).dtype == torch.float32
    assert torch.autograd.Variable(torch.zeros(2), requires_grad=True).requires_grad
    assert isinstance(torch.zeros(1), torch.autograd.Variable)
    assert torch.scalar_tensor(2).dtype == torch.float32


def test_random_numbers_come_from_one_seed():
    """The same seed, the same numbers; each in its range and dtype."""

    def draw():
        return [
            *(torch.rand(3, 2), torch.randn(2, dtype=torch.float64), torch.randint(2, 5, (4,)), torch.randperm(5)),
            *(torch.rand_like(torch.zeros(2)), torch.randn_like(torch.zeros(2)), torch.normal(0.0, 1.0, (2,))),
            *(torch.bernoulli(torch.full((4,), 0.5)), torch.multinomial(torch.ones(4), 2), torch.zeros(3).normal_()),
            *(torch.zeros(3).uniform_(2, 3), torch.zeros(3).bernoulli_(0.5)),
        ]

    torch.manual_seed(3)
    first, state = draw(), torch.get_rng_state()
    after = torch.rand(2)
    torch.manual_seed(3)
    assert all(torch.equal(a, b) for a, b in zip(first, draw(), strict=True))
    torch.set_rng_state(state)
    assert torch.equal(torch.rand(2), after)
    assert torch.initial_seed() == 3
    assert (first[0].dtype, first[1].dtype, first[2].dtype) == (torch.float32, torch.float64, torch.int64)
    assert ((first[0] >= 0) & (first[0] < 1)).all()
    assert ((first[2] >= 2) & (first[2] < 5)).all()
    assert sorted(first[3].tolist()) == [0, 1, 2, 3, 4]
    generator = torch.Generator().manual_seed(1)
    assert torch.equal(torch.rand(2, generator=generator), torch.rand(2, generator=torch.Generator().manual_seed(1)))


def test_a_missing_name_says_what_to_use():
    with pytest.raises(AttributeError, match="sparse_coo_tensor") as caught:
        torch.sparse_coo_tensor  # noqa: B018
    assert "dense" in "".join(caught.value.__notes__)
    assert not hasattr(torch, "no_such_name")


@pytest.mark.parametrize(
    ("look", "found"),
    [
        (lambda: torch.astype, "pullback.astype (with the arguments of the Array API standard), Tensor"),
        (lambda: torch.softplus_loss, "Write instead: Tensor operators"),
        (lambda: torch.softplus, "pullback.torch.nn.functional.softplus, Tensor"),
        (lambda: torch.nn.Nothing, "Write instead: Tensor operators"),
        (lambda: torch.nn.functional.vecdot, "pullback.torch.linalg.vecdot, Tensor"),
        (lambda: torch.zeros(2).bfloat16, "float32"),
    ],
)
def test_a_missing_name_is_said_to_be_elsewhere_only_if_it_is(look, found):
    with pytest.raises(AttributeError) as caught:
        look()
    notes = "".join(caught.value.__notes__)
    assert found in notes
    assert "if it exists" not in notes


@pytest.mark.parametrize("place", NAMES)
def test_every_name_of_torchs_is_there_or_says_what_to_use(place):
    """A method that is not offered, too: never a bare AttributeError."""
    space = torch.zeros(2, 2) if place == "torch.Tensor" else attrgetter(place)(SimpleNamespace(torch=torch))
    for name in NAMES[place].split():
        if name == "imag" and place == "torch.Tensor":
            continue  # a property, which is refused for real Tensors
        if not hasattr(space, name):
            with pytest.raises(AttributeError) as caught:
                getattr(space, name)
            assert "Write instead" in "".join(caught.value.__notes__), name


def test_a_missing_attribute_of_a_tensor_says_what_to_use():
    x = torch.zeros(2)
    with pytest.raises(AttributeError, match=r"Tensor has no attribute 'storage'") as caught:
        x.storage()
    assert "as a NumPy array" in "".join(caught.value.__notes__)
    assert not hasattr(x, "to_sparse")
    with pytest.raises(AttributeError, match="no attribute 'exq'"):
        x.exq  # noqa: B018


@pytest.mark.torch
def test_every_attribute_of_torchs_tensors_is_there_or_said_to_be_missing():
    real = pytest.importorskip("torch").Tensor
    here = {name for name in dir(torch.Tensor) if not isinstance(vars(torch.Tensor).get(name), Missing)}
    assert {name for name in dir(real) if not name.startswith("_")} - here == set(OF_TENSORS)


def test_there_is_no_gpu():
    with pytest.raises(RuntimeError, match="no device cuda"):
        torch.zeros(1).cuda()
    with pytest.raises(RuntimeError, match="no device cuda"):
        torch.zeros(1).to("cuda:0")
    assert torch.zeros(1).to(torch.device("cpu")).device == torch.device("cpu")


def test_questions_about_a_gpu_are_answered_and_autocast_does_nothing():
    assert not torch.cuda.is_available()
    assert torch.cuda.device_count() == 0

    class Twice(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        @torch.cuda.amp.custom_bwd
        def backward(ctx, g):
            return 2 * g

    assert torch.autograd.gradcheck(Twice.apply, tensor(1.0, 2.0))


def test_in_place_functions_are_the_methods():
    x = torch.tensor([0.0, 1.0])
    assert torch.exp_(x) is x
    assert x[0].item() == 1.0


def test_a_small_training_loop():
    """Gradient descent as everybody writes it: `.grad`, `no_grad`, `zero_`, `.data`."""
    torch.manual_seed(0)
    x, w = torch.randn(20, 3), torch.zeros(3, requires_grad=True)
    truth = torch.tensor([1.0, -2.0, 0.5])
    for step in range(200):
        loss = torch.nn.functional.mse_loss(x @ w, x @ truth)
        loss.backward()
        if step % 2:
            with torch.no_grad():
                w -= 0.1 * w.grad
        else:
            w.data -= 0.1 * w.grad
        w.grad.zero_()
    assert torch.allclose(w, truth, atol=1e-3)
    assert f"{loss.item():.3f}" == f"{loss:.3f}" == "0.000"


def test_out_is_written_and_has_no_place_in_the_graph():
    target = torch.zeros(2)
    assert torch.add(torch.ones(2), 1, out=target) is target
    assert target.tolist() == [2.0, 2.0]
    assert torch.sum(torch.ones(2, 2), 0, out=target).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        torch.mul(torch.ones(2, requires_grad=True), 2, out=target)


def test_python_numbers_are_no_tensors():
    with pytest.raises(TypeError, match="must be Tensor, not float"):
        torch.exp(2.0)


def test_an_integer_tensor_has_no_mean():
    with pytest.raises(RuntimeError, match="floating point") as caught:
        torch.ones(2, dtype=torch.int64).mean()
    assert "float()" in "".join(caught.value.__notes__)


def test_in_place_writes_keep_the_dtype():
    x = torch.zeros(2)
    x += torch.ones(2, dtype=torch.float64)
    assert x.dtype == torch.float32
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.zeros(2, dtype=torch.int64).add_(0.5)


def test_in_place_on_an_operand_keeps_the_old_value_for_backward():
    """`z *= y` needs the old z for y's gradient."""
    x, y = tensor(2.0), tensor(3.0)
    z = x * 1
    z *= y
    z.sum().backward()
    assert (x.grad.item(), y.grad.item()) == (3.0, 2.0)


def test_resizing():
    x = torch.arange(6)
    assert x.resize_(2, 3) is x
    assert x.shape == x.resize_as_(torch.zeros(2, 3)).shape == (2, 3)
    assert x.resize_(7)[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert x.new().resize_as_(x).shape == (7,)
    with pytest.raises(RuntimeError, match="cannot resize a view"):
        x[1:].resize_(9)
    with pytest.raises(RuntimeError, match="require grad"):
        tensor(1.0).resize_(3)


def test_set_takes_over_the_memory_of_another_tensor():
    x, y = torch.zeros(2), torch.ones(3)
    assert x.set_(y) is x
    x[0] = 5.0
    assert y.tolist() == [5.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="Could not set"):
        x.set_(y.double())
    with pytest.raises(TypeError, match="takes a Tensor"):
        x.set_([1.0])


def test_pickle_and_copies():
    x = pickle.loads(pickle.dumps(tensor(1.0, 2.0)))
    assert type(x) is torch.Tensor
    assert x.requires_grad
    assert x.tolist() == [1.0, 2.0]


# ------------------------------------------------------------------------------------------------ autograd, func
def test_submodule_and_function_share_a_name():
    """`torch.autograd.gradcheck` is the function; the module can be imported all the same."""
    from pullback.torch.autograd.gradcheck import GradcheckError, gradcheck

    assert torch.autograd.gradcheck is gradcheck
    assert issubclass(GradcheckError, RuntimeError)


def test_multi_grad_hooks():
    a, b, c = tensor(2.0), tensor(3.0), tensor(4.0)
    calls = []
    handle = torch.autograd.graph.register_multi_grad_hook(
        (a, b, c), lambda grads: calls.append([None if g is None else g.item() for g in grads])
    )
    (a * b).sum().backward()
    handle.remove()
    (a * b).sum().backward()
    assert calls == [[3.0, 2.0, None]]
    first = []
    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grad: first.append(grad.item()), mode="any")
    (a * b).sum().backward()
    assert len(first) == 1


def test_callbacks_run_at_the_end_of_the_pass():
    order = []
    x = tensor(1.0)

    def hook(grad):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: order.append("end"))
        order.append("hook")

    (x * 2).register_hook(hook)
    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    assert order == ["hook", "end"]
    with pytest.raises(RuntimeError, match="during backward"):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: None)


def test_a_write_behind_the_librarys_back_can_be_announced():
    x = tensor(2.0)
    y = (x * 1) ** 2
    x2 = x * 1
    y = x2**2
    torch.autograd.graph.increment_version(x2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_functional():
    """Jacobian, Hessian and the products, against the formulas of x³ and x·y."""
    AF = torch.autograd.functional
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    v = torch.tensor([1.0, -1.0], dtype=torch.float64)
    assert AF.jacobian(lambda t: t**3, x).tolist() == [[3.0, 0.0], [0.0, 12.0]]
    assert AF.hessian(lambda t: (t**3).sum(), x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert AF.vjp(lambda t: t**3, x, v)[1].tolist() == [3.0, -12.0]
    assert AF.jvp(lambda t: t**3, x, v)[1].tolist() == [3.0, -12.0]
    assert AF.hvp(lambda t: (t**3).sum(), x, v)[1].tolist() == [6.0, -12.0]
    assert AF.vhp(lambda t: (t**3).sum(), x, v)[1].tolist() == [6.0, -12.0]
    both = AF.jacobian(lambda a, b: (a * b, a.sum()), (x, v))
    assert both[0][1].tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert both[1][1].tolist() == [0.0, 0.0]
    assert AF.hessian(lambda a, b: (a * a * b).sum(), (x, v))[0][1].tolist() == [[2.0, 0.0], [0.0, 4.0]]
    with no_grad():
        assert not AF.jacobian(lambda t: t**2, x).requires_grad
    with pytest.raises(RuntimeError, match="strict mode"):
        AF.jacobian(lambda a, b: a * 2, (x, v), strict=True)
    with pytest.raises(RuntimeError, match="single element"):
        AF.hessian(lambda t: t, x)
    with pytest.raises(RuntimeError, match="invalid size"):
        AF.vjp(lambda t: t, x, torch.ones(3))


def test_functional_results_can_be_differentiated():
    x = tensor(2.0)
    jacobian = torch.autograd.functional.jacobian(lambda t: t**3, x, create_graph=True)
    assert torch.autograd.grad(jacobian.sum(), x)[0].item() == 12.0


def test_func_transforms_nest_and_compose_with_the_outer_graph():
    func = torch.func
    x = torch.tensor(3.0, dtype=torch.float64)
    assert func.grad(func.grad(func.grad(lambda t: t**4)))(x).item() == 72.0
    assert not func.grad(lambda t: t**3)(x).requires_grad
    z = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(func.grad(lambda t: t**3)(z), z)[0].item() == 18.0
    _, pull = func.vjp(lambda t: t**2, torch.tensor([1.0, 2.0]))
    assert pull(torch.ones(2))[0].tolist() == [2.0, 4.0]
    assert func.jvp(lambda t: t**2, (x,), (torch.ones_like(x),))[1].item() == 6.0
    assert func.jacrev(lambda t: t**2)(torch.tensor([1.0, 2.0])).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert func.hessian(lambda t: (t**3).sum())(torch.tensor([1.0, 2.0])).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert func.vmap(lambda a, b: a @ b, in_dims=(0, None))(torch.ones(3, 2), torch.ones(2)).tolist() == [2.0, 2.0, 2.0]
    assert func.grad(lambda a, b: a * b, argnums=(0, 1))(x, x)[1].item() == 3.0
    with pytest.raises(RuntimeError, match="scalar"):
        func.grad(lambda t: t)(torch.ones(2))


def test_func_in_forward_mode():
    """jvp, jacfwd and linearize agree with jacrev, nest, and stay connected to the outer graph."""
    func = torch.func
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)

    def f(t):
        return torch.sin(t) * t.sum(), t[:2] ** 3

    v = torch.tensor([1.0, 0.5, -1.0], dtype=torch.float64)
    expected = func.jacrev(f)(x)
    value, push = func.linearize(f, x)
    for found, jv, pushed, jacobian in zip(
        func.jacfwd(f)(x), func.jvp(f, (x,), (v,))[1], push(v), expected, strict=True
    ):
        np.testing.assert_allclose(found.numpy(), jacobian.numpy(), rtol=1e-12)
        np.testing.assert_allclose(jv.numpy(), jacobian.numpy() @ v.numpy(), rtol=1e-12)
        np.testing.assert_allclose(pushed.numpy(), jacobian.numpy() @ v.numpy(), rtol=1e-12)
        assert not any(t.requires_grad for t in (found, jv, pushed))
    assert not value[0].requires_grad
    assert push(2 * v)[0].tolist() == pytest.approx((2 * push(v)[0]).tolist())

    cube = func.jacfwd(func.jacfwd(func.jacfwd(lambda t: t**4)))
    assert cube(torch.tensor(2.0)).item() == 48.0
    both = func.jacfwd(lambda a, b: a * b * b, argnums=(0, 1))(x[:1], x[1:2])
    assert [d.tolist() for d in both] == [[[4.0]], [[4.0]]]
    assert func.jacfwd(lambda t: t * 2)(torch.ones(0)).shape == (0, 0)

    z = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(func.jvp(lambda t: t**3, (z,), (torch.ones_like(z),))[1], z)[0].item() == 18.0
    assert torch.autograd.grad(func.jacfwd(lambda t: t**3)(z), z)[0].item() == 18.0
    assert torch.autograd.grad(func.linearize(lambda t: t**3, z)[1](torch.ones_like(z)), z)[0].item() == 18.0
    with pytest.raises(RuntimeError, match="same python structure"):
        func.jvp(torch.sin, (x,), (x, x))


def test_what_is_not_offered_says_so():
    with pytest.raises(NotImplementedError, match="not offered") as caught:
        torch.nn.functional.interpolate(torch.ones(1, 1, 4), 2, mode="linear", antialias=True)
    assert "Write instead" in "".join(caught.value.__notes__)


# ------------------------------------------------------------------------------------------------ checkpoints
def counted(function):
    calls = []

    def call(*args, **kwargs):
        calls.append(1)
        return function(*args, **kwargs)

    return call, calls


def test_a_checkpoint_has_the_derivatives_of_its_function():
    """To third order; every pass calls the function once more."""
    function, calls = counted(lambda x: torch.exp(torch.sin(x) * x))
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y, z = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False), torch.exp(torch.sin(x) * x)
    assert len(calls) == 1
    for order in range(1, 4):
        (y,), (z,) = (torch.autograd.grad(value, x, create_graph=True) for value in (y, z))
        assert math.isclose(y.item(), z.item(), rel_tol=1e-13)
        assert len(calls) >= 1 + order
    assert torch.autograd.gradcheck(lambda t: torch.utils.checkpoint.checkpoint(torch.sin, t), x)
    assert torch.autograd.gradgradcheck(lambda t: torch.utils.checkpoint.checkpoint(torch.sin, t), x)


def test_a_checkpoint_keeps_nothing_but_its_arguments():
    """The intermediate value is gone after the call, and lives during the backward pass only."""
    kept = []

    def function(x):
        middle = torch.exp(x)
        kept.append(weakref.ref(middle._array))
        return torch.sin(middle)

    x = tensor(0.1, 0.2)
    y = torch.utils.checkpoint.checkpoint(function, x)
    assert kept[0]() is None
    y.sum().backward()
    assert [ref() for ref in kept] == [None, None]
    assert x.grad.tolist() == pytest.approx((np.cos(np.exp([0.1, 0.2])) * np.exp([0.1, 0.2])).tolist())


def test_a_checkpoint_of_a_function_with_intermediates_nested_and_with_several_results():
    x = tensor(0.3, 0.7)
    inputs = (torch.tensor([[0.3, 0.7]], dtype=torch.float64, requires_grad=True), x, tensor(0.5, 0.5), 1e-5)
    assert torch.autograd.gradgradcheck(lambda *t: torch.utils.checkpoint.checkpoint(LayerNorm.apply, *t), inputs)

    def inner(t):
        return torch.exp(t) * t, "a string", t.sum()

    def outer(t):
        a, _, b = torch.utils.checkpoint.checkpoint(inner, t)
        return torch.sin(a) * b

    assert torch.autograd.gradcheck(lambda t: torch.utils.checkpoint.checkpoint(outer, t), x)
    assert torch.autograd.gradgradcheck(lambda t: torch.utils.checkpoint.checkpoint(outer, t), x)
    steps = [torch.sin, torch.exp, torch.tanh, torch.cos]
    assert torch.autograd.gradcheck(lambda t: torch.utils.checkpoint.checkpoint_sequential(steps, 2, t), x)


def test_a_checkpoint_draws_the_same_random_numbers_again():
    def dropout(x):
        return x * x * (torch.rand(x.shape, dtype=x.dtype) > 0.5)

    torch.manual_seed(4)
    x = torch.ones(20, dtype=torch.float64, requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(dropout, x)
    following = torch.rand(1)
    y.sum().backward()
    assert torch.equal(x.grad, 2 * y)
    torch.manual_seed(4)
    torch.rand(20, dtype=torch.float64)
    assert torch.equal(torch.rand(1), following), "the pass must not change what is drawn next"


def test_a_checkpoint_that_does_something_else_is_refused():
    """Other saved values, other results, and arguments that were written since: each an error, never a wrong number."""
    CheckpointError, checkpoint = torch.utils.checkpoint.CheckpointError, torch.utils.checkpoint.checkpoint
    x, state = tensor(1.0, 2.0), {"n": 0}

    def growing(t):
        state["n"] += 1
        return torch.sin(t) if state["n"] == 1 else torch.sin(torch.exp(t))

    def drifting(t):
        state["n"] += 1
        return torch.sin(t * state["n"])

    for function, message in ((growing, "other values"), (drifting, "other values")):
        state["n"] = 0
        with pytest.raises(CheckpointError, match=message):
            checkpoint(function, x).sum().backward()
    argument = x * 1
    y = checkpoint(torch.sin, argument)
    argument.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_checkpoint_is_differentiable_through_captured_tensors():
    w, x = tensor(3.0), torch.tensor([2.0], dtype=torch.float64)
    torch.utils.checkpoint.checkpoint(lambda t: torch.sin(t * w), x).sum().backward()
    assert w.grad.item() == pytest.approx(2 * math.cos(6.0))


# ------------------------------------------------------------------------------------------------ Functions as people write them
class Sparsemax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, dim=-1):
        ctx.dim = dim
        ordered, _ = torch.sort(z, dim=dim, descending=True)
        total = ordered.cumsum(dim) - 1
        k = torch.arange(1, z.size(dim) + 1, dtype=z.dtype).view([1] * (z.dim() - 1) + [-1]).transpose(dim, -1)
        support = k * ordered > total
        size = support.sum(dim=dim, keepdim=True)
        tau = total.gather(dim, size - 1) / size.to(z.dtype)
        output = torch.clamp(z - tau, min=0)
        ctx.save_for_backward(size, output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        size, output = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[output == 0] = 0
        mean = grad_input.sum(dim=ctx.dim, keepdim=True) / size.to(output.dtype)
        return torch.where(output != 0, grad_input - mean, grad_input), None


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        mean = x.mean(-1, keepdim=True)
        rstd = torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, mean, rstd)
        return (x - mean) * rstd * weight + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, mean, rstd = ctx.saved_tensors
        normal = (x - mean) * rstd
        grad = grad_output * weight
        inner = grad - grad.mean(-1, keepdim=True) - normal * (grad * normal).mean(-1, keepdim=True)
        dims = tuple(range(x.dim() - 1))
        return inner * rstd, (grad_output * normal).sum(dims), grad_output.sum(dims), None


class GradientReversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class RoundStraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bits):
        scale = 2**bits - 1
        ctx.save_for_backward(x.ge(0) & x.le(1))
        return torch.round(x.clamp(0, 1) * scale).div_(scale)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside.type_as(grad_output), None


class ReluInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_min_(0)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output.masked_fill(y == 0, 0)


class SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values, segments, count):
        ctx.save_for_backward(segments)
        index = segments.unsqueeze(-1).expand_as(values)
        return values.new_zeros(count, values.size(1)).scatter_add_(0, index, values)

    @staticmethod
    def backward(ctx, grad_output):
        (segments,) = ctx.saved_tensors
        return grad_output.index_select(0, segments), None, None


def test_sparsemax():
    x = torch.tensor([[0.5, 1.3, -2.0, 1.0], [2.0, 0.1, 0.3, 1.9]], dtype=torch.float64, requires_grad=True)
    y = Sparsemax.apply(x, -1)
    assert torch.allclose(y.sum(-1), torch.ones(2, dtype=torch.float64))
    assert torch.autograd.gradcheck(Sparsemax.apply, (x, -1))
    assert torch.autograd.gradgradcheck(Sparsemax.apply, (x, -1))


def test_layer_norm_saves_intermediates_and_is_right_at_second_order():
    torch.manual_seed(1)
    inputs = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3, 4), (4,), (4,))]
    assert torch.autograd.gradcheck(LayerNorm.apply, (*inputs, 1e-5))
    assert torch.autograd.gradgradcheck(LayerNorm.apply, (*inputs, 1e-5))


def test_gradient_reversal_returns_its_input():
    x = tensor(1.0, 2.0)
    y = GradientReversal.apply(x, 0.5)
    y.sum().backward()
    assert x.grad.tolist() == [-0.5, -0.5]
    assert y.tolist() == [1.0, 2.0]


def test_straight_through_rounding():
    x = tensor(-0.5, 0.2, 0.9, 1.5)
    y = RoundStraightThrough.apply(x, 2)
    y.sum().backward()
    assert y.tolist() == pytest.approx([0.0, 1 / 3, 1.0, 1.0])
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 0.0]


def test_relu_in_place():
    x = tensor(-1.0, 2.0)
    y = x * 3
    z = ReluInPlace.apply(y)
    assert z is y
    z.sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]


def test_segment_sum():
    values = torch.arange(8.0, dtype=torch.float64).view(4, 2).requires_grad_()
    segments = torch.tensor([0, 2, 0, 1])
    assert SegmentSum.apply(values, segments, 3).tolist() == [[4.0, 6.0], [6.0, 7.0], [2.0, 3.0]]
    assert torch.autograd.gradcheck(SegmentSum.apply, (values, segments, 3))
    assert torch.autograd.gradgradcheck(SegmentSum.apply, (values, segments, 3))


def test_what_was_resized_after_it_was_saved_is_stale():
    weights, x = torch.tensor([[1.0, 2.0, 3.0]]), torch.ones(2, 3, requires_grad=True)
    y = weights * x
    weights.resize_(3, 1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_what_has_views_is_not_resized():
    base = torch.zeros(1, 3)
    _view = base[0]
    with pytest.raises(RuntimeError, match="has views"):
        base.resize_(3)
