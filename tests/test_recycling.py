"""Memory of large results that died is used again; memory that anybody can still see is not."""

import ast
import functools
import gc
import operator
import pathlib
import tracemalloc

import numpy as np
import pytest

import pullback as pb
import pullback.torch as pt
from pullback.core import recycling
from pullback.core.versions import BORROWED

SIZE = 2 * recycling.LARGE
X, G = np.random.default_rng(0).random((2, SIZE))


@pytest.fixture
def x():
    return pb.tensor(X)


@pytest.fixture
def g():
    return pb.tensor(G)


def peak(compute):
    """The result of a computation, and the most memory it held at once, in arrays."""
    tracemalloc.start()
    try:
        result = compute()
        return result, tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()


@pytest.fixture(autouse=True)
def nothing_waiting():
    recycling._waiting.clear()


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x, g: 2 * x * g, 2 * X * G),
        (lambda x, g: x * g + x - g, X * G + X - G),
        (lambda x, g: (x + g) / 3 - x * 2 + g, (X + G) / 3 - X * 2 + G),
    ],
)
def test_values_are_right_whatever_memory_is_used(x, g, compute, expected):
    for _ in range(3):
        np.testing.assert_array_equal(compute(x, g).numpy(), expected)
    np.testing.assert_array_equal(x.numpy(), X)
    np.testing.assert_array_equal(g.numpy(), G)


def test_a_dead_result_gives_its_memory_to_the_next(x, g):
    first = x * g
    address = first.numpy().ctypes.data
    del first
    assert (x + g).numpy().ctypes.data == address
    assert len(recycling._waiting) == 0


def test_few_arrays_wait_and_nothing_is_watched_for_long(x, g):
    gc.collect()
    watched = len(recycling._watched)
    results = [x * g for _ in range(4)]
    assert len(recycling._watched) == watched + 4
    del results
    assert len(recycling._waiting) == recycling.KEPT
    assert len(recycling._watched) == watched


def test_other_kinds_make_way_for_what_is_used_now(x, g):
    gc.collect()
    watched = len(recycling._watched)
    results = [x * g for _ in range(4)]
    assert len(recycling._watched) == watched + 4
    del results
    short = pb.tensor(X[:-1])
    results = [short * short for _ in range(4)]
    del results
    assert [array.shape for array in recycling._waiting] == [(SIZE - 1,)] * recycling.KEPT


def test_other_dtypes_and_shapes_do_not_take_it(x, g):
    del_me = x * g
    del del_me
    single = pb.tensor(X.astype(np.float32))
    np.testing.assert_array_equal((single * 2).numpy(), X.astype(np.float32) * 2)
    short = pb.tensor(X[:-1])
    np.testing.assert_array_equal((short * 2).numpy(), X[:-1] * 2)
    counts = pb.arange(SIZE)
    np.testing.assert_array_equal((counts / 2).numpy(), np.arange(SIZE) / 2)
    np.testing.assert_array_equal(((x > 0.5) * 2.0).numpy(), (X > 0.5) * 2.0)


def test_operators_that_c_code_calls(x):
    """Object arrays, map, starmap: their references are not those of an expression."""
    box = np.empty(1, dtype=object)
    box[0] = x * 1
    doubled = box * 2.0
    np.testing.assert_array_equal(box[0].numpy(), X)
    np.testing.assert_array_equal(doubled[0].numpy(), X * 2)
    out = []
    out += map((x * 1).__mul__, [2.0, 3.0])
    np.testing.assert_array_equal(out[0].numpy(), X * 2)
    np.testing.assert_array_equal(out[1].numpy(), X * 3)


def keep_in_variable(t):
    return t, t + 1


def keep_in_closure(t):
    def later():
        return t

    return later(), t * 2


def keep_in_list(t):
    kept = [t]
    return kept[0], [a * 2 for a in kept]


def keep_in_attribute(t):
    class Holder:
        pass

    holder = Holder()
    holder.t = t
    return holder.t, holder.t * 2


def keep_by_walrus(t):
    product = (kept := t * 1) * 2
    return kept, product


def keep_array(t):
    kept = t.detach()
    return kept, t * 2


def keep_view(t):
    view = t[1:]
    return t, view * 2


def call_method(t):
    return t, t.__mul__(2)


def call_operator_module(t):
    return t, operator.mul(t, 2)


def reduce(t):
    return t, functools.reduce(operator.mul, [t, t, t])


def from_generator(t):
    def numbers():
        yield t

    return t, [y + 1 for y in numbers()]


def augmented(t):
    kept = t
    t = t * 2
    return kept, t


@pytest.mark.parametrize(
    "keep",
    [
        keep_in_variable,
        keep_in_closure,
        keep_in_list,
        keep_in_attribute,
        keep_by_walrus,
        keep_array,
        keep_view,
        call_method,
        call_operator_module,
        reduce,
        from_generator,
        augmented,
    ],
)
def test_what_can_still_be_seen_is_left_alone(x, g, keep):
    kept, _ = keep(x * g)
    np.testing.assert_array_equal(kept.numpy(), X * G)


def test_an_array_that_somebody_holds_is_left_alone(x, g):
    kept = []

    def look(t):
        kept.append(t._array)
        return t

    look(x * g) * 2
    np.testing.assert_array_equal(kept[0], X * G)


def test_recorded_results_are_left_alone(x):
    w = pb.tensor(G, requires_grad=True)
    y = w * 2 * w
    y.backward(x)
    np.testing.assert_allclose(w.grad.numpy(), 4 * G * X)


def test_a_leaf_takes_over_memory_that_nobody_else_holds_and_copies_the_rest():
    w = pb.tensor(G, requires_grad=True)
    seen = []
    w.register_hook(lambda grad: seen.append(grad))
    seed = pb.tensor(np.ones(SIZE))
    (w * 1).backward(seed)
    (w + 0).backward(seed)
    w.grad.zero_()
    np.testing.assert_array_equal(seed.numpy(), 1.0)
    np.testing.assert_array_equal(seen[0].numpy(), 1.0)
    np.testing.assert_array_equal(seen[1].numpy(), 1.0)


# ------------------------------------------------------------------------------------------------------ what it must not do
def big(value=1.0, dtype=float):
    return pb.asarray(np.full(50_000, value, dtype=dtype))


def test_memory_that_the_garbage_collector_found_is_left_to_finalizers():
    seen, saved = [], []

    def suspended():
        t = big() * big()
        me = yield
        try:
            yield me
        finally:
            y, z = t * big(2.0), t * big(3.0)
            seen.extend([y[0].item(), z[0].item(), t[0].item()])

    class Resurrected:
        def __init__(self):
            self.me, self.tensor = self, big() * big()

        def __del__(self):
            saved.append(self.tensor)

    generator = suspended()
    next(generator)
    generator.send(generator)
    Resurrected()
    del generator
    gc.collect()
    big() * big(7.0)
    assert seen == [2.0, 3.0, 1.0]
    assert saved[0][0].item() == 1.0


def test_memory_of_integers_is_not_used_for_their_quotient():
    i = pb.asarray(np.arange(1, 50_001))
    for _ in range(3):
        product = i * i
        del product
        assert (i / i).dtype == np.float64


@pytest.mark.parametrize("orders", ["CF", "FC", "CC", "FF"])
def test_the_order_of_a_result_does_not_depend_on_what_waits(orders):
    waiting, operand = [pb.asarray(np.ones((300, 200), order=o)) for o in orders]
    for _ in range(3):
        result = waiting * waiting
        del result
    assert (operand * operand)._array.strides == (operand._array * operand._array).strides


def _exchanges(function):
    """Names whose ``_array`` is assigned in a function that did not make them itself."""
    made = {
        target.id
        for statement in ast.walk(function)
        if isinstance(statement, ast.Assign) and ast.unparse(statement.value).startswith("_new(")
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for statement in ast.walk(function):
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        for target in targets if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign) else ():
            for part in ast.walk(target):
                if isinstance(part, ast.Attribute) and part.attr == "_array" and isinstance(part.ctx, ast.Store):
                    name = ast.unparse(part.value)
                    if name not in made and not (function.name == "__init__" and name == "self"):
                        yield name


def test_only_one_function_gives_a_tensor_another_array():
    """The memory of the old one may be watched, and whoever watches it has to be told."""
    package = pathlib.Path(pb.__file__).parent
    found = {
        (path.relative_to(package).as_posix(), function.name, name)
        for path in package.rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for name in _exchanges(function)
    }
    found.discard(("core/recycling.py", "_references_while_dying", "holder"))  # no Tensor
    found.discard(("core/saved.py", "_check", "self"))  # what a node kept of one
    assert found == {("core/wrapping.py", "hold_another_array", "tensor")}


def resized(t):
    return pt.Tensor.resize_(t, t._array.size)


def data_replaced(t):
    t.data = pb.zeros(3)


def written_as_a_cotangent(t):
    t._buffer = BORROWED
    t += 1


@pytest.mark.parametrize("replace", [resized, data_replaced, written_as_a_cotangent])
def test_the_first_array_of_a_tensor_that_got_another_one_belongs_to_who_holds_it(replace):
    rows = int(SIZE**0.5)
    x, other = (pt.from_numpy(np.full((rows, rows), value, order="F")) for value in (1.0, 5.0))
    x * 2.0
    t = x * 2.0
    seen = t.numpy()
    replace(t)
    del t
    _results = other * 3.0, other * 2.0
    assert seen[0, 0] == 2
