"""Writing in place: history moves with the memory, through views and bases, and what cannot be described is refused."""

import numpy as np
import pytest

import pullback as pb
from core.helpers import AddOne, Exp, Item, Product, Square, Transpose, leaf, ones_like, teaches, values
from pullback.autograd import grad
from pullback.core import views
from pullback.core.tensor import wrap


def part(x, start, stop=None):
    return Item.apply(x, index=slice(start, start + 1 if stop is None else stop))


def gradient(x, y, weights=None):
    """dy/dx by one pass, as an array."""
    seed = ones_like(y) if weights is None else pb.tensor(weights)
    return grad(y, x, seed, retain_graph=True)[0].numpy()


# ------------------------------------------------------------------------------------------------ a Tensor that is no view
def test_the_same_object_gets_a_new_history():
    x = leaf([1.0, 2.0])
    a = x * 3
    before, same = a.grad_fn, a
    a *= 2
    assert a is same
    assert a.grad_fn.next_functions[0][0] is before
    np.testing.assert_array_equal(gradient(x, a), [6.0, 6.0])


@pytest.mark.parametrize(
    ("write", "slope"),
    [
        (lambda a, x: a.__iadd__(x), 2.0),
        (lambda a, x: a.__isub__(x), 0.0),
        (lambda a, x: a.__imul__(x), [2.0, 4.0]),
        (lambda a, x: a.__itruediv__(x), 0.0),
        (lambda a, x: a.__iadd__(5), 1.0),
    ],
)
def test_every_arithmetic_operator_writes_in_place(write, slope):
    x = leaf([1.0, 2.0])
    a = x * 1
    assert write(a, x) is a
    np.testing.assert_allclose(gradient(x, a), np.broadcast_to(slope, 2), atol=1e-15)


def test_a_value_with_gradients_written_into_a_constant():
    x, target = leaf([1.0, 2.0]), pb.tensor([10.0, 20.0])
    target += x
    assert target.requires_grad
    np.testing.assert_array_equal(gradient(x, target), [1.0, 1.0])


def test_a_value_without_gradients_written_over_cuts_the_history():
    x = leaf([1.0, 2.0])
    a = x * 3
    views.write(a, pb.tensor([7.0, 8.0]))
    np.testing.assert_array_equal(values([a])[0], [7.0, 8.0])
    np.testing.assert_array_equal(gradient(x, a), [0.0, 0.0])


def test_writing_quietly_changes_memory_and_log_but_no_history():
    x = leaf([1.0, 2.0])
    a = x * 3
    node = a.grad_fn
    with pb.no_grad():
        a += 1
    assert a.grad_fn is node
    assert a._version == 1
    with pb.no_grad():
        x += 1
    assert x.is_leaf
    np.testing.assert_array_equal(x.detach().numpy(), [2.0, 3.0])


def test_a_hundred_writes_in_a_row():
    x = leaf(1.5)
    a = x * 1
    for _ in range(100):
        a *= 1.01
    np.testing.assert_allclose(gradient(x, a), 1.01**100)


def test_second_derivatives_go_through_writes():
    x = leaf([0.5, 2.0])

    def cubes(x):
        a = x * x
        b = a.clone()
        b *= x
        return b

    (g,) = grad(cubes(x), x, pb.tensor([1.0, 1.0]), create_graph=True)
    (h,) = grad(g, x, pb.tensor([1.0, 1.0]), create_graph=True)
    np.testing.assert_allclose(values([g, h]), [3 * x.detach().numpy() ** 2, 6 * x.detach().numpy()])


# ------------------------------------------------------------------------------------------------ leaves
@pytest.mark.parametrize("write", [lambda x: x.__iadd__(1), lambda x: AddOne.apply(x)], ids=["operator", "Function"])
def test_a_leaf_is_not_written_while_recording(write):
    x = leaf([1.0, 2.0])
    with teaches(
        RuntimeError, "a leaf Variable that requires grad", "in-place operation", notes=["no_grad", "clone()"]
    ):
        write(x)
    assert x.is_leaf


def test_a_view_of_a_leaf_is_not_written_while_recording():
    view = part(leaf([1.0, 2.0]), 0)
    with teaches(RuntimeError, "a view of a leaf Variable that requires grad", notes=["no_grad"]):
        view += 1
    with pb.no_grad():
        view += 1


def test_nothing_was_written_when_a_write_is_refused():
    x = leaf([1.0, 2.0])
    for target in (x, part(x, 0)):
        with pytest.raises(RuntimeError, match="leaf Variable"):
            target += 1
    np.testing.assert_array_equal(x.detach().numpy(), [1.0, 2.0])


# ------------------------------------------------------------------------------------------------ views
def test_writing_through_a_view_rewrites_the_base():
    x, w = leaf([1.0, 2.0, 3.0]), leaf([10.0])
    base = x * 2
    view = part(base, 1)
    view *= w
    np.testing.assert_array_equal(values([base])[0], [2.0, 40.0, 6.0])
    assert base.grad_fn.name() == "CopySlices"
    np.testing.assert_array_equal(gradient(x, base), [2.0, 20.0, 2.0])
    base = x * 2
    view = part(base, 1)
    view *= w
    np.testing.assert_array_equal(gradient(w, base), [4.0])


def test_writing_the_base_moves_its_views():
    x = leaf([1.0, 2.0])
    base = x * 2
    view = part(base, 0)
    assert view.grad_fn.name() == "ItemBackward"
    base *= 3
    np.testing.assert_array_equal(values([view])[0], [6.0])
    np.testing.assert_array_equal(gradient(x, view), [6.0, 0.0])


def test_writing_one_view_moves_the_others():
    x = leaf([1.0, 2.0, 3.0])
    base = x * 1
    left, right, whole = part(base, 0, 2), part(base, 1, 3), part(base, 0, 3)
    left *= 10
    np.testing.assert_array_equal(values([right])[0], [20.0, 3.0])
    np.testing.assert_array_equal(gradient(x, right), [0.0, 10.0, 1.0])
    np.testing.assert_array_equal(gradient(x, whole), [10.0, 10.0, 1.0])


def test_several_views_of_one_operator_write_into_their_base():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    a = x * 1
    first, second = a
    first *= 10.0
    second += first
    np.testing.assert_array_equal(values([a])[0], [[10.0, 20.0], [13.0, 24.0]])
    np.testing.assert_array_equal(gradient(x, a), [[20.0, 20.0], [1.0, 1.0]])
    np.testing.assert_array_equal(gradient(x, second), [[10.0, 10.0], [1.0, 1.0]])


def test_a_view_of_a_view_writes_into_the_base():
    x = leaf(np.arange(6.0).reshape(2, 3))
    base = x * 1
    deep = part(Item.apply(Transpose.apply(base), index=1), 0)
    deep *= 5
    expected = np.ones((2, 3))
    expected[0, 1] = 5
    np.testing.assert_array_equal(gradient(x, base), expected)
    assert deep._base is base


def test_a_view_with_a_value_that_has_no_gradient_cuts_only_its_part():
    x = leaf([1.0, 2.0])
    base = x * 3
    views.write(part(base, 0), pb.tensor([7.0]))
    np.testing.assert_array_equal(gradient(x, base), [0.0, 3.0])


def test_a_view_of_a_constant_may_be_written_with_a_constant():
    base = pb.tensor([1.0, 2.0])
    view = part(base, 0)
    view += 1
    assert not base.requires_grad
    np.testing.assert_array_equal(base.numpy(), [2.0, 2.0])


def test_a_view_of_a_constant_written_with_gradients_makes_the_base_differentiable():
    x, base = leaf([5.0]), pb.tensor([1.0, 2.0])
    other = part(base, 1)
    view = part(base, 0)
    assert not view.requires_grad
    view += x
    assert base.requires_grad
    assert view.requires_grad
    assert other.requires_grad
    np.testing.assert_array_equal(gradient(x, view), [1.0])
    np.testing.assert_array_equal(gradient(x, other), [0.0])


def test_overlapping_writes_in_turn():
    x, w = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0])
    base = x * 1
    a, b = part(base, 0, 2), part(base, 1, 3)
    a += w
    b *= 2
    a += w
    np.testing.assert_array_equal(values([base])[0], [21.0, 64.0, 6.0])
    gx, gw = grad(base, [x, w], ones_like(base))
    np.testing.assert_array_equal(gx.numpy(), [1.0, 2.0, 2.0])
    np.testing.assert_array_equal(gw.numpy(), [2.0, 3.0])


def test_second_derivatives_go_through_writes_into_views():
    x = leaf([0.5, 2.0])
    base = x * x
    view = part(base, 1)
    view *= part(x, 1)
    (g,) = grad(base, x, pb.tensor([1.0, 1.0]), create_graph=True)
    (h,) = grad(g, x, pb.tensor([1.0, 1.0]), create_graph=True)
    (k,) = grad(h, x, pb.tensor([1.0, 1.0]))
    np.testing.assert_allclose(values([g, h, k]), [[1.0, 12.0], [2.0, 12.0], [0.0, 6.0]])


def test_gradients_asked_of_one_side_only():
    x, w = leaf([1.0, 2.0]), leaf([5.0])
    base = x * 3
    view = part(base, 0)
    view += w
    np.testing.assert_array_equal(grad(base, x, ones_like(base), retain_graph=True)[0].numpy(), [3.0, 3.0])
    np.testing.assert_array_equal(grad(base, w, ones_like(base), retain_graph=True)[0].numpy(), [1.0])


def test_a_nan_under_a_written_region_does_not_come_back():
    """The cotangent of what was overwritten is a structural zero: it stops an infinite slope."""
    x = leaf([0.0, 4.0])
    with np.errstate(all="ignore"):
        base = 1 / x
        view = part(base, 0)
        views.write(view, pb.tensor([7.0]))
        np.testing.assert_allclose(gradient(x, base), [0.0, -1 / 16])
        (g,) = grad(base, x, ones_like(base), create_graph=True)
    np.testing.assert_allclose(values([g])[0], [0.0, -1 / 16])


def test_a_nan_under_an_overwritten_tensor_does_not_come_back():
    for create_graph in (False, True):
        x = leaf([0.0, 4.0])
        with np.errstate(all="ignore"):
            a = 1 / x
            views.write(a, pb.tensor([7.0, 8.0]))
            (g,) = grad(a, x, pb.tensor([1.0, np.inf]), create_graph=create_graph)
        np.testing.assert_array_equal(values([g])[0], [0.0, 0.0])


def test_a_write_that_no_gradient_comes_back_through():
    class Cuts(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    x = leaf([1.0, 2.0])
    base = x * 1
    view = part(base, 0)
    view += 1
    y = Cuts.apply(base)
    y.backward(ones_like(y))
    assert x.grad is None
    a = x * 1
    views.write(a, pb.tensor([1.0, 1.0]))
    y = Cuts.apply(a)
    y.backward(ones_like(y))
    assert x.grad is None


def test_views_made_quietly_of_a_differentiable_base_may_not_be_written_while_recording():
    base = leaf([1.0, 2.0]) * 1
    with pb.no_grad():
        view = part(base, 0)
    with teaches(RuntimeError, "created in no_grad mode", notes=["clone()"]):
        view += 1


def test_views_of_a_reshaped_base_in_other_memory_order():
    x = leaf(np.arange(6.0).reshape(2, 3))
    base = Transpose.apply(x) * 1
    flat = Item.apply(base, index=(slice(None), 1))
    flat *= 4
    expected = np.ones((2, 3))
    expected[1] = 4
    np.testing.assert_array_equal(gradient(x, base), expected)


# ------------------------------------------------------------------------------------------------ detached aliases, .data
def test_a_detached_alias_shares_memory_and_log_but_no_history():
    x = leaf([1.0, 2.0])
    a = x * 1
    alias = a.detach()
    assert not alias.requires_grad
    assert np.shares_memory(alias.numpy(), a.detach().numpy())
    alias += 1
    np.testing.assert_array_equal(values([a])[0], [2.0, 3.0])
    assert a._version == 1


def test_detach_in_place():
    a = leaf([1.0]) * 2
    assert a.detach_() is a
    assert a.is_leaf
    assert not a.requires_grad
    view = part(leaf([1.0, 2.0]) * 1, 0)
    with teaches(RuntimeError, "Can't detach views in-place", notes=["x.detach()"]):
        view.detach_()


def test_data_is_the_memory_without_history():
    x = leaf([1.0, 2.0])
    data = x.data
    assert not data.requires_grad
    data += 1
    np.testing.assert_array_equal(values([x])[0], [2.0, 3.0])
    x.data = pb.tensor([7.0, 8.0])
    assert x.requires_grad
    np.testing.assert_array_equal(gradient(x, x * 2), [2.0, 2.0])


# ------------------------------------------------------------------------------------------------ what cannot be written
def test_a_result_of_another_shape_is_refused():
    a = leaf([1.0, 2.0]) * 1
    with teaches(RuntimeError, "output with shape [2]", "broadcast shape [3, 2]", notes=["out of place"]):
        a += pb.tensor(np.ones((3, 2)))
    np.testing.assert_array_equal(values([a])[0], [1.0, 2.0])


def test_a_smaller_value_is_spread_and_its_gradient_summed():
    x, w = leaf(np.ones((3, 2))), leaf([1.0, 2.0])
    a = x * 1
    a += w
    np.testing.assert_array_equal(gradient(w, a), [3.0, 3.0])


@pytest.mark.parametrize(
    ("own", "other"), [("int64", 1.5), ("float64", 1j), ("float32", 1j), ("bool", 1)], ids=["i<f", "f<c", "f4<c", "b<i"]
)
def test_a_result_of_a_higher_kind_of_dtype_is_refused(own, other):
    a = pb.tensor(np.ones(2, dtype=own))
    with teaches(RuntimeError, "result type", "can't be cast to the desired output type", own, notes=["out of place"]):
        a += pb.tensor(other)


@pytest.mark.parametrize(
    ("own", "other"), [("float32", "float64"), ("float64", "int64"), ("uint8", "int64"), ("complex64", "complex128")]
)
def test_a_result_of_the_same_kind_is_cast(own, other):
    a = pb.tensor(np.ones(2, dtype=own))
    a += pb.tensor(np.ones(2, dtype=other))
    assert a.dtype == np.dtype(own)
    np.testing.assert_array_equal(a.numpy(), [2, 2])


def test_a_number_keeps_the_dtype_of_what_it_is_written_into():
    a = leaf(np.ones(2), dtype="float32") * 1
    a *= 2.5
    assert a.dtype == np.float32


@pytest.mark.parametrize("viewed", [False, True])
def test_read_only_memory_is_refused(viewed):
    array = np.broadcast_to(np.ones(2), (3, 2))
    t = pb.Tensor(array)
    if viewed:
        t.detach()
    for write in (lambda: t.__iadd__(1), lambda: part(t, 0).__iadd__(1)):
        with teaches(RuntimeError, "read-only memory", notes=["clone()"]):
            write()


# ------------------------------------------------------------------------------------------------ cotangents are only lent
def test_a_lent_cotangent_is_copied_before_it_is_written_also_through_several_views():
    seen = []

    class Writes(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            first, second = part(g, 0), part(g, 1)
            first *= 10
            second *= 100
            first *= 10
            seen.extend(values([g, first, second]))
            return g

    x = leaf([1.0, 2.0])
    seed = pb.tensor([1.0, 1.0])
    Writes.apply(x).backward(seed)
    np.testing.assert_array_equal(seen[0], [100.0, 100.0])
    np.testing.assert_array_equal(seen[1], [100.0])
    np.testing.assert_array_equal(seen[2], [100.0])
    np.testing.assert_array_equal(x.grad.numpy(), [100.0, 100.0])
    np.testing.assert_array_equal(seed.numpy(), [1.0, 1.0])


def test_writing_a_detached_cotangent_writes_the_cotangent_not_the_seed():
    class Writes(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            alias = g.detach()
            alias *= 10
            return alias

    x = leaf([1.0, 2.0])
    seed = pb.tensor([1.0, 1.0])
    Writes.apply(x).backward(seed)
    np.testing.assert_array_equal(seed.numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(x.grad.numpy(), [10.0, 10.0])


def test_a_detached_alias_of_a_cotangent_is_the_same_memory():
    class Writes(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            alias = g.detach()
            alias *= 10
            return g

    x = leaf([1.0, 2.0])
    seed = pb.tensor([1.0, 1.0])
    Writes.apply(x).backward(seed)
    np.testing.assert_array_equal(seed.numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(x.grad.numpy(), [10.0, 10.0])


def test_a_result_of_grad_can_be_written_without_harm():
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    seed = pb.tensor([1.0, 1.0])
    ga, gb = grad(a + b, [a, b], seed)
    ga += 1
    np.testing.assert_array_equal(gb.numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(seed.numpy(), [1.0, 1.0])


# ------------------------------------------------------------------------------------------------ primitives share memory
@pytest.mark.parametrize("what", ["input", "view"])
def test_a_primitive_that_returns_its_input_does_not_share_memory_unnoticed(what):
    class Same(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            return x if what == "input" else x[:]

        @staticmethod
        def backward(ctx, ct):
            return ct

    x = leaf([1.0, 2.0])
    a = x * 1
    z = Square.apply(a)
    y = Same.apply(a)
    try:
        y += 1
    except RuntimeError:
        return
    if np.shares_memory(y.detach().numpy(), a.detach().numpy()):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward(ones_like(z))
    else:
        np.testing.assert_array_equal(gradient(x, z), [2.0, 4.0])


# ------------------------------------------------------------------------------------------------ immutable libraries
class Frozen:
    """The smallest array library without in-place writes: adds, multiplies, and says where its functions are."""

    def __init__(self, data):
        self.data = np.asarray(data)

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)

    def __array_namespace__(self, api_version=None):
        return FrozenNamespace

    def __add__(self, other):
        return Frozen(self.data + getattr(other, "data", other))


class FrozenNamespace:
    float64 = np.dtype("float64")

    @staticmethod
    def asarray(array, dtype=None, copy=None):
        return Frozen(array.data.copy())

    @staticmethod
    def astype(array, dtype):
        return Frozen(array.data.astype(dtype))


@pytest.fixture
def frozen(monkeypatch):
    from pullback.core import arrays

    monkeypatch.setitem(arrays._namespaces, Frozen, FrozenNamespace)
    return lambda data: wrap(pb.Tensor, Frozen(data))


def test_an_immutable_array_is_replaced_by_the_result(frozen):
    target = frozen([1.0, 2.0])
    before = target._array
    views.write(target, frozen([5.0, 6.0]))
    np.testing.assert_array_equal(target._array.data, [5.0, 6.0])
    np.testing.assert_array_equal(before.data, [1.0, 2.0])
    assert target._version == 1


def test_a_view_of_an_immutable_array_cannot_be_written(frozen):
    base, view = frozen([1.0, 2.0]), frozen([1.0])
    views.make_view(view, base, Item, {"index": 0})
    with teaches(RuntimeError, "Frozen", "immutable", notes=["base[index] = value"]):
        views.write(view, frozen([5.0]))


def test_gradients_of_immutable_arrays_accumulate_by_replacement(frozen):
    x = frozen([1.0, 2.0]).requires_grad_()
    for total in (3.0, 6.0):
        x._accumulate(Frozen([3.0, 3.0]), False)
        np.testing.assert_array_equal(x.grad._array.data, [total, total])


# ------------------------------------------------------------------------------------------------ in-place Functions in chains
def test_dirty_functions_and_operators_in_turn():
    x = leaf([1.0, 2.0])
    a = x * 2
    AddOne.apply(a)
    a *= 3
    AddOne.apply(a)
    np.testing.assert_array_equal(values([a])[0], [10.0, 16.0])
    np.testing.assert_array_equal(gradient(x, a), [6.0, 6.0])


def test_what_was_saved_before_a_write_out_of_its_region_counts():
    x = leaf([1.0, 2.0])
    a = x * 1
    y = Product.apply(part(a, 0), part(x, 1))
    second = part(a, 1)
    second += 1
    np.testing.assert_array_equal(gradient(x, y), [2.0, 1.0])


def test_an_output_saved_and_written_elsewhere_still_counts():
    x = leaf([0.5, 1.0])
    y = Exp.apply(x)
    z = y * 1
    z += 1
    np.testing.assert_allclose(gradient(x, y), np.exp([0.5, 1.0]))
