"""torch.autograd.functional: values, shapes of results, and whether they can be differentiated."""

import pytest

from torch_behaviour.entry import entry

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning"),  # torch's own forward mode and vmap
    pytest.mark.filterwarnings("ignore:There is a performance drop because"),
]
PRODUCTS = ["vjp", "jvp", "vhp", "hvp"]
ALL = [*PRODUCTS, "jacobian", "hessian"]


def functional(torch, name):
    return getattr(torch.autograd.functional, name)


def matrix(torch, rows=3, columns=4):
    return torch.linspace(0.1, 1.3, rows * columns, dtype=torch.float64).reshape(rows, columns)


def program(name):
    """The function that is differentiated, and the shapes of its result and of v, for a 3 x 4 input."""
    if name in ("vhp", "hvp", "hessian"):
        return (lambda x: x.exp().sum()), (), (3, 4)
    return (lambda x: x.exp().sum(dim=1)), (3,), (3,) if name == "vjp" else (3, 4)


def vector(torch, shape):
    count = 1
    for n in shape:
        count *= n
    return torch.linspace(1.0, 2.0, count, dtype=torch.float64).reshape(shape)


def run(torch, name, func, inputs, v, **options):
    """``(value, derivative)``; the value is ``None`` for whole matrices."""
    if name in PRODUCTS:
        return functional(torch, name)(func, inputs, v, **options)
    return None, functional(torch, name)(func, inputs, **options)


def expected(torch, name, x, v):
    e = x.exp()
    if name == "vjp":
        return e * v[:, None]
    if name == "jvp":
        return (e * v).sum(dim=1)
    if name in ("vhp", "hvp"):
        return e * v
    if name == "hessian":
        return torch.diag(e.reshape(-1)).reshape(3, 4, 3, 4)
    rows = torch.zeros(3, 3, 4, dtype=torch.float64)
    for k in range(3):
        rows[k, k] = e[k]
    return rows


@entry("M", "vjp_output", "jvp_output", "vhp_output", "hvp_output", "jacobian_output", "hessian_output")
@pytest.mark.parametrize("name", ALL)
def test_value_and_derivative_without_graph(torch, name):
    func, shape, of_v = program(name)
    x, v = matrix(torch), vector(torch, of_v)
    for point in (x, x.clone().requires_grad_()):
        value, found = run(torch, name, func, point, v)
        assert torch.allclose(found, expected(torch, name, x, v))
        assert found.grad_fn is None
        assert not found.requires_grad
        if value is not None:
            assert torch.allclose(value, func(x))
            assert tuple(value.shape) == shape
            assert value.grad_fn is None


@entry("M", "vjp_output", "jvp_output", "vhp_output", "hvp_output", "jacobian_output", "hessian_output")
@pytest.mark.parametrize("name", ALL)
def test_tuples_in_and_out(torch, name):
    x, y = matrix(torch), matrix(torch) + 1
    if name in ("vhp", "hvp", "hessian"):
        func = lambda a, b: (a * b * b).sum()  # noqa: E731
        v = (torch.ones_like(x), torch.zeros_like(y))
    else:
        func = lambda a, b: ((a * b).sum(dim=1), b.exp())  # noqa: E731
        ones = torch.ones(3, dtype=torch.float64)
        v = (ones, torch.zeros_like(y)) if name == "vjp" else (torch.ones_like(x), torch.zeros_like(y))
    value, found = run(torch, name, func, (x, y), v)
    assert isinstance(found, tuple)
    assert len(found) == 2
    if name == "vjp":
        assert isinstance(value, tuple)
        assert torch.allclose(found[0], y)
        assert torch.allclose(found[1], x)
    elif name == "jvp":
        assert torch.allclose(found[0], y.sum(dim=1))
        assert (found[1] == 0).all()
    elif name in ("vhp", "hvp"):
        assert (found[0] == 0).all()
        assert torch.allclose(found[1], 2 * y)
    elif name == "jacobian":
        assert [[tuple(m.shape) for m in row] for row in found] == [[(3, 3, 4)] * 2, [(3, 4, 3, 4)] * 2]
        assert (found[1][0] == 0).all()
        assert torch.allclose(found[0][0].sum(dim=0), y)
    else:
        assert [[tuple(m.shape) for m in row] for row in found] == [[(3, 4, 3, 4)] * 2] * 2
        assert (found[0][0] == 0).all()
        assert torch.allclose(found[0][1].reshape(12, 12), torch.diag((2 * y).reshape(-1)))
        assert torch.allclose(found[1][0].reshape(12, 12), torch.diag((2 * y).reshape(-1)))


@entry("M", "vjp_no_grad", "jvp_no_grad", "vhp_no_grad", "hvp_no_grad", "jacobian_no_grad", "hessian_no_grad")
@pytest.mark.parametrize("name", ALL)
def test_where_nothing_is_recorded(torch, name):
    func, _, of_v = program(name)
    x, v = matrix(torch), vector(torch, of_v)
    for options in ({}, {"create_graph": True}):
        with torch.no_grad():
            value, found = run(torch, name, func, x, v, **options)
        assert torch.allclose(found, expected(torch, name, x, v))
        assert options or not found.requires_grad
        assert options or value is None or not value.requires_grad


@entry("M", "vjp_scalar", "jvp_scalar", "vhp_scalar", "hvp_scalar", "jacobian_scalar", "hessian_scalar")
def test_one_number_in_or_out(torch):
    x, one = matrix(torch), torch.tensor(2.0, dtype=torch.float64)
    vjp, jvp = functional(torch, "vjp"), functional(torch, "jvp")
    for v in (None, torch.ones((), dtype=torch.float64)):
        assert (vjp(lambda a: a.sum(), x, v)[1] == 1).all()
    assert vjp(lambda a: a.sum().reshape(1), x)[1].shape == x.shape
    for v in (None, torch.ones((), dtype=torch.float64)):
        assert jvp(lambda a: torch.stack([a, a * a]), one, v)[1].tolist() == [1.0, 4.0]
    assert jvp(lambda a: torch.cat([a, a * a]), one.reshape(1))[1].tolist() == [1.0, 4.0]
    for name in ("vhp", "hvp"):
        for point in (one, one.reshape(1)):
            value, found = functional(torch, name)(lambda a: (a * a * a).sum(), point)
            assert value.item() == 8.0
            assert found.shape == point.shape
            assert found.item() == 12.0
        assert functional(torch, name)(lambda a: (a * a).sum().reshape(1), x, torch.ones_like(x))[1].shape == x.shape
    jacobian, hessian = functional(torch, "jacobian"), functional(torch, "hessian")
    assert jacobian(lambda a: a.sum(), x).shape == x.shape
    assert jacobian(lambda a: a.sum().reshape(1), x).shape == (1, *x.shape)
    assert jacobian(lambda a: torch.stack([a, a * a]), one).tolist() == [1.0, 4.0]
    assert jacobian(lambda a: a * a, one).item() == 4.0
    assert hessian(lambda a: a * a * a, one).item() == 12.0
    assert hessian(lambda a: (a * a).sum(), one.reshape(1)).tolist() == [[2.0]]


@entry(
    "M",
    "vjp_create_graph",
    "jvp_create_graph",
    "vhp_create_graph",
    "hvp_create_graph",
    "jacobian_create_graph",
    "hessian_create_graph",
)
@pytest.mark.parametrize("name", ALL)
def test_results_can_be_differentiated(torch, name):
    func, _, of_v = program(name)
    x, v = matrix(torch, 3, 4).requires_grad_(), vector(torch, of_v).requires_grad_()

    def derivative(x, v):
        return run(torch, name, func, x, v, create_graph=True)[1]

    found = derivative(x, v)
    assert found.requires_grad
    (gradient,) = torch.autograd.grad(found.sum(), x)
    e = x.exp().detach()
    weight = v.detach()[:, None] if name == "vjp" else v.detach() if name in PRODUCTS else 1.0
    assert torch.allclose(gradient, e * weight)
    if name in PRODUCTS:
        assert torch.autograd.gradcheck(derivative, (x, v))
        assert torch.autograd.gradgradcheck(derivative, (x, v))
    else:
        small = matrix(torch, 3, 4)[:, :1].clone().requires_grad_()
        whole = lambda x: run(torch, name, func, x, None, create_graph=True)[1]  # noqa: E731
        assert torch.autograd.gradcheck(whole, small)
        assert torch.autograd.gradgradcheck(whole, small)


@entry("M", "jacobian_create_graph", "vjp_create_graph")
def test_the_chain_goes_on_into_the_arguments_and_out_of_the_results(torch):
    x = matrix(torch).requires_grad_()

    def through(x):
        found = functional(torch, "jacobian")(lambda a: a.exp().sum(dim=1), x * x, create_graph=True)
        return found.cos().sum()

    assert torch.autograd.gradcheck(through, x)
    w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    value, found = functional(torch, "vjp")(lambda a: (a * w).exp().sum(), x, create_graph=True)
    (gw,) = torch.autograd.grad(found.sum(), w)
    e = (x * w).exp()
    assert torch.allclose(gw, (e + w * x * e).sum())
    assert value.requires_grad


@entry("M", "jacobian_match_vjp_jvp")
def test_products_of_the_jacobian(torch):
    x = torch.linspace(0.2, 1.0, 4, dtype=torch.float64)
    a = matrix(torch, 4, 4)

    def func(x):
        return x.exp().sum() * (a @ x).sin()

    v = vector(torch, (4,))
    j = functional(torch, "jacobian")(func, x)
    assert torch.allclose(functional(torch, "jvp")(func, x, v)[1], j @ v)
    assert torch.allclose(functional(torch, "vjp")(func, x, v)[1], v @ j)


@entry("M", "hessian_match_vhp_hvp")
def test_products_of_the_hessian(torch):
    x = torch.linspace(0.2, 1.0, 4, dtype=torch.float64)

    def func(x):
        return (x.exp() * x.flip(0)).sum() * x.prod()

    v = vector(torch, (4,))
    h = functional(torch, "hessian")(func, x)
    assert torch.allclose(h, h.T)
    assert torch.allclose(functional(torch, "hvp")(func, x, v)[1], h @ v)
    assert torch.allclose(functional(torch, "vhp")(func, x, v)[1], v @ h)


# ----------------------------------------------------------------------------------------------- vectorize, strategies
VECTORIZED = {
    "simple": (lambda t: lambda x: x.exp() * x.sum(), 1),
    "two inputs": (lambda t: lambda x, y: (x * y).sin(), 2),
    "two inputs and outputs": (lambda t: lambda x, y: (x * y.exp(), (x * x).sum(), y), 2),
    "an output that is unrelated": (lambda t: lambda x, y: (x * 2, t.ones(2, dtype=t.float64), y.sum()), 2),
    "no dimensions": (lambda t: lambda x: (x.sum(), x.sum().reshape(1), x.prod()), 1),
}


@entry(
    "M",
    "jacobian_vectorize_correctness_simple",
    "jacobian_vectorize_correctness_multi_input",
    "jacobian_vectorize_correctness_multi_input_multi_output",
    "jacobian_vectorize_correctness_unrelated_outputs",
    "jacobian_vectorize_correctness_zero_dim",
)
@pytest.mark.parametrize("case", VECTORIZED)
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians_in_every_way(torch, case, strategy):
    make, count = VECTORIZED[case]
    func = make(torch)
    inputs = tuple(matrix(torch, 2, 3)[k] + 0.1 for k in range(count))
    inputs = inputs if count > 1 else inputs[0]
    plain = functional(torch, "jacobian")(func, inputs)
    found = functional(torch, "jacobian")(func, inputs, vectorize=True, strategy=strategy)
    same(torch, plain, found)


@entry("M", "jacobian_vectorize_correctness_zero_dim")
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians_at_a_number(torch, strategy):
    x = torch.tensor(0.7, dtype=torch.float64)
    for func in (
        torch.sin,
        lambda x: torch.stack([x, x * x]),
        lambda x: (x * x, torch.ones(2, dtype=torch.float64) * x),
    ):
        plain = functional(torch, "jacobian")(func, x)
        same(torch, plain, functional(torch, "jacobian")(func, x, vectorize=True, strategy=strategy))


def same(torch, plain, found):
    """Two nested tuples of equal Tensors without graphs; torch has lists and graphs in places."""
    here = torch.__name__ == "pullback.torch"
    assert isinstance(plain, tuple) == isinstance(found, tuple if here else (tuple, list))
    if isinstance(plain, tuple):
        assert len(plain) == len(found)
        for a, b in zip(plain, found, strict=True):
            same(torch, a, b)
    else:
        assert plain.shape == found.shape
        assert plain.dtype == found.dtype
        assert torch.allclose(plain, found)
        assert not found.requires_grad or not here


@entry("M", "jacobian_vectorize_correctness_different_dtype")
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians_of_two_precisions(torch, strategy):
    x, y = torch.tensor([0.5, 1.0], dtype=torch.float64), torch.tensor([2.0, 3.0], dtype=torch.float32)

    def func(x, y):
        return (x * y.to(torch.float64)).to(torch.float64), (x * 3).to(torch.float32)

    plain = functional(torch, "jacobian")(func, (x, y))
    found = functional(torch, "jacobian")(func, (x, y), vectorize=True, strategy=strategy)
    for row, other in zip(plain, found, strict=True):
        for a, b in zip(row, other, strict=True):
            assert a.shape == b.shape
            assert torch.allclose(a.to(torch.float64), b.to(torch.float64))


@entry(
    "M",
    "hessian_vectorize_correctness_simple",
    "hessian_vectorize_correctness_multi_input",
    "hessian_vectorize_correctness_unrelated_outputs",
)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_hessians_in_every_way(torch, count, strategy):
    inputs = tuple(matrix(torch, 2, 3)[k] + 0.1 for k in range(count))
    inputs = inputs if count > 1 else inputs[0]
    funcs = [lambda x: (x.exp() * x.sum()).sum(), lambda x: x.sum(), lambda x: (x * 0 + 1).prod()]
    if count == 2:
        funcs = [lambda x, y: (x.exp() * y.sin()).sum() + y.prod(), lambda x, y: (y * y).sum(), lambda x, y: x.sum()]
    for func in funcs:
        plain = functional(torch, "hessian")(func, inputs)
        found = functional(torch, "hessian")(func, inputs, vectorize=True, outer_jacobian_strategy=strategy)
        same(torch, plain, found)


@entry("M", "jacobian_vectorize_raises_no_warnings", "hessian_vectorize_raises_no_warnings")
def test_vectorized_forms_warn_of_nothing(torch):
    import warnings

    x = matrix(torch, 2, 2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        functional(torch, "jacobian")(lambda a: a.exp() @ a, x, vectorize=True)
        functional(torch, "hessian")(lambda a: (a.exp() @ a).sum(), x, vectorize=True)
    assert [w for w in told if "torch.jit.script" not in str(w.message)] == []


def test_empty_inputs_and_outputs(torch, here):
    if not here:  # torch stacks no rows
        with pytest.raises(RuntimeError, match="non-empty TensorList"):
            functional(torch, "jacobian")(lambda a: a[:0], torch.ones(2))
        return
    jacobian = functional(torch, "jacobian")
    x = torch.zeros(0, dtype=torch.float64)
    assert jacobian(lambda a: a * 2, x).shape == (0, 0)
    assert jacobian(lambda a: a.sum() + torch.ones(2, dtype=torch.float64), x).shape == (2, 0)
    y = torch.ones(2, dtype=torch.float64)
    assert jacobian(lambda a: a[:0], y).shape == (0, 2)
