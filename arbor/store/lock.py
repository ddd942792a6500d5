"""The one lock for writers: held by the kernel for an open file, so it ends with its process. Readers never take it."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from arbor.errors import Locked, StorageError

WAIT_S = 10.0
_POLL_S = 0.02

_queues: dict[tuple[int, int], deque[object]] = {}
"""Who waits in this process, by the lock file's device and inode: a thread that takes the lock over and over would
else leave the others no moment in which they find it free."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_queues.clear)  # those who wait are not there

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

    _NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL})

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            raise StorageError(
                f"the file system of the knowledge base gives no locks: {(error.strerror or '').lower()}",
                "reading works; to write, mount it with locks (flock), or move the knowledge base to another disk",
            ) from error
        return True


@contextlib.contextmanager
def writer_lock(fs_path: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold the lock for the block.

    Args:
        fs_path: The lock file. It stays; only the kernel's lock on it counts.
        wait_s: Seconds to wait for another writer before giving up.

    Raises:
        Locked: when another writer still holds it after `wait_s`.
        StorageError: when the file system has no locks.
    """
    handle = os.open(fs_path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not (_try_lock(handle) if wait_s <= 0 else _wait_for(handle, wait_s)):
            raise Locked(
                f"another arbor process is writing to {fs_path.parent}",
                "wait for it to finish; the lock ends with its process, no file needs to be removed",
            )
        yield
    finally:
        os.close(handle)


def _wait_for(handle: int, wait_s: float) -> bool:
    """Take the lock when those who asked before in this process have had it; whether it came in time."""
    status, ticket = os.fstat(handle), object()
    key, deadline = (status.st_dev, status.st_ino), time.monotonic() + wait_s
    queue = _queues.setdefault(key, deque())
    try:
        # Within, as an interrupt may come right after it: a ticket left behind bars all others.
        queue.append(ticket)
        while not (queue[0] is ticket and _try_lock(handle)):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True
    finally:
        if ticket in queue:
            queue.remove(ticket)
        if not queue:
            _queues.pop(key, None)


def is_held(fs_path: Path) -> bool:
    """Whether a process holds a lock now; also where nothing may be written."""
    try:
        # A pipe is not to be waited for.
        handle = os.open(fs_path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(handle)
    finally:
        os.close(handle)
