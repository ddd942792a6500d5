"""Sealed packs on disk: finding objects in them, and walking them when their index cannot be trusted."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from blake3 import blake3

from arbor.errors import IntegrityError
from arbor.store import pack_format as fmt
from arbor.store.files import PositionedFile, write_atomically
from arbor.store.pack_index import PackIndex, Place, encode_index, encode_row, open_index

CACHED_FRAMES = 24
_SCAN_BYTES = 1024 * 1024


class Pack:
    """One sealed pack, opened for reading; safe from several threads."""

    def __init__(self, fs_path: Path) -> None:
        self.fs_path = fs_path
        self.name = fs_path.stem
        self._file = PositionedFile(fs_path)
        self._frames: OrderedDict[int, fmt.Frame] = OrderedDict()
        self._hash = bytes.fromhex(self.name)
        self.scanned = False
        """Whether the index was made from the pack's bytes by this process, so that another scan finds no more."""
        self.index = self._open_index()

    def _open_index(self) -> PackIndex:
        try:
            return open_index(self.fs_path.with_suffix(".idx"), self._hash)
        except (OSError, IntegrityError):
            return self._scan_index()

    def _scan_index(self) -> PackIndex:
        """An index made now from the pack's bytes; kept on disk where that is allowed and nothing is damaged.

        The index of a damaged pack would go on hiding what is in it after its bytes have been brought back.
        """
        rows, offsets, sound = [], [], True
        for number, (offset, frame) in enumerate(self.iter_frames()):
            offsets.append(offset)
            sound = sound and frame is not None
            if frame is not None:
                rows += [encode_row(oid, number, slot) for slot, (_, oid, _) in enumerate(frame.objects())]
        self.scanned = True
        data = encode_index(self._hash, rows, offsets)
        if sound:
            with contextlib.suppress(OSError):
                write_atomically(self.fs_path.with_suffix(".idx"), data)
        return PackIndex(data, self._hash)

    def rescan(self) -> None:
        """Replace an index that was found wrong; frames are numbered anew, so none is kept."""
        self.index = self._scan_index()
        self._frames = OrderedDict()

    def get(self, place: Place) -> tuple[int, bytes]:
        """(kind, bytes) at a place; not yet compared with any oid.

        Raises:
            IntegrityError: when the frame is damaged or has no such slot.
        """
        frame = self._frames.get(place.frame)
        if frame is None:
            frame = self.read_frame(place.frame)
            self._frames[place.frame] = frame
            while len(self._frames) > CACHED_FRAMES:
                with contextlib.suppress(KeyError):
                    self._frames.popitem(last=False)
        if place.slot >= len(frame.kinds):
            raise IntegrityError("a pack index points beyond a frame")
        return frame.object_at(place.slot)

    def read_frame(self, number: int) -> fmt.Frame:
        """The frame of this number, through the index's offsets."""
        if number >= len(self.index.frame_offsets):
            raise IntegrityError("a pack index points beyond its pack")
        return self._frame_at(self.index.frame_offsets[number])

    @property
    def size_bytes(self) -> int:
        """Bytes of the pack on disk."""
        return self._file.size_bytes

    def read_raw(self, offset: int, size_bytes: int) -> bytes:
        """Bytes as they lie in the pack, from an offset that `walk` gave."""
        return self._file.read_at(offset, size_bytes)

    def packed_frame(self, number: int) -> bytes:
        """The frame's bytes as they lie in the pack, header included."""
        offset = self.index.frame_offsets[number]
        return self._file.read_at(offset, fmt.HEADER_BYTES + self._header_at(offset).packed_bytes)

    def frame_count(self, number: int) -> int:
        """How many objects are in a frame, those included that an earlier frame has too."""
        return self._header_at(self.index.frame_offsets[number]).count

    def _frame_at(self, offset: int) -> fmt.Frame:
        return self.frame_at(offset, self._header_at(offset))

    def _header_at(self, offset: int) -> fmt.FrameHeader:
        header = fmt.decode_frame_header(self._file.read_at(offset, fmt.HEADER_BYTES))
        if header is None:
            raise IntegrityError(f"pack {self.name[:12]} has a damaged frame at byte {offset}")
        return header

    def walk(self) -> Iterator[tuple[int, fmt.FrameHeader | None]]:
        """(offset, header) of each frame, found from the pack's own bytes; None where a header is damaged.

        After a damaged header the walk goes on at the next sound one, so one bad frame costs only itself.
        """
        offset, end = len(fmt.MAGIC), self._file.size_bytes - fmt.TRAILER_BYTES
        while offset < end:
            header = fmt.decode_frame_header(self._file.read_at(offset, fmt.HEADER_BYTES))
            yield offset, header
            if header is not None:
                offset += fmt.HEADER_BYTES + header.packed_bytes
                continue
            found = self._next_header(offset + 1, end)
            if found is None:
                return
            offset = found

    def frame_at(self, offset: int, header: fmt.FrameHeader) -> fmt.Frame:
        """The frame at an offset that `walk` gave; raises IntegrityError when it is damaged."""
        return fmt.decode_frame(header, self._file.read_at(offset + fmt.HEADER_BYTES, header.packed_bytes))

    def iter_frames(self) -> Iterator[tuple[int, fmt.Frame | None]]:
        """(offset, frame) of each frame found by walking the pack; None for a damaged one."""
        for offset, header in self.walk():
            try:
                yield offset, None if header is None else self.frame_at(offset, header)
            except IntegrityError:
                yield offset, None

    def _next_header(self, start: int, end: int) -> int | None:
        while start < end:
            block = self._file.read_at(start, min(_SCAN_BYTES, end - start) + fmt.HEADER_BYTES)
            found = block.find(fmt.FRAME_MAGIC)
            while found >= 0:
                if fmt.decode_frame_header(block[found : found + fmt.HEADER_BYTES]) is not None:
                    return start + found
                found = block.find(fmt.FRAME_MAGIC, found + 1)
            start += _SCAN_BYTES
        return None

    def check_hash(self) -> bool:
        """Whether the pack's bytes still hash to its name; reads the whole pack."""
        hasher, offset, end = blake3(), 0, self._file.size_bytes - 32
        while offset < end:
            block = self._file.read_at(offset, min(8 * _SCAN_BYTES, end - offset))
            if not block:
                return False
            hasher.update(block)
            offset += len(block)
        return hasher.hexdigest() == self.name and self._file.read_at(end, 32) == hasher.digest()
