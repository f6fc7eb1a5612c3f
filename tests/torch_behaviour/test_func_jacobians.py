"""torch.func: jacrev, jacfwd, hessian, jvp and linearize: shapes, structures, argnums, aux, nesting and errors."""

import pytest

from torch_behaviour.entry import entry

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop because"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node"),
]
WAYS = ["jacrev", "jacfwd"]


def numbers(torch, n=3, start=0.2):
    return torch.linspace(start, 1.0, n, dtype=torch.float64)


@entry("N", "jac_simple", "jac_simple_not_flat", "jac_take", "jac_dimensionality")
@pytest.mark.parametrize("way", WAYS)
def test_shapes(torch, way):
    jac = getattr(torch.func, way)
    x = numbers(torch)
    assert torch.allclose(jac(torch.sin)(x), torch.diag(x.cos()))
    m = numbers(torch, 6).reshape(2, 3)
    assert torch.allclose(jac(torch.sin)(m).reshape(6, 6), torch.diag(m.reshape(-1).cos()))
    assert jac(lambda x: x[0])(x).tolist() == [1.0, 0.0, 0.0]
    assert jac(lambda x: x * x)(x[1]).shape == ()
    assert torch.allclose(jac(lambda x: torch.stack([x, x * x]))(x[1]), torch.stack([x[1] * 0 + 1, 2 * x[1]]))
    assert jac(lambda x: x.reshape(3, 1).expand(3, 2))(x).shape == (3, 2, 3)


@entry(
    "N",
    "jac_argnums_tuple",
    "jac_argnums_effect",
    "jac_multiple_args",
    "jac_empty_argnums",
    "jac_out_of_bounds_argnums",
)
@pytest.mark.parametrize("way", WAYS)
def test_positions(torch, here, way):
    jac = getattr(torch.func, way)
    x, y = numbers(torch), numbers(torch) + 1
    f = lambda x, y: x * y + y  # noqa: E731
    assert torch.allclose(jac(f)(x, y), torch.diag(y))
    assert torch.allclose(jac(f, argnums=1)(x, y), torch.diag(x + 1))
    if here or way == "jacrev":  # torch's jacfwd gives zeros for a negative position, without an error
        assert torch.allclose(jac(f, argnums=-1)(x, y), torch.diag(x + 1))
    both = jac(f, argnums=(0, 1))(x, y)
    assert isinstance(both, tuple)
    assert torch.allclose(both[1], torch.diag(x + 1))
    one = jac(f, argnums=(0,))(x, y)
    assert isinstance(one, tuple)
    assert len(one) == 1
    with pytest.raises(RuntimeError, match="must be non-empty"):
        jac(f, argnums=())(x, y)
    with pytest.raises(RuntimeError, match="only 2 positional inputs"):
        jac(f, argnums=2)(x, y)
    with pytest.raises(RuntimeError, match="must be int"):
        jac(f, argnums=0.0)(x, y)


@entry("N", "jac_multiple_outputs_pytree", "jac_multiple_inputs_pytree", "jac_multiple_inputs_outputs_pytree")
@pytest.mark.parametrize("way", WAYS)
def test_trees(torch, way):
    jac = getattr(torch.func, way)
    x, y = numbers(torch), numbers(torch) + 1
    found = jac(lambda x: {"left": x * 2, "right": (x * x,)})(x)
    assert torch.allclose(found["right"][0], torch.diag(2 * x))
    found = jac(lambda tree: tree["a"] * tree["b"][0])({"a": x, "b": [y]})
    assert torch.allclose(found["a"], torch.diag(y))
    assert torch.allclose(found["b"][0], torch.diag(x))
    found = jac(lambda tree, z: {"s": tree["a"].sum() * z, "t": tree["b"]}, argnums=(0, 1))({"a": x, "b": y}, x)
    assert isinstance(found, dict)
    tree, z = found["s"]
    assert torch.allclose(z, torch.eye(3, dtype=torch.float64) * x.sum())
    assert tree["b"].tolist() == [[0.0] * 3] * 3
    assert found["t"][0]["b"].tolist() == torch.eye(3).tolist()


@entry("N", "jac_unrelated_input", "jac_unrelated_output")
@pytest.mark.parametrize("way", WAYS)
def test_zeros_where_nothing_depends(torch, way):
    jac = getattr(torch.func, way)
    x, y = numbers(torch), numbers(torch, 2)
    assert jac(lambda x, y: x, argnums=1)(x, y).tolist() == [[0.0, 0.0]] * 3
    out = jac(lambda x, y: (x, y), argnums=1)(x, y)
    assert out[0].tolist() == [[0.0, 0.0]] * 3
    assert out[1].tolist() == [[1.0, 0.0], [0.0, 1.0]]


@entry("N", "jac_aux_tensor", "jac_aux_pytree")
@pytest.mark.parametrize("way", WAYS)
def test_auxiliary_results(torch, way):
    jac = getattr(torch.func, way)
    x = numbers(torch)
    j, aux = jac(lambda x: (x.sin(), x.cos()), has_aux=True)(x)
    assert torch.allclose(j, torch.diag(x.cos()))
    assert torch.allclose(aux, x.cos())
    _, aux = jac(lambda x: (x.sin(), {"a": [x.cos()]}), has_aux=True)(x)
    assert torch.allclose(aux["a"][0], x.cos())
    assert not aux["a"][0].requires_grad
    with pytest.raises(RuntimeError, match="has_aux is True"):
        jac(lambda x: x.sin(), has_aux=True)(x)


@entry("N", "jac_composition", "hessian_simple", "hessian_argnums", "hessian_aux_free")
def test_second_derivatives_in_every_mixture(torch):
    x, y = numbers(torch), numbers(torch) + 1
    f = lambda x, y: (x.sin() * y).sum() + x.prod()  # noqa: E731
    right = torch.func.hessian(f)(x, y)
    for inner in WAYS:
        for outer in WAYS:
            found = getattr(torch.func, outer)(getattr(torch.func, inner)(f))(x, y)
            assert torch.allclose(found, right)
    off = x.prod() / (x[:, None] * x[None, :])
    expected = off - torch.diag(off.diagonal()) - torch.diag(x.sin() * y)
    assert torch.allclose(right, expected)
    blocks = torch.func.hessian(f, argnums=(0, 1))(x, y)
    assert torch.allclose(blocks[0][1], torch.diag(x.cos()))
    assert blocks[1][1].tolist() == [[0.0] * 3] * 3


@entry("N", "jac_against_autograd", "jac_chunked")
@pytest.mark.parametrize("chunk", [None, 1, 2, 100])
def test_rows_in_pieces(torch, chunk):
    x = numbers(torch, 5)
    f = lambda x: torch.outer(x.exp(), x.sin())[:2].sum(dim=0)  # noqa: E731
    found = torch.func.jacrev(f, chunk_size=chunk)(x)
    assert torch.allclose(found, torch.autograd.functional.jacobian(f, x))


@entry("N", "jac_in_outer_graph")
@pytest.mark.parametrize("way", WAYS)
def test_jacobians_belong_to_outer_graphs(torch, way):
    x = numbers(torch).requires_grad_()
    j = getattr(torch.func, way)(lambda x: x**3)(x)
    (g,) = torch.autograd.grad(j.sum(), x)
    assert torch.allclose(g, 6 * x)
    with torch.no_grad():
        j = getattr(torch.func, way)(lambda x: x**3)(x)
    assert not j.requires_grad
    assert torch.allclose(j, torch.diag(3 * x.detach() ** 2))


@entry(
    "N", "jvp_simple", "jvp_multiple_inputs", "jvp_multiple_outputs", "jvp_multiple_inputs_outputs", "jvp_pytree_inputs"
)
def test_pushing(torch):
    jvp = torch.func.jvp
    x, y, t = numbers(torch), numbers(torch) + 1, torch.ones(3, dtype=torch.float64)
    out, moved = jvp(torch.sin, (x,), (t,))
    assert torch.allclose(out, x.sin())
    assert torch.allclose(moved, x.cos())
    _, moved = jvp(lambda x, y: x * y, (x, y), (t, 2 * t))
    assert torch.allclose(moved, y + 2 * x)
    (_a, _b), (ta, tb) = jvp(lambda x: (x * 2, x * x), (x,), (t,))
    assert torch.allclose(ta, 2 * t)
    assert torch.allclose(tb, 2 * x)
    out, moved = jvp(lambda d: {"s": d["a"] * d["b"][0]}, ({"a": x, "b": [y]},), ({"a": t, "b": [t * 0]},))
    assert torch.allclose(out["s"], x * y)
    assert torch.allclose(moved["s"], y)
    assert isinstance(jvp(lambda x: [x, x], (x,), (t,))[1], list)


@entry("N", "jvp_errors", "jvp_unrelated", "jvp_strict", "jvp_aux_tensor", "jvp_aux_pytree")
def test_pushing_with_options(torch):
    jvp = torch.func.jvp
    x, t = numbers(torch), torch.ones(3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
        jvp(torch.sin, x, (t,))
    with pytest.raises(RuntimeError, match="same python structure"):
        jvp(torch.sin, (x,), (t, t))
    with pytest.raises(RuntimeError, match=r"only.*tensors"):
        jvp(lambda x: 3.0, (x,), (t,))
    y = numbers(torch, 2)
    assert jvp(lambda x: y, (x,), (t,))[1].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="strict"):
        jvp(lambda x: y, (x,), (t,), strict=True)
    _, moved, aux = jvp(lambda x: (x.sin(), {"c": x.cos()}), (x,), (t,), has_aux=True)
    assert torch.allclose(moved, x.cos())
    assert torch.allclose(aux["c"], x.cos())
    with pytest.raises(RuntimeError, match="has_aux is True"):
        jvp(torch.sin, (x,), (t,), has_aux=True)


@entry("N", "jvp_nested", "jvp_in_outer_graph", "jvp_no_grad_outside", "jvp_no_grad_inside")
def test_pushing_inside_and_outside_of_other_things(torch):
    jvp, grad = torch.func.jvp, torch.func.grad
    x, t = torch.tensor(0.7, dtype=torch.float64), torch.ones((), dtype=torch.float64)

    def once(x):
        return jvp(torch.sin, (x,), (t,))[1]

    assert torch.allclose(jvp(once, (x,), (t,))[1], -x.sin())
    assert torch.allclose(grad(once)(x), -x.sin())
    assert torch.allclose(jvp(grad(torch.sin), (x,), (t,))[1], -x.sin())
    z = x.clone().requires_grad_()
    assert torch.allclose(torch.autograd.grad(once(z), z)[0], -x.sin())
    with torch.no_grad():
        _out, moved = jvp(torch.sin, (z,), (t,))
    assert torch.allclose(moved, x.cos())
    assert not moved.requires_grad

    def inside(x):
        with torch.no_grad():
            c = x * x  # forward mode goes on
        return c * x

    assert torch.allclose(jvp(inside, (x,), (t,))[1], 3 * x * x)


@entry("N", "linearize_basic", "linearize_nested_input_nested_output", "linearize_composition", "linearize_errors")
def test_linearising(torch, here):
    x, t = numbers(torch), torch.ones(3, dtype=torch.float64)
    calls = []

    def func(x):
        calls.append(1)
        return x.sin() * x

    value, push = torch.func.linearize(func, x)
    assert torch.allclose(value, x.sin() * x)
    for k in (1.0, 2.0, -3.0):
        assert torch.allclose(push(k * t), k * (x.cos() * x + x.sin()))
    assert len(calls) == (1 if here else 2)
    value, push = torch.func.linearize(lambda d, y: {"s": (d["a"] * y, d["a"].sum())}, {"a": x}, x)
    moved = push({"a": t}, 0 * t)
    assert torch.allclose(moved["s"][0], x)
    assert moved["s"][1].item() == 3.0
    with pytest.raises((RuntimeError, ValueError)):
        push(t)
    with pytest.raises((RuntimeError, ValueError)):
        torch.func.linearize(func, x)[1](torch.ones(2, dtype=torch.float64))


@entry("N", "custom_function_under_transforms", "custom_function_needs_input_grads", "custom_function_materialize")
def test_functions_under_transforms(torch):
    seen = []

    class Product(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            seen.append(ctx.needs_input_grad)
            return g * y, g * x

        @staticmethod
        def jvp(ctx, tx, ty):
            x, y = ctx.saved_tensors
            return tx * y + x * ty

    x, y = numbers(torch), numbers(torch) + 1
    func, grad = (lambda x, y: Product.apply(x, y).sum()), torch.func.grad
    assert torch.allclose(grad(func)(x, y), y)
    assert seen[-1] == (True, False)
    assert torch.allclose(grad(func, argnums=1)(x, y), x)
    assert seen[-1] == (False, True)
    assert torch.allclose(torch.func.jvp(Product.apply, (x, y), (y, x))[1], y * y + x * x)
    square = lambda x: Product.apply(x, x)  # noqa: E731
    assert torch.allclose(grad(lambda x: grad(lambda x: square(x).sum())(x).sum())(x), torch.full_like(x, 2.0))
    assert torch.allclose(torch.func.jacfwd(square)(x), torch.diag(2 * x))


@entry("N", "custom_function_once_differentiable_vjp", "custom_function_once_differentiable_grad_vjp")
def test_once_differentiable_under_transforms(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = numbers(torch)
    out, pull = torch.func.vjp(Square.apply, x)
    assert torch.allclose(pull(torch.ones_like(out))[0], 2 * x)
    y = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(Square.apply(y).sum(), y, create_graph=True)
    assert torch.allclose(g, 2 * x)


@entry("N", "custom_function_returns_input", "custom_function_grad_fn_name")
def test_a_function_that_returns_its_input_under_transforms(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = torch.tensor(2.0, dtype=torch.float64)
    assert torch.func.grad(Same.apply)(x).item() == 3.0
    assert torch.func.grad(lambda x: Same.apply(x * x))(x).item() == 12.0
    assert Same.apply(x.clone().requires_grad_()).grad_fn.name() == "SameBackward"
