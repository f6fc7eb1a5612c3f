import pullback.torch as torch


class LeakyReLUCorrect(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, negative_slope=0.01):
        ctx.save_for_backward(input)
        ctx.negative_slope = negative_slope
        output = input.clone()
        output[input < 0] = negative_slope * input[input < 0]
        return output

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        negative_slope = ctx.negative_slope
        grad_input = grad_output.clone()
        grad_input[input < 0] *= negative_slope
        return grad_input, None


class LeakyReLUWrong(torch.autograd.Function):
    @staticmethod
    def forward(self, input, negative_slope=0.01):
        self.saved_input = input
        self.saved_slope = negative_slope
        output = input.clone()
        output[input < 0] = negative_slope * input[input < 0]
        return output

    @staticmethod
    def backward(self, grad_output):
        input = self.saved_input
        negative_slope = self.saved_slope
        grad_input = grad_output.clone()
        grad_input[input < 0] *= negative_slope
        return grad_input, None


x = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
y_correct = LeakyReLUCorrect.apply(x, 0.1)
loss_correct = y_correct.sum()
loss_correct.backward()
correct = x.grad
print(f"correct: {x.grad}")

x.grad = None
y_wrong = LeakyReLUWrong.apply(x, 0.1)
loss_wrong = y_wrong.sum()
try:
    loss_wrong.backward()
    wrong = x.grad
    print(f"wrong: {x.grad}")
except Exception as e:
    wrong = e
    print(f"wrong: {type(e).__name__}: {e}")
