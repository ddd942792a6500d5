"""The canonical encoding: MessagePack with one encoding for each value.

Shortest forms, sorted map keys, no floats, no extension types, bounded depth and length. A foreign object is
decoded within the bounds, encoded again and compared, so that no second encoding of a value is ever accepted.
Source: the MessagePack specification; the bounds are arbor's own.
"""

from __future__ import annotations

from typing import Any

import msgpack

from arbor.errors import IntegrityError, UsageError

MAX_OBJECT_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 24
MAX_ITEMS = 4_000_000
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1

Value = Any  # None | bool | int | str | bytes | sequence of Value | dict[str, Value]


def encode(value: Value) -> bytes:
    """The canonical bytes of a value whose maps are sorted already (see `canonical`).

    Raises:
        UsageError: when they would be larger than any reader takes, or a text in it is not Unicode.
    """
    try:
        packed: bytes = msgpack.packb(value, use_bin_type=True)
    except UnicodeEncodeError as error:
        check_unicode(error.object)
        raise
    if len(packed) > MAX_OBJECT_BYTES:
        raise UsageError(
            f"what describes it needs {len(packed):,} bytes, over the limit of {MAX_OBJECT_BYTES:,}"
        )
    return packed


def check_unicode(text: str, what: str = "the text") -> str:
    """A text that can be kept; `what` it is, for the error.

    Raises:
        UsageError: when it holds half of a surrogate pair, as which Python hands on a byte that is not UTF-8.
    """
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        shown = text[:60].encode("ascii", "backslashreplace").decode()
        raise UsageError(f"{what} '{shown}' is not valid Unicode", "type it in UTF-8")
    return text


def canonical(value: Value, depth: int = 0) -> Value:
    """The value with every map sorted by key, checked against the bounds.

    Raises:
        IntegrityError: for floats, non-string keys, lone surrogates, integers beyond 64 bits or too deep nesting.
    """
    if depth > MAX_DEPTH:
        raise IntegrityError(f"a value is nested deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, (bool, bytes)):
        return value
    if isinstance(value, int):
        if not _INT_MIN <= value <= _INT_MAX:
            raise IntegrityError("an integer does not fit 64 bits")
        return value
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise IntegrityError("a string holds a lone surrogate")
        return value
    if isinstance(value, (list, tuple)):
        return [canonical(item, depth + 1) for item in value]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise IntegrityError("a map has a key that is not a string")
        return {canonical(key): canonical(value[key], depth + 1) for key in sorted(value)}
    raise IntegrityError(f"a value of type {type(value).__name__} has no canonical encoding")


def decode(data: bytes, *, trusted: bool = False) -> Value:
    """The value of canonical bytes.

    Args:
        data: The encoding, at most `MAX_OBJECT_BYTES` long.
        trusted: Skip the comparison with a second encoding: for bytes this KB wrote and whose hash was just checked.

    Raises:
        IntegrityError: when the bytes are not the canonical encoding of a value within the bounds.
    """
    if len(data) > MAX_OBJECT_BYTES:
        raise IntegrityError(f"an encoded object is larger than {MAX_OBJECT_BYTES} bytes")
    limit = min(len(data), MAX_ITEMS)
    try:
        value = msgpack.unpackb(
            data,
            raw=False,
            strict_map_key=True,
            use_list=True,
            object_pairs_hook=None if trusted else _checked_map,
            max_array_len=limit,
            max_map_len=limit,
            max_str_len=len(data),
            max_bin_len=len(data),
            max_ext_len=0,
            ext_hook=_refuse_extension,
        )
        same = trusted or encode(value) == data
    except IntegrityError:
        raise
    except (ValueError, msgpack.UnpackException, RecursionError, MemoryError, TypeError) as error:
        raise IntegrityError(f"an object does not decode: {type(error).__name__}") from error
    if not same:
        raise IntegrityError("an object is not in its canonical encoding")
    return value


def _refuse_extension(code: int, data: bytes) -> Value:
    """An extension of no bytes passes the limit on their length."""
    raise ValueError(f"extension {code} of {len(data)} bytes")


def _checked_map(pairs: list[tuple[Any, Value]]) -> dict[str, Value]:
    """A map whose keys ascend and whose values are canonical; everything outside of maps is typed by the model."""
    keys = [key for key, _ in pairs]
    value = dict(pairs)
    if not all(isinstance(key, str) for key in keys) or keys != sorted(value):
        raise ValueError("the keys of a map are not strings in strictly ascending order")
    canonical(value)
    return value
