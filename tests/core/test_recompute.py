"""Values that forward computed and saved: right at every order, because forward is run again with recording on."""

import collections
import dataclasses
import random

import numpy as np
import pytest

import pullback as pb
from core.helpers import Exp, Item, Product, Square, derivatives, leaf, ones_like, teaches, values
from pullback.autograd import grad
from pullback.core.errors import DerivativeRefused

X = 0.4
S, C, E = np.sin(X), np.cos(X), np.exp(X)
#: sin(exp(x)) and its derivatives, the composition that the Functions below compute in one step.
TRUTH = [
    np.cos(E) * E,
    -np.sin(E) * E**2 + np.cos(E) * E,
    -np.cos(E) * E**3 - 3 * np.sin(E) * E**2 + np.cos(E) * E,
]

Pair = collections.namedtuple("Pair", ["first", "second"])


@dataclasses.dataclass
class Record:
    inner: object
    note: str = ""


def save(ctx, e):
    ctx.save_for_backward(e)


def keep_in(container):
    def keep(ctx, e):
        ctx.kept = container(e)

    return keep


def keep_two(ctx, e):
    ctx.kept, ctx.other, ctx.shape = e, pb.tensor(1.0), e.shape


READ = {
    "two attributes": (keep_two, lambda ctx: ctx.kept * ctx.other),
    "saved": (save, lambda ctx: ctx.saved_tensors[0]),
    "attribute": (keep_in(lambda e: e), lambda ctx: ctx.kept),
    "list": (keep_in(lambda e: [1, e]), lambda ctx: ctx.kept[1]),
    "tuple": (keep_in(lambda e: (e, None)), lambda ctx: ctx.kept[0]),
    "dict": (keep_in(lambda e: {"e": e}), lambda ctx: ctx.kept["e"]),
    "nested": (keep_in(lambda e: {"a": [0, (e,)]}), lambda ctx: ctx.kept["a"][1][0]),
    "set": (keep_in(lambda e: {e}), lambda ctx: next(iter(ctx.kept))),
    "namedtuple": (keep_in(lambda e: Pair(e, 1)), lambda ctx: ctx.kept.first),
    "OrderedDict": (keep_in(lambda e: collections.OrderedDict(e=e)), lambda ctx: ctx.kept["e"]),
    "deque": (keep_in(lambda e: collections.deque([e])), lambda ctx: ctx.kept[0]),
    "dataclass": (keep_in(lambda e: Record(e)), lambda ctx: ctx.kept.inner),
}


def composed(keep, read, separate=False):
    """sin(exp(x)), whose forward keeps the intermediate exp(x)."""
    if separate:

        class Composed(pb.Function):
            @staticmethod
            def forward(x):
                e = pb.exp(x)
                return pb.sin(e), e * 1

            @staticmethod
            def setup_context(ctx, inputs, output):
                keep(ctx, output[1] * 1)

            @staticmethod
            def backward(ctx, g, h):
                e = read(ctx)
                return g * pb.cos(e) * e + h * e

        return lambda x: Composed.apply(x)[0]

    class Composed(pb.Function):
        @staticmethod
        def forward(ctx, x):
            e = pb.exp(x)
            keep(ctx, e)
            return pb.sin(e)

        @staticmethod
        def backward(ctx, g):
            e = read(ctx)
            return g * pb.cos(e) * e

    return Composed.apply


@pytest.mark.parametrize("separate", [False, True], ids=["combined", "separate"])
@pytest.mark.parametrize("how", READ)
def test_a_saved_intermediate_is_right_to_the_third_order(how, separate):
    found = derivatives(composed(*READ[how], separate), leaf(X))
    np.testing.assert_allclose(values(found), TRUTH, rtol=1e-12)


@pytest.mark.parametrize("how", READ)
def test_a_saved_intermediate_costs_nothing_at_first_order(how):
    runs = []
    keep, read = READ[how]

    def counting(ctx, e):
        runs.append(1)
        keep(ctx, e)

    x = leaf(X)
    y = composed(counting, read)(x)
    y.backward()
    np.testing.assert_allclose(x.grad.item(), TRUTH[0])
    assert len(runs) == 1
    y = composed(counting, read)(x)
    grad(y, x, create_graph=True)
    assert len(runs) == 3, "one call, and one more with recording on"


def test_the_containers_of_the_user_are_left_alone():
    made = []

    def keep(ctx, e):
        ctx.kept = {"e": e, "n": [e, 1]}
        made.append((ctx.kept, e))

    x = leaf(X)
    grad(composed(keep, lambda ctx: ctx.kept["e"])(x), x, create_graph=True)
    container, e = made[0]
    assert container == {"e": e, "n": [e, 1]}


def test_mixed_with_inputs_and_outputs_every_place_is_right():
    class Mixed(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            e = pb.exp(a)
            y = e * b
            ctx.save_for_backward(b, e, None, y)
            ctx.parts = [a, e * b * b]
            return y

        @staticmethod
        def backward(ctx, g):
            b, e, _, y = ctx.saved_tensors
            a, ebb = ctx.parts
            assert a.requires_grad
            return g * ebb / b, g * e * (y / y)

    a, b = leaf(X), leaf(2.0)
    y = Mixed.apply(a, b)
    ga, gb = grad(y, [a, b], create_graph=True)
    np.testing.assert_allclose(values([ga, gb]), [2 * E, E])
    np.testing.assert_allclose(values(grad(ga, [a, b], create_graph=True)), [2 * E, E])
    haa, hab = grad(gb, [a, b], create_graph=True)
    np.testing.assert_allclose(values([haa, hab]), [E, 0.0], atol=1e-15)
    np.testing.assert_allclose(values(grad(haa, [a, b])), [E, 0.0], atol=1e-15)


def test_shapes_and_other_arguments_are_the_same_in_the_second_run():
    seen = []

    class Scaled(pb.Function):
        @staticmethod
        def forward(ctx, x, factor, options):
            seen.append((x, factor, options, ctx.needs_input_grad, pb.is_grad_enabled()))
            e = pb.exp(x) * factor
            ctx.save_for_backward(e)
            return e * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None, None

    x, options = leaf([X, 1.0]), {"a": 1}
    y = Scaled.apply(x, 3.0, options)
    (g,) = grad(y, x, ones_like(y), create_graph=True)
    np.testing.assert_allclose(values(grad(g, x, ones_like(g)))[0], 3 * np.exp([X, 1.0]))
    assert seen[0][:4] == seen[1][:4]
    assert seen[0][0] is seen[1][0]
    assert seen[0][2] is seen[1][2]
    assert [run[4] for run in seen] == [False, True]


def test_intermediates_of_primitives_are_right_to_the_third_order():
    class Composed(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            e = ctx.xp.exp(x)
            ctx.save_for_backward(e)
            ctx.slope = ctx.xp.cos(e)
            return ctx.xp.sin(e)

        @staticmethod
        def backward(ctx, ct):
            (e,) = ctx.saved_tensors
            return ct * ctx.slope * e

    np.testing.assert_allclose(values(derivatives(Composed.apply, leaf(X))), TRUTH, rtol=1e-12)
    x = leaf(X)
    Composed.apply(x).backward()
    np.testing.assert_allclose(x.grad.item(), TRUTH[0])


def test_intermediates_that_depend_on_nothing_are_constants():
    """A table, a random mask: they come out the same in the second run, or they carry no derivative at all."""

    class Weighted(pb.Function):
        @staticmethod
        def forward(ctx, x):
            weights = pb.tensor([2.0, 3.0])
            mask = pb.tensor(np.random.default_rng().random(2) < 2)
            ctx.save_for_backward(x, weights, mask)
            return x * x * weights

        @staticmethod
        def backward(ctx, g):
            x, weights, mask = ctx.saved_tensors
            assert mask.dtype == bool
            return g * 2 * x * weights

    x = leaf([1.0, 2.0])
    first, second, third = values(derivatives(Weighted.apply, x))
    np.testing.assert_array_equal(first, [4.0, 12.0])
    np.testing.assert_array_equal(second, [4.0, 6.0])
    np.testing.assert_array_equal(third, [0.0, 0.0])


def test_views_of_inputs_are_intermediates_too():
    class FirstSquared(pb.Function):
        @staticmethod
        def forward(ctx, x):
            first = Item.apply(x, index=slice(0, 1))
            ctx.save_for_backward(first)
            return first * first

        @staticmethod
        def backward(ctx, g):
            (first,) = ctx.saved_tensors
            return Place.apply(g * 2 * first, index=slice(0, 1), shape=(2,))

    from core.helpers import Place

    x = leaf([3.0, 4.0])
    y = FirstSquared.apply(x)
    (g,) = grad(y, x, ones_like(y), create_graph=True)
    (h,) = grad(g, x, ones_like(g))
    np.testing.assert_array_equal(values([g, h]), [[6.0, 0.0], [2.0, 0.0]])


def test_a_function_whose_forward_uses_functions_with_intermediates():
    inner = composed(*READ["saved"])

    class Outer(pb.Function):
        @staticmethod
        def forward(ctx, x):
            s = inner(x)
            ctx.save_for_backward(x, s)
            return s * s

        @staticmethod
        def backward(ctx, g):
            x, s = ctx.saved_tensors
            e = pb.exp(x)
            return g * 2 * s * pb.cos(e) * e

    x = leaf(X)
    found = values(derivatives(Outer.apply, x))
    expected = values(derivatives(lambda x: pb.sin(pb.exp(x)) * pb.sin(pb.exp(x)), x))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_an_intermediate_given_out_as_an_output_needs_no_second_run():
    runs = []

    class Both(pb.Function):
        @staticmethod
        def forward(ctx, x):
            runs.append(1)
            e = pb.exp(x)
            ctx.save_for_backward(e)
            return pb.sin(e), e

        @staticmethod
        def backward(ctx, g, h):
            (e,) = ctx.saved_tensors
            return (g * pb.cos(e) + h) * e

    np.testing.assert_allclose(values(derivatives(lambda x: Both.apply(x)[0], leaf(X))), TRUTH, rtol=1e-12)
    assert len(runs) == 1


# ------------------------------------------------------------------------------------- when the second run cannot vouch
REMEDIES = ["save inputs or outputs", "extra output", "Function of its own"]


def saving(compute, result=lambda x, kept: kept * 1):
    """A Function that saves ``compute(x)`` and whose backward multiplies by it."""

    class Saving(pb.Function):
        @staticmethod
        def forward(ctx, x):
            kept = compute(x)
            ctx.save_for_backward(kept)
            return result(x, kept)

        @staticmethod
        def backward(ctx, g):
            (kept,) = ctx.saved_tensors
            return g * kept

    return Saving


def inner_graph(x):
    """d/dx exp(x), from a graph inside forward."""
    with pb.enable_grad():
        inner = leaf(x.item())
        return grad(pb.exp(inner), inner)[0]


CUTS = {
    "detach": (lambda x: pb.exp(x.detach()), "detach"),
    "numpy": (lambda x: pb.tensor(np.exp(x.numpy())), "numpy"),
    "asarray": (lambda x: pb.tensor(np.exp(np.asarray(x))), "asarray"),
    "data": (lambda x: pb.exp(x.data), "data"),
    "item": (lambda x: pb.tensor(float(np.exp(x.item()))), "item"),
    "float": (lambda x: pb.tensor(np.exp(float(x))), "float"),
    "tolist": (lambda x: pb.tensor(np.exp(x.tolist())), "tolist"),
    "copy": (lambda x: pb.tensor(pb.exp(x)), "tensor"),
    "no_grad": (lambda x: quietly(pb.exp, x), "no_grad"),
    "inner graph": (inner_graph, ""),
    "inner grad": (lambda x: inner_without_recording(x), "grad"),
    "detached in place": (lambda x: (x * 1).detach_() + 0 * x, "detach_"),
}


def quietly(f, x):
    with pb.no_grad():
        return f(x)


def inner_without_recording(x):
    with pb.enable_grad():
        return grad(pb.exp(x), x)[0]


@pytest.mark.parametrize("how", CUTS)
def test_an_intermediate_that_left_the_graph_is_refused_at_second_order(how):
    compute, word = CUTS[how]
    x = leaf(X)
    y = saving(compute).apply(x)
    (g,) = grad(y, x, create_graph=True)
    assert np.isfinite(g.item()), "the first derivative is right and is given"
    asks = [
        lambda: grad(g, x, retain_graph=True),
        lambda: g.backward(retain_graph=True),
        lambda: grad(g, x, create_graph=True),
        lambda: grad(g * g, x, retain_graph=True),
    ]
    for ask in asks:
        with teaches(
            DerivativeRefused,
            "Saving.forward saved value 0 for backward",
            "neither an input nor an output",
            "second derivative",
            notes=[word, "silently wrong", *REMEDIES],
        ) as caught:
            ask()
        assert caught.value.node.name() == "Error"
    assert x.grad is None


def test_a_refusal_waits_until_somebody_asks():
    x, w = leaf(X), leaf(3.0)
    y = saving(CUTS["detach"][0]).apply(x) * w
    gx, gw = grad(y, [x, w], create_graph=True)
    assert gx.requires_grad
    np.testing.assert_allclose(values(grad([gx, gw], w, retain_graph=True)), [E])
    np.testing.assert_allclose(values(grad(gw, x, retain_graph=True)), [E])
    with pytest.raises(DerivativeRefused):
        grad(gx, x, retain_graph=True)
    with pytest.raises(DerivativeRefused):
        (gx + gw).backward()


def test_a_refused_value_infects_only_what_uses_it():
    class Two(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b, pb.exp(a.detach()))
            return pb.exp(a) * b

        @staticmethod
        def backward(ctx, g):
            a, b, e = ctx.saved_tensors
            return g * pb.exp(a) * b, g * e

    a, b = leaf(X), leaf(2.0)
    ga, gb = grad(Two.apply(a, b), [a, b], create_graph=True)
    np.testing.assert_allclose(values(grad(ga, [a, b], retain_graph=True)), [2 * E, E])
    with pytest.raises(DerivativeRefused):
        grad(gb, a)


@pytest.mark.parametrize("source", ["random", "counter", "global"])
def test_a_forward_that_does_not_repeat_itself_is_refused(source):
    state = [0.0]

    def compute(x):
        if source == "random":
            factor = random.random()
        elif source == "counter":
            state[0] += 1
            factor = state[0]
        else:
            factor = state[0]
        return x * pb.tensor(factor)

    x = leaf(X)
    y = saving(compute).apply(x)
    if source == "global":
        state[0] = 5.0
    (g,) = grad(y, x, create_graph=True)
    with teaches(DerivativeRefused, "value 0 for backward", notes=["other values", "random", *REMEDIES]):
        grad(g, x)


def test_a_random_constant_of_the_same_value_is_no_trouble():
    """Only values are compared: reseeding makes forward repeat itself."""

    def compute(x):
        return x * pb.tensor(np.random.default_rng(3).random())

    x = leaf(X)
    np.testing.assert_allclose(values(derivatives(saving(compute).apply, x, 2))[1], np.random.default_rng(3).random())


def test_nan_repeats_itself():
    x = leaf(X)

    class NotANumber(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * float("nan"))
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, _ = ctx.saved_tensors
            return g * 2 * x

    assert values(derivatives(NotANumber.apply, x, 2))[1] == 2.0


def test_a_forward_that_cannot_run_again_is_refused_with_the_reason():
    runs = []

    def compute(x):
        runs.append(1)
        if len(runs) > 1:
            raise KeyError("only once")
        return pb.exp(x)

    x = leaf(X)
    (g,) = grad(saving(compute).apply(x), x, create_graph=True)
    with teaches(DerivativeRefused, "Saving.forward", notes=["with recording on", "KeyError", "only once", *REMEDIES]):
        grad(g, x)


def test_a_forward_that_refuses_recorded_tensors_is_refused_with_the_reason():
    def compute(x):
        if x.requires_grad and pb.is_grad_enabled():
            raise RuntimeError("I want plain values")
        return pb.exp(x)

    x = leaf(X)
    (g,) = grad(saving(compute).apply(x), x, create_graph=True)
    with teaches(DerivativeRefused, notes=["I want plain values"]):
        grad(g, x)


def test_a_forward_that_writes_into_its_input_cannot_run_again():
    class Writes(pb.Function):
        @staticmethod
        def forward(ctx, x):
            x *= 2
            ctx.mark_dirty(x)
            ctx.save_for_backward(pb.exp(x))
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2 + 0 * ctx.saved_tensors[0]

    x = leaf(X)
    (g,) = grad(Writes.apply(x * 1), x, create_graph=True)
    with teaches(DerivativeRefused, "Writes.forward", notes=["wrote into its arguments"]):
        grad(g, x)


def test_a_forward_that_writes_into_what_it_made_runs_again():
    def compute(x):
        parts = pb.zeros(2)
        parts[0] = x
        parts[1:] += pb.exp(x)
        parts[1] *= x
        return parts.sum() * 1

    x = leaf(X)
    made = derivatives(saving(compute).apply, x, 2)
    direct = derivatives(saving(lambda x: x + x * pb.exp(x)).apply, x, 2)
    np.testing.assert_allclose(values(made), values(direct))


def test_a_forward_that_writes_into_what_it_made_and_keeps_it_runs_again():
    class Writes(pb.Function):
        @staticmethod
        def forward(ctx, x):
            cube = pb.ones(())
            cube *= x
            cube *= x
            ctx.square = cube * 1
            ctx.save_for_backward(cube)
            return cube * x

        @staticmethod
        def backward(ctx, g):
            (square,) = ctx.saved_tensors
            return g * (2 * square + ctx.square)

    np.testing.assert_allclose(values(derivatives(Writes.apply, leaf(X), 3)), [3 * X**2, 6 * X, 6])


def test_a_forward_that_writes_into_a_tensor_from_outside_does_not_write_again():
    calls = pb.zeros(())

    def compute(x):
        calls.__iadd__(1)
        return pb.exp(x)

    x = leaf(X)
    (g,) = grad(saving(compute).apply(x), x, create_graph=True)
    with teaches(DerivativeRefused, notes=["wrote into a Tensor that it did not make"]):
        grad(g, x)
    assert calls.item() == 1


def test_a_number_that_stays_where_all_inputs_move_alike_is_no_constant():
    class Ratio(pb.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.ratio = (a.item() + 1) / (b.item() + 1)
            ctx.save_for_backward(b)
            return (a + 1) / (b + 1)

        @staticmethod
        def backward(ctx, g):
            (b,) = ctx.saved_tensors
            return g / (b + 1), -g * ctx.ratio / (b + 1)

    a, b = leaf(3.0), leaf(1.0)
    found = grad(Ratio.apply(a, b), (a, b), create_graph=True)
    with teaches(DerivativeRefused, "ctx.ratio"):
        grad(sum(found), b)


def test_a_mask_from_data_is_a_constant_around_the_point():
    class Gate(pb.Function):
        @staticmethod
        def forward(ctx, x):
            mask = pb.astype(x.detach() > 0, pb.float64)
            ctx.save_for_backward(x, mask)
            return x * x * mask

        @staticmethod
        def backward(ctx, g):
            x, mask = ctx.saved_tensors
            return 2 * g * x * mask

    np.testing.assert_allclose(values(derivatives(Gate.apply, leaf(X), 2)), [2 * X, 2])


def test_what_is_written_after_it_was_saved_by_an_operator_is_remembered_in_a_second_run():
    def compute(x):
        p = pb.exp(x)
        q = p * x
        r = p.reshape(1)
        r[0] -= x
        p *= q
        return p * 1

    x = leaf(X)
    direct = derivatives(saving(lambda x: (pb.exp(x) - x) * (pb.exp(x) * x)).apply, x, 3)
    np.testing.assert_allclose(values(derivatives(saving(compute).apply, x, 3)), values(direct))


def test_what_backward_writes_after_an_operator_saved_it_is_remembered():
    class Exp(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return pb.exp(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            slope = pb.exp(x)
            slope *= g
            return slope

    np.testing.assert_allclose(values(derivatives(Exp.apply, leaf(X), 4)), [np.exp(X)] * 4)


def test_an_input_changed_since_is_no_input_for_a_second_run():
    x = leaf(X)
    a = x * 1
    y = saving(pb.exp).apply(a)
    with pb.no_grad():
        a += 1
    with pytest.raises(RuntimeError) as caught:
        derivatives(lambda x: y, x, 2)
    assert "modified by an inplace operation" in str(caught.value) + "".join(caught.value.__notes__)
    np.testing.assert_allclose(grad(saving(pb.exp).apply(x), x)[0].item(), E)


def test_an_intermediate_that_the_second_run_does_not_save():
    runs = []

    class Forgets(pb.Function):
        @staticmethod
        def forward(ctx, x):
            runs.append(1)
            if len(runs) == 1:
                ctx.save_for_backward(pb.exp(x))
                ctx.kept = pb.exp(x)
            return pb.exp(x)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0] * ctx.kept

    x = leaf(X)
    (g,) = grad(Forgets.apply(x), x, create_graph=True)
    with teaches(DerivativeRefused, "Forgets.forward", notes=["did not produce it"]):
        grad(g, x)


def test_a_value_on_ctx_is_named():
    class Keeps(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.curvature = pb.exp(x.detach())
            return pb.exp(x)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.curvature

    x = leaf(X)
    (g,) = grad(Keeps.apply(x), x, create_graph=True)
    with teaches(DerivativeRefused, "Keeps.forward", "ctx.curvature", notes=REMEDIES):
        grad(g, x)


def test_the_same_of_primitives():
    class Random(pb.Primitive):
        @staticmethod
        def forward(ctx, x, *, use):
            ctx.save_for_backward(x * random.random())
            ctx.noise, ctx.use = x * random.random(), use
            return x * 1

        @staticmethod
        def backward(ctx, ct):
            return ct * (ctx.saved_tensors[0] if ctx.use == "saved" else ctx.noise)

    for use, name in (("saved", "value 0 for backward"), ("ctx", "ctx.noise")):
        x = leaf(X)
        (g,) = grad(Random.apply(x, use=use), x, create_graph=True)
        with teaches(DerivativeRefused, "Random.forward", name, notes=["other values", *REMEDIES]):
            grad(g, x)


def test_a_dtype_that_carries_no_derivative_needs_no_second_run():
    runs = []

    class Signs(pb.Function):
        @staticmethod
        def forward(ctx, x):
            runs.append(1)
            ctx.save_for_backward(x, pb.tensor(np.array(x.numpy() > 0)))
            ctx.count = pb.tensor(3)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(X)
    grad(Signs.apply(x), x, create_graph=True)
    assert len(runs) == 1


def test_a_second_run_keeps_nothing_alive(monkeypatch):
    """After the recorded pass the values of the second run belong to the graph of the gradient alone."""
    import weakref

    from core.helpers import without_gc

    with without_gc():
        x = leaf(X)
        y = composed(*READ["dict"])(x)
        (g,) = grad(y, x, create_graph=True)
        node, inner = weakref.ref(y.grad_fn), weakref.ref(g.grad_fn)
        del y, g
        assert node() is None
        assert inner() is None


def test_arguments_are_kept_only_when_there_is_an_intermediate():
    import weakref

    def kept(operator):
        a, w = leaf(X) * 1, leaf(2.0)
        reference = weakref.ref(a)
        y = operator.apply(a, w)
        del a
        return reference() is not None and y is not None

    class UsesOne(pb.Function):
        @staticmethod
        def forward(ctx, a, w):
            ctx.save_for_backward(w)
            return a * w

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], None

    class SavesIntermediate(UsesOne):
        @staticmethod
        def forward(ctx, a, w):
            ctx.save_for_backward(w * 1)
            return a * w

    assert not kept(UsesOne)
    assert kept(Product)
    assert kept(SavesIntermediate)
    assert Square is not Exp


def test_what_leaves_the_graph_in_the_forward_of_an_inner_function_is_its_own_business():
    class Inner(pb.Function):
        @staticmethod
        def forward(ctx, x):
            with pb.no_grad():
                y = x * x
            with pb.enable_grad():
                constant = x.detach() * 0
            ctx.save_for_backward(x)
            return y * x + constant.detach()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * g * x * x

    class Outer(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x * x / 4

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * Inner.apply(x)

    np.testing.assert_allclose(values(derivatives(Outer.apply, leaf(X), 3)), [X**3, 3 * X**2, 6 * X])
