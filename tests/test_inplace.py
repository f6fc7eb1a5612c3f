"""Writing: item assignment in every form of NumPy, and in-place methods, with and without a graph."""

import warnings
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest

import pullback as pb
from numeric import Call, check_order
from pullback.ops import inplace
from pullback.ops.registry import ATTRIBUTES, Sample

MASK = np.array([[True, False, True], [False, False, True]])

#: index, shape of the value
FORMS = [
    (0, (3,)),
    (0, ()),
    (0, (1, 1, 3)),
    (slice(None), (2, 3)),
    ((slice(None), slice(None, None, -2)), (2, 2)),
    ((slice(None), 1), (2,)),
    ((1, 2), ()),
    (Ellipsis, (3,)),
    ((None, 0), (1, 3)),
    (slice(0, 0), (0, 3)),
    ([0, 1], (2, 3)),
    ([1, 0], ()),
    ([0, 0, 1], (3, 3)),
    ([[0, 0], [1, 0]], (2, 2, 3)),
    ((slice(None), [2, 0, 2]), (2, 3)),
    ((slice(None), [2, 0, 2]), (3,)),
    (([0, 1, 0], [1, 1, 1]), (3,)),
    (([0, 1], None, [1, 2]), (2, 1)),
    (MASK, (3,)),
    (MASK, ()),
    (MASK[:, 0], (3,)),
    ((slice(None), MASK[0]), (2, 2)),
    (True, (2, 3)),
    (False, ()),
    (np.zeros((2, 3), dtype=bool), ()),
]


def name_of(value):
    return str(value).replace("\n", "")


def drawn(*shape):
    return np.random.default_rng(5).uniform(0.5, 1.5, shape)


def check_function(f, *arrays, orders=(1, 2, 3)):
    for order in orders:
        record = SimpleNamespace(call=f, observe=None)
        check_order(Call(record, Sample(arrays)), order, np.random.default_rng(order))


def cube(x):
    return pb.sum(x * x * x)


# ------------------------------------------------------------------------------------------------------ item assignment
@pytest.mark.parametrize(("index", "shape"), FORMS, ids=name_of)
@pytest.mark.parametrize("kind", ["Tensor", "array", "list"])
def test_values_are_those_of_numpy(index, shape, kind):
    x, value = drawn(2, 3), 10 + drawn(*shape)
    target = pb.tensor(x)
    target[index] = {"Tensor": pb.tensor, "array": lambda v: v, "list": lambda v: v.tolist() if v.size else v}[kind](
        value
    )
    x[index] = value
    np.testing.assert_array_equal(target._array, x)


@pytest.mark.parametrize(("index", "shape"), FORMS, ids=name_of)
def test_derivatives_of_an_assignment(index, shape):
    """Of old values and written values, with uses before and after the write."""

    def f(x, value):
        y = pb.clone(x) * 1
        before = pb.clone(y)
        y[index] = value * value
        return cube(y) + pb.sum(before * before * y)

    check_function(f, drawn(2, 3), drawn(*shape))


@pytest.mark.parametrize(("index", "shape"), FORMS, ids=name_of)
def test_derivatives_of_an_assignment_through_a_view(index, shape):
    def f(x, value):
        y = pb.clone(x) * 1
        view = pb.permute_dims(y, (1, 0))[::-1]
        view[index] = value * value
        return cube(y) + pb.sum(pb.clone(view) * pb.clone(view))

    check_function(f, drawn(3, 2), drawn(*shape))


@pytest.mark.parametrize("index", [0, [0, 1], MASK], ids=name_of)
def test_assigning_a_number_cuts_the_old_values_out(index):
    x = pb.tensor(drawn(2, 3), requires_grad=True)
    y = x * 1
    y[index] = 7
    (g,) = pb.autograd.grad(pb.sum(y), x)
    expected = np.ones((2, 3))
    expected[index] = 0
    assert g.tolist() == expected.tolist()


def test_the_last_of_repeated_writes_has_the_gradient():
    value = pb.tensor([5.0, 6.0], requires_grad=True)
    y = pb.zeros(3)
    y[[0, 0]] = value
    assert y.tolist() == [6.0, 0.0, 0.0]
    (g,) = pb.autograd.grad(pb.sum(y), value)
    assert g.tolist() == [0.0, 1.0]


def test_what_was_overwritten_is_a_structural_zero():
    """sqrt at 0 has an infinite slope; its value was overwritten, so it has no part in the result."""
    for index in (0, slice(0, 1), [0], np.array([True, False])):
        x = pb.tensor([0.0, 4.0], requires_grad=True)
        y = pb.sqrt(x)
        z = pb.clone(y)
        z[index] = 3.0
        (g,) = pb.autograd.grad(pb.sum(z), x)
        assert g.tolist() == [0.0, 0.25]
    x = pb.tensor([0.0, 4.0], requires_grad=True)
    z = pb.zeros(2)
    z[[1, 1]] = pb.sqrt(x)
    (g,) = pb.autograd.grad(pb.sum(z), x)
    assert g.tolist() == [0.0, 0.25]


def test_a_recurrence_into_a_preallocated_array():
    """Row by row, without clone: earlier rows were saved, and later writes leave them alone."""

    def f(x):
        f = pb.zeros(5) if isinstance(x, pb.Tensor) else np.zeros(5)
        f[0] = 1.0
        for i in range(1, 5):
            f[i] = f[i - 1] * x + float(i)
        return pb.sum(f * f)

    check_function(f, drawn())


def test_a_recurrence_on_rows_and_columns():
    def f(a, x):
        table = pb.zeros((4, 3)) if isinstance(a, pb.Tensor) else np.zeros((4, 3))
        table[0] = a
        for i in range(1, 4):
            table[i, 0] = table[i - 1, 0] * x
            table[i, 1:] = table[i - 1, :-1] * table[i - 1, 1:] + x
        return pb.sum(table[-1])

    check_function(f, drawn(3), drawn())


def test_a_saved_value_is_stale_only_where_it_was_overwritten():
    x = pb.tensor(drawn(4), requires_grad=True)
    y = x * 1
    z = pb.sum(y[:2] * y[:2])
    y[2:] = 0.0
    pb.autograd.grad(z, x, retain_graph=True)
    y[1] = 0.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        pb.autograd.grad(z, x)


@pytest.mark.parametrize("index", [0, [0]], ids=name_of)
def test_casting_follows_assignment(index):
    y = pb.zeros(2, dtype=np.float32)
    y[index] = pb.tensor([1.5], dtype=np.float64)[0]
    assert y.dtype == np.float32
    n = pb.zeros(2, dtype=np.int64)
    n[index] = 1.7
    assert n.tolist() == [1, 0]
    value = pb.tensor(2.0, requires_grad=True)
    y[index] = value
    (g,) = pb.autograd.grad(pb.sum(y), value)
    assert g.dtype == np.float64
    n[index] = value
    assert n.tolist() == [2, 0]
    assert not n.requires_grad
    for wrong in (1j, np.array(1j), pb.tensor(1j)):
        with pytest.raises(RuntimeError, match="complex128"):
            y[index] = wrong
    c = pb.zeros(2, dtype=np.complex128)
    c[index] = value
    assert pb.autograd.grad(pb.real(c)[0], value)[0].item() == 1.0


def test_a_list_of_tensors_is_a_value():
    a = pb.tensor(2.0, requires_grad=True)
    y = pb.zeros(3)
    y[1:] = [a * a, 1.0]
    (g,) = pb.autograd.grad(pb.sum(y), a)
    assert g.item() == 4.0


def test_errors_of_assignment():
    leaf = pb.tensor([1.0, 2.0], requires_grad=True)
    for index in (0, [0]):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            leaf[index] = 0.0
    with pb.no_grad():
        leaf[0] = 5.0
        leaf[[1]] = 6.0
    assert leaf.tolist() == [5.0, 6.0]
    assert leaf.is_leaf
    assert leaf._version == 2
    y = pb.zeros(3)
    for index in (slice(None), [0, 1, 2]):
        with pytest.raises(ValueError, match="broadcast"):
            y[index] = np.ones(2)
        with pytest.raises(ValueError, match="broadcast"):
            y[index] = pb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(IndexError):
        y[3] = 1.0
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    for index in (0, [0]):
        with pytest.raises(RuntimeError, match="read-only"):
            pb.asarray(frozen)[index] = 1.0


def test_a_failed_assignment_changes_nothing():
    y = pb.tensor([1.0, 2.0], requires_grad=True) * 1
    node, version = y.grad_fn, y._version
    with pytest.raises(ValueError, match="broadcast"):
        y[:] = np.ones(5)
    assert (y.grad_fn, y._version) == (node, version)


def test_nothing_is_recorded_where_nothing_requires_gradients():
    y = pb.zeros(3)
    y[0] = 1.0
    y[[1]] = pb.tensor([2.0])
    y[np.array([False, False, True])] = 3
    assert not y.requires_grad
    assert y.tolist() == [1.0, 2.0, 3.0]
    assert y._version == 3


def test_overlapping_memory():
    x = np.arange(5.0)
    for value in ("Tensor", "recorded"):
        y = pb.tensor(x, requires_grad=value == "recorded") * 1
        y[1:] = y[:-1]
        assert y.tolist() == [0.0, 0.0, 1.0, 2.0, 3.0]
        y[[0, 1]] = y[[1, 0]] + y[2:4]
        assert y.tolist() == [1.0, 2.0, 1.0, 2.0, 3.0]


# ----------------------------------------------------------------------------------------------------- in-place methods
METHODS = {
    "add_": (lambda a, b: a + b, 1),
    "sub_": (lambda a, b: a - b, 1),
    "mul_": (lambda a, b: a * b, 1),
    "div_": (lambda a, b: a / b, 1),
    "pow_": (lambda a, b: a**b, 1),
    "neg_": (lambda a: -a, 0),
    "exp_": (pb.exp, 0),
    "log_": (pb.log, 0),
    "sqrt_": (pb.sqrt, 0),
    "sin_": (pb.sin, 0),
    "tanh_": (pb.tanh, 0),
    "abs_": (pb.abs, 0),
    "square_": (pb.square, 0),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("other", ["Tensor", "number", "row"])
def test_an_in_place_method_is_its_operator_written_back(name, other):
    """Same value and same derivatives of three orders as out of place; the operator may have saved the old value."""
    operator, takes = METHODS[name]

    def f(x, b):
        y = x * x
        args = ({"Tensor": b, "number": 1.5, "row": b[0]}[other],) * takes
        if isinstance(y, pb.Tensor):
            assert getattr(y, name)(*args) is y
        else:
            y = np.asarray(operator(y, *args))
        return pb.sum(y * b * b)

    if takes or other == "Tensor":
        check_function(f, drawn(2, 3), drawn(2, 3))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_without_a_graph_the_memory_is_written_directly(name, dtype):
    operator, takes = METHODS[name]
    for other in (2, 1.5, np.ones(2, dtype=dtype) + 1, pb.tensor(np.ones(2, dtype=dtype) + 1)):
        args = (other,) * takes
        array = np.array([1, 2], dtype=dtype)
        x = pb.asarray(array)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = operator(pb.tensor(array), *args)
        if np.can_cast(expected.dtype, dtype, "same_kind"):
            assert getattr(x, name)(*args) is x
            np.testing.assert_allclose(array, expected._array)
            assert x._version == 1
            assert not x.requires_grad
        else:
            with pytest.raises(RuntimeError, match="can't be cast"):
                getattr(x, name)(*args)
            assert array.tolist() == [1, 2]


def test_a_method_with_itself_as_argument():
    x = pb.tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    y.mul_(y)
    y *= y
    (g,) = pb.autograd.grad(pb.sum(y), x)
    assert g.tolist() == [4 * 2.0**3, 4 * 3.0**3]


def test_a_method_whose_operator_looks_through_a_view_of_the_old_value():
    """The saved old value may be a view of the argument: then the operator is given memory of its own."""

    def through_a_view(x):
        flat = pb.reshape(x, (-1,))
        return pb.reshape(flat * flat, x.shape)

    x = pb.tensor([[2.0, 3.0]], requires_grad=True)
    y = x * 1
    inplace.write_result(y, through_a_view)
    (g,) = pb.autograd.grad(pb.sum(y * y), x)
    assert g.tolist() == [[4 * 2.0**3, 4 * 3.0**3]]


def test_in_place_operators_of_python():
    x = pb.tensor([2.0, 3.0], requires_grad=True)
    for write, slope in [
        (lambda y: y.__iadd__(x), [2.0, 2.0]),
        (lambda y: y.__isub__(2 * x), [-1.0, -1.0]),
        (lambda y: y.__imul__(x), [4.0, 6.0]),
        (lambda y: y.__itruediv__(x * x), [-1 / 4, -1 / 9]),
        (lambda y: y.__ipow__(2), [4.0, 6.0]),
    ]:
        y = x * 1
        assert write(y) is y
        (g,) = pb.autograd.grad(pb.sum(y), x)
        np.testing.assert_allclose(g._array, slope)


def test_clamping():
    x = pb.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    for write, values, slopes in [
        (lambda y: y.clamp_(0.0, 1.0), [0.0, 0.5, 1.0], [0.0, 1.0, 0.0]),
        (lambda y: y.clamp_(min=0.0), [0.0, 0.5, 2.0], [0.0, 1.0, 1.0]),
        (lambda y: y.clamp_min_(0.0), [0.0, 0.5, 2.0], [0.0, 1.0, 1.0]),
        (lambda y: y.clamp_max_(1.0), [-1.0, 0.5, 1.0], [1.0, 1.0, 0.0]),
    ]:
        y = x * 1
        write(y)
        assert y.tolist() == values
        assert pb.autograd.grad(pb.sum(y), x)[0].tolist() == slopes


def test_overwriting_everything():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    a = pb.tensor(3.0, requires_grad=True)
    for write, values, of_x, of_a in [
        (lambda y: y.zero_(), [0.0, 0.0], [0.0, 0.0], 0.0),
        (lambda y: y.fill_(5), [5.0, 5.0], [0.0, 0.0], 0.0),
        (lambda y: y.fill_(a), [3.0, 3.0], [0.0, 0.0], 2.0),
        (lambda y: y.copy_(a * a), [9.0, 9.0], [0.0, 0.0], 12.0),
        (lambda y: y.copy_(np.array([7, 8])), [7.0, 8.0], [0.0, 0.0], 0.0),
        (lambda y: y.copy_(y), [1.0, 2.0], [1.0, 1.0], 0.0),
        (lambda y: y.masked_fill_(np.array([True, False]), a), [3.0, 2.0], [0.0, 1.0], 1.0),
        (lambda y: y.masked_fill_(pb.tensor([False, True]), -1.0), [1.0, -1.0], [1.0, 0.0], 0.0),
        (lambda y: y.masked_fill_(True, a), [3.0, 3.0], [0.0, 0.0], 2.0),
    ]:
        y = x * 1
        assert write(y) is y
        assert y.tolist() == values
        gx, ga = pb.autograd.grad(pb.sum(y), (x, a), materialize_grads=True)
        assert gx.tolist() == of_x
        assert ga.item() == of_a
    with pytest.raises(ValueError, match="no dimensions"):
        (x * 1).fill_(np.ones(2))
    with pytest.raises(TypeError, match="boolean"):
        (x * 1).masked_fill_(np.ones(2), 0.0)


AXIS_METHODS = {
    "index_copy_": (lambda y, v: y.index_copy_(1, [2, 0], v), lambda y, v: y.__setitem__((slice(None), [2, 0]), v)),
    "index_copy_ twice": (
        lambda y, v: y.index_copy_(1, [0, 0], v),
        lambda y, v: y.__setitem__((slice(None), [0, 0]), v),
    ),
    "index_add_": (lambda y, v: y.index_add_(-1, [0, 0], v), lambda y, v: np.add.at(y, (slice(None), [0, 0]), v)),
    "index_fill_": (
        lambda y, v: y.index_fill_(1, [0], v[0, 0]),
        lambda y, v: y.__setitem__((slice(None), [0]), v[0, 0]),
    ),
    "index_put_": (lambda y, v: y.index_put_(([1, 0],), v[:, :1]), lambda y, v: y.__setitem__([1, 0], v[:, :1])),
    "scatter_": (
        lambda y, v: y.scatter_(1, np.array([[0, 2], [1, 1]]), v),
        lambda y, v: [
            y.__setitem__((i, j), v[i, k]) for i, js in enumerate([[0, 2], [1, 1]]) for k, j in enumerate(js)
        ],
    ),
    "scatter_ short": (lambda y, v: y.scatter_(0, np.array([[1]]), v), lambda y, v: y.__setitem__((1, 0), v[0, 0])),
    "scatter_add_": (
        lambda y, v: y.scatter_add_(1, np.array([[0, 2], [1, 1]]), v),
        lambda y, v: [np.add.at(y, (i, j), v[i, k]) for i, js in enumerate([[0, 2], [1, 1]]) for k, j in enumerate(js)],
    ),
    "index_put_ accumulate": (
        lambda y, v: y.index_put_(([0, 0], [1, 1]), v[0], accumulate=True),
        lambda y, v: np.add.at(y, ([0, 0], [1, 1]), v[0]),
    ),
}


@pytest.mark.parametrize("name", AXIS_METHODS)
def test_writing_along_an_axis(name):
    write, on_arrays = AXIS_METHODS[name]

    def f(x, v):
        y = x * x
        if isinstance(y, pb.Tensor):
            assert write(y, v * v) is y
        else:
            on_arrays(y, v * v)
        return cube(y)

    check_function(f, drawn(2, 3), drawn(2, 2))


def test_every_in_place_method_refuses_a_leaf_and_says_what_to_write_instead():
    arguments = {
        "clamp_": (0.0, 1.0),
        "clip_": (0.0, 1.0),
        "clamp_min_": (0.0,),
        "clamp_max_": (0.0,),
        "copy_": (1.0,),
        "fill_": (1.0,),
        "masked_fill_": (True, 1.0),
        "index_copy_": (0, [0], 1.0),
        "index_add_": (0, [0], 1.0),
        "index_fill_": (0, [0], 1.0),
        "index_put_": ([0], 1.0),
        "scatter_": (0, np.array([[0]]), 1.0),
        "scatter_add_": (0, np.array([[0]]), 1.0),
        "squeeze_": (0,),
        "unsqueeze_": (0,),
    }
    binary = {"add_", "sub_", "mul_", "div_", "pow_", "remainder_", "floor_divide_"}
    names = [name for name in ATTRIBUTES if name.endswith("_") and not name.startswith("_")]
    assert len(names) > 40
    for name in names:
        leaf = pb.tensor([[0.5]], requires_grad=True)
        with pytest.raises(RuntimeError, match="leaf Variable") as caught:
            getattr(leaf, name)(*arguments.get(name, (2.0,) if name in binary else ()))
        assert "clone()" in caught.value.__notes__[-1]
        assert leaf.tolist() == [[0.5]], name
        assert leaf._version == 0


# ------------------------------------------------------------------------------------------------------ the shape alone
def test_changing_the_shape_in_place():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    assert y.unsqueeze_(0) is y
    assert y.unsqueeze_(-1).shape == (1, 2, 1)
    assert y.squeeze_(0).shape == (2, 1)
    y *= y
    (g,) = pb.autograd.grad(pb.sum(y), x)
    assert g.tolist() == [2.0, 4.0]


def test_changing_the_shape_of_a_view_keeps_it_a_view():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    view = y[1:]
    view.unsqueeze_(0)
    view *= 5.0
    assert view.shape == (1, 1)
    assert y.tolist() == [1.0, 10.0]
    (g,) = pb.autograd.grad(pb.sum(y), x)
    assert g.tolist() == [1.0, 5.0]


def test_changing_the_shape_makes_saved_values_stale_and_is_refused_under_views():
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = pb.sum(y * y)
    y.unsqueeze_(0)
    with pytest.raises(RuntimeError):
        pb.autograd.grad(z, x)
    y = x * 1
    _view = y[0]
    with pytest.raises(RuntimeError, match="views"):
        y.unsqueeze_(0)


# ------------------------------------------------------------------------------------------------------ other libraries
def strict(values, requires_grad=False):
    return pb.Tensor(array_api_strict.asarray(values), requires_grad)


def test_item_assignment_in_other_libraries():
    x = strict([1.0, 2.0, 3.0], True)
    v = strict(5.0, True)
    y = x * 1.0
    y[0] = v
    y[array_api_strict.asarray([False, True, False])] = 7.0
    y[2:] = y[2:] * 3.0
    assert np.asarray(y._array).tolist() == [5.0, 7.0, 9.0]
    gx, gv = pb.autograd.grad(pb.sum(y), (x, v))
    assert np.asarray(gx._array).tolist() == [0.0, 0.0, 3.0]
    assert np.asarray(gv._array).item() == 1.0
    with pb.no_grad():
        x[0] = 4.0
    assert np.asarray(x._array).tolist() == [4.0, 2.0, 3.0]


def test_in_place_methods_of_other_libraries():
    x = strict([1.0, 2.0], True)
    y = x * 1.0
    y.mul_(x)
    y += 1.0
    y.clamp_max_(3.0)
    assert np.asarray(y._array).tolist() == [2.0, 3.0]
    (g,) = pb.autograd.grad(pb.sum(y), x)
    assert np.asarray(g._array).tolist() == [2.0, 0.0]
    assert np.asarray(y.fill_(0.0)._array).tolist() == [0.0, 0.0]


# ----------------------------------------------------------------------------------------------- inside Functions
WRITES = {
    "basic": lambda y, v: y.__setitem__(0, v),
    "advanced": lambda y, v: y.__setitem__([0], v),
    "copy_": lambda y, v: y.copy_(v),
    "fill_": lambda y, v: y.fill_(v),
    "mul_": lambda y, v: y.mul_(v),
    "*=": lambda y, v: y.__imul__(v),
    "masked_fill_": lambda y, v: y.masked_fill_(True, v),
    "index_add_": lambda y, v: y.index_add_(0, [0], v),
    "view": lambda y, v: y.T.mul_(v),
}


@pytest.mark.parametrize("name", WRITES)
def test_writing_a_captured_tensor_inside_forward_warns(name):
    captured = pb.tensor(2.0, requires_grad=True)

    class Fill(pb.Function):
        @staticmethod
        def forward(ctx, x):
            y = pb.zeros(2)
            WRITES[name](y, captured)
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.warns(UserWarning, match="captured"):
        Fill.apply(pb.tensor([1.0, 2.0], requires_grad=True))


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_writing_into_a_cotangent_changes_nobody_elses(name, create_graph):
    class Change(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            WRITES[name](g, 5.0)
            return g

    seed = pb.tensor([1.0, 1.0])
    expected = pb.tensor([1.0, 1.0])
    WRITES[name](expected, 5.0)
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    of_x, of_y = pb.autograd.grad((Change.apply(y), y * 3.0), (x, y), (seed, seed), create_graph=create_graph)
    assert of_x.tolist() == of_y.tolist() == (expected + 3.0).tolist()
    assert seed.tolist() == [1.0, 1.0]
