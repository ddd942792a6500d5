"""What tells one store from another however it is reached: a random number that lies in its folder.

Host names, addresses and mounts say nothing; whoever serves a folder reads what lies in it. A copy of the folder has
the same number, and counts as the same store until the file is removed there.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from arbor.store.files import temporary_path

ID_FILE = "store-id"
ID_BYTES = 16


def read_store_id(folder: Path) -> bytes:
    """The number of the store in a KB's private folder; b"" where it has none yet."""
    try:
        with open(folder / ID_FILE, "rb") as file:
            found = bytes.fromhex(file.read(4 * ID_BYTES).decode("ascii"))
    except (OSError, ValueError):
        return b""
    return found if len(found) == ID_BYTES else b""


def make_store_id(folder: Path) -> bytes:
    """The same, made where there is none; b"" where nothing may be written.

    It is called without a lock, by several at once: a link is made by one of them only, and of a whole file.
    """
    if not read_store_id(folder):
        temporary = temporary_path(folder)
        with contextlib.suppress(OSError):
            try:
                temporary.write_text(os.urandom(ID_BYTES).hex() + "\n", "ascii")
                os.link(temporary, folder / ID_FILE)
            finally:
                temporary.unlink(missing_ok=True)
    return read_store_id(folder)
