"""SQLite's errors in arbor's words: what the disk refused, who is in the way, and what is damaged."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from arbor.errors import ArborError, IntegrityError, Locked, StorageError
from arbor.index.checksum import is_unchanged
from arbor.store.files import OWNER, REASONS, SAFE

_REFUSALS = {
    sqlite3.SQLITE_FULL: REASONS[errno.ENOSPC],
    sqlite3.SQLITE_IOERR: ("the disk failed or is full", SAFE),
    sqlite3.SQLITE_READONLY: REASONS[errno.EROFS],
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", OWNER),
    sqlite3.SQLITE_PERM: REASONS[errno.EPERM],
}
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
REINDEX = "run: arbor reindex"


class ConsensusDamaged(IntegrityError):
    """The consensus state cannot be read; it can be made again from the objects."""


def is_refusal(error: BaseException) -> bool:
    """Whether the system refused to read or write, so that the database itself may be sound."""
    return _code(error) in _REFUSALS


def is_unopened(error: BaseException) -> bool:
    """Whether a database could not be opened at all, which putting another file in its place may mend."""
    return _code(error) == sqlite3.SQLITE_CANTOPEN


def is_busy(error: BaseException) -> bool:
    """Whether another connection is in the way."""
    return _code(error) in _BUSY


def in_own_words(error: BaseException, fs_path: Path, damaged: IntegrityError) -> BaseException:
    """What to raise in place of an error of SQLite: `damaged` where the database itself is the matter.

    A mistake in how SQLite is used stays what it is.
    """
    if is_busy(error):
        return Locked(f"'{fs_path}' is in use by another process", "try again in a moment")
    if is_refusal(error):
        reason, hint = _REFUSALS[_code(error)]
        return StorageError(f"'{fs_path}' cannot be used: {reason}", hint)
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError):
        return damaged
    return error


def _code(error: BaseException) -> int:
    """The primary result code, 0 for what is no error of SQLite; extended ones say more in their upper bits."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@contextlib.contextmanager
def refusals_told(fs_path: Path) -> Iterator[None]:
    """Turn what the disk refuses to SQLite into a clear error; other errors of SQLite pass.

    Raises:
        StorageError: when the disk is full, fails, or is read-only.
    """
    try:
        yield
    except sqlite3.Error as error:
        if not is_refusal(error):
            raise
        raise in_own_words(error, fs_path, IntegrityError("")) from error


class ConsensusGuard:
    """A lock around the use of a consensus state, out of which SQLite's errors come in arbor's words.

    Rows that cannot be what was written may show as any error at all. Where the file does not have its checksum, that
    is why.
    """

    def __init__(self, fs_path: Path | None) -> None:
        self._fs_path = fs_path
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
        if self._fs_path is None or not isinstance(error, Exception) or isinstance(error, ArborError):
            return
        damaged = ConsensusDamaged(f"the consensus state is damaged: {error}", REINDEX)
        if isinstance(error, sqlite3.Error):
            told = in_own_words(error, self._fs_path, damaged)
        else:
            told = damaged if _is_changed(self._fs_path) else error
        if told is not error:
            raise told from error


def _is_changed(fs_path: Path) -> bool:
    try:
        return is_unchanged(fs_path) is False
    except OSError:
        return False
