"""Checks what the methods of a desk are called with, by their own annotations, before anything is done.

Nothing else would notice a wrong type in time: a string is a sequence of one-letter paths, and a wrong author
would be found by whoever reads the commit.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from pathlib import Path, PurePath
from types import FunctionType
from typing import Any, TypeVar

from arbor.errors import WrongType

StrPath = str | os.PathLike[str]
Paths = StrPath | Sequence[StrPath]
"""One path or several, as texts or path objects; a method gets a list of texts."""
Progress = Callable[[int, int], None]
"""Is called with (done, in all)."""

Desk = TypeVar("Desk", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONAL = " | None"


def checked_desk(desk: Desk) -> Desk:
    """Check the arguments of all public methods of a class."""
    for name, method in list(vars(desk).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(desk, name, checked(method))
    return desk


def checked(function: Function) -> Function:
    """Check the arguments of a function by its annotations, as they are written.

    Text, numbers, bytes, yes-or-no values and sequences of text are checked; other annotations are not. A path object
    may stand for text, and one text for a sequence of one, as in `kb.add("notes")`.

    Raises:
        WrongType: by the function that is returned, before `function` is called.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = _signature_of(function).bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            written = function.__annotations__.get(name, "")
            kind = written.removesuffix(_OPTIONAL)
            if kind in _CHECKS and not (value is None and kind != written):
                bound.arguments[name] = _CHECKS[kind](f"'{name}' of {function.__name__}", value)
        return function(*bound.args, **bound.kwargs)

    return call  # type: ignore[return-value]  # it takes and gives the same


@cache
def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _text(what: str, value: Any) -> str:
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return value
    raise _wrong(what, "text", value)


def _texts(what: str, value: Any) -> list[str]:
    if isinstance(value, (str, os.PathLike)):
        return [_text(what, value)]
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [_text(f"each of {what}", each) for each in value]
    raise _wrong(what, "a list of texts", value)


def text_of(path: StrPath) -> str:
    """The KB path as text, "" for the top: a path object can only say `.` for it; raises WrongType for what is none."""
    text = _text("a path", path)
    return "" if text == os.curdir else text


def texts_of(paths: Paths) -> list[str]:
    """The KB paths as texts; see `text_of`."""
    return [text_of(path) for path in _texts("a path", paths)]


def _texts_by_name(what: str, value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {
            _text(f"each name of {what}", name): _text(f"each value of {what}", each)
            for name, each in value.items()
        }
    raise _wrong(what, "a dictionary of texts", value)


def _whole_number(what: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise _wrong(what, "a whole number", value)


def _number(what: str, value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise _wrong(what, "a finite number", value)


def _yes_or_no(what: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong(what, "True or False", value)


def _bytes(what: str, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise _wrong(what, "bytes", value)


def _path(what: str, value: Any) -> Any:
    if isinstance(value, (str, os.PathLike)):
        return value
    raise _wrong(what, "a path", value)


def _file_path(what: str, value: Any) -> Path:
    return Path(_path(what, value))


def _wrong(what: str, wanted: str, value: object) -> WrongType:
    given = f"the number {value}" if isinstance(value, float) else type(value).__name__
    return WrongType(f"{what} must be {wanted}, not {given}")


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "str": _text,
    "Sequence[str]": _texts,
    "Iterable[str]": _texts,
    "Paths": _texts,
    "dict[str, str]": _texts_by_name,
    "int": _whole_number,
    "float": _number,
    "bool": _yes_or_no,
    "bytes": _bytes,
    "StrPath": _path,
    "Path": _file_path,
}
