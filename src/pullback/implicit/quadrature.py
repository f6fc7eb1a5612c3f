"""Integrals as functions of their limits and of parameters.

``I = ∫ₐᵇ f(x, θ) dx`` has the derivatives ``∂I/∂a = -f(a)``, ``∂I/∂b = f(b)`` and ``∂I/∂θ = ∫ ∂f/∂θ dx`` (Leibniz's rule).  The
last one is an integral too, so the rule calls the operator itself, and every order follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core import arrays, modes
from pullback.core.dual import OPEN
from pullback.core.errors import DerivativeRefused, lesson
from pullback.core.function import Function
from pullback.core.recorded import Recorded
from pullback.core.tensor import Tensor, wrap
from pullback.core.trees import leaves_of, refilled
from pullback.implicit.flow import inner
from pullback.implicit.inverses import NotConverged
from pullback.implicit.mapped import mapped
from pullback.implicit.packing import Packing, Parameters, as_tensor, number
from pullback.implicit.partial import Call, placeholder, recorded, unrecorded, zero_at, zero_like
from pullback.implicit.theorem import leave, same_values


class Integral:
    """One integral of ``integrand(x, inputs)``, in numbers.

    Attributes
    ----------
    found
        Its value, bare arrays.
    captured
        Edges to what the integrand depends on beside its arguments.
    middle, values
        A point in the middle, and the integrand there when it was integrated.
    like
        An array of the library in which the integrand computes.
    """

    __slots__ = ("captured", "found", "integrand", "kind", "like", "middle", "options", "values")

    def __init__(self, integrand: Any, kind: Any, options: dict[str, Any], captured: Sequence[Any] | None) -> None:
        self.integrand, self.kind, self.options = integrand, kind, options
        self.captured: list[Any] = [] if captured is None else list(captured)
        self.found: list[Any] = []
        self.values: Any = None
        self.middle: Any = None

    def listen(self, x: Any, inputs: Sequence[Any]) -> list[Any]:
        """The integrand, and what it depends on at this point."""
        call = Call(lambda own: self.integrand(own[0], own[1:]), [x, *inputs])
        call.refuse_captured_tangents("quad")
        if modes.is_grad_enabled():
            self.captured += [edge for edge in call.captured if edge not in self.captured]
        return call.values

    def compute(self, a: float, b: float, inputs: Sequence[Any], collect: bool) -> None:
        """Fill in `found`, `captured` and `values`."""
        from scipy.integrate import quad_vec

        bare = [wrap(type(x), x._array) for x in inputs]
        self.like = bare[0]._array if bare else np.zeros(0)
        self.middle = number(_middle(a, b), self.like, self.kind)
        first = self.listen(self.middle, bare)
        self.values = [np.asarray(_array(y)) for y in first]
        space = Packing([_array(y) for y in first])

        def value(x: float) -> Any:
            point = number(x, self.like, self.kind)
            if collect:
                return space.pack([_array(y) for y in self.listen(point, bare)])
            with unrecorded():
                return space.pack([_array(y) for y in self.integrand(point, bare)])

        if a == b or not space.size:
            self.found = space.unpack(np.zeros(space.size))
            return
        with np.errstate(all="ignore"):  # near a singularity; what is not finite is refused below
            total, error, info = quad_vec(value, a, b, norm="max", full_output=True, **self.options)
        if not info.success or not np.all(np.isfinite(total)):
            raise lesson(
                NotConverged,
                f"quad from {a:.6g} to {b:.6g} did not converge: {info.message.rstrip('.')} (error about {error:.1e})",
                why="the integral may not exist, or the integrand has a singularity or a jump inside.",
                instead="points=[...] where the integrand is not smooth; split the integral there; larger epsabs, epsrel, limit.",
                reached=space.unpack(total),
                residual=float(error),
            )
        self.found = space.unpack(total)

    def at(self, x: Any, inputs: Sequence[Any], which: str) -> list[Any]:
        """The integrand at a limit, connected to everything."""
        if not np.all(np.isfinite(_array(x))):
            raise lesson(
                DerivativeRefused,
                f"the derivative of quad with respect to its {which} limit is refused: the limit is infinite",
                why="an infinite limit cannot move.",
                instead="a number as the limit, which has no derivative.",
            )
        with recorded() if modes.is_grad_enabled() else unrecorded():
            return self.integrand(x, list(inputs))

    def pulled(self, count: int, wanted: Sequence[int]) -> Any:
        """The integrand of the pullback: `count` cotangents stand before its own inputs."""
        captured = self.captured

        def integrand(x: Any, given: list[Any]) -> list[Any]:
            cotangents, inputs = given[:count], given[count:]
            call = Call(lambda own: self.integrand(own[0], own[1:]), [x, *inputs])
            found = call.pull(cotangents, captured, record=modes.is_grad_enabled())[1:]
            call.connect()
            spaces = [zero_like(inputs[k]) for k in wanted]
            spaces += [zero_at(edge, x) for edge in captured]
            picked = [*[found[k] for k in wanted], *found[len(inputs) :]]
            return [zero if g is None else g for g, zero in zip(picked, spaces, strict=True)]

        return integrand


def _middle(a: float, b: float) -> float:
    """A point inside, where singularities at the limits do no harm."""
    if np.isfinite(a) and np.isfinite(b):
        return a + (b - a) * 0.45
    return a + 0.9 if np.isfinite(a) else b - 0.9 if np.isfinite(b) else 0.1


def _array(y: Any) -> Any:
    return y._array if isinstance(y, Tensor) else y


class Quad(Function):
    """``∫ₐᵇ f(x, θ) dx``.  vjp: ā = -⟨Ī, f(a)⟩, b̄ = ⟨Ī, f(b)⟩, θ̄ = ∫ (∂f/∂θ)ᵀ Ī dx"""

    @staticmethod
    def forward(ctx: Any, integral: Integral, a: Any, b: Any, *given: Any) -> Any:
        ctx.integral, ctx.count = integral, len(given) - len(integral.captured)
        ctx.save_for_backward(a, b, *given[: ctx.count])
        return tuple([wrap(integral.kind, x) for x in integral.found])

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        integral = ctx.integral
        a, b, *inputs = ctx.saved_tensors
        same_values(integral, integral.at(integral.middle, inputs, "middle"), "quad")
        wanted = [k for k in range(len(inputs)) if ctx.needs_input_grad[3 + k]]
        at_a = -inner(cotangents, integral.at(a, inputs, "lower")) if ctx.needs_input_grad[1] else None
        at_b = inner(cotangents, integral.at(b, inputs, "upper")) if ctx.needs_input_grad[2] else None
        of_inputs: list[Any] = [None] * (len(inputs) + len(integral.captured))
        if wanted or integral.captured:
            integrand = integral.pulled(len(cotangents), wanted)
            found = integrate(
                integrand, a, b, [*cotangents, *inputs], integral.kind, integral.options, integral.captured
            )
            places = [*wanted, *range(len(inputs), len(of_inputs))]
            for k, g in zip(places, found, strict=True):
                of_inputs[k] = g
        return (None, at_a, at_b, *of_inputs)


def integrate(
    integrand: Any,
    a: Any,
    b: Any,
    inputs: Sequence[Any],
    kind: Any,
    options: Any,
    captured: Sequence[Any] | None = None,
) -> list[Any]:
    """The integral as a function of everything; `captured` is known where the integrand is the pullback of another."""
    integral = Integral(integrand, kind, options, captured)
    collect = captured is None and (modes.is_grad_enabled() or bool(OPEN))
    integral.compute(float(a._array), float(b._array), inputs, collect)
    return list(Quad.apply(integral, a, b, *inputs, *[placeholder(edge) for edge in integral.captured]))


@mapped
def quad(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    *params: Any,
    epsabs: float = 1e-12,
    epsrel: float = 1e-10,
    limit: int = 10_000,
    points: Any = None,
    quadrature: str | None = None,
) -> Any:
    """``∫ₐᵇ f(x, *params) dx``, as a function of the limits and of the parameters.

    ``scipy.integrate.quad_vec`` computes it, adaptively.

    Parameters
    ----------
    f
        Takes a number and the parameters as Tensors, returns a number or an array, real or complex, or tuples, lists and
        dicts of them: each entry is integrated.  Tensors that it reads from elsewhere (a closure) get their gradients too.
    a, b
        The limits, numbers or Tensors; they may be infinite, and have no derivative then.
    params
        Arrays, Tensors, numbers, or tuples, lists and dicts of them.
    epsabs, epsrel, limit, points, quadrature
        As for ``scipy.integrate.quad_vec``; `points` are places where f is not smooth.

    Returns
    -------
    The integral, of the structure and shapes of the values of f.

    Raises
    ------
    NotConverged
        Where the tolerances cannot be reached.

    Notes
    -----
    Assumes that f is continuous at the limits, and differentiable in the parameters with an integrable derivative.  A jump of
    f at a place that depends on a parameter is not seen by Leibniz's rule: split the integral there, with the place as limit.

    Examples
    --------
    >>> import pullback as pb
    >>> b, k = pb.tensor(1.0, requires_grad=True), pb.tensor(2.0, requires_grad=True)
    >>> y = pb.implicit.quad(lambda x, k: pb.exp(-k * x), 0.0, b, k)
    >>> round(y.item(), 10)
    0.4323323584
    >>> [round(g.item(), 10) for g in pb.autograd.grad(y, [b, k])]
    [0.1353352832, -0.1484985376]
    """
    given = Parameters(a, b, *params)
    kind = given.kind or Tensor
    limits = [as_tensor(x, kind, "limits") for x in (a, b)]
    for x, name in zip(limits, ("a", "b"), strict=True):
        if arrays.size(x._array) != 1 or arrays.is_complex(x.dtype):
            raise lesson(
                ValueError, f"the limit {name} of quad must be one real number, but has shape {tuple(x.shape)}"
            )
    rest = Parameters(*params)
    tree: list[Any] = [None]

    def integrand(x: Any, inputs: list[Any]) -> list[Any]:
        tree[0] = f(x, *rest.filled(inputs))
        return [as_tensor(y, kind, "what f returned") for y in leaves_of(tree[0])]

    options = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points}
    options |= {} if quadrature is None else {"quadrature": quadrature}
    found = integrate(integrand, limits[0], limits[1], rest.inputs, kind, options)
    return refilled(tree[0], leave(found, given.kind))


def fixed_quad(f: Callable[..., Any], a: Any, b: Any, *params: Any, n: int = 5) -> Any:
    """``∫ₐᵇ f(x, *params) dx`` by Gauss's rule with `n` points, exact for polynomials up to the degree ``2 n - 1``.

    Parameters
    ----------
    f
        Takes an array of shape (n,) and the parameters, returns an array whose last axis belongs to these points.
    a, b
        The limits, finite numbers or Tensors.
    params
        Handed to f.
    n
        How many points.

    Returns
    -------
    The sum over the last axis.  Its derivatives are those of the sum, not those of the integral.

    Examples
    --------
    >>> import pullback as pb
    >>> b = pb.tensor(2.0, requires_grad=True)
    >>> y = pb.implicit.fixed_quad(lambda x: x**3, 0.0, b)
    >>> round(y.item(), 12), round(pb.autograd.grad(y, b)[0].item(), 12)
    (4.0, 8.0)
    """
    nodes, weights = np.polynomial.legendre.leggauss(n)
    half = (b - a) / 2
    x = half * wrap(Tensor, nodes) + (a + b) / 2 if isinstance(half, Tensor) else half * nodes + (a + b) / 2
    values = f(x, *params)
    if isinstance(values, Tensor) or isinstance(half, Tensor):
        return Recorded.xp.sum(values * wrap(Tensor, weights), axis=-1) * half
    return np.sum(values * weights, axis=-1) * half
