"""Shape and joining operators: what values do not show, that is memory, nodes, structural zeros, errors."""

import numpy as np
import pytest

import pullback as pb
from pullback.ops import shapes
from pullback.ops.joining import split

VIEWS = {
    "reshape": lambda x: pb.reshape(x, (3, 2)),
    "expand_dims": lambda x: pb.expand_dims(x, 1),
    "squeeze": lambda x: pb.squeeze(x[:, :1], 1),
    "permute_dims": lambda x: pb.permute_dims(x, (1, 0)),
    "matrix_transpose": pb.matrix_transpose,
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "moveaxis": lambda x: pb.moveaxis(x, 0, 1),
    "swapaxes": lambda x: shapes.swapaxes(x, 0, -1),
    "ravel": shapes.ravel,
    "flip": lambda x: pb.flip(x, axis=1),
    "diagonal": pb.diagonal,
    "unstack": lambda x: pb.unstack(x)[1],
    "split": lambda x: split(x, (1, 2), axis=1)[1],
    "item": lambda x: x[1, 2],
    "slice": lambda x: x[::-1, 1:],
    "new axis": lambda x: x[:, None],
}


@pytest.fixture
def x():
    return pb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_memory_and_knows_its_base(name, x):
    base = x * 1
    view = VIEWS[name](base)
    assert view._is_view()
    assert view._base is base
    assert np.shares_memory(view._array, base._array)
    assert view._array.flags.writeable


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_through_a_view_reaches_the_base_and_its_gradient(name, x):
    base = x * 1
    view = VIEWS[name](base)
    factor = pb.tensor(np.full(view.shape, 3.0), requires_grad=True)
    view *= factor
    expected = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    touched = VIEWS[name](np.array([[0, 1, 2], [3, 4, 5]]))
    expected.ravel()[touched] *= 3
    assert base.tolist() == expected.tolist()
    gx, gf = pb.autograd.grad(pb.sum(base * base), (x, factor))
    scale = np.ones(6)
    scale[touched] = 9
    old = np.arange(1.0, 7.0)
    assert gx._array.ravel().tolist() == (2 * old * scale).tolist()
    assert gf._array.tolist() == (2 * old[touched] ** 2 * 3).tolist()


COPIES = {
    "clone": pb.clone,
    "astype": lambda x: pb.astype(x, np.float64),
    "roll": lambda x: pb.roll(x, 1),
    "tile": lambda x: pb.tile(x, (1, 1)),
    "repeat": lambda x: pb.repeat(x, 1, axis=0),
    "concat": lambda x: pb.concat([x]),
    "stack": lambda x: pb.stack([x]),
    "tril": lambda x: pb.tril(x, k=5),
    "take": lambda x: pb.take(x, [0, 1], axis=0),
    "take_along_axis": lambda x: pb.take_along_axis(x, np.array([[0, 1, 2]]), axis=1),
    "mask": lambda x: x[np.ones((2, 3), dtype=bool)],
    "list": lambda x: x[[0, 1]],
    "meshgrid": lambda x: pb.meshgrid(x[0], x[1])[0],
    "reshape": lambda x: pb.reshape(x, (6,), copy=True),
    "reshape of a transpose": lambda x: pb.reshape(x.T, (6,)),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_owns_its_memory(name, x):
    result = COPIES[name](x)
    assert not np.shares_memory(result._array, x._array)
    assert result._base is None or result._base is not x
    assert result._array.flags.writeable


def test_a_broadcast_view_is_read_only_and_stays_fresh(x):
    base = x * 1
    wide = pb.broadcast_to(base, (2, 2, 3))
    with pytest.raises(RuntimeError, match="read-only"):
        wide += 1.0
    with pytest.raises(RuntimeError, match="read-only"):
        wide[0, 0, 0] = 1.0
    base *= 2.0
    assert wide[1, 0, 0].item() == 2.0
    (g,) = pb.autograd.grad(pb.sum(wide), x)
    assert g.tolist() == [[4.0] * 3] * 2


NODES = {
    "ViewBackward0": lambda x: pb.reshape(x, (6,)),
    "PermuteBackward0": lambda x: pb.permute_dims(x, (1, 0)),
    "TransposeBackward0": lambda x: x.mT,
    "ExpandBackward0": lambda x: pb.broadcast_to(x, (2, 2, 3)),
    "SqueezeBackward0": lambda x: pb.squeeze(x),
    "UnsqueezeBackward0": lambda x: pb.expand_dims(x, 0),
    "SelectBackward0": lambda x: x[:, 0],
    "SliceBackward0": lambda x: x[0, 1:],
    "IndexBackward0": lambda x: x[[0]],
    "GatherBackward0": lambda x: pb.take_along_axis(x, np.array([[0], [0]]), axis=1),
    "CatBackward0": lambda x: pb.concat([x, x]),
    "StackBackward0": lambda x: pb.stack([x, x]),
    "SplitBackward0": lambda x: split(x, 1)[0],
    "UnbindBackward0": lambda x: pb.unstack(x)[0],
    "FlipBackward0": lambda x: pb.flip(x),
    "RollBackward0": lambda x: pb.roll(x, 1),
    "RepeatBackward0": lambda x: pb.tile(x, (2, 2)),
    "CloneBackward0": lambda x: x.clone(),
    "ToCopyBackward0": lambda x: pb.astype(x, np.float32),
    "TrilBackward0": lambda x: pb.tril(x),
    "TriuBackward0": lambda x: pb.triu(x),
    "DiagonalBackward0": lambda x: pb.diagonal(x),
}


@pytest.mark.parametrize("name", NODES)
def test_nodes_have_the_names_that_torch_gives_them(name, x):
    assert NODES[name](x).grad_fn.name() == name


# ----------------------------------------------------------------------------------------------------- structural zeros
MOVES = {
    "reshape": lambda x: pb.reshape(x, (4,)),
    "permute_dims": lambda x: pb.permute_dims(x, (1, 0)),
    "expand_dims": lambda x: pb.expand_dims(x, 0),
    "squeeze": lambda x: pb.squeeze(pb.reshape(x, (2, 1, 2)), 1),
    "broadcast_to": lambda x: pb.broadcast_to(x, (3, 2, 2)),
    "flip": lambda x: pb.flip(x),
    "roll": lambda x: pb.roll(x, 1),
    "clone": pb.clone,
    "astype": lambda x: pb.astype(x, np.float32),
    "concat": lambda x: pb.concat([pb.ones((1, 2)), x]),
    "stack": lambda x: pb.stack([pb.ones((2, 2)), x]),
    "tile": lambda x: pb.tile(x, (2, 1)),
    "repeat": lambda x: pb.repeat(x, 2, axis=0),
    "unstack": lambda x: pb.stack(pb.unstack(x)),
    "slice": lambda x: x[::-1],
    "index": lambda x: x[[1, 0, 0]],
    "take_along_axis": lambda x: pb.take_along_axis(x, np.array([[1, 0], [0, 1]]), axis=1),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_structural_zeros_move_along(name, create_graph):
    """where(...) after a movement shields what comes before it: sqrt at 0 has an infinite slope, and nobody took it."""
    x = pb.tensor([[0.0, 4.0], [0.0, 9.0]], requires_grad=True)
    y = MOVES[name](pb.sqrt(x))
    (g,) = pb.autograd.grad(pb.sum(pb.where(y > 0, y, pb.zeros_like(y))), x, create_graph=create_graph)
    expected = pb.autograd.grad(pb.sum(MOVES[name](x)), x)[0]._array * [[0, 1 / 4], [0, 1 / 6]]
    np.testing.assert_allclose(g._array, expected, rtol=1e-6)
    if create_graph:
        (h,) = pb.autograd.grad(pb.sum(g[:, 1]), x)
        assert np.isfinite(h._array[:, 1]).all()


TAKES = {
    "select": lambda y: y[1],
    "slice": lambda y: y[1:],
    "mask": lambda y: y[np.array([False, True])],
    "list": lambda y: y[[1, 1]],
    "take": lambda y: pb.take(y, [1]),
    "unstack": lambda y: pb.unstack(y)[1],
    "split": lambda y: split(y, 1)[1],
    "diagonal": lambda y: pb.diagonal(pb.reshape(y, (1, 2)), 1),
    "triu": lambda y: pb.triu(pb.reshape(y, (1, 2)), k=1),
    "tril of flip": lambda y: pb.tril(pb.reshape(pb.flip(y), (1, 2)), k=0),
}


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_what_was_not_taken_is_a_structural_zero(name, create_graph):
    x = pb.tensor([0.0, 4.0], requires_grad=True)
    taken = pb.sum(TAKES[name](pb.sqrt(x)))
    (g,) = pb.autograd.grad(taken, x, create_graph=create_graph)
    assert g.tolist() == [0.0, taken.item() / 8]
    if create_graph:
        (h,) = pb.autograd.grad(g[1], x)
        assert h.tolist() == [0.0, -taken.item() / 64]


def test_a_computed_zero_is_not_structural():
    """0 * infinity stays NaN: only entries that nobody took are shielded."""
    x = pb.tensor([0.0, 4.0], requires_grad=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        (g,) = pb.autograd.grad(pb.sum(pb.sqrt(x)[:1] * 0.0), x)
    assert np.isnan(g._array[0])
    assert g._array[1] == 0


def test_many_reads_of_one_array_do_not_recurse():
    x = pb.tensor([0.0, 4.0], requires_grad=True)
    y = pb.sqrt(x)
    total = 0.0
    for _ in range(2000):
        total = total + y[1]
    (g,) = pb.autograd.grad(total, x)
    assert g.tolist() == [0.0, 500.0]


# ---------------------------------------------------------------------------------------------------------------- parts
def test_parts_leave_through_one_node(x):
    a, b = pb.unstack(x * 1)
    assert a.grad_fn is b.grad_fn
    assert (a.output_nr, b.output_nr) == (0, 1)
    (g,) = pb.autograd.grad(pb.sum(a * 2.0), x, retain_graph=True)
    assert g.tolist() == [[2.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("shape", [(1, 2), (0, 2), (3, 0)])
def test_parts_of_short_and_empty_arrays(shape):
    x = pb.tensor(np.ones(shape), requires_grad=True)
    parts = pb.unstack(x * 1)
    assert [p.shape for p in parts] == [shape[1:]] * shape[0]
    if parts:
        base = parts[0]._base
        if base is not None:
            parts[0][...] = 5.0
            assert base._array[0].tolist() == [5.0] * shape[1]
        (g,) = pb.autograd.grad(pb.sum(pb.stack(parts)), x, materialize_grads=True)
        assert g.shape == shape


def test_the_only_part_can_be_written_and_regenerated(x):
    base = (x * 1)[:1]
    (part,) = pb.unstack(base)
    (same,) = split(base, 1)
    part *= 3.0
    (g,) = pb.autograd.grad(pb.sum(same) + pb.sum(part), x)
    assert g.tolist() == [[6.0] * 3, [0.0] * 3]


def test_iterating_gives_rows(x):
    assert [row.tolist() for row in x] == x.tolist()


def test_split_by_length_and_by_lengths():
    x = np.arange(5.0)
    assert [p.tolist() for p in split(x, 2)] == [[0.0, 1.0], [2.0, 3.0], [4.0]]
    assert [p.tolist() for p in split(x, [0, 5])] == [[], [0.0, 1.0, 2.0, 3.0, 4.0]]
    for wrong in (0, [2, 2], [7, -2]):
        with pytest.raises(ValueError, match="part"):
            split(x, wrong)


def test_joining_promotes_dtypes_and_gives_each_its_own_back():
    a = pb.tensor([1.0], dtype=np.float32, requires_grad=True)
    b = pb.tensor([2.0], requires_grad=True)
    for y in (pb.concat([a, b]), pb.stack([a, b])):
        assert y.dtype == np.float64
        ga, gb = pb.autograd.grad(pb.sum(y), (a, b))
        assert (ga.dtype, gb.dtype) == (np.float32, np.float64)


def test_joining_mixes_tensors_and_arrays(x):
    y = pb.concat([np.zeros((1, 3)), x])
    (g,) = pb.autograd.grad(pb.sum(y), x)
    assert g.tolist() == [[1.0] * 3] * 2


def test_only_one_of_the_joined_is_asked_for(x):
    y = pb.tensor([[1.0, 1.0, 1.0]], requires_grad=True)
    joined = pb.concat([x, y])
    (g,) = pb.autograd.grad(pb.sum(joined * joined), y)
    assert g.tolist() == [[2.0] * 3]


# -------------------------------------------------------------------------------------------------------------- options
def test_reshape_says_whether_it_copies(x):
    assert np.shares_memory(pb.reshape(x, (6,), copy=False)._array, x._array)
    with pytest.raises(ValueError, match="copy"):
        pb.reshape(x.T, (6,), copy=False)
    assert pb.reshape(pb.zeros((0, 2)), (2, 0), copy=False).shape == (2, 0)


def test_methods_take_separate_integers_too(x):
    assert x.reshape(3, 2).shape == x.reshape((3, 2)).shape == (3, 2)
    assert x.reshape(-1).shape == (6,)
    y = x.reshape(1, 2, 3)
    assert y.transpose(2, 0, 1).shape == y.transpose((2, 0, 1)).shape == (3, 1, 2)
    assert y.transpose().shape == y.T.shape == (3, 2, 1)
    assert y.mT.shape == (1, 3, 2)
    assert y.squeeze().shape == (2, 3)


def test_shape_errors():
    x = pb.ones((2, 3))
    with pytest.raises(ValueError, match="length 1"):
        pb.squeeze(x, 0)
    with pytest.raises(ValueError, match="axes"):
        pb.permute_dims(x, (0,))
    with pytest.raises(ValueError, match="two axes"):
        pb.matrix_transpose(x[0])
    with pytest.raises(ValueError, match="two axes"):
        pb.diagonal(x[0])
    with pytest.raises(ValueError, match="same"):
        pb.diagonal(x, 0, 1, 1)
    with pytest.raises(ValueError, match="number of axes"):
        pb.moveaxis(x, (0, 1), 0)
    with pytest.raises(ValueError, match="reshape"):
        pb.reshape(x, (4,))
    with pytest.raises(ValueError, match="negative"):
        pb.repeat(x, -1)
    with pytest.raises(ValueError, match="repeats"):
        pb.repeat(x, [1, 2], axis=1)
    with pytest.raises(TypeError, match="integers"):
        pb.repeat(x, 1.5)
    with pytest.raises(ValueError, match="indexing"):
        pb.meshgrid(x[0], indexing="yx")
    with pytest.raises(ValueError, match="one-dimensional"):
        pb.meshgrid(x)


def test_the_version_of_a_view_is_that_of_its_base(x):
    base = x * 1
    views = [VIEWS[name](base) for name in VIEWS if name != "squeeze"]
    base += 1.0
    assert {view._version for view in views} == {base._version} == {1}


def test_no_cycle_keeps_a_graph_alive(x):
    import gc
    import weakref

    gc.disable()
    try:
        y = pb.stack(pb.unstack(pb.concat([x * 1, x.T.reshape(2, 3)])[:, [0, 0]]))
        node = weakref.ref(y.grad_fn)
        pb.sum(y).backward()
        del y
        assert node() is None
    finally:
        gc.enable()
