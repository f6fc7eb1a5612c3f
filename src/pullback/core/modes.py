"""Whether operations are recorded, for this thread and this asyncio task.

One ``ContextVar`` holds one object, the mode, whose attribute ``_recording`` says whether operators build a graph.  There are
three kinds of mode, and the hot path only compares with the first:

* ``ON`` and ``OFF``, the two plain ones (``ON`` is where every thread starts);
* a running ``Function.forward``: its ctx is the mode, so that operators inside can tell captured Tensors from arguments;
* `Special`: a plain mode plus `Settings` that are rarely used (anomaly detection, inference, a watched backward).
"""

from __future__ import annotations

import functools
import inspect
import warnings
from contextvars import ContextVar
from typing import Any

from pullback.core.dual import OPEN, dual_at
from pullback.core.errors import lesson


class Mode:
    """A plain mode: recording or not."""

    __slots__ = ("_recording",)
    _settings: Settings
    _inputs: tuple[Any, ...] = ()  # while a Function's forward is the mode: its arguments

    def __init__(self, recording: bool) -> None:
        self._recording = recording

    def _leaves(self, tensor: Any, how: str) -> None:
        """Told whenever the value of a Tensor leaves the graph; whoever watches a rule wants to know."""
        settings = self._settings
        if settings is not PLAIN:
            if settings.detect_anomaly:
                note_cut(tensor, how)
            if settings.watcher is not None and (tensor.requires_grad or (OPEN and dual_at(tensor._edge) is not None)):
                settings.watcher.leaves(tensor, how)
            if settings.function is not None:
                settings.function._leaves(tensor, how)

    def _created(self, node: Any) -> None:
        """Told of every new node by operators that are recorded in a mode other than `ON`."""
        if self._settings.detect_anomaly:
            note_origin(node)
        if self._settings.hooks is not None:
            pack_saved(node, self._settings.hooks)

    def _wrote(self, tensor: Any) -> None:
        """Told whenever a Tensor is written in place."""
        if self._settings.function is not None:
            self._settings.function._wrote(tensor)

    def _reads(self, tensor: Any) -> None:
        """Told, when it is neither `ON` nor `OFF` and not recording, that an operator reads a differentiable Tensor."""
        if self._settings.detect_anomaly:
            note_cut(tensor, "no_grad()")
        if self._settings.watcher is not None:
            self._settings.watcher.leaves(tensor, "no_grad()")
        if self._settings.function is not None:
            self._settings.function._reads(tensor)


class Settings:
    """What may accompany a mode.  Immutable; ``PLAIN`` is the usual one.

    Attributes
    ----------
    detect_anomaly, check_nan, check_inf, inference
        What the context managers of these names switch.
    log
        Looks on while backward passes run (`pullback.autograd.graph.log_backward`).
    watcher
        Hears of values that leave the graph while a backward is recorded.
    hooks
        What saved values go through (`pullback.core.packing`).
    function
        The ctx of the Function whose forward runs, where a plain mode was entered inside it.
    operators
        ``operators(operator, args, options)`` is called in the place of operators whose arguments require gradients
        (`pullback.autograd.selective`).
    """

    __slots__ = (
        "check_inf",
        "check_nan",
        "detect_anomaly",
        "function",
        "hooks",
        "inference",
        "log",
        "operators",
        "watcher",
    )

    def __init__(
        self,
        detect_anomaly: bool = False,
        check_nan: bool = True,
        inference: bool = False,
        watcher: Any = None,
        function: Any = None,
        hooks: Any = None,
        log: Any = None,
        check_inf: bool = False,
        operators: Any = None,
    ) -> None:
        self.detect_anomaly = detect_anomaly
        self.check_nan = check_nan
        self.inference = inference
        self.watcher = watcher
        self.function = function
        self.hooks = hooks
        self.log = log
        self.check_inf = check_inf
        self.operators = operators

    def replace(self, **changes: Any) -> Settings:
        """A copy with some fields changed; `PLAIN` itself when nothing is left."""
        fields = {name: getattr(self, name) for name in self.__slots__} | changes
        if not any(fields[name] for name in _ALONE):
            return PLAIN
        return Settings(**fields)


#: The settings that mean something by themselves.
_ALONE = ("detect_anomaly", "inference", "watcher", "function", "hooks", "log", "operators")
PLAIN = Settings()
Mode._settings = PLAIN


class Special(Mode):
    """A mode with settings other than ``PLAIN``."""

    __slots__ = ("_settings",)

    def __init__(self, recording: bool, settings: Settings) -> None:
        self._recording = recording
        self._settings = settings


pack_saved: Any = None  # set by packing.py
note_cut: Any = None  # set by cuts.py
note_origin: Any = None  # set by anomaly.py


ON = Mode(True)
OFF = Mode(False)
_current: ContextVar[Any] = ContextVar("pullback mode", default=ON)
current = _current.get
enter = _current.set
leave = _current.reset


def plain(recording: bool, settings: Settings = PLAIN) -> Mode:
    """The mode with these settings; the two usual ones are shared objects."""
    if settings is PLAIN:
        return ON if recording else OFF
    return Special(recording, settings)


def is_grad_enabled() -> bool:
    """True when operators on Tensors that require gradients are recorded.

    >>> import pullback as pb
    >>> with pb.no_grad():
    ...     pb.is_grad_enabled()
    False
    """
    return current()._recording


class _Switch:
    """A mode change usable as ``with``, as a decorator of functions and of generators, with or without parentheses."""

    def __new__(cls, function: Any = None) -> Any:
        self = super().__new__(cls)
        if callable(function):
            self.__init__()  # type: ignore[misc]
            return self(function)
        return self

    def __init__(self, function: Any = None) -> None:
        self._before: list[Any] = []

    def mode(self) -> Any:
        """The mode to enter."""
        raise NotImplementedError

    def __enter__(self) -> None:
        self._before.append(current())
        enter(self.mode())

    def __exit__(self, *exception: object) -> None:
        enter(self._before.pop())

    def _again(self) -> _Switch:
        """A fresh switch of the same kind, so that one decorator serves many threads."""
        return type(self)()

    def __call__(self, function: Any) -> Any:
        if inspect.isclass(function):
            warnings.warn(
                f"Decorating the class {function.__name__} switches modes only while it is instantiated. "
                "Decorate its methods instead.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)
        if inspect.isasyncgenfunction(function):
            raise lesson(
                TypeError,
                f"{type(self).__name__} cannot decorate the asynchronous generator {function.__name__}",
                instead=f"`with {type(self).__name__}():` inside it, around the lines that it is meant for.",
            )
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def switched_coroutine(*args: Any, **kwargs: Any) -> Any:
                with self._again():
                    return await function(*args, **kwargs)

            return switched_coroutine

        @functools.wraps(function)
        def switched(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return switched

    def _wrap_generator(self, function: Any) -> Any:
        """Switch around every resume of a generator, so that its caller keeps its own mode."""

        @functools.wraps(function)
        def switched(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            resume: Any = functools.partial(next, generator)
            while True:
                try:
                    with self._again():
                        item = resume()
                except StopIteration as stop:
                    return stop.value
                try:
                    resume = functools.partial(generator.send, (yield item))
                except GeneratorExit:
                    with self._again():
                        generator.close()
                    raise
                except BaseException as error:
                    resume = functools.partial(generator.throw, error)

        return switched


class no_grad(_Switch):  # noqa: N801 - used like a statement
    """Do not record inside: ``with no_grad():``, or as a decorator.

    >>> import pullback as pb
    >>> x = pb.tensor(2.0, requires_grad=True)
    >>> with pb.no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False
    """

    def mode(self) -> Any:
        return plain(False, current()._settings)


class enable_grad(_Switch):  # noqa: N801
    """Record inside, also within `no_grad` and within a ``Function.forward``."""

    def mode(self) -> Any:
        return plain(True, current()._settings)


class set_grad_enabled(_Switch):  # noqa: N801
    """Switch recording on or off: at once when called, until the end of the block when used with ``with``."""

    def __new__(cls, mode: bool) -> Any:
        return object.__new__(cls)

    def __init__(self, mode: bool) -> None:
        self.enabled = bool(mode)
        self._before = [current()]
        enter(self.mode())

    def mode(self) -> Any:
        return plain(self.enabled, current()._settings)

    def __enter__(self) -> None:
        enter(self.mode())

    def __exit__(self, *exception: object) -> None:
        enter(self._before[0])

    def _again(self) -> _Switch:
        return enable_grad() if self.enabled else no_grad()

    def __call__(self, function: Any) -> Any:
        enter(self._before[0])
        return super().__call__(function)


class inference_mode(_Switch):  # noqa: N801
    """`no_grad` under its other name; results are ordinary Tensors that do not require gradients."""

    def __new__(cls, mode: Any = True) -> Any:
        return super().__new__(cls, mode if callable(mode) else None)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.enabled = mode if isinstance(mode, bool) else True

    def mode(self) -> Any:
        old = current()
        settings = old._settings.replace(inference=self.enabled)
        return plain(old._recording and not self.enabled, settings)

    def _again(self) -> _Switch:
        return inference_mode(self.enabled)


def is_inference_mode_enabled() -> bool:
    """True inside `inference_mode`."""
    return bool(current()._settings.inference)
