"""Cuts a text of any size into passages while it is read, with the same result as in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from arbor.text.chunker import Block, Structure, compute_reach_bytes, cut_buffer, without_mark
from arbor.text.extraction import ChunkPolicy, Passage

READ_BYTES = 1 << 20
_HISTORY_BYTES = 1024
"""How much of what was already cut is kept, for structure that shows only in the lines before it."""


def iter_passages(
    file: BinaryIO,
    policy: ChunkPolicy,
    find_structure: Callable[[bytes, int, bytes], Structure],
    front_bytes: int = 0,
    read_bytes: int = READ_BYTES,
) -> Iterator[Passage]:
    """Cut a file from where it stands to its end.

    Args:
        file: Open for reading; the text is UTF-8.
        policy: Passage sizes.
        find_structure: The reader's, taking a buffer, where to begin, and what began the block open there.
        front_bytes: Length of the front matter, which holds no headings.
        read_bytes: How much to read at a time.

    Yields:
        The passages, which join to the file.
    """
    reach = compute_reach_bytes(policy)
    outline: list[tuple[int, str]] = []
    buffer, start, opener = b"\n", 1, b""
    front_end = 1 + front_bytes
    is_head = True
    final = False
    while not final:
        data = file.read(read_bytes)
        final = not data
        buffer += data
        if len(buffer) - start < reach and not final:
            continue
        begin = max(start, front_end)
        structure = find_structure(without_mark(buffer) if is_head else buffer, begin, opener)
        if begin > start:
            structure.blocks.insert(0, Block(1, front_end))
        passages, start = cut_buffer(buffer, start, structure, policy, outline, final=final)
        if not passages:
            continue
        yield from passages
        opener = _find_opener(structure.blocks, start)
        surplus = max(start - _HISTORY_BYTES, 0)
        if surplus:
            is_head = False
            buffer = buffer[surplus:]
            start -= surplus
            front_end = max(front_end - surplus, 1)


def _find_opener(blocks: list[Block], start: int) -> bytes:
    """What began the block that is open where the next passage begins."""
    for block in blocks:
        if block.start < start < block.end:
            return b"\n" if block.opener and start > block.closer else block.opener
    return b""
