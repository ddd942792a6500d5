"""What arrives is written to quarantine, looked at in full, and only then moved beside the KB's own packs.

The quarantine of one source and question is a folder `.arbor/incoming-<key>/`. When a transfer is interrupted, its
whole frames stay there and the next try asks only for what is missing; when a transfer is refused or done, the
folder goes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path

from blake3 import blake3

from arbor.errors import IntegrityError, Locked
from arbor.remote.protocol.limits import DEFAULT_LIMITS, HELD_BYTES, Limits, Meter
from arbor.remote.protocol.wire import Interrupted
from arbor.remote.quarantine.connectivity import Checked
from arbor.remote.quarantine.inspecting import Inspection, inspect_frames
from arbor.remote.quarantine.whole_files import ArrivedObjects, check_files
from arbor.repo.file_bytes import ObjectSource
from arbor.store import pack_format as fmt
from arbor.store.files import PositionedFile, file_hasher, put_durably, storing, write_all, write_atomically
from arbor.store.lock import writer_lock
from arbor.store.odb import ObjectStore
from arbor.store.pack_index import KEY_BYTES, encode_index

INCOMING_PREFIX = "incoming-"
_FRAMES_FILE = "frames"
_READ_BYTES = 1 << 20
_SAMPLE = 256
_REPEATED_SHARE = 8

TransferProgress = Callable[[int, int, int], None]
"""Called with (objects so far, objects in all or 0 where unknown, bytes so far)."""


def quarantine_key(*parts: str | bytes) -> str:
    """The name of the quarantine for one source and question."""
    hasher = blake3()
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest(12)


def _most_packed_bytes(raw_bytes: int) -> int:
    """What zstd makes of bytes that cannot be compressed, and a little more."""
    return raw_bytes + raw_bytes // 128 + 1024


class _FrameFile:
    """Frames read back from a quarantined file."""

    def __init__(self, fs_path: Path) -> None:
        self._file = PositionedFile(fs_path)
        self.size_bytes = self._file.size_bytes

    def header_at(self, offset: int) -> fmt.FrameHeader | None:
        return fmt.decode_frame_header(self._file.read_at(offset, fmt.HEADER_BYTES))

    def frame_at(self, offset: int, header: fmt.FrameHeader) -> fmt.Frame:
        return fmt.decode_frame(header, self._file.read_at(offset + fmt.HEADER_BYTES, header.packed_bytes))

    def close(self) -> None:
        self._file.close()


class Quarantine:
    """One transfer on its way in. Use `open_quarantine`."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder = folder
        self._path = folder / _FRAMES_FILE
        self._limits = limits
        self._kept = Meter(limits)
        self._frames: list[tuple[int, fmt.FrameHeader]] = []
        self._end = 0
        self._is_gone = False
        self.received_bytes = 0

    def held(self) -> bytes:
        """The first `HELD_BYTES` of each object that an interrupted transfer left here."""
        self.recover()
        if not self._frames:
            return b""
        try:
            return b"".join([oid[:HELD_BYTES] for oid in self._inspect().oids()])
        except IntegrityError:
            self._truncate(0)
            self._frames.clear()
            return b""

    def recover(self) -> None:
        """Find the whole frames of an earlier try, and cut off what follows them."""
        try:
            file = _FrameFile(self._path)
        except FileNotFoundError:
            return
        with contextlib.closing(file):
            offset = len(fmt.MAGIC)
            while offset < file.size_bytes:
                header = file.header_at(offset)
                end = offset + fmt.HEADER_BYTES + (header.packed_bytes if header else 0)
                if header is None or end > file.size_bytes:
                    break
                self._frames.append((offset, header))
                self._kept.take(end - offset, header.raw_bytes, header.count)
                offset = end
        self._truncate(offset if self._frames else 0)

    def _truncate(self, size_bytes: int) -> None:
        os.truncate(self._path, size_bytes)
        self._end = size_bytes

    def receive(
        self, frames: Iterable[bytes], announced: int, progress: TransferProgress | None = None, *,
        some_held: bool = False,
    ) -> None:  # fmt: skip
        """Write frames as they come; only their headers are looked at.

        Args:
            frames: Encoded frames.
            announced: Objects that are to come. Where an earlier try left some here they may be fewer: what is held
                already is announced and not sent.
            progress: Told after each frame.
            some_held: Whether the other side was told of more that is held here than an earlier try left.

        Raises:
            IntegrityError: when a frame has no sound header, the transfer goes beyond its limits, or other than what
                was announced comes.
        """
        came, may_be_fewer = Meter(self._limits, announced), some_held or bool(self._frames)
        with open(self._path, "ab", buffering=0) as file:
            if not self._end:
                write_all(file, fmt.MAGIC)
                self._end = len(fmt.MAGIC)
            for frame in frames:
                header = fmt.decode_frame_header(frame)
                if header is None or len(frame) != fmt.HEADER_BYTES + header.packed_bytes:
                    raise IntegrityError("a pack frame arrived damaged")
                if not header.count or header.packed_bytes > _most_packed_bytes(header.raw_bytes):
                    raise IntegrityError("a pack frame arrived that is larger than what is in it")
                came.take(len(frame), header.raw_bytes, header.count)
                self._kept.take(len(frame), header.raw_bytes, header.count)
                write_all(file, frame)
                self._frames.append((self._end, header))
                self._end += len(frame)
                self.received_bytes += len(frame)
                if progress is not None:
                    progress(self._kept.objects, announced, self.received_bytes)
        if came.objects < announced and not may_be_fewer:
            raise IntegrityError(f"{came.objects} of the {announced} objects came that were announced")

    @property
    def empty(self) -> bool:
        """Whether no whole frame has arrived."""
        return not self._frames

    def inspect(self) -> Inspection:
        """Look at everything that arrived, in this try and earlier ones.

        Raises:
            IntegrityError: at the first thing that is damaged or malformed.
        """
        return self._inspect() if self._frames else Inspection()

    def _inspect(self) -> Inspection:
        file = _FrameFile(self._path)
        with contextlib.closing(file):
            return inspect_frames(file, self._frames)

    def check_files(
        self, inspection: Inspection, checked: Checked, store: ObjectSource, cold: Container[bytes]
    ) -> None:
        """See `arbor.remote.quarantine.whole_files.check_files`; raises IntegrityError."""
        if self._frames:
            with contextlib.closing(_FrameFile(self._path)) as file:
                objects = ArrivedObjects(file, self._frames, inspection.rows, store)
                limits = self._limits
                most = limits.free_file_bytes + limits.max_ratio * self._kept.raw_bytes
                check_files(objects, inspection, checked, cold, most)

    def publish(self, store: ObjectStore, inspection: Inspection) -> None:
        """Make what arrived part of a store, durably; objects that came twice and those that were here are dropped.

        Call it under the writer lock, when everything has been checked.
        """
        rows = inspection.rows
        repeats = _repeats_too_much(rows) if store.may_repeat else _count_repeated(rows) > 0
        if repeats or (store.packs() and _mostly_known(store, inspection)):
            with store.writer() as writer:
                for kind, oid, data in self._objects():
                    writer.add(kind, data, oid)
        elif self._frames:
            self._move_whole(store.folder, rows)

    def _move_whole(self, packs: Path, rows: list[bytes]) -> None:
        """Close what arrived as a pack and move it into the folder of packs."""
        rows = list({row[:KEY_BYTES]: row for row in reversed(rows)}.values())
        hasher = file_hasher(self._end)
        with open(self._path, "r+b") as file:
            while block := file.read(_READ_BYTES):
                hasher.update(block)
            trailer = fmt.encode_trailer(len(self._frames), len(rows))
            hasher.update(trailer)
            digest = hasher.digest()
            file.write(trailer + digest)
            file.flush()
            os.fsync(file.fileno())
        name = digest.hex()
        write_atomically(
            packs / f"{name}.idx", encode_index(digest, rows, [offset for offset, _ in self._frames])
        )
        put_durably(self._path, packs / f"{name}.pack")

    def _objects(self) -> Iterator[tuple[int, bytes, bytes]]:
        file = _FrameFile(self._path)
        with contextlib.closing(file):
            for offset, header in self._frames:
                yield from file.frame_at(offset, header).objects()

    def is_sound(self) -> bool:
        """Whether what an interrupted transfer brought is worth keeping."""
        try:
            return not _repeats_too_much(self._inspect().rows)
        except IntegrityError:
            return False

    def discard(self) -> None:
        """Remove everything, once: by the second time the folder can be another process's."""
        if not self._is_gone:
            self._is_gone = True
            shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def open_quarantine(arbor_folder: Path, key: str, limits: Limits = DEFAULT_LIMITS) -> Iterator[Quarantine]:
    """The quarantine of a source; it goes when the block ends, unless the transfer was interrupted on the way.

    While another process fills the quarantine of the same key, this one gets its own.
    """
    with contextlib.ExitStack() as stack:
        folder = arbor_folder / f"{INCOMING_PREFIX}{key}"
        try:
            stack.enter_context(_locked(folder))
        except Locked:
            folder = arbor_folder / f"{INCOMING_PREFIX}{key}-{os.urandom(4).hex()}"
            stack.enter_context(_locked(folder))
        quarantine = Quarantine(folder, limits)
        keep = False
        try:
            yield quarantine
        except Interrupted:
            # Half an answer is no offence; what would be refused in a whole one is, and does not stay either.
            keep = not quarantine.empty and quarantine.is_sound()
            raise
        except KeyboardInterrupt:
            keep = not quarantine.empty
            raise
        finally:
            if not keep:
                quarantine.discard()


def _repeats_too_much(rows: list[bytes]) -> bool:
    """Whether more objects came twice than in packs that several processes filled at once, which hold a few."""
    return _count_repeated(rows) * _REPEATED_SHARE > len(rows)


def _count_repeated(rows: list[bytes]) -> int:
    return len(rows) - len({row[:KEY_BYTES] for row in rows})


def _mostly_known(store: ObjectStore, inspection: Inspection) -> bool:
    """Whether most of what came was here before, as when a bundle of the whole history brings a few commits."""
    oids = list(inspection.oids())
    some = oids[:: max(len(oids) // _SAMPLE, 1)]
    return sum(map(store.holds, some)) * 2 > len(some)


def held_before(arbor_folder: Path, key: str, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """What `Quarantine.held` would say for this key, with the quarantine left as it is."""
    folder = arbor_folder / f"{INCOMING_PREFIX}{key}"
    if not folder.is_dir():
        return b""
    try:
        with _locked(folder):
            return Quarantine(folder, limits).held()
    except Locked:
        return b""


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(writer_lock(folder / "lock", wait_s=0))
        yield
