"""Custom Functions that compute with NumPy inside, as torch's own samples do, through every check and transformation."""

import numpy as np
import pytest

from torch_behaviour.entry import entry

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")


def to_array(tensor):
    return tensor.detach().numpy()


class Samples:
    """The Functions, written for either library."""

    def __init__(self, torch):
        self.torch = torch

        def tensor(array):
            return torch.as_tensor(np.ascontiguousarray(array))

        class Cube(torch.autograd.Function):
            """Its second derivative is that of another Function, its first keeps an output."""

            @staticmethod
            def forward(x):
                a = to_array(x)
                return tensor(a**3), tensor(3 * a**2)

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(inputs[0], output[1])
                ctx.save_for_forward(inputs[0], output[1])

            @staticmethod
            def backward(ctx, g, g_slope):
                x, slope = ctx.saved_tensors
                return Mul.apply(g, slope) + 6 * Mul.apply(g_slope, x)

            @staticmethod
            def jvp(ctx, t):
                x, slope = ctx.saved_tensors
                return Mul.apply(t, slope), 6 * Mul.apply(t, x)

            @staticmethod
            def vmap(info, in_dims, x):
                return Cube.apply(x), (in_dims[0], in_dims[0])

        class Mul(torch.autograd.Function):
            """Broadcasts, and lets the engine sum its gradients."""

            @staticmethod
            def forward(x, y):
                return tensor(to_array(x) * to_array(y))

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)
                ctx.save_for_forward(*inputs)

            @staticmethod
            def backward(ctx, g):
                x, y = ctx.saved_tensors
                return (
                    Mul.apply(g, y) if ctx.needs_input_grad[0] else None,
                    Mul.apply(g, x) if ctx.needs_input_grad[1] else None,
                )

            @staticmethod
            def jvp(ctx, tx, ty):
                x, y = ctx.saved_tensors
                return tx * y + x * ty

            @staticmethod
            def vmap(info, in_dims, x, y):
                x_dim, y_dim = in_dims
                x = x.movedim(x_dim, -1) if x_dim is not None else x.unsqueeze(-1)
                y = y.movedim(y_dim, -1) if y_dim is not None else y.unsqueeze(-1)
                out = Mul.apply(x, y)
                return out.movedim(-1, 0), 0

        class Exp(torch.autograd.Function):
            """Writes into its input."""

            @staticmethod
            def forward(x):
                np.exp(to_array(x), out=to_array(x.data))
                return x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.mark_dirty(inputs[0])
                ctx.save_for_backward(output)
                ctx.save_for_forward(output)

            @staticmethod
            def backward(ctx, g):
                return Mul.apply(g, *ctx.saved_tensors)

            @staticmethod
            def jvp(ctx, t):
                return t.mul_(*ctx.saved_tensors)

        class Sort(torch.autograd.Function):
            """Gives the order and its inverse as well, which have no derivative."""

            @staticmethod
            def forward(x, dim):
                a = to_array(x)
                order = np.argsort(a, axis=dim)
                inverse = np.argsort(order, axis=dim)
                return tensor(np.take_along_axis(a, order, axis=dim)), tensor(order), tensor(inverse)

            @staticmethod
            def setup_context(ctx, inputs, output):
                _, order, inverse = output
                ctx.mark_non_differentiable(order, inverse)
                ctx.save_for_backward(order, inverse)
                ctx.save_for_forward(order, inverse)
                ctx.dim = inputs[1]

            @staticmethod
            def backward(ctx, g, _0, _1):
                order, inverse = ctx.saved_tensors
                return Take.apply(g, inverse, order, ctx.dim), None

            @staticmethod
            def jvp(ctx, t, _):
                order, inverse = ctx.saved_tensors
                return Take.apply(t, order, inverse, ctx.dim), None, None

            @staticmethod
            def vmap(info, in_dims, x, dim):
                x = x.movedim(in_dims[0], 0)
                return Sort.apply(x, dim if dim < 0 else dim + 1), (0, 0, 0)

        class Take(torch.autograd.Function):
            """Along an axis, by an order whose inverse is known."""

            @staticmethod
            def forward(x, order, inverse, dim):
                return tensor(np.take_along_axis(to_array(x), to_array(order), dim))

            @staticmethod
            def setup_context(ctx, inputs, output):
                _, order, inverse, dim = inputs
                ctx.save_for_backward(order, inverse)
                ctx.save_for_forward(order, inverse)
                ctx.dim = dim

            @staticmethod
            def backward(ctx, g):
                order, inverse = ctx.saved_tensors
                return Take.apply(g, inverse, order, ctx.dim), None, None, None

            @staticmethod
            def jvp(ctx, t, *_):
                order, inverse = ctx.saved_tensors
                return Take.apply(t, order, inverse, ctx.dim)

            @staticmethod
            def vmap(info, in_dims, x, order, inverse, dim):
                x, order, inverse = (
                    v.movedim(d, 0) if d is not None else v.unsqueeze(0).expand((info.batch_size, *v.shape))
                    for v, d in zip((x, order, inverse), in_dims[:3], strict=True)
                )
                return Take.apply(x, order, inverse, dim if dim < 0 else dim + 1), 0

        class Select(torch.autograd.Function):
            """One entry of the first axis; its gradient is padded with zeros."""

            generate_vmap_rule = True

            @staticmethod
            def forward(x, index):
                return x[index] * 1

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.shape, ctx.index = inputs[0].shape, inputs[1]

            @staticmethod
            def backward(ctx, g):
                out = g.new_zeros(ctx.shape)
                return torch.where(mask_of(torch, ctx.shape, ctx.index), g.expand(ctx.shape), out), None

            @staticmethod
            def jvp(ctx, t, _):
                return Select.apply(t, ctx.index)

        class ScaleGrad(torch.autograd.Function):
            """The identity, whose gradient is scaled."""

            generate_vmap_rule = True
            scale = 3.14

            @staticmethod
            def forward(x):
                return x.clone()

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, g):
                return g * ScaleGrad.scale

            @staticmethod
            def jvp(ctx, t):
                return t * ScaleGrad.scale

        class ZeroGradients(torch.autograd.Function):
            """No gradient at all, given as zeros."""

            generate_vmap_rule = True

            @staticmethod
            def forward(x, y):
                return x.clone(), y.clone()

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, gx, gy):
                return torch.zeros_like(gx), torch.zeros_like(gy)

            @staticmethod
            def jvp(ctx, tx, ty):
                return torch.zeros_like(tx), torch.zeros_like(ty)

        class Defaults(torch.autograd.Function):
            """forward has a default argument."""

            @staticmethod
            def forward(x, order=1.0):
                return order * x

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.order = inputs[1]

            @staticmethod
            def backward(ctx, g):
                return ctx.order * g, None

            @staticmethod
            def jvp(ctx, t, _):
                return ctx.order * t

            @staticmethod
            def vmap(info, in_dims, x, order):
                return Defaults.apply(x, order), in_dims[0]

        self.cube, self.mul, self.exp, self.sort, self.take = (F.apply for F in (Cube, Mul, Exp, Sort, Take))
        self.select, self.scale, self.zero, self.defaults = (
            F.apply for F in (Select, ScaleGrad, ZeroGradients, Defaults)
        )
        self.scale_of = ScaleGrad.scale


def mask_of(torch, shape, index):
    mask = np.zeros(tuple(shape), dtype=bool)
    mask[index] = True
    return torch.as_tensor(mask)


def leaf(torch, *shape, start=0.3):
    count = int(np.prod(shape))
    values = np.random.default_rng(count).permutation(np.linspace(start, start + 2.0, count)).reshape(shape)
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


#: name -> (function of the samples and the arguments, shapes of the arguments)
PROGRAMS = {
    "NumpyCube": (lambda s, x: s.cube(x)[0], (3, 2)),
    "NumpyCube_slope": (lambda s, x: s.cube(x), (3,)),
    "NumpyMul": (lambda s, x, y: s.mul(x, y), (2, 3), (2, 3)),
    "NumpyMul_broadcast": (lambda s, x, y: s.mul(x, y), (2, 3), (3,)),
    "NumpyExp_inplace": (lambda s, x: s.exp(x.clone()), (3,)),
    "NumpySort": (lambda s, x: s.sort(x, -1)[0], (2, 4)),
    "NumpyTake": (lambda s, x: s.take(x, *s.sort(x.detach(), 0)[1:], 0), (4, 2)),
    "Select": (lambda s, x: s.select(x, 1), (3, 2)),
    "ForwardHasDefaultArgs": (lambda s, x: s.defaults(x) + s.defaults(x, 2.0), (3,)),
}


@entry("N", "NumpyCube", "NumpyMul", "NumpySort", "NumpyTake", "Select", "ForwardHasDefaultArgs")
@pytest.mark.parametrize("name", PROGRAMS)
def test_first_and_second_derivatives(torch, name):
    func, *shapes = PROGRAMS[name]
    samples = Samples(torch)
    inputs = tuple(leaf(torch, *shape) for shape in shapes)
    forward = name != "NumpyExp_inplace"  # below, and torch's jvp in place needs its own care
    assert torch.autograd.gradcheck(lambda *xs: func(samples, *xs), inputs, check_forward_ad=forward)
    assert torch.autograd.gradgradcheck(lambda *xs: func(samples, *xs), inputs)


@entry("N", "NumpyExp_")
def test_writing_in_place_in_forward_mode(torch):
    samples, x = Samples(torch), leaf(torch, 3)
    _, moved = torch.func.jvp(lambda x: samples.exp(x.clone()), (x.detach(),), (torch.ones(3, dtype=torch.float64),))
    assert torch.allclose(moved, x.detach().exp())


@entry("N", "ScaleGradGenVmap", "ZeroGradientsGenVmap")
def test_gradients_that_are_not_the_derivative(torch):
    samples, x, y = Samples(torch), leaf(torch, 3), leaf(torch, 3)
    (g,) = torch.autograd.grad(samples.scale(x).sum(), x)
    assert torch.allclose(g, torch.full_like(x, samples.scale_of))
    assert torch.allclose(torch.func.jvp(samples.scale, (x.detach(),), (y.detach(),))[1], y.detach() * samples.scale_of)
    a, b = samples.zero(x, y)
    gx, gy = torch.autograd.grad((a * b).sum(), (x, y))
    assert gx.tolist() == gy.tolist() == [0.0] * 3


@entry("N", "CubeGenVmap", "MulGenVmap", "SortGenVmap", "TakeGenVmap", "SelectGenVmap")
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("NumpyExp_inplace", "NumpyMul_broadcast")])
def test_over_a_batch(torch, name):
    func, *shapes = PROGRAMS[name]
    samples = Samples(torch)
    batches = tuple(leaf(torch, 3, *shape).detach() for shape in shapes)

    def one(*xs):
        return func(samples, *xs)

    def flat(result):
        return result if isinstance(result, tuple) else (result,)

    together = flat(torch.func.vmap(one)(*batches))
    alone = [flat(one(*[b[k] for b in batches])) for k in range(3)]
    for position, found in enumerate(together):
        assert torch.allclose(found, torch.stack([row[position] for row in alone]))
    if name == "NumpyTake":
        return  # its orders come from NumPy inside the batch, and torch has no gradient through vmap for them
    gradient = torch.func.grad(lambda *xs: sum(y.sum() for y in flat(one(*xs))))
    found = torch.func.vmap(gradient)(*batches)
    for k in range(3):
        assert torch.allclose(found[k], gradient(*[b[k] for b in batches]))


@entry("N", "NumpyCubeNotComposable")
def test_a_function_with_numpy_in_backward_has_no_second_derivative(torch, here):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = to_array(x)
            return torch.as_tensor(ctx.x**3)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return torch.as_tensor(to_array(g) * 3 * ctx.x**2)

    x = leaf(torch, 3)
    assert torch.autograd.gradcheck(Cube.apply, x)
    with pytest.raises(RuntimeError):
        torch.autograd.gradgradcheck(Cube.apply, x)
