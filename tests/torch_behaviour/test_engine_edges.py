"""``GradientEdge``: a place in the graph as an input and as an output."""

import gc
import weakref

import pytest

from torch_behaviour.entry import entry


@pytest.fixture
def edge_of(torch):
    return torch.autograd.graph.get_gradient_edge


def double(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return Double


@entry("B", "grad_to_node")
def test_grad_with_respect_to_an_edge_is_that_of_the_tensor(torch, edge_of):
    def check(x, y):
        expected = torch.autograd.grad(y, x, retain_graph=True)[0]
        assert torch.equal(torch.autograd.grad(y, edge_of(x), retain_graph=True)[0], expected)

    x = torch.rand(3, requires_grad=True)
    check(x, x.clone().sum())
    h = x.clone()
    check(h, (h * h).sum())
    h = double(torch).apply(x)
    check(h, (h * h).sum())
    check(x, (h * h).sum())
    parts = x.unbind(0)
    check(parts[1], parts[1] * 3 + parts[0])


@entry("B", "grad_to_node_set", "grad_to_node_inplace")
def test_an_edge_is_a_place_in_the_graph_whatever_becomes_of_the_tensor(torch, edge_of):
    x = torch.rand(3, requires_grad=True).clone()
    edge = edge_of(x)
    y = (x * 2).sum()
    x.mul_(5)
    z = (x * 3).sum()
    assert torch.autograd.grad(y, edge, retain_graph=True)[0].tolist() == [2.0] * 3
    assert torch.autograd.grad(z, edge, retain_graph=True)[0].tolist() == [15.0] * 3
    assert torch.autograd.grad(z, x, retain_graph=True)[0].tolist() == [3.0] * 3
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        torch.autograd.grad(y, x)


@entry("B", "grad_to_node_multi")
def test_several_edges_at_once(torch, edge_of):
    x, y = torch.rand(2, requires_grad=True).clone(), torch.rand(2, requires_grad=True).clone()
    out = (2 * x + 3 * y).sum()
    gx, gy = torch.autograd.grad(out, (edge_of(x), edge_of(y)))
    assert (gx.tolist(), gy.tolist()) == ([2.0, 2.0], [3.0, 3.0])


@entry("B", "grad_to_node_materialize")
def test_zeros_cannot_be_made_for_an_edge(torch, edge_of):
    x = torch.rand(2, requires_grad=True).clone()
    y = torch.rand(2, requires_grad=True).clone()
    out = x.sum()
    assert torch.autograd.grad(out, (edge_of(x), y), allow_unused=True, retain_graph=True)[1] is None
    torch.autograd.grad(out, (x, y), allow_unused=True, materialize_grads=True, retain_graph=True)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        torch.autograd.grad(out, (x, edge_of(y)), allow_unused=True, materialize_grads=True)


@entry("B", "backward_to_node")
def test_backward_with_edges_among_its_inputs(torch, edge_of):
    x, y = torch.rand(2, requires_grad=True), torch.rand(2, requires_grad=True)
    out = (2 * x + 3 * y).sum()
    out.backward(inputs=(edge_of(x), y), retain_graph=True)
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0, 2.0], [3.0, 3.0])
    out.backward(inputs=(edge_of(x),))
    assert (x.grad.tolist(), y.grad.tolist()) == ([4.0, 4.0], [3.0, 3.0])
    h = torch.rand(2, requires_grad=True).clone()
    (5 * h).sum().backward(inputs=[edge_of(h)])  # nobody holds a gradient of it: nothing happens


@entry("B", "gradient_edge_output")
def test_edges_as_outputs(torch, edge_of):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.sin().exp()
    edge = edge_of(y)
    (expected,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    (found,) = torch.autograd.grad(edge, x, torch.ones(2), retain_graph=True)
    assert torch.equal(found, expected)
    torch.autograd.backward(edge, torch.ones(2), retain_graph=True)
    assert torch.equal(x.grad, expected)
    total = y.sum()
    (found,) = torch.autograd.grad([edge_of(total)], x, retain_graph=True)
    assert torch.equal(found, expected)
    (found,) = torch.autograd.grad((edge, y), (x,), (torch.ones(2), torch.ones(2)), retain_graph=True)
    assert torch.equal(found, expected * 2)
    (found,) = torch.autograd.grad(edge_of(y.exp().sum()), edge, retain_graph=True)
    assert torch.equal(found, y.detach().exp())
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad(edge, x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.autograd.grad(edge, x, torch.ones(3))


@entry("B", "gradient_edge_graph_ownership")
def test_an_edge_keeps_the_graph_alive(torch, edge_of):
    class Witness(dict):
        pass

    def run():
        x = torch.rand(2, requires_grad=True)
        y = double(torch).apply(x)
        witness = Witness()
        y.grad_fn.metadata["witness"] = witness
        return x, edge_of(y * 3), weakref.ref(witness)

    x, edge, witness = run()
    gc.collect()
    assert witness() is not None
    torch.autograd.backward(edge, torch.ones(2))
    assert x.grad.tolist() == [6.0, 6.0]
    del edge
    gc.collect()
    assert witness() is None


@entry("B", "gradient_edge_graph_ownership")
def test_an_edge_does_not_keep_the_tensor_alive(torch, edge_of):
    x = torch.rand(2, requires_grad=True)
    y = x * 3
    edge, reference = edge_of(y), weakref.ref(y)
    del y
    assert reference() is None
    assert torch.autograd.grad(edge, x, torch.ones(2))[0].tolist() == [3.0, 3.0]


@entry("B", "gradient_edge_output")
def test_what_an_edge_shows(torch, edge_of):
    x = torch.rand(3, requires_grad=True)
    symmetric = x.reshape(3, 1) * x
    first, second = torch.linalg.eigh(symmetric)
    edge = edge_of(second)
    assert edge.node is first.grad_fn
    assert edge.output_nr == 1
    assert isinstance(edge, torch.autograd.graph.GradientEdge)
    leaf = edge_of(x)
    assert leaf.node.name().endswith("AccumulateGrad")
    assert leaf.node.variable is x
    with pytest.raises(RuntimeError, match="does not require gradient"):
        edge_of(torch.ones(2))


@entry("B", "grad_fn_input_metadata")
def test_a_node_knows_shape_and_dtype_of_its_results(torch):
    x = torch.rand(2, 3, requires_grad=True)
    (metadata,) = (x * 2).grad_fn._input_metadata
    assert tuple(metadata.shape) == (2, 3)
    assert metadata.dtype == torch.float32
    values, _ = torch.linalg.eigh((x @ x.t()).to(torch.float64))
    shapes = [(tuple(m.shape), m.dtype) for m in values.grad_fn._input_metadata]
    assert shapes == [((2,), torch.float64), ((2, 2), torch.float64)]
    (metadata,) = double(torch).apply(x).grad_fn._input_metadata
    assert tuple(metadata.shape) == (2, 3)
    (metadata,) = (x * 2).grad_fn.next_functions[0][0]._input_metadata
    assert tuple(metadata.shape) == (2, 3)


@entry("B", "grad_fn_badcalls")
def test_a_node_called_with_a_wrong_number_of_gradients(torch):
    x, y = torch.tensor([3.0], requires_grad=True), torch.tensor([5.0], requires_grad=True)
    node = (x**2).grad_fn
    with pytest.raises(TypeError, match="2"):
        node(torch.ones(1), torch.ones(1))
    with pytest.raises(TypeError, match="0"):
        node()
    assert (x.exp()).grad_fn(torch.ones(1)).tolist() == x.exp().tolist()
    assert [g.item() for g in (x * y).grad_fn(torch.tensor([2.0]))] == [10.0, 6.0]


@entry("B", "next_functions")
def test_edges_of_a_node(torch):
    x, y = torch.rand(5, 5, requires_grad=True), torch.rand(5, 5, requires_grad=True)
    a = x + y
    edges = a.grad_fn.next_functions
    assert len(edges) == 2
    assert [number for _, number in edges] == [0, 0]
    assert [type(node).__name__ for node, _ in edges] == ["AccumulateGrad"] * 2
    assert [node.variable for node, _ in edges] == [x, y] or edges[0][0].variable is x
    b = a + 5
    assert b.grad_fn.next_functions[0] == (a.grad_fn, 0)
    assert b.grad_fn.next_functions[1][0] is None
    assert x.grad_fn is None
    assert (x * 2).grad_fn.next_functions[0][0] is edges[0][0]


def test_the_number_of_a_node_grows_with_its_creation(torch):
    x = torch.rand(2, requires_grad=True)
    a = x + 1
    b = a + 1
    assert a.grad_fn._sequence_nr() < b.grad_fn._sequence_nr()
    assert a.grad_fn.next_functions[0][0]._sequence_nr() > b.grad_fn._sequence_nr()
