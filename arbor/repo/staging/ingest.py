"""From an extraction to objects: chunks, manifest and document go to a pack writer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arbor.objects import codec, merkle
from arbor.objects.ids import Kind, file_hash, object_id
from arbor.objects.model import ChunkRef, Document, Manifest, encode_document, encode_manifest
from arbor.text.extraction import Extraction

CANONICALISATION = "bytes/1"
ORIGINAL_PIECE_BYTES = 64 * 1024
READ_AT_ONCE_BYTES = 32 * 1024 * 1024
"""A larger file in the work tree is read as a stream."""


class Sink(Protocol):
    """Where objects go."""

    def add(self, kind: int, data: bytes, oid: bytes | None = None) -> bytes:
        """Keep an object; its oid."""


def store_extraction(
    sink: Sink,
    extraction: Extraction,
    data: bytes,
    source_uri: str = "",
    *,
    hash_of_file: bytes | None = None,
) -> bytes:
    """Write a surface document with its chunks and manifest; the document's oid.

    Args:
        sink: Takes the objects.
        extraction: What was read from the file.
        data: The file's bytes.
        source_uri: Where the file came from, "" for the work tree.
        hash_of_file: Plain BLAKE3 of `data`, where it is known already.
    """
    passages = []
    for piece, newlines, headings in extraction.passages:
        oid = object_id(Kind.CHUNK, piece)
        sink.add(Kind.CHUNK, piece, oid)
        passages.append(ChunkRef(oid, len(piece), newlines, headings))
    original = tuple((sink.add(Kind.CHUNK, piece), len(piece)) for piece in extraction.original)
    manifest = sink.add(
        Kind.MANIFEST, encode_manifest(Manifest(tuple(passages), original, extraction.link_rows))
    )
    document = document_of(extraction, [ref.oid for ref in passages], [oid for oid, _ in original], manifest,
                           len(data), hash_of_file or file_hash(data), source_uri)  # fmt: skip
    return sink.add(Kind.DOCUMENT, encode_document(document))


def document_of(
    extraction: Extraction, leaves: Sequence[bytes], pieces: Sequence[bytes], manifest: bytes,
    size: int, hash_of_file: bytes, source_uri: str,
) -> Document:  # fmt: skip
    """The document that an extraction makes, given the oids of its parts."""
    return Document(
        kind="surface",
        media_type=extraction.media_type,
        title=extraction.title,
        source_uri=source_uri,
        encoding=extraction.encoding,
        size=size,
        file_hash=hash_of_file,
        extractor=extraction.extractor,
        chunker=extraction.chunker,
        canonicalisation=CANONICALISATION,
        passage_count=len(leaves),
        text_root=merkle.tree_root(leaves),
        original_count=len(pieces),
        original_root=merkle.tree_root(pieces) if pieces else b"",
        manifest=manifest,
        front_matter=codec.canonical(extraction.front_matter) if extraction.front_matter else {},
    )
