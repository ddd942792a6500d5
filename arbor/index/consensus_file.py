"""The file under the consensus state: how it is opened and given back."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from arbor.index.checksum import drop_sum
from arbor.index.schema import BUSY_TIMEOUT_S, CACHE_KIB, connect_to_read, refuse_irregular
from arbor.index.write_ahead import fold_if_large, guarded

_PAGE_BYTES = 4096


def connect_to_change(fs_path: Path, *, create: bool = False) -> sqlite3.Connection:
    """A connection that writes, in write-ahead mode; the caller holds the lock of the state."""
    refuse_irregular(fs_path)
    mode = "rwc" if create else "rw"
    connection = sqlite3.connect(
        f"{fs_path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_S,
        check_same_thread=False, cached_statements=128,
    )  # fmt: skip
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode = WAL")
        # In write-ahead mode a power cut may lose the last update and never harms the file; the stamp tells.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    except BaseException:
        _close_alone(connection, fs_path)
        raise
    return connection


def connect_to_look(fs_path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """A connection that cannot write, so that it leaves all files as they are when it closes."""
    connection = connect_to_read(fs_path, immutable=immutable)
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    return connection


def give_back(connection: sqlite3.Connection, fs_path: Path | None) -> None:
    """Close a connection; the write-ahead file stays apart from the main file unless it has grown large.

    Args:
        connection: The connection.
        fs_path: The file that it changed; None where it could not.
    """
    if fs_path is None or not os.access(fs_path.parent, os.W_OK):
        connection.close()
        return
    try:
        with guarded(fs_path):
            fold_if_large(connection, fs_path)
            connection.close()
    except (sqlite3.DatabaseError, OSError):
        # A file that is no state, that somebody else holds, that is gone, or a disk that is full.
        _close_alone(connection, fs_path)


def _close_alone(connection: sqlite3.Connection, fs_path: Path) -> None:
    """Close the last connection: that may fold the write-ahead file into the main file, which has no checksum then."""
    with contextlib.suppress(OSError):
        drop_sum(fs_path)
    connection.close()
