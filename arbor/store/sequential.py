"""Reading most of a store once: frames are unpacked and hashed whole, the latest ones kept at hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from arbor.errors import IntegrityError
from arbor.objects.ids import Kind
from arbor.store.odb import ObjectStore, of_kind

FRAMES_AT_HAND = 16


def in_stored_order(store: ObjectStore, oids: Iterable[bytes]) -> list[bytes]:
    """The oids by where they lie, so that each frame is unpacked once; unknown ones come last."""
    packs = store.packs()

    def place(oid: bytes) -> tuple[int, int]:
        for number, pack in enumerate(packs):
            found = pack.index.find(oid)
            if found is not None:
                return number, found.frame
        return len(packs), 0

    return sorted(oids, key=place)


class SequentialReader:
    """Objects by oid for a caller that wants nearly all of them, about in the order they were written.

    An object is found in the frames at hand by the hash that was just computed of it, without a search in a
    pack index. For one thread.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._objects: dict[bytes, tuple[int, bytes]] = {}
        self._frames: deque[list[bytes]] = deque()

    def get_kind(self, oid: bytes, kind: Kind) -> bytes:
        """The bytes of an object that must be of this kind, hashed now or a moment ago.

        Raises:
            IntegrityError: when it is absent, damaged or of another kind.
        """
        return of_kind(kind, oid, self._objects.get(oid) or self._load(oid))

    def _load(self, oid: bytes) -> tuple[int, bytes]:
        """Read the frame that holds an object; the store decides where anything about it is wrong."""
        for pack in self._store.packs():
            place = pack.index.find(oid)
            if place is None:
                continue
            try:
                frame = pack.read_frame(place.frame)
            except IntegrityError:
                break
            found = {each: (kind, data) for kind, each, data in frame.objects()}
            self._keep(found)
            if oid in found:
                return found[oid]
            break
        return self._store.get(oid)

    def _keep(self, found: dict[bytes, tuple[int, bytes]]) -> None:
        self._objects.update(found)
        self._frames.append(list(found))
        if len(self._frames) > FRAMES_AT_HAND:
            for oid in self._frames.popleft():
                self._objects.pop(oid, None)
