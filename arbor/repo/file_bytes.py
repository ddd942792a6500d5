"""The file that a document was made from, piece by piece, and whole only where it has the hash that is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from blake3 import blake3

from arbor.errors import IntegrityError
from arbor.objects import codec
from arbor.objects.columns import DOCUMENT_FILE_HASH, DOCUMENT_MANIFEST
from arbor.objects.ids import Kind, file_hash
from arbor.objects.model import Document, decode_document
from arbor.objects.passages import chunk_oids


class ObjectSource(Protocol):
    """Where objects are read from: an object store, or a `SequentialReader` of one."""

    def get_kind(self, oid: bytes, kind: Kind) -> bytes:
        """The bytes of an object of this kind, hashed now; raises IntegrityError when they cannot be had."""


def read_document(source: ObjectSource, oid: bytes) -> Document:
    """The document of an oid; raises IntegrityError when it is absent or damaged."""
    return decode_document(source.get_kind(oid, Kind.DOCUMENT), trusted=True)


def iter_file(source: ObjectSource, oid: bytes) -> Iterator[bytes]:
    """The pieces of a document's file.

    Args:
        source: Where its objects are read from.
        oid: The document; its manifest and pieces must be there.

    Raises:
        IntegrityError: when an object is absent or damaged, and at the end when all of them together do not have the
            hash that the document records for its file.
    """
    try:
        fields = codec.decode(source.get_kind(oid, Kind.DOCUMENT), trusted=True)
        recorded, manifest = fields[DOCUMENT_FILE_HASH], fields[DOCUMENT_MANIFEST]
        passages, original = chunk_oids(source.get_kind(manifest, Kind.MANIFEST))
    except (TypeError, LookupError) as error:
        raise IntegrityError(f"document {oid.hex()[:12]} does not decode") from error
    yield from iter_pieces(source, original or passages, recorded)


def iter_pieces(source: ObjectSource, oids: Sequence[bytes], recorded: bytes) -> Iterator[bytes]:
    """The pieces of these oids; raises IntegrityError as `iter_file` does where they are not the file of this hash."""
    hasher = blake3()
    for oid in oids:
        piece = source.get_kind(oid, Kind.CHUNK)
        hasher.update(piece)
        yield piece
    if hasher.digest() != recorded:
        raise other_file()


def other_file() -> IntegrityError:
    """The error of a document whose pieces make another file than the one that it records."""
    return IntegrityError(
        "a document does not hold the file whose hash it records", "run: arbor verify --deep"
    )


def is_same_file(document: Document, data: bytes) -> bool:
    """Whether these are the bytes of the document's file."""
    return len(data) == document.size and file_hash(data) == document.file_hash
