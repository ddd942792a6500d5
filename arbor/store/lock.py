"""The one lock for writers: held by the kernel for an open file, so it ends with its process. Readers never take it."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from arbor.errors import Locked

WAIT_S = 10.0
_POLL_S = 0.02

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextlib.contextmanager
def writer_lock(fs_path: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold the lock for the block.

    Args:
        fs_path: The lock file. It stays; only the kernel's lock on it counts.
        wait_s: Seconds to wait for another writer before giving up.

    Raises:
        Locked: when another writer still holds it after `wait_s`.
    """
    handle = os.open(fs_path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        deadline = time.monotonic() + wait_s
        while not _try_lock(handle):
            if time.monotonic() >= deadline:
                raise Locked(
                    f"another arbor process is writing to {fs_path.parent}",
                    "wait for it to finish; the lock ends with its process, no file needs to be removed",
                )
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(handle)
