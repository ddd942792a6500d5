"""A knowledge base without a repository around it: an object store, and a ledger for every state it is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from arbor.objects import ledger
from arbor.objects.ids import Kind
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.staging.ingest import store_extraction
from arbor.store.odb import ObjectStore
from arbor.text.reading import extract


class SmallKb:
    """Objects in `folder/packs`, an index in `folder/cache`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.packs = folder / "packs"
        self.packs.mkdir(parents=True, exist_ok=True)
        self.cache.mkdir(exist_ok=True)
        self.store = ObjectStore(self.packs)

    def commit(self, files: Mapping[str, bytes | str]) -> Snapshot:
        """The snapshot that holds exactly these files."""
        with self.store.writer() as writer:

            def keep_node(oid: bytes, data: bytes) -> None:
                writer.add(Kind.NODE, data, oid)

            entries = []
            for path in sorted(files):
                content = files[path]
                data = content.encode() if isinstance(content, str) else content
                entries.append((DOCUMENTS + path, store_extraction(writer, extract(data, path), data)))
            root = ledger.build(entries, keep_node)
        return Snapshot(self.store, root)

    def snapshot(self, ledger_root: bytes) -> Snapshot:
        """The snapshot of a ledger that was committed before."""
        return Snapshot(self.store, ledger_root)
