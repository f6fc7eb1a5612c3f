import pullback.torch as torch


class Buggy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        Buggy.data = input
        return input * input

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * Buggy.data * grad_output


class First(torch.autograd.Function):
    @staticmethod
    def forward(self, input):
        self.data = input
        return input * input

    @staticmethod
    def backward(self, grad_output):
        return 2 * self.data * grad_output


def chain(function):
    x = start = torch.tensor(1.1, dtype=torch.double, requires_grad=True)
    for _ in range(3):
        x = function.apply(x)
    x.backward()
    return start.grad


on_class, on_first_parameter = chain(Buggy), chain(First)
