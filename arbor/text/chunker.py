"""Cuts a text into passages that follow its structure and together are the text, byte for byte.

A reader finds the structure (headings, and blocks that should stay whole) and this module decides where
to cut. Each decision looks at most `reach_bytes` ahead, which is what lets a file of any size be cut in
flat memory with the same result as in one go.

Positions are offsets into a *buffer*: a line feed that is not part of the text, then the text. So every line,
the first one too, begins after a line feed.
"""

from __future__ import annotations

from bisect import bisect_right
from codecs import BOM_UTF8
from typing import NamedTuple

from arbor.text.extraction import ChunkPolicy, Passage

HEADING_BYTES_MAX = 300
"""Headings are cut to this length, so that finding one never needs the rest of an endless line."""

BLANK_LINE_BYTES = 3
"""A heading after nothing but a blank line still leads a passage."""

_LINE_SLACK_BYTES = 1024
_SENTENCE_ENDS = (b". ", b"! ", b"? ", "。".encode(), "！".encode(), "？".encode())

new_passage = tuple.__new__
"""A named tuple's own constructor costs three times as much, and passages are made by the million."""


class Mark(NamedTuple):
    """A heading: where its line starts and ends, its level (1 is the outermost) and its text."""

    start: int
    end: int
    level: int
    title: str


class Block(NamedTuple):
    """A stretch that should stay whole and holds no headings, like fenced code.

    Attributes:
        start: Where its first line starts.
        end: Where the line after its last starts.
        opener: What began it.
        closer: Where that which closes it stands, on its last line; `end` when nothing does. Only of use with an
            opener.
    """

    start: int
    end: int
    opener: bytes = b""
    closer: int = 0


class Structure(NamedTuple):
    """What a reader found in a buffer, each list in text order and without overlaps."""

    marks: list[Mark]
    blocks: list[Block]


NO_STRUCTURE = Structure([], [])


def without_mark(buffer: bytes) -> bytes:
    """The buffer with a byte order mark at its head turned into line ends, behind which a line can begin."""
    return b"\n\n\n\n" + buffer[4:] if buffer[1:4] == BOM_UTF8 else buffer


def compute_reach_bytes(policy: ChunkPolicy) -> int:
    """How far beyond a passage's start its end and its headings can depend on the text."""
    return 2 * policy.cap_bytes + _LINE_SLACK_BYTES


def chunk_text(text: bytes, policy: ChunkPolicy, structure: Structure = NO_STRUCTURE) -> list[Passage]:
    """Cut a whole text; positions in `structure` are those in the buffer of the text.

    Args:
        text: UTF-8; bytes that are not valid are kept.
        policy: Sizes in bytes.
        structure: Headings and blocks; without any, blank lines and line ends are all there is to go by.

    Returns:
        Passages whose data joined is `text`; none for an empty text.
    """
    passages, _ = cut_buffer(b"\n" + text, 1, structure, policy, [], final=True)
    return passages


def cut_buffer(
    buffer: bytes,
    start: int,
    structure: Structure,
    policy: ChunkPolicy,
    outline: list[tuple[int, str]],
    *,
    final: bool,
) -> tuple[list[Passage], int]:
    """Cut passages off a buffer from `start` on.

    Args:
        buffer: What has been read; `buffer[start - 1]` must exist.
        start: Where the first passage begins.
        structure: Headings and blocks from `start` on.
        policy: Sizes in bytes.
        outline: (level, title) of the headings in force at `start`; brought up to date in place.
        final: Whether the text ends with the buffer; if not, cutting stops while a decision could still
            change.

    Returns:
        The passages, and where the next one will begin.
    """
    size = len(buffer)
    stop = size if final else size - compute_reach_bytes(policy)
    marks, blocks = structure
    count = len(marks)
    whole_bytes = min(policy.target_bytes + policy.min_bytes, policy.cap_bytes)
    passages: list[Passage] = []
    following = 0  # first heading that is not in the outline yet
    while start < stop:
        lead = start + len(BOM_UTF8) if buffer.startswith(BOM_UTF8, start) else start
        least = start + policy.min_bytes
        while following < count and marks[following].start <= lead and marks[following].start < least:
            mark = marks[following]
            enter_heading(outline, mark)
            lead = mark.end + BLANK_LINE_BYTES
            following += 1
        headings = tuple([title for _, title in outline])
        boundary = following
        while boundary < count and marks[boundary].start < least:
            boundary += 1
        end = marks[boundary].start if boundary < count else size
        if end - start > whole_bytes:
            end = _find_cut(buffer, start, end, policy, blocks)
        while following < count and marks[following].start < end:
            enter_heading(outline, marks[following])
            following += 1
            if not headings:  # a preamble goes by the name of the first section
                headings = tuple([title for _, title in outline])
        newlines = buffer.count(b"\n", start, end)
        passages.append(new_passage(Passage, (buffer[start:end], newlines, headings)))
        start = end
    return passages, start


def enter_heading(outline: list[tuple[int, str]], mark: Mark) -> None:
    """A heading closes those of its own level and deeper; one without text closes and opens nothing."""
    level = mark[2]
    while outline and outline[-1][0] >= level:
        outline.pop()
    if mark[3]:
        outline.append((level, mark[3]))


def _find_cut(buffer: bytes, start: int, section_end: int, policy: ChunkPolicy, blocks: list[Block]) -> int:
    """Where to cut a section that is too long: between paragraphs if that can be, else within one."""
    least = start + policy.min_bytes
    target = start + policy.target_bytes
    cap = start + policy.cap_bytes
    end = _find_last_paragraph_end(buffer, least, target) or _find_next_paragraph_end(buffer, target, cap)
    if not end and section_end <= cap:
        end = section_end
    if not end:
        end = _find_break(buffer, least, target)
    if blocks:
        end = _keep_block_whole(start, end, policy, blocks)
    while end < cap and buffer[end : end + 1] == b"\n":
        end += 1
    return end


def _find_last_paragraph_end(buffer: bytes, least: int, limit: int) -> int:
    """The last place up to `limit` after a blank line; 0 when there is none."""
    end = max(buffer.rfind(b"\n\n", least, limit) + 2, buffer.rfind(b"\n\r\n", least, limit) + 3)
    return end if end > 3 else 0


def _find_next_paragraph_end(buffer: bytes, least: int, limit: int) -> int:
    """The first place from `least` on after a blank line; 0 when there is none."""
    ends = []
    for blank in (b"\n\n", b"\n\r\n"):
        found = buffer.find(blank, least - len(blank), limit)
        if found >= 0:
            ends.append(found + len(blank))
    return min(ends, default=0)


def _find_break(buffer: bytes, least: int, limit: int) -> int:
    """Where to break a paragraph that is too long: a line end, else a sentence's, a space, a character."""
    for ends in ((b"\n",), (b"\r",), _SENTENCE_ENDS, (b" ", b"\t", "\u3000".encode(), "，".encode())):
        found = [(buffer.rfind(mark, least, limit), len(mark)) for mark in ends]
        position, length = max(found)
        if position >= 0:
            return position + length
    if buffer[limit] == 0x0A:
        limit -= 1  # a line end of two bytes stays whole
    for back in range(4):  # a UTF-8 character has at most three continuation bytes
        if buffer[limit - back] & 0xC0 != 0x80:
            return limit - back
    return limit


def _keep_block_whole(start: int, end: int, policy: ChunkPolicy, blocks: list[Block]) -> int:
    """Move a cut that falls inside a block to the block's start or end, unless the block is over the cap."""
    block = blocks[bisect_right(blocks, end - 1, key=lambda each: each.start) - 1]
    if not block.start < end < block.end:
        return end
    if block.start >= start + policy.min_bytes:
        return block.start
    if block.end <= start + policy.cap_bytes:
        return block.end
    if start < block.start and block.end - block.start <= policy.cap_bytes:
        return block.start
    return end
