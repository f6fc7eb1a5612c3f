"""`gradcheck`: is the derivative that backward computes the derivative of what forward computes?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pullback.check import fast, layouts, probes, pulling, pushing
from pullback.check.differences import Differences
from pullback.check.errors import GradcheckError, failure, warn
from pullback.check.judge import Jacobians, Judge
from pullback.check.moving import is_double
from pullback.check.repeat import check_deterministic
from pullback.check.report import matrix, number
from pullback.check.subject import Subject, as_tuple
from pullback.check.tolerance import Tolerance
from pullback.core.errors import lesson
from pullback.core.modes import enable_grad
from pullback.core.tensor import Tensor

_SEED = 20240229


@dataclass(frozen=True)
class Options:
    """What is to be checked, and how sharply."""

    eps: float
    tolerance: Tolerance
    undefined: bool
    dtypes: bool
    batched: bool
    fast: bool
    backward: bool
    forward: bool
    batched_forward: bool


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the derivatives of `func` with difference quotients, and try its backward on other cotangents.

    Every entry of every Jacobian is compared.  Besides, backward must be linear in its cotangent, give zeros for zeros,
    cope with missing cotangents, give the same when run again, and not depend on how the cotangent lies in memory.

    Parameters
    ----------
    func
        Takes the inputs, returns a Tensor or a tuple of Tensors; outputs without gradients are not compared.  With N
        elements in the inputs that require gradients it is called ``2 N + 2`` times, and more often only where
        something failed.
    inputs
        A Tensor, or a tuple of Tensors and other arguments.  At least one requires gradients.  Their values are moved
        in place while `func` runs and then put back exactly, so `func` may also use them from a closure.
    eps
        Step of the central difference; lengthened where numbers are too large or too coarse for it.
    atol, rtol
        Passes when ``|analytical - numerical| <= atol + rtol * |numerical|``, entry by entry.
    raise_exception
        False: return False in place of a `GradcheckError`.  Other exceptions, such as those of `func`, are always
        raised.
    nondet_tol
        How far two backward passes may differ.
    check_undefined_grad
        Try missing cotangents, and missing tangents.
    check_grad_dtypes
        Require that gradients have the dtype of their input (the engine sees to it).
    check_batched_grad
        Try ``is_grads_batched=True``.
    check_forward_ad, check_backward_ad
        Which mode to check.  In forward mode `func` is called once per element with dual numbers.
    check_batched_forward_grad
        Compare the tangents of two directions at once with those of each.
    fast_mode
        Compare one random projection of each Jacobian; see `pullback.check.fast` for what that can miss.
    masked
        Accepted for the sake of programs written for torch; there are no sparse Tensors.

    Returns
    -------
    bool
        True when everything holds.

    Raises
    ------
    GradcheckError
        With the reason as ``error.verdict``; the notes name the worst entry and, where it is recognised, the kind of
        mistake.
    ValueError
        No input requires gradients.

    Warns
    -----
    CheckWarning
        An input of low precision; a point without a derivative where the analytical value lies between the one-sided
        slopes.

    Examples
    --------
    >>> import pullback as pb
    >>> from pullback.check import gradcheck
    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> gradcheck(lambda x: x * x, x)
    True
    """
    _check_flags(check_forward_ad, check_backward_ad, check_batched_grad, check_batched_forward_grad)
    options = Options(
        eps,
        Tolerance(atol, rtol, nondet_tol),
        check_undefined_grad,
        check_grad_dtypes,
        check_batched_grad,
        fast_mode,
        check_backward_ad,
        check_forward_ad,
        check_batched_forward_grad,
    )
    try:
        with enable_grad():
            _gradcheck(func, _validated(inputs), options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_flags(forward: bool, backward: bool, batched: bool, batched_forward: bool) -> None:
    if not (forward or backward):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if batched and not backward:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if batched_forward and not forward:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")


def _validated(inputs: Any) -> tuple[Any, ...]:
    """The inputs as a tuple; what cannot be checked is refused."""
    values = as_tuple(inputs)
    wanted = [(k, x) for k, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise lesson(
            ValueError,
            "gradcheck expects at least one input tensor to require gradient, but none of them have "
            "requires_grad=True.",
            why="without it there is no derivative to check. Tensors inside lists or dicts are not searched for.",
            instead="tensor(..., requires_grad=True), passed as an argument of its own.",
        )
    for k, x in wanted:
        if _has_stretched_axis(x._array):
            raise lesson(
                RuntimeError,
                f"The {k}th input has a dimension with stride 0: its elements share memory and cannot be moved one by "
                "one",
                instead="pass a copy, such as x.clone().",
            )
        if not is_double(x.dtype):
            warn(
                f"Input #{k} requires gradient and is not a double precision floating point or complex, but {x.dtype}. "
                "Its gradient is compared in that precision; float64 inputs make the check sharper."
            )
    return values


def _has_stretched_axis(array: Any) -> bool:
    """True when a whole axis of a NumPy array is one element in memory, as after expand."""
    if not isinstance(array, np.ndarray) or array.size == 0:
        return False
    return any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))


def _gradcheck(func: Callable[..., Any], inputs: tuple[Any, ...], options: Options) -> None:
    subject = Subject(func, inputs)
    differences = Differences(subject, options.eps)
    if not subject.differentiable:
        _check_constant(subject, differences, options)
        return
    numerical = None if options.fast else differences.jacobians()
    if options.backward:
        _check_backward(subject, differences, options, numerical)
    if options.forward:
        _check_forward(subject, differences, options, numerical)


def _check_backward(subject: Subject, differences: Differences, options: Options, numerical: Any) -> None:
    rng = np.random.default_rng(_SEED)
    if numerical is None:
        analytical = None
        _fast(subject, differences, options, rng, pulling.jacobians)
        fast.check_again(subject, rng, options.tolerance.nondet)
    else:
        analytical = _slow(subject, differences, options, pulling.jacobians, numerical)
    if options.batched:
        probes.check_batched(subject, rng)
    probes.check_zero(subject)
    tolerance = options.tolerance.for_precision(differences, 1.0, 1.0)
    layouts.check_cotangents(subject, analytical, rng, tolerance)
    if options.dtypes:
        probes.check_dtypes(subject)
    if options.undefined:
        probes.check_undefined(subject)


def _check_forward(subject: Subject, differences: Differences, options: Options, numerical: Any) -> None:
    rng = np.random.default_rng(_SEED)
    tolerance = options.tolerance.for_precision(differences, 1.0, 1.0)
    if numerical is None:
        _fast(subject, differences, options, rng, pushing.jacobians)
    else:
        analytical = _slow(subject, differences, options, pushing.jacobians, numerical)
        pushing.check_linear(subject, analytical, rng, tolerance)
    if options.dtypes:
        pushing.check_dtypes(subject)
    if options.batched_forward:
        pushing.check_batched(subject, rng)
    if options.undefined:
        pushing.check_undefined(subject, rng, tolerance)


def _slow(
    subject: Subject, differences: Differences, options: Options, jacobians: Jacobians, numerical: list[np.ndarray]
) -> list[np.ndarray]:
    analytical = jacobians(subject)
    again = analytical if jacobians is pushing.jacobians else jacobians(subject)
    Judge(subject, differences, options.tolerance, jacobians).compare(numerical, analytical, again)
    return analytical


def _fast(
    subject: Subject, differences: Differences, options: Options, rng: np.random.Generator, jacobians: Jacobians
) -> None:
    """Compare projections; only where they disagree, compare everything, which has the last word."""
    table = fast.projections(subject, differences, rng, forward=jacobians is pushing.jacobians)
    tolerance = options.tolerance.for_precision(differences, 1.0, 1.0)
    found = fast.first_disagreement(table, tolerance)
    if found is None:
        return
    try:
        _slow(subject, differences, options, jacobians, differences.jacobians())
    except GradcheckError as error:
        if error.numerical is not None and error.analytical is not None:
            error.args = (_fast_message(str(error), found, error.numerical, error.analytical),)
        raise


def _fast_message(slow: str, found: fast.Projection, numerical: np.ndarray, analytical: np.ndarray) -> str:
    headline = slow.partition("\n")[0]
    return (
        f"{headline}\nnumerical:{number(found.numerical)}\nanalytical:{number(found.analytical)}\n\n"
        "These are projections of the Jacobians (fast mode). In full they are:\n\n"
        f"Numerical:\n{matrix(numerical)}\nAnalytical:\n{matrix(analytical)}\n\n"
        f"The max per-element difference (slow mode) is: {np.abs(numerical - analytical).max()}."
    )


def _check_constant(subject: Subject, differences: Differences, options: Options) -> None:
    """No output has gradients: then none may change with the inputs."""
    for (position, _), rows in zip(subject.wanted, differences.jacobians(), strict=True):
        if not np.all(rows == 0):
            check_deterministic(subject, options.tolerance.nondet)
            raise failure(
                "not zero",
                "Numerical gradient for function expected to be zero",
                f"Where: no output of func requires gradients, yet moving input {position} changes it.",
                "Why it matters: the graph was cut (detach(), no_grad, NumPy), or the output was marked as not "
                "differentiable.",
                input=position,
            )
