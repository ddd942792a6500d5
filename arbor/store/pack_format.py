"""The bytes of a pack: frames of objects, each with a checked header, closed by a trailer with the hash of it all.

`docs/format/packs.md` gives the layout. A pack is immutable and named by its own BLAKE3. Oids are not stored: they
are the hashes of what is stored, so a scan of the pack rebuilds its index and cannot be lied to.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from blake3 import blake3

from arbor.errors import IntegrityError
from arbor.objects.codec import MAX_OBJECT_BYTES
from arbor.objects.ids import Kind, object_ids
from arbor.store import compression

MAGIC = b"ARBPACK1"
FRAME_MAGIC = b"FRAM"
TRAILER_MAGIC = b"PEND"
FRAME_TARGET_BYTES = 256 * 1024
MAX_FRAME_BYTES = MAX_OBJECT_BYTES + 1024 * 1024
MAX_FRAME_OBJECTS = 65_535
_HEAD = struct.Struct("<4sIII8s")
_ROW = struct.Struct("<BI")
_TRAILER = struct.Struct("<4sII")
HEADER_BYTES = _HEAD.size + 8
TRAILER_BYTES = _TRAILER.size + 32
_KINDS = frozenset(map(int, Kind))


class FrameHeader(NamedTuple):
    """What a frame's header says: objects in it, bytes unpacked and packed, and the payload's checksum."""

    count: int  # type: ignore[assignment]  # of no use as a tuple's method
    raw_bytes: int
    packed_bytes: int
    check: bytes


class Frame(NamedTuple):
    """An unpacked frame: kind, start and end of each object in `raw`."""

    raw: bytes
    kinds: Sequence[int]
    bounds: Sequence[int]

    def object_at(self, slot: int) -> tuple[int, bytes]:
        """(kind, bytes) of the object in this slot."""
        return self.kinds[slot], self.raw[self.bounds[slot] : self.bounds[slot + 1]]

    def objects(self) -> Iterator[tuple[int, bytes, bytes]]:
        """(kind, oid, bytes) of every object, the oid computed now."""
        for kind, oid, start, end in zip(self.kinds, self.oids(), self.bounds, self.bounds[1:], strict=False):
            yield kind, oid, self.raw[start:end]

    def oids(self) -> list[bytes]:
        """The oid of every object, computed now."""
        return object_ids(self.kinds, memoryview(self.raw), self.bounds)

    def words(self, oids: Sequence[bytes]) -> dict[int, list[tuple[bytes, bytes]]]:
        """(oid, bytes) of every object that is no chunk, by kind; `oids` are those of the frame."""
        found: dict[int, list[tuple[bytes, bytes]]] = {}
        for slot, kind in enumerate(self.kinds):
            if kind != Kind.CHUNK:
                found.setdefault(kind, []).append((oids[slot], self.object_at(slot)[1]))
        return found


def encode_frame(objects: Sequence[tuple[int, bytes]]) -> bytes:
    """The bytes of a frame that holds (kind, data) pairs in order."""
    table = b"".join([_ROW.pack(kind, len(data)) for kind, data in objects])
    raw = table + b"".join([data for _, data in objects])
    payload = compression.compress(raw)
    head = _HEAD.pack(FRAME_MAGIC, len(objects), len(raw), len(payload), blake3(payload).digest(8))
    return head + blake3(head).digest(8) + payload


def decode_frame_header(data: bytes) -> FrameHeader | None:
    """The header at the start of `data`, or None where there is no sound one."""
    head = data[: _HEAD.size]
    if len(data) < HEADER_BYTES or blake3(head).digest(8) != data[_HEAD.size : HEADER_BYTES]:
        return None
    magic, count, raw_bytes, packed_bytes, check = _HEAD.unpack(head)
    if magic != FRAME_MAGIC or count > MAX_FRAME_OBJECTS or raw_bytes > MAX_FRAME_BYTES:
        return None
    return FrameHeader(count, raw_bytes, packed_bytes, check)


def decode_frame(header: FrameHeader, payload: bytes) -> Frame:
    """The objects of a frame.

    Raises:
        IntegrityError: when the payload does not fit its checksum, or its table does not fit its content.
    """
    if len(payload) != header.packed_bytes or blake3(payload).digest(8) != header.check:
        raise IntegrityError("a pack frame is damaged")
    raw = compression.decompress(payload, header.raw_bytes)
    table_bytes = header.count * _ROW.size
    if table_bytes > len(raw):
        raise IntegrityError("a pack frame has a broken table")
    rows = list(_ROW.iter_unpack(raw[:table_bytes]))
    kinds = [kind for kind, _ in rows]
    bounds = list(accumulate((size for _, size in rows), initial=table_bytes))
    if bounds[-1] != len(raw) or not _KINDS.issuperset(kinds):
        raise IntegrityError("a pack frame has a broken table")
    return Frame(raw, kinds, bounds)


def encode_trailer(frames: int, objects: int) -> bytes:
    """The trailer without the hash, which covers it too."""
    return _TRAILER.pack(TRAILER_MAGIC, frames, objects)


def decode_trailer(data: bytes) -> tuple[int, int, bytes]:
    """(frames, objects, hash of all that stands before the hash) of a pack's last `TRAILER_BYTES`.

    Raises:
        IntegrityError: when the trailer is not one.
    """
    if len(data) != TRAILER_BYTES:
        raise IntegrityError("a pack is cut short")
    magic, frames, objects = _TRAILER.unpack(data[: _TRAILER.size])
    if magic != TRAILER_MAGIC:
        raise IntegrityError("a pack has no trailer")
    return frames, objects, data[_TRAILER.size :]
