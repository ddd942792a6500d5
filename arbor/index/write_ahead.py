"""The write-ahead file of a database, kept apart from the main file until that can get a new checksum.

The last connection to close folds the write-ahead file into the database by itself, which would change the main
file behind its checksum. A connection that cannot write does not, so one of them is closed last.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from arbor.index.checksum import drop_sum, has_sum, write_sum
from arbor.index.schema import connect_to_read

FOLD_BYTES = 8 * 1024 * 1024
"""The write-ahead file is folded into the main file beyond this size."""


@contextlib.contextmanager
def guarded(fs_path: Path) -> Iterator[None]:
    """Whatever is closed within the block leaves the write-ahead file as it is."""
    guard = connect_to_read(fs_path)
    try:
        guard.execute("SELECT 1 FROM meta").fetchall()
        yield
    finally:
        guard.close()


def fold_if_large(connection: sqlite3.Connection, fs_path: Path) -> None:
    """Fold a large write-ahead file into the main file, and any where the main file has lost its checksum."""
    size = 0
    with contextlib.suppress(FileNotFoundError):
        size = os.stat(f"{fs_path}-wal").st_size
    if size >= FOLD_BYTES or not has_sum(fs_path):
        fold(connection, fs_path)


def fold(connection: sqlite3.Connection, fs_path: Path) -> None:
    """Fold the write-ahead file into the main file, whose checksum is missing while it changes."""
    drop_sum(fs_path)
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if not busy:
        write_sum(fs_path)
