"""Documents whose bytes are looked for, gathered before anybody is asked for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from arbor.objects.ids import Kind
from arbor.objects.model import Document, Manifest
from arbor.objects.passages import decode_parts
from arbor.records import dataclass
from arbor.repo.file_bytes import read_document
from arbor.store.odb import ObjectStore
from arbor.store.sequential import SequentialReader, in_stored_order


@dataclass(frozen=True, slots=True)
class Wanted:
    """A document whose bytes are looked for.

    Attributes:
        oid, document, manifest: The document; the manifest as `decode_parts` gives it.
        paths: Where it lies in the KB, at least one.
    """

    oid: bytes
    document: Document
    manifest: Manifest
    paths: tuple[str, ...]

    def chunk_oids(self) -> list[bytes]:
        """Its passages and pieces of the original, each once, in order."""
        oids = [ref.oid for ref in self.manifest.passages] + [oid for oid, _ in self.manifest.original]
        return list(dict.fromkeys(oids))


def iter_wanted(store: ObjectStore, paths: Mapping[bytes, Sequence[str]]) -> Iterator[Wanted]:
    """The documents of these oids with their paths, in the order in which they are stored."""
    reader = SequentialReader(store)
    for oid in in_stored_order(store, paths):
        document = read_document(reader, oid)
        manifest = decode_parts(reader.get_kind(document.manifest, Kind.MANIFEST))
        yield Wanted(oid, document, manifest, tuple(paths[oid]))
