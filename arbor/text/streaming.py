"""Cuts a text of any size into passages while it is read, with the same result as in one go."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from arbor.text.chunker import Block, Structure, compute_reach_bytes, cut_buffer, without_mark
from arbor.text.encodings import STATEFUL
from arbor.text.extraction import ChunkPolicy, Passage, shrink_policy

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


def iter_encoded_passages(
    file: BinaryIO,
    encoding: str,
    policy: ChunkPolicy,
    find_structure: Callable[[bytes, int, bytes], Structure],
    front_bytes: int = 0,
) -> Iterator[Passage]:
    """The same for text in an encoding that `can_be_streamed`; its passages join to the file, too.

    Args:
        file: Open for reading.
        encoding: Of the file.
        policy: Passage sizes.
        find_structure: As for `iter_passages`; the buffer is UTF-8.
        front_bytes: Length of the front matter as UTF-8.
    """
    reader = cast("BinaryIO", _Utf8Reader(file, encoding))
    # No character takes more than so many times the bytes that it has in UTF-8.
    smaller = shrink_policy(policy, 4 if encoding.startswith("utf-32") else 2)
    for data, newlines, headings in iter_passages(reader, smaller, find_structure, front_bytes):
        yield Passage(data.decode("utf-8").encode(encoding), newlines, headings)


def can_be_streamed(file: BinaryIO, encoding: str) -> bool:
    """Whether a file's text gives the file again when it is encoded piece by piece; leaves the file at its start."""
    if encoding in STATEFUL:
        return False
    decoder = codecs.getincrementaldecoder(encoding)()
    pending, final = b"", False
    try:
        while not final:
            data = file.read(READ_BYTES)
            final = not data
            pending += data
            encoded = decoder.decode(data, final).encode(encoding)
            if not pending.startswith(encoded):
                return False
            pending = pending[len(encoded) :]
    except UnicodeError:
        return False
    finally:
        file.seek(0)
    return not pending


class _Utf8Reader:
    """Reads a file in another encoding as if it were in UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def read(self, size: int) -> bytes:
        """The text of about `size` bytes; empty at the end only."""
        while data := self._file.read(size):
            if text := self._decoder.decode(data):
                return text.encode("utf-8")
        return b""


def _find_opener(blocks: list[Block], start: int) -> bytes:
    """What began the block that is open where the next passage begins."""
    for block in blocks:
        if block.start < start < block.end:
            return b"\n" if block.opener and start > block.closer else block.opener
    return b""
