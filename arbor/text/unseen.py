"""Stretches of Markdown that a reader sees as code or not at all: indented code, and Obsidian's `%%comments%%`.

They are blanked out before links are looked for. Lists and footnotes hold indented paragraphs, too, so what is indented
counts as code only where the lines above show that none of them is open: a link lost weighs more than one too many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLANK = bytes(10 if value == 10 else 32 for value in range(256))
"""Turns everything but line ends into spaces."""

_LINKISH = re.compile(rb"[\[\]]|http|href")
_LINKISH_INDENTED = re.compile(rb"\n(?: {4}| {0,3}+\t)[^\n]*?(?:\[|http|href)")
_INDENTED = re.compile(rb"\n(?: {4}| {0,3}+\t)[^\n]*+(?:\n(?:[ \t\r]*\n)*(?: {4}| {0,3}\t)[^\n]*+)*")
"""Indented lines and the line end before them; what begins with a literal is found several times faster."""

_HOLDS_PARAGRAPHS = re.compile(
    rb" {0,3}+(?:[-*+](?:[ \t]|\r?\Z)|\d{1,9}[.)](?:[ \t]|\r?\Z)|\[\^[^\]]++\]:|:[ \t]|!!!|\?\?\?)"
)
"""A line that begins an item of a list, a footnote, a definition or an admonition."""

_SIGN = re.compile(rb"%%|`")
_SIGN_BEHIND_BACKTICK = re.compile(rb"`[^\n`%]*+(?:%(?!%)[^\n`%]*+)*%%")

_LINES_LOOKED_BACK = 200
_SIGNS_LOOKED_AT = 100


def blank_unseen(text: bytes) -> bytes:
    """Put spaces in place of what shows no links; every line end and every other byte keeps its place.

    Args:
        text: Markdown with fenced code blanked out; begins with a line end.
    """
    if b"%%" in text:
        text = _blank_comments(text)
    if (b"\n    " in text or b"\t" in text) and _LINKISH_INDENTED.search(text):
        text = _blank_indented_code(text)
    return text


def _blank_comments(text: bytes) -> bytes:
    """Blank what is between `%%` and the next `%%`; within inline code these signs are none."""
    if b"`" in text and _has_sign_in_code(text):
        return _blank_comments_beside_code(text)
    parts = text.split(b"%%")
    for number in range(1, len(parts) - 1, 2):  # what a last sign without another begins is no comment
        parts[number] = _blanked(parts[number])
    return b"%%".join(parts)


def _has_sign_in_code(text: bytes) -> bool:
    """Whether a `%%` has an odd number of backticks before it on its line; True also where that takes long to tell."""
    for number, match in enumerate(_SIGN_BEHIND_BACKTICK.finditer(text)):
        begin = text.rfind(b"\n", 0, match.start()) + 1
        if number > _SIGNS_LOOKED_AT or text.count(b"`", begin, match.end()) & 1:
            return True
    return False


def _blank_comments_beside_code(text: bytes) -> bytes:
    pieces: list[bytes] = []
    done, begin = 0, -1
    for sign in _iter_signs(text):
        if begin < 0:
            begin = sign + 2
            continue
        pieces += text[done:begin], _blanked(text[begin:sign])
        done, begin = sign, -1
    pieces.append(text[done:])
    return b"".join(pieces)


def _blanked(comment: bytes) -> bytes:
    """The inside of a comment in blanks. Its lines begin with none: what follows it would look like indented code."""
    return comment.translate(_BLANK).replace(b"\n ", b"\n%")


def _iter_signs(text: bytes) -> Iterator[int]:
    """Where each `%%` outside of inline code stands; each line that holds one is gone through once."""
    place = text.find(b"%%")
    while place >= 0:
        begin = text.rfind(b"\n", 0, place) + 1
        end = text.find(b"\n", place)
        end = end if end >= 0 else len(text)
        is_code = False
        for match in _SIGN.finditer(text, begin, end):
            if match[0] == b"`":
                is_code = not is_code
            elif not is_code:
                yield match.start()
        place = text.find(b"%%", end)


def _blank_indented_code(text: bytes) -> bytes:
    pieces: list[bytes] = []
    done = 0
    for match in _INDENTED.finditer(text):
        start = match.start() + 1
        if _LINKISH.search(match[0]) and _is_code(text, start):
            pieces += text[done:start], text[start : match.end()].translate(_BLANK)
            done = match.end()
    pieces.append(text[done:])
    return b"".join(pieces) if done else text


def _is_code(text: bytes, start: int) -> bool:
    """Whether indented lines from `start` on are code, by the lines above them."""
    above = _line_before(text, start)
    if above is None:
        return True
    line, begin = above
    if line.strip() and not line.startswith(b"#"):
        return False  # code cannot interrupt a paragraph
    for _ in range(_LINES_LOOKED_BACK):
        if _HOLDS_PARAGRAPHS.match(line):
            return False
        above = _line_before(text, begin)
        is_flush = bool(line.strip()) and line[:1] not in b" \t"
        if above is None or line.startswith(b"#") or (is_flush and not above[0].strip()):
            return True  # a paragraph of its own: whatever list was open ends before it
        line, begin = above
    return False


def _line_before(text: bytes, start: int) -> tuple[bytes, int] | None:
    """The line that ends before `start`, and where it begins; None at the head of the text."""
    if start <= 1:
        return None
    begin = text.rfind(b"\n", 0, start - 1) + 1
    return text[begin : start - 1], begin
