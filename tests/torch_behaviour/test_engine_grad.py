"""``grad`` and ``backward``: what they take, give, accumulate and refuse."""

import collections

import pytest

from torch_behaviour.entry import entry


def polynomial(torch):
    """Two leaves, and ``x**2 + x*y + y**2`` with its derivatives."""
    x, y = torch.rand(2, 2, requires_grad=True), torch.rand(2, 2, requires_grad=True)
    return x, y, x**2 + y * x + y**2, 2 * x.detach() + y.detach(), x.detach() + 2 * y.detach()


# ------------------------------------------------------------------------------------------------ accumulation
@entry("B", "accumulate_grad")
@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_add_up_in_place_unless_they_have_a_graph(torch, create_graph):
    x = torch.ones(5, 5, requires_grad=True)
    y = x + torch.ones(5, 5)
    y.backward(torch.ones(5, 5), retain_graph=True)
    first = x.grad
    kept = first.clone()
    y.backward(torch.ones(5, 5), create_graph=create_graph)
    assert x.grad.tolist() == (kept * 2).tolist()
    assert (x.grad is first) is (not create_graph)
    assert first.tolist() == (kept if create_graph else kept * 2).tolist()


@entry("B", "accumulate_grad_tensor_reference")
@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_set_by_the_user_stays_the_object_unless_a_graph_is_made(torch, create_graph):
    x = torch.tensor([5.0, 7.0], requires_grad=True)
    mine = torch.tensor([3.0, 4.0])
    x.grad = mine
    (x * torch.tensor([1.0, 2.0])).backward(torch.ones(2), create_graph=create_graph)
    assert (x.grad is mine) is (not create_graph)
    assert x.grad.tolist() == [4.0, 6.0]


@entry("B", "accumulate_grad_with_zero_numel_grad")
def test_gradients_of_empty_tensors(torch):
    a, b = torch.rand(4, 0, requires_grad=True), torch.rand(4, 1, requires_grad=True)
    c = a + b
    assert tuple(c.shape) == (4, 0)
    c.sum().backward()
    assert a.grad.tolist() == torch.zeros(4, 0).tolist()
    assert tuple(a.grad.shape) == (4, 0)
    assert b.grad.tolist() == [[0.0]] * 4


@entry("B", "hessian_vector")
@pytest.mark.filterwarnings("ignore:Using backward")
def test_backward_on_gradients_is_a_product_with_the_hessian(torch):
    x, y, z, dx, dy = polynomial(torch)
    z.backward(torch.ones(2, 2), create_graph=True)
    assert torch.allclose(x.grad, dx)
    assert torch.allclose(y.grad, dy)
    gradients = 2 * x.grad + y.grad
    gradients.backward(torch.ones(2, 2))
    assert torch.allclose(x.grad.detach(), dx + torch.full((2, 2), 5.0))  # 2*2 + 1*1
    assert torch.allclose(y.grad.detach(), dy + torch.full((2, 2), 4.0))  # 2*1 + 1*2


@entry("B", "grad")
def test_grad_leaves_the_leaves_alone_and_can_be_differentiated(torch):
    x, y, z, dx, dy = polynomial(torch)
    seed = torch.ones(2, 2)
    grads = torch.autograd.grad(z, [x, y], seed, create_graph=True)
    assert torch.allclose(grads[0], dx)
    assert torch.allclose(grads[1], dy)
    (second,) = torch.autograd.grad([grads[0] + grads[1]], [x], [torch.ones(2, 2)], create_graph=True)
    assert second.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert x.grad is None
    assert y.grad is None
    y = x[0] * 2
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] .*\[3\].* output\[0\] .*\[2\]"):
        torch.autograd.grad(y, x, torch.ones(3))


@entry("B", "grad_nonleaf")
def test_steps_along_the_gradient_of_something_computed(torch):
    x0, y = torch.tensor([4.0], requires_grad=True), torch.tensor([2.0])
    x = x0
    values = []
    for _ in range(3):
        value = ((x - y) ** 2).sum()
        values.append(value.item())
        (slope,) = torch.autograd.grad(value, x)
        x = x - 0.25 * slope
    assert values == [4.0, 1.0, 0.25]
    assert x0.grad is None
    assert y.grad is None


@entry("B", "grad_nonleaf_many_outputs")
def test_two_results_of_one_node_are_asked_for(torch):
    def fail(g):
        raise AssertionError("not on the way")

    x = torch.rand(4, 2, requires_grad=True)
    a, b = x.chunk(2)
    x.register_hook(fail)
    a.register_hook(lambda g: g * 10)
    ga, gb = torch.autograd.grad((a + 2 * b).sum(), [a, b])
    assert ga.tolist() == [[10.0, 10.0], [10.0, 10.0]]
    assert gb.tolist() == [[2.0, 2.0], [2.0, 2.0]]


@entry("B", "grad_nonleaf_register_hook")
def test_hooks_of_results_that_are_not_used_may_get_none(torch):
    seen = {}
    x = torch.rand(5, requires_grad=True)
    parts = x.unbind(0)
    for k, part in enumerate(parts):
        part.register_hook(lambda g, k=k: seen.setdefault(k, g))
    parts[3].backward()
    assert seen[3].item() == 1.0
    assert all(seen[k] is None for k in seen if k != 3)
    assert x.grad.tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]


@entry("B", "grad_materialize_grads")
def test_zeros_in_the_place_of_none(torch):
    x, a, b = (torch.tensor(value, requires_grad=True) for value in (0.5, 1.0, 3.0))
    grad = torch.autograd.grad
    y = x * a
    (dydx,) = grad(y, x, create_graph=True)
    assert grad(dydx, (a, x), allow_unused=True, materialize_grads=True, retain_graph=True)[1].item() == 0.0
    found = grad(y, (x, b), materialize_grads=True, retain_graph=True)
    assert [g.item() for g in found] == [1.0, 0.0]
    assert not found[1].requires_grad
    assert grad(y, b, materialize_grads=True, create_graph=True)[0].requires_grad
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when materialize_grads=True"):
        grad(y, (x, b), allow_unused=False, materialize_grads=True)


# ------------------------------------------------------------------------------------------------ dicts
@entry("B", "grad_dict_inputs", "grad_dict_inputs_create_graph")
def test_a_dict_of_inputs_gives_a_dict(torch):
    x, y, z, dx, dy = polynomial(torch)
    found = torch.autograd.grad(z.sum(), {"x": x, "y": y}, create_graph=True)
    assert list(found) == ["x", "y"]
    assert torch.allclose(found["x"], dx)
    assert torch.allclose(found["y"], dy)
    again = torch.autograd.grad(found["x"].sum(), {"a": x})
    assert again["a"].tolist() == [[2.0, 2.0], [2.0, 2.0]]


@entry("B", "grad_dict_inputs_allow_unused", "grad_dict_inputs_materialize")
def test_what_is_unused_in_a_dict(torch):
    x, other = torch.tensor(2.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    y = x * x
    inputs = {"x": x, "other": other}
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        torch.autograd.grad(y, inputs, retain_graph=True)
    assert torch.autograd.grad(y, inputs, allow_unused=True, retain_graph=True)["other"] is None
    assert torch.autograd.grad(y, inputs, materialize_grads=True)["other"].item() == 0.0


@entry(
    "B",
    "grad_dict_inputs_ordered_dict",
    "grad_dict_inputs_empty",
    "backward_dict_inputs_ordered_dict",
    "backward_dict_inputs_empty",
)
def test_other_mappings_and_empty_dicts_are_refused(torch):
    class Table(collections.abc.Mapping):
        def __init__(self, of):
            self.of = of

        def __getitem__(self, key):
            return self.of[key]

        def __iter__(self):
            return iter(self.of)

        def __len__(self):
            return len(self.of)

    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    for inputs in (Table({"x": x}), collections.OrderedDict(x=x)):
        with pytest.raises(TypeError):
            torch.autograd.grad(y, inputs, retain_graph=True)
        with pytest.raises(TypeError):
            y.backward(inputs=inputs, retain_graph=True)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(y, {})
    with pytest.raises(RuntimeError, match="cannot be empty"):
        y.backward(inputs={})


@entry("B", "backward_dict_inputs")
def test_a_dict_of_inputs_of_backward(torch):
    x, y, z, dx, _ = polynomial(torch)
    z.sum().backward(inputs={"x": x})
    assert torch.allclose(x.grad, dx)
    assert y.grad is None


# ------------------------------------------------------------------------------------------------ seeds and roots
@entry("B", "sharded_grad")
def test_gradients_of_shards_make_a_gradient(torch):
    leaves = [torch.full((3,), float(k), requires_grad=True) for k in range(10)]
    parts = [(x * k).sum() for k, x in enumerate(leaves)]
    sharded = [parts[0:4], parts[4:7], parts[7:]]
    copies = [[p.detach().clone().requires_grad_() for p in shard] for shard in sharded]
    grads = []
    for k, shard in enumerate(copies):
        total = sum(shard) * (k + 1)
        grads += torch.autograd.grad(total, shard)
    torch.autograd.backward(parts, grads)
    for k, x in enumerate(leaves):
        assert x.grad.tolist() == [k * (1 if k < 4 else 2 if k < 7 else 3)] * 3


@entry("B", "backward_badcalls", "grad_badcalls")
def test_a_root_without_gradients_is_refused(torch):
    x = torch.ones(1)
    with pytest.raises(RuntimeError, match="does not require grad"):
        x.backward()
    x, y = torch.ones(1), torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(x**2, y)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(y**2, x)


@entry("B", "grad_empty_inputs")
def test_no_inputs_at_all(torch):
    x = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(2 * x, [], grad_outputs=torch.tensor([1.0]))


@entry("B", "grad_unreachable")
def test_inputs_that_no_path_leads_to(torch):
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    z = x * 2
    gx, gy = torch.autograd.grad(z, [x, y], allow_unused=True, retain_graph=True)
    assert gx.item() == 2.0
    assert gy is None
    (gy,) = torch.autograd.grad(z, [y], allow_unused=True, retain_graph=True)
    assert gy is None
    (gy,) = torch.autograd.grad(y, [z], torch.ones(1), allow_unused=True, retain_graph=True)
    assert gy is None
    with pytest.raises(RuntimeError, match="Set allow_unused=True"):
        torch.autograd.grad(z, [x, y], allow_unused=False)


@entry("B", "grad_unreachable_discovery")
def test_nodes_that_lead_to_other_leaves_only_do_not_run(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("this should not be called")

    x, w = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    y = torch.ones(1, requires_grad=True)
    (gy,) = torch.autograd.grad(Fails.apply(x) + y, y)
    assert gy.item() == 1.0
    assert torch.autograd.grad(Fails.apply(x) * 2, w, allow_unused=True) == (None,)
    (Fails.apply(x) + y).backward(inputs=[y])
    assert y.grad.item() == 1.0


@entry("B", "backward")
def test_a_rational_expression(torch):
    x, y, z = (torch.rand(5, 5, requires_grad=True) for _ in range(3))
    with torch.no_grad():
        z += 1
    result = (x**2 + y * 2 + x / z).sum()
    result.backward()
    assert torch.allclose(x.grad, 2 * x.detach() + 1 / z.detach())
    assert torch.allclose(y.grad, torch.full((5, 5), 2.0))
    assert torch.allclose(z.grad, -x.detach() / z.detach() ** 2)


@entry("B", "multi_backward")
def test_several_roots_with_a_seed_each(torch):
    x, y, q = (torch.rand(5, 5, requires_grad=True) for _ in range(3))
    a, b = torch.rand(5, 5, requires_grad=True), torch.rand(5, 5, requires_grad=True)
    shared = a * b
    z, c = x * y + shared, q + shared
    gz, gc = torch.rand(5, 5), torch.rand(5, 5)
    torch.autograd.backward([z, c], [gz, gc])
    with torch.no_grad():
        assert torch.allclose(x.grad, y * gz)
        assert torch.allclose(q.grad, gc)
        assert torch.allclose(a.grad, b * (gz + gc))


@entry("B", "multi_backward_no_grad")
def test_a_root_without_gradients_among_others_is_refused(torch):
    x, y = torch.rand(5, 5, requires_grad=True), torch.rand(5, 5)
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
        torch.autograd.backward([x + y, y + 1], [torch.ones(5, 5), torch.ones(5, 5)])
    assert x.grad is None


@entry("B", "dependent_backward")
def test_roots_that_depend_on_each_other(torch):
    x = torch.rand(10, requires_grad=True)
    y = x**2
    z = y**3
    gy, gz = torch.rand(10), torch.rand(10)
    torch.autograd.backward([y, z], [gy, gz])
    with torch.no_grad():
        assert torch.allclose(x.grad, 2 * x * gy + 6 * x**5 * gz)


@entry("B", "duplicate_backward_root")
def test_a_root_given_twice_counts_twice(torch):
    a, b = torch.rand(5, 5, requires_grad=True), torch.rand(5, 5, requires_grad=True)
    x = a * b
    seed = torch.rand(5, 5)
    torch.autograd.backward([x, x], [seed, seed])
    assert torch.allclose(a.grad, b.detach() * seed * 2)
    assert torch.allclose(b.grad, a.detach() * seed * 2)


@entry("B", "backward_no_grad")
def test_several_elements_need_a_seed(torch):
    a = torch.rand(5, 5, requires_grad=True) + 2
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.backward([a], [None])


@entry("B", "complex_scalar_backward")
def test_a_complex_root_needs_a_seed(torch):
    a = torch.zeros(1, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(RuntimeError, match="only for real scalar outputs"):
        (a * 2).backward()
    with pytest.raises(RuntimeError, match="only for real scalar outputs"):
        torch.autograd.grad(a * 2, a)


# ------------------------------------------------------------------------------------------------ inputs of backward
@entry("B", "backward_with_inputs")
def test_backward_with_inputs_fills_only_these(torch):
    def fresh():
        return polynomial(torch)

    x, y, z, dx, dy = fresh()
    z.backward(torch.ones(2, 2), inputs=[x, y], retain_graph=True)
    assert torch.allclose(x.grad, dx)
    assert torch.allclose(y.grad, dy)
    for inputs in (lambda x: [x], lambda x: x):
        x, y, z, dx, dy = fresh()
        z.backward(torch.ones(2, 2), inputs=inputs(x))
        assert torch.allclose(x.grad, dx)
        assert y.grad is None
    x, y, z, dx, dy = fresh()
    with pytest.raises(RuntimeError, match="cannot be empty"):
        z.backward(torch.ones(2, 2), inputs=[])


@entry("B", "backward_with_scalar_input")
def test_backward_with_one_input_of_no_dimensions(torch):
    x, y = torch.rand((), requires_grad=True), torch.rand((), requires_grad=True)
    (x**2 + y).backward(inputs=x)
    assert x.grad.item() == pytest.approx(2 * x.item())
    assert y.grad is None


@entry("B", "backward_with_nonleaf_inputs")
def test_backward_fills_the_gradient_of_computed_inputs(torch):
    x = torch.rand(2, 2, requires_grad=True)
    y = torch.rand(2, 2, requires_grad=True)
    h = x * y
    z = h**2
    unused = torch.rand(2, 2, requires_grad=True)
    z.sum().backward(inputs=[h, y, unused])
    assert torch.allclose(h.grad, 2 * h.detach())
    assert torch.allclose(y.grad, 2 * h.detach() * x.detach())
    assert x.grad is None
    assert unused.grad is None


@entry("B", "grad_batched_grad")
def test_one_derivative_per_entry_of_the_seeds(torch):
    x = torch.rand(2, 2, requires_grad=True)
    out = x.clone()
    seeds = torch.arange(12.0).reshape(3, 2, 2)
    (found,) = torch.autograd.grad(out, x, (seeds,), is_grads_batched=True)
    assert torch.equal(found, seeds)
    total = x.sum()
    (found,) = torch.autograd.grad(total, x, (torch.arange(3.0),), is_grads_batched=True)
    assert found.tolist() == [[[k, k], [k, k]] for k in (0.0, 1.0, 2.0)]
    with pytest.raises(RuntimeError, match="If `is_grads_batched=True`"):
        torch.autograd.grad(x.clone(), x, (torch.ones(2, 3),), is_grads_batched=True)
    with pytest.raises((RuntimeError, IndexError)):
        torch.autograd.grad(x.sum(), x, (torch.tensor(1.0),), is_grads_batched=True)
