"""The protocol of ctx in all its forms: marks, flags, styles, names of old, and mistakes."""

import warnings

import torch
from torch import autograd
from torch.autograd import Function
from torch.autograd.function import FunctionCtx, once_differentiable

from torch_functions.case import Case, constant, normal, positive


class InplaceScale(autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        x.mul_(2).add_(y)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2, g


class InplaceWithCopy(Function):
    """Needs the old value, so it keeps a clone of it (an intermediate)."""

    @staticmethod
    def forward(ctx, x):
        old = x.clone()
        x.pow_(3)
        ctx.mark_dirty(x)
        ctx.save_for_backward(old)
        return x

    @staticmethod
    def backward(ctx, g):
        (old,) = ctx.saved_tensors
        return 3 * g * old**2


class TopTwo(Function):
    """Values and places; the places are marked."""

    @staticmethod
    def forward(ctx, x):
        values, places = x.topk(2, dim=-1)
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        ctx.size = x.size()
        return values, places

    @staticmethod
    def backward(ctx, g, _):
        (places,) = ctx.saved_tensors
        return torch.zeros(ctx.size, dtype=g.dtype).scatter_(-1, places, g)


class NoMaterialize(Function):
    """Two outputs; gradients that nobody asked for are None."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, gs, gc):
        (x,) = ctx.saved_tensors
        total = None
        if gs is not None:
            total = gs * x.cos()
        if gc is not None:
            part = -gc * x.sin()
            total = part if total is None else total + part
        return total


class SetupContext(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, w, bias=None):
        y = x @ w
        return y if bias is None else y + bias

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, w, bias = inputs
        ctx.save_for_backward(x, w)
        ctx.has_bias = bias is not None

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = g @ w.t()
        if ctx.needs_input_grad[1]:
            gw = x.t() @ g
        if ctx.has_bias and ctx.needs_input_grad[2]:
            gb = g.sum(0)
        return gx, gw, gb


class LinearFunction(Function):
    """The tutorial's: optional bias, early checks of needs_input_grad."""

    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class KeywordArguments(Function):
    @staticmethod
    def forward(ctx, x, scale=2.0, shift=0.0, *, unused=None):
        ctx.scale = scale
        return x * scale + shift

    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale, None, None


class OnceInside(Function):
    """once_differentiable with .data and in-place steps below it."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x * w).tanh()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        t = (x.data * w.data).tanh_()
        t.pow_(2).neg_().add_(1).mul_(g)
        return t * w, t * x


class SinDouble(Function):
    """A second Function is the backward of the first."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(x.detach().numpy() * 0) + torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return SinDoubleBackward.apply(g, x)


class SinDoubleBackward(Function):
    @staticmethod
    def forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        return g * torch.cos(x)

    @staticmethod
    def backward(ctx, gg):
        g, x = ctx.saved_tensors
        return SinDouble.apply(gg * torch.cos(x)) * 0 + gg * torch.cos(x), -gg * g * torch.sin(x)


class SavesEverything(Function):
    """A dict, a tuple and a list on ctx."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.cache = {"square": x * x, "parts": [x, (y, x + y)]}
        return ctx.cache["square"] * y

    @staticmethod
    def backward(ctx, g):
        x, (y, total) = ctx.cache["parts"]
        return 2 * g * (total - x) * x, g * ctx.cache["square"]


def power_function(n, name="Power"):
    """A factory: one class per exponent."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**n

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * n * (x ** (n - 1) if n > 1 else torch.ones_like(x))

    return type(f"{name}{n}", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


class ForwardMode(Function):
    """jvp beside backward."""

    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        ctx.save_for_forward(y)
        return y

    @staticmethod
    def jvp(ctx, t):
        (y,) = ctx.saved_tensors
        return t * y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class ExtraOutputs(Function):
    """The remedy for double backward: the intermediate is returned, its gradient used."""

    @staticmethod
    def forward(ctx, x):
        e, r = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(e, r)
        return (e - r) / 2, e, r

    @staticmethod
    def backward(ctx, g, g_e, g_r):
        e, r = ctx.saved_tensors
        return g * (e + r) / 2 + g_e * e - g_r * r


class SelfNamed(Function):
    """The first parameter is called self; a helper takes it along."""

    @staticmethod
    def forward(self, x):
        self.save_for_backward(x)
        return SelfNamed.value(x)

    @staticmethod
    def value(x):
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(self, g):
        (x,) = self.saved_tensors
        s = torch.sigmoid(x)
        return g * (s + x * s * (1 - s))


class Inherited(SelfNamed):
    """A subclass that only scales."""

    @staticmethod
    def forward(ctx, x):
        return 2 * SelfNamed.forward(ctx, x)

    @staticmethod
    def backward(ctx, g):
        return SelfNamed.backward(ctx, 2 * g)


class BroadcastSumTo(Function):
    """Gradients of the shape of the output: the engine sums them."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a


class ReturnsTuple(Function):
    """A tuple in a tuple of inputs; *args."""

    @staticmethod
    def forward(ctx, n, *xs):
        ctx.n = n
        ctx.save_for_backward(*xs)
        return torch.stack(xs).pow(n).sum(0)

    @staticmethod
    def backward(ctx, g):
        return (None, *[g * ctx.n * x.pow(ctx.n - 1) for x in ctx.saved_tensors])


class WrongShape(Function):
    """Returns the gradient before the sum over the batch (and torch sums it)."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x * w).sum(1)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g[:, None] * w, g[:, None] * x


class NumpyBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.detach().numpy()
        return torch.from_numpy(ctx.x**3)

    @staticmethod
    def backward(ctx, g):
        return torch.from_numpy(g.detach().numpy() * 3 * ctx.x**2)


class ItemInForward(Function):
    """A Python number of the data on ctx."""

    @staticmethod
    def forward(ctx, x):
        ctx.scale = x.abs().max().item()
        return x * ctx.scale

    @staticmethod
    def backward(ctx, g):
        return g * ctx.scale


class ConstantItem(Function):
    """A number that only looks as if it came from the data."""

    @staticmethod
    def forward(ctx, x, t):
        ctx.t = t.item()
        ctx.n = float(x.numel())
        ctx.save_for_backward(x)
        return x.pow(2).sum() / ctx.n * ctx.t

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x / ctx.n * ctx.t, None


class DataAssign(Function):
    """Fills through .data, reads through .detach()."""

    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        out.data.copy_(x.detach() * 3)
        return out

    @staticmethod
    def backward(ctx, g):
        out = g.new_empty(g.size())
        out.copy_(g).mul_(3)
        return out


class UndeclaredWrite(Function):
    """Doubles its input in place and returns something else."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        return x.sum()

    @staticmethod
    def backward(ctx, g):
        return g.expand(3) * 2


class SaveThenWrite(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        ctx.save_for_backward(y)
        y.mul_(2)
        return y * y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * 4 * y


class ListArgument(Function):
    @staticmethod
    def forward(ctx, xs):
        return xs[0] + xs[1]

    @staticmethod
    def backward(ctx, g):
        return None


class GlobalState(Function):
    """Leaves what it computed on the class."""

    kept = None

    @staticmethod
    def forward(ctx, x):
        GlobalState.kept = torch.exp(x)
        return GlobalState.kept.clone()

    @staticmethod
    def backward(ctx, g):
        return g * GlobalState.kept


class CountsCalls(Function):
    """A counter on the class, which no gradient depends on."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        CountsCalls.calls += 1
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        CountsCalls.calls += 1
        (x,) = ctx.saved_tensors
        return 3 * g * x * x


class WarnsAndAsserts(Function):
    """Checks of types and shapes, a filter of warnings, a try."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        assert isinstance(x, torch.Tensor) and x.dim() == 2, "a matrix"
        assert x.dtype == weight.dtype
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                y = torch.matmul(x, weight)
            except RuntimeError as e:
                raise ValueError("shapes do not fit") from e
        ctx.save_for_backward(x, weight)
        return y

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return torch.mm(g, weight.T), torch.mm(x.T, g)


class NestedApply(Function):
    """Other Functions inside forward and backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return SelfNamed.apply(x) + NumpyBackward.apply(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            z = SelfNamed.apply(y)
        (gz,) = torch.autograd.grad(z, y, g)
        return gz + 3 * g * x**2


CASES = [
    Case("in place with mark_dirty", InplaceScale.apply, (normal(3), normal(3))),
    Case("in place with a copy", InplaceWithCopy.apply, (normal(3),), torch_second="wrong", refused="second"),
    Case("top two", TopTwo.apply, (normal(2, 4),)),
    Case("no materialised gradients", lambda x: NoMaterialize.apply(x)[0], (normal(3),)),
    Case("setup_context", SetupContext.apply, (normal(2, 3), normal(3, 2), normal(2))),
    Case("setup_context with a default", SetupContext.apply, (normal(2, 3), normal(3, 2))),
    Case("linear function", LinearFunction.apply, (normal(2, 3), normal(4, 3), normal(4))),
    Case("linear function, no bias", LinearFunction.apply, (normal(2, 3), normal(4, 3))),
    Case("keyword arguments", lambda x: KeywordArguments.apply(x, shift=1.0, scale=3.0), (normal(3),)),
    Case("once_differentiable", OnceInside.apply, (normal(3), normal(3)), torch_second="wrong", refused="second"),
    Case("backward is a function", SinDouble.apply, (normal(3),)),
    Case("containers on ctx", SavesEverything.apply, (normal(3), normal(3)), torch_second="wrong"),
    Case("factory", power_function(3).apply, (normal(3),)),
    Case("factory of the first power", power_function(1).apply, (normal(3),)),
    Case("jvp beside backward", ForwardMode.apply, (normal(3),)),
    Case("extra outputs", ExtraOutputs.apply, (normal(3),)),
    Case("self instead of ctx", SelfNamed.apply, (normal(3),)),
    Case("inherited", Inherited.apply, (normal(3),)),
    Case("summed by the engine", BroadcastSumTo.apply, (normal(2, 1), normal(3))),
    Case("any number of arguments", lambda *xs: ReturnsTuple.apply(3, *xs), (normal(2), normal(2), normal(2))),
    Case("wrong shape", WrongShape.apply, (normal(2, 3), normal(1, 3)), refused=""),
    Case("numpy in backward", NumpyBackward.apply, (normal(3),), torch_second="wrong", refused="second"),
    Case("item in forward", ItemInForward.apply, (normal(3),), exact=False, torch_second="wrong", refused="second"),
    Case("constant item", ConstantItem.apply, (normal(3), constant(positive()))),
    Case("filled through data", DataAssign.apply, (normal(3),)),
    Case("undeclared write", UndeclaredWrite.apply, (normal(3),), refused="forward"),
    Case("save, then write", SaveThenWrite.apply, (normal(3),), torch_second="wrong", refused="forward"),
    Case(
        "list of tensors",
        lambda a, b: ListArgument.apply([a, b]) + a,
        (normal(3), normal(3)),
        exact=False,
        refused="forward",
    ),
    Case("state on the class", GlobalState.apply, (normal(3),), torch_second="wrong", refused="second"),
    Case("counter on the class", CountsCalls.apply, (normal(3),)),
    Case("checks in forward", WarnsAndAsserts.apply, (normal(2, 3), normal(3, 2))),
    Case("functions inside", NestedApply.apply, (normal(3),), torch_second="wrong", refused="second"),
]
