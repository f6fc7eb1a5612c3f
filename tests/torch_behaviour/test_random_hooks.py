"""Random graphs with random hooks: the same events in the same order, and the same gradients, as in torch."""

import random
import warnings

import pytest

OPERATORS = (
    lambda torch, a, b: a * b,
    lambda torch, a, b: a + b,
    lambda torch, a, b: a - b * 2,
    lambda torch, a, b: a.exp() * 0.1,
    lambda torch, a, b: a.sin(),
    lambda torch, a, b: a.clone(),
    lambda torch, a, b: a.sum() * b,
    lambda torch, a, b: torch.stack([a, b])[1],
)


def functions(torch):
    """Custom Functions: with two results, of which one may stay unused; without a gradient for an argument."""

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b, a + b

        @staticmethod
        def backward(ctx, g, h):
            a, b = ctx.saved_tensors
            return g * b + h, g * a + h

    class Unmaterialized(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.set_materialize_grads(False)
            return a * 2, b * 3

        @staticmethod
        def backward(ctx, g, h):
            return None if g is None else g * 2, None if h is None else h * 3

    class Silent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b, a * 1

        @staticmethod
        def backward(ctx, g, h):
            return g + h, None

    return Two, Unmaterialized, Silent


def numbers(value):
    """Tensors as rounded lists, in any tuple."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (tuple, list)):
        return [numbers(one) for one in value]
    return [round(v, 4) for v in value.reshape(-1).tolist()]


class Run:
    """One random program: what happened, in order."""

    def __init__(self, torch, seed):
        self.torch, self.chance, self.events, self.handles = torch, random.Random(seed), [], []
        self.leaves = [torch.tensor([0.5 + k, 1.0, -0.5], dtype=torch.float64, requires_grad=True) for k in range(3)]
        self.pool = list(self.leaves)
        self.behind = {k: {k} for k in range(3)}  # position -> the leaves that it depends on
        self.asked_for_all = True
        kinds = functions(torch)
        for _ in range(self.chance.randint(2, 7)):
            i, k = self.chance.randrange(len(self.pool)), self.chance.randrange(len(self.pool))
            a, b = self.pool[i], self.pool[k]
            if self.chance.random() < 0.35:
                self.pool += self.chance.choice(kinds).apply(a, b)
            else:
                self.pool.append(self.chance.choice(OPERATORS)(torch, a, b))
            self.find_leaves()
        for number in range(self.chance.randint(1, 8)):
            self.register(f"hook {number}")

    def find_leaves(self):
        """Notes which leaves the newest results depend on, by their nodes."""
        for position in range(len(self.behind), len(self.pool)):
            seen, stack = set(), [self.pool[position].grad_fn]
            while stack:
                node = stack.pop()
                if node is not None and node not in seen:
                    seen.add(node)
                    stack += [edge[0] for edge in node.next_functions]
            found = [getattr(node, "variable", None) for node in seen]
            self.behind[position] = {k for k, leaf in enumerate(self.leaves) if any(leaf is one for one in found)}

    def register(self, name):
        chance, position = self.chance, self.chance.randrange(len(self.pool))
        tensor, kind = self.pool[position], chance.choice(["tensor", "tensor", "pre", "post", "retain", "accumulated"])
        action = chance.choice(["look", "double", "write", "look", "remove"])
        node = tensor.grad_fn
        if kind == "retain" and node is not None:
            tensor.retain_grad()
        elif kind == "accumulated" and node is None:
            hook = tensor.register_post_accumulate_grad_hook(lambda t: self.note(name, t.grad))
            self.handles.append(hook)
        elif kind == "pre" and node is not None:
            self.handles.append(node.register_prehook(lambda gs: self.act(name, action, gs)))
        elif kind == "post" and node is not None:
            self.handles.append(node.register_hook(lambda inner, outer: self.act(name, action, inner, outer)))
        else:
            self.handles.append(tensor.register_hook(lambda g: self.act(name, action, g)))

    def note(self, *what):
        self.events.append(numbers(list(what)))

    def act(self, name, action, value, *rest):
        """The body of a hook.  What a rule computes that nobody asked for is left out here, and need not be in torch."""
        self.note(name, *((value, *rest) if self.asked_for_all or not rest else rest))
        many = isinstance(value, tuple)
        if action == "double":
            doubled = [g if g is None else g * 2 for g in (value if many else (value,))]
            return tuple(doubled) if many else doubled[0]
        if action == "write":
            return tuple([g if g is None else g.clone().mul_(3) for g in value]) if many else None
        if action == "remove" and self.handles:
            self.handles[0].remove()
        return None

    def differentiate(self):
        torch, chance = self.torch, self.chance
        for _ in range(chance.randint(1, 3)):
            places = [chance.randrange(3, len(self.pool)) for _ in range(chance.randint(1, 2))]
            roots = [self.pool[place] for place in places]
            seeds = [torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64) for _ in roots]
            common = sorted(set.intersection(*[self.behind[place] for place in places]))
            wanted = [self.leaves[k] for k in common]
            way = chance.choice(["backward", "inputs", "grad"]) if wanted else "backward"
            self.asked_for_all = way == "backward"
            self.events.append(way)
            if way == "grad":
                self.note("found", torch.autograd.grad(roots, wanted, seeds, retain_graph=True, allow_unused=True))
            else:
                inputs = wanted if way == "inputs" else None
                torch.autograd.backward(roots, seeds, retain_graph=True, inputs=inputs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.note("gradients", [t.grad for t in self.pool])
        return self.events


@pytest.mark.torch
@pytest.mark.parametrize("start", range(0, 300, 50))
def test_hooks_see_and_do_what_they_do_in_torch(start):
    import torch as theirs

    import pullback.torch as ours

    for seed in range(start, start + 50):
        assert Run(ours, seed).differentiate() == Run(theirs, seed).differentiate(), f"seed {seed}"
