"""What a reader hands back for one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from arbor.objects.links import Rows
from arbor.text.chunker import Mark, Structure
from arbor.text.extraction import FrontValue, Passage


class Reading(NamedTuple):
    """The text side of an extraction; the media type, encoding and original bytes are added by the caller.

    Attributes:
        passages: UTF-8 passages. For a text format they join to the text that was given.
        title: From the content; empty when there is none.
        front_matter: The document's own fields.
        link_rows: The links, in text order within each kind, as `arbor.objects.links` stores them.
        warnings: What could not be read as it should, one sentence each.
        extractor: Name and version of the reader, and of the library it rests on where that decides the text.
        marks: Of extracted text: its headings, at their places in the buffer.
    """

    passages: Sequence[Passage]
    title: str
    front_matter: dict[str, FrontValue]
    link_rows: Rows
    warnings: Sequence[str]
    extractor: str
    marks: Sequence[Mark] = ()


class Streamer(NamedTuple):
    """How to read a kind of text piece by piece.

    Attributes:
        reader: Module of this package that the functions come from.
        find_structure: Takes a buffer, where to begin in it, and what began the block that is open there.
        measure_front: Takes the head of the text and gives the length of its front matter in bytes.
    """

    reader: str
    find_structure: Callable[[bytes, int, bytes], Structure]
    measure_front: Callable[[bytes], int]
