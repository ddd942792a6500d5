"""Whether a document is what its file comes to: the file has its hash, and what was derived from it can be made again.

Citations rest on derived fields: line and byte ranges are sums over the manifest, headings and titles stand beside
them. They may come from somebody else, and no hash speaks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING

from blake3 import blake3

from arbor.errors import IntegrityError
from arbor.lazy import lazy_module
from arbor.objects import codec
from arbor.objects.ids import Kind, object_id
from arbor.objects.model import ChunkRef, Document, Manifest
from arbor.repo.documents import read_parts
from arbor.repo.file_bytes import ObjectSource, other_file
from arbor.repo.snapshot import passage_encoding
from arbor.text.encodings import UTF8, decode_passage
from arbor.text.extraction import ChunkPolicy, Extraction

if TYPE_CHECKING:
    from arbor.repo.staging import ingest
    from arbor.text import readers, reading
else:  # whoever only measures passages reads no file again
    ingest = lazy_module("arbor.repo.staging.ingest")
    readers = lazy_module("arbor.text.readers")
    reading = lazy_module("arbor.text.reading")


def fits(ref: ChunkRef, data: bytes, encoding: str) -> bool:
    """Whether a passage is as long as is recorded, in bytes and in lines.

    Args:
        ref: What is recorded.
        data: The passage.
        encoding: As `passage_encoding` gives it.
    """
    newlines = data.count(b"\n") if encoding == UTF8 else decode_passage(data, encoding).count("\n")
    return ref.size == len(data) and ref.newlines == newlines


def check_document(source: ObjectSource, oid: bytes, policies: Sequence[ChunkPolicy]) -> None:
    """Put the file of a document together, measure its passages, and read it again.

    Args:
        source: Where everything lies.
        oid: The document; nothing of it may be cold.
        policies: The sizes of passages that may have been in force.

    Raises:
        IntegrityError: at the first thing that is not as it is recorded.
    """
    document, manifest = read_parts(source, oid)
    if not holds_its_file(source, oid):
        raise other_file()
    if manifest.passages and not manifest.original and _is_extracted(document):
        raise IntegrityError("it holds a text, and its media type is that of no text")
    if document.size > ingest.READ_AT_ONCE_BYTES and not manifest.original:
        return  # a file of this size was read as a stream, which looks for less
    if document.kind == "surface":
        pieces = [each for each, _ in manifest.original] or [ref.oid for ref in manifest.passages]
        data = b"".join([source.get_kind(piece, Kind.CHUNK) for piece in pieces])
        _compare(source, document, manifest, data, policies)


def _is_extracted(document: Document) -> bool:
    """Whether a document's media type is one whose text is taken out of an original."""
    return any(form.media_type == document.media_type for form in readers.FORMATS if not form.is_text)


def _compare(
    source: ObjectSource, document: Document, manifest: Manifest, data: bytes, policies: Sequence[ChunkPolicy]
) -> None:
    """Read a file again as its media type is read, with the reader that is recorded, where this arbor has it.

    A text that was taken out of an original must come out again: it is the same however it is cut. The rest can only be
    compared where the same passages come out; others come of another chunker, or of sizes that were in force once.
    """
    leaves = [ref.oid for ref in manifest.passages]
    differs = False
    for made in _read_again(document, data, policies):
        if manifest.original and not _same_text(source, leaves, made):
            raise IntegrityError(
                f"its text is not what {document.extractor} reads in its original here; "
                "somebody has put it in, or another version of a library has read it"
            )
        if [object_id(Kind.CHUNK, passage.data) for passage in made.passages] != leaves:
            continue
        if _says_the_same(document, manifest, made):
            return
        differs = True
    if differs:
        raise IntegrityError("its title, headings, links or front matter are not those of its text")


def _read_again(document: Document, data: bytes, policies: Sequence[ChunkPolicy]) -> Iterator[Extraction]:
    for form, policy in product(readers.FORMATS, policies):
        if form.media_type == document.media_type:
            made = reading.extract(data, f"x{form.suffixes[0]}", policy, extractor=document.extractor)
            remade = made.media_type, made.extractor, made.chunker
            if remade == (document.media_type, document.extractor, document.chunker):
                yield made


def _same_text(source: ObjectSource, leaves: Sequence[bytes], made: Extraction) -> bool:
    text = b"".join([source.get_kind(oid, Kind.CHUNK) for oid in leaves])
    return text == b"".join([passage.data for passage in made.passages])


def _says_the_same(document: Document, manifest: Manifest, made: Extraction) -> bool:
    said = document.title, document.encoding, document.front_matter, list(manifest.links)
    remade = made.title, made.encoding, codec.canonical(made.front_matter), list(made.link_rows)
    return said == remade and all(
        tuple(ref.headings) == tuple(passage.headings)
        for ref, passage in zip(manifest.passages, made.passages, strict=True)
    )


def holds_its_file(source: ObjectSource, oid: bytes) -> bool:
    """Whether a document's pieces, each of which must be as it is recorded, make the file whose hash it records.

    Raises:
        IntegrityError: at the first passage or piece that is not as it is recorded, or that cannot be had.
    """
    document, manifest = read_parts(source, oid)
    encoding, hasher = passage_encoding(document), blake3()
    for number, ref in enumerate(manifest.passages):
        data = source.get_kind(ref.oid, Kind.CHUNK)
        if not fits(ref, data, encoding):
            raise IntegrityError(
                f"passage {number} does not have the bytes and lines that are recorded for it"
            )
        if not manifest.original:
            hasher.update(data)
    for number, (piece, size) in enumerate(manifest.original):
        data = source.get_kind(piece, Kind.CHUNK)
        if len(data) != size:
            raise IntegrityError(f"piece {number} of its original does not have the bytes that are recorded")
        hasher.update(data)
    return hasher.digest() == document.file_hash
