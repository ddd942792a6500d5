"""What this store is letting go of: said before others are asked the last time whether they keep their copies.

Two knowledge bases that are each other's only copy, and that no lock can hold at once, do not both let go: each says
first what goes and asks then, so the one that asks later finds that the other's copy is going.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from arbor.objects.ids import OID_BYTES
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
            (folder / LEAVING_FILE).write_bytes(b"".join(oids))
            yield
        finally:
            (folder / LEAVING_FILE).unlink(missing_ok=True)


def read_leaving(folder: Path) -> frozenset[bytes]:
    """What is going now. Look for the objects themselves after this: what went meanwhile is not said any more."""
    try:
        said = (folder / LEAVING_FILE).read_bytes()
    except FileNotFoundError:
        return frozenset()
    if not is_held(folder / _LOCK_FILE):
        return frozenset()  # its process ended before its time
    whole = len(said) - len(said) % OID_BYTES  # one that is being written asks after it, and is told of ours
    return frozenset(said[start : start + OID_BYTES] for start in range(0, whole, OID_BYTES))
