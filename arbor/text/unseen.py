"""Stretches of Markdown that show no links: inline and indented code, comments (`<!-- -->`, `%% %%`), escaped signs.

They are blanked out, or their signs are hidden, before links are looked for, so that every byte keeps its place. Lists
and footnotes hold indented paragraphs, too, so what is indented counts as code only where the lines above show that
none of them is open: a link lost weighs more than one too many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLANK = bytes(10 if value == 10 else 32 for value in range(256))
"""Turns everything but line ends into spaces."""

LINKISH = re.compile(rb"[\[\]]|http|href")
"""What every link has something of."""

_LINKISH_INDENTED = re.compile(rb"\n(?: {4}| {0,3}+\t)[^\n]*?(?:\[|http|href)")
_INDENTED = re.compile(rb"\n(?: {4}| {0,3}+\t)[^\n]*+(?:\n(?:[ \t\r]*\n)*(?: {4}| {0,3}\t)[^\n]*+)*")
"""Indented lines and the line end before them; what begins with a literal is found several times faster."""

_HOLDS_PARAGRAPHS = re.compile(
    rb" {0,3}+(?:[-*+](?:[ \t]|\r?\Z)|\d{1,9}[.)](?:[ \t]|\r?\Z)|\[\^[^\]]++\]:|:[ \t]|!!!|\?\?\?)"
)
"""A line that begins an item of a list, a footnote, a definition or an admonition."""

_SIGN = re.compile(rb"%%|`")
_SIGN_BEHIND_BACKTICK = re.compile(rb"`[^\n`%]*+(?:%(?!%)[^\n`%]*+)*%%")

# The signs of links, and bytes that no UTF-8 has, as which they are hidden.
_SPECIAL = b"[]()<>`:|#!\\"
_HIDDEN = b"\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff\xc1"
_HIDE = bytes.maketrans(_SPECIAL, _HIDDEN)
_SHOW = bytes.maketrans(_HIDDEN, _SPECIAL)
_ESCAPE = re.compile(rb"\\(?=[\xf5-\xff\xc1])")
_BACKTICKS = re.compile(rb"``*+")
_COMMENT = re.compile(rb"<!--")
_LITERAL = re.compile(rb"`++|<!--|\\[\[\]()<>`:#!\\]")
PARAGRAPH_END = re.compile(rb"\n[ \t\r]*+(?:\n|#{1,6}[ \t]|(?:[-*+]|\d{1,9}[.)])[ \t])")

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
        if LINKISH.search(match[0]) and _is_code(text, start):
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


def hide_literals(text: bytes) -> bytes:
    """Hide what only looks like a link: code spans, HTML comments and escaped signs; every byte keeps its place."""
    if b"\\" in text:
        return _hide_each(text)
    if b"<!--" in text:
        without = _blank_html_comments(text)
        if without is None:
            return _hide_each(text)
        text = without
    if b"`" not in text:
        return text
    parts = text.split(b"`")
    code = b"".join(parts[1::2])
    if len(parts) & 1 and b"\n" not in code and b"" not in parts[1:-1] and not LINKISH.search(code):
        return text
    return _hide_each(text)


def _blank_html_comments(text: bytes) -> bytes | None:
    """Blank comments out; None where it takes a closer look to tell comments from inline code."""
    pieces = []
    done = 0
    start = text.find(b"<!--")
    while start >= 0:
        end = text.find(b"-->", start + 4)
        if end < 0:
            break
        comment = text[start : end + 3]
        if b"`" in comment or text.count(b"`", done, start) & 1:
            return None
        pieces.append(text[done:start])
        pieces.append(comment.translate(_BLANK))
        done = end + 3
        start = text.find(b"<!--", done)
    pieces.append(text[done:])
    return b"".join(pieces)


def _hide_each(text: bytes) -> bytes:
    """Hide the code spans, comments and escapes one by one."""
    pieces: list[bytes] = []
    done = 0
    for start, end in _iter_literals(text):
        literal = text[start:end]
        if literal[:1] == b"<":
            hidden = literal.translate(_BLANK)
        elif literal[:1] == b"\\":
            hidden = b"\\" + literal[1:].translate(_HIDE)
        elif LINKISH.search(literal):
            hidden = literal.translate(_HIDE)
        else:
            continue
        pieces += text[done:start], hidden
        done = end
    pieces.append(text[done:])
    return b"".join(pieces)


def _find_tokens(text: bytes) -> list[tuple[int, int]]:
    """The runs of backticks, openings of comments and escaped characters, none in another."""
    if b"\\" in text:
        return [match.span() for match in _LITERAL.finditer(text)]
    tokens = [match.span() for match in _BACKTICKS.finditer(text)]
    comments = [match.span() for match in _COMMENT.finditer(text)]
    return sorted(tokens + comments) if comments else tokens


def _iter_literals(text: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of each code span, comment and escaped character, whichever begins first."""
    tokens = _find_tokens(text)
    next_runs = _find_next_runs(text, tokens)
    resume = 0  # tokens before this position lie inside code or a comment
    blank = -1
    last_comment_end = text.rfind(b"-->")
    for number, (start, end) in enumerate(tokens):
        if start < resume:
            continue
        first = text[start : start + 1]
        if first == b"`":
            closer = next_runs[number]
            if closer < 0:
                continue
            if blank < start:
                found = PARAGRAPH_END.search(text, start)
                blank = found.start() if found else len(text)
            if blank < closer:
                continue
            resume = closer + end - start
        elif first == b"<":
            if start + 4 > last_comment_end:
                continue
            resume = text.find(b"-->", start + 4) + 3
        else:
            resume = end
        yield start, resume


def _find_next_runs(text: bytes, tokens: list[tuple[int, int]]) -> list[int]:
    """For each run of backticks, where the next run of the same length starts; -1 when there is none.

    Inside code a backslash is only a backslash, so a run behind one opens nothing but can close.
    """
    starts = [-1] * len(tokens)
    next_runs: dict[int, int] = {}
    for number in range(len(tokens) - 1, -1, -1):
        start, end = tokens[number]
        if text[start : start + 1] == b"`":
            starts[number] = next_runs.get(end - start, -1)
            if not (number and tokens[number - 1][1] == start and text[start - 1 : start] == b"`"):
                next_runs[end - start] = start
        elif text[start : start + 2] == b"\\`":
            rest = tokens[number + 1] if number + 1 < len(tokens) else (0, 0)
            length = 1 + (rest[1] - rest[0] if rest[0] == end and text[end : end + 1] == b"`" else 0)
            next_runs[length] = start + 1
    return starts


def show_hidden(piece: bytes) -> str:
    """Searched text as its writer meant it: escapes resolved, and what was hidden shown again."""
    return _ESCAPE.sub(b"", piece).translate(_SHOW).decode("utf-8", "replace")
