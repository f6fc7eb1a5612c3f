"""``pullback.torch`` computes what torch computes: values, shapes, dtypes and gradients, call by call.

`CALLS` are expressions that run on either library.  Without PyTorch each must run, and its gradient must agree with difference
quotients; with PyTorch (marker ``torch``) everything must agree with it.
"""

import math

import numpy as np
import pytest

import pullback.torch as torch

# x, y: (3, 4); p: positive (3, 4); v, w: (4,); m: positive definite (3, 3); t: (2, 3, 4); s: 0-d float64; f: float32 (3, 4);
# i: int64 (3, 4); k: indices (2, 4); j: 1-d indices; b: booleans (3, 4); c: complex (3, 4)
CALLS = """
x + y; x - y; x * y; x / p; -x; x ** 2; p ** y; 2 ** x; p ** 0.5; x + 1; 1 - x; 2 / p; x * 2.5; x // p; x % p; abs(x)
x @ y.T; x @ v; v @ x.T; x > y; x >= 0; x == y; x != 1; b & (x > 0); b | (x > 0); ~b; b ^ (x > 0); i // 2; i % 2; i / 2
f * s; s * f; f + 1; i + 1.5; i * f; i + s; f * x; b + 1; b * 2.5; i * b; x * 1j; f * 1j; c * x; i ** 2; f / i; i / i
torch.exp(x); torch.log(p); torch.sqrt(p); torch.sin(x); torch.cos(x); torch.tan(x); torch.tanh(x); torch.sinh(x)
torch.asin(x / 4); torch.acos(x / 4); torch.atan(x); torch.asinh(x); torch.acosh(p + 1); torch.atanh(x / 4)
torch.expm1(x); torch.log1p(p); torch.log2(p); torch.log10(p); torch.exp2(x); torch.rsqrt(p); torch.reciprocal(p)
torch.sigmoid(x); torch.erf(x); torch.erfc(x); torch.erfinv(x / 4); torch.lgamma(p); torch.digamma(p); torch.square(x)
torch.abs(x); torch.neg(x); torch.sign(x); torch.floor(x); torch.ceil(x); torch.trunc(x); torch.frac(x); torch.round(x)
torch.round(x, decimals=1); torch.relu(x); torch.exp(i); torch.sqrt(i); i.sin(); i.sigmoid(); torch.isnan(x); torch.isfinite(x)
torch.maximum(x, y); torch.minimum(x, y); torch.atan2(x, y); torch.hypot(x, y); torch.logaddexp(x, y); torch.copysign(x, y)
torch.fmax(x, y); torch.fmin(x, y); torch.fmod(x, p); torch.remainder(x, p); torch.floor_divide(x, p)
torch.add(x, y, alpha=2); torch.sub(x, y, alpha=2); torch.mul(x, y); torch.div(x, p); torch.pow(p, y); torch.pow(x, 3)
torch.div(x, p, rounding_mode="floor"); torch.div(x, p, rounding_mode="trunc"); torch.true_divide(i, 2); x.add(y); x.mul(2)
x.sub(1); x.div(2); x.pow(2); x.eq(y); x.lt(y); x.ge(y); torch.logical_and(b, i); torch.logical_not(i); torch.logical_or(b, b)
torch.clamp(x, -1, 1); x.clamp(min=0); x.clamp(max=0.5); torch.clamp(x, y - 1, y + 1); x.clamp_min(0.2); x.clamp_max(0.2)
torch.where(b, x, y); torch.where(b, x, 0.0); torch.where(b, 1.0, 0.0); x.where(b, y); torch.where(x > 0)[0]
torch.lerp(x, y, 0.3); torch.addcmul(x, y, y, value=2); torch.addcdiv(x, y, p, value=0.5); x.addcmul(y, y)
torch.sum(x); x.sum(); x.sum(0); x.sum(dim=1); x.sum(axis=1); x.sum(-1, keepdim=True); x.sum(axis=0, keepdims=True)
x.sum((0, 1)); x.sum([0, 1]); i.sum(); b.sum(); f.sum(); f.sum(dtype=torch.float64); x.mean(); x.mean(0); x.mean(dim=(0, 1))
x.prod(); x.prod(1); x.var(); x.var(0); x.var(0, unbiased=False); x.var(1, keepdim=True); x.std(); x.std(1); x.std(correction=0)
x.max(); x.min(); x.max(1).values; x.max(1).indices; x.max(1)[0]; x.min(0).values; x.min(0, keepdim=True).indices
x.max(y); torch.max(x, 1).values; x.amax(1); x.amin((0, 1)); x.amax(); x.argmax(); x.argmin(1); x.argmax(1, keepdim=True)
b.all(); b.any(0); b.all(dim=1); torch.count_nonzero(b); x.cumsum(0); x.cumsum(dim=1); x.cumprod(1); torch.diff(x)
torch.logsumexp(x, 1); x.logsumexp(dim=0, keepdim=True); x.softmax(1); torch.softmax(x, dim=0); torch.log_softmax(x, 1)
x.sort(1).values; x.sort(0, descending=True).values; x.sort(1).indices; x.argsort(1); torch.sort(v)[0]; x.topk(2).values
x.topk(2, dim=0, largest=False).values; x.topk(2).indices; x.median(); x.median(1).values; v.kthvalue(2).values
torch.norm(x); x.norm(); x.norm(1); x.norm(2, dim=1); x.norm(dim=0, keepdim=True); x.norm(p=3); torch.dist(x, y)
torch.linalg.norm(x); torch.linalg.norm(x, dim=1); torch.linalg.norm(v, 1); torch.linalg.norm(x, "fro"); torch.linalg.norm(x, 2)
torch.linalg.vector_norm(x, 3); torch.linalg.matrix_norm(x); torch.nansum(x); torch.unique(i)
x.view(4, 3); x.view(-1); x.view(2, 6).sum(1); x.reshape(2, -1); torch.reshape(x, (6, 2)); x.view_as(x); x.flatten()
t.flatten(1); t.flatten(0, 1); x.unflatten(1, (2, 2)); x.ravel(); x.T; x.t(); v.t(); t.mT; x.transpose(0, 1)
t.permute(2, 0, 1); t.permute((2, 0, 1)); torch.permute(t, (1, 0, 2)); t.transpose(-1, 0); t.movedim(0, -1); torch.swapaxes(t, 0, 1)
x.unsqueeze(0); x.unsqueeze(-1); x.unsqueeze(1).squeeze(1); x.unsqueeze(0).squeeze(); x.squeeze(); x.unsqueeze(0).squeeze(-1)
v.expand(3, 4); v.expand(3, -1); v.expand_as(x); v.unsqueeze(0).expand(3, 4); torch.broadcast_to(v, (3, 4)); v.repeat(2)
x.repeat(2, 1); x.tile((2,)); x.repeat_interleave(2, dim=0); v.repeat_interleave(2); torch.flip(x, (0,)); x.flip(0, 1)
torch.roll(x, 1, 0); x.roll((1, 2), (0, 1)); torch.cat([x, y]); torch.cat((x, y), dim=1); torch.cat([x, f]); torch.stack([x, y])
torch.stack([x, y], dim=-1); torch.stack((x, y), 1); torch.hstack([x, y]); torch.vstack([v, w]); x.split(2)[1]; x.split(2, dim=1)[0]
x.split([1, 3], 1)[1]; x.chunk(2)[1]; torch.chunk(x, 3, dim=1)[1]; x.unbind()[1]; torch.unbind(x, 1)[2]; x.tensor_split(3, 1)[0]
x.select(0, 1); x.select(1, -1); x.narrow(1, 1, 2); x[0]; x[:, 1]; x[1:, ::2]; x[..., None]; x[b]; x[j]; x[:, j]; x[b].sum()
x[1, 2]; t[..., 1]; t[:, 1:, :2]; x[i[0] % 3]; torch.diagonal(m); t.diagonal(dim1=1, dim2=2); torch.diag(v); torch.diag(m)
torch.diag(m, 1); torch.diag(v, -1); torch.diag_embed(x); torch.diag_embed(x, 1); torch.tril(m); x.triu(1); m.trace()
x.gather(0, k); x.gather(1, k); torch.gather(x, dim=0, index=k); x.scatter(0, k, y[:2]); x.scatter(1, k % 4, 2.0)
x.scatter_add(0, k, y[:2]); x.index_select(0, j); x.index_select(1, j); torch.index_select(x, 0, j); x.index_add(0, j, y[:3])
x.index_copy(0, q, y[:2]); x.index_fill(1, q, 3.0); x.masked_fill(b, 7.0); torch.masked_select(x, b); x.take(k)
torch.take_along_dim(x, k, 0); x.masked_scatter(b, y); x.nonzero(); torch.nonzero(b); x.index_put((q,), y[:2])
torch.matmul(x, y.T); x.mm(y.T); torch.mm(x, m.new_ones(4, 2)); t.bmm(t.transpose(1, 2)); torch.bmm(t, t.mT); v.dot(w); x.mv(v)
torch.outer(v, w); torch.einsum("ij,kj->ik", x, y); torch.einsum("ij->ji", x); torch.tensordot(x, y, dims=([1], [1]))
torch.tensordot(x, y.T, 1); torch.inner(v, w); torch.kron(m, m); torch.addmm(m, x, y.T, beta=0.5, alpha=2); torch.addmv(v[:3], x, v)
torch.baddbmm(t.bmm(t.mT), t, t.mT); torch.trace(m); torch.det(m); torch.logdet(m); torch.inverse(m); m.inverse(); torch.slogdet(m)[1]
torch.linalg.solve(m, x); torch.linalg.inv(m); torch.linalg.det(m); torch.linalg.cholesky(m); torch.cholesky(m); m.det()
torch.linalg.eigh(m)[0]; torch.linalg.eigvalsh(m); torch.linalg.svdvals(x); torch.linalg.svd(x, full_matrices=False)[1]
torch.svd(x)[1]; torch.linalg.qr(m)[1].abs(); torch.linalg.solve_triangular(m.tril(), x, upper=False); torch.linalg.pinv(x)
torch.linalg.matrix_power(m, 3); torch.matrix_power(m, 2); torch.cross(x[:, :3], y[:, :3], dim=1); torch.cholesky_solve(x, m)
torch.cdist(x, y); torch.trapezoid(x); torch.trapz(x, dim=0); torch.linalg.multi_dot([m, x, y.T]); torch.linalg.vecdot(x, y)
x.to(torch.float32); x.float(); f.double(); x.long(); x.int(); x.bool(); x.half(); x.type(torch.float32); f.type_as(x)
x.type("torch.FloatTensor"); x.type(); f.type(); x.to(f); x.to("cpu"); x.cpu(); x.clone(); x.contiguous(); x.T.contiguous()
x.size(); x.size(1); x.shape; x.dim(); x.ndim; x.numel(); x.nelement(); x.stride(); x.T.stride(); x.is_contiguous()
x.T.is_contiguous(); x.storage_offset(); x[1:].storage_offset(); x.element_size(); x.is_floating_point(); i.is_floating_point()
x.is_complex(); c.is_complex(); x.dtype == torch.float64; f.dtype == torch.float32; i.dtype == torch.long; len(x); x.tolist()
x.shape.numel(); x.shape[1:]; x.size()[0]; x.shape + (1,); x.T.shape; tuple(t.shape); x.item() if x.numel() == 1 else 0
c.real; c.imag; c.conj(); torch.conj(c); c.abs(); torch.angle(c); torch.real(c); torch.complex(x, y); x.real; x.conj(); c.mH
x.H; x.adjoint(); c.H; torch.special.expit(x); torch.special.xlogy(p, p); torch.special.logit(p / 9); torch.special.entr(p)
torch.nn.functional.relu(x); torch.nn.functional.softmax(x, dim=1); torch.nn.functional.log_softmax(x, dim=1)
torch.nn.functional.mse_loss(x, y); torch.nn.functional.mse_loss(x, y, reduction="sum"); torch.nn.functional.linear(x, y, w[:3])
torch.nn.functional.pad(x, (1, 2)); torch.nn.functional.pad(x, (1, 1, 2, 0), value=3.0); torch.nn.functional.pad(x, (-1, 1))
torch.nn.functional.softplus(x); torch.nn.functional.silu(x); torch.nn.functional.gelu(x); torch.nn.functional.elu(x)
torch.nn.functional.leaky_relu(x, 0.1); torch.nn.functional.l1_loss(x, y); torch.nn.functional.smooth_l1_loss(x, y)
torch.nn.functional.logsigmoid(x); torch.nn.functional.normalize(x, dim=1); torch.nn.functional.cross_entropy(x, j[:3] % 4)
torch.nn.functional.nll_loss(x, j[:3] % 4); torch.nn.functional.one_hot(j, 4); torch.nn.functional.gelu(x, approximate="tanh")
torch.nn.functional.binary_cross_entropy_with_logits(x, b.double())
torch.tensor(2); torch.tensor(2.0); torch.tensor([1, 2]); torch.tensor([1.0, 2]); torch.tensor(True); torch.tensor(1j); torch.tensor([])
torch.tensor([[1, 2], [3, 4]], dtype=torch.float64); torch.zeros(2, 3); torch.zeros((2, 3)); torch.zeros([]); torch.ones(2)
torch.ones(2, dtype=torch.int64); torch.full((2,), 3); torch.full((2, 2), 1.5); torch.zeros_like(x); torch.ones_like(f)
torch.full_like(x, 2); torch.arange(5); torch.arange(1, 4); torch.arange(0, 1, 0.25); torch.arange(3.0); torch.linspace(0, 1, 5)
torch.eye(3); torch.eye(2, 3); torch.empty(2, 3).shape; torch.empty_like(x).dtype == torch.float64; x.new_zeros(2, 3)
x.new_ones((2,)); f.new_full((2,), 3); x.new_tensor([1, 2]); x.new_zeros(2, dtype=torch.float32); torch.logspace(0, 2, 3)
torch.tril_indices(3, 3); torch.triu_indices(3, 3, 1); torch.meshgrid(v, w, indexing="ij")[1]; torch.broadcast_tensors(x, v)[1]
torch.searchsorted(torch.arange(5.0), f); torch.bucketize(f, torch.arange(5.0)); torch.bincount(i.flatten().abs())
torch.allclose(x, x + 1e-12); torch.isclose(x, y); torch.equal(x, x); x.allclose(y); torch.is_tensor(x); torch.numel(x)
torch.is_floating_point(x); torch.is_complex(c); torch.promote_types(torch.int32, torch.float32) == torch.float32
torch.result_type(f, s) == torch.float32; torch.result_type(i, 1.5) == torch.float32; torch.finfo(torch.float32).eps
torch.finfo(torch.float64).max; torch.iinfo(torch.int32).max; torch.Size([2, 3]); torch.Size([2, 3]).numel(); torch.pi
torch.atleast_1d(s); torch.atleast_2d(v); x.sum_to_size(1, 4); x.sum_to_size(4); torch.argwhere(b); x.fill_diagonal_(0)
""".replace("\n", ";").split(";")
CALLS = [call.strip() for call in CALLS if call.strip()]

STATEMENTS = """
z.add_(y); z.add_(y, alpha=2); z.sub_(1); z.mul_(y); z.mul_(2); z.div_(p); z.pow_(2); z.neg_(); z.exp_(); z.clamp_(-1, 1)
z.clamp_min_(0); z.abs_(); z.sin_(); z.cos_(); z.tanh_(); z.sigmoid_(); z.zero_(); z.fill_(3); z.copy_(y); z.copy_(v)
z += y; z -= y; z *= y; z /= p; z **= 2; z += 1; z *= 2; z[0] = 1.0; z[:, 1] = y[:, 0]; z[b] = 0.0; z[0] += v; z[1:] *= 2
z[j] = y[j] * 0 + 1; z.masked_fill_(b, 5.0); z.index_add_(0, j, y[:3]); z.index_copy_(0, q, y[:2]); z.index_fill_(1, q, 2.0)
z.scatter_(0, k, y[:2]); z.scatter_add_(0, k, y[:2]); z.scatter_(0, k, 2.0); z.lerp_(y, 0.5); z.addcmul_(y, y, value=2); z.square_()
z.round_(); z.floor_(); z.reciprocal_(); z.addcdiv_(y, p); z.view(-1).add_(1); z[0].mul_(3); z.T.mul_(2); z.unsqueeze_(0)
z.t_(); z.transpose_(0, 1); z.index_put_((q,), y[:2]); z.index_put_((j,), y[:3], accumulate=True); z.masked_scatter_(b, y)
z.add_(f); z.mul_(s); z.fill_(s); z.sub_(y, alpha=3); z.erf_(); z.expm1_(); z.cumsum_(0); z.maximum(y); z.squeeze_()
""".replace("\n", ";").split(";")
STATEMENTS = [statement.strip() for statement in STATEMENTS if statement.strip()]

# no derivative in torch (floor division), or one that needs a choice (signs of eigenvectors)
NOT_DIFFERENTIATED = ("x // p", "torch.floor_divide", "torch.linalg.qr", "torch.linalg.eigh(m)[0]", "x.fill_diagonal_")


def data(library):
    """The same small arrays in either library."""
    rng = np.random.default_rng(5)

    def make(*shape, low=-2.0, high=2.0):
        return np.round(rng.uniform(low, high, shape), 3)

    a = make(3, 3)
    arrays = {
        **{"x": make(3, 4), "y": make(3, 4), "p": make(3, 4, low=0.5), "v": make(4), "w": make(4), "t": make(2, 3, 4)},
        **{"m": a @ a.T + 2 * np.eye(3), "s": np.asarray(1.7), "f": make(3, 4).astype(np.float32)},
        **{"i": rng.integers(1, 6, (3, 4)), "k": rng.permuted(np.tile([[0], [1], [2]], (1, 4)), axis=0)[:2]},
        **{"j": np.array([2, 0, 2]), "q": np.array([0, 2]), "b": make(3, 4) > 0, "c": make(3, 4) + 1j * make(3, 4)},
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
        ends = []
        for sign in (1, -1):
            moved = data(torch)
            moved[name] = torch.from_numpy(moved[name].numpy() + sign * eps * direction)
            ends.append(weighted(torch, eval(call, {"torch": torch, **moved})).item())
        found = 0.0 if operands[name].grad is None else float((operands[name].grad.numpy() * direction).sum())
        assert math.isclose(found, (ends[0] - ends[1]) / (2 * eps), rel_tol=1e-5, abs_tol=1e-5), name


@pytest.mark.torch
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


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_runs(statement):
    execute(torch, statement)
