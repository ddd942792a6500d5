"""One version of the KB, read only: the documents under a ledger root, every byte hashed as it is read."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from arbor.errors import ColdDocument, UsageError
from arbor.objects import ledger
from arbor.objects.ids import Kind, object_id
from arbor.objects.ledger_diff import Change, diff
from arbor.objects.links import Link, expand_links
from arbor.objects.model import (
    ChunkRef,
    Document,
    Manifest,
    decode_manifest,
    encode_document,
)
from arbor.repo.file_bytes import iter_pieces, read_document
from arbor.repo.tiers import Tiers, read_cold_words, read_tiers, tiers_word
from arbor.store.odb import ObjectStore
from arbor.text.encodings import decode_passage

DOCUMENTS, CORES = ledger.PATH_PREFIXES
CORE_MARK = "core:"
"""How the name of a core is told from a document's path where both are listed."""
_HERE = "./"
"""Before a document's path that would be taken for the name of a core."""


class Snapshot:
    """The documents of one ledger root."""

    def __init__(self, store: ObjectStore, ledger_root: bytes) -> None:
        self.store = store
        self.ledger_root = ledger_root

    def paths(self, prefix: str = "") -> Iterator[tuple[str, bytes]]:
        """(path, document oid) of each document whose path starts with `prefix`, in path order."""
        for key, oid in ledger.iter_entries(self.store, self.ledger_root, DOCUMENTS + prefix):
            yield key[len(DOCUMENTS) :], oid

    def cores(self, prefix: str = "") -> Iterator[tuple[str, bytes]]:
        """(name, oid) of each core whose name starts with `prefix`, in the order of names."""
        for key, oid in ledger.iter_entries(self.store, self.ledger_root, CORES + prefix):
            yield key[len(CORES) :], oid

    def find(self, path: str) -> bytes | None:
        """The document oid at a path, or None."""
        return self.find_key(DOCUMENTS + path)

    def find_key(self, key: str) -> bytes | None:
        """The oid under a ledger key, or None."""
        return ledger.find(self.store, self.ledger_root, key)

    def get(self, path: str) -> bytes:
        """The document oid at a path.

        Raises:
            UsageError: when there is no document there.
        """
        oid = self.find(path)
        if oid is None and path.startswith(CORE_MARK) and self.find_key(ledger_key(path)) is not None:
            raise UsageError(f"'{path}' is a core and no document", "run: arbor core list")
        if oid is None:
            raise UsageError(
                f"there is no document '{path}' in this revision",
                "run: arbor status, or arbor log -- PATH",
                path,
            )
        return oid

    def changes_since(self, older: bytes) -> Iterator[Change]:
        """The document paths that differ from another ledger root, in path order; keys are paths."""
        for key, before, after in diff(self.store, older, self.ledger_root):
            if key.startswith(DOCUMENTS):
                yield Change(key[len(DOCUMENTS) :], before, after)

    def count(self) -> int:
        """Paths of documents and names of cores."""
        return self.count_documents() + ledger.count_entries(self.store, self.ledger_root, CORES)

    def count_documents(self) -> int:
        """Paths of documents, counted without reading the leaves that hold only documents."""
        return ledger.count_entries(self.store, self.ledger_root, DOCUMENTS)

    def searchable(self) -> Iterator[tuple[str, bytes]]:
        """(path, oid) of what searches look at, in path order: documents, cores as `core:NAME`, no warm ones."""
        warm = self.tiers().warm
        cores = ((CORE_MARK + name, oid) for name, oid in self.cores())
        odd = ((_HERE + path, oid) for path, oid in self.paths(CORE_MARK))
        others = (entry for entry in self.paths() if not entry[0].startswith(CORE_MARK))
        for path, oid in heapq.merge(others, odd, cores):
            if oid not in warm:
                yield path, oid

    def searchable_changes(self, older: bytes) -> Iterator[Change]:
        """What differs in `searchable` from another ledger root; keys are paths, in no particular order."""
        warm = self.tiers().warm
        for key, before, after in diff(self.store, older, self.ledger_root):
            if key.startswith((DOCUMENTS, CORES)):
                change = Change(
                    shown_path(key), None if before in warm else before, None if after in warm else after
                )
                if change.before != change.after:
                    yield change

    def tiers(self) -> Tiers:
        """Which documents are warm and cold in the KB that this version is read from."""
        return read_tiers(self.store.folder.parent)

    def cold_words(self) -> dict[bytes, str]:
        """The keywords that were kept of cold documents, by document oid."""
        return read_cold_words(self.store.folder.parent)

    def tiers_word(self) -> str:
        """A word that differs whenever the tiers do; "" where all is hot."""
        return tiers_word(self.store.folder.parent)

    def document(self, oid: bytes) -> Document:
        """The document of an oid; raises IntegrityError when it is absent or damaged."""
        return read_document(self.store, oid)

    def manifest(self, document: Document) -> Manifest:
        """The manifest of a document; raises IntegrityError when it is absent or damaged."""
        return decode_manifest(self.store.get_kind(document.manifest, Kind.MANIFEST), trusted=True)

    def chunk(self, oid: bytes) -> bytes:
        """The bytes of a chunk, re-hashed now; raises IntegrityError when it is absent or damaged."""
        return self.store.get_kind(oid, Kind.CHUNK)

    def texts(self, document: Document, manifest: Manifest) -> list[str]:
        """The decoded passages of a document, in order."""
        encoding = passage_encoding(document)
        return [decode_passage(self.chunk(ref.oid), encoding) for ref in manifest.passages]

    def line_spans(self, document: Document, manifest: Manifest) -> Iterator[tuple[int, int]]:
        """First and last line of each passage, from 1; a line that is cut is a line of both passages.

        Where a passage is not stored here it is taken for granted that it ends with its last line.
        """
        line, encoding = 1, passage_encoding(document)
        absent = frozenset(self.store.absent(ref.oid for ref in manifest.passages))
        for ref in manifest.passages:
            after = line + ref.newlines
            ends_line = not ref.size or ref.oid in absent or self._ends_line(ref, encoding)
            yield line, max(line, after - 1) if ends_line else after
            line = after

    def _ends_line(self, ref: ChunkRef, encoding: str) -> bool:
        text: str = decode_passage(self.chunk(ref.oid), encoding)
        return text.endswith("\n")

    def links(self, manifest: Manifest) -> tuple[Link, ...]:
        """The links found in a document's text, in order."""
        if not manifest.links:
            return ()
        return expand_links(manifest.links, b"".join([self.chunk(ref.oid) for ref in manifest.passages]))

    def iter_file(self, oid: bytes) -> Iterator[bytes]:
        """The bytes of a document's file, piece by piece; raises as `file_pieces` does."""
        document = self.document(oid)
        return self.file_pieces(document, self.manifest(document))

    def file_pieces(self, document: Document, manifest: Manifest) -> Iterator[bytes]:
        """The same of a document that has been read.

        Raises:
            ColdDocument: when pieces are absent because the document is cold here.
            IntegrityError: when a piece is damaged, or absent without that reason; at the end, when they are not the
                file whose hash the document records.
        """
        refs = [oid for oid, _ in manifest.original] or [ref.oid for ref in manifest.passages]
        missing = self.store.absent(refs)
        if missing and self.is_cold(document):
            raise ColdDocument(
                f"the document is cold: {len(missing)} of its {len(refs)} pieces are not stored here",
                "run: arbor rehydrate-cold PATH",
            )
        yield from iter_pieces(self.store, refs, document.file_hash)

    def lacks_pieces(self, oid: bytes) -> bool:
        """Whether a passage, or a piece of the original, of a document is not stored here."""
        manifest = self.manifest(self.document(oid))
        refs = [ref.oid for ref in manifest.passages] + [piece for piece, _ in manifest.original]
        return bool(self.store.absent(refs))

    def is_cold(self, document: Document) -> bool:
        """Whether a document is recorded as cold here."""
        cold = read_tiers(self.store.folder.parent).cold
        return bool(cold) and object_id(Kind.DOCUMENT, encode_document(document)) in cold


def ledger_key(path: str) -> str:
    """The ledger key behind a path of `Snapshot.searchable`."""
    if path.startswith(CORE_MARK):
        return CORES + path[len(CORE_MARK) :]
    return DOCUMENTS + path.removeprefix(_HERE)


def group_paths(listing: Iterable[tuple[str, bytes]]) -> dict[bytes, list[str]]:
    """The paths of each document, in the order in which they are listed."""
    grouped: dict[bytes, list[str]] = {}
    for path, oid in listing:
        grouped.setdefault(oid, []).append(path)
    return grouped


def shown_path(key: str) -> str:
    """The path of `Snapshot.searchable` for a ledger key of a document or core."""
    if key.startswith(CORES):
        return CORE_MARK + key[len(CORES) :]
    path = key[len(DOCUMENTS) :]
    return _HERE + path if path.startswith(CORE_MARK) else path


def passage_encoding(document: Document) -> str:
    """The encoding of a document's passages: extracted text is UTF-8, other passages are slices of the file."""
    return "utf-8" if document.original_count else document.encoding


def display_title(document: Document, path: str) -> str:
    """The document's title, or its file name without the suffix where the content names none."""
    return document.title or PurePosixPath(path).stem
