"""Never silently wrong: where the graph was cut, a derivative of higher order is refused, on every route and at every order."""

import array
import collections
import copy
import ctypes
import datetime
import decimal
import fractions
import functools
import io
import time
import warnings
import weakref

import numpy as np
import pytest

import pullback as pb
import pullback.torch
from core.helpers import (
    Exp,
    Item,
    Product,
    Spread,
    Square,
    Total,
    calls_of,
    derivatives,
    leaf,
    ones_like,
    teaches,
    values,
)
from pullback.autograd import grad
from pullback.core import contents
from pullback.core.errors import DerivativeRefused
from pullback.core.refusal import constant, refused

X = 0.4
E = np.exp(X)


def routes(g, x):
    """Every way to ask for the derivative of `g`."""
    return {
        "grad": lambda: grad(g, x, retain_graph=True),
        "grad allow_unused": lambda: grad(g, x, retain_graph=True, allow_unused=True),
        "grad materialize": lambda: grad(g, x, retain_graph=True, materialize_grads=True),
        "backward": lambda: g.backward(retain_graph=True),
        "backward inputs": lambda: g.backward(inputs=[x], retain_graph=True),
        "create_graph": lambda: grad(g, x, create_graph=True),
        "through a square": lambda: grad(g * g, x, retain_graph=True),
        "through a Function": lambda: grad(Exp.apply(g), x, retain_graph=True),
        "through a sum": lambda: grad(g + x * 3, x, retain_graph=True),
    }


def assert_refused(f, x, *words, notes=(), orders=(1, 2, 3), kind=DerivativeRefused):
    """First derivatives are given, anything that a cut makes wrong is refused: at second order, and from there on."""
    for order in orders:
        y = pb.sin(x) if order > 1 else x * 1
        for _ in range(order - 1):
            (y,) = grad(y, x, create_graph=True)
        (g,) = grad(f(y), x, create_graph=True)
        assert np.isfinite(g.item())
        for name, ask in routes(g, x).items():
            x.grad = None
            with teaches(kind, *words, notes=notes):
                ask()
            assert x.grad is None, name


def operator(backward, save=lambda ctx, x, y: ctx.save_for_backward(x, y)):
    """exp(x), with the backward `backward(ctx, g)`; it saves input and output."""

    class Cutting(pb.Function):
        @staticmethod
        def forward(ctx, x):
            y = pb.exp(x)
            save(ctx, x, y)
            return y

    Cutting.backward = staticmethod(backward)
    return Cutting


# ------------------------------------------------------------------------------------------------ cuts inside backward
def quiet(f, *args):
    with pb.no_grad():
        return f(*args)


def switched(x):
    pb.set_grad_enabled(False)
    y = pb.exp(x)
    pb.set_grad_enabled(True)
    return y


def inferred(x):
    with pb.inference_mode():
        return pb.exp(x)


def by_grad(x):
    with pb.enable_grad():
        return grad(pb.exp(x), x)[0]


def by_backward(x):
    with pb.enable_grad():
        a = x * 1
        a.retain_grad()
        pb.exp(a).backward(inputs=[a])
        return a.grad


def by_once(x):
    return pb.once_differentiable(lambda ctx: pb.exp(x))(None)


BACKWARD_CUTS = {
    "numpy": (lambda x: pb.tensor(np.exp(x.numpy())), "numpy"),
    "asarray": (lambda x: pb.tensor(np.exp(np.asarray(x))), "asarray"),
    "detach": (lambda x: pb.exp(x.detach()), "detach"),
    "detach_": (lambda x: pb.exp((x * 1).detach_()), "detach_"),
    "data": (lambda x: pb.exp(x.data), "data"),
    "item": (lambda x: float(np.exp(x.item())), "item"),
    "float": (lambda x: float(np.exp(float(x))), "float"),
    "complex": (lambda x: abs(np.exp(complex(x))), "complex"),
    "tolist": (lambda x: float(np.exp(x.tolist())), "tolist"),
    "no_grad": (lambda x: quiet(pb.exp, x), "no_grad"),
    "no_grad, multiply": (lambda x: quiet(lambda: x * E / X), "no_grad"),
    "no_grad, Function": (lambda x: quiet(Exp.apply, x), "no_grad"),
    "no_grad, Primitive": (lambda x: quiet(Total.apply, pb.exp(x)), "no_grad"),
    "set_grad_enabled": (switched, "no_grad"),
    "inference_mode": (inferred, "no_grad"),
    "grad": (by_grad, "grad"),
    "backward": (by_backward, "backward"),
    "tensor": (lambda x: pb.tensor(pb.exp(x)), "tensor"),
    "deepcopy": (lambda x: pb.exp(copy.deepcopy(x)), "copy"),
    "once": (by_once, "once_differentiable"),
}


@pytest.mark.parametrize("how", BACKWARD_CUTS)
def test_a_cut_of_a_saved_value_in_backward_is_refused(how):
    cut, word = BACKWARD_CUTS[how]
    if how == "deepcopy":
        x = leaf(X)
        y = operator(lambda ctx, g: g * cut(ctx.saved_tensors[0])).apply(x)
        (g,) = grad(y, x, create_graph=True)
        with pytest.raises(DerivativeRefused):
            grad(g, x)
        return
    F = operator(lambda ctx, g: g * cut(ctx.saved_tensors[0]))
    kind = RuntimeError if how == "once" else DerivativeRefused
    assert_refused(F.apply, leaf(X), "Cutting", notes=["wrong", "Function of its own"], kind=kind)
    x = leaf(X)
    (g,) = grad(F.apply(x), x, create_graph=True)
    with pytest.raises(kind) as caught:
        g.backward()
    assert word in str(caught.value)


def test_a_shallow_copy_stays_connected():
    F = operator(lambda ctx, g: g * copy.copy(pb.exp(ctx.saved_tensors[0])))
    np.testing.assert_allclose(values(derivatives(F.apply, leaf(X))), [E, E, E])


@pytest.mark.parametrize("how", sorted(set(BACKWARD_CUTS) - {"deepcopy", "backward"}))
def test_a_cut_of_the_saved_output_is_refused(how):
    cut, _ = BACKWARD_CUTS[how]
    F = operator(lambda ctx, g: g * (ctx.saved_tensors[1] + 0 * cut(ctx.saved_tensors[1])))
    kind = RuntimeError if how == "once" else DerivativeRefused
    assert_refused(F.apply, leaf(X), "Cutting", orders=(1, 2), kind=kind)


@pytest.mark.parametrize("how", ["numpy", "asarray", "detach", "item", "no_grad", "tensor"])
def test_a_cut_of_the_cotangent_is_refused(how):
    """exp(x)·w: the derivative with respect to x hangs on w through the cotangent."""
    cuts = {
        "numpy": lambda g: pb.tensor(g.numpy()),
        "asarray": lambda g: pb.tensor(np.asarray(g)),
        "detach": lambda g: g.detach(),
        "item": lambda g: g.item(),
        "no_grad": lambda g: quiet(lambda: g * 1),
        "tensor": lambda g: pb.tensor(g),
    }
    F = operator(lambda ctx, g: cuts[how](g) * ctx.saved_tensors[1])
    x, w = leaf(X), leaf(2.0)
    (g,) = grad(F.apply(x) * w, x, create_graph=True)
    for target in (x, w):
        for ask in routes(g, target).values():
            with pytest.raises(DerivativeRefused):
                ask()


def test_a_cut_of_the_cotangent_is_refused_where_only_the_seed_is_differentiable():
    seed = leaf(3.0)
    x = leaf(X)
    (g,) = grad(operator(lambda ctx, g: g.detach() * 2).apply(x), x, seed, create_graph=True)
    with pytest.raises(DerivativeRefused):
        grad(g, seed)


def test_all_gradients_of_the_cut_call_are_refused():
    class Two(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, pb.tensor(g.numpy() * a.numpy())

    a, b = leaf(2.0), leaf(3.0)
    for first in (a, b):
        (g,) = grad(Two.apply(a, b), first, create_graph=True)
        for second in (a, b):
            with pytest.raises(DerivativeRefused):
                grad(g, second, retain_graph=True)


def test_a_cut_is_harmless_at_first_order():
    x = leaf(X)
    for cut, _ in BACKWARD_CUTS.values():
        x.grad = None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            operator(lambda ctx, g, cut=cut: g * cut(ctx.saved_tensors[0])).apply(x).backward()
        np.testing.assert_allclose(x.grad.item(), E)


def test_looking_at_constants_is_no_cut():
    constant_in = pb.tensor(2.0)

    class Scaled(pb.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x, factor)
            return x * x * factor

        @staticmethod
        def backward(ctx, g):
            x, factor = ctx.saved_tensors
            assert factor.numpy() == 2
            assert factor.detach().item() == 2.0
            with pb.no_grad():
                scale = factor * 2
            return g * x * float(scale), None

    np.testing.assert_allclose(values(derivatives(lambda x: Scaled.apply(x, constant_in), leaf(3.0))), [12.0, 4.0, 0.0])


LOOKS = {
    "print": print,
    "text": lambda g: f"{g} {g!r} {g!s}",
    "formatted": lambda g: f"{g:.3f} {pb.sum(g):12.5e} {format(g, '+.1f')}",
    "compared": lambda g: bool(abs(g) > 10) or bool(pb.any(pb.isnan(g))),
    "kept": lambda g: [].append(g),
}


@pytest.mark.parametrize("kind", [pb, pullback.torch], ids=["pullback", "torch"])
@pytest.mark.parametrize("how", LOOKS)
def test_what_the_message_proposes_for_looking_at_a_value_is_no_cut(how, kind, capsys):
    class Looks(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            LOOKS[how](g * x)
            LOOKS[how](g)
            return g * 2 * x

    x = kind.tensor(3.0, requires_grad=True)
    (g,) = grad(Looks.apply(x) ** 2, x, create_graph=True)
    assert grad(g, x)[0].item() == pytest.approx(12 * 9.0)


@pytest.mark.parametrize("log", [lambda g: g.tolist(), lambda g: g.item(), lambda g: g.detach().tolist()])
def test_a_refusal_of_logging_says_how_to_look(log):
    def noisy(ctx, g):
        log(g)
        return g * ctx.saved_tensors[0]

    for rule, x in ((operator(noisy), leaf(X) * 1), (primitive(noisy), leaf(X) * 1)):
        (g,) = grad(rule.apply(x) ** 2, x, create_graph=True)
        with teaches(DerivativeRefused, "second derivative", notes=["print(g)", "g.max() > 10", "log.append(g)"]):
            grad(g, x)


def test_asking_for_truth_or_shape_is_no_cut():
    class Relu(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x if x else x * 0

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            assert x.shape == ()
            assert x.dtype == np.float64
            assert repr(x)
            return g * 2 * x if x else g * 0

    np.testing.assert_allclose(values(derivatives(Relu.apply, leaf(3.0))), [6.0, 2.0, 0.0])


def test_the_cut_of_one_call_does_not_touch_another():
    x = leaf(X)
    cut = operator(lambda ctx, g: g * ctx.saved_tensors[1].detach())
    (g,) = grad(cut.apply(x) + Square.apply(x), x, create_graph=True)
    with pytest.raises(DerivativeRefused):
        grad(g, x)
    (g,) = grad(Square.apply(x), x, create_graph=True)
    assert grad(g, x)[0].item() == 2.0


def test_the_remedy_works_a_backward_in_numpy_as_a_function_of_its_own():
    class Slope(pb.Function):
        @staticmethod
        def forward(ctx, x, g):
            ctx.save_for_backward(x, g)
            return pb.tensor(np.exp(x.numpy()) * g.numpy())

        @staticmethod
        def backward(ctx, h):
            x, g = ctx.saved_tensors
            return Slope.apply(x, g * h), Slope.apply(x, h)

    class Exponential(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return pb.tensor(np.exp(x.numpy()))

        @staticmethod
        def backward(ctx, g):
            return Slope.apply(*ctx.saved_tensors, g)

    np.testing.assert_allclose(values(derivatives(Exponential.apply, leaf(X), 4)), [E] * 4)
    x, w = leaf(X), leaf(2.0)
    (g,) = grad(Exponential.apply(x) * w, x, create_graph=True)
    np.testing.assert_allclose(values(grad(g, [x, w])), [2 * E, E])


def test_a_cut_in_a_nested_function_without_a_rule_of_its_own_is_not_forgiven():
    """The inner Function's own backward is what is asked; here it cuts as well."""
    inner = operator(lambda ctx, g: g * ctx.saved_tensors[1].detach())
    F = operator(lambda ctx, g: g * inner.apply(ctx.saved_tensors[0]))
    x = leaf(X)
    (g,) = grad(F.apply(x), x, create_graph=True)
    (h,) = grad(g, x, create_graph=True)
    np.testing.assert_allclose(h.item(), E)
    with pytest.raises(DerivativeRefused):
        grad(h, x)


def test_a_hook_may_look_at_its_gradient():
    seen = []
    x = leaf(X)
    y = pb.exp(x)
    y.register_hook(lambda g: seen.append(g.detach().item()))
    (g,) = grad(y, x, create_graph=True)
    np.testing.assert_allclose(grad(g, x)[0].item(), E)
    assert seen


# ------------------------------------------------------------------------------------------------ cuts inside forward
def forward_cut(keep):
    """exp(x) in NumPy; what backward multiplies by is kept by `keep(ctx, x, value)` and read back by ``ctx.read()``."""

    class Kept(pb.Function):
        @staticmethod
        def forward(ctx, x):
            value = np.exp(leave(x))
            keep(ctx, value)
            return pb.tensor(value)

        @staticmethod
        def backward(ctx, g):
            return g * read(ctx)

    leave, read = keep.leave, keep.read
    return Kept


def keeping(keep, read, leave=lambda x: x.numpy()):
    def kept(ctx, value):
        keep(ctx, value)

    kept.read, kept.leave = read, leave
    return kept


def put(ctx, value):
    ctx.kept = value


def quietly_numpy(x):
    with pb.no_grad():
        return x.numpy()


def loudly_numpy(x):
    with pb.enable_grad():
        return x.detach().numpy()


BARE = {
    "array": keeping(put, lambda ctx: ctx.kept),
    "scalar": keeping(lambda ctx, v: put(ctx, np.float64(v)), lambda ctx: ctx.kept),
    "float": keeping(lambda ctx, v: put(ctx, float(v)), lambda ctx: ctx.kept, lambda x: x.item()),
    "complex": keeping(lambda ctx, v: put(ctx, complex(v)), lambda ctx: ctx.kept.real, lambda x: x.item()),
    "list": keeping(lambda ctx, v: put(ctx, [1, float(v)]), lambda ctx: ctx.kept[1], lambda x: x.tolist()),
    "tuple": keeping(lambda ctx, v: put(ctx, (v,)), lambda ctx: ctx.kept[0], lambda x: np.asarray(x)),
    "dict": keeping(lambda ctx, v: put(ctx, {"v": v}), lambda ctx: ctx.kept["v"]),
    "nested": keeping(lambda ctx, v: put(ctx, {"v": [(v,)]}), lambda ctx: ctx.kept["v"][0][0]),
    "detach": keeping(put, lambda ctx: ctx.kept, lambda x: x.detach().numpy()),
    "data": keeping(put, lambda ctx: ctx.kept, lambda x: x.data.numpy()),
    "in no_grad": keeping(put, lambda ctx: ctx.kept, quietly_numpy),
    "in enable_grad": keeping(put, lambda ctx: ctx.kept, loudly_numpy),
    "float()": keeping(lambda ctx, v: put(ctx, float(v)), lambda ctx: ctx.kept, float),
}


@pytest.mark.parametrize("how", BARE)
def test_a_bare_value_on_ctx_that_forward_computed_outside_the_graph_is_refused(how):
    F = forward_cut(BARE[how])
    x = leaf(X)
    y = F.apply(x)
    y.backward()
    np.testing.assert_allclose(x.grad.item(), E)
    assert_refused(
        F.apply,
        leaf(X),
        "second derivative of Kept",
        "ctx.kept",
        notes=["silently wrong", "save_for_backward"],
        orders=(1, 2),
    )


def test_the_message_names_every_way_out_once():
    class Leaves(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = float(np.exp(x.numpy())) + 0 * x.item() + 0 * float(x.numpy())
            return pb.tensor(ctx.kept)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.kept

    x = leaf(X)
    (g,) = grad(Leaves.apply(x), x, create_graph=True)
    with teaches(DerivativeRefused, "numpy(), item()", "ctx.kept"):
        grad(g, x)


def test_integers_flags_shapes_and_arguments_on_ctx_are_no_trouble():
    class Plain(pb.Function):
        @staticmethod
        def forward(ctx, x, factor, table):
            ctx.shape, ctx.count, ctx.positive = x.shape, 3, bool(x.numpy() > 0)
            ctx.factor, ctx.table, ctx.mask = factor, table, x.numpy() > 0
            ctx.save_for_backward(x)
            return x * x * factor

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x * ctx.factor * float(ctx.table[0]), None, None

    table = np.ones(2)
    np.testing.assert_allclose(values(derivatives(lambda x: Plain.apply(x, 5.0, table), leaf(3.0))), [30.0, 10.0, 0.0])


def test_bare_constants_on_ctx_are_no_trouble_while_nothing_leaves_the_graph():
    class Plain(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.factor, ctx.table = 0.5, np.array([2.0])
            ctx.save_for_backward(x)
            return x * x * ctx.factor

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x * ctx.factor

    np.testing.assert_allclose(values(derivatives(Plain.apply, leaf(3.0))), [3.0, 1.0, 0.0])


class Box:
    """Any object of a user."""


class SlotBox:
    __slots__ = ("inner",)


def boxed(kind, value):
    box = kind()
    box.inner = value
    return box


def cyclic(value):
    first, second = Box(), Box()
    first.inner, first.other, second.other = value, second, first
    return second


def closure(value):
    return lambda: value


class LabelledList(list):
    """A container with attributes."""


def attribute_of(thing, value):
    thing.extra = value
    return thing


def local_class(value):
    class Local:
        extra = value

    return Local


def deep_list(value):
    for _ in range(5000):
        value = [value]
    return value


def bottom_of(value):
    while isinstance(value, list):
        (value,) = value
    return value


class LabelledText(str):
    pass


class LabelledNumber(float):
    pass


def weakly(e):
    key = Box()
    return key, weakref.WeakKeyDictionary({key: e})


CARRIERS = {
    "item": (lambda e: e.item(), lambda k: k),
    "float": (lambda e: float(e), lambda k: k),
    "numpy": (lambda e: e.numpy(), lambda k: k),
    "asarray": (lambda e: np.asarray(e) + 0, lambda k: k),
    "tolist": (lambda e: e.tolist(), lambda k: k),
    "dlpack": (lambda e: np.from_dlpack(e) + 0, lambda k: k),
    "detach": (lambda e: e.detach(), lambda k: k),
    "copy": (lambda e: pb.tensor(e), lambda k: k),
    "closure": (closure, lambda k: k()),
    "closure over a number": (lambda e: closure(e.item()), lambda k: k()),
    "nested closure": (lambda e: closure([closure(e)]), lambda k: k()[0]()),
    "default argument": (lambda e: lambda e=e: e, lambda k: k()),
    "partial": (lambda e: functools.partial(lambda a: a, e), lambda k: k()),
    "bound method": (lambda e: e.clone, lambda k: k()),
    "object": (lambda e: boxed(Box, e), lambda k: k.inner),
    "object with slots": (lambda e: boxed(SlotBox, e), lambda k: k.inner),
    "object in a list": (lambda e: [boxed(Box, e)], lambda k: k[0].inner),
    "objects in a circle": (cyclic, lambda k: k.other.inner),
    "object with a number": (lambda e: boxed(Box, e.item()), lambda k: k.inner),
    "dict key": (lambda e: {e: 1}, lambda k: next(iter(k))),
    "object array": (lambda e: np.array([e, None], dtype=object), lambda k: k[0]),
    "generator": (lambda e: (v for v in [e]), lambda k: next(k)),
    "iterator": (lambda e: iter([e]), lambda k: next(k)),
    "list beside a closure": (lambda e: [e * 0 + 1, closure(e)], lambda k: k[0] * k[1]()),
    "list beside a number": (lambda e: [e * 0 + 1, e.item()], lambda k: k[0] * k[1]),
    "container in an object": (lambda e: boxed(Box, {"a": [e]}), lambda k: k.inner["a"][0]),
    "object in an object": (lambda e: boxed(Box, boxed(SlotBox, (e,))), lambda k: k.inner.inner[0]),
    "UserDict": (lambda e: collections.UserDict(e=e), lambda k: k["e"]),
    "ChainMap": (lambda e: collections.ChainMap({}, {"e": e}), lambda k: k["e"]),
    "attribute of a list": (lambda e: attribute_of(LabelledList([1]), e), lambda k: k.extra),
    "attribute of a function": (lambda e: attribute_of(lambda: None, e), lambda k: k.extra),
    "attribute of a class": (lambda e: local_class(e), lambda k: k.extra),
    "instance of a class": (lambda e: local_class(e)(), lambda k: k.extra),
    "array.array": (lambda e: array.array("d", [e.item()]), lambda k: k[0]),
    "Fraction": (lambda e: fractions.Fraction(e.item()), lambda k: float(k)),
    "Fraction in a list": (lambda e: [fractions.Fraction(e.item())], lambda k: float(k[0])),
    "Decimal": (lambda e: decimal.Decimal(e.item()), lambda k: float(k)),
    "text": (lambda e: repr(e.item()), lambda k: float(k)),
    "text in a dict": (lambda e: {"e": repr(e.item())}, lambda k: float(k["e"])),
    "text as a key": (lambda e: {repr(e.item()): 1}, lambda k: float(next(iter(k)))),
    "bytes": (lambda e: e.numpy().tobytes(), lambda k: np.frombuffer(k)[0]),
    "memoryview": (lambda e: memoryview(e.numpy()), lambda k: np.asarray(k)[()]),
    "record array": (lambda e: np.rec.fromarrays([[e.item()]], names="a"), lambda k: k.a[0]),
    "structured scalar": (lambda e: np.array([(e.item(), 1)], dtype="f8,i8")[0], lambda k: k[0]),
    "bytes in an array": (lambda e: np.array([e.numpy().tobytes()]), lambda k: np.frombuffer(k[0].ljust(8, b"\0"))[0]),
    "text in an array": (lambda e: np.array([repr(e.item())]), lambda k: float(k[0])),
    "masked array": (lambda e: np.ma.array([e.item()]), lambda k: k[0]),
    "polynomial": (lambda e: np.poly1d([e.item()]), lambda k: k.coeffs[0]),
    "BytesIO": (lambda e: io.BytesIO(e.numpy().tobytes()), lambda k: np.frombuffer(k.getvalue())[0]),
    "StringIO": (lambda e: io.StringIO(repr(e.item())), lambda k: float(k.getvalue())),
    "ctypes": (lambda e: ctypes.c_double(e.item()), lambda k: k.value),
    "struct of ctypes": (lambda e: (ctypes.c_double * 2)(e.item(), 1.0), lambda k: k[0]),
    "text with attributes": (lambda e: LabelledText(repr(e.item())), lambda k: float(k)),
    "number with attributes": (lambda e: LabelledNumber(e.item()), lambda k: float(k)),
    "exception": (lambda e: ValueError(e.item()), lambda k: k.args[0]),
    "set": (lambda e: {(0, e), (1, e * 0 + 1)}, lambda k: dict(k)[0] * dict(k)[1]),
    "frozenset beside a number": (lambda e: [frozenset({(0, e), (1, e * 2)}), e.item()], lambda k: dict(k[0])[1] / 2),
    "complex number": (lambda e: complex(0.0, e.item()), lambda k: k.imag),
    "time": (lambda e: datetime.timedelta(seconds=e.item() * 1e5), lambda k: k.total_seconds() / 1e5),
    "weak dictionary": (weakly, lambda k: k[1][k[0]]),
    "cached function": (lambda e: functools.lru_cache(lambda: e), lambda k: k()),
    "a deep list": (lambda e: deep_list(e), lambda k: bottom_of(k)),
    "a long list": (lambda e: [None, 0.5, e] + [closure(1)] * (contents.LIMIT + 1), lambda k: k[2]),
}


@pytest.mark.parametrize("how", CARRIERS)
def test_values_carried_to_backward_by_anything_are_right_or_refused(how):
    pack, unpack = CARRIERS[how]

    class Carries(pb.Function):
        @staticmethod
        def forward(ctx, x):
            e = pb.exp(x)
            ctx.kept = pack(e)
            return e * 1

        @staticmethod
        def backward(ctx, g):
            return g * unpack(ctx.kept)

    x = leaf(X)
    Carries.apply(x).backward()
    np.testing.assert_allclose(x.grad.item(), E)
    x = leaf(X)
    try:
        (g,) = grad(Carries.apply(x), x, create_graph=True)
        (h,) = grad(g, x, create_graph=True)
        (k,) = grad(h, x)
    except DerivativeRefused as error:
        if "Carries" not in str(error):
            raise
        return
    np.testing.assert_allclose([h.item(), k.item()], [E, E])


def test_numbers_on_ctx_that_do_not_depend_on_the_data_are_no_trouble():
    class Plain(pb.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.alpha, ctx.table, ctx.f = 0.5, np.array([2.0]), lambda v: v * 2
            ctx.norm = float(np.sqrt(2.0))
            assert y.numpy() == 1.0
            assert x.numpy() > 0
            ctx.save_for_backward(x)
            return x * x * ctx.alpha

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.f(x) * ctx.alpha, None

    constant_in = pb.tensor(1.0)
    found = values(derivatives(lambda x: Plain.apply(x, constant_in), leaf(3.0)))
    np.testing.assert_allclose(found, [3.0, 1.0, 0.0])


def test_constants_of_any_kind_are_no_trouble_though_a_value_left_the_graph():
    class Plain(pb.Function):
        @staticmethod
        def forward(ctx, x):
            assert x.item() > 0
            ctx.mode, ctx.tag, ctx.raw = "conv2d", ["2d", {"2": 0.5}], b"raw"
            ctx.half, ctx.both, ctx.made = fractions.Fraction(1, 2), [x, 0.5, "1"], round(x.item())
            ctx.save_for_backward(x)
            return x * x * 0.5

        @staticmethod
        def backward(ctx, g):
            assert (ctx.mode, ctx.tag, ctx.raw) == ("conv2d", ["2d", {"2": 0.5}], b"raw")
            return g * 2 * ctx.both[0] * float(ctx.half) * (ctx.both[1] / 0.5)

    np.testing.assert_allclose(values(derivatives(Plain.apply, leaf(3.0))), [3.0, 1.0, 0.0])


def test_containers_with_the_like_of_tensors_and_closures_keep_their_versions():
    """A list with a closure in it is looked after like one without."""

    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.both = [x, lambda: None]
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.both[0]

    x = leaf(X)
    np.testing.assert_allclose(values(derivatives(Keeps.apply, x, 2)), [2 * X, 2.0])
    v = x * 1
    y = Keeps.apply(v)
    with pb.no_grad():
        v += 1
    with teaches(RuntimeError, "modified by an inplace operation", "ctx.both"):
        y.backward()


def test_a_random_value_beside_a_closure_is_refused():
    """The closure comes from the second run of forward, the Tensors are vouched for one by one."""

    class Noisy(pb.Function):
        @staticmethod
        def forward(ctx, x):
            noise.append(1.0)
            ctx.both = [x * sum(noise), closure(x * 2)]
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.both[0] * ctx.both[1]()

    noise, x = [], leaf(X)
    (g,) = grad(Noisy.apply(x), x, create_graph=True)
    assert g.item() == pytest.approx(2 * X * X)
    with teaches(DerivativeRefused, "Noisy", "ctx.both", notes=["other values"]):
        grad(g, x)


@pytest.mark.parametrize("kind", [pb.Function, pb.Primitive])
@pytest.mark.parametrize("how", ["objects", "lists", "Tensors", "numbers"])
def test_what_is_nested_deeply_is_no_trouble_at_first_order(kind, how):
    def forward(ctx, x):
        value = {"Tensors": x, "numbers": 0.5}.get(how)
        for _ in range(50_000):
            value = boxed(Box, value) if how == "objects" else [value]
        ctx.chain = value
        return x * 2

    def backward(ctx, g):
        chain.append(ctx.chain)  # taken apart below: the destructor of 50 000 objects is recursive, too
        return g * 2

    chain = []
    F = type("Deep", (kind,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
    x = leaf(X)
    F.apply(x).backward()
    assert x.grad.item() == 2.0
    (g,) = grad(F.apply(x), x, create_graph=True)
    try:
        assert grad(g, x)[0].item() == 0.0
    except DerivativeRefused as error:
        assert "Deep" in str(error)  # noqa: PT017 - either is right
    while chain:
        value = chain.pop()
        while value is not None and not isinstance(value, (float, pb.Tensor, np.ndarray)):
            value = value.inner if how == "objects" else value[0]


def test_long_lists_cost_little():
    """Of numbers they are not looked at one by one in Python, and of anything else only so many."""

    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.kept = kept
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(X)
    for kept in (  # noqa: B007 - forward reads it
        [0.5] * 500_000,
        dict.fromkeys(range(500_000), 0.5),
        [*[0.5] * 500_000, Box()],
    ):
        assert sum(calls_of(lambda: Keeps.apply(x)).values()) < 100
    kept = [[Box()] for _ in range(5)]
    for k in range(3 * contents.LIMIT):
        kept[k % 5].append(boxed(Box, Box()))
    assert sum(calls_of(lambda: Keeps.apply(x)).values()) < 20 * contents.LIMIT


def test_shared_containers_are_walked_once():
    """Each list holds the one before twice: 2²⁵ paths, 25 lists."""

    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x, given):
            e = pb.exp(x)
            ctx.kept, ctx.given = nested(e), given
            ctx.peers = peers[0]
            return e * 1

        @staticmethod
        def backward(ctx, g):
            return g * innermost(ctx.kept), None

    def nested(value):
        for _ in range(25):
            value = [value, value]
        return value

    def innermost(value):
        while isinstance(value, list):
            value = value[1]
        return value

    peers = [Box() for _ in range(15)]
    for peer in peers:
        peer.peers = peers
    x = leaf(X)
    start = time.perf_counter()
    Keeps.apply(x, nested(1)).backward()
    np.testing.assert_allclose(x.grad.item(), E)
    try:
        found = derivatives(lambda x: Keeps.apply(x, nested(pb.tensor(1.0))), x, 2)
        np.testing.assert_allclose(values(found), [E, E])
    except DerivativeRefused:
        pass
    assert time.perf_counter() - start < 2.0


def test_containers_that_contain_themselves():
    class Circular(pb.Function):
        @staticmethod
        def forward(ctx, x, given):
            e = pb.exp(x)
            ctx.kept = [e, given]
            ctx.kept.append(ctx.kept)
            ctx.table = {"e": e}
            ctx.table["self"] = ctx.table
            return e * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.kept[0] * ctx.table["e"] / ctx.table["e"], None

    given = [1]
    given.append(given)
    x = leaf(X)
    Circular.apply(x, given).backward()
    np.testing.assert_allclose(x.grad.item(), E)
    try:
        found = derivatives(lambda x: Circular.apply(x, given), x, 2)
    except DerivativeRefused:
        return
    np.testing.assert_allclose(values(found), [E, E])


# ------------------------------------------------------------------------------------------------ state outside ctx
class Outside:
    """State of a module."""

    value = None


class Property:
    """State behind a property."""

    inner = None

    @property
    def value(self):
        return Property.inner

    @value.setter
    def value(self, value):
        Property.inner = value


STORE = {}
RECENT = []
PROPERTY = Property()
ARRAY, ARRAYS = np.zeros(1), {"a": [np.zeros(())]}
BUFFER, BUFFERS = pb.zeros(()), {"b": pb.zeros(())}
CONSTANTS = {"one": pb.tensor(1.0), "layers": [pb.tensor([2.0])]}
ONE = pb.tensor(1.0)


def _store(value):
    STORE["helper"] = value


def _fill(x):
    ARRAY[:] = np.exp(x.numpy())


def _stored():
    return STORE["helper"]


def _global(x):
    global LAST
    LAST = pb.exp(x)


def _in_cell():
    value = None

    def leave(cls, x):
        nonlocal value
        value = pb.exp(x)

    return leave, lambda cls, ctx: value


OUTSIDE = {
    "dict": (lambda cls, x: STORE.update(v=pb.exp(x)), lambda cls, ctx: STORE["v"]),
    "dict, kept for long": (lambda cls, x: STORE.setdefault(id(x), pb.exp(x)), lambda cls, ctx: STORE[id(ctx.x)]),
    "list": (lambda cls, x: RECENT.append([pb.exp(x)]), lambda cls, ctx: RECENT[-1][0]),
    "variable": (lambda cls, x: _global(x), lambda cls, ctx: LAST),
    "closure": _in_cell(),
    "class": (lambda cls, x: setattr_on(Outside, pb.exp(x)), lambda cls, ctx: Outside.value),
    "helper": (lambda cls, x: _store(pb.exp(x)), lambda cls, ctx: _stored()),
    "array": (lambda cls, x: STORE.update(a=np.exp(x.numpy())), lambda cls, ctx: pb.asarray(STORE["a"])),
    "number": (lambda cls, x: STORE.update(n=pb.exp(x).item()), lambda cls, ctx: STORE["n"]),
    "buffer in a dict": (lambda cls, x: BUFFERS["b"].copy_(pb.exp(x)), lambda cls, ctx: BUFFERS["b"].clone()),
    "buffer": (lambda cls, x: BUFFER.copy_(pb.exp(x)), lambda cls, ctx: BUFFER.clone()),
    "property": (lambda cls, x: setattr_on(PROPERTY, pb.exp(x)), lambda cls, ctx: PROPERTY.value),
    "filled array": (lambda cls, x: _fill(x), lambda cls, ctx: pb.tensor(ARRAY[0])),
    "array to copy to": (lambda cls, x: np.copyto(ARRAY, np.exp(x.numpy())), lambda cls, ctx: pb.tensor(ARRAY[0])),
    "array for the result": (
        lambda cls, x: np.exp(x.numpy(), out=ARRAYS["a"][0]),
        lambda cls, ctx: pb.tensor(ARRAYS["a"][0]),
    ),
    "part of a buffer": (lambda cls, x: BUFFER[...].copy_(pb.exp(x)), lambda cls, ctx: BUFFER.clone()),
}


def setattr_on(owner, value):
    owner.value = value


@pytest.mark.parametrize("how", OUTSIDE)
def test_what_forward_leaves_outside_of_ctx_is_refused(how):
    leave, take = OUTSIDE[how]
    for buffer in (ARRAY, ARRAYS["a"][0]):
        buffer.fill(0)

    class Careless(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            with warnings.catch_warnings():
                leave(Careless, x)
            return pb.exp(x)

        @staticmethod
        def backward(ctx, g):
            return g * take(Careless, ctx)

    x = leaf(X)
    Careless.apply(x).backward()
    np.testing.assert_allclose(x.grad.item(), E)
    for _ in range(2):
        (g,) = grad(Careless.apply(x), x, create_graph=True)
        np.testing.assert_allclose(g.item(), E)
        with teaches(DerivativeRefused, "second derivative of Careless", "outside of ctx", notes=["save_for_backward"]):
            grad(g, x)


@pytest.mark.parametrize("how", ["type(ctx)", "its name", "its dict"])
def test_what_forward_leaves_on_the_class_is_refused(how):
    class Careless(pb.Function):
        table = {}  # noqa: RUF012

        @staticmethod
        def forward(ctx, x):
            if how == "type(ctx)":
                type(ctx).cached = pb.exp(x)
            elif how == "its name":
                Careless.cached = pb.exp(x)
            else:
                Careless.table["e"] = pb.exp(x)
            return pb.exp(x)

        @staticmethod
        def backward(ctx, g):
            if how == "type(ctx)":
                return g * type(ctx).cached
            return g * (Careless.cached if how == "its name" else Careless.table["e"])

    x = leaf(X)
    (g,) = grad(Careless.apply(x), x, create_graph=True)
    np.testing.assert_allclose(g.item(), E)
    with teaches(DerivativeRefused, "second derivative of Careless", "cached" if how != "its dict" else "table"):
        grad(g, x)


def test_constants_from_outside_are_no_trouble():
    """Also where they came to be between the calls, and beside counters, names, and what backward does not use."""

    class Scaled(pb.Function):
        half, history = pb.tensor(0.5), []

        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            COUNTS["calls"] += 1
            Scaled.history.append(x * 2)
            ctx.save_for_backward(x)
            return x * x * CONSTANTS["one"] * Scaled.half * 2 * ONE * CONSTANTS["layers"][0].sum() * SCALE

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            COUNTS["backward"] += 1
            assert ctx.shape == x.shape
            return g * 2 * x * CONSTANTS["one"] * Scaled.half * 2 * ONE * CONSTANTS["layers"][0].sum() * SCALE

    x = leaf(3.0)
    np.testing.assert_allclose(values(derivatives(Scaled.apply, x)), [12.0, 4.0, 0.0])
    CONSTANTS["one"], CONSTANTS["layers"] = pb.exp(pb.tensor(0.0)), [pb.tensor([1.0, 1.0])]
    np.testing.assert_allclose(values(derivatives(Scaled.apply, x)), [12.0, 4.0, 0.0])
    assert COUNTS["calls"] == 2


COUNTS = {"calls": 0, "backward": 0}
SCALE = 1.0


def test_arguments_may_be_kept_outside():
    """Their place in the graph is known, as is that of what forward recorded."""

    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x, w):
            with pb.enable_grad():
                STORE["arguments"] = x * 2, w
            return x * x * w

        @staticmethod
        def backward(ctx, g):
            twice, w = STORE["arguments"]
            return g * twice * w, None

    w = pb.tensor(2.0)
    np.testing.assert_allclose(values(derivatives(lambda x: Keeps.apply(x, w), leaf(3.0))), [12.0, 4.0, 0.0])


def test_state_of_a_base_class_and_of_its_helpers_is_seen():
    class Base(pb.Function):
        table = {}  # noqa: RUF012

        @staticmethod
        def _put(value):
            Base.table["e"] = value

        @staticmethod
        def backward(ctx, g):
            return g * ctx._forward_cls.table["e"]

    class Derived(Base):
        @staticmethod
        def forward(ctx, x):
            ctx._forward_cls._put(pb.exp(x))
            return pb.exp(x)

    x = leaf(X)
    (g,) = grad(Derived.apply(x), x, create_graph=True)
    with teaches(DerivativeRefused, "second derivative of Derived", "Base.table"):
        grad(g, x)


def test_large_state_is_not_looked_at_again_and_again():
    class Scaled(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * MANY.one

        @staticmethod
        def backward(ctx, g):
            return g * MANY.one

    x = leaf(3.0)
    np.testing.assert_allclose(values(derivatives(Scaled.apply, x, 2)), [1.0, 0.0])
    assert sum(calls_of(lambda: Scaled.apply(x)).values()) < 20


MANY = functools.reduce(lambda chain, _: boxed(Box, chain), range(1000), Box())
MANY.one = pb.tensor(1.0)


# ------------------------------------------------------------------------------------------------ once_differentiable
def once(kind):
    def backward(ctx, g):
        assert not pb.is_grad_enabled()
        return g * ctx.saved_tensors[1]

    def careless(function):
        def wrapped(*args):
            return function(*args)

        return wrapped

    def forward(ctx, x):
        y = pb.exp(x)
        ctx.save_for_backward(x, y)
        return y

    marked = pb.once_differentiable(backward)
    rules = {
        "static": {"backward": staticmethod(marked)},
        "plain": {"backward": marked},
        "class": {"backward": classmethod(pb.once_differentiable(lambda cls, ctx, g: backward(ctx, g)))},
        "outside of staticmethod": {"backward": pb.once_differentiable(staticmethod(backward))},
        "vjp": {"vjp": staticmethod(marked)},
        "behind another decorator": {"backward": staticmethod(careless(marked))},
        "helper": {"backward": staticmethod(lambda ctx, g: marked(ctx, g))},
    }
    return type("Once", (pb.Function,), {"forward": staticmethod(forward), **rules[kind]})


ONCE = ["static", "plain", "class", "outside of staticmethod", "vjp", "behind another decorator", "helper"]


@pytest.mark.parametrize("kind", ONCE)
def test_a_function_marked_as_once_differentiable_is_refused_on_every_route(kind):
    F = once(kind)
    x = leaf(X)
    F.apply(x).backward()
    np.testing.assert_allclose(x.grad.item(), E)
    words = "twice", "once_differentiable", "Once"
    assert_refused(F.apply, leaf(X), *words, notes=["wrong", "Function of its own"], kind=RuntimeError)


@pytest.mark.parametrize("kind", ONCE)
def test_once_differentiable_is_refused_though_the_seed_is_constant_and_the_slope_is_not_used(kind):
    """The holes of torch: a constant cotangent, and grad() that never reaches the delayed error."""
    x, w = leaf(X), leaf(2.0)
    (g,) = grad(once(kind).apply(x), x, pb.tensor(1.0), create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad(g, x)
    (g,) = grad(once(kind).apply(x) * w, x, create_graph=True)
    for target in (x, w):
        with pytest.raises(RuntimeError, match="once_differentiable"):
            grad(g, target, retain_graph=True)


def test_once_differentiable_keeps_none_and_several_gradients():
    class Two(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * 2

        @staticmethod
        @pb.once_differentiable
        def backward(ctx, g):
            """Docstring."""
            return g * 2, None

    assert Two.backward.__doc__ == "Docstring."
    a, b = leaf(1.0), leaf(1.0)
    assert values(grad(Two.apply(a, b), [a, b], create_graph=True, allow_unused=True)) == [2.0, None]


# ------------------------------------------------------------------------------------------------ constants
@pytest.mark.parametrize("seed", [None, "constant"])
def test_a_constant_derivative_is_differentiable_with_zero(seed):
    class Linear(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return g * 3

    class Const(Linear):
        @staticmethod
        def backward(ctx, g):
            return pb.tensor(3.0)

    for f in (Linear.apply, Const.apply, lambda x: x * 3, lambda x: x + x + x, lambda x: -x * -3):
        x = leaf(X)
        found = derivatives(f, x, 4)
        assert [g.item() for g in found] == [3.0, 0.0, 0.0, 0.0]
        assert all(g.requires_grad for g in found), "create_graph always gives differentiable results"
        (g,) = grad(f(x), x, None if seed is None else pb.tensor(1.0), create_graph=True)
        x.grad = None
        g.backward()
        assert x.grad is None or x.grad.item() == 0.0


def test_a_derivative_that_does_not_depend_on_one_of_the_inputs_has_a_zero_there():
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    gx, gw = grad(x * w, [x, w], pb.tensor([1.0, 1.0]), create_graph=True)
    hxx, hxw = grad(gx, [x, w], pb.tensor([1.0, 1.0]), retain_graph=True)
    np.testing.assert_array_equal(values([hxx, hxw]), [[0.0, 0.0], [1.0, 1.0]])
    (hww,) = grad(gw, w, pb.tensor([1.0, 1.0]), create_graph=True)
    np.testing.assert_array_equal(values([hww])[0], [0.0, 0.0])
    assert hww.requires_grad


def test_a_derivative_with_respect_to_something_else_stays_unused():
    x, w, other = leaf(1.0), leaf(2.0), leaf(3.0)
    (g,) = grad(x * w, x, create_graph=True)
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(g, other)


def test_constants_keep_shape_dtype_and_the_undefined():
    x = leaf(np.ones((2, 3)), dtype="float32")
    node = constant(pb.tensor(1.0), [x._resolved(), None]).grad_fn
    assert node.name() == "ConstantBackward"
    y = constant(pb.tensor(1.0), [x._resolved()])
    (g,) = grad(y, x)
    assert (g.shape, g.dtype) == ((2, 3), np.float32)
    assert not g.numpy().any()
    (g,) = grad(y, x, create_graph=True)
    assert g.requires_grad
    assert constant(pb.tensor(1.0), []).grad_fn is None

    class Cuts(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    Cuts.apply(y).backward()
    assert x.grad is None


def test_a_refusal_without_anything_to_reach_is_left_out():
    plain, node = pb.tensor(1.0), pb.sin(leaf(1.0)).grad_fn
    assert refused(plain, [None], node, "what", "why") is plain


# ------------------------------------------------------------------------------------------------ captured Tensors
WEIGHT = leaf(2.0)
WEIGHTS = [leaf(2.0)]
TABLE = {"w": leaf(2.0)}


class Holder:
    def __init__(self):
        self.weight = leaf(2.0)


HOLDER = Holder()


def helper(x):
    return x * WEIGHT


def capturing(compute):
    class Captures(pb.Function):
        @staticmethod
        def forward(ctx, x, *others):
            return compute(x, *others)

        @staticmethod
        def backward(ctx, g):
            return g, *[None] * (len(ctx.needs_input_grad) - 1)

    return Captures


@pytest.mark.parametrize(
    "read", ["operator", "quick operator", "Function", "Function of two", "Primitive", "Primitive with options", "view"]
)
def test_reading_a_differentiable_tensor_from_outside_warns_and_names_it(read):
    secret = leaf([2.0, 3.0])
    reads = {
        "operator": lambda: secret * 2,
        "quick operator": lambda: pb.exp(secret),
        "Function": lambda: Square.apply(secret),
        "Function of two": lambda: Product.apply(pb.tensor(1.0), secret),
        "Primitive": lambda: Total.apply(secret),
        "Primitive with options": lambda: Spread.apply(Total.apply(secret), shape=(2,)),
        "view": lambda: Item.apply(secret, index=0),
    }

    class Captures(pb.Function):
        @staticmethod
        def forward(ctx, x):
            secret  # noqa: B018 - so that it is a free variable of forward
            reads[read]()
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.warns(
        UserWarning, match=r"Captures\.forward uses the Tensor secret\b.*no gradient.*argument.*secret\.detach\(\)"
    ):
        Captures.apply(leaf(1.0))


@pytest.mark.parametrize(
    ("forward", "name"),
    [
        (lambda ctx, x: x * WEIGHT, "WEIGHT"),
        (lambda ctx, x: x * HOLDER.weight, "HOLDER.weight"),
        (lambda ctx, x: x * WEIGHTS[0], r"WEIGHTS\[0\]"),
        (lambda ctx, x: x * TABLE["w"], r"TABLE\['w'\]"),
        (lambda ctx, x: helper(x), "WEIGHT"),
    ],
    ids=["global", "attribute", "list", "dict", "helper"],
)
def test_captured_tensors_are_named_wherever_they_come_from(forward, name):
    Captures = type("Captures", (pb.Function,), {"forward": staticmethod(forward)})
    with pytest.warns(UserWarning, match=rf"Tensor {name}[ ,]"):
        Captures.apply(leaf(1.0))


def test_a_captured_tensor_without_a_name_still_warns():
    def make():
        hidden = leaf(2.0)
        return lambda: hidden

    fetch = {"calls": make()}["calls"]

    class Captures(pb.Function):
        @staticmethod
        def forward(ctx, x):
            return x * next(iter([fetch()]))

    with pytest.warns(UserWarning, match="uses the Tensor from outside"):
        Captures.apply(leaf(1.0))

    def multiply(other, ctx, x):
        return x * other()

    Partial = type("Partial", (pb.Function,), {"forward": staticmethod(functools.partial(multiply, make()))})
    with pytest.warns(UserWarning, match=r"Partial\.forward uses the Tensor"):
        Partial.apply(leaf(1.0))


def test_the_tensors_of_an_argument_object_are_named_by_the_argument():
    class Layer(pb.Function):
        @staticmethod
        def forward(ctx, x, module):
            return x * module.weight

        @staticmethod
        def backward(ctx, g):
            return g, None

    with pytest.warns(UserWarning, match=r"module\.weight"):
        Layer.apply(leaf(1.0), Holder())


def test_the_warning_points_at_the_line_that_reads():
    with pytest.warns(UserWarning, match="WEIGHT") as caught:
        capturing(lambda x: x * WEIGHT).apply(leaf(1.0))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("how", ["numpy", "asarray", "item"])
def test_a_captured_tensor_read_by_numpy_warns_too(how):
    reads = {"numpy": lambda: WEIGHT.numpy(), "asarray": lambda: np.asarray(WEIGHT), "item": lambda: WEIGHT.item()}
    with pytest.warns(UserWarning, match="WEIGHT"):
        capturing(lambda x: x * float(reads[how]())).apply(leaf(1.0))


def test_what_is_meant_or_made_inside_is_no_capture():
    frozen = pb.tensor(2.0)

    def compute(x, y):
        fresh = leaf(3.0)
        part = Item.apply(x, index=slice(0, 1))
        with pb.enable_grad():
            inner = leaf(1.0) * 2
            grad(inner * inner, inner)
        return x * y * frozen * WEIGHT.detach() * fresh.detach() * 1 + part

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        capturing(compute).apply(leaf([1.0]), leaf([2.0]))
        capturing(lambda x: x * x).apply(leaf([1.0]) * 2)


def test_a_leaf_made_during_forward_is_no_capture():
    def compute(x):
        fresh = leaf(3.0)
        return x * fresh

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        capturing(compute).apply(leaf(1.0))


# ------------------------------------------------------------------------------------------------ primitives
def primitive(backward, forward=None):
    def plain(ctx, x):
        ctx.save_for_backward(x)
        return ctx.xp.exp(x)

    space = {"forward": staticmethod(forward or plain), "backward": staticmethod(backward)}
    return type("Cutting", (pb.Primitive,), space)


@pytest.mark.parametrize("how", ["item", "float", "tolist"])
def test_a_number_taken_out_in_the_backward_of_a_primitive_is_refused(how):
    """These exist on arrays and Tensors alike, so the rule works at first order."""
    take = {"item": lambda x: x.item(), "float": float, "tolist": lambda x: x.tolist()}[how]
    P = primitive(lambda ctx, ct: ct * float(np.exp(take(ctx.saved_tensors[0]))))
    x = leaf(X)
    P.apply(x).backward()
    np.testing.assert_allclose(x.grad.item(), E)
    assert_refused(P.apply, leaf(X), "second derivative", "Cutting", orders=(1, 2))


def test_numpy_in_the_backward_of_a_primitive_is_refused():
    P = primitive(lambda ctx, ct: ct * np.exp(np.asarray(ctx.saved_tensors[0])))
    x = leaf(X)
    P.apply(x).backward()
    np.testing.assert_allclose(x.grad.item(), E)
    with pytest.raises(RuntimeError, match=r"NumPy array|second derivative"):
        derivatives(P.apply, x, 2)


@pytest.mark.parametrize("how", ["float", "saved float", "dict", "list"])
def test_bare_values_that_the_forward_of_a_primitive_keeps_are_refused(how):
    def forward(ctx, x):
        value = ctx.xp.exp(x)
        if how == "float":
            ctx.kept = float(value)
        elif how == "saved float":
            ctx.save_for_backward(float(value))
        elif how == "dict":
            ctx.kept = {"a": value * 1}
        else:
            ctx.kept = [value * 1]
        return value * 1

    def backward(ctx, ct):
        if how == "float":
            return ct * ctx.kept
        if how == "saved float":
            return ct * ctx.saved_tensors[0]
        return ct * (ctx.kept["a"] if how == "dict" else ctx.kept[0])

    P = primitive(backward, forward)
    x = leaf(X)
    P.apply(x).backward()
    np.testing.assert_allclose(x.grad.item(), E)
    (g,) = grad(P.apply(x), x, create_graph=True)
    try:
        (h,) = grad(g, x)
    except DerivativeRefused:
        return
    np.testing.assert_allclose(h.item(), E)


def test_numbers_that_a_primitive_keeps_without_having_looked_at_the_data_are_constants():
    class Scaled(pb.Primitive):
        @staticmethod
        def forward(ctx, x, *, factor):
            ctx.factor, ctx.count = factor, 3
            ctx.save_for_backward(x)
            return x * x * factor

        @staticmethod
        def backward(ctx, ct):
            (x,) = ctx.saved_tensors
            return ct * 2 * x * ctx.factor

    np.testing.assert_allclose(values(derivatives(lambda x: Scaled.apply(x, factor=0.5), leaf(3.0))), [3.0, 1.0, 0.0])


@pytest.mark.parametrize("how", ["dict", "class", "number", "argument"])
def test_what_the_forward_of_a_primitive_leaves_outside_of_ctx_is_refused(how):
    store = {}

    class Careless(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            if how == "class":
                Careless.kept = np.exp(x)
            else:
                store["e"] = x if how == "argument" else float(np.exp(x)) if how == "number" else np.exp(x)
            return ctx.xp.exp(x)

        @staticmethod
        def backward(ctx, ct):
            return ct * (Careless.kept if how == "class" else np.exp(store["e"]) if how == "argument" else store["e"])

    x = leaf(X)
    (g,) = grad(Careless.apply(x), x, create_graph=True)
    np.testing.assert_allclose(g.item(), E)
    with teaches(DerivativeRefused, "second derivative of Careless", notes=["outside of ctx"]):
        grad(g, x)


def test_constants_outside_of_a_primitive_are_no_trouble():
    table = {"half": np.array(0.5)}

    class Scaled(pb.Primitive):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x)
            table["w"] = w
            return x * x * table["half"]

        @staticmethod
        def backward(ctx, ct):
            (x,) = ctx.saved_tensors
            return ct * 2 * x * table["half"] * table["w"], None

    class Derived(Scaled):
        """Has a watch of its own."""

    w = np.array(1.0)
    for P in (Scaled, Derived):
        np.testing.assert_allclose(values(derivatives(lambda x, P=P: P.apply(x, w), leaf(3.0))), [3.0, 1.0, 0.0])


LEFT = {
    "array": (lambda ctx, e: setattr(ctx, "left", e), lambda ctx: ctx.left),
    "instead of None": (lambda ctx, e: setattr(ctx, "none", e), lambda ctx: ctx.none),
    "float": (lambda ctx, e: setattr(ctx, "left", float(e)), lambda ctx: ctx.left),
    "dict": (lambda ctx, e: setattr(ctx, "left", {"e": [e]}), lambda ctx: ctx.left["e"][0]),
    "in a dict of forward": (lambda ctx, e: ctx.table.update(e=e), lambda ctx: ctx.table["e"]),
    "object": (lambda ctx, e: setattr(ctx, "left", boxed(Box, e)), lambda ctx: ctx.left.inner),
    "beside an intermediate": (lambda ctx, e: setattr(ctx, "left", e), lambda ctx: ctx.left),
}


@pytest.mark.parametrize("how", LEFT)
def test_what_the_backward_of_a_primitive_leaves_on_ctx_is_right_or_refused(how):
    leave, read = LEFT[how]

    def forward(ctx, x):
        ctx.none, ctx.table = None, {}
        if how == "beside an intermediate":
            ctx.other = ctx.xp.exp(x)
        ctx.save_for_backward(x)
        return ctx.xp.exp(x)

    def backward(ctx, ct):
        if ctx.xp is np and not hasattr(ctx, "done"):
            ctx.done = True
            leave(ctx, np.exp(ctx.saved_tensors[0]))
        return ct * (read(ctx) if hasattr(ctx, "done") else ctx.xp.exp(ctx.saved_tensors[0]))

    P = primitive(backward, forward)
    x = leaf(X)
    np.testing.assert_allclose(values(derivatives(P.apply, leaf(X), 2)), [E, E])
    y = P.apply(x)
    np.testing.assert_allclose(grad(y, x, retain_graph=True)[0].item(), E)
    (g,) = grad(y, x, create_graph=True)
    with teaches(DerivativeRefused, "second derivative", "Cutting"):
        grad(g, x)


def test_constants_that_a_primitive_keeps_are_not_left_behind():
    class Scaled(pb.Primitive):
        @staticmethod
        def forward(ctx, x, table, *, factor):
            ctx.factor, ctx.table, ctx.half, ctx.both = factor, table, [factor], {"t": table}
            ctx.save_for_backward(x)
            return x * x * factor

        @staticmethod
        def backward(ctx, ct):
            (x,) = ctx.saved_tensors
            return ct * 2 * x * ctx.factor * ctx.table[0], None

    x, table = leaf(3.0), np.ones(2)
    y = Scaled.apply(x, table, factor=0.5)
    grad(y, x, retain_graph=True)
    (g,) = grad(y, x, create_graph=True)
    assert grad(g, x)[0].item() == 1.0


@pytest.mark.parametrize("how", ["Tensor", "float", "closure", "instead of a number"])
def test_what_the_backward_of_a_function_leaves_on_ctx_is_refused(how):
    class Leaves(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.alpha, ctx.beta = 0.5, 1.0
            ctx.save_for_backward(x)
            return pb.exp(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            if how == "instead of a number":
                ctx.beta = pb.exp(x).item() if ctx.beta == 1.0 else ctx.beta
                return g * ctx.beta
            if not hasattr(ctx, "left"):
                e = pb.exp(x)
                ctx.left = {"Tensor": e, "float": e.item(), "closure": closure(e)}[how]
            return g * (ctx.left() if how == "closure" else ctx.left) * (ctx.alpha * 2)

    x = leaf(X)
    y = Leaves.apply(x)
    grad(y, x, retain_graph=True)
    (g,) = grad(y, x, create_graph=True)
    with teaches(DerivativeRefused, "second derivative of Leaves"):
        grad(g, x)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_primitive_that_writes_into_its_cotangent_harms_nobody(create_graph):
    class Doubles(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, ct):
            ct *= 2
            return ct

    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    seed = pb.tensor([1.0, 10.0])
    try:
        found = values(grad(Doubles.apply(a) + b, [a, b], seed, create_graph=create_graph))
    except (ValueError, RuntimeError) as error:
        found = str(error)
    np.testing.assert_array_equal(seed.numpy(), [1.0, 10.0])
    if isinstance(found, str):
        assert "read-only" in found or "in-place" in found
    else:
        np.testing.assert_array_equal(found, [[2.0, 20.0], [1.0, 10.0]])


def test_seeds_and_ones_like_are_not_written():
    x = leaf([1.0, 2.0])
    seed = ones_like(x)
    y = x * 2
    grad(y + y + y, x, seed)
    np.testing.assert_array_equal(seed.numpy(), [1.0, 1.0])
