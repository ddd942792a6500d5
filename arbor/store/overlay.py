"""A store with objects in memory over it: for a look at what would be, of which nothing is kept."""

from __future__ import annotations

from collections.abc import Iterable

from arbor.objects.ids import object_id
from arbor.store.odb import ObjectStore


class OverlayStore(ObjectStore):
    """Objects that were added here, and those of the store below. What is added goes when this does."""

    def __init__(self, below: ObjectStore) -> None:
        super().__init__(below.folder)
        self._below = below
        self._added: dict[bytes, tuple[int, bytes]] = {}

    def add(self, kind: int, data: bytes, oid: bytes | None = None) -> bytes:
        """Add an object unless it is stored; its oid."""
        oid = object_id(kind, data) if oid is None else oid
        if not self._below.holds(oid):
            self._added[oid] = kind, data
        return oid

    def has(self, oid: bytes) -> bool:
        """Whether an object was added here or is stored below."""
        return oid in self._added or self._below.has(oid)

    def absent(self, oids: Iterable[bytes]) -> list[bytes]:
        """Those that were not added here and are not stored below."""
        return self._below.absent(oid for oid in oids if oid not in self._added)

    def get(self, oid: bytes) -> tuple[int, bytes]:
        """(kind, bytes) of an object; raises IntegrityError when it is absent or damaged."""
        return self._added.get(oid) or self._below.get(oid)
