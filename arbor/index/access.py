"""Opening the index of a version: made, updated or derived as needed, and never one of the past."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import tempfile
from pathlib import Path

from arbor.index.checksum import drop_sum, has_sum, sum_path
from arbor.index.reader import IndexReader
from arbor.index.schema import INDEX_FILE, LOCK_FILE, Stamp, connect_to_read, stamp_for
from arbor.index.writer import (
    LOCK_WAIT_S,
    CannotUpdate,
    Told,
    apply_changes,
    build,
    put_in_place,
    remove_database,
    translate_disk_errors,
    update,
)
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.store.files import temporary_path
from arbor.store.lock import writer_lock

OLDER_FOLDER = "at"
OLDER_KEPT = 4
"""Indexes of other revisions that are kept, the most recently used ones."""


def index_path(cache_folder: Path) -> Path:
    """Where the index of the current version lies."""
    return cache_folder / INDEX_FILE


def bring_up_to_date(
    cache_folder: Path, snapshot: Snapshot, *, read_only: bool = False, progress: Told | None = None
) -> IndexReader:
    """The index of the current version, after whatever it takes.

    Args:
        cache_folder: Where the index lies; made if need be. Where it cannot be written, an index that is missing or
            of another version is made in a private temporary folder that goes when the reader is closed.
        snapshot: The version to search.
        read_only: Write nothing to the cache folder even if it could be.
        progress: Told in a sentence when it will take a while.

    Raises:
        IntegrityError: when an object that the index is made from is absent or damaged.
        OSError: when the disk is full or fails.
    """
    wanted = stamp_for(snapshot)
    reader = open_index(index_path(cache_folder), wanted)
    if reader is not None:
        return reader
    if not read_only:
        try:
            cache_folder.mkdir(parents=True, exist_ok=True)
            with writer_lock(cache_folder / LOCK_FILE, LOCK_WAIT_S):
                return _make_current(index_path(cache_folder), snapshot, progress)
        except PermissionError:
            pass
        except OSError as error:
            if not _is_read_only(error):
                raise
    return _open_private(cache_folder, snapshot, progress)


def _is_read_only(error: OSError) -> bool:
    return error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)


def open_index(fs_path: Path, wanted: Stamp) -> IndexReader | None:
    """The index at this path if it is sound and carries this stamp."""
    for immutable in (False, True):
        if immutable and not has_sum(fs_path):
            return None  # without locks a file between two states cannot be told from a whole one
        try:
            reader = IndexReader(fs_path, immutable=immutable)
        except sqlite3.OperationalError:
            continue
        except sqlite3.DatabaseError:
            return None
        if reader.stamp == wanted:
            return reader
        reader.close()
        return None
    return None


def _make_current(fs_path: Path, snapshot: Snapshot, progress: Told | None) -> IndexReader:
    """Under the lock: update if possible, else build; another process may have done it by now."""
    wanted = stamp_for(snapshot)
    reader = open_index(fs_path, wanted)
    if reader is not None:
        return reader
    rebuild_or_update(fs_path, snapshot, progress)
    reader = open_index(fs_path, wanted)
    if reader is None:
        build(fs_path, snapshot, progress)
        reader = IndexReader(fs_path)
    return reader


def follow_head(repo: Repository) -> str:
    """Bring the index to HEAD: `current`, `updated` or `rebuilt`."""
    snapshot, cache = repo.snapshot(repo.refs.head_oid()), repo.folder / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    with writer_lock(cache / LOCK_FILE, LOCK_WAIT_S):
        reader = open_index(index_path(cache), stamp_for(snapshot))
        if reader is not None:
            reader.close()
            return "current"
        rebuilt = rebuild_or_update(index_path(cache), snapshot)
    return "rebuilt" if rebuilt else "updated"


def rebuild_or_update(fs_path: Path, snapshot: Snapshot, progress: Told | None = None) -> bool:
    """Bring an index to the snapshot's version by the cheaper way; whether it was built from nothing.

    The caller holds the index lock.
    """
    if fs_path.exists():
        with contextlib.suppress(CannotUpdate):
            update(fs_path, snapshot)
            return False
    build(fs_path, snapshot, progress)
    return True


def rebuild(cache_folder: Path, snapshot: Snapshot) -> None:
    """Make the current index from nothing, whatever there is."""
    cache_folder.mkdir(parents=True, exist_ok=True)
    with writer_lock(cache_folder / LOCK_FILE, LOCK_WAIT_S):
        build(index_path(cache_folder), snapshot)


def discard(cache_folder: Path, snapshot: Snapshot) -> None:
    """Remove the indexes that may hold this version, for they are damaged; the next use makes them anew."""
    cache_folder.mkdir(parents=True, exist_ok=True)
    older = cache_folder / OLDER_FOLDER / f"{snapshot.ledger_root.hex()}.db"
    with writer_lock(cache_folder / LOCK_FILE, LOCK_WAIT_S):
        for fs_path in (index_path(cache_folder), older):
            drop_sum(fs_path)
            remove_database(fs_path)


def open_at(
    cache_folder: Path, snapshot: Snapshot, *, read_only: bool = False, progress: Told | None = None
) -> IndexReader:
    """The index of another revision, derived from the current one and kept for a while.

    Args:
        cache_folder: Where the index of the current version lies.
        snapshot: The version to search.
        read_only: As in `bring_up_to_date`.
        progress: As in `bring_up_to_date`.
    """
    wanted = stamp_for(snapshot)
    folder = cache_folder / OLDER_FOLDER
    older = folder / f"{wanted.ledger_root}.db"
    for fs_path in (index_path(cache_folder), older):
        reader = open_index(fs_path, wanted)
        if reader is not None:
            if fs_path is older:
                with contextlib.suppress(OSError):
                    os.utime(older)
            return reader
    if not read_only:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _derive(index_path(cache_folder), older, snapshot, progress)
            _forget_older(folder)
            reader = open_index(older, wanted)
            if reader is not None:
                return reader
        except OSError as error:
            if not _is_read_only(error):
                raise
    return _open_private(cache_folder, snapshot, progress)


def _derive(source: Path, target: Path, snapshot: Snapshot, progress: Told | None) -> None:
    """Make the index of another version from a copy of an existing one, else from nothing."""
    temporary = temporary_path(target.parent)
    try:
        with translate_disk_errors(target):
            _copy_and_change(source, temporary, snapshot)
    except (CannotUpdate, sqlite3.DatabaseError):
        remove_database(temporary)
        build(target, snapshot, progress)
        return
    except BaseException:
        remove_database(temporary)
        raise
    put_in_place(temporary, target)


def _copy_and_change(source: Path, target: Path, snapshot: Snapshot) -> None:
    origin = connect_to_read(source)
    try:
        copy = sqlite3.connect(target, isolation_level=None)
        try:
            origin.backup(copy)
            copy.execute("PRAGMA journal_mode = OFF").fetchall()
            copy.execute("PRAGMA synchronous = OFF")
            copy.execute("BEGIN")
            apply_changes(copy, snapshot)
            copy.execute("COMMIT")
            copy.execute("PRAGMA journal_mode = WAL").fetchall()
        finally:
            copy.close()
    finally:
        origin.close()


def _forget_older(folder: Path) -> None:
    """Keep the most recently used indexes of other revisions."""
    found = sorted(folder.glob("*.db"), key=lambda each: each.stat().st_mtime_ns, reverse=True)
    for fs_path in found[OLDER_KEPT:]:
        with contextlib.suppress(OSError):
            remove_database(fs_path)
            sum_path(fs_path).unlink(missing_ok=True)


def _open_private(cache_folder: Path, snapshot: Snapshot, progress: Told | None) -> IndexReader:
    """An index in a folder that only this process knows, gone when the reader is closed."""
    private = tempfile.TemporaryDirectory(prefix="arbor-index-")
    try:
        fs_path = Path(private.name) / INDEX_FILE
        _derive(index_path(cache_folder), fs_path, snapshot, progress)
        return IndexReader(fs_path, private=private)
    except BaseException:
        private.cleanup()
        raise
