"""Documents read from their objects: the manifest, and the texts of the passages."""

from __future__ import annotations

from arbor.objects.ids import Kind
from arbor.objects.model import Document, Manifest, decode_manifest
from arbor.repo.file_bytes import ObjectSource, read_document
from arbor.repo.snapshot import passage_encoding
from arbor.text.encodings import decode_passage


def read_parts(source: ObjectSource, oid: bytes) -> tuple[Document, Manifest]:
    """A document and its manifest; raises IntegrityError when they cannot be had."""
    document = read_document(source, oid)
    return document, decode_manifest(source.get_kind(document.manifest, Kind.MANIFEST), trusted=True)


def read_texts(source: ObjectSource, document: Document, manifest: Manifest) -> tuple[str, ...]:
    """The decoded passages of a document; raises IntegrityError when one cannot be had."""
    encoding = passage_encoding(document)
    return tuple(
        [decode_passage(source.get_kind(ref.oid, Kind.CHUNK), encoding) for ref in manifest.passages]
    )
