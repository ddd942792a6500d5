"""What this store is letting go of: said before others are asked the last time whether they keep their copies.

Two knowledge bases that are each other's only copy, and that no lock can hold at once, do not both let go: each says
first what goes and asks then, so the one that asks later finds that the other's copy is going.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from arbor.objects.ids import OID_BYTES
from arbor.store.files import MAX_STATE_BYTES, read_bounded, write_atomically
from arbor.store.lock import is_held, writer_lock

LEAVING_FILE = "leaving"
_LOCK_FILE = "leaving.lock"


@contextlib.contextmanager
def leaving(folder: Path, oids: Iterable[bytes]) -> Iterator[None]:
    """Let everybody who asks know during the block that these objects are going.

    It need not outlast a power cut: what is said ends with the process that said it, and what it did not drop by then
    is still here.

    Args:
        folder: The KB's private folder; the caller holds its writer lock.
        oids: The objects.

    Raises:
        OSError: when nothing can be written.
    """
    with writer_lock(folder / _LOCK_FILE):
        try:
            # Not through a link that somebody put there: the KB folder may come from somebody else.
            write_atomically(folder / LEAVING_FILE, b"".join(oids), durable=False)
            yield
        finally:
            (folder / LEAVING_FILE).unlink(missing_ok=True)


def read_leaving(folder: Path) -> frozenset[bytes]:
    """What is going now. Look for the objects themselves after this: what went meanwhile is not said any more.

    Raises:
        IntegrityError: when something else than a file is there.
    """
    try:
        said = read_bounded(folder / LEAVING_FILE, MAX_STATE_BYTES)
    except FileNotFoundError:
        return frozenset()
    if not is_held(folder / _LOCK_FILE):
        return frozenset()  # its process ended before its time
    return frozenset(said[start : start + OID_BYTES] for start in range(0, len(said), OID_BYTES))
