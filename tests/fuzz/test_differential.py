"""Random programs, checked against finite differences, against the same program written another way, and against torch."""

import random
import re
import textwrap

import numpy as np
import pytest

import pullback as pb
from fuzz.programs import OPERATIONS, TRANSFORMS, WRITES, Program
from pullback.autograd import backward, grad
from pullback.core import recycling

#: Words of the errors that say why a program has no (further) derivative.
REASONS = (
    "modified by an inplace operation",
    "leaf Variable that requires grad",
    "is a view and is being modified",
    "refused",
)


def close(found, expected, scale=1e-4):
    return abs(found - expected) <= scale * max(1.0, abs(expected))


def check(program, orders=3):
    """Every order agrees with differences of the one before, as far as those can tell; True when something was compared."""
    compared = False
    for order in range(1, orders + 1):
        coarse, fine = program.difference(order, 1e-5), program.difference(order, 3e-6)
        if not np.isfinite(fine) or abs(fine) > 1e5 or not close(coarse, fine, 1e-3):
            break  # near a kink, or too steep
        found = program.directional(order, program.point)
        assert close(found, fine) or close(found, coarse), f"order {order}: {found}, differences {fine}\n{program}"
        compared = True
    return compared


@pytest.mark.parametrize("start", range(0, 96, 24))
def test_derivatives_to_third_order_are_those_of_finite_differences(start):
    """Operators, rules, views, writes and nested transforms in any mixture: right, or refused with a reason."""
    compared = 0
    for seed in range(start, start + 24):
        program = Program(seed)
        try:
            compared += check(program)
        except RuntimeError as error:
            if not any(reason in str(error) for reason in REASONS):
                raise AssertionError(str(program)) from error
    assert compared >= 12


def test_programs_of_transforms_alone_agree_with_finite_differences():
    """Transforms of transforms, their arguments derivatives themselves."""
    compared = [check(Program(seed, OPERATIONS, (TRANSFORMS,), longest=4), orders=2) for seed in range(500, 524)]
    assert sum(compared) >= 16


# --------------------------------------------------------------------------- the same function, written in several ways
FUNCTIONS = {
    "sin": ("xp.sin({0})", "xp.cos({0})"),
    "exp": ("xp.exp({0})", "xp.exp({0})"),
    "cube": ("{0} ** 3", "3 * {0} ** 2"),
    "root": ("xp.sqrt({0} * {0} + 1)", "{0} / xp.sqrt({0} * {0} + 1)"),
}
#: forward and backward of ``f(a) * b + g(b)``; F, DF, G, DG stand for f(a), f'(a), g(b), g'(b).
STYLES = {
    "inputs saved": ("save(a, b); return F * b + G", "a, b = saved(); return g * DF * b, g * (F + DG)"),
    "intermediates saved": (
        "p = F; d = DF; save(p, d, b); return p * b + G",
        "p, d, b = saved(); return g * d * b, g * (p + DG)",
    ),
    "attributes": ("ctx.a = a; ctx.c = {'b': b}; return F * b + G", "a, b = ctx.a, ctx.c['b']; return g * DF * b, g * (F + DG)"),
    "intermediate attributes": (
        "ctx.p = (F, [DF * b]); save(b); return ctx.p[0] * b + G",
        "(b,) = saved(); p, (d,) = ctx.p; return g * d, g * (p + DG)",
    ),
    "output saved": ("y = F * b; save(a, b, y); return y + G", "a, b, y = saved(); return g * DF * b, g * (y / b + DG)"),
    "flags": (
        "save(a, b); return F * b + G",
        "a, b = saved(); n = ctx.needs_input_grad; return (g * DF * b if n[0] else None), (g * (F + DG) if n[1] else None)",
    ),
    "two outputs": ("save(a, b); return F * b, G", "a, b = saved(); return g * DF * b, g * F + h * DG"),
    "returned twice": ("y = F * b + G; save(a, b); return y, y", "a, b = saved(); return (g + h) * DF * b, (g + h) * (F + DG)"),
    "returned twice and saved": (
        "y = F * b; save(a, b, y); return y, y",
        "a, b, y = saved(); return (g + h) * DF * b, (g + h) * y / b",
    ),
    "an input returned": ("save(a, b); return a, F * b + G - a", "a, b = saved(); return g + h * (DF * b - 1), h * (F + DG)"),
}  # fmt: skip


#: Where f(a) * b + g(b) is the sum of the two outputs.
ADDED = ("two outputs", "an input returned")


def written(style, kind, f, g):
    """A class in one of the `STYLES`, as text."""
    parts = {
        "F": FUNCTIONS[f][0].format("a"),
        "DF": FUNCTIONS[f][1].format("a"),
        "G": FUNCTIONS[g][0].format("b"),
        "DG": FUNCTIONS[g][1].format("b"),
    }
    forward, backward_ = (re.sub(r"\bD?[FG]\b", lambda found: f"({parts[found[0]]})", text) for text in STYLES[style])
    cotangents = "g, h" if re.search(r"\bh\b", backward_) else "g"
    xp = "ctx.xp" if kind == "Primitive" else "pb"
    return textwrap.dedent(f"""
        class Rule(pb.{kind}):
            @staticmethod
            def forward(ctx, a, b):
                xp, save = {xp}, ctx.save_for_backward
                {forward}
            @staticmethod
            def backward(ctx, {cotangents}):
                xp, saved = {xp}, lambda: ctx.saved_tensors
                {backward_}
    """)


@pytest.mark.parametrize("kind", ["Function", "Primitive"])
@pytest.mark.parametrize("style", STYLES)
def test_a_rule_is_as_good_as_the_composition_it_stands_for(style, kind):
    """To third order, also where an argument is the other one, a constant over the same memory, or of no dimensions."""
    rng = np.random.default_rng(len(style))
    for f, g in (("sin", "exp"), ("cube", "root"), ("root", "sin")):
        names = {"pb": pb}
        exec(written(style, kind, f, g), names)
        rule = names["Rule"]

        def by_rule(a, b, rule=rule):
            result = rule.apply(a, b)
            if not isinstance(result, tuple):
                return result
            return result[0] + result[1] if style in ADDED else result[0]

        def by_operators(a, b, f=f, g=g):
            first, second = FUNCTIONS[f][0].format("a"), FUNCTIONS[g][0].format("b")
            second = "0" if style == "returned twice and saved" else second
            return eval(f"({first}) * b + ({second})", {"xp": pb, "a": a, "b": b})

        for shape in ((3,), ()):
            a, b = rng.normal(size=(2, *shape)) + 0.2
            for use in (lambda h, x, y: h(x, y), lambda h, x, y: h(x, x) * y, lambda h, x, y: h(x * y, x.detach())):
                np.testing.assert_allclose(
                    jets(by_rule, use, a, b), jets(by_operators, use, a, b), rtol=1e-9, atol=1e-9
                )


def jets(function, use, a, b):
    """Value and three derivatives of the sum of ``use(function, x, y)``, one after the other."""
    x, y = pb.tensor(a, requires_grad=True), pb.tensor(b, requires_grad=True)
    value = pb.sum(use(function, x, y))
    found = [value.item()]
    for _ in range(3):
        first, second = grad(value, (x, y), create_graph=True, materialize_grads=True)
        found += [*np.ravel(first.tolist()), *np.ravel(second.tolist())]
        value = pb.sum(first * 0.7) + pb.sum(second * second)
    return found


# ------------------------------------------------------------------------------------------------------- structural zeros
#: Where a is not positive, these have no value or no derivative.
SINGULAR = (
    "pb.sqrt({a})", "pb.log({a})", "{a} ** 1.5", "{a} ** -0.5", "pb.sqrt(pb.sqrt({a}))", "{a} * pb.log({a})",
    "{a} ** pb.sqrt({a})", "pb.hypot(pb.sqrt({a}), {a})", "pb.acosh({a} + 1)", "1 / pb.log({a} + 1)",
)  # fmt: skip
SELECTIONS = (
    "{v} = pb.where({a} > 0, SINGULAR, {b})",
    "t = SINGULAR; {v} = pb.where(pb.logical_not({a} > 0), {b} * {b}, t * t + t)",
    "{v} = (SINGULAR) * 1; {v}[pb.logical_not({a} > 0)] = 0.5",
    "t = SINGULAR; i = np.nonzero({a}.detach().numpy() > 0)[0]; {v} = pb.sum(t[i]) * {b}",
)


@pytest.mark.parametrize("selection", range(len(SELECTIONS)))
def test_what_is_not_selected_leaks_nothing(selection):
    """Entries that a ``where``, an index or a masked write leaves out may be singular, at every order."""
    compared = 0
    for number, singular in enumerate(SINGULAR):
        line = SELECTIONS[selection].replace("SINGULAR", singular)
        program = Program(number, OPERATIONS[:10], ([line],), longest=3)
        program.lines.insert(0, line.format(v="w", a="x", b="y"))
        program.made.append("w")
        program.weights = np.append(program.weights, 1.0)
        program.point[0, number % 3] = -0.4
        with np.errstate(all="ignore"):
            compared += check(program)
    assert compared >= len(SINGULAR) // 2


# ---------------------------------------------------------------------------------------------------------------- memory
def _function(rule):
    class F(pb.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.kept = x
            return x * 2

        backward = staticmethod(rule)

    return F


def _primitive(rule):
    class P(pb.Primitive):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.kept = x * 1
            return x * 2

        backward = staticmethod(rule)

    return P


class Witness:
    """Keeps Tensors and arrays that it was shown, and knows what they were."""

    def __init__(self):
        self.shown = []

    def __call__(self, value):
        self.shown.append((value, np.array(bare(value))))
        return value

    def unchanged(self):
        return all(np.array_equal(bare(value), old) for value, old in self.shown)


def bare(value):
    return value._array if isinstance(value, pb.Tensor) else value


def rules_and_hooks(see):
    """Rules and hooks that return, keep and show `see` their cotangents, and write into them, in every way."""
    constant = see(pb.tensor([2.0, 2.0, 2.0]))
    functions = (
        lambda ctx, g: see(g),
        lambda ctx, g: see(g * 2),
        lambda ctx, g: ctx.saved_tensors[0],
        lambda ctx, g: constant,
        lambda ctx, g: g[...],
        lambda ctx, g: g.detach(),
        lambda ctx, g: pb.flip(g),
        lambda ctx, g: g.__imul__(2),
    )
    primitives = (
        lambda ctx, g: g,
        lambda ctx, g: g[::-1],
        lambda ctx, g: g * ctx.saved_tensors[0],
        lambda ctx, g: g * ctx.kept,
    )
    hooks = (
        lambda g: (see(g), None)[1],
        lambda g: see(g * 1),
        lambda g: constant,
        lambda g: g[...],
        lambda g: (g.mul_(3.0), None)[1],
    )
    return [*map(_function, functions), *map(_primitive, primitives)], hooks


OPERATORS = (
    lambda a, b: +a,
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a[...],
    lambda a, b: pb.stack([a, b])[0],
    lambda a, b: pb.reshape(a, (3,)),
)


def random_graph(chance, see):
    """Two leaves, and everything computed from them."""
    rules, hooks = rules_and_hooks(see)
    leaves = [see(pb.tensor([1.0, 2.0, 3.0], requires_grad=True)) for _ in range(2)]
    pool = list(leaves)
    for _ in range(chance.randint(1, 5)):
        a, b = chance.choice(pool), chance.choice(pool)
        made = chance.choice(rules).apply(a) if chance.random() < 0.3 else chance.choice(OPERATORS)(a, b)
        if chance.random() < 0.3:
            made.register_hook(chance.choice(hooks))
        pool.append(made)
    if chance.random() < 0.4:
        chance.choice(leaves).register_hook(chance.choice(hooks))
    return leaves, pool


def test_gradients_share_memory_with_nothing_that_anybody_can_see():
    """Whatever rules and hooks do with cotangents: seeds, leaves and what was seen before stay as they were."""
    chance = random.Random(0)
    for _ in range(600):
        see = Witness()
        leaves, pool = random_graph(chance, see)
        for _ in range(chance.randint(1, 3)):
            roots = [chance.choice(pool[2:]) for _ in range(chance.randint(1, 2))]
            seeds = [see(pb.tensor([1.0, 1.0, 1.0])) for _ in roots]
            if chance.random() < 0.3:
                for result in grad(roots, leaves, seeds, retain_graph=True, materialize_grads=True):
                    result.detach().mul_(7.0)
            else:
                backward(roots, seeds, retain_graph=True)
            assert see.unchanged()
            found = [x.grad for x in leaves if x.grad is not None]
            visible = [bare(value) for value, _ in see.shown] + [bare(value) for value in pool]
            for gradient in found:
                gradient.mul_(0.5)
                assert not any(np.shares_memory(bare(gradient), array) for array in visible)
            assert see.unchanged()
            assert len(found) < 2 or not np.shares_memory(bare(found[0]), bare(found[1]))


LARGE_STATEMENTS = """
{v} = {a} * {b}
{v} = ({a} * 2) * {b}
{v} = ({a} + {b}) - ({a} - {b}) * 2
{a} = {a} * 2 + {b}
{v} = (t := {a} * 2) * 3 + t
t = [q * 2 for q in ({a}, {b})]; {v} = t[0] * 2 + t[1]
{v} = sum([{a} * 1.0, {b} * 1.0, {a} * 2])
t = {a} * 2; n = t.numpy(); {v} = t * 3
{v} = ({a} * 2)[...] * 3
{v} = ({a} * 2).detach() * 3
{v} = (lambda q: q * 2 * 3)({a})
t = {a} * 2; u = t; {v} = t * 2; del t; {v} = u * 2
{v} = pb.asarray(({a} * 2).numpy()) * 3
{v} = {a} * 2; {v} += 1
""".strip().splitlines()


def test_memory_that_is_used_again_was_seen_by_nobody(monkeypatch):
    """Programs on large arrays compute what they compute when no memory is ever used again."""
    monkeypatch.setattr(recycling, "LARGE", 1)
    monkeypatch.setattr("pullback.ops.families.of_two.LARGE", 1)
    for seed in range(400):
        chance, pool, lines = random.Random(seed), ["a", "b"], []
        for count in range(chance.randint(2, 8)):
            line = chance.choice(LARGE_STATEMENTS)
            lines.append(line.format(v=f"v{count}", a=chance.choice(pool), b=chance.choice(pool)))
            if "{v}" in line:
                pool.append(f"v{count}")
        plain = {"pb": np, "a": np.array([1.0, 2.0, 3.0]), "b": np.array([0.5, -1.0, 2.0])}
        names = {"pb": pb, "a": pb.tensor(plain["a"]), "b": pb.tensor(plain["b"])}
        for line in lines:
            exec(line, names)
            exec(line.replace(".numpy()", "").replace(".detach()", ""), plain)
            for name, value in names.items():
                if hasattr(value, "tolist"):
                    np.testing.assert_array_equal(value.tolist(), plain[name], err_msg="\n".join(lines))


# ----------------------------------------------------------------------------------------------------------------- torch
TORCH_STATEMENTS = """
{v} = {a} * {b}
{v} = {a} * {b} + {a}
{v} = {a}.sin()
{v} = {a}.exp() / 4
{v} = ({a} * {a} + 1).sqrt()
{v} = T.sigmoid({a})
{v} = {a} / ({b} * {b} + 1)
{v} = T.cat([{a}[1:], {b}[:1]], 0)
{v} = T.stack([{a}, {b}]).sum(0)
{v} = {a}.flip(0)
{v} = {a}.cumsum(0)
{v} = {a}.softmax(0)
{v} = {a}.unsqueeze(0).T.squeeze()
{v} = {a}[T.tensor([2, 0, 1])]
{v} = {a}[...]
{v} = {a}.view(-1)
{v} = {a}.detach() * {b}
{v} = Square.apply({a})
{v} = Pair.apply({a}, {b})[0]
{v} = Pair.apply({a}, {b})[1]
{v} = {a}.clone(); {v}.mul_({b})
{v} = {a} * 1; {v}[0] = {b}[1]
{v} = {a} * 1; {v}[1:].add_({b}[:2])
{v} = {a} * 1; {v}[{v} > 0] = 0.5
{v} = {a} * 1; t = {v}.view(-1); t.mul_({b}); {v} = {v} + t
{v} = {a} * 1; {v}.retain_grad(); KEPT.append({v})
{v} = {a} * 1; {v}.register_hook(lambda g: LOG.append(g.tolist()))
{v} = {a} * 1; {v}.register_hook(lambda g: g * 2)
{v} = {a} * 1; {v}.grad_fn.register_prehook(lambda gs: LOG.append([g.tolist() for g in gs]))
{v} = Square.apply({a}); {v}.grad_fn.register_hook(lambda gi, go: LOG.append([g.tolist() for g in (*gi, *go)]))
""".strip().splitlines()

TORCH_RULES = """
class Square(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        LOG.append('Square')
        return 2 * ctx.saved_tensors[0] * g

class Pair(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, y)
        return x * y, x + y
    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        first = [p for p in (None if g is None else g * y, h) if p is not None]
        second = [p for p in (None if g is None else g * x, h) if p is not None]
        return sum(first), sum(second)
"""

TORCH_PASSES = (
    "T.autograd.backward([loss], retain_graph=True)",
    "LOG.append([g.tolist() for g in T.autograd.grad(loss, [x, y], retain_graph=True, materialize_grads=True)])",
    "T.autograd.backward([loss], retain_graph=True, inputs=[x])",
    "(g,) = T.autograd.grad(loss, [x], create_graph=True, materialize_grads=True); s = (g * g).sum() + x.sum(); "
    "LOG.append([h.tolist() for h in T.autograd.grad(s, [x, y], retain_graph=True, materialize_grads=True)])",
)


def torch_program(seed):
    chance = random.Random(seed)
    pool, lines = ["x", "y"], []
    for count in range(chance.randint(2, 7)):
        line = chance.choice(TORCH_STATEMENTS)
        lines.append(line.format(v=f"v{count}", a=chance.choice(pool), b=chance.choice(pool)))
        pool.append(f"v{count}")
    weighted = [f"({name} * {chance.choice((0.5, -1.0, 2.0))}).sum()" for name in pool]
    return [*lines, "loss = " + " + ".join(weighted), *chance.sample(TORCH_PASSES, k=chance.randint(1, 3))]


def outcome(library, lines):
    """What a program logs, its gradients, and the error that ends it, if one does."""
    names = {"T": library, "LOG": [], "KEPT": []}
    exec(TORCH_RULES, names)
    names["x"] = library.tensor([0.3, -0.7, 1.1], dtype=library.float64, requires_grad=True)
    names["y"] = library.tensor([0.9, 0.4, -0.2], dtype=library.float64, requires_grad=True)
    failed = False
    for line in lines:
        try:
            exec(line, names)
        except RuntimeError:
            failed = True
            break
    gradients = [None if t.grad is None else t.grad.tolist() for t in (names["x"], names["y"], *names["KEPT"])]
    return names["LOG"], gradients, failed


def agree(a, b):
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(agree, a, b))
    return a == b or (isinstance(a, float) and isinstance(b, float) and close(a, b, 1e-9))


@pytest.mark.torch
def test_programs_do_in_pullback_what_they_do_in_torch():
    """Values, gradients, what hooks see and in which order; where torch refuses, nothing is claimed."""
    import torch

    import pullback.torch as own

    compared = 0
    for seed in range(300):
        lines = torch_program(seed)
        expected, found = outcome(torch, lines), outcome(own, lines)
        if expected[-1]:
            continue
        assert agree(expected, found), "\n".join([*lines, f"torch: {expected}", f"here:  {found}"])
        compared += 1
    assert compared >= 150


def test_the_programs_use_every_statement():
    """The numbers of the programs above reach all statements."""
    text = "\n".join(str(Program(seed)) for seed in range(96))
    used = [
        line
        for line in (*OPERATIONS, *WRITES, *TRANSFORMS)
        if any(skeleton(line) in skeleton(t) for t in text.splitlines())
    ]
    assert len(used) >= 0.9 * len(OPERATIONS + WRITES + TRANSFORMS)


def skeleton(line):
    """A statement without its variables."""
    for name in ("{a}", "{b}", "{v}", *[f"v{k}" for k in range(10)], "x", "y"):
        line = line.replace(name, "_")
    return line
