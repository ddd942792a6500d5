"""Packs on disk: one writer that seals a pack durably, one reader that finds objects in it."""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from blake3 import blake3

from arbor.errors import IntegrityError
from arbor.objects.ids import object_id
from arbor.store import pack_format as fmt
from arbor.store.frames import Batch, FrameBuffer
from arbor.store.files import PositionedFile, fsync_folder, temporary_path, write_atomically
from arbor.store.pack_index import PackIndex, Place, encode_index, encode_row, open_index

CACHED_FRAMES = 24
_QUEUED_FRAMES = 8
_SCAN_BYTES = 1024 * 1024


class PackWriter:
    """Collects objects into a temporary pack and seals it: fsync, rename, fsync of the folder.

    Compression runs on one thread beside the caller. Until `seal` returns, nothing of it can be seen.
    """

    def __init__(self, folder: Path, exists: Callable[[bytes], bool] = lambda oid: False) -> None:
        self._folder = folder
        self._buffer = FrameBuffer(exists)
        self._temporary = temporary_path(folder)
        self._file = open(self._temporary, "xb")  # noqa: SIM115 - closed by seal or discard
        self._hasher = blake3()
        self._offset = 0
        self._rows: list[bytes] = []
        self._offsets: list[int] = []
        self._frames = 0
        self._pool: ThreadPoolExecutor | None = None
        self._queue: list[Future[bytes]] = []
        self._write(fmt.MAGIC)

    def __contains__(self, oid: bytes) -> bool:
        return oid in self._buffer

    def add(self, kind: int, data: bytes, oid: bytes | None = None) -> bytes:
        """Add an object unless this pack or another of the store has it; its oid.

        Args:
            kind: The object's kind.
            data: Its canonical bytes.
            oid: The oid, where the caller has just computed it from `data`.
        """
        if oid is None:
            oid = object_id(kind, data)
        batch = self._buffer.add(kind, data, oid)
        if batch is not None:
            self._compress(batch)
        return oid

    def add_frame(self, frame: bytes, oids: list[bytes]) -> None:
        """Add a whole encoded frame whose objects have these oids, in order; repeated objects stay where they are."""
        fresh = [(slot, oid) for slot, oid in enumerate(oids) if oid not in self._buffer]
        self._rows.extend(encode_row(oid, self._frames, slot) for slot, oid in fresh)
        self._buffer.note(oids)
        done: Future[bytes] = Future()
        done.set_result(frame)
        self._enqueue(done)

    def seal(self) -> str | None:
        """Make the pack durable and visible; its name, or None when nothing was added."""
        for batch in self._buffer.rest():
            self._compress(batch)
        if not self._rows:
            self.discard()
            return None
        self._drain(0)
        self._stop_pool()
        self._write(fmt.encode_trailer(self._frames, len(self._rows)))
        digest = self._hasher.digest()
        self._file.write(digest)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        name = digest.hex()
        index = encode_index(digest, self._rows, self._offsets)
        write_atomically(self._folder / f"{name}.idx", index)
        os.replace(self._temporary, self._folder / f"{name}.pack")
        fsync_folder(self._folder)
        return name

    def discard(self) -> None:
        """Forget everything; the temporary file goes."""
        self._stop_pool()
        self._file.close()
        with contextlib.suppress(OSError):
            self._temporary.unlink()

    def _compress(self, batch: Batch) -> None:
        objects, oids = batch
        self._rows.extend(encode_row(oid, self._frames, slot) for slot, oid in enumerate(oids))
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="arbor-pack")
        self._enqueue(self._pool.submit(fmt.encode_frame, objects))

    def _enqueue(self, frame: Future[bytes]) -> None:
        self._frames += 1
        self._queue.append(frame)
        self._drain(_QUEUED_FRAMES)

    def _drain(self, leave: int) -> None:
        while len(self._queue) > leave:
            self._offsets.append(self._offset)
            self._write(self._queue.pop(0).result())

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._hasher.update(data)
        self._offset += len(data)

    def _stop_pool(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


class Pack:
    """One sealed pack, opened for reading; safe from several threads."""

    def __init__(self, fs_path: Path) -> None:
        self.fs_path = fs_path
        self.name = fs_path.stem
        self._file = PositionedFile(fs_path)
        self._frames: OrderedDict[int, fmt.Frame] = OrderedDict()
        self.index = self._open_index()

    def _open_index(self) -> PackIndex:
        try:
            return open_index(self.fs_path.with_suffix(".idx"), bytes.fromhex(self.name))
        except (FileNotFoundError, IntegrityError, ValueError):
            return self.scan_index()

    def scan_index(self) -> PackIndex:
        """An index made now from the pack's bytes; kept on disk where that is allowed."""
        rows, offsets = [], []
        for number, (offset, frame) in enumerate(self.iter_frames()):
            offsets.append(offset)
            if frame is not None:
                rows += [encode_row(oid, number, slot) for slot, (_, oid, _) in enumerate(frame.objects())]
        try:
            pack_hash = bytes.fromhex(self.name)
        except ValueError as error:
            raise IntegrityError(f"'{self.fs_path.name}' is not a pack name") from error
        data = encode_index(pack_hash, rows, offsets)
        with contextlib.suppress(OSError):
            write_atomically(self.fs_path.with_suffix(".idx"), data)
        return PackIndex(data, pack_hash)

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

    def packed_frame(self, number: int) -> bytes:
        """The frame's bytes as they lie in the pack, header included."""
        offset = self.index.frame_offsets[number]
        header = fmt.decode_frame_header(self._file.read_at(offset, fmt.HEADER_BYTES))
        if header is None:
            raise IntegrityError(f"pack {self.name[:12]} has a damaged frame at byte {offset}")
        return self._file.read_at(offset, fmt.HEADER_BYTES + header.packed_bytes)

    def _frame_at(self, offset: int) -> fmt.Frame:
        header = fmt.decode_frame_header(self._file.read_at(offset, fmt.HEADER_BYTES))
        if header is None:
            raise IntegrityError(f"pack {self.name[:12]} has a damaged frame at byte {offset}")
        return self.frame_at(offset, header)

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
        return hasher.hexdigest() == self.name and self._file.read_at(max(end, 0), 32) == hasher.digest()

    def close(self) -> None:
        """Give the file handle back."""
        self._file.close()
