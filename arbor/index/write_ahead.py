"""The write-ahead file of a database, kept apart from the main file until that can get a new checksum.

The last connection to close folds the write-ahead file into the database by itself, which would change the main
file behind its checksum. A connection that cannot write does not, so one of them is closed last.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from arbor.index.checksum import drop_sum, has_sum, write_sum
from arbor.index.schema import connect_to_read, file_identity

FOLD_BYTES = 8 * 1024 * 1024
"""The write-ahead file is folded into the main file beyond this size."""
_TRIES = 3


class _Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=_Closable)


def open_without_lock(fs_path: Path, open_it: Callable[[bool], T | None]) -> T | None:
    """What reads a database as it is now, with its own write-ahead file; None where there is none to be read.

    Args:
        fs_path: The database.
        open_it: Opens it, as a file that does not change where it is given True; None when it is not the one wanted.
    """
    for _ in range(_TRIES):
        identity = file_identity(fs_path)
        opened = _open_somehow(fs_path, open_it)
        if opened is None or identity == file_identity(fs_path):
            return opened
        opened.close()  # replaced just now: the write-ahead file that was found may be the new one's
    return None


def _open_somehow(fs_path: Path, open_it: Callable[[bool], T | None]) -> T | None:
    for immutable in (False, True):
        if immutable and not has_sum(fs_path):
            break  # without locks a file between two states cannot be told from a whole one
        try:
            return open_it(immutable)
        except sqlite3.OperationalError:
            continue
        except sqlite3.DatabaseError:
            break
    return None


@contextlib.contextmanager
def guarded(fs_path: Path) -> Iterator[None]:
    """Whatever is closed within the block leaves the write-ahead file as it is."""
    with contextlib.closing(connect_to_read(fs_path)) as guard:
        guard.execute("SELECT 1 FROM meta").fetchall()
        yield


def remove_database(fs_path: Path, *, keep_main: bool = False) -> None:
    """Remove a database with the files that SQLite keeps beside it, or only those."""
    for suffix in ("-wal", "-shm", "-journal") if keep_main else ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{fs_path}{suffix}")


def discard_database(fs_path: Path) -> None:
    """Remove a database that is damaged, so that it is made anew; the caller holds its lock."""
    drop_sum(fs_path)
    remove_database(fs_path)


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
