"""Text from documents and file names, made safe to show and measured in terminal cells.

A terminal obeys control characters. What comes from a document, a file name or another KB could hold some, so
human output replaces them by visible signs. Bidirectional controls can make text read otherwise than it is
stored (Boucher and Anderson, Trojan Source, 2021), so they are made visible as well. Signs that nobody sees make
two names look alike, so they are made visible in names; in the words of a document they stay, since Thai and Khmer
are broken at them and web pages are full of soft hyphens.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from arbor.cli.unseen import UNSEEN, is_seen
from arbor.lazy import lazy_module, lazy_pattern

if TYPE_CHECKING:
    import json
else:
    json = lazy_module("json")

ELLIPSIS = "…"
_BIDI = "\u202a-\u202e\u2066-\u2069"
_UNSAFE = lazy_pattern(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\ud800-\udfff]")
_UNSAFE_IN_LINE = lazy_pattern(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]")
_UNSAFE_IN_JSON = lazy_pattern(f"[\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff{UNSEEN}]")
_NEEDS_QUOTES = lazy_pattern(f'[\x00-\x1f"\\\\\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]')
_UNSEEN = lazy_pattern(f"[{UNSEEN}]")
_PLAIN_WORD = lazy_pattern(r"[\w@%+=:,./-]+")
_C_ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
_SPACES = lazy_pattern(r"\s+")
_JOINING_JAMO = lazy_pattern("[\u1160-\u11ff\ud7b0-\ud7ff]")
"""Vowels and finals of hangul that is spelled out, which are drawn into the cells of the consonant before."""

_BEGINS_NO_LINE = frozenset(
    "、。，．：；？！）」』】》〉〕］｝’”…‥・ーゝゞヽヾ々ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ｡､｣),.:;?!"
)
_ENDS_NO_LINE = frozenset("（「『【《〈〔［｛‘“｢(")
"""Source: JIS X 4051, line-start and line-end prohibition; GB/T 15834 has the same marks."""

_JOINER = "\u200d"


def clean(text: str) -> str:
    """Text of several lines with every control character but newline and tab made visible."""
    return _UNSAFE.sub(_visible, text)


def clean_line(text: str) -> str:
    """A name or a message for one line: as `clean_words`, with the signs made visible that nobody sees."""
    return _UNSEEN.sub(_unless_seen(_visible), clean_words(text))


def clean_words(text: str) -> str:
    """A document's words for one line: line ends and tabs become single spaces, control characters visible signs."""
    if "\n" in text or "\t" in text or "\r" in text:
        text = _SPACES.sub(" ", text)
    return _UNSAFE_IN_LINE.sub(_visible, text)


def escape_json(text: str) -> str:
    """JSON text with the characters escaped that a terminal obeys and JSON does not escape by itself.

    What is no character at all, such as a byte of a file name that is not Unicode, becomes a visible sign: strict
    readers refuse a whole text for one half of a surrogate pair (RFC 8259, section 8.2).
    """
    return _UNSAFE_IN_JSON.sub(_unless_seen(_escaped), text)


def _unless_seen(change: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
    """The change of a sign found, which leaves what is a part of something seen."""
    return lambda found: found[0] if is_seen(found.string, found.start()) else change(found)


def _escaped(found: re.Match[str]) -> str:
    if "\ud800" <= found[0] <= "\udfff":
        return _visible(found).replace("\\", "\\\\")
    return json.dumps(found[0])[1:-1] if found[0] > "\x7f" else "\\u007f"


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"<U+{code:04X}>"


def quote_path(path: str, *, spaces: bool = False) -> str:
    """A path as git shows it: in double quotes with C escapes where it holds anything odd, else as it is.

    Args:
        path: A KB path or a name from disk, bytes that are no UTF-8 as `os.fsdecode` gives them.
        spaces: Quote paths with spaces too, for formats in which a space separates.
    """
    quoted = _UNSEEN.sub(_unless_seen(_quoted), _NEEDS_QUOTES.sub(_quoted, path))
    return f'"{quoted}"' if quoted != path or (spaces and " " in path) else path


def _quoted(found: re.Match[str]) -> str:
    char, code = found[0], ord(found[0])
    if code in _C_ESCAPES:
        return _C_ESCAPES[code]
    errors = "surrogateescape" if 0xDC80 <= code <= 0xDCFF else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", errors))


def typed_path(path: str) -> str:
    """A path as it is typed in a shell, for hints: in single quotes where the shell would read it otherwise.

    A leading dash would begin an option, so such a path starts from the folder.
    """
    if path.startswith("-"):
        path = f"./{path}"
    return path if _PLAIN_WORD.fullmatch(path) else "'" + path.replace("'", "'\\''") + "'"


def cell_width(text: str) -> int:
    """Terminal cells that a clean line takes: wide East Asian characters take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or _JOINING_JAMO.match(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def truncate(text: str, cells: int) -> str:
    """The beginning of a clean line that fits, with an ellipsis where something was cut."""
    if cell_width(text) <= cells:
        return text
    return _fitting(text, cells - 1) + ELLIPSIS if cells > 0 else ""


def truncate_left(text: str, cells: int) -> str:
    """The end of a clean line that fits, an ellipsis before it where something was cut: for paths."""
    if cell_width(text) <= cells:
        return text
    if cells <= 0:
        return ""
    start = len(text) - len(_fitting(text[::-1], cells - 1))
    while start < len(text) and not _cells(text[start]):  # a sign of the character that was cut off
        start += 1
    return ELLIPSIS + text[start:]


def _fitting(text: str, cells: int) -> str:
    used = 0
    for position, char in enumerate(text):
        used += _cells(char)
        if used > cells:
            return text[:position]
    return text


def pad(text: str, cells: int) -> str:
    """The text with spaces up to a width."""
    return text + " " * (cells - cell_width(text))


def wrap(text: str, cells: int) -> Iterator[tuple[int, int]]:
    """Where the lines of a clean text lie when it is broken to a width: (start, end) in characters.

    Lines break at spaces and beside wide characters, and inside a word only when it is wider than a line. No closing
    bracket, full stop or small kana begins a line where another break can be had, and no opening bracket ends one.
    """
    start = used = 0
    last_break = 0
    position = 0
    while position < len(text):
        width = _cells(text[position])
        if text[position] == " " or (width == 2 and position > start and _may_break(text, position)):
            last_break = position
        if used + width > cells and text[position] != " " and position > start:
            end = last_break if last_break > start else position
            yield start, end
            start = end
            while start < len(text) and text[start] == " ":
                start += 1
            position, used, last_break = start, 0, start
            continue
        used += width
        position += 1
        if width == 2 and _may_break(text, position):
            last_break = position
    if start < len(text):
        yield start, len(text)


def _may_break(text: str, position: int) -> bool:
    """Whether a line may end here, beside a wide character."""
    if position == len(text):
        return True
    before, after = text[position - 1], text[position]
    if before == _JOINER or not _cells(after):
        return False
    return after not in _BEGINS_NO_LINE and before not in _ENDS_NO_LINE


def columns(rows: Sequence[Sequence[str]], *, widest: int = 1000) -> Iterator[list[str]]:
    """The cells of a table padded to the width of their columns, the last one excepted.

    Args:
        rows: Clean texts, the same number in each row.
        widest: Texts that take more cells do not widen their column; what follows them in their row is moved.
    """
    widths = [_column_width(column, widest) for column in zip(*rows, strict=True)]
    for row in rows:
        filled = [pad(cell, width) + "  " for cell, width in zip(row[:-1], widths, strict=False)]
        yield [*filled, row[-1]]


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table of clean texts, line by line."""
    return ("".join(cells).rstrip() for cells in columns(rows))


def _column_width(column: Iterable[str], widest: int) -> int:
    return max((cells for cells in map(cell_width, column) if cells <= widest), default=0)
