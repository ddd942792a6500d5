"""The locks of those who write derived state. Who only reads needs none while what is there is current."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator
from pathlib import Path

from arbor.errors import ArborError, Locked
from arbor.store.files import storing
from arbor.store.lock import writer_lock

Told = Callable[[str], None]
"""Is told in a sentence what takes a while."""

LOCK_WAIT_S = 120.0
"""How long whoever was told to rebuild waits for another writer."""
FOLLOW_WAIT_S = 3.0
"""How long a commit waits: what it cannot bring along, the next search does."""
READER_WAIT_S = 2.0
"""How long a reader waits for what another process is just making; then it makes its own."""
_QUIET_S = 0.3


@contextlib.contextmanager
def writing_cache(
    folder: Path, lock_file: str, wait_s: float, told: Told | None = None, what: str = "the caches"
) -> Iterator[None]:
    """Hold the lock of derived state for the block, in a folder that is made where it is missing.

    Args:
        folder: Where the state lies.
        lock_file: Name of its lock.
        wait_s: Seconds to wait for another writer.
        told: Told once when that is not at hand at once.
        what: The state in words.

    Raises:
        Locked: when another process keeps the lock.
        StorageError: when the system refuses something in the block: a full disk, no permission, read-only media.
    """
    with storing(folder), contextlib.ExitStack() as stack:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            stack.enter_context(writer_lock(folder / lock_file, min(_QUIET_S, wait_s)))
        except Locked:
            if wait_s <= _QUIET_S:
                raise
            if told is not None:
                told(f"another process is updating {what}: waiting for it")
            stack.enter_context(writer_lock(folder / lock_file, wait_s - _QUIET_S))
        yield


def is_read_only(error: ArborError) -> bool:
    """Whether an error of `writing_cache` means that nobody may write here at all."""
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
