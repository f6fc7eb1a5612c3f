"""Initial value problems, in the manner of ``scipy.integrate.solve_ivp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.core import arrays
from pullback.core.errors import lesson
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor, wrap
from pullback.core.trees import leaves_of, refilled
from pullback.implicit.flow import flow
from pullback.implicit.mapped import mapped
from pullback.implicit.packing import Parameters, as_tensor
from pullback.implicit.theorem import leave


class Trajectory(NamedTuple):
    """What `solve_ivp` returns: times, and the states there."""

    t: Any
    y: Any


@mapped
def solve_ivp(
    f: Callable[..., Any],
    t_span: tuple[Any, Any],
    y0: Any,
    *params: Any,
    t_eval: Any = None,
    method: str = "DOP853",
    rtol: float = 1e-8,
    atol: Any = 1e-10,
    options: dict[str, Any] | None = None,
) -> Trajectory:
    """The solution of ``dy/dt = f(t, y, *params)``, ``y(t₀) = y0``, as a function of start, times and parameters.

    ``scipy.integrate.solve_ivp`` computes it from each time to the next.

    Parameters
    ----------
    f
        Takes a time, a state and the parameters as Tensors, returns the derivative of the state, of its shape.  Tensors that
        it reads from elsewhere (a closure) get their gradients too.
    t_span
        The first and the last time, in either order.
    y0
        The state at the first time: an array, a Tensor, a number, or tuples, lists and dicts of them, real or complex.
    params
        Arrays, Tensors, numbers, or tuples, lists and dicts of them.
    t_eval
        The times to return, from the first to the last in order; by default those two.
    method, rtol, atol
        As for SciPy; the defaults are for derivatives that can be trusted to six digits or more.  ``"Radau"``, ``"BDF"`` and
        ``"LSODA"`` are for stiff equations, and get the exact Jacobian.
    options
        What else SciPy's solver takes: ``max_step``, ``first_step``.

    Returns
    -------
    t
        The times.
    y
        The states, of the structure of `y0`, with one more axis, the last, for the times.

    Raises
    ------
    NotConverged
        Where the solver cannot reach the last time, or the adjoint equation the first.

    Notes
    -----
    Assumes that f is differentiable along the solution; its derivatives are those of the continuous adjoint equation, see
    ``docs/implicit.md``, solved with the same method and tolerances.  So they are those of the exact solution, up to errors
    of the size of the tolerances, and not those of the computed one: gradients of a computation with loose tolerances differ
    from finite differences of it.  The state on the way is interpolated, and kept until the graph is released.

    Examples
    --------
    >>> import pullback as pb
    >>> k = pb.tensor(0.5, requires_grad=True)
    >>> t, y = pb.implicit.solve_ivp(lambda t, y, k: -k * y, (0.0, 2.0), 1.0, k)
    >>> end = y[-1]  # exp(-2 k)
    >>> round(end.item(), 8), round(pb.autograd.grad(end, k)[0].item(), 8)
    (0.36787944, -0.73575888)
    """
    given = Parameters(y0, tuple(t_span), t_eval, *params)
    kind = given.kind or Tensor
    state = [as_tensor(x, kind, "y0") for x in leaves_of(y0)]
    times = _times(t_span, t_eval, kind)
    rest = Parameters(*params)
    shapes = [(tuple(x.shape), x.dtype) for x in state]

    def field(t: Any, state: list[Any], inputs: list[Any]) -> list[Any]:
        found = leaves_of(f(t, refilled(y0, state), *rest.filled(inputs)))
        if len(found) != len(shapes):
            raise _wrong(f"{len(found)} arrays", f"{len(shapes)}")
        return [_fitted(y, *shape, kind) for y, shape in zip(found, shapes, strict=True)]

    settings = {"method": method, "rtol": rtol, "atol": atol, **(options or {})}
    states, now = [], state
    for begin, end in zip([times[0], *times[1:]], times[1:], strict=False):
        now = flow(field, begin, end, now, rest.inputs, kind, settings)
        states.append(now)
    xp = Recorded.xp
    stacked = [xp.stack(list(leaves), axis=-1) for leaves in zip(*states, strict=True)]
    result = leave([*stacked, xp.stack(times[1:])], given.kind)
    return Trajectory(result[-1], refilled(y0, result[:-1]))


def _times(t_span: Any, t_eval: Any, kind: Any) -> list[Any]:
    """The first time, then those to return, as Tensors."""
    ends = [as_tensor(t, kind, "t_span") for t in t_span]
    if t_eval is None:
        times = ends
    elif isinstance(t_eval, Tensor):
        times = list(Recorded.xp.unstack(t_eval))
    else:
        times = [as_tensor(t, kind, "t_eval") for t in t_eval]
    values = [float(t._array) for t in [ends[0], *times, ends[1]]]
    steps = np.diff(values)
    if len(ends) != 2 or not times or not (np.all(steps >= 0) or np.all(steps <= 0)):
        raise lesson(
            ValueError,
            f"t_eval does not go from {values[0]:.6g} to {values[-1]:.6g} in one direction",
            instead="times in order, within t_span.",
        )
    return [ends[0], *times]


def _fitted(y: Any, shape: Any, dtype: Any, kind: Any) -> Any:
    if not isinstance(y, Tensor):
        y = wrap(kind, np.asarray(y, dtype=dtype) if not arrays.is_array(y) else y)
    if tuple(y.shape) != shape:
        raise _wrong(f"shape {tuple(y.shape)}", f"{shape}, that of the state")
    if y.dtype == dtype:
        return y
    if arrays.is_complex(y.dtype) and not arrays.is_complex(dtype):
        raise _wrong(str(y.dtype), f"{dtype}; a complex y0 asks for complex states")
    return Recorded.xp.astype(y, dtype)


def _wrong(found: str, expected: str) -> ValueError:
    return lesson(
        ValueError,
        f"the function given to solve_ivp returned {found}, expected {expected}",
        instead="return the derivative of the state, an array of its shape.",
    )
