"""Reads a file: kind, encoding, text, passages, links and fields, whatever the bytes are."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import BinaryIO, NamedTuple

from arbor.text.encodings import STATEFUL, UTF8, decode_passage, detect_encoding, split_as_encoded
from arbor.text.extraction import CHUNKER_ID, DEFAULT_POLICY, ChunkPolicy, Extraction, Passage
from arbor.text.front_matter import read_front_matter
from arbor.text.media import find_format
from arbor.text.readers import BINARY, MARKDOWN, Format, find_structure_finder, get_reader
from arbor.text.readers.reading_result import Reading
from arbor.text.streaming import iter_passages

__all__ = ["TextStream", "decode_passage", "extract", "open_stream"]

PIECE_BYTES = 64 * 1024
"""Size of the pieces in which an original is kept whose passages do not partition it."""


def extract(
    data: bytes, name: str, policy: ChunkPolicy = DEFAULT_POLICY, *, title: str | None = None
) -> Extraction:
    """Read a file.

    Args:
        data: Its bytes, of any kind.
        name: Its name or path, which helps to tell the kind of file; may be empty.
        policy: Passage sizes in bytes.
        title: Takes the place of the title found in the content.

    Returns:
        Everything found. Whatever is wrong with the file becomes a warning; this never raises.
    """
    form = find_format(data, name)
    if form.is_text:
        encoding = detect_encoding(data)
        if encoding == UTF8:
            reading = get_reader(form.reader)(data, policy)
            return _assemble(form, reading, title, UTF8, reading.passages, ())
        if encoding:
            return _extract_encoded(data, form, policy, title, encoding)
        form = BINARY
    if form is BINARY:
        return Extraction(
            form.media_type, title or "", "", "binary/1", CHUNKER_ID, (), _split(data), {}, (), ()
        )
    reading = get_reader(form.reader)(data, policy)
    return _assemble(form, reading, title, UTF8, reading.passages, _split(data))


def _assemble(
    form: Format,
    reading: Reading,
    title: str | None,
    encoding: str,
    passages: Sequence[Passage],
    original: Sequence[bytes],
) -> Extraction:
    return Extraction(
        form.media_type,
        reading.title if title is None else title,
        encoding,
        reading.extractor,
        CHUNKER_ID,
        passages,
        original,
        reading.front_matter,
        reading.links,
        reading.warnings,
    )


def _extract_encoded(
    data: bytes, form: Format, policy: ChunkPolicy, title: str | None, encoding: str
) -> Extraction:
    """Read a text in another encoding: as UTF-8, and then the passages are cut from the file at the same places."""
    text = data.decode(encoding, "replace").encode(UTF8, "replace")
    reading = get_reader(form.reader)(text, policy)
    if encoding in STATEFUL:
        return _assemble(form, reading, title, UTF8, reading.passages, _split(data))
    pieces = split_as_encoded(data, encoding, [passage.data.decode(UTF8) for passage in reading.passages])
    passages = [
        Passage(piece, passage.newlines, passage.headings)
        for piece, passage in zip(pieces, reading.passages, strict=True)
    ]
    return _assemble(form, reading, title, encoding, passages, ())


def _split(data: bytes) -> list[bytes]:
    return [data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES)]
