"""TOML that anybody may have written, read within bounds.

A note's front matter and `arbor.toml` come along with a clone. The parser of the standard library takes memory and time
that grow with the square of the parts of a dotted key: 40 KB of `a.b.b.b…` came to 1.6 GB.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

from arbor.lazy import lazy_pattern

_PARTS_MAX = 64
_TEXTS_AND_COMMENTS = lazy_pattern(
    r'"""(?:[^\\]|\\.)*?(?:"""|\\?\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*(?:"|(?=\n)|\\?\Z)'
    r"|'[^'\n]*+(?:'|(?=\n)|\Z)"
    r"|#[^\n]*+",
    re.DOTALL,
)
"""Each ends where its line or the text ends, if not before: the parser goes no further than there."""
_PART = r'(?:[A-Za-z0-9_-]++|"")'
_LONG_KEY = lazy_pattern(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_PARTS_MAX}}}")


def parse_toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The table that a text describes.

    Args:
        text: TOML.
        parse_float: Makes a value of a number with a fraction.

    Raises:
        ValueError: when it is not TOML, or a key has more than 64 parts.
        RecursionError: when values are nested too deeply.
    """
    if text.count(".") >= _PARTS_MAX and _LONG_KEY.search(_TEXTS_AND_COMMENTS.sub(_leave_quotes, text)):
        raise ValueError(f"a key has more than {_PARTS_MAX} parts")
    return tomllib.loads(text, parse_float=parse_float)


def _leave_quotes(found: re.Match[str]) -> str:
    return "" if found[0].startswith("#") else '""'
