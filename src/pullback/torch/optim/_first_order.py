"""Optimisers that step along the gradient, or what they remember of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.torch.optim._optimizer import Optimizer, check


class SGD(Optimizer):
    """``x -= lr * g``, or with a momentum in the place of the gradient.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.25)
    >>> (x**2).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        check(lr >= 0, "learning rate", lr)
        check(momentum >= 0, "momentum value", momentum)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        check(
            not nesterov or (momentum > 0 and dampening == 0),
            "nesterov (it needs a momentum and no dampening)",
            nesterov,
        )
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "nesterov": nesterov, "maximize": maximize})

    def _changed(self, x: Any, g: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        if group["weight_decay"]:
            g = g + group["weight_decay"] * x
        if group["momentum"]:
            before = state.get("momentum_buffer")
            v = g if before is None else group["momentum"] * before + (1 - group["dampening"]) * g
            state["momentum_buffer"] = v
            g = g + group["momentum"] * v if group["nesterov"] else v
        return x - group["lr"] * g


class Adam(Optimizer):
    """Steps of (nearly) one length per entry: the running mean of the gradient by the root of that of its square.

    Kingma and Ba 2015, "Adam: A method for stochastic optimization".
    """

    decoupled = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        check(lr >= 0, "learning rate", lr)
        check(eps >= 0, "epsilon value", eps)
        check(all(0 <= beta < 1 for beta in betas), "beta parameters", betas)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad}
        super().__init__(params, {**defaults, "maximize": maximize})

    def _changed(self, x: Any, g: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        if group["weight_decay"] and not self.decoupled:
            g = g + group["weight_decay"] * x
        if group["weight_decay"] and self.decoupled:
            x = x * (1 - group["lr"] * group["weight_decay"])
        first, second = group["betas"]
        k = state["step"] = state.get("step", 0) + 1
        m = state["exp_avg"] = first * state.get("exp_avg", 0.0) + (1 - first) * g
        v = state["exp_avg_sq"] = second * state.get("exp_avg_sq", 0.0) + (1 - second) * g * g
        if group["amsgrad"]:
            v = state["max_exp_avg_sq"] = np.maximum(state.get("max_exp_avg_sq", 0.0), v)
        length = np.sqrt(v) / (1 - second**k) ** 0.5 + group["eps"]
        return x - group["lr"] / (1 - first**k) * m / length


class AdamW(Adam):
    """`Adam` with a decay of the parameters that is no part of the gradient (Loshchilov and Hutter 2019)."""

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)


class Adagrad(Optimizer):
    """Steps by the root of the sum of all squares so far (Duchi, Hazan and Singer 2011)."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        check(lr >= 0, "learning rate", lr)
        defaults = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps, "maximize": maximize}
        super().__init__(params, {**defaults, "initial_accumulator_value": initial_accumulator_value})

    def _changed(self, x: Any, g: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        g = g + group["weight_decay"] * x if group["weight_decay"] else g
        k = state["step"] = state.get("step", 0) + 1
        total = state["sum"] = state.get("sum", group["initial_accumulator_value"]) + g * g
        return x - group["lr"] / (1 + (k - 1) * group["lr_decay"]) * g / (np.sqrt(total) + group["eps"])


class RMSprop(Optimizer):
    """Steps by the root of the running mean of the squares."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        check(lr >= 0, "learning rate", lr)
        check(alpha >= 0, "alpha value", alpha)
        defaults = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
        super().__init__(params, {**defaults, "centered": centered, "maximize": maximize})

    def _changed(self, x: Any, g: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        g = g + group["weight_decay"] * x if group["weight_decay"] else g
        alpha = group["alpha"]
        v = state["square_avg"] = alpha * state.get("square_avg", 0.0) + (1 - alpha) * g * g
        if group["centered"]:
            mean = state["grad_avg"] = alpha * state.get("grad_avg", 0.0) + (1 - alpha) * g
            v = v - mean * mean
        step = g / (np.sqrt(v) + group["eps"])
        if group["momentum"]:
            step = state["momentum_buffer"] = group["momentum"] * state.get("momentum_buffer", 0.0) + step
        return x - group["lr"] * step
