"""Dataclasses that cost next to nothing at start: as the standard library makes them, with methods that all share.

`dataclasses.dataclass` writes and compiles up to six functions for each class, half a millisecond, and a command
imports fifty classes. Here a class's `__init__` is written when it is first called, and all the rest is the same.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False) -> Callable[[type], type]:
        """As `dataclasses.dataclass` with these arguments, for a class without a base.

        Args:
            frozen: Whether its instances refuse changes and have a hash.
            slots: True; it is written where a reader looks for it.

        Raises:
            TypeError: for a class with a base, or without slots.
        """
        if not slots:
            raise TypeError("a record has slots")
        return _frozen if frozen else _record


__all__ = ["dataclass"]


class _Made:
    """Stands in a signature for a value that is made anew at each call, and is shown as the standard library does."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made()


class _Signature:
    """What `inspect.signature` and `help` ask a class for: that of an `__init__` which may not be written yet."""

    def __init__(self, record: type) -> None:
        self._record: Any = record

    def __get__(self, instance: object, cls: Any) -> inspect.Signature:
        if cls.__init__ is not self._record.__init__:
            raise AttributeError("__signature__")  # a class made from the record has an __init__ of its own
        signature = inspect.signature(_write_init(self._record))
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def _record(cls: type) -> type:
    """The class with slots for its fields and with the methods that it does not bring."""
    if cls.__bases__ != (object,):
        raise TypeError(f"{cls.__name__} has a base")
    brought = vars(cls)
    cls.__doc__ = cls.__doc__ or cls.__name__  # else a signature would be made for it
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    made.__init__ = _first_init(made)
    made.__signature__ = _Signature(made)
    compared = [each.name for each in dataclasses.fields(made) if each.compare]
    made._compared = attrgetter(*compared, compared[0])  # of one name it would give no tuple
    made.__repr__ = brought.get("__repr__", _repr)
    made.__eq__ = brought.get("__eq__", _eq)
    made.__hash__ = brought.get("__hash__")
    params = made.__dataclass_params__
    params.init = params.repr = params.eq = True
    return made  # type: ignore[no-any-return]


def _frozen(cls: type) -> type:
    made: Any = _record(cls)
    made.__hash__ = made.__hash__ or _hash
    made.__setattr__, made.__delattr__ = _refuse_change, _refuse_change
    made.__getstate__, made.__setstate__ = _state, _restore
    made.__dataclass_params__.frozen = True
    return made  # type: ignore[no-any-return]


def _first_init(cls: type) -> Callable[..., None]:
    """The `__init__` that a class has until it is called for the first time."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        _write_init(cls)(self, *args, **kwargs)

    return init


def _write_init(cls: Any) -> Callable[..., None]:
    """Give a class its own `__init__`: an argument for each field, put into the field's slot."""
    names: dict[str, Any] = {"_made": _MADE}
    arguments, lines = ["self"], []
    for each in dataclasses.fields(cls):
        name, argument, value = each.name, each.name, each.name
        if each.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = each.default
            argument += f"=_default_{name}"
        elif each.default_factory is not dataclasses.MISSING:
            names[f"_default_{name}"] = each.default_factory
            argument += "=_made"
            value = f"_default_{name}() if {name} is _made else {name}"
        names[f"_set_{name}"] = getattr(cls, name).__set__
        arguments.append(argument)
        lines.append(f"\n    _set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("\n    self.__post_init__()")
    # As in the standard library its globals are the module's, where those who read its annotations look names up.
    written: dict[str, Any] = {}
    text = f"def __init__({', '.join(arguments)}):{''.join(lines)}".replace("\n", "\n ")
    text = f"def make({', '.join(names)}):\n {text}\n return __init__"
    exec(text, vars(sys.modules[cls.__module__]), written)  # noqa: S102 # field names alone
    init: Callable[..., None] = written["make"](**names)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {each.name: each.type for each in dataclasses.fields(cls)} | {"return": None}
    cls.__init__ = init
    return init


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: Any) -> Any:
    return (
        self._compared(self) == self._compared(other) if other.__class__ is self.__class__ else NotImplemented
    )


def _hash(self: Any) -> int:
    return hash(self._compared(self))


def _refuse_change(self: object, name: str, *value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
