"""What tells one store from another however it is reached: a random number that lies in its folder.

Host names, addresses and mounts say nothing; whoever serves a folder reads what lies in it. A copy of the folder has
the same number, and counts as the same store until the file is removed there.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from arbor.errors import IntegrityError, Locked
from arbor.store.files import read_bounded, write_atomically
from arbor.store.lock import writer_lock

ID_FILE = "store-id"
ID_BYTES = 16
_MAX_FILE_BYTES = 4 * ID_BYTES
UNNAMED = b"servers that do not say which store they are"
"""What all of these are identified by: any two of them may be one, and each may be one of the folders here."""


def read_store_id(folder: Path) -> bytes:
    """The number of the store in a KB's private folder; b"" where it has none yet, or a damaged one."""
    try:
        found = bytes.fromhex(read_bounded(folder / ID_FILE, _MAX_FILE_BYTES).decode("ascii"))
    except (OSError, ValueError, IntegrityError):
        return b""
    return found if len(found) == ID_BYTES else b""


def make_store_id(folder: Path) -> bytes:
    """The same, made where there is none; b"" where nothing may be written.

    Several call it at once, some with the writer lock held and some without: it has a lock of its own.
    """
    if not read_store_id(folder):
        with contextlib.suppress(OSError, Locked), writer_lock(folder / f"{ID_FILE}.lock"):
            if not read_store_id(folder):  # nobody has made it since
                write_atomically(folder / ID_FILE, f"{os.urandom(ID_BYTES).hex()}\n".encode())
    return read_store_id(folder)


def served_as(folder: Path) -> frozenset[bytes]:
    """What servers of the store in a KB's private folder are identified by; an older one does not know its number."""
    return frozenset((make_store_id(folder), UNNAMED)) - {b""}
