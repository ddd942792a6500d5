"""Files written so that a crash leaves the old content or the new one, and folders made durable."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from blake3 import blake3

from arbor.errors import IntegrityError

TEMPORARY_PREFIX = "tmp-"
CHECK_BYTES = 16


def fsync_folder(fs_path: Path) -> None:
    """Make the names in a folder durable; a no-op where folders cannot be opened (Windows)."""
    try:
        handle = os.open(fs_path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except (PermissionError, OSError):
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)


def temporary_path(folder: Path) -> Path:
    """A new name in the same folder, so that a rename over the target is atomic."""
    return folder / f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(6).hex()}"


def write_atomically(fs_path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file's content as a whole: temporary file, fsync, rename, fsync of the folder.

    Args:
        fs_path: The file; its folder must exist.
        data: The new content.
        durable: False leaves out the fsyncs, for caches that can be made again.
    """
    temporary = temporary_path(fs_path.parent)
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, fs_path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        fsync_folder(fs_path.parent)


def seal(data: bytes) -> bytes:
    """The data with its own checksum in front, so that a flipped bit is found when it is read."""
    return blake3(data).digest(CHECK_BYTES) + data


def unseal(sealed: bytes, what: str) -> bytes:
    """The data of `seal`.

    Raises:
        IntegrityError: when the checksum does not fit; `what` names the file for the reader.
    """
    data = sealed[CHECK_BYTES:]
    if blake3(data).digest(CHECK_BYTES) != sealed[:CHECK_BYTES]:
        raise IntegrityError(f"{what} is damaged: its checksum does not fit")
    return data


def hash_file(fs_path: Path) -> bytes:
    """The plain BLAKE3-256 of a file, read by as many threads as there are cores."""
    return blake3(max_threads=blake3.AUTO).update_mmap(fs_path).digest()


class PositionedFile:
    """A file read at offsets by several threads at once."""

    def __init__(self, fs_path: Path) -> None:
        self._file = open(fs_path, "rb", buffering=0)  # noqa: SIM115 - lives as long as this object
        self._lock = threading.Lock()
        self.size_bytes = os.fstat(self._file.fileno()).st_size

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        """`size_bytes` from `offset`; fewer only where the file ends."""
        if hasattr(os, "pread"):
            return os.pread(self._file.fileno(), size_bytes, offset)
        with self._lock:
            self._file.seek(offset)
            return self._file.read(size_bytes)

    def close(self) -> None:
        """Give the handle back."""
        self._file.close()
