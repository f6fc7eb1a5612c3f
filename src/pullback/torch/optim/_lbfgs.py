"""``LBFGS``: quasi-Newton steps from the last gradients (Nocedal 1980), with a fixed length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.errors import lesson
from pullback.core.modes import enable_grad, no_grad
from pullback.core.tensor import wrap
from pullback.torch.optim._optimizer import Optimizer


class LBFGS(Optimizer):
    """Several quasi-Newton steps in one `step`, each of the length `lr`.

    Parameters
    ----------
    history_size
        How many pairs of steps and differences of gradients are remembered.
    line_search_fn
        Only ``None``; for a line search use ``scipy.optimize.minimize(method="L-BFGS-B")``.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> x = torch.tensor([3.0, 1.0], dtype=torch.float64, requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([x])
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (x**2 * torch.tensor([1.0, 4.0], dtype=torch.float64)).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> bool((x.abs() < 1e-3).all())
    True
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: Any = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: Any = None,
    ) -> None:
        if line_search_fn is not None:
            raise lesson(
                NotImplementedError,
                f"LBFGS(line_search_fn={line_search_fn!r}) is not offered",
                instead='line_search_fn=None; scipy.optimize.minimize(f, x0, jac=True, method="L-BFGS-B").',
            )
        defaults = {"lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval}
        limits = {"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size}
        super().__init__(params, {**defaults, **limits})
        if len(self.param_groups) != 1:
            raise lesson(ValueError, "LBFGS doesn't support per-parameter options (parameter groups)")

    def _gradient(self) -> Any:
        parts = [
            np.zeros(p.numel(), dtype=p.dtype) if p.grad is None else np.asarray(p.grad._array).ravel()
            for p in self.param_groups[0]["params"]
        ]
        return np.concatenate(parts)

    def _move(self, step: Any) -> None:
        start = 0
        with no_grad():
            for parameter in self.param_groups[0]["params"]:
                n = parameter.numel()
                parameter.add_(wrap(type(parameter), step[start : start + n].reshape(tuple(parameter.shape))))
                start += n

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Up to `max_iter` steps; `closure` computes the loss and the gradients anew, and the first loss is returned."""
        if closure is None:
            raise lesson(TypeError, "LBFGS.step() needs a closure that computes the loss and its gradients")
        group, state = self.param_groups[0], self.state[id(self.param_groups[0]["params"][0])]
        with enable_grad():
            first = closure()
        loss, g, evaluations = float(first), self._gradient(), 1
        if np.abs(g).max(initial=0.0) <= group["tolerance_grad"]:
            return first
        for k in range(1, group["max_iter"] + 1):
            state["n_iter"] = state.get("n_iter", 0) + 1
            direction = self._direction(g, state, group["history_size"])
            state["before"], before = g, loss
            length = min(1.0, 1 / float(np.abs(g).sum())) * group["lr"] if state["n_iter"] == 1 else group["lr"]
            slope = float(g @ direction)
            if slope > -group["tolerance_change"]:
                break
            state["step"] = length * direction
            self._move(state["step"])
            if evaluations >= group["max_eval"] or k == group["max_iter"]:
                break
            with enable_grad():
                loss = float(closure())
            g, evaluations = self._gradient(), evaluations + 1
            small = np.abs(state["step"]).max(initial=0.0) <= group["tolerance_change"]
            if np.abs(g).max() <= group["tolerance_grad"] or small or abs(loss - before) < group["tolerance_change"]:
                break
        return first

    def _direction(self, g: Any, state: dict[str, Any], size: int) -> Any:
        """Minus the gradient, times what is known of the inverse Hessian: two loops over the pairs."""
        pairs = state.setdefault("pairs", [])
        if "before" in state:
            y, s = g - state["before"], state["step"]
            ys = float(y @ s)
            if ys > 1e-10:
                pairs.append((s, y, 1 / ys))
                del pairs[:-size]
                state["scale"] = ys / float(y @ y)
        q, weights = -g, []
        for s, y, rho in reversed(pairs):
            weights.append(rho * float(s @ q))
            q = q - weights[-1] * y
        q = q * state.get("scale", 1.0)
        for (s, y, rho), weight in zip(pairs, reversed(weights), strict=True):
            q = q + s * (weight - rho * float(y @ q))
        return q
