"""Errors are small lessons.

Five mistakes against the protocol. Each is stopped where it is made, and the message says how to go on.
"""

import warnings

import pullback as pb


class Scale(pb.Function):
    """y = factor * x, with a choice of mistakes."""

    @staticmethod
    def forward(ctx, x, factor, mistake=""):
        if mistake == "save on the class":
            Scale.save_for_backward(x)
        ctx.factor, ctx.mistake = factor, mistake
        return x * factor

    @staticmethod
    def backward(ctx, grad_y):
        match ctx.mistake:
            case "one gradient too few":
                return grad_y * ctx.factor
            case "wrong shape":
                return pb.tensor([1.0, 2.0]) * ctx.factor, None, None
            case "not a Tensor":
                return 3.0, None, None
        return grad_y * ctx.factor, None, None


def error_of(action):
    try:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            action()
    except Exception as error:
        return error
    return None


def call_and_return(mistake):
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    Scale.apply(x, 2.0, mistake).sum().backward()


def main(show=print):
    actions = {
        "calling an instance": lambda: Scale()(pb.tensor(1.0, requires_grad=True), 2.0),
        "save on the class": lambda: call_and_return("save on the class"),
        "one gradient too few": lambda: call_and_return("one gradient too few"),
        "wrong shape": lambda: call_and_return("wrong shape"),
        "not a Tensor": lambda: call_and_return("not a Tensor"),
    }
    for mistake, action in actions.items():
        error = error_of(action)
        show(mistake, type(error).__name__, "should be", "RuntimeError")
        show(str(error))
        for note in getattr(error, "__notes__", []):
            if note.startswith(("Why it matters", "Write instead")):
                show(note)
    show("no mistake: no error", error_of(lambda: call_and_return("")) is None)


if __name__ == "__main__":
    main()
