"""Objects gathered into frames: passages apart from what describes them, since like compresses like best."""

from __future__ import annotations

from collections.abc import Callable

from arbor.errors import UsageError
from arbor.objects.codec import MAX_OBJECT_BYTES
from arbor.objects.ids import Kind, object_id
from arbor.store.pack_format import FRAME_TARGET_BYTES, MAX_FRAME_OBJECTS, encode_frame

Batch = tuple[list[tuple[int, bytes]], list[bytes]]
"""The (kind, data) pairs of one frame and their oids, in order."""


class FrameBuffer:
    """Sorts objects into two streams and says when a stream has enough for a frame."""

    def __init__(self, exists: Callable[[bytes], bool]) -> None:
        self._exists = exists
        self._known: set[bytes] = set()
        self._streams: list[Batch] = [([], []), ([], [])]
        self._held_bytes = [0, 0]

    def __contains__(self, oid: bytes) -> bool:
        return oid in self._known

    def note(self, oids: list[bytes]) -> None:
        """Take these oids as known."""
        self._known.update(oids)

    def add(self, kind: int, data: bytes, oid: bytes) -> Batch | None:
        """Keep an object unless it is known; the batch that is full now, if one is.

        Raises:
            UsageError: when it is larger than any reader takes.
        """
        if oid in self._known or self._exists(oid):
            return None
        if len(data) > MAX_OBJECT_BYTES:
            raise UsageError(f"an object of {len(data):,} bytes is over the limit of {MAX_OBJECT_BYTES:,}")
        number = 0 if kind == Kind.CHUNK else 1
        objects, oids = self._streams[number]
        full = objects and self._held_bytes[number] + len(data) > FRAME_TARGET_BYTES
        batch = self._cut(number) if full or len(objects) >= MAX_FRAME_OBJECTS else None
        objects, oids = self._streams[number]
        self._known.add(oid)
        objects.append((kind, data))
        oids.append(oid)
        self._held_bytes[number] += len(data)
        return batch

    def rest(self) -> list[Batch]:
        """What is not in a batch yet."""
        return [self._cut(number) for number in (0, 1) if self._streams[number][0]]

    def _cut(self, number: int) -> Batch:
        batch, self._streams[number], self._held_bytes[number] = self._streams[number], ([], []), 0
        return batch


class FrameCollector:
    """Takes objects as a `PackWriter` does and gives encoded frames, so that several processes can prepare them."""

    def __init__(self, exists: Callable[[bytes], bool]) -> None:
        self._buffer = FrameBuffer(exists)
        self._frames: list[tuple[bytes, list[bytes]]] = []

    def add(self, kind: int, data: bytes, oid: bytes | None = None) -> bytes:
        """Keep an object unless it is known; its oid."""
        if oid is None:
            oid = object_id(kind, data)
        batch = self._buffer.add(kind, data, oid)
        if batch is not None:
            self._encode(batch)
        return oid

    def finish(self) -> list[tuple[bytes, list[bytes]]]:
        """The frames made so far with the oids in them, in order."""
        for batch in self._buffer.rest():
            self._encode(batch)
        return self._frames

    def _encode(self, batch: Batch) -> None:
        objects, oids = batch
        self._frames.append((encode_frame(objects), oids))
