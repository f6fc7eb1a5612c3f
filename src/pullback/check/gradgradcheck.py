"""`gradgradcheck`: is the derivative of backward right, in the inputs and in the cotangents?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.check.gradcheck import gradcheck
from pullback.check.moving import like
from pullback.check.subject import as_tuple
from pullback.core import arrays, tangents
from pullback.core.differentiate import grad
from pullback.core.errors import lesson
from pullback.core.modes import enable_grad
from pullback.core.tensor import Tensor, wrap

_SEED = 20240301


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives: `gradcheck` of the function that maps inputs and cotangents to gradients.

    Parameters
    ----------
    func, inputs, eps, atol, rtol, raise_exception, nondet_tol, fast_mode, masked
        See `gradcheck`.
    grad_outputs
        One cotangent per differentiable output; those that require gradients are checked, the others are constants.  By
        default random numbers between -1 and 1, the same in every call, that require gradients.
    gen_non_contig_grad_outputs
        Make the random cotangents with gaps in memory.
    check_undefined_grad, check_grad_dtypes, check_batched_grad
        See `gradcheck`; they concern the second derivative here.
    check_fwd_over_rev, check_rev_over_rev
        Which mode differentiates the gradients.

    Returns
    -------
    bool
        True when everything holds.

    Raises
    ------
    GradcheckError
        See `gradcheck`.  A second derivative that is refused (``once_differentiable``, NumPy in backward) has the
        verdict ``"refused"`` and the words of the refusal.

    Examples
    --------
    >>> import pullback as pb
    >>> from pullback.check import gradgradcheck
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> gradgradcheck(lambda x: x * x * x, x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    values = as_tuple(inputs)
    cotangents = as_tuple(grad_outputs)
    if grad_outputs is None:
        with enable_grad():
            cotangents = _random_cotangents(as_tuple(func(*values)), gen_non_contig_grad_outputs)
    return gradcheck(
        gradient_function(func, values),
        (*values, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def gradient_function(func: Callable[..., Any], given: tuple[Any, ...]) -> Callable[..., Any]:
    """The function ``(inputs, cotangents) -> gradients`` of a function with the `given` inputs."""
    asked = [k for k, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]

    def gradients(*arguments: Any) -> tuple[Any, ...]:
        inputs, cotangents = list(arguments[: len(given)]), arguments[len(given) :]
        for k in asked:
            if not inputs[k].requires_grad:  # a dual number, in forward mode: it needs a place in the graph
                inputs[k] = _point(inputs[k])
        wanted = [inputs[k] for k in asked]
        outputs = _differentiable(as_tuple(func(*inputs)))
        found = grad(outputs, wanted, cotangents, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    vars(gradients)["of_backward"] = True  # errors speak of backward then, not of func
    return gradients


def _point(x: Tensor) -> Tensor:
    return tangents.point(x) if tangents.carries(x) else wrap(type(x), x._array).requires_grad_()


def _differentiable(outputs: tuple[Any, ...]) -> list[Tensor]:
    return [y for y in outputs if isinstance(y, Tensor) and y.requires_grad]


def _random_cotangents(outputs: tuple[Any, ...], gaps: bool) -> tuple[Tensor, ...]:
    rng = np.random.default_rng(_SEED)
    differentiable = _differentiable(outputs)
    if not differentiable:
        raise lesson(
            ValueError,
            "gradgradcheck expects func to have an output that requires gradients, but none does.",
            why="there is no first derivative to differentiate.",
            instead="a func whose outputs are recorded; gradcheck tells whether they should be.",
        )
    cotangents = []
    for y in differentiable:
        values = rng.uniform(-1, 1, tuple(y.shape))
        if arrays.is_complex(y.dtype):
            values = values + 1j * rng.uniform(-1, 1, tuple(y.shape))
        array = like(np.asarray(values), y._array)
        if gaps and isinstance(array, np.ndarray) and array.ndim:
            wide = np.empty((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
            wide[..., ::2] = array
            array = wide[..., ::2]
        tensor = wrap(type(y), array)
        tensor.requires_grad_(True)
        cotangents.append(tensor)
    return tuple(cotangents)
