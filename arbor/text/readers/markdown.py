"""Markdown: headings, fenced code, raw HTML, comments, front matter and links, as in CommonMark and Obsidian."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from arbor.objects.links import explicit_rows
from arbor.text.chunker import HEADING_BYTES_MAX, Block, Mark, Structure, cut_buffer, without_mark
from arbor.text.extraction import ChunkPolicy, FrontValue
from arbor.text.front_matter import FRONT_MATTER_OPENERS, find_title, read_front_matter
from arbor.text.links import LinkFinder, find_front_matter_links
from arbor.text.readers.reading_result import Reading, Streamer

EXTRACTOR_ID = "markdown/3"

_EVENT = re.compile(
    rb"\n[ \t>]{0,64}+(?=[#<=\-`~*+0-9])(?:"
    rb"#(#{0,5})(?:[ \t]([^\n]{0,%d}+)|(?=\r?\n)|\Z)"  # 1, 2: a heading's other hashes, its text
    rb"|<(!--|\?|!\[CDATA\[|![A-Za-z]|(?i:pre|script|style|textarea)(?=[ \t>\r\n]|\Z))"  # 3: raw HTML begins
    rb"|=(={0,200}+)[ \t]{0,64}+\r?(?=\n|\Z)"  # 4: a line under a heading of level 1
    rb"|-(-{1,200}+)[ \t]{0,64}+\r?(?=\n|\Z)"  # 5: a line under a heading of level 2
    rb"|(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,16}+)?"  # fenced code can begin as an item of a list
    rb"(?:(`{3,}+)[^`\n]{0,300}+|(~{3,}+)[^\n]{0,300}+)(?=\n|\Z)"  # 6, 7: it begins
    rb")" % HEADING_BYTES_MAX
)
"""A line that may begin or end something, with the line end before it. One pass finds them all."""

_HEADING_TEXT, _HTML_BEGINS, _FENCES = 2, 3, 6
_UNDERLINES = {4: 1, 5: 2}
_INDENTS = b" \t>"

_FENCE = re.compile(rb"\n[ \t>]{0,64}+(`{3,}+|~{3,}+)[ \t]*+\r?(?=\n|\Z)")
_COMMENT = b"<!--"
_HTML_ENDS = {b"<?": b"?>", b"<![CDATA[": b"]]>"}
_RAW_ELEMENT_ENDS = re.compile(rb"</(?:pre|script|style|textarea)>", re.IGNORECASE)
"""The line that ends raw HTML is the one that holds the sign for what began it (CommonMark 0.31, HTML blocks 1 to 5).

Others (6 and 7: `<div>`, `<details>`, `<table>`) end at a blank line, and a heading in them before that shows as text
on GitHub and in Obsidian. Writers see that and put the blank line in: of 37,454 pieces of raw HTML in 6,799 notes and
chapters none holds one. So it stays a heading, as its writer meant it, and documents keep their ids.
"""
_REST_OF_LINE = b"\n"
_NOT_A_PARAGRAPH = re.compile(rb"[ \t]*+(?:[#>|<`~=-]|[*+][ \t]|\d{1,9}[.)][ \t]|\r?\Z)|    |\t")

_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_ATTRIBUTES = re.compile(r"\{:?[ \t]*+[#.][^{}]*+\}$")
"""A name or class that Pandoc, VitePress or kramdown give a heading: `{#name}`, `{: #name .class}`."""
_MARKUP_SIGN = re.compile(r"[\[<*_`\\]")
_MARKUP = re.compile(
    r"!?\[([^\[\]]*+)\]\([^()]*+\)|!?\[\[(?:[^\[\]|]*+\|)?([^\[\]|]*+)\]\]"
    r"|</?[A-Za-z][^<>]*+>|[*_]{2,}+|`++|\\(?=[!-/:-@\[-`{-~])"
)

_new = tuple.__new__


def read(text: bytes, policy: ChunkPolicy) -> Reading:
    """Read a Markdown text.

    Args:
        text: UTF-8, with or without a byte order mark; bytes that are not valid are kept.
        policy: Passage sizes.

    Returns:
        Passages that join to `text`; the title is the front matter's, else the first heading of level 1,
        else the first heading.
    """
    buffer = b"\n" + text
    fields: dict[str, FrontValue] = {}
    warnings: Sequence[str] = ()
    finder = LinkFinder(buffer, 1)
    body = 1
    if text.startswith(FRONT_MATTER_OPENERS):
        front = read_front_matter(text)
        body += front.size_bytes
        fields, warnings = front.fields, front.warnings
        if fields:
            links = find_front_matter_links(fields, text[: front.size_bytes].decode("utf-8", "replace"))
            finder.rows += explicit_rows(links)
    structure = find_structure(without_mark(buffer), body)
    if body > 1:
        structure.blocks.insert(0, Block(1, body))
    passages, _ = cut_buffer(buffer, 1, structure, policy, [], final=True)
    finder.find_links(_blank_out(buffer, structure.blocks))
    if finder.is_full:
        warnings = (*warnings, "it has more links than are kept")
    title = find_title(fields) or _choose_title(structure.marks)
    return Reading(passages, title, fields, finder.rows, warnings, EXTRACTOR_ID)


def find_structure(buffer: bytes, start: int, opener: bytes = b"") -> Structure:
    """Find headings, fenced code, raw HTML and comments.

    Args:
        buffer: As the chunker defines it; up to 1 KiB before `start` is looked at.
        start: Where to begin.
        opener: What began the block that is open at `start`, or a line end when only the rest of its last line is
            left; empty when none is open.
    """
    marks: list[Mark] = []
    blocks: list[Block] = []
    covered = start  # what begins before lies in a block
    if opener:
        blocks.append(_read_block(buffer, start, start, opener))
        covered = blocks[0].end
    for match in _EVENT.finditer(buffer, start - 1):
        line = match.start() + 1
        if line < covered:
            continue
        kind = match.lastindex or 0
        if buffer[line] in _INDENTS and kind < _FENCES:
            sign = match.start(1 if kind == _HEADING_TEXT else kind) - 1
            if sign > line + 3 or buffer[line:sign].strip(b" "):
                continue  # indented code, or part of a quotation
        if kind <= _HEADING_TEXT:
            title = clean_title(match[2])
            marks.append(_new(Mark, (line, match.end(), 1 + len(match[1]), title)))
        elif kind in _UNDERLINES:
            text = _find_underlined(buffer, covered, line - 1)
            if text:
                marks.append(Mark(line - 1 - len(text), match.end(), _UNDERLINES[kind], clean_title(text)))
        else:
            opener = match[kind] if kind >= _FENCES else b"<" + match[kind]
            block = _read_block(buffer, line, match.end(), opener)
            covered = block.end
            blocks.append(block)
    return Structure(marks, blocks)


def find_headings(buffer: bytes, *, is_head: bool) -> list[Mark]:
    """The headings in a buffer, which front matter can begin where it is the head of a document."""
    front = (
        read_front_matter(buffer[1:]).size_bytes
        if is_head and buffer.startswith(FRONT_MATTER_OPENERS, 1)
        else 0
    )
    return find_structure(buffer, 1 + front).marks


@lru_cache(maxsize=1 << 12)
def clean_title(raw: bytes | None) -> str:
    """A heading's text as a person reads it: without closing hashes, attributes and inline markup."""
    if not raw:
        return ""
    title = raw.decode("utf-8", "ignore").strip()
    if title.endswith("#"):
        title = _CLOSING_HASHES.sub("", title).rstrip()
    if title.endswith("}"):
        title = _ATTRIBUTES.sub("", title).rstrip(" \t")
    if _MARKUP_SIGN.search(title):
        title = _MARKUP.sub(lambda match: match[1] or match[2] or "", title).strip()
    return title


def _choose_title(marks: list[Mark]) -> str:
    titles = [title for _, _, level, title in marks if level == 1 and title]
    return titles[0] if titles else next((title for _, _, _, title in marks if title), "")


def _find_underlined(buffer: bytes, start: int, line_end: int) -> bytes:
    """The line before an underline, if that makes it a heading: one line of text, alone in its paragraph."""
    line_start = buffer.rfind(b"\n", max(line_end - HEADING_BYTES_MAX, 0), line_end) + 1
    before = buffer[max(line_start - 3, 0) : line_start]
    if line_start < start or not (before[-2:-1] in b"\n" or before == b"\n\r\n"):
        return b""
    line = buffer[line_start:line_end]
    return b"" if _NOT_A_PARAGRAPH.match(line) else line


def _read_block(buffer: bytes, start: int, position: int, opener: bytes) -> Block:
    """Find the end of a block whose inside goes on at `position`: the end of the buffer when nothing closes it."""
    size = len(buffer)
    if opener[:1] == b"<":
        closer = buffer.find(b"-->", start) if opener == _COMMENT else _find_html_end(buffer, start, opener)
        line_end = buffer.find(b"\n", closer) if closer >= 0 else -1
        end = line_end + 1 or size
        return _new(Block, (start, end, opener, closer if closer >= 0 else end))
    if opener == _REST_OF_LINE:
        return Block(start, buffer.find(b"\n", position) + 1 or size, opener, start)
    for match in _FENCE.finditer(buffer, position - (position == start)):
        fence = match[1]
        if fence[0] == opener[0] and len(fence) >= len(opener):
            return _new(Block, (start, min(match.end() + 1, size), opener, match.start() + 1))
    return Block(start, size, opener, size)


def _find_html_end(buffer: bytes, start: int, opener: bytes) -> int:
    """Where the sign stands that ends raw HTML, -1 where none does; what began it can be part of it, as in `<!-->`."""
    if opener[1:2] in b"!?":
        return buffer.find(_HTML_ENDS.get(opener, b">"), start)
    found = _RAW_ELEMENT_ENDS.search(buffer, start)
    return found.start() if found else -1


def _blank_out(buffer: bytes, blocks: list[Block]) -> bytes:
    """The buffer with line ends in place of blocks but raw HTML, whose links count; all the rest keeps its place."""
    if not blocks:
        return buffer
    pieces = []
    done = 0
    for start, end, opener, _ in blocks:
        if opener != _COMMENT and opener.startswith(b"<"):
            continue
        pieces.append(buffer[done:start])
        pieces.append(b"\n" * (end - start))
        done = end
    pieces.append(buffer[done:])
    return b"".join(pieces)


def _measure_front(text: bytes) -> int:
    return read_front_matter(text).size_bytes if text.startswith(FRONT_MATTER_OPENERS) else 0


STREAMER = Streamer("markdown", find_structure, _measure_front)
