"""NumPy's door: what goes through it, what it writes, what it refuses, and what stays as it was without it."""

import io
import math
import operator
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import pullback as pb
import pullback.torch
from core.helpers import calls_of
from doors.numpy_cases import HIPS, words
from pullback.doors import numpy as door
from pullback.doors import scipy as scipys
from pullback.doors.numpy.tools import find

A = np.array([1.0, 2.0, 3.0])


def leaf(values=A):
    return pb.tensor(values, requires_grad=True)


def gradient(y, x):
    return pb.autograd.grad(pb.sum(y), x)[0].tolist()


# ------------------------------------------------------------------------------------------- operators between both kinds
@pytest.mark.parametrize("kind", [pb.tensor, pullback.torch.tensor])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("symbol", words("+ - * / // % **"))
def test_in_place_on_an_array_makes_a_tensor_and_leaves_the_array(kind, requires_grad, symbol):
    """An array has no place in the graph, so ``a += x`` is ``a = a + x``."""
    names = {"a": A.copy(), "x": kind([2.0, 3.0, 4.0], requires_grad=requires_grad, dtype=np.float64)}
    before = names["a"]
    exec(f"a {symbol}= x", names)
    assert isinstance(names["a"], type(names["x"]))
    assert names["a"].requires_grad is requires_grad
    np.testing.assert_allclose(
        names["a"].detach().numpy(), eval(f"a {symbol} b", {"a": A, "b": np.array([2.0, 3.0, 4.0])})
    )
    np.testing.assert_array_equal(before, A)


def test_in_place_by_name_writes_values_and_refuses_gradients():
    array = A.copy()
    assert operator.iadd(array, pb.tensor(A)) is array
    np.testing.assert_array_equal(array, 2 * A)
    with pytest.raises(RuntimeError, match="NumPy array"):
        operator.iadd(array, leaf())


def test_arrays_of_objects():
    held = np.empty(2, object)
    held[0], held[1] = leaf(), pb.tensor(A)
    found = held * pb.tensor([2.0, 3.0])
    assert isinstance(found, pb.Tensor)
    assert found.dtype == object
    assert found._array[0].requires_grad


def test_torchs_operators_keep_torchs_promotion():
    torch = pullback.torch
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for y in (np.float64(2) * x, np.array(2.0) * x, np.int64(2) - x, np.float64(2) / x, np.multiply(np.float64(2), x)):
        assert type(y) is torch.Tensor
        assert y.dtype == torch.float32
    assert (A[:2] * x).dtype == torch.float64
    assert type(A[:2] < x) is torch.Tensor


def test_torchs_tensors_give_torchs_tensors():
    torch = pullback.torch
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for y in (
        np.sin(x),
        np.sum(x, axis=0),
        np.concatenate([x, x]),
        np.linalg.inv(x),
        np.add.reduce(x),
        np.pad(x, 1),
        np.median(x, axis=1),
        np.gradient(x, axis=0),
        np.interp(x, [0.0, 5.0], [1.0, 2.0]),
        np.fft.rfft(x),
    ):
        assert type(y) is torch.Tensor
        assert y.requires_grad
    assert type(np.argmax(x)) is torch.Tensor
    assert np.shape(x) == torch.Size([2, 2])
    assert type(np.exp(x.detach())) is torch.Tensor


def test_other_libraries_arrays_stay_what_they_are():
    import array_api_strict

    x = pb.Tensor(array_api_strict.asarray(A), requires_grad=True)
    y = np.sin(x)
    assert type(y._array) is type(x._array)
    assert isinstance(np.sum(np.multiply(x, x)), pb.Tensor)


def test_who_wants_to_answer_itself_is_asked():
    class Quantity:
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            return "mine"

        def __array_function__(self, function, types, args, kwargs):
            return "mine too"

    assert np.multiply(leaf(), Quantity()) == "mine"
    assert np.add(leaf(), 1.0, out=Quantity()) == "mine"
    assert np.concatenate([leaf(), Quantity()]) == "mine too"


@pytest.mark.parametrize(
    ("through", "direct"),
    [
        (lambda x: np.sin(x), lambda x: pb.sin(x)),
        (lambda x: np.multiply(x, x), lambda x: pb.multiply(x, x)),
        (lambda x: A * x, lambda x: pb.multiply(A, x)),
    ],
)
def test_the_way_through_the_door_is_one_call(through, direct):
    x = leaf()
    more = calls_of(lambda: through(x)) - calls_of(lambda: direct(x))
    assert [name for name in more if "lambda" not in name] in (["array_ufunc"], ["array_ufunc", "outside"])
    assert more["array_ufunc"] == 1


# ---------------------------------------------------------------------------------------------------------------- writing
def test_out_takes_the_history():
    x, out = leaf(), pb.zeros(3)
    assert np.multiply(x, x, out=out) is out
    assert gradient(out, x) == [2, 4, 6]
    total = pb.zeros(())
    np.sum(x * x, out=total)
    assert gradient(total, x) == [2, 4, 6]


def test_out_of_an_array():
    out = np.zeros(3)
    assert np.multiply(pb.tensor(A), 2, out=out) is out
    assert out.tolist() == [2, 4, 6]
    with pb.no_grad():
        np.add(leaf(), 1, out=out)
    assert out.tolist() == [2, 3, 4]
    for call in (lambda: np.multiply(leaf(), 2, out=out), lambda: np.sum(leaf(), out=np.zeros(()))):
        with pytest.raises(RuntimeError, match=r"out= is a NumPy array"):
            call()
    with pytest.raises(TypeError, match="Cannot cast"):
        np.multiply(pb.tensor(A), 0.5, out=np.zeros(3, dtype=int))


def test_where_computes_nothing_elsewhere():
    x = leaf([-1.0, 4.0, 0.0])
    with np.errstate(all="raise"):
        y = np.log(x, where=x > 0, out=pb.tensor([7.0, 8.0, 9.0]))
    assert y.tolist() == [7.0, np.log(4.0), 9.0]
    assert gradient(y, x) == [0, 0.25, 0]
    out = pb.tensor([1.0, 2.0, 3.0]) * 1
    np.add(x, 1, out=out, where=np.array([True, False, True]))
    assert out.tolist() == [0, 2, 1]


WRITES = {
    "np.copyto(a, x)": lambda x: x,
    "np.copyto(a, x, where=[True, False, True])": lambda x: x * np.array([1, 0, 1]),
    "np.put(a, [0, 2], x)": lambda x: pb.stack([x[0], 0 * x[0], x[1]]),
    "np.put(a, [3, -4], x, mode='clip')": lambda x: pb.stack([x[1], 0 * x[0], x[0]]),
    "np.place(a, [False, True, True], x)": lambda x: pb.stack([0 * x[0], x[0], x[1]]),
    "np.putmask(a, [False, True, True], x)": lambda x: x * np.array([0, 1, 1]),
    "np.put_along_axis(a, np.array([2, 0]), x[:2], axis=0)": lambda x: pb.stack([x[1], 0 * x[0], x[0]]),
    "np.add.at(a, [0, 0, 2], x)": lambda x: pb.stack([x[0] + x[1], 0 * x[0], x[2]]),
    "np.subtract.at(a, [0, 0, 2], x)": lambda x: -pb.stack([x[0] + x[1], 0 * x[0], x[2]]),
    "np.maximum.at(a, [1, 1, 0], x)": lambda x: pb.stack([x[2], x[1], 0 * x[0]]),
    "np.exp(x, out=a)": pb.exp,
}


@pytest.mark.parametrize("statement", WRITES)
def test_writes_have_a_history(statement):
    x = leaf()
    a = pb.zeros(3) * 1
    exec(statement, {"np": np, "a": a, "x": x})
    weights = np.array([1.0, 10.0, 100.0])
    expected = WRITES[statement](x)
    assert a.tolist() == expected.tolist()
    assert gradient(a * a * weights, x) == gradient(expected * expected * weights, x)


@pytest.mark.parametrize("statement", WRITES)
def test_arrays_are_written_as_numpy_writes_them_and_take_no_gradient(statement):
    expected, found = np.zeros(3), np.zeros(3)
    exec(statement, {"np": np, "a": expected, "x": A})
    exec(statement, {"np": np, "a": found, "x": pb.tensor(A)})
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(RuntimeError, match="NumPy array"):
        exec(statement, {"np": np, "a": found, "x": leaf()})


def test_at_without_a_second_operand():
    x = leaf()
    y = x * 1
    np.negative.at(y, [0, 0, 1])
    assert y.tolist() == [1, -2, 3]
    assert gradient(y, x) == [1, -1, 1]


def test_fill_diagonal():
    x = leaf()
    y = pb.zeros((3, 3)) * 1
    np.fill_diagonal(y, x)
    assert y.tolist() == np.diag(A).tolist()
    assert gradient(y * y, x) == [2, 4, 6]


def test_views_can_be_written_through():
    x = pb.zeros((2, 3)) * 1
    np.transpose(x)[0, 1] = 5.0
    np.diagonal(x)[:] = leaf(A[:2])
    assert x.tolist() == [[1, 0, 0], [5, 2, 0]]


# --------------------------------------------------------------------------------------------------------------- refusing
def test_a_function_without_a_rule_names_itself_and_says_how_to_add_one():
    with pytest.raises(NotImplementedError, match=r"np\.i0 has no derivative rule") as caught:
        np.i0(leaf())
    assert "@pullback.doors.implements(np.i0)" in "".join(caught.value.__notes__)
    found = np.i0(pb.tensor(A))
    assert isinstance(found, pb.Tensor)
    np.testing.assert_allclose(found.numpy(), np.i0(A))
    with pb.no_grad():
        assert not np.i0(leaf()).requires_grad


def test_a_ufunc_without_a_rule():
    x, ufunc = leaf(), np.frompyfunc(lambda a: 2 * a, 1, 1)
    with pytest.raises(NotImplementedError, match="has no derivative rule here"):
        ufunc(x)


def test_ufuncs_of_scipy_are_those_of_pullback():
    x = pb.tensor([0.5, 1.5], requires_grad=True)
    assert gradient(scipy.special.jv(1, x), x) == pytest.approx(scipy.special.jvp(1, [0.5, 1.5]))
    assert gradient(scipy.special.lambertw(x).real, x) == pytest.approx(gradient(pb.special.lambertw(x).real, x))
    assert gradient(scipy.special.zeta(2.0, x), x) == pytest.approx(-2 * scipy.special.zeta(3, [0.5, 1.5]))
    assert [type(y) for y in scipy.special.ellipj(x, 0.5)] == [pb.Tensor] * 4
    masked = scipy.special.erf(x, where=np.array([True, False]), out=pb.zeros(2) * 1)
    assert gradient(masked, x) == pytest.approx([2 / np.sqrt(np.pi) * np.exp(-0.25), 0])
    with pytest.raises(pb.DerivativeRefused, match="stdtr with respect to df"):
        scipy.special.stdtr(x, 1.0).sum().backward()


def test_a_rule_of_ones_own():
    before = dict(door.FUNCTIONS)
    try:
        pb.doors.implements(np.i0)(lambda x: pb.exp(x))
        x = leaf()
        assert gradient(np.i0(x), x) == np.exp(A).tolist()
    finally:
        door.FUNCTIONS.clear()
        door.FUNCTIONS.update(before)
    with pytest.raises(TypeError, match="does not ask"):
        pb.doors.implements(np.kaiser)


@pytest.mark.parametrize(
    "call",
    [
        "np.array([x[0] * x[0], x[1]])",
        "np.asarray(x)",
        "np.array(x)",
        "np.vectorize(lambda v: 2 * v)(x)",
        "np.array([1.0, 2.0, 3.0]).dot(x)",
        "np.full(3, x[0])",
        "np.ones(3).__setitem__(slice(None), x)",
        "np.save(io.BytesIO(), x)",
        "np.arange(x[0], like=x)",
    ],
)
def test_what_numpy_does_not_ask_about_refuses_and_says_what_to_write(call):
    with pytest.raises((RuntimeError, ValueError, TypeError)) as caught:
        eval(call, {"np": np, "x": leaf(), "io": io})
    errors = [caught.value, caught.value.__cause__, caught.value.__context__]
    notes = "".join(note for error in errors if error is not None for note in getattr(error, "__notes__", []))
    assert "pullback.stack" in notes


def test_arrays_like_a_tensor_keep_gradients():
    x = leaf()
    assert gradient(np.array([x[0] * x[0], x[1]], like=x), x) == [2, 1, 0]
    assert gradient(np.asarray([x, x], like=x), x) == [2, 2, 2]
    assert gradient(np.full(4, x[1], like=x), x) == [0, 4, 0]
    assert np.array([1.0, 2.0], like=x, ndmin=2).shape == (1, 2)
    for call in (
        "np.zeros((2, 3), like=x)",
        "np.arange(3, like=x)",
        "np.eye(2, like=x)",
        "np.tri(2, like=x)",
        "np.identity(2, like=x)",
        "np.ones(2, like=x)",
        "np.empty(2, like=x)",
        "np.fromiter([1, 2], int, like=x)",
    ):
        assert isinstance(eval(call, {"np": np, "x": x}), pb.Tensor)
    assert np.empty_like(x).shape == (3,)


def test_text_and_files():
    x = leaf()
    assert np.array2string(x) == np.array2string(A)
    assert np.array_repr(x) == np.array_repr(A)
    assert np.array_str(x) == np.array_str(A)
    file = io.BytesIO()
    np.save(file, x.detach())
    file.seek(0)
    np.testing.assert_array_equal(np.load(file), A)
    np.savetxt(io.StringIO(), x.detach())
    np.testing.assert_allclose(x.detach(), A)


def test_what_leaves_inside_a_rule_is_heard_of():
    class Cut(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * np.i0(x)  # no rule: its values leave the graph

    x = leaf()
    (first,) = pb.autograd.grad(Cut.apply(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivative of Cut is refused"):
        pb.autograd.grad(first.sum(), x)


# ------------------------------------------------------------------------------------------------------- what is offered
# fmt: off
#: Functions of HIPS autograd itself: adjoints of others, containers, its own helpers.
ITS_OWN = frozenset(words("""
__getitem__ _array_from_scalar_or_array _make_dict array_from_args concatenate_args container_take container_untake
covector dot_adjoint_0 dot_adjoint_1 inner_prod make_diagonal make_sequence mut_add scalar_mul sequence_extend_left
sequence_extend_right sparse_add tensordot_adjoint_0 tensordot_adjoint_1 truncate_pad untake
"""))
#: No function that asks its arguments.
NOT_ASKED = frozenset(["isscalar"])
# fmt: on


def test_the_page_lists_what_is_offered():
    page = (Path(__file__).parents[2] / "docs" / "numpy.md").read_text(encoding="utf-8")
    table = re.search(r"<!-- offered -->\n((?:\|.*\n)+)", page)[1]
    listed = re.findall(r"`([\w.]+)`", table)
    door.fill()
    known = {find(name) for name in listed}
    of_numpy = {f for f in door.UFUNCS if scipys.rule_of(f) is None}  # SciPy's come as they are called
    assert {f.__name__ for f in {*door.FUNCTIONS, *of_numpy} - known - {np._core.umath.clip}} == set()
    assert [name for name in listed if find(name) is not None and not is_offered(name)] == []
    assert len(listed) == len(set(listed))


def is_offered(name):
    function = find(name)
    return function in (door.UFUNCS if isinstance(function, np.ufunc) else door.FUNCTIONS)


@pytest.mark.parametrize("name", HIPS)
def test_what_hips_autograd_has_a_rule_for_is_offered(name):
    door.fill()
    assert is_offered(name)


@pytest.mark.slow  # with what is installed for the marked tests
def test_the_list_is_that_of_the_installed_package():
    pytest.importorskip("autograd")
    import autograd.numpy
    import autograd.numpy.fft
    import autograd.numpy.linalg  # noqa: F401
    from autograd.core import VJPNode, primitive_vjps
    from autograd.tracer import notrace_primitives

    functions = [*primitive_vjps, *notrace_primitives[VJPNode]]
    names = {function.__name__ for function in functions if "scipy" not in str(getattr(function, "fun", ""))}
    assert names - {name.rpartition(".")[2] for name in HIPS} - ITS_OWN - NOT_ASKED == set()


def test_everything_that_numpy_asks_about_is_offered_or_known_not_to_be():
    """A new version of NumPy adds functions: each is offered, or listed as one without a rule."""
    from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

    door.fill()
    names = {function.__name__ for function in door.FUNCTIONS}  # those with like= exist twice
    functions = {f for f in get_overridable_numpy_array_functions() if f.__name__ not in names}
    assert {f.__name__ for f in functions if f.__module__ in ("numpy", "numpy.linalg", "numpy.fft")} <= WITHOUT_RULE
    ufuncs = get_overridable_numpy_ufuncs() - set(door.UFUNCS)
    assert {f.__name__ for f in ufuncs if any("d" in types for types in f.types)} <= {"_ones_like"}


#: Dates, and those that have no rule yet.
WITHOUT_RULE = frozenset(words("busday_count busday_offset datetime_as_string is_busday i0 require"))


# ------------------------------------------------------------------------------------------------------ numbers that leave
def lesson_of(caught):
    """The error itself: NumPy raises one of its own, and names ours as the cause."""
    return caught.value.__cause__ or caught.value


def test_an_array_that_a_number_is_written_into_refuses():
    x, array = leaf(), np.zeros(3)
    y = x * 2
    with pytest.raises((RuntimeError, ValueError)) as caught:
        array[0] = y[0]
    assert "array[...] = x takes a number out of a Tensor that requires grad" in str(lesson_of(caught))
    assert "pullback.asarray(array)" in "".join(lesson_of(caught).__notes__)
    array[0] = float(y[0])
    array[1] = y.detach()[0]
    with pb.no_grad():
        array[2] = y[2]
    assert array.tolist() == [2, 2, 6]
    kept = np.zeros(1)
    kept[0] = pullback.torch.tensor(1.5, requires_grad=True)  # as in torch
    assert kept[0] == 1.5


@pytest.mark.parametrize(
    "call",
    [
        lambda t: np.sum(A, initial=t),
        lambda t: A.sum(initial=t),
        lambda t: np.max(A, initial=t),
        lambda t: np.add.reduce(A, initial=t),
        lambda t: np.interp(A, A, A, left=t),
    ],
)
def test_options_that_numpy_does_not_ask_about_take_no_numbers(call):
    t = pb.tensor(0.5, requires_grad=True)
    with pytest.raises((RuntimeError, ValueError)) as caught:
        call(t)
    assert "an option of a function takes a number out" in str(lesson_of(caught))
    assert np.isfinite(call(t.detach())).all()
    assert np.isfinite(call(float(t))).all()


def test_numbers_that_somebody_asks_for_leave():
    t = pb.tensor(0.5, requires_grad=True)
    assert [float(t), complex(t), t.item(), math.sin(t), math.floor(t), math.ceil(t), f"{t:.1f}"] == [
        *(0.5, 0.5, 0.5, math.sin(0.5), 0, 1, "0.5"),
    ]
    assert {"loss": float(t)}["loss"] == 0.5
    assert list(map(float, [t])) == [0.5]
