import pullback.torch as torch
from pullback.torch.autograd import gradcheck


class MySigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        output = 1 / (1 + torch.exp(-input))
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        (output,) = ctx.saved_tensors
        return grad_output * output * (1 - output)


input = torch.randn(4, 5, dtype=torch.double, requires_grad=True)
test = gradcheck(MySigmoid.apply, (input,), eps=1e-6, atol=1e-4)
print(f"Gradcheck passed: {test}")
