"""A manifest's passages and pieces without its links, for readers that want those of many documents."""

from __future__ import annotations

from typing import Any

import msgpack

from arbor.errors import IntegrityError
from arbor.objects.model import MANIFEST_SCHEMA, MAX_HEADINGS, ChunkRef, Manifest, split_oids

_FAULTS = (ValueError, TypeError, LookupError, msgpack.UnpackException)


def decode_passages(data: bytes) -> list[ChunkRef]:
    """The passages of an encoded manifest whose hash was just checked; the rest of it is not read.

    Raises:
        IntegrityError: when the bytes are not those of a manifest.
    """
    try:
        leaves, sizes, newlines, shared, rests = _read(data, 5)
        refs: list[ChunkRef] = []
        headings: tuple[str, ...] = ()
        for oid, size, lines, same, rest in zip(
            split_oids(leaves), sizes, newlines, shared, rests, strict=True
        ):
            if rest or same != len(headings):
                headings = headings[:same] + rest
                if len(headings) > MAX_HEADINGS:
                    raise ValueError("headings")
            refs.append(ChunkRef(oid, size, lines, headings))
        return refs
    except _FAULTS as error:
        raise IntegrityError(f"a manifest does not decode: {type(error).__name__}") from error


def decode_parts(data: bytes) -> Manifest:
    """Passages and pieces of an encoded manifest whose hash was just checked, without headings and links.

    Raises:
        IntegrityError: when the bytes are not those of a manifest.
    """
    try:
        leaves, sizes, newlines, _, _, pieces, piece_sizes = _read(data, 7)
        refs = [ChunkRef(*row, ()) for row in zip(split_oids(leaves), sizes, newlines, strict=True)]
        return Manifest(tuple(refs), tuple(zip(split_oids(pieces), piece_sizes, strict=True)))
    except _FAULTS as error:
        raise IntegrityError(f"a manifest does not decode: {type(error).__name__}") from error


def chunk_oids(data: bytes) -> tuple[list[bytes], list[bytes]]:
    """(passages, pieces of the original) of an encoded manifest whose hash was just checked.

    Raises:
        IntegrityError: when the bytes are not those of a manifest.
    """
    try:
        leaves, _, _, _, _, pieces = _read(data, 6)
        return split_oids(leaves), split_oids(pieces)
    except _FAULTS as error:
        raise IntegrityError(f"a manifest does not decode: {type(error).__name__}") from error


def _read(data: bytes, width: int) -> list[Any]:
    """The first columns."""
    unpacker = msgpack.Unpacker(None, raw=False, use_list=False, max_buffer_size=0, read_size=len(data) + 1)
    unpacker.feed(data)
    if unpacker.read_array_header() < 1 or unpacker.unpack() != MANIFEST_SCHEMA:
        raise IntegrityError("a manifest is of a schema this version does not know")
    return [unpacker.unpack() for _ in range(width)]
