"""dtypes, shapes and memory of results under torch's names, where NumPy decides otherwise; the numbers are torch's."""

import numpy as np
import pytest

import pullback.torch as torch

# b: booleans; u: uint8; i: int64; f: float32; d: float64; c: complex64, all of length 2; s: a 0-d float32; e: an empty one
# Each line: a call, the dtype of its result, and its values.
RESULTS = """
i.relu()                                -> int64 [0, 2]
torch.nn.functional.relu(i)             -> int64 [0, 2]
u.relu()                                -> uint8 [1, 200]
b.square()                              -> int64 [1, 0]
b.sign()                                -> bool [True, False]
b.sgn()                                 -> bool [True, False]
b.add(b, alpha=2)                       -> bool [True, False]
torch.atan2(b, b)                       -> float32 [0.7853981852531433, 0.0]
torch.atan2(u, i)                       -> float32 [2.6779451370239258, 1.5607966184616089]
torch.atan2(i, d).sign()                -> float64 [-1.0, 1.0]
torch.copysign(i, 2)                    -> float32 [2.0, 2.0]
torch.copysign(u, i)                    -> float32 [-1.0, 200.0]
f.fmod(0.75)                            -> float32 [0.5, -0.25]
f.fmod(2)                               -> float32 [0.5, -0.5]
i.fmod(2)                               -> int64 [0, 0]
u.fmod(3)                               -> uint8 [1, 2]
u.sum()                                 -> int64 201
u.sum(0, keepdim=True)                  -> int64 [201]
u.sum(dtype=torch.uint8)                -> uint8 201
i.sum(dtype=torch.int32)                -> int32 0
f.sum(dtype=torch.int32)                -> int32 -2
b.sum()                                 -> int64 1
torch.nansum(u)                         -> int64 201
u.prod()                                -> int64 200
u.cumsum(0)                             -> int64 [1, 201]
u.cumprod(0)                            -> int64 [1, 200]
i.cumsum(0, dtype=torch.int32)          -> int32 [-2, 0]
b.cumsum(0)                             -> int64 [1, 1]
u.view(1, 2).trace()                    -> int64 1
torch.logdet(c * torch.eye(2))          -> complex64 (0.8047189712524414-0.4636476933956146j)
torch.logdet(torch.zeros(2, 2))         -> float32 -inf
torch.einsum("i->", u)                  -> int64 201
torch.einsum("i,i->", u, u)             -> uint8 65
u[:1].bincount(f[:1])                   -> float32 [0.0, 0.5]
u.sum_to_size(1)                        -> int64 [201]
u.sum_to_size(2)                        -> uint8 [1, 200]
u.all()                                 -> uint8 1
u.any(0)                                -> uint8 1
i.all()                                 -> bool True
f.view(1, 2).all(())                    -> bool [[True, True]]
b.diff()                                -> bool [True]
i.masked_fill(b, 1.5)                   -> int64 [1, 2]
b.masked_fill(b, 1)                     -> bool [True, False]
u.masked_fill(b, 7)                     -> uint8 [7, 200]
f.masked_fill(b, torch.tensor(2.5, dtype=torch.float64)) -> float32 [2.5, -2.5]
i + np.float64(1)                       -> float32 [-1.0, 3.0]
np.float64(1) + i                       -> float32 [-1.0, 3.0]
i * np.float32(2)                       -> float32 [-4.0, 4.0]
s + np.float64(1)                       -> float32 2.5
u[0] * np.int64(2)                      -> uint8 2
i / np.float64(2)                       -> float32 [-1.0, 1.0]
c * np.float64(2)                       -> complex64 [(2+4j), -2j]
i.clamp(min=np.float64(0.5))            -> float32 [0.5, 2.0]
torch.where(b, np.float64(1), f)        -> float32 [1.0, -2.5]
torch.full((2,), np.int32(1))           -> int64 [1, 1]
torch.full((), np.float64(1))           -> float32 1.0
torch.arange(np.float32(1.5))           -> float32 [0.0, 1.0]
torch.cross(torch.arange(6).view(3, 2), torch.arange(6).view(3, 2) % 4) -> int64 [[-8, -12], [0, 4], [0, 0]]
torch.cross(torch.arange(3).expand(2, 3), torch.ones(3, dtype=torch.int64).expand(2, 3)) -> int64 [[-1, 2, -1], [-1, 2, -1]]
"""

# A Tensor of no dimensions counts as having one, number 0 or -1.
NO_DIMENSIONS = """
s.sum(0)                                -> float32 1.5
s.sum((0,), keepdim=True)               -> float32 1.5
s.prod(-1)                              -> float32 1.5
s.mean(0)                               -> float32 1.5
s.mean(-1, True)                        -> float32 1.5
s.var(0, unbiased=False)                -> float32 0.0
s.std(0, unbiased=False)                -> float32 0.0
s.amax((0,))                            -> float32 1.5
s.max(0).values                         -> float32 1.5
s.min(-1, True).indices                 -> int64 0
s.argmax(0)                             -> int64 0
s.all(0)                                -> bool True
s.count_nonzero(0)                      -> int64 1
s.logsumexp(0)                          -> float32 1.5
s.softmax(0)                            -> float32 1.0
s.log_softmax(-1)                       -> float32 0.0
s.cumsum(0)                             -> float32 1.5
s.cumprod(-1)                           -> float32 1.5
s.argsort(0)                            -> int64 0
s.argsort()                             -> int64 0
s.sort().values                         -> float32 1.5
s.sort(0, descending=True).indices      -> int64 0
s.topk(1).values                        -> float32 1.5
s.topk(1, 0).indices                    -> int64 0
s.kthvalue(1).values                    -> float32 1.5
s.median()                              -> float32 1.5
s.median(0).values                      -> float32 1.5
s.median(-1, True).indices              -> int64 0
s.norm(dim=0)                           -> float32 1.5
s.norm(1, -1, True)                     -> float32 1.5
torch.linalg.vector_norm(s, dim=(0,))   -> float32 1.5
torch.linalg.norm(s, dim=0)             -> float32 1.5
torch.nn.functional.normalize(s, dim=0) -> float32 1.0
s.flip(0)                               -> float32 1.5
s.flip(())                              -> float32 1.5
s.movedim(0, -1)                        -> float32 1.5
s.transpose(0, -1)                      -> float32 1.5
s.squeeze(0)                            -> float32 1.5
s.index_select(0, torch.tensor([0]))    -> float32 1.5
s.index_fill(0, torch.tensor([0]), 2.0) -> float32 2.0
s.index_add(0, torch.tensor([0]), s)    -> float32 3.0
s.index_copy(0, torch.tensor([0]), -s)  -> float32 -1.5
s.gather(0, torch.tensor(0))            -> float32 1.5
s.gather(0, torch.tensor([0, 0]))       -> float32 [1.5, 1.5]
s.scatter(0, torch.tensor(0), 2.0)      -> float32 2.0
s.scatter_add(0, torch.tensor(0), s)    -> float32 3.0
s.cumsum_(0)                            -> float32 1.5
s.index_fill_(0, torch.tensor([0]), 2.0) -> float32 2.0
s.index_add_(0, torch.tensor([0]), s.clone()) -> float32 3.0
s.index_copy_(0, torch.tensor([0]), -s) -> float32 -1.5
s.scatter_(0, torch.tensor(0), 2.0)     -> float32 2.0
s.scatter_add_(0, torch.tensor(0), s.clone()) -> float32 3.0
"""

EMPTY = """
e.median()                              -> float32 nan
e.view(3, 0).median(0).values           -> float32 []
e.view(3, 0).kthvalue(1, 0).indices     -> int64 []
e.diag().sum()                          -> float32 0.0
e.diag(1)                               -> float32 [[0.0]]
e.view(3, 0).diag_embed(-1)             -> float32 [[[0.0]], [[0.0]], [[0.0]]]
torch.stack(e.chunk(2))                 -> float32 [[], []]
torch.searchsorted(e.view(0, 3), e.view(0, 3)) -> int64 []
torch.searchsorted(e.view(3, 0), torch.ones(3, 1)) -> int64 [[0], [0], [0]]
"""

#: What cannot be done, and torch's type of error for it.
REFUSED = {
    **dict.fromkeys(
        ("s.sum(1)", "s.cumsum(1)", "s.unbind()", "s.select(0, 0)", "s.softmax(1)", "s.sum((0, 1))", "s.squeeze(1)"),
        IndexError,
    ),
    **dict.fromkeys(("f.select(1, 0)", "f.narrow(1, 0, 1)", "f.unflatten(1, (1, 2))", "f.flatten(0, 1)"), IndexError),
    **dict.fromkeys(("f.gather(1, i)", "f.index_select(1, i)", "f.split(1, 1)", "f.chunk(2, 1)"), IndexError),
    **dict.fromkeys(("e.median(0)", "e.kthvalue(1)", "f.flip(1)"), IndexError),
    **dict.fromkeys(("f.kthvalue(3)", "f.topk(3)", "f.narrow(0, 1, 2)", "f.view(1, 2).rot90(1, (0, 0))"), RuntimeError),
    **dict.fromkeys(("f.masked_fill(b, 1j)", "torch.cross(f, f)", "f.sum_to_size(1, 2)"), RuntimeError),
    "torch.linalg.matrix_norm(m, dim=(0, 2))": IndexError,
    "torch.func.grad(torch.sum, argnums=1)(f)": RuntimeError,
}

# m: float32 of shape (2, 2); z: complex64
VIEWS = (
    """m.positive(); +m; m.movedim(0, 1); m.squeeze(0); m.T; m.sum_to_size(2, 2); m.narrow(0, -1, 1); m[0]; z.real"""
)
COPIES = """m.flip(0); m.flip(0, 1); m.flip(()); torch.flip(m, (1,)); m.flip(dims=[0]); m.fliplr(); torch.flipud(m); m.rot90()
torch.rot90(m, 2, (0, 1)); m.rot90(4); m.roll(0, 0); m[0, 0].take(torch.tensor(0)); m.take(torch.tensor(3)); m.sign()
m[0, 0].max(0).values; m[0, 0].sum_to_size(()); m[0, 0].flip(0); m[0, [0, 1]]; z.float(); z.to(torch.float32); m.diag()"""


def lines(table):
    for line in table.strip().splitlines():
        call, expected = line.rsplit(" -> ", 1)
        yield call.strip(), *expected.split(" ", 1)


def calls(*tables):
    return [call.strip() for table in tables for call in table.replace("\n", ";").split(";")]


def operands(library):
    """The Tensors that the tables name."""
    arrays = {
        "b": np.array([True, False]),
        "u": np.array([1, 200], dtype=np.uint8),
        "i": np.array([-2, 2]),
        "f": np.array([0.5, -2.5], dtype=np.float32),
        "d": np.array([0.5, -2.5]),
        "c": np.array([1 + 2j, -1j], dtype=np.complex64),
        "s": np.array(1.5, dtype=np.float32),
        "e": np.array([], dtype=np.float32),
        "m": np.array([[1, 2], [3, 4]], dtype=np.float32),
        "z": np.array([1 + 2j, -1j], dtype=np.complex64),
    }
    return {name: library.from_numpy(array.copy()) for name, array in arrays.items()}


def evaluate(library, call, names=None):
    return eval(call, {"torch": library, "np": np} | (names or operands(library)))


def check_result(library, call, dtype, values):
    found = evaluate(library, call)
    expected = np.array(eval(values, {"nan": np.nan, "inf": np.inf}))
    assert str(found.dtype).removeprefix("torch.") == dtype
    assert np.shape(found.tolist()) == expected.shape
    np.testing.assert_allclose(found.tolist(), expected, rtol=1e-6)


def check_memory(library, call, shared):
    names = operands(library)
    before = {name: tensor.clone() for name, tensor in names.items()}
    evaluate(library, call, names).add_(1)
    assert any(not library.equal(names[name], old) for name, old in before.items()) == shared


ALL = [*lines(RESULTS), *lines(NO_DIMENSIONS), *lines(EMPTY)]


@pytest.mark.parametrize(("call", "dtype", "values"), ALL)
def test_dtype_shape_and_values(call, dtype, values):
    check_result(torch, call, dtype, values)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::UserWarning")  # of what torch means to change
@pytest.mark.parametrize(("call", "dtype", "values"), ALL)
def test_dtype_shape_and_values_are_torchs(call, dtype, values):
    import torch as original

    check_result(original, call, dtype, values)


@pytest.mark.parametrize(("call", "kind"), REFUSED.items())
def test_refused(call, kind):
    with pytest.raises(kind):
        evaluate(torch, call)


@pytest.mark.torch
@pytest.mark.parametrize(("call", "kind"), REFUSED.items())
def test_refused_by_torch_too(call, kind):
    import torch as original

    with pytest.raises(kind):
        evaluate(original, call)


MEMORY = [(call, True) for call in calls(VIEWS)] + [(call, False) for call in calls(COPIES)]


@pytest.mark.parametrize(("call", "shared"), MEMORY)
def test_a_write_reaches_the_operand_of_a_view_only(call, shared):
    check_memory(torch, call, shared)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::UserWarning")  # of complex numbers that lose their imaginary part
@pytest.mark.parametrize(("call", "shared"), MEMORY)
def test_a_write_reaches_the_operand_of_a_view_only_in_torch_too(call, shared):
    import torch as original

    check_memory(original, call, shared)


@pytest.mark.parametrize(("indexing", "expected"), [("ij", [[3, 3], [4, 4]]), ("xy", [[3, 4], [3, 4]])])
def test_grids_are_views(indexing, expected):
    x = torch.tensor([1.0, 2.0])
    grid, _ = torch.meshgrid(x, x, indexing=indexing)
    x += 2
    assert grid.tolist() == expected


def test_a_flipped_leaf_can_be_written():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.flip(0).mul_(torch.tensor([3.0, 5.0]))).sum().backward()
    assert x.grad.tolist() == [5, 3]


@pytest.mark.parametrize("call", ["x.diag()", "x.diag_embed(1)", "x.cumsum(0)", "x.flip(0)"])
def test_empty_results_stay_in_the_graph(call):
    x = torch.zeros(0, requires_grad=True)
    evaluate(torch, call, {"x": x}).sum().backward()
    assert x.grad.shape == (0,)


@pytest.mark.parametrize("call", ["s.cumprod(0)", "s.sort(0).values", "s.mean(0)", "s.flip(0)", "s.median(-1).values"])
def test_gradients_of_no_dimensions(call):
    s = torch.tensor(1.5, requires_grad=True)
    evaluate(torch, call, {"s": s}).backward()
    assert s.grad.shape == ()
    assert s.grad.item() == 1


def test_results_of_integers_keep_all_digits():
    large = 2**60 + 1
    assert torch.tensor([large]).relu().tolist() == torch.tensor([large]).cumsum(0).tolist() == [large]


def test_numbers_of_axes_and_lengths_under_their_keywords():
    x = torch.arange(6).view(size=(2, 3))
    assert x.flip(dims=(0,)).tolist() == x.flip(0).tolist()
    assert x.permute(dims=(1, 0)).shape == x.reshape(shape=(3, 2)).shape == (3, 2)
    assert x.expand(size=(2, 2, 3)).shape == x.repeat(repeats=(2, 1, 1)).shape == (2, 2, 3)
    assert x.tile(dims=(2,)).shape == (2, 6)
    assert x.sum_to_size(size=(1, 3)).tolist() == [[3, 5, 7]]


def test_errors_of_linear_algebra_have_torchs_name():
    with pytest.raises(torch.linalg.LinAlgError):
        torch.linalg.cholesky(-torch.eye(2))
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)


# ------------------------------------------------------------------------------------------------------------ indices
#: An index with integers beside lists, Tensors or masks: the same in two steps, integers first.
INDICES = {
    "[0, :, [0, 1]]": "[0][:, [0, 1]]",
    "[0, :, torch.tensor([[0, 1]])]": "[0][:, torch.tensor([[0, 1]])]",
    "[:, [0, 1], :, 1]": "[:, :, :, 1][:, [0, 1]]",
    "[-1, None, [2, 0, 1], -2]": "[-1][None, :, -2][:, [2, 0, 1]]",
    "[[0, 1], 0, :, [1, 2]]": "[:, 0][[0, 1], :, [1, 2]]",
    "[1, ..., [0, 2]]": "[1][:, :, [0, 2]]",
    "[1, [0, 1], ..., [0, 1], [0, 2]]": "[1][[0, 1], [0, 1], [0, 2]]",
    "[torch.tensor(1), :, [1, 0]]": "[1][:, [1, 0]]",
    "[np.int64(1), :, [1, 0]]": "[1][:, [1, 0]]",
    "[0, :, torch.tensor([False, True])]": "[0][:, [1]]",
    "[:, torch.tensor([[True, False], [False, True], [True, True]]), 1]": "[:, :, :, 1][:, [0, 1, 2, 2], [0, 1, 0, 1]]",
    "[0, :, torch.tensor([0, 1], dtype=torch.uint8)]": "[0][:, [1]]",
    "[torch.tensor([0, 1], dtype=torch.uint8)]": "[[1]]",
    "[1, True]": "[1][None]",
    "[range(2), 1]": "[:, 1]",
}


def indexed(library, index, write):
    """What an index reads, or the whole after a write; and the gradients of both."""
    x = library.arange(36.0).view(2, 3, 2, 3).requires_grad_()
    names = {"x": x, "y": x * 1, "torch": library, "np": np}
    part = eval(f"y{index}", names)
    value = names["v"] = library.arange(1.0, 1 + part.numel()).view(part.shape).requires_grad_()
    if write:
        exec(f"y{index} = v", names)
        part = names["y"]
    weights = library.arange(1.0, 1 + part.numel()).view(part.shape)
    (part * weights).sum().backward()
    return [None if t is None else t.tolist() for t in (part.detach(), x.grad, value.grad)]


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("index", INDICES)
def test_integers_select_before_lists_are_looked_at(index, write):
    assert indexed(torch, index, write) == indexed(torch, INDICES[index], write)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::UserWarning")  # of masks of dtype uint8
@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("index", INDICES)
def test_indices_as_in_torch(index, write):
    import torch as original

    assert indexed(torch, index, write) == indexed(original, index, write)


def test_indices_of_arrays_that_cannot_be_written_through_views():
    strict = pytest.importorskip("array_api_strict")
    for index, shape in ((np.s_[0, :, [0, 1]], (3, 2)), (np.s_[..., 0, [True, False, True]], (2, 2))):
        x = torch.as_tensor(strict.zeros((2, 3, 3))).requires_grad_()
        y, value = x * 1, torch.as_tensor(strict.ones(shape)).requires_grad_()
        assert y[index].shape == shape
        y[index] = value
        (y * 2).sum().backward()
        assert x.grad.sum().item() == 2 * (18 - value.numel())
        assert value.grad.sum().item() == 2 * value.numel()
