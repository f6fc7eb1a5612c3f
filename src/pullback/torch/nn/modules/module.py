"""``Module``: a function with parameters, and other modules inside."""

from __future__ import annotations

import itertools
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

from pullback.core.errors import lesson
from pullback.core.modes import no_grad
from pullback.core.tensor import Tensor as Base
from pullback.torch._dtypes import DTYPES
from pullback.torch._promotion import category
from pullback.torch.nn.parameter import Parameter, is_marked

_IncompatibleKeys = namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])
_numbers = itertools.count()


class _Handle:
    """What takes a hook away again."""

    def __init__(self, hooks: Any, key: int) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        """Take the hook away."""
        self._hooks.pop(self._key, None)

    def __enter__(self) -> _Handle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Module:
    """A function with parameters, written as a class with a method ``forward``.

    Attributes that are `Parameter` s, modules or registered buffers are found by `parameters`, `state_dict`, `to` and so on.

    Examples
    --------
    >>> import pullback.torch as torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(2.0))
    ...
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> scale = Scale()
    >>> scale(torch.tensor(3.0)).backward()
    >>> scale.factor.grad
    tensor(3.)
    """

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        fresh = {"training": True, "_parameters": {}, "_buffers": {}, "_modules": {}, "_non_persistent": set()}
        self.__dict__.update(fresh, _forward_hooks=OrderedDict(), _forward_pre_hooks=OrderedDict())

    # ------------------------------------------------------------------------------------------------- attributes
    def __setattr__(self, name: str, value: Any) -> None:
        tables = [self.__dict__.get(table) for table in ("_parameters", "_buffers", "_modules")]
        if is_marked(value, "Parameter") or isinstance(value, Module) or is_marked(value, "Buffer"):
            if tables[0] is None:
                raise lesson(
                    AttributeError,
                    f"cannot assign {name!r} before Module.__init__() call",
                    instead="super().__init__() as the first line of __init__.",
                )
            place = 2 if isinstance(value, Module) else 0 if is_marked(value, "Parameter") else 1
            self._forget(name)
            tables[place][name] = value  # type: ignore[index]
            return
        for table in tables:
            if table is not None and name in table:
                if table is tables[0] and value is not None:
                    raise lesson(
                        TypeError,
                        f"cannot assign {type(value).__name__!r} as parameter {name!r} (torch.nn.Parameter or None expected)",
                        instead=f"self.{name} = torch.nn.Parameter(value), or self.{name}.data = value.",
                    )
                table[name] = value
                return
        object.__setattr__(self, name, value)

    def _forget(self, name: str) -> None:
        self.__dict__.pop(name, None)
        for table in (self._parameters, self._buffers, self._modules):
            table.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(table, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter, or ``None`` in its place."""
        if param is not None and not isinstance(param, Parameter):
            raise lesson(
                TypeError,
                f"cannot assign a {type(param).__name__} as parameter {name!r}",
                instead="nn.Parameter(tensor).",
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a Tensor that is kept with the parameters and not learned; `persistent`: also in `state_dict`."""
        if tensor is not None and not isinstance(tensor, Base):
            raise lesson(
                TypeError,
                f"cannot assign a {type(tensor).__name__} as buffer {name!r}, which is a Tensor or None",
            )
        self._forget(name)
        self._buffers[name] = tensor
        (self._non_persistent.discard if persistent else self._non_persistent.add)(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add a module under a name."""
        if module is not None and not isinstance(module, Module):
            raise lesson(TypeError, f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    # ------------------------------------------------------------------------------------------------- the call
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes: to be written by each class."""
        raise lesson(
            NotImplementedError,
            f'Module [{type(self).__name__}] is missing the required "forward" function',
            instead="def forward(self, x): return ...",
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for hook in list(self._forward_hooks.values()):
            changed = hook(self, args, result)
            result = result if changed is None else changed
        return result

    def register_forward_hook(self, hook: Callable[..., Any], **options: Any) -> _Handle:
        """Call ``hook(module, args, result)`` after `forward`; what it returns, unless ``None``, replaces the result."""
        return self._hooked(self._forward_hooks, hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any], **options: Any) -> _Handle:
        """Call ``hook(module, args)`` before `forward`; what it returns, unless ``None``, replaces the arguments."""
        return self._hooked(self._forward_pre_hooks, hook)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> _Handle:
        """Refused."""
        raise lesson(
            NotImplementedError,
            "register_full_backward_hook is not offered",
            instead="x.register_hook(f) on what the module takes or returns, or a hook of its node, y.grad_fn.",
        )

    @staticmethod
    def _hooked(hooks: Any, hook: Any) -> _Handle:
        key = next(_numbers)
        hooks[key] = hook
        return _Handle(hooks, key)

    # ------------------------------------------------------------------------------------------------- what is inside
    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Names and modules directly inside."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Any]:
        """The modules directly inside."""
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Names and modules, this one and all inside."""
        memo = set() if memo is None else memo
        if remove_duplicate and self in memo:
            return
        memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """All modules: this one and those inside."""
        return (module for _, module in self.named_modules())

    def _named(self, table: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for place, module in modules:
            for name, value in getattr(module, table).items():
                if value is not None and not (remove_duplicate and id(value) in seen):
                    seen.add(id(value))
                    yield f"{place}.{name}" if place else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Names and parameters, also of the modules inside."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """The parameters, also of the modules inside."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Names and buffers, also of the modules inside."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers, also of the modules inside."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Any:
        """The module of a dotted name."""
        module: Any = self
        for name in target.split(".") if target else []:
            if not isinstance(getattr(module, name, None), Module):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}` that is a Module")
            module = getattr(module, name)
        return module

    def get_parameter(self, target: str) -> Any:
        """The parameter of a dotted name."""
        place, _, name = target.rpartition(".")
        module = self.get_submodule(place)
        if name not in module._parameters:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}` that is an nn.Parameter")
        return module._parameters[name]

    def get_buffer(self, target: str) -> Any:
        """The buffer of a dotted name."""
        place, _, name = target.rpartition(".")
        module = self.get_submodule(place)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    # ------------------------------------------------------------------------------------------------- states
    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Names and values of parameters and persistent buffers."""
        found = OrderedDict() if destination is None else destination
        for place, module in self.named_modules(remove_duplicate=False):
            for table in (module._parameters, module._buffers):
                for name, value in table.items():
                    if value is not None and name not in module._non_persistent:
                        path = prefix + (f"{place}.{name}" if place else name)
                        found[path] = value if keep_vars else value.detach()
        return found

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Copy values into the parameters and buffers of the same names."""
        own = self.state_dict(keep_vars=True)
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        wrong = [
            f"size mismatch for {name}: {list(state_dict[name].shape)} from the state, {list(own[name].shape)} here"
            for name in own
            if name in state_dict and tuple(state_dict[name].shape) != tuple(own[name].shape)
        ]
        wrong += [f"Missing key(s) in state_dict: {missing}"] if strict and missing else []
        wrong += [f"Unexpected key(s) in state_dict: {unexpected}"] if strict and unexpected else []
        if wrong:
            raise lesson(RuntimeError, f"Error(s) in loading state_dict for {type(self).__name__}: {'; '.join(wrong)}")
        with no_grad():
            for name, value in own.items():
                if name in state_dict:
                    value.copy_(state_dict[name].detach())
        return _IncompatibleKeys(missing, unexpected)

    def _apply(self, convert: Callable[[Any], Any]) -> Any:
        """Replace the memory of every parameter and buffer by what a function makes of it."""
        with no_grad():
            for module in self.modules():
                for name, value in module._parameters.items():
                    if value is not None:
                        found = convert(value)
                        if found is not value:
                            module._parameters[name] = Parameter(found, value.requires_grad)
                for name, value in module._buffers.items():
                    if value is not None:
                        module._buffers[name] = convert(value)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """All floating-point parameters and buffers in another dtype."""
        return self._apply(lambda x: x.to(*args, **kwargs) if category(x.dtype) > 1 else x)

    def float(self) -> Any:
        """All floating-point parameters and buffers in single precision."""
        return self.to(DTYPES["float32"])

    def double(self) -> Any:
        """All floating-point parameters and buffers in double precision."""
        return self.to(DTYPES["float64"])

    def half(self) -> Any:
        """All floating-point parameters and buffers in half precision."""
        return self.to(DTYPES["float16"])

    def type(self, dst_type: Any) -> Any:
        """All parameters and buffers in another dtype."""
        return self._apply(lambda x: x.type(dst_type))

    def cpu(self) -> Any:
        """The module itself."""
        return self

    def train(self, mode: bool = True) -> Any:
        """Tell this module and all inside that they are being trained."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Any:
        """Tell this module and all inside that they are not being trained."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Ask for the gradients of all parameters, or not any more."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad = None if set_to_none else parameter.grad.detach() * 0

    def apply(self, fn: Callable[[Any], Any]) -> Any:
        """Call ``fn(module)`` for all modules inside, then for this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def extra_repr(self) -> str:
        """What stands between the brackets."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {module!r}".replace("\n", "\n  ") for name, module in self._modules.items()]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        return (
            f"{type(self).__name__}(\n" + "".join([f"  {line}\n" for line in ([extra] if extra else []) + lines]) + ")"
        )
