import pullback.torch as torch

seen = []


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        seen.append(("forward", ctx))
        ctx.save_for_backward(input)
        return input * 2

    @staticmethod
    def backward(ctx, grad_output):
        seen.append(("backward", ctx))
        return grad_output * 2


x = torch.tensor(1.0, requires_grad=True)
y, z = Double.apply(x), Double.apply(x)
z.backward()
y.backward()
