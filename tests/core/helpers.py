"""What the tests of the core share: leaves, repeated derivatives, a few operators, and ways to look at errors and memory."""

import gc
import sys
import warnings
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import grad
from pullback.core.graph import Node
from pullback.core.tensor import Tensor


def leaf(value, dtype=None):
    """A Tensor that requires gradients."""
    return pb.tensor(value, dtype=dtype, requires_grad=True)


def ones_like(y):
    """A seed for any output."""
    return pb.tensor(np.ones(y.shape, dtype=y.dtype))


def derivatives(f, x, orders=3):
    """The first `orders` derivatives of an elementwise `f` at the leaf `x`, each from the one before."""
    found, y = [], f(x)
    for _ in range(orders):
        (y,) = grad(y, x, ones_like(y), create_graph=True)
        found.append(y)
    return found


def values(tensors):
    """Plain NumPy arrays, for comparing."""
    return [None if t is None else np.array(t.detach().numpy()) for t in tensors]


def backward_result(y, x, seed=None):
    """``x.grad`` after a fresh ``y.backward()``."""
    x.grad = None
    y.backward(seed)
    return None if x.grad is None else np.array(x.grad.numpy())


@contextmanager
def teaches(kind, *words, notes=()):
    """The block raises `kind`; its one line has all `words`, and its notes (why, what to write instead) all of `notes`."""
    with pytest.raises(kind) as caught:
        yield caught
    text = str(caught.value)
    assert "\n" not in text, "the message is one line, the rest belongs to the notes"
    for word in words:
        assert word in text, (word, text)
    lesson = "\n".join(getattr(caught.value, "__notes__", ()))
    for word in notes:
        assert word in lesson, (word, lesson)


@contextmanager
def without_gc():
    """The cyclic collector is off: what is freed here is freed by reference counts alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def alive(*kinds):
    """How many instances of these classes exist."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a thing of some library may warn when it is asked for its class
        return sum(isinstance(thing, kinds) for thing in gc.get_objects())


def calls_of(action):
    """Python calls made by `action` (C functions are not counted), by name of the function; `action` itself left out."""
    names = []

    def note(frame, event, argument):
        if event == "call":
            names.append(frame.f_code.co_qualname)

    action()  # caches are filled by the first run
    collecting = gc.isenabled()
    gc.disable()  # a collection calls those who want to know of it, whenever it happens to come
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        if collecting:
            gc.enable()
    return Counter(names[1:])


# --------------------------------------------------------------------------------------------------- operators
class Square(pb.Function):
    """x², from the saved input."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


class Exp(pb.Function):
    """exp(x), from the saved output."""

    @staticmethod
    def forward(ctx, x):
        y = pb.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class Product(pb.Function):
    """a · b."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a


class AddOne(pb.Function):
    """x + 1 in place."""

    @staticmethod
    def forward(ctx, x):
        x += 1
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class PrimitiveSquare(pb.Primitive):
    """x² as a Primitive."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, ct):
        (x,) = ctx.saved_tensors
        return 2 * x * ct


class Total(pb.Primitive):
    """The sum of all elements."""

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.sum() if isinstance(x, np.ndarray) else Total.apply(x)

    @staticmethod
    def backward(ctx, ct):
        return Spread.apply(ct, shape=ctx.shape)


class Spread(pb.Primitive):
    """One number everywhere: the adjoint of `Total`."""

    @staticmethod
    def forward(ctx, x, *, shape):
        return np.full(shape, x) if not isinstance(x, Tensor) else Spread.apply(x, shape=shape)

    @staticmethod
    def backward(ctx, ct):
        return Total.apply(ct)


class Item(pb.Primitive):
    """``x[index]`` as a view."""

    view = True

    @staticmethod
    def forward(ctx, x, *, index):
        ctx.shape, ctx.index = x.shape, index
        return x[index]

    @staticmethod
    def backward(ctx, ct):
        return Place.apply(ct, index=ctx.index, shape=ctx.shape)


class Place(pb.Primitive):
    """Zeros, with a value at ``index``: the adjoint of `Item`."""

    @staticmethod
    def forward(ctx, x, *, index, shape):
        ctx.index = index
        out = np.zeros(shape, x.dtype)
        out[index] = x
        return out

    @staticmethod
    def backward(ctx, ct):
        return Item.apply(ct, index=ctx.index)


class Transpose(pb.Primitive):
    """``x.T`` as a view: its cotangents are not contiguous."""

    view = True

    @staticmethod
    def forward(ctx, x):
        return x.T

    @staticmethod
    def backward(ctx, ct):
        return Transpose.apply(ct)


# --------------------------------------------------------------------------------------------------- engine without arrays
class Number(Node):
    """A node whose cotangents are plain numbers: multiplies by one factor per edge."""

    def __init__(self, *edges, factors=None, outputs=1, log=None, name="n"):
        from pullback.core.graph import next_number

        self._edges = edges
        self._number = next_number()
        self._saved = self._hooks = self._kind = None
        self._specs = (((), None),) * outputs
        self.factors = factors or (1.0,) * len(edges)
        self.log = log
        self.label = name

    def _pull(self, cotangents, task):
        if self.log is not None:
            self.log.append((self.label, *cotangents))
        total = sum(c for c in cotangents if c is not None)
        return [factor * total for factor in self.factors]


class Sink(Node):
    """A leaf that collects numbers."""

    def __init__(self, log=None, name="leaf"):
        from pullback.core.graph import LEAF_NUMBER

        self._edges = ()
        self._number = LEAF_NUMBER
        self._saved = self._hooks = self._kind = None
        self._specs = (((), None),)
        self.total = 0.0
        self.log = log
        self.label = name

    def _pull(self, cotangents, task):
        if self.log is not None:
            self.log.append((self.label, *cotangents))
        if cotangents[0] is not None:
            self.total += cotangents[0]
