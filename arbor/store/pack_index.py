"""The index of one pack: sorted oids with their places. Derived: a scan of the pack makes it again."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from blake3 import blake3

from arbor.errors import IntegrityError
from arbor.store.files import open_regular

MAGIC = b"ARBINDX1"
_HEAD = struct.Struct("<8sII32s")
_PLACE = struct.Struct(">IH")
KEY_BYTES = 20
"""An index row holds the first 160 bits of an oid. What is read is hashed and compared in full, so a row that
answered for another oid could hide an object but never pass for it."""
_ROW_BYTES = KEY_BYTES + _PLACE.size
_ROW = struct.Struct(f">{KEY_BYTES}sIH")
_FANOUT = struct.Struct("<257I")


class Place(NamedTuple):
    """Where an object lies in its pack."""

    frame: int
    slot: int


def encode_row(oid: bytes, frame: int, slot: int) -> bytes:
    """One index row; rows sort as their oids do."""
    return oid[:KEY_BYTES] + _PLACE.pack(frame, slot)


def decode_row(row: bytes) -> Place:
    """The place that an index row names."""
    return Place(*_PLACE.unpack(row[KEY_BYTES:]))


def encode_index(pack_hash: bytes, rows: list[bytes], frame_offsets: Sequence[int]) -> bytes:
    """The bytes of an index over `encode_row` rows and the frames' offsets in the pack."""
    rows = sorted(rows)
    counts = [0] * 257
    for row in rows:
        counts[row[0] + 1] += 1
    for i in range(256):
        counts[i + 1] += counts[i]
    body = b"".join([
        _HEAD.pack(MAGIC, len(rows), len(frame_offsets), pack_hash),
        _FANOUT.pack(*counts),
        *rows,
        struct.pack(f"<{len(frame_offsets)}Q", *frame_offsets),
    ])  # fmt: skip
    return body + blake3(body).digest()


class PackIndex:
    """A pack index over bytes or a memory map.

    Raises:
        IntegrityError: when the header or the size is not that of an index of this pack.
    """

    def __init__(self, data: bytes | mmap.mmap, pack_hash: bytes) -> None:
        if len(data) < _HEAD.size + _FANOUT.size + 32:
            raise IntegrityError("a pack index is cut short")
        magic, self.count, frames, named = _HEAD.unpack(data[: _HEAD.size])
        rows_end = _HEAD.size + _FANOUT.size + self.count * _ROW_BYTES
        if magic != MAGIC or named != pack_hash or len(data) != rows_end + 8 * frames + 32:
            raise IntegrityError("a pack index does not fit its pack")
        self._data = data
        self._rows = _HEAD.size + _FANOUT.size
        self._fanout = _FANOUT.unpack(data[_HEAD.size : self._rows])
        self.frame_offsets: tuple[int, ...] = struct.unpack(
            f"<{frames}Q", data[rows_end : rows_end + 8 * frames]
        )

    def find(self, oid: bytes) -> Place | None:
        """The place of an oid, or None."""
        data, base, key = self._data, self._rows, oid[:KEY_BYTES]
        low, end = self._fanout[oid[0]], self._fanout[oid[0] + 1]
        if low == end:  # as mostly in a small pack
            return None
        high = end
        while low < high:  # by hand: `bisect` with a key costs half as much again
            middle = (low + high) // 2
            start = base + middle * _ROW_BYTES
            if data[start : start + KEY_BYTES] < key:
                low = middle + 1
            else:
                high = middle
        start = base + low * _ROW_BYTES
        if low == end or data[start : start + KEY_BYTES] != key:
            return None
        return Place(*_PLACE.unpack(data[start + KEY_BYTES : start + _ROW_BYTES]))

    def places_from(self, prefix: bytes) -> Iterator[tuple[bytes, Place]]:
        """(key, place) in ascending order, from the first key that is not below `prefix`."""
        for row in range(self._fanout[prefix[0]] if prefix else 0, self.count):
            start = self._rows + row * _ROW_BYTES
            key = self._data[start : start + KEY_BYTES]
            if key >= prefix[:KEY_BYTES]:
                yield key, Place(*_PLACE.unpack(self._data[start + KEY_BYTES : start + _ROW_BYTES]))

    def rows(self) -> Iterator[tuple[bytes, int, int]]:
        """(key, frame, slot) of every object, in ascending order of keys."""
        return _ROW.iter_unpack(self._data[self._rows : self._rows + self.count * _ROW_BYTES])

    def keys(self) -> list[bytes]:
        """The first `KEY_BYTES` of every oid, in ascending order."""
        rows = self._data[self._rows : self._rows + self.count * _ROW_BYTES]
        return [rows[start : start + KEY_BYTES] for start in range(0, len(rows), _ROW_BYTES)]

    def check(self) -> bool:
        """Whether the checksum fits; reads the whole index."""
        return blake3(self._data[:-32]).digest() == self._data[-32:]


def open_index(fs_path: Path, pack_hash: bytes) -> PackIndex:
    """The index in a file, mapped into memory.

    Raises:
        FileNotFoundError: when there is none.
        IntegrityError: when it is not an index of this pack.
    """
    with open_regular(fs_path) as file:
        try:
            data: bytes | mmap.mmap = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            data = b""
    return PackIndex(data, pack_hash)
