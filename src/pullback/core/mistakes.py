"""Errors that Python or NumPy raise in a user's rule, and what was probably meant: notes under an error that stays as it is."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import warnings
from typing import Any

from pullback.core.errors import lesson
from pullback.core.places import defined_at, is_ours


def explain_forward(operator: Any, error: BaseException) -> None:
    """Add to an error that the call of `operator` raised before there were results."""
    if _told(error):
        return
    name = operator.__name__
    if isinstance(error, TypeError) and _call_failed(error):
        first = "one parameter" if getattr(operator, "separate", False) else "ctx first, and then one parameter"
        error.add_note(f"{name}.apply(...) calls forward with its arguments: {first} for each argument.")
    if _read_only(error):
        error.add_note(
            f"The memory of arguments is read-only in {name}.forward: others use it too, and a write would go behind the graph's "
            "back. Write instead: into a copy, x.copy(). (A Function may write into a Tensor that it gives to ctx.mark_dirty.)"
        )
    if not _in_users_code(error):
        place = defined_at(operator.forward)
        if place:
            error.add_note(f"{place}.")


def explain_call(error: BaseException, name: str, names: tuple[str, ...], args: Any, options: Any) -> None:
    """Add to an error of an operator which call it was, and what its arguments were.

    Parameters
    ----------
    names
        The names of the arguments; where there are fewer, the last one stands for all others.
    """
    told = getattr(error, "_pullback_calls", ())  # by the operators that it came through
    if name in told or len(told) == 2:
        return
    error._pullback_calls = (*told, name)  # type: ignore[attr-defined]
    shown, described = [], []
    for number, value in enumerate(args):
        if number < len(names) and not names[number].startswith("*"):
            argument = names[number]
        else:
            argument = f"{names[-1].lstrip('*')}[{number - len(names) + 1}]" if names else str(number)
        array = getattr(value, "_array", value)
        if hasattr(array, "dtype") and hasattr(array, "shape"):
            shown.append(argument)
            described.append(f"{argument} is {array.dtype} of shape {tuple(array.shape)}")
        else:
            shown.append(f"{argument}={_short(value)}")
    shown += [f"{key}={_short(value)}" for key, value in options.items()]
    error.add_note(f"Raised by {name}({', '.join(shown)}){': ' if described else ''}{', '.join(described)}.")


def _short(value: Any) -> str:
    """A value in one short line."""
    text = " ".join(repr(value).split()) if not hasattr(value, "dtype") else f"an array of {value.dtype}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def parameters_of(forward: Any) -> tuple[str, ...]:
    """The names of what forward takes after ctx and by position; a starred one with its star."""
    found = list(inspect.signature(forward).parameters.values())[1:]
    return tuple(
        [
            f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name
            for p in found
            if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)
        ]
    )


def not_a_result(operator: Any, result: Any, wanted: str, instead: str) -> TypeError:
    """The error for a forward without a result that could be differentiated."""
    kind = "None (is `return` missing?)" if result is None else type(result).__name__
    error = lesson(
        TypeError,
        f"{operator.__name__}.forward returned {kind} for an argument that is differentiated, but no {wanted}",
        why=f"only a {wanted} is connected to the graph; the gradient would be missing without a word.",
        instead=instead,
    )
    explain_forward(operator, error)
    return error


def warn_of_no_result(operator: Any) -> None:
    """A Function returned ``None`` for an argument that is differentiated, which torch allows; said once."""
    text = f"{operator.__name__}.forward returned None: is `return` missing? Where that is meant, write `return None`."
    _warn(operator.forward, text)


def warn_of_no_gradient(node: Any) -> None:
    """A rule returned ``None`` where its one argument is differentiated; said once."""
    _warn(
        node._operator.backward,
        f"{node._operator.__name__}.backward returned None, so its argument gets no gradient: is `return` missing? Where that "
        "is meant, write `return None`.",
    )


def _warn(rule: Any, text: str) -> None:
    code = getattr(inspect.unwrap(rule), "__code__", None)
    if code is not None and code not in _seen:
        _seen.add(code)
        if not _says_none(code):
            warnings.warn_explicit(text, UserWarning, code.co_filename, code.co_firstlineno)


def _says_none(code: types.CodeType) -> bool:
    """Whether the source says ``return`` or ``return None``, so that it is meant; true where there is no source to ask."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError):
        return True
    returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    says = any(value is None or (isinstance(value, ast.Constant) and value.value is None) for value in returned)
    return says or code.co_name == "<lambda>"


#: Rules that were looked at already.
_seen: set[types.CodeType] = set()


def explain_backward(node: Any, error: Any) -> None:
    """Add to an error that the backward of a node raised."""
    operator: Any = getattr(node, "_operator", None)
    if operator is None or _told(error):
        return
    if isinstance(error, AttributeError) and id(error.obj) == id(node):
        error.add_note(f"{node._name()} is the ctx of this call; its forward set no ctx.{error.name}.")
    if isinstance(error, TypeError) and _call_failed(error):
        count = len(node._specs)
        error.add_note(
            f"backward is called with ctx and one gradient per output of forward, here {count}: "
            f"def backward(ctx{''.join(f', grad_{k}' for k in range(count))})."
        )
        error.add_note(f"{defined_at(operator.backward)}.")
    if isinstance(error, (ValueError, IndexError)) and not node._saved_entries() and _reads_saved(error):
        error.add_note(f"{operator.__name__}.forward saved nothing: call ctx.save_for_backward(...) there.")
    if _read_only(error):
        error.add_note(
            "What numpy() gives of a gradient, or of a Tensor that requires gradients, is read-only: others use that memory. "
            "Write instead: into a copy, x.detach().clone().numpy()."
        )


def _told(error: BaseException) -> bool:
    """True the second time: errors pass through nested calls."""
    if getattr(error, "_pullback_explained", False):
        return True
    error._pullback_explained = True  # type: ignore[attr-defined]
    return False


def _frames(error: BaseException) -> list[types.FrameType]:
    found, at = [], error.__traceback__
    while at is not None:
        found.append(at.tb_frame)
        at = at.tb_next
    return found


def _in_users_code(error: BaseException) -> bool:
    return any(not is_ours(frame.f_code) for frame in _frames(error))


def _call_failed(error: BaseException) -> bool:
    """True when the rule never began: its parameters do not fit the arguments."""
    return not _in_users_code(error) and "argument" in str(error)


def _read_only(error: BaseException) -> bool:
    return isinstance(error, ValueError) and "read-only" in str(error)


def _reads_saved(error: BaseException) -> bool:
    return any("saved_tensors" in frame.f_code.co_names for frame in _frames(error))
