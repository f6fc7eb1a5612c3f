"""``Optimizer``: parameters in groups with options, and a state for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.modes import enable_grad, no_grad
from pullback.core.tensor import Tensor as Base


class Optimizer:
    """Base of optimisers: `step` changes the parameters in place, out of the graph, by their gradients.

    Parameters
    ----------
    params
        Tensors that are leaves; or dicts with ``"params"`` and options of their own.
    defaults
        The options of groups that do not give them.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state: dict[int, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        if isinstance(params, Base):
            raise lesson(TypeError, "params argument should be an iterable of Tensors", instead="[x], for one Tensor.")
        given = list(params)
        if not given:
            raise lesson(ValueError, "optimizer got an empty parameter list")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """More parameters, with options of their own."""
        params = param_group["params"]
        params = [params] if isinstance(params, Base) else list(params)
        for parameter in params:
            if not isinstance(parameter, Base):
                raise lesson(
                    TypeError, f"optimizer can only optimize Tensors, but one of the params is {type(parameter)}"
                )
            if not parameter.is_leaf:
                raise lesson(ValueError, "can't optimize a non-leaf Tensor", instead="x.detach().requires_grad_().")
        self.param_groups.append({**self.defaults, **param_group, "params": params})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad = None if set_to_none else parameter.grad.detach() * 0

    def state_dict(self) -> dict[str, Any]:
        """Options and states, by the numbers of the parameters."""
        numbers = {id(p): k for k, p in enumerate([p for group in self.param_groups for p in group["params"]])}
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        return {"state": {numbers[key]: dict(state) for key, state in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from an earlier `state_dict`."""
        everyone = [p for group in self.param_groups for p in group["params"]]
        if [len(g["params"]) for g in state_dict["param_groups"]] != [len(g["params"]) for g in self.param_groups]:
            raise lesson(
                ValueError,
                "loaded state dict has parameter groups of other sizes than the optimizer",
            )
        for own, other in zip(self.param_groups, state_dict["param_groups"], strict=True):
            own.update({name: value for name, value in other.items() if name != "params"})
        self.state.clear()
        self.state.update({id(everyone[k]): dict(state) for k, state in state_dict["state"].items()})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient; `closure` computes them anew first, and its result is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._change(parameter, group)
        return loss

    def _change(self, parameter: Any, group: dict[str, Any]) -> None:
        """Bring one parameter further: write its new values, computed on bare arrays."""
        array = np.asarray(parameter._array)
        gradient = np.asarray(parameter.grad._array)
        gradient = -gradient if group.get("maximize") else gradient
        parameter.copy_(self._changed(array, gradient, self.state[id(parameter)], group))

    def _changed(self, x: Any, g: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """The new values, from the old ones, the gradient, and what was remembered."""
        raise lesson(NotImplementedError, f"{type(self).__name__} must say how a step changes a parameter")


def check(condition: bool, what: str, value: Any) -> None:
    """Refuse an option."""
    if not condition:
        raise lesson(ValueError, f"Invalid {what}: {value}")
