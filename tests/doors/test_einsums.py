"""einops, opt_einsum and array-api-extra on Tensors: values, and derivatives of first and second order."""

import importlib
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import pullback as pb
from numeric import Call, check_order
from pullback.core.tensor import Tensor
from pullback.ops.registry import Make, Sample

X, Y = Make(0)(2, 3, 4), Make(1)(2, 5, 4)


def check(function, *arrays):
    """The values are those of the same call on arrays, and the derivatives those of the values."""
    expected, found = function(*arrays), function(*[Tensor(a, True) for a in arrays])
    assert isinstance(found, pb.Tensor)
    assert found.requires_grad
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12)
    call = Call(SimpleNamespace(call=function, observe=None), Sample(arrays))
    for order in (1, 2):
        check_order(call, order, np.random.default_rng(0))


REARRANGEMENTS = {
    "transpose": lambda e, x: e.rearrange(x, "a b c -> c (a b)"),
    "split": lambda e, x: e.rearrange(x, "a b (c d) -> a d b c", d=2),
    "new axis": lambda e, x: e.rearrange(x, "a b c -> a 1 b c"),
    "list": lambda e, x: e.rearrange([x, x * x], "k a b c -> a b c k"),
    "sum": lambda e, x: e.reduce(x, "a b c -> b", "sum"),
    "mean": lambda e, x: e.reduce(x, "a b c -> a c", "mean"),
    "max": lambda e, x: e.reduce(x, "a b c -> a 1 c", "max"),
    "prod": lambda e, x: e.reduce(x, "a b c -> b", "prod"),
    "repeat": lambda e, x: e.repeat(x, "a b c -> a (b d) c", d=2),
    "pack": lambda e, x: e.pack([x, x], "a b *")[0],
}


@pytest.mark.parametrize("name", REARRANGEMENTS)
@pytest.mark.parametrize("module", ["einops", "einops.array_api"])
def test_einops(name, module):
    pytest.importorskip("einops")
    importlib.import_module("pullback.doors.einops")
    own = importlib.import_module(module)
    plain = importlib.import_module("einops")  # on arrays
    if module == "einops.array_api" and name == "list":
        pytest.skip("einops.array_api takes no lists")
    check(lambda x: REARRANGEMENTS[name](own if isinstance(x, Tensor) else plain, x), X)


def test_einops_einsum_parse_shape_and_numbers():
    einops = pytest.importorskip("einops")
    importlib.import_module("pullback.doors.einops")
    check(lambda x, y: einops.einsum(x, y, "a b c, a d c -> b d"), X, Y)
    assert einops.parse_shape(pb.tensor(X), "a b _") == {"a": 2, "b": 3}
    assert type(einops.asnumpy(pb.tensor(X))) is np.ndarray
    with pytest.raises(RuntimeError, match="requires grad"):
        einops.asnumpy(pb.tensor(X, requires_grad=True))


@pytest.mark.parametrize("options", [{}, {"backend": "pullback"}, {"optimize": "greedy"}])
def test_opt_einsum(options):
    oe = pytest.importorskip("opt_einsum")
    weights = np.arange(15.0).reshape(5, 3)

    def contracted(x, y):
        if isinstance(x, Tensor):
            return oe.contract("abc,adc,de->be", x, y, pb.asarray(weights), **options)
        return oe.contract("abc,adc,de->be", x, y, weights)

    check(contracted, X, Y)
    expression = oe.contract_expression("abc,adc->bd", X.shape, Y.shape)
    check(lambda x, y: expression(x, y), X, Y)


EXTRA = {
    "apply_where": lambda e, x: e.apply_where(x > 0, x, lambda a: a * a, lambda a: -a),
    "at": lambda e, x: e.at(x * 1)[0].multiply(2.0),
    "atleast_nd": lambda e, x: e.atleast_nd(x, ndim=4),
    "cov": lambda e, x: e.cov(x[0]),
    "create_diagonal": lambda e, x: e.create_diagonal(x[0, 0]),
    "kron": lambda e, x: e.kron(x[0], x[1]),
    "nan_to_num": lambda e, x: e.nan_to_num(x),
    "pad": lambda e, x: e.pad(x, 1),
    "sinc": lambda e, x: e.sinc(x),
}


@pytest.mark.parametrize("name", EXTRA)
def test_array_api_extra(name):
    extra = pytest.importorskip("array_api_extra")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        check(lambda x: EXTRA[name](extra, x), X)
