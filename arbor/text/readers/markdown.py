"""Markdown: headings, fenced code, comments, front matter and links, as CommonMark and Obsidian write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from arbor.text.chunker import HEADING_BYTES_MAX, Block, Mark, Structure, cut_buffer
from arbor.text.extraction import ChunkPolicy, FrontValue, Link
from arbor.text.front_matter import FRONT_MATTER_OPENERS, find_title, read_front_matter
from arbor.text.links import find_front_matter_links, find_links
from arbor.text.readers.reading_result import Reading

EXTRACTOR_ID = "markdown/1"

_HEADING = rb"(#{1,6})(?:[ \t]([^\n]{0,%d})|(?=\r?\n)|\Z)" % HEADING_BYTES_MAX
_ATX_HEADING = re.compile(rb"\n {0,3}+" + _HEADING)
_DASHES = re.compile(rb"\n---*+[ \t]*+\r?(?=\n|\Z)")
_EQUALS = re.compile(rb"\n==*+[ \t]*+\r?(?=\n|\Z)")
_NOT_A_PARAGRAPH = re.compile(rb"[ \t]*+(?:[#>|<`~=-]|[*+][ \t]|\d{1,9}[.)][ \t]|\r?\Z)|    |\t")
_BLOCK_OPENER = re.compile(
    rb"\n(?:[ \t>]{0,64}+(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,16}+)?+"
    rb"(?:(`{3,}+)[^`\n]{0,300}+|(~{3,}+)[^\n]{0,300}+)(?=\n|\Z)| {0,3}+(<!--))"
)
_FENCE = re.compile(rb"\n[ \t>]{0,64}+(`{3,}+|~{3,}+)[ \t]*+\r?(?=\n|\Z)")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_MARKUP = re.compile(
    r"!?\[([^\[\]]*+)\]\([^()]*+\)|!?\[\[(?:[^\[\]|]*+\|)?+([^\[\]|]*+)\]\]|</?[A-Za-z][^<>]*+>|[*_]{2,}+|`++|\\(?=[!-/:-@\[-`{-~])"
)
_NO_BLOCK = Block(1 << 62, 1 << 62, b"")
_new_mark = tuple.__new__
_MARKUP_CHARACTER = re.compile(r"[\[<*_`\\]")


def read(text: bytes, policy: ChunkPolicy) -> Reading:
    """Read a Markdown text.

    Args:
        text: UTF-8, with or without a byte order mark; bytes that are not valid are kept.
        policy: Passage sizes.

    Returns:
        Passages that join to `text`; the title is the front matter's, else the first level 1 heading, else the
        first heading.
    """
    buffer = b"\n" + text
    fields: dict[str, FrontValue] = {}
    warnings: Sequence[str] = ()
    links: list[Link] = []
    body = 1
    if text.startswith(FRONT_MATTER_OPENERS):
        front = read_front_matter(text)
        body += front.size_bytes
        fields, warnings = front.fields, front.warnings
        links += find_front_matter_links(fields, text[: front.size_bytes].decode("utf-8", "replace"))
    structure = find_structure(buffer, body)
    if body > 1:
        structure.blocks.insert(0, Block(1, body, b""))
    passages, _ = cut_buffer(buffer, 1, structure, policy, [], final=True)
    links += find_links(_blank_out(buffer, structure.blocks), 0)
    title = find_title(fields) or _choose_title(structure.marks)
    return Reading(passages, title, fields, links, warnings, EXTRACTOR_ID)


def find_structure(buffer: bytes, start: int, opener: bytes = b"") -> Structure:
    """Find headings, fenced code and comments.

    Args:
        buffer: As the chunker defines it; up to 1 KiB before `start` is looked at.
        start: Where to begin.
        opener: What began the block that is open at `start`; empty when none is.
    """
    blocks = _find_blocks(buffer, start, opener)
    marks = [
        _new_mark(Mark, (match.start() + 1, match.end(), len(match[1]), clean_title(match[2])))
        for match in _ATX_HEADING.finditer(buffer, start - 1)
    ]
    underlined = _find_underlined(buffer, start, b"\n--", _DASHES, 2)
    underlined += _find_underlined(buffer, start, b"\n=", _EQUALS, 1)
    if underlined:
        marks = sorted(marks + underlined)
    if blocks and marks:
        marks = _drop_covered(marks, blocks)
    return Structure(marks, blocks)


@lru_cache(maxsize=1 << 12)
def clean_title(raw: bytes | None) -> str:
    """A heading's text as a person reads it: without closing hashes and inline markup."""
    if not raw:
        return ""
    title = raw.decode("utf-8", "ignore").strip()
    if title.endswith("#"):
        title = _CLOSING_HASHES.sub("", title).rstrip()
    if _MARKUP_CHARACTER.search(title):
        title = _MARKUP.sub(lambda match: match[1] or match[2] or "", title).strip()
    return title


def _choose_title(marks: list[Mark]) -> str:
    titles = [mark.title for mark in marks if mark.level == 1 and mark.title]
    return titles[0] if titles else next((mark.title for mark in marks if mark.title), "")


def _find_underlined(
    buffer: bytes, start: int, hint: bytes, pattern: re.Pattern[bytes], level: int
) -> list[Mark]:
    """Setext headings: one line of text, alone in its paragraph, with a line of `=` or `-` under it."""
    marks: list[Mark] = []
    if hint not in buffer:
        return marks
    for match in pattern.finditer(buffer, start):
        line_end = match.start()
        line_start = buffer.rfind(b"\n", max(line_end - HEADING_BYTES_MAX, 0), line_end) + 1
        line = buffer[line_start:line_end]
        before = buffer[max(line_start - 3, 0) : line_start]
        follows_blank = before[-2:-1] in b"\n" or before == b"\n\r\n"
        if line_start >= start and follows_blank and not _NOT_A_PARAGRAPH.match(line):
            marks.append(Mark(line_start, match.end(), level, clean_title(line)))
    return marks


def _find_blocks(buffer: bytes, start: int, opener: bytes) -> list[Block]:
    has_fence = b"```" in buffer or b"~~~" in buffer
    if opener or has_fence:
        return _find_fences_and_comments(buffer, start, opener)
    return _find_comments(buffer, start) if b"<!--" in buffer else []


def _find_comments(buffer: bytes, start: int) -> list[Block]:
    """Comments that begin a line, in a text that holds no fences."""
    blocks: list[Block] = []
    found = buffer.find(b"<!--", start)
    while found >= 0:
        begin = found
        while begin > found - 4 and buffer[begin - 1] == 0x20:
            begin -= 1
        end = found + 4
        if buffer[begin - 1] == 0x0A and begin > found - 4:
            end = _find_block_end(buffer, end, b"<!--")
            blocks.append(_new_mark(Block, (begin, end, b"<!--")))
        found = buffer.find(b"<!--", end)
    return blocks


def _find_fences_and_comments(buffer: bytes, start: int, opener: bytes) -> list[Block]:
    """Fenced code, and comments that begin a line, in the order in which they begin."""
    blocks: list[Block] = []
    position = begin = start
    while True:
        if opener:
            end = _find_block_end(buffer, position, opener)
            blocks.append(_new_mark(Block, (begin, end, opener)))
            position = end
        match = _BLOCK_OPENER.search(buffer, position - 1)
        if match is None:
            return blocks
        begin = match.start() + 1
        opener = match[1] or match[2] or match[3]
        position = match.end()


def _find_block_end(buffer: bytes, position: int, opener: bytes) -> int:
    """Start of the line after the block's last; the end of the buffer when nothing closes it."""
    size = len(buffer)
    if opener == b"<!--":
        close = buffer.find(b"-->", position)
        line_end = buffer.find(b"\n", close) if close >= 0 else -1
        return line_end + 1 or size
    for match in _FENCE.finditer(buffer, position):
        fence = match[1]
        if fence[0] == opener[0] and len(fence) >= len(opener):
            return min(match.end() + 1, size)
    return size


def _drop_covered(marks: list[Mark], blocks: list[Block]) -> list[Mark]:
    """Leave out the headings that lie in a block."""
    kept = []
    coming = iter(blocks)
    start, end, _ = next(coming)
    for mark in marks:
        while end <= mark[0]:
            start, end, _ = next(coming, _NO_BLOCK)
        if mark[0] < start:
            kept.append(mark)
    return kept


def _blank_out(buffer: bytes, blocks: list[Block]) -> str:
    """The text with the insides of blocks left out; every line keeps its number."""
    if not blocks:
        return buffer.decode("utf-8", "replace")
    pieces = []
    done = 0
    for block in blocks:
        pieces.append(buffer[done : block.start])
        pieces.append(b"\n" * buffer.count(b"\n", block.start, block.end))
        done = block.end
    pieces.append(buffer[done:])
    return b"".join(pieces).decode("utf-8", "replace")
