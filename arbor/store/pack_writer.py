"""Writing a pack: objects come in, a sealed and durable pack with its index comes out."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from blake3 import blake3

from arbor.errors import StorageError
from arbor.lazy import lazy_module
from arbor.objects.ids import object_id
from arbor.store import pack_format as fmt
from arbor.store.files import fsync_folder, put_durably, temporary_path, write_atomically
from arbor.store.frames import Batch, FrameBuffer
from arbor.store.pack_index import encode_index, encode_row

if TYPE_CHECKING:
    from concurrent import futures
else:  # not all that opens a store writes to it
    futures = lazy_module("concurrent.futures")

_QUEUED_FRAMES = 8


class PackWriter:
    """Collects objects into a temporary pack and seals it: fsync, rename, fsync of the folder.

    Compression runs on one thread beside the caller, where there is more to it than the end of a small pack. Until
    `seal` returns, nothing of it can be seen.
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
        self._pool: futures.ThreadPoolExecutor | None = None
        self._queue: list[Callable[[], bytes]] = []
        self._broken = False
        self.name: str | None = None
        """The pack's name once it is sealed; None where there was nothing to write."""
        try:
            self._write(fmt.MAGIC)
        except BaseException:
            self.discard()
            raise

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
        self._enqueue(lambda: frame)

    def seal(self) -> str | None:
        """Make the pack durable and visible; its name, or None when nothing was added.

        Raises:
            StorageError: when something could not be written before; nothing becomes visible.
        """
        if self._broken:
            raise StorageError("the pack was not written whole", "free some space and run the command again")
        for batch in self._buffer.rest():
            self._take(batch)
        if not self._rows:
            self.discard()
            # What was here already may have come from somebody killed before the name of its pack was durable.
            fsync_folder(self._folder)
            return None
        self._drain(0)
        self._stop_pool()
        self._write(fmt.encode_trailer(self._frames, len(self._rows)))
        digest = self._hasher.digest()
        self._file.write(digest)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self.name = name = digest.hex()
        index = encode_index(digest, self._rows, self._offsets)
        write_atomically(self._folder / f"{name}.idx", index)
        put_durably(self._temporary, self._folder / f"{name}.pack")
        return name

    def discard(self) -> None:
        """Forget everything; the temporary file goes."""
        self._stop_pool()
        # On a full disk even closing fails, since it writes what is left in the buffer.
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._temporary.unlink()

    def _compress(self, batch: Batch) -> None:
        if self._pool is None:
            self._pool = futures.ThreadPoolExecutor(1, thread_name_prefix="arbor-pack")
        self._take(batch)

    def _take(self, batch: Batch) -> None:
        objects, oids = batch
        self._rows.extend(encode_row(oid, self._frames, slot) for slot, oid in enumerate(oids))
        frame: Callable[[], bytes] = functools.partial(fmt.encode_frame, objects)
        if self._pool is not None:
            with contextlib.suppress(
                RuntimeError
            ):  # no thread starts: there are as many as the user may have
                frame = self._pool.submit(fmt.encode_frame, objects).result
        self._enqueue(frame)

    def _enqueue(self, frame: Callable[[], bytes]) -> None:
        self._frames += 1
        self._queue.append(frame)
        self._drain(_QUEUED_FRAMES)

    def _drain(self, leave: int) -> None:
        while len(self._queue) > leave:
            self._offsets.append(self._offset)
            self._write(self._queue.pop(0)())

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except BaseException:
            # A part of it may be in the file: what comes after would not be where the index says.
            self._broken = True
            raise
        self._hasher.update(data)
        self._offset += len(data)

    def _stop_pool(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
