import pullback.torch as torch
from pullback.torch.autograd import Function


class MyLinearWithFixedBias(Function):
    bias = 1.0

    @staticmethod
    def forward(ctx, input, weight):
        output = input @ weight.t() + MyLinearWithFixedBias.bias
        ctx.save_for_backward(input, weight)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        return grad_output @ weight, grad_output.t() @ input


class LookupTable:
    def __init__(self, table):
        self.lookup_table = table


class LookupTableFunction(Function):
    @staticmethod
    def forward(ctx, indices, table):
        ctx.save_for_backward(indices)
        ctx.rows = table.shape[0]
        return table[indices]

    @staticmethod
    def backward(ctx, grad_output):
        (indices,) = ctx.saved_tensors
        return None, torch.zeros(ctx.rows, dtype=grad_output.dtype).index_add(0, indices, grad_output)


class Clip(Function):
    @staticmethod
    def forward(ctx, input, threshold, mode="clip"):
        ctx.threshold = threshold
        ctx.mode = mode
        output = input.clamp(-threshold, threshold)
        ctx.save_for_backward(input, output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, output = ctx.saved_tensors
        if ctx.mode == "straight through":
            return grad_output, None, None
        return grad_output * (input.abs() <= ctx.threshold).type_as(grad_output), None, None


input = torch.randn(4, 5, dtype=torch.double, requires_grad=True)
weight = torch.randn(3, 5, dtype=torch.double, requires_grad=True)
linear = torch.autograd.gradcheck(MyLinearWithFixedBias.apply, (input, weight))

table = LookupTable(torch.arange(4.0, dtype=torch.double).requires_grad_())
indices = torch.tensor([1, 3, 1])
LookupTableFunction.apply(indices, table.lookup_table).sum().backward()
looked_up = table.lookup_table.grad

z = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
(clipped,) = torch.autograd.grad(Clip.apply(z, 1.0).sum(), z)
(straight,) = torch.autograd.grad(Clip.apply(z, 1.0, "straight through").sum(), z)
