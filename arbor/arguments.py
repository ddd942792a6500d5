"""Checks what the methods of a desk are called with, by their own annotations, before anything is done.

Nothing else would notice a wrong type in time: a string is a sequence of one-letter paths, and a wrong author
would be found by whoever reads the commit.
"""

from __future__ import annotations

import dataclasses
import errno
import inspect
import io
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path, PurePath
from types import FunctionType
from typing import Any, TypeVar

from arbor.errors import ArborError, UsageError, WrongType

StrPath = str | os.PathLike[str]
Paths = StrPath | Sequence[StrPath]
"""One path or several, as texts or path objects; a method gets a list of texts."""
Progress = Callable[[int, int], None]
"""Is called with (done, in all)."""

OPTIONS = ("CloneOptions", "Comparing", "ConnectOptions", "Criteria", "FetchOptions", "Limits", "PushRequest")
"""Classes of frozen values that say how something is to be done."""

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

    A path object may stand for text, and one text for a sequence of one, as in `kb.add("notes")`. Values of arbor's own
    classes are told by the name of the class, which need not be loaded for that, and are checked field by field.

    Raises:
        WrongType: by the function that is returned, before `function` is called.
        UsageError: by it, when a path is longer than the system takes.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = _signature_of(function).bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            written = function.__annotations__.get(name, "")
            bound.arguments[name] = _checked_value(f"'{name}' of {function.__name__}", written, value)
        try:
            return function(*bound.args, **bound.kwargs)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG or isinstance(error, ArborError):
                raise
            # Every system has its own limits, and says so only when it is asked.
            name = f": '{os.fsdecode(error.filename)}'" if error.filename else ""
            raise UsageError(f"this name is too long for the system{name}") from error

    return call  # type: ignore[return-value]  # it takes and gives the same


@cache
def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _checked_value(what: str, written: str, value: Any) -> Any:
    """A value as its annotation has it; one without a check is given back as it is."""
    kind = written.removesuffix(_OPTIONAL)
    return value if kind not in _CHECKS or (value is None and kind != written) else _CHECKS[kind](what, value)


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


def lasting_path(fs_path: StrPath | None) -> Path | None:
    """A path on disk that means the same when the program has gone to another folder."""
    return None if fs_path is None else Path(fs_path).absolute()


def _text_tuple(what: str, value: Any) -> tuple[str, ...]:
    return tuple(_texts(what, value))


def _text_pair(what: str, value: Any) -> tuple[str, str]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise _wrong(what, "two texts", value)
    return _text(what, value[0]), _text(what, value[1])


def _text_set(what: str, value: Any) -> frozenset[str]:
    return frozenset(_texts(what, value))


def _texts_by_name(what: str, value: Any) -> dict[str, str]:
    if isinstance(value, Mapping):
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
    if not isinstance(value, (str, os.PathLike)) or isinstance(os.fspath(value), bytes):
        raise _wrong(what, "a path", value)
    try:
        if b"\0" not in os.fsencode(value):
            return value
    except UnicodeEncodeError:
        pass
    raise WrongType(f"{what} must be a path, and this text can be none: {os.fspath(value)!r}")


def _file_path(what: str, value: Any) -> Path:
    return Path(_path(what, value))


def _paths(what: str, value: Any) -> list[Path]:
    if isinstance(value, (str, os.PathLike)):
        return [_file_path(what, value)]
    return [_file_path(f"each of {what}", each) for each in _many(what, "a list of paths", value)]


def _many(what: str, wanted: str, value: Any) -> list[Any]:
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, dict)):
        return list(value)
    raise _wrong(what, wanted, value)


def _rows(wanted: str, *checks: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """Checks a sequence of tuples whose items are checked one by one."""

    def check(what: str, value: Any) -> list[tuple[Any, ...]]:
        rows = _many(what, f"a list of tuples ({wanted})", value)
        for row in rows:
            if not isinstance(row, tuple) or len(row) != len(checks):
                raise _wrong(f"each of {what}", f"a tuple ({wanted})", row)
        names = [f"'{name}' in {what}" for name in wanted.split(", ")]
        return [
            tuple(check(name, item) for name, check, item in zip(names, checks, row, strict=True))
            for row in rows
        ]

    return check


def _line(what: str, value: Any) -> int | None:
    return None if value is None else _whole_number(what, value)


def _called(what: str, value: Any) -> Any:
    if callable(value):
        return value
    raise _wrong(what, "something that can be called", value)


def _binary_file(what: str, value: Any) -> Any:
    if callable(getattr(value, "write", None)) and not isinstance(value, io.TextIOBase):
        return value
    raise _wrong(what, "a file opened for writing bytes", value)


def _source(what: str, value: Any) -> Any:
    if isinstance(getattr(value, "name", None), str) and callable(getattr(value, "find", None)):
        return value
    raise _wrong(what, "a source of documents' bytes", value)


def _sources(what: str, value: Any) -> list[Any]:
    return [_source(f"each of {what}", each) for each in _many(what, "a list of sources", value)]


def _one_of(name: str) -> Callable[[str, Any], Any]:
    """Checks a frozen value of arbor's own by its class's name, and then its fields by their annotations."""

    def check(what: str, value: Any) -> Any:
        if not any(kind.__name__ == name for kind in type(value).__mro__):
            raise _wrong(what, f"of class {name}", value)
        fields = {
            each.name: _checked_value(f"'{each.name}' in {what}", str(each.type), getattr(value, each.name))
            for each in dataclasses.fields(value)
        }
        return dataclasses.replace(value, **fields)

    return check


def _wrong(what: str, wanted: str, value: object) -> WrongType:
    given = f"the number {value}" if isinstance(value, float) else type(value).__name__
    return WrongType(f"{what} must be {wanted}, not {given}")


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "str": _text,
    "Sequence[str]": _texts,
    "Iterable[str]": _texts,
    "Paths": _texts,
    "dict[str, str]": _texts_by_name,
    "Mapping[str, str]": _texts_by_name,
    "int": _whole_number,
    "float": _number,
    "bool": _yes_or_no,
    "bytes": _bytes,
    "StrPath": _path,
    "Path": _file_path,
    "Sequence[StrPath]": _paths,
    "BinaryIO": _binary_file,
    "Sequence[ByteSource]": _sources,
    "tuple[str, ...]": _text_tuple,
    "tuple[str, str]": _text_pair,
    "frozenset[str]": _text_set,
    "Sequence[tuple[str, bytes]]": _rows("path, oid", _text, _bytes),
    "Sequence[tuple[StrPath, int | None, int | None]]": _rows(
        "path, first line, last line", _text, _line, _line
    ),
    **dict.fromkeys(
        (
            "Progress",
            "Told",
            "TransferProgress",
            "receiving.TransferProgress",
            "Fetch",
            "Callable[[str], None]",
        ),
        _called,
    ),
    **{name: _one_of(name) for name in OPTIONS},
}
