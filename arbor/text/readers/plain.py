"""Plain text and data files: blank lines are the only structure, written-out addresses the only links."""

from __future__ import annotations

from arbor.text.chunker import NO_STRUCTURE, Structure, chunk_text
from arbor.text.extraction import ChunkPolicy
from arbor.text.links import LinkFinder
from arbor.text.readers.reading_result import Reading, Streamer

EXTRACTOR_ID = "plain/1"


def read(text: bytes, policy: ChunkPolicy) -> Reading:
    """Read a plain text; it has no title of its own."""
    finder = LinkFinder(text)
    if b"http" in text:
        finder.find_addresses(text)
    return Reading(chunk_text(text, policy), "", {}, finder.rows, (), EXTRACTOR_ID)


def find_structure(buffer: bytes, start: int, opener: bytes = b"") -> Structure:
    """None: headings cannot be told from other lines."""
    return NO_STRUCTURE


STREAMER = Streamer("plain", find_structure, lambda _: 0)
