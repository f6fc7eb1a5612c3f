"""Views and writes together: shared memory, rewritten history, versions, errors; and random programs against NumPy."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pullback as pb
from numeric import Call, check_order
from pullback.ops.joining import split
from pullback.ops.registry import Sample


@pytest.fixture
def x():
    return pb.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)


def grads(y, *leaves):
    return [g.tolist() for g in pb.autograd.grad(pb.sum(y), leaves, retain_graph=True, materialize_grads=True)]


# --------------------------------------------------------------------------------------------------- memory and history
def test_a_write_through_a_view_gives_the_base_a_new_history(x):
    base = x * 1
    old = base.grad_fn
    view = base[:2]
    value = pb.tensor([5.0, 6.0], requires_grad=True)
    view.copy_(value)
    assert base.tolist() == [5.0, 6.0, 3.0, 4.0]
    assert base.grad_fn.name() == "CopySlices"
    assert base.grad_fn.next_functions[0][0] is old
    assert view.grad_fn.name() == "SliceBackward0"
    assert grads(base * 2.0, x, value) == [[0.0, 0.0, 2.0, 2.0], [2.0, 2.0]]
    assert grads(view, x, value) == [[0.0] * 4, [1.0, 1.0]]


def test_a_write_to_the_base_reaches_every_view(x):
    base = x * 1
    views = [base[1:], pb.flip(base), pb.reshape(base, (2, 2)), pb.unstack(base)[1], split(base, 2)[0]]
    base.mul_(3.0)
    for view in views:
        fresh = pb.autograd.grad(pb.sum(view), x, retain_graph=True)[0]
        assert set(fresh.tolist()) <= {0.0, 3.0}
        assert pb.sum(fresh).item() == 3.0 * np.prod(view.shape)
        assert pb.sum(view).item() == pytest.approx(pb.sum(fresh * x).item())


def test_a_write_through_one_view_reaches_another(x):
    base = x * 1
    rows = pb.reshape(base, (2, 2))
    last = base[2:]
    rows[1] *= x[0]
    assert last.tolist() == [3.0, 4.0]
    rows[1] *= 2.0
    assert grads(last, x) == [[14.0, 0.0, 2.0, 2.0]]


def test_a_chain_of_views_belongs_to_one_base(x):
    base = x * 1
    view = pb.reshape(base, (2, 2)).T[::-1][0]
    assert view._base is base
    assert view.tolist() == [2.0, 4.0]
    view *= x[0] + 4.0
    assert base.tolist() == [1.0, 10.0, 3.0, 20.0]
    assert grads(base, x) == [[1.0 + 6.0, 5.0, 1.0, 5.0]]


def test_a_base_without_gradients_gets_them_by_a_write(x):
    base = pb.zeros(3)
    view = base[:2]
    other = base[1:]
    assert not other.requires_grad
    view.copy_(x[:2])
    assert base.requires_grad
    assert other.requires_grad
    assert grads(other, x) == [[0.0, 1.0, 0.0, 0.0]]


def test_a_view_of_a_view_survives_its_parent(x):
    def make(base):
        return base[1:][1:]

    base = x * 1
    view = make(base)
    base *= 2.0
    assert grads(view, x) == [[0.0, 0.0, 2.0, 2.0]]


def test_what_used_the_old_value_keeps_the_old_history(x):
    base = x * 1
    view = base[:2]
    before = view * 3.0
    view.zero_()
    assert grads(before, x) == [[3.0, 3.0, 0.0, 0.0]]
    assert grads(view, x) == [[0.0] * 4]


def test_gradients_of_a_view_taken_before_a_write(x):
    """grad with respect to a view: its place at that time, and another one afterwards."""
    base = x * 1
    view = base[:2]
    y = pb.sum(view * view)
    (g,) = pb.autograd.grad(y, view, retain_graph=True)
    assert g.tolist() == [2.0, 4.0]
    base[3] = 0.0
    (g,) = pb.autograd.grad(pb.sum(base[:2] * 1.0 + view), view)
    assert g.tolist() == [1.0, 1.0]


def test_a_write_through_a_reshape_of_a_transposed_base():
    """The base lies in memory in another order than its gradient: the written places are found all the same."""
    for create_graph in (False, True):
        x = pb.tensor(np.asfortranarray(np.arange(6.0).reshape(2, 3)), requires_grad=True)
        y = x * 1
        flat = pb.reshape(y.T, (6,))
        assert flat._base is y
        flat[1] = 5.0
        (g,) = pb.autograd.grad(pb.sum(y * y), x, create_graph=create_graph)
        assert g.tolist() == [[0.0, 2.0, 4.0], [0.0, 8.0, 10.0]]


def test_detached_memory_is_shared_and_its_writes_are_noticed(x):
    y = x * 1
    z = y * y
    y.detach()[0] = 7.0
    assert y.tolist()[0] == 7.0
    with pytest.raises(RuntimeError):
        pb.autograd.grad(pb.sum(z), x)


def test_the_users_array_is_written_too():
    array = np.zeros(3)
    x = pb.asarray(array)
    x[1:] = 2.0
    x[[0]] = 1.0
    x.mul_(3.0)
    assert array.tolist() == [3.0, 6.0, 6.0]


# -------------------------------------------------------------------------------------------------------------- no_grad
def test_writes_without_recording_change_values_only(x):
    base = x * 1
    view = base[:2]
    node = base.grad_fn
    with pb.no_grad():
        view.mul_(10.0)
        base[3] = 0.0
        view[[0]] = -1.0
    assert base.tolist() == [-1.0, 20.0, 3.0, 0.0]
    assert base.grad_fn is node
    assert base._version == 3
    assert grads(base, x) == [[1.0] * 4]


def test_a_parameter_is_updated_without_recording(x):
    with pb.no_grad():
        x -= 0.5
        x[:2] += 1.0
        x.T.mul_(2.0)
    assert x.tolist() == [3.0, 5.0, 5.0, 7.0]
    assert x.is_leaf
    assert x.requires_grad


def test_a_view_made_without_recording_is_not_written_with_it(x):
    base = x * 1
    with pb.no_grad():
        view = base[:2]
    for write in (lambda: view.add_(1.0), lambda: view.__setitem__(0, 1.0), lambda: view.__setitem__([0], 1.0)):
        with pytest.raises(RuntimeError, match="no_grad mode"):
            write()
    assert base.tolist() == [1.0, 2.0, 3.0, 4.0]


# --------------------------------------------------------------------------------------------------------------- errors
def test_a_view_of_a_leaf_is_not_written(x):
    view = x[:2]
    for write in (
        lambda: view.add_(1.0),
        lambda: view.__setitem__(0, 1.0),
        lambda: view.__setitem__([0], 1.0),
        lambda: view.zero_(),
        lambda: x[:2].copy_(x[2:]),
        lambda: x.detach().requires_grad_()[0].fill_(1.0),
    ):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            write()
    assert x.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_write_does_not_change_shape_or_dtype(x):
    y = x * 1
    with pytest.raises(RuntimeError, match="broadcast shape"):
        y += pb.ones((2, 4))
    with pytest.raises(RuntimeError, match="can't be cast"):
        y += pb.ones(4, dtype=np.complex128)
    n = pb.arange(4)
    with pytest.raises(RuntimeError, match="can't be cast"):
        n += 0.5
    with pytest.raises(RuntimeError, match="can't be cast"):
        n.mul_(1.5)
    assert n.tolist() == [0, 1, 2, 3]
    assert y.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_stale_view_is_found_wherever_it_was_written(x):
    for save, write in [
        (lambda b: b[0] * b[1], lambda b: b[1:].zero_()),
        (lambda b: pb.exp(pb.reshape(b, (2, 2))) * b[0], lambda b: b[:1].mul_(2.0)),
        (lambda b: pb.flip(b) * pb.flip(b), lambda b: b.__setitem__([3], 0.0)),
        (lambda b: pb.broadcast_to(b, (2, 4)) * x, lambda b: None),
    ]:
        base = x * 1
        y = save(base)
        write(base)
        if base._version == 0:
            pb.autograd.grad(pb.sum(y), x)
        else:
            with pytest.raises(RuntimeError):
                pb.autograd.grad(pb.sum(y), x)


def test_disjoint_writes_leave_saved_values_alone(x):
    base = x * 1
    even, odd = base[::2], base[1::2]
    y = pb.sum(even * even)
    odd.zero_()
    base[3] = 1.0
    pb.reshape(base, (2, 2))[:, 1] += 5.0
    assert grads(y, x) == [[2.0, 0.0, 6.0, 0.0]]


# ------------------------------------------------------------------------------------------------------ random programs
SHAPE = (2, 3)

VIEWS = [
    lambda t: t[-1, ...],
    lambda t: t[0:1],
    lambda t: t[:, ::-1] if t.ndim > 1 else t[::-1],
    lambda t: t[..., 1:],
    lambda t: t[..., 0, None],
    lambda t: t[None],
    lambda t: t.T,
    lambda t: pb.flip(t),
    lambda t: pb.reshape(t, (-1,)),
    lambda t: pb.moveaxis(t, 0, -1),
    lambda t: pb.squeeze(pb.expand_dims(t, 0), 0),
    lambda t: pb.unstack(t)[0],
    lambda t: pb.diagonal(t) if t.ndim > 1 else t[:1],
    lambda t: split(t, 1)[-1],
]


def scaled(t, s):
    """A fresh value of no dimensions that depends on everything in `t`, and is of moderate size."""
    return pb.tanh(pb.sum(pb.clone(t)) * s)


WRITES = [
    lambda t, v: t.__setitem__(Ellipsis, v),
    lambda t, v: t.__setitem__((Ellipsis, slice(0, 1)), v),
    lambda t, v: t.__setitem__(0, v),
    lambda t, v: t.__setitem__([0, 0], v),
    lambda t, v: t.__setitem__((Ellipsis, [-1]), v),
    lambda t, v: t.__setitem__(np.arange(t.shape[0]) % 2 == 0, v),
    lambda t, v: t.__setitem__(slice(1, None), pb.clone(t[:-1]) * v),
    lambda t, v: t.__setitem__(Ellipsis, pb.clone(t[::-1]) * v),
    lambda t, v: t.__imul__(v),
    lambda t, v: t.__setitem__(slice(1, None), t[:-1]),
    lambda t, v: t.__iadd__(v * pb.clone(t)),
    lambda t, v: t.__isub__(pb.clone(t) * pb.clone(t)),
    lambda t, v: t.__setitem__(0, 0.5),
]


def run(program, x):
    """A program on Tensors or on NumPy arrays: ``(kind, which, where)`` steps over a growing list of views."""
    known = [pb.clone(x) * 1]
    total = 0.0
    for kind, which, where in program:
        target = known[where % len(known)]
        if kind == "view":
            if target.ndim and min(target.shape) > 0:
                known.append(VIEWS[which % len(VIEWS)](target))
        elif kind == "write":
            if target.ndim and min(target.shape) > 0:
                WRITES[which % len(WRITES)](target, scaled(known[which % len(known)], 0.3))
        else:
            total = total + pb.sum(pb.clone(target) * pb.clone(target))
    for k, t in enumerate(known):
        total = total + pb.sum(pb.clone(t) * pb.clone(t)) * (1.0 + k)
    return total


PROGRAMS = st.lists(
    st.tuples(st.sampled_from(["view", "view", "write", "write", "read"]), st.integers(0, 99), st.integers(0, 9)),
    min_size=2,
    max_size=10,
)


@given(PROGRAMS)
@settings(max_examples=50)
def test_random_programs(program):
    """Views of views, writes through any of them, reads in between: values of NumPy, and derivatives of two orders."""
    x = np.random.default_rng(3).uniform(-1, 1, SHAPE)
    expected = run(program, x)
    found = run(program, pb.tensor(x, requires_grad=True))
    assert found.item() == pytest.approx(float(expected), rel=1e-12, abs=1e-12)
    call = Call(SimpleNamespace(call=lambda x: run(program, x), observe=None), Sample((x,)))
    check_order(call, 1, np.random.default_rng(4))
    check_order(call, 2, np.random.default_rng(5), tolerance=1e-5)
