"""Random custom Functions: the same flags, values, gradients and kinds of errors as in torch."""

import random
import warnings

import pytest

#: What forward may return: how it is made of the argument `x`, and of the latest new result.
RESULTS = ("new", "new", "new", "input", "same", "number", "unmarked", "mask", "view", "written", "zeros", "detached")
PULLED = ("sum", "sum", "sum", "none", "first")


def numbers(value):
    """Tensors as rounded lists, in any tuple."""
    if isinstance(value, (tuple, list)):
        return [numbers(one) for one in value]
    if hasattr(value, "detach"):
        return [round(float(v), 4) for v in value.detach().reshape(-1).tolist()]
    return value


class Plan:
    """What a random Function does, drawn once for both libraries."""

    def __init__(self, seed):
        chance = random.Random(seed)
        self.arguments = chance.randint(1, 3)
        self.results = [chance.choice(RESULTS) for _ in range(chance.randint(1, 3))]
        self.alone = len(self.results) == 1 and chance.random() < 0.7
        self.sources = [chance.randrange(self.arguments) for _ in self.results]
        self.materialize = chance.random() < 0.7
        self.saved = [chance.choice(["input", "result", "nothing"]) for _ in range(chance.randint(0, 2))]
        plain = not {"unmarked", "written", "input"} & set(self.results)
        self.separate = plain and chance.random() < 0.4
        self.pulled = [chance.choice(PULLED) for _ in range(self.arguments)]
        self.leaves = [chance.random() < 0.8 for _ in range(3)]
        self.uses = [(chance.randrange(3), chance.choice(["itself", "product", "view"])) for _ in range(self.arguments)]
        self.used = [chance.random() < 0.8 for _ in self.results]
        self.backward = chance.random() < 0.5

    def differs_on_purpose(self):
        """No Tensor among the results, or a view of what is written: refused here.

        And a view that is written, but is not the first argument: torch loses the gradient of the first.
        """
        pairs = zip(self.results, self.sources, strict=True)
        late = any(kind == "written" and place > 0 and self.uses[place][1] == "view" for kind, place in pairs)
        return set(self.results) == {"number"} or {"written", "view"} <= set(self.results) or late


def build(torch, plan, log):
    """The Function of a plan."""

    def compute(xs):
        outputs, written, marked, new = [], [], [], None
        for k, (kind, source) in enumerate(zip(plan.results, plan.sources, strict=True)):
            x = xs[source]
            if kind == "new" or (kind == "same" and new is None):
                output = new = x * (k + 2)
            elif kind == "written":
                if not any(x is one for one in written):
                    written.append(x.mul_(2))
                output = x
            elif kind == "unmarked":
                output = x * 5
                marked.append(output)
            else:
                output = {
                    "input": lambda x=x: x,
                    "same": lambda new=new: new,
                    "number": lambda: 7.5,
                    "mask": lambda x=x: x > 0,
                    "view": lambda x=x: x.view_as(x),
                    "zeros": lambda: torch.zeros(2, dtype=torch.float64),
                    "detached": lambda x=x: x.detach(),
                }[kind]()
            outputs.append(output)
        return outputs, written, marked

    def keep(ctx, xs, outputs):
        result = next((output for output in outputs if isinstance(output, torch.Tensor)), None)
        ctx.save_for_backward(*[{"input": xs[0], "result": result, "nothing": None}[what] for what in plan.saved])
        ctx.set_materialize_grads(plan.materialize)

    def backward(ctx, *grads):
        saved = ctx.saved_tensors
        log.append(["backward", numbers(grads), numbers(saved), [s is not None and s.requires_grad for s in saved]])
        real = [g if g is not None and g.dtype == torch.float64 else None for g in grads]
        total = sum(g * (k + 1) for k, g in enumerate(real) if g is not None)
        for value in saved:
            total = total * value if value is not None and value.dtype == torch.float64 else total
        total = None if isinstance(total, int) else total
        ways = {
            "none": lambda k: None,
            "first": lambda k: real[0],
            "sum": lambda k: None if total is None else total * (k + 1),
        }
        return tuple([ways[way](k) for k, way in enumerate(plan.pulled)])

    class Separate(torch.autograd.Function):
        @staticmethod
        def forward(*xs):
            outputs, _, _ = compute(xs)
            return outputs[0] if plan.alone else tuple(outputs)

        @staticmethod
        def setup_context(ctx, inputs, output):
            keep(ctx, inputs, [output] if plan.alone else output)

    class Combined(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            outputs, written, marked = compute(xs)
            if written:
                ctx.mark_dirty(*written)
            if marked:
                ctx.mark_non_differentiable(*marked)
            keep(ctx, xs, outputs)
            return outputs[0] if plan.alone else tuple(outputs)

    kind = Separate if plan.separate else Combined
    return type("Random", (kind,), {"backward": staticmethod(backward)})


def run(torch, plan):
    """What happens: of every result its value and flags, what backward gets, the gradients, or the kind of the error."""
    log = []
    leaves = [
        torch.tensor([0.5 + k, 1.5], dtype=torch.float64, requires_grad=flag) for k, flag in enumerate(plan.leaves)
    ]
    made = {"itself": lambda x: x, "product": lambda x: x * 1.0, "view": lambda x: x.view(2)}
    args = [made[way](leaves[k]) for k, way in plan.uses]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = build(torch, plan, log).apply(*args)
            outputs = list(answer) if isinstance(answer, tuple) else [answer]
            log.append(isinstance(answer, tuple))
            for output in outputs:
                log.append(numbers(output))
                if isinstance(output, torch.Tensor):
                    same = [output is other for other in (*args, *outputs)]
                    log.append([output.requires_grad, output.is_leaf, output.requires_grad and output.output_nr, same])
            used = [o for o, use in zip(outputs, plan.used, strict=True) if use and isinstance(o, torch.Tensor)]
            total = sum((o * o * (k + 1)).sum() for k, o in enumerate(used) if o.requires_grad)
            asked = [leaf for leaf in leaves if leaf.requires_grad]
            if not isinstance(total, int) and plan.backward:
                total.backward()
                log.append([numbers(leaf.grad) for leaf in leaves])
            elif not isinstance(total, int):
                log.append(numbers(torch.autograd.grad(total, asked, allow_unused=True)))
    except Exception as error:
        log.append(next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"))
    return log


@pytest.mark.torch
@pytest.mark.parametrize("start", range(0, 1200, 200))
def test_functions_of_all_kinds_behave_as_in_torch(start):
    import torch as theirs

    import pullback.torch as ours

    compared = 0
    for seed in range(start, start + 200):
        plan = Plan(seed)
        if not plan.differs_on_purpose():
            assert run(ours, plan) == run(theirs, plan), f"seed {seed}: {vars(plan)}"
            compared += 1
    assert compared > 150
