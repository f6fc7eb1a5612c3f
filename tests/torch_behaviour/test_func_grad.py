"""torch.func: grad, vjp and their relatives: values, pytrees, argnums, aux, and how they live with no_grad and autograd."""

import pytest

from torch_behaviour.entry import entry

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")


def number(torch, value=0.7):
    return torch.tensor(value, dtype=torch.float64)


@entry("N", "grad_primitive", "grad_composite")
@pytest.mark.parametrize("name", ["sin", "sin of sin", "product", "sum of two"])
def test_gradients_of_numbers(torch, name):
    sin, cos = torch.sin, torch.cos
    func, slope = {
        "sin": (sin, cos),
        "sin of sin": (lambda x: sin(sin(x)), lambda x: cos(sin(x)) * cos(x)),
        "product": (lambda x: x * sin(x), lambda x: sin(x) + x * cos(x)),
        "sum of two": (lambda x: sin(x) + x.exp(), lambda x: cos(x) + x.exp()),
    }[name]
    x = number(torch)
    found = torch.func.grad(func)(x)
    assert torch.allclose(found, slope(x))
    assert not found.requires_grad


@entry("N", "grad_fn_with_kwargs")
def test_keyword_arguments(torch):
    x, y = torch.ones(3, dtype=torch.float64), torch.full((3,), 2.0, dtype=torch.float64)
    assert torch.func.grad(lambda x, y: (x * y).sum())(x, y=y).tolist() == [2.0] * 3


@entry("N", "grad_nesting_simple")
def test_gradients_of_gradients(torch):
    x = number(torch)
    grad = torch.func.grad
    assert torch.allclose(grad(grad(torch.sin))(x), -torch.sin(x))
    assert torch.allclose(grad(grad(grad(torch.sin)))(x), -torch.cos(x))

    def product(x):
        return grad(lambda y: y * y * x)(x)  # 2 x * x

    assert torch.allclose(grad(product)(x), 4 * x)


@entry("N", "vjp", "vjp_two_outputs")
def test_vjp(torch):
    x = torch.linspace(0.1, 1.0, 3, dtype=torch.float64)
    out, pull = torch.func.vjp(torch.sin, x)
    assert torch.allclose(out, torch.sin(x))
    v = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert torch.allclose(pull(v)[0], v * torch.cos(x))
    assert torch.allclose(pull(2 * v)[0], 2 * v * torch.cos(x))
    outs, pull = torch.func.vjp(lambda x: (x, x * x), x)
    assert len(outs) == 2
    assert torch.allclose(pull((v, v))[0], v + 2 * x * v)


@entry("N", "grad_of_vjp_composition", "grad_of_vjp_of_grad_composition")
def test_gradients_through_vjp(torch):
    x, y = number(torch), number(torch, 1.3)
    grad, vjp = torch.func.grad, torch.func.vjp

    def through(x, y):
        _, pull = vjp(torch.sin, x)
        return grad(lambda y: pull(y)[0])(y)

    assert torch.allclose(through(x, y), torch.cos(x))

    def twice(x, y):
        _, pull = vjp(grad(torch.sin), x)
        return grad(lambda y: pull(y)[0])(y)

    assert torch.allclose(twice(x, y), -torch.sin(x))


@entry("N", "argnums", "negative_argnums", "out_of_order_argnums", "invalid_argnums")
def test_positions_of_arguments(torch):
    x, y, z = (number(torch, v) for v in (2.0, 3.0, 5.0))
    func, grad = (lambda x, y, z: x * x * y + z), torch.func.grad
    assert grad(func)(x, y, z).item() == 12.0
    assert grad(func, argnums=1)(x, y, z).item() == 4.0
    assert grad(func, argnums=-1)(x, y, z).item() == 1.0
    assert [g.item() for g in grad(func, argnums=(0, 1))(x, y, z)] == [12.0, 4.0]
    assert [g.item() for g in grad(func, argnums=(1, 0))(x, y, z)] == [4.0, 12.0]
    assert [g.item() for g in grad(func, argnums=(0,))(x, y, z)] == [12.0]
    for bad in (3, -4, (0, 3)):
        with pytest.raises(RuntimeError, match="but only 3 positional inputs"):
            grad(func, argnums=bad)(x, y, z)
    with pytest.raises(RuntimeError, match=r"int or [Tt]uple|must be non-empty|argnums"):
        grad(func, argnums="x")(x, y, z)


@entry("N", "grad_pytree_inputs")
def test_dicts_and_lists_of_arguments(torch):
    x, y = number(torch, 2.0), number(torch, 3.0)

    def func(tree, z):
        return tree["a"] * tree["b"][0] + z

    found = torch.func.grad(func)({"a": x, "b": [y]}, x)
    assert found["a"].item() == 3.0
    assert found["b"][0].item() == 2.0


@entry("N", "vjp_pytree_input", "vjp_pytree_output", "vjp_outputs_can_be_any_pytree")
def test_trees_go_in_and_out_of_vjp(torch):
    x, y, t = number(torch, 2.0), number(torch, 3.0), number(torch, 1.0)
    out, pull = torch.func.vjp(lambda x, y: x[0] * x[1]["a"] * y, (x, {"a": x}), y)
    assert out.item() == 12.0
    (gx0, gx1), gy = pull(t)
    assert (gx0.item(), gx1["a"].item(), gy.item()) == (6.0, 6.0, 4.0)
    out, pull = torch.func.vjp(lambda x: {"a": x * 2, "b": [x * x]}, x)
    assert out["a"].item() == 4.0
    assert pull({"a": t, "b": [t]})[0].item() == 6.0
    with pytest.raises(RuntimeError, match=r"[Ee]xpected.*structure|structure"):
        pull((t, t))


@entry("N", "grad_aux_tensor", "grad_aux_pytree", "vjp_aux_tensor", "vjp_aux_pytree")
def test_values_on_the_side(torch):
    x = number(torch)
    g, aux = torch.func.grad(lambda x: (x.sin(), x.cos()), has_aux=True)(x)
    assert torch.allclose(g, x.cos())
    assert torch.allclose(aux, x.cos())
    assert not aux.requires_grad
    g, aux = torch.func.grad(lambda x: (x.sin(), {"a": [x.cos()]}), has_aux=True)(x)
    assert torch.allclose(aux["a"][0], x.cos())
    out, pull, aux = torch.func.vjp(lambda x: (x.sin(), {"a": x.cos()}), x, has_aux=True)
    assert torch.allclose(pull(torch.ones_like(out))[0], x.cos())
    assert torch.allclose(aux["a"], x.cos())
    with pytest.raises(RuntimeError, match=r"tuple|has_aux"):
        torch.func.grad(lambda x: x.sin(), has_aux=True)(x)
    with pytest.raises(RuntimeError, match=r"tuple|has_aux"):
        torch.func.vjp(lambda x: x.sin(), x, has_aux=True)


@entry("N", "grad_and_value")
def test_gradient_and_value(torch):
    x = number(torch)
    g, value = torch.func.grad_and_value(torch.sin)(x)
    assert torch.allclose(g, x.cos())
    assert torch.allclose(value, x.sin())
    g, (value, aux) = torch.func.grad_and_value(lambda x: (x.sin(), x.cos()), has_aux=True)(x)
    assert torch.allclose(torch.stack([g, value, aux]), torch.stack([x.cos(), x.sin(), x.cos()]))
    (gx, gy), value = torch.func.grad_and_value(lambda x, y: x * y, argnums=(0, 1))(x, x + 1)
    assert torch.allclose(gx, x + 1)
    assert torch.allclose(gy, x)
    assert torch.allclose(value, x * (x + 1))


@entry(
    "N", "zero_grad", "unrelated_grad", "unrelated_vjp", "unrelated_vjp_multiple_inputs_outputs", "unrelated_hessian"
)
def test_what_does_not_depend_is_zero(torch):
    x, y = number(torch), number(torch, 2.0)
    grad, vjp = torch.func.grad, torch.func.vjp
    assert grad(lambda x: (x * 0).sin())(x).item() == 0
    assert grad(lambda x: y.sin())(x).item() == 0
    out, pull = vjp(lambda x: y * 2, x)
    assert pull(torch.ones_like(out))[0].item() == 0
    out, pull = vjp(lambda a, b: (b * 2, a * 0 + 1), x, y)
    assert [g.item() for g in pull((torch.ones_like(x), torch.ones_like(x)))] == [0.0, 2.0]
    n = torch.ones(3, dtype=torch.float64)
    assert torch.func.hessian(lambda x: n.sum())(n).tolist() == [[0.0] * 3] * 3
    assert torch.func.jacrev(lambda x: n)(n).tolist() == [[0.0] * 3] * 3


@entry("N", "grad_shape", "grad_dtype")
def test_only_one_number_has_a_gradient(torch):
    x = torch.ones(3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match=r"to return a scalar [Tt]ensor"):
        torch.func.grad(lambda x: x * 2)(x)
    with pytest.raises(RuntimeError, match=r"to return a .*[Tt]ensor"):
        torch.func.grad(lambda x: 3.0)(x)
    assert torch.func.grad(lambda x: x.sum())(torch.ones(2, 3)).shape == (2, 3)
    assert torch.func.grad(lambda x: x.sum())(torch.ones(2, 3)).dtype == torch.float32


@entry("N", "no_grad_outside", "no_grad_outside_vjp", "no_grad_outside_vjp_only")
def test_no_grad_outside_does_not_hinder(torch):
    x = number(torch).requires_grad_()
    with torch.no_grad():
        g = torch.func.grad(torch.sin)(x)
        out, pull = torch.func.vjp(torch.sin, x)
        v = pull(torch.ones_like(out))[0]
    for found in (g, v):
        assert torch.allclose(found, torch.cos(x))


@entry("N", "no_grad_inside", "no_grad_mixed", "no_grad_nested_simple", "no_grad_nested_complicated", "no_grad_value")
def test_no_grad_inside_makes_constants(torch):
    x, grad = number(torch), torch.func.grad

    def inside(x):
        with torch.no_grad():
            c = x**2
        return x**2 - c

    assert torch.allclose(grad(inside)(x), 2 * x)
    assert torch.allclose(grad(grad(inside))(x), torch.full_like(x, 2.0))
    assert torch.allclose(grad(lambda x: inside(x) + torch.sin(x))(x), 2 * x + torch.cos(x))

    def nested(x):
        with torch.no_grad():
            shift = grad(lambda x: 0.25 * x**4)(x)
        return grad(inside)(x) - shift

    y = x.clone().requires_grad_()
    result = nested(y)
    assert torch.allclose(result, 2 * x - x**3)
    (g,) = torch.autograd.grad(result, y)
    assert torch.allclose(g, torch.full_like(x, 2.0))
    value = torch.func.grad_and_value(inside)(x)[1]
    assert value.item() == 0


@entry("N", "composed_with_autograd")
def test_the_result_belongs_to_an_outer_graph(torch):
    x = number(torch).requires_grad_()
    y = torch.func.grad(torch.sin)(x)
    assert y.requires_grad
    assert torch.allclose(torch.autograd.grad(y, x)[0], -torch.sin(x))
    w = number(torch, 3.0).requires_grad_()
    z = torch.func.grad(lambda x: w * x * x)(x.detach())
    assert torch.allclose(torch.autograd.grad(z, w)[0], 2 * x.detach())


@entry("N", "inplace", "inplace_on_view", "inplace_on_view_base")
def test_writes_in_place_inside(torch):
    x = torch.linspace(0.5, 1.5, 3, dtype=torch.float64)

    def write(x):
        y = x * x
        y.mul_(2)
        return y.sum()

    def through_a_view(x):
        y = x.clone()
        y[0].mul_(3)
        y[1:].copy_(x[1:] * x[1:])
        return y.sum()

    def the_base(x):
        base = x.sin()
        view = base[0]
        base.add_(view.clone())
        return view

    assert torch.allclose(torch.func.grad(write)(x), 4 * x)
    assert torch.allclose(torch.func.grad(through_a_view)(x), torch.stack([x[0] * 0 + 3, 2 * x[1], 2 * x[2]]))
    assert torch.allclose(torch.func.grad(the_base)(x), torch.stack([2 * x[0].cos(), x[1] * 0, x[2] * 0]))


@entry("N", "escaped_wrappers")
def test_a_value_that_escapes_is_an_ordinary_one(torch):
    x, escaped = number(torch), []

    def func(x):
        escaped.append(x * 2)
        return (x * 2).sin()

    torch.func.grad(func)(x)
    assert torch.allclose(escaped[0] + 1, 2 * x + 1)
    assert torch.allclose(torch.func.grad(lambda y: y * escaped[0].detach())(x), 2 * x)


@entry("N", "backward_inside")
def test_backward_inside_is_refused(torch):
    def func(x):
        y = (x * x).sum()
        y.backward()
        return y

    with pytest.raises(RuntimeError, match=r"backward\(\) called inside|functorch transform|transform"):
        torch.func.grad(func)(number(torch))
