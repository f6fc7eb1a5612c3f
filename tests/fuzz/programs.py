"""Random small programs: a few lines of Python each, the same for the same number.

A program is text, so that a failing one can be read and run alone.  Its variables ``x`` and ``y`` are leaves of three entries;
its value is a weighted sum of everything that it computed.
"""

import random

import numpy as np

import pullback as pb
from pullback.autograd import grad

WEIGHTS = np.array([1.0, 0.5, -0.7])


# ------------------------------------------------------------------------------------------- rules that programs use
class Cube(pb.Function):
    """x³, by way of an intermediate that is an attribute of ctx."""

    @staticmethod
    def forward(ctx, x):
        ctx.square = x * x
        return ctx.square * x

    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.square


class ProductAndSum(pb.Function):
    """Two outputs, of which programs often use one."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b, pb.sum(a + b)

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        every = h + pb.zeros_like(a)
        return g * b + every, g * a + every


class TimesTwoInPlace(pb.Function):
    """Writes into its argument."""

    @staticmethod
    def forward(ctx, a):
        a *= 2
        ctx.mark_dirty(a)
        return a

    @staticmethod
    def backward(ctx, g):
        return g * 2


class TanhTimes(pb.Primitive):
    """tanh(a) b, with an intermediate and inputs kept in every way that a Primitive has."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.tanh, ctx.second = ctx.xp.tanh(a), {"b": b}
        ctx.save_for_backward(a)
        return ctx.tanh * b

    @staticmethod
    def backward(ctx, ct):
        return ct * (1 - ctx.tanh * ctx.tanh) * ctx.second["b"], ct * ctx.tanh


NAMES = {
    "pb": pb,
    "np": np,
    "grad": grad,
    "Cube": Cube,
    "ProductAndSum": ProductAndSum,
    "TimesTwoInPlace": TimesTwoInPlace,
    "TanhTimes": TanhTimes,
}

# ---------------------------------------------------------------------------------------------------------- statements
#: ``{v}`` is a new variable, ``{a}`` and ``{b}`` are old ones.
OPERATIONS = """
{v} = {a} * {b}
{v} = {a} + {b}
{v} = {a} - 0.5 * {b}
{v} = {a} / ({b} * {b} + 1)
{v} = pb.sin({a})
{v} = pb.tanh({a}) * {b}
{v} = pb.sqrt({a} * {a} + 0.5)
{v} = pb.flip({a})
{v} = pb.roll({a}, 1) * {b}
{v} = {a}[::-1]
{v} = {a}[[1, 1, 2]]
{v} = pb.take({a}, np.array([2, 0, 0]))
{v} = pb.concat([{a}[1:], {b}[:1]])
{v} = pb.stack([{a}, {b}])[1]
{v} = pb.unstack(pb.stack([{a}, {b}]))[0]
{v} = pb.reshape({a}[None, :] * {b}[:, None], (9,))[2:5]
{v} = pb.broadcast_to({a}, (2, 3))[1] * {b}
{v} = ({a}[:, None] * {b}[None, :]) @ {a}
{v} = {a} @ {b} * {a}
{v} = pb.vecdot({a}, {b}) * {b}
{v} = pb.cumulative_sum({a})
{v} = pb.sort({a})
{v} = pb.sum({a}) * {b}
{v} = pb.prod({a}) * {b}
{v} = pb.mean({a}) + {b}
{v} = pb.max({a}) * {b}
{v} = pb.where({a} > 0.1, {a}, {b} * {b})
{v} = pb.maximum({a}, {b})
{v} = pb.hypot({a}, {b} + 2)
{v} = pb.logaddexp({a}, {b})
{v} = pb.real(pb.exp({a} * 1j) * {b})
{v} = Cube.apply({a})
{v} = ProductAndSum.apply({a}, {b})[0]
{v}, t = ProductAndSum.apply({a}, {b}); {v} = {v} * t
{v} = TanhTimes.apply({a}, {b})
{v} = TanhTimes.apply({a}, {a})
""".strip().splitlines()

#: Only into what the program made itself.
WRITES = """
{a} *= {b}
{a} += 1.5
{a}[1] = {b}[0]
{a}[1:] *= 2
{a}[::2] += {b}[:2]
{a}[[0, 2]] = {b}[:2]
{a}[{a} > 0.3] = 0.25
{a}[...] = {b} * 2
t = {a}[1:]; t *= 1.5
t = {a}[:2]; t[0] = {b}[2]; t += 0.1
TimesTwoInPlace.apply({a})
""".strip().splitlines()

TRANSFORMS = """
{v} = pb.grad(lambda q: pb.sum(q * q * {b}))({a})
{v} = pb.jacobian(lambda q: pb.sin(q) * {b})({a}) @ {b}
{v} = pb.hvp(lambda q: pb.sum(q**3 * {b}))({a}, {b})
{v} = pb.jvp(lambda q: Cube.apply(q) * {b}, ({a},), ({b},))[1]
{v} = pb.vjp(lambda q: TanhTimes.apply(q, {b}), {a})[1]({b})[0]
{v} = pb.hessian(lambda q: pb.sum(pb.sin(q) * {b} * q))({a}) @ {a}
{v} = grad(pb.sum({a} * {b} * {b}), {b}, create_graph=True)[0] if {b}.requires_grad else {b}
""".strip().splitlines()


class Program:
    """The lines of program number `seed`, and the point at which it is differentiated."""

    def __init__(self, seed, operations=OPERATIONS, others=(WRITES, TRANSFORMS), longest=6):
        chance = random.Random(seed)
        self.lines, self.made = [], []
        for count in range(chance.randint(2, longest)):
            a, b, v = chance.choice(["x", "y", *self.made]), chance.choice(["x", "y", *self.made]), f"v{count}"
            statements = operations if chance.random() < 0.75 else chance.choice(others)
            if statements is WRITES:
                if not self.made:
                    continue
                a = chance.choice(self.made)
            line = chance.choice(statements)
            self.lines.append(line.format(a=a, b=b, v=v))
            if "{v}" in line:
                self.made.append(v)
        rng = np.random.default_rng(seed)
        self.weights = rng.normal(size=len(self.made)).round(2)
        self.point = rng.normal(size=(2, 3)).round(2) + 0.013
        self.directions = rng.normal(size=(3, 2, 3))

    def __str__(self):
        return "\n".join(self.lines)

    def value(self, x, y):
        """The program's value, a Tensor of no dimensions, at the leaves x and y."""
        names = NAMES | {"x": x, "y": y}
        for line in self.lines:
            exec(line, names)
        total = pb.sum(x - x)
        for name, weight in zip(self.made, self.weights, strict=True):
            total = total + pb.sum(names[name] * pb.asarray(WEIGHTS)) * float(weight)
        return total

    def directional(self, order, point):
        """The derivative along the first `order` directions, each taken of the one before; a number.

        The last pass is not recorded, so that both kinds of pass are compared.
        """
        leaves = [pb.tensor(part, requires_grad=True) for part in point]
        value = self.value(*leaves)
        for number, direction in enumerate(self.directions[:order], 1):
            first, second = grad(value, leaves, create_graph=number < order, materialize_grads=True)
            value = pb.sum(first * pb.asarray(direction[0])) + pb.sum(second * pb.asarray(direction[1]))
        return value.item()

    def difference(self, order, step):
        """The same by central differences of the order before."""
        shift = step * self.directions[order - 1]
        ahead, behind = (self.directional(order - 1, self.point + sign * shift) for sign in (1, -1))
        return (ahead - behind) / (2 * step)
