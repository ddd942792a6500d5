"""Opening the index of a version: made, updated or derived as needed, and never one of the past."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import ArborError, Locked, StorageError
from arbor.index.cache_lock import (
    FOLLOW_WAIT_S,
    LOCK_WAIT_S,
    READER_WAIT_S,
    Told,
    is_read_only,
    writing_cache,
)
from arbor.index.checking import stamp_on_disk
from arbor.index.checksum import sum_path
from arbor.index.consensus_store import CONSENSUS_LOCK
from arbor.index.reader import IndexReader
from arbor.index.schema import INDEX_FILE, LOCK_FILE, Stamp, connect_to_read, stamp_for, stamp_of
from arbor.index.write_ahead import discard_database, open_without_lock, remove_database
from arbor.lazy import lazy_module
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.repo.tiers import tiers_word
from arbor.store.files import remove_temporaries, storing, temporary_path

if TYPE_CHECKING:
    import tempfile

    from arbor.index import writer
else:  # for an index that is not current, or cannot be kept
    tempfile = lazy_module("tempfile")
    writer = lazy_module("arbor.index.writer")

OLDER_FOLDER = "at"
OLDER_KEPT = 4
"""Indexes of other revisions that are kept, the most recently used ones."""
UNFINISHED_AGE_S = 60.0
"""With all locks held, only small files are written beside, each in a moment."""


def index_path(cache_folder: Path) -> Path:
    """Where the index of the current version lies."""
    return cache_folder / INDEX_FILE


def bring_up_to_date(
    cache_folder: Path, snapshot: Snapshot, *, read_only: bool = False, progress: Told | None = None
) -> IndexReader:
    """The index of the current version, after whatever it takes.

    What is current is read without any lock. Where the index cannot be written, or another process is still at it
    after a moment, one that is missing or of another version is made in a private temporary folder, which goes when
    the reader is closed.

    Args:
        cache_folder: Where the index lies; made if need be.
        snapshot: The version to search.
        read_only: Write nothing to the cache folder even if it could be.
        progress: Told in a sentence when it will take a while.

    Raises:
        IntegrityError: when an object that the index is made from is absent or damaged.
        StorageError: when not even the temporary folder can be written.
    """
    wanted = stamp_for(snapshot)
    reader = open_index(index_path(cache_folder), wanted)
    if reader is not None:
        return reader
    if not read_only:
        try:
            with writing_index(cache_folder, READER_WAIT_S, progress):
                return _make_current(index_path(cache_folder), snapshot, progress)
        except (Locked, StorageError) as error:
            _tell_of_private(error, progress)
    return open_private(cache_folder, snapshot, progress)


def writing_index(
    cache_folder: Path, wait_s: float, told: Told | None = None
) -> contextlib.AbstractContextManager[None]:
    """Hold the lock of the index; see `cache_lock.writing_cache`."""
    return writing_cache(cache_folder, LOCK_FILE, wait_s, told, "the search index")


def _tell_of_private(error: ArborError, told: Told | None) -> None:
    """That the index is made for this once. On read-only media that is as it should be."""
    if told is not None and not is_read_only(error):
        told(f"the search index is made for this search alone: {error.message}")


def open_index(fs_path: Path, wanted: Stamp) -> IndexReader | None:
    """The index at this path if it is sound and carries this stamp."""

    def look(immutable: bool) -> IndexReader | None:
        reader = IndexReader(fs_path, immutable=immutable)
        if reader.stamp == wanted:
            return reader
        reader.close()
        return None

    return open_without_lock(fs_path, look)


def open_as_is(cache_folder: Path) -> IndexReader | None:
    """The index of whatever version lies there, made by the rules of today; None where there is none to be read."""
    fs_path = index_path(cache_folder)
    stamp = stamp_on_disk(fs_path) if fs_path.exists() else None
    if stamp is None or not stamp.has_rules_of(stamp_of(b"", stamp.tiers)):
        return None
    return open_index(fs_path, stamp)


def _make_current(fs_path: Path, snapshot: Snapshot, progress: Told | None) -> IndexReader:
    """Under the lock: update if possible, else build; another process may have done it by now."""
    wanted = stamp_for(snapshot)
    reader = open_index(fs_path, wanted)
    if reader is not None:
        return reader
    rebuild_or_update(fs_path, snapshot, progress)
    reader = open_index(fs_path, wanted)
    if reader is None:
        writer.build(fs_path, snapshot, progress)
        reader = IndexReader(fs_path)
    return reader


def follow_head(repo: Repository) -> str:
    """Bring the index to HEAD: `current`, `updated` or `rebuilt`.

    Raises:
        Locked: when another process keeps writing it.
        StorageError: when the disk is full or refuses.
    """
    snapshot, cache = repo.head_snapshot(), repo.folder / "cache"
    with writing_index(cache, FOLLOW_WAIT_S):
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
        with contextlib.suppress(writer.CannotUpdate):
            writer.update(fs_path, snapshot)
            return False
    writer.build(fs_path, snapshot, progress)
    return True


def rebuild(cache_folder: Path, snapshot: Snapshot, progress: Told | None = None) -> None:
    """Make the current index from nothing, whatever there is, and drop those of other revisions.

    Raises:
        Locked: when another process keeps writing it.
        StorageError: when the disk is full or refuses.
    """
    remove_leftovers(cache_folder)
    with writing_index(cache_folder, LOCK_WAIT_S, progress):
        writer.build(index_path(cache_folder), snapshot, progress)
        _forget_older(cache_folder / OLDER_FOLDER, keep=0)


def remove_leftovers(cache_folder: Path) -> None:
    """Remove what writers of derived state left unfinished when they were killed, unless somebody writes just now."""
    with (
        contextlib.suppress(Locked, StorageError),
        writing_index(cache_folder, 0.0),
        writing_cache(cache_folder, CONSENSUS_LOCK, 0.0),
    ):
        remove_temporaries(cache_folder, UNFINISHED_AGE_S)
        remove_temporaries(cache_folder / OLDER_FOLDER, writer.LEFTOVER_AGE_S)  # written without a lock


def discard(cache_folder: Path, snapshot: Snapshot) -> None:
    """Remove the indexes that may hold this version, for they are damaged; the next use makes them anew.

    Raises:
        Locked: when another process keeps writing them.
        StorageError: when the system refuses.
    """
    older = cache_folder / OLDER_FOLDER / f"{snapshot.ledger_root.hex()}.db"
    with writing_index(cache_folder, READER_WAIT_S):
        for fs_path in (index_path(cache_folder), older):
            discard_database(fs_path)


def drop_outdated(repo: Repository) -> None:
    """Remove the indexes of tiers that are past: each would be made anew at its next use, and takes space till then.

    Raises:
        Locked: when another process keeps writing them.
        StorageError: when the system refuses.
    """
    cache, wanted = repo.folder / "cache", stamp_of(b"", tiers_word(repo.folder))
    with writing_index(cache, READER_WAIT_S):
        for fs_path in (index_path(cache), *(cache / OLDER_FOLDER).glob("*.db")):
            stamp = stamp_on_disk(fs_path) if fs_path.exists() else None
            if stamp is not None and not stamp.has_rules_of(wanted):
                discard_database(fs_path)


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
            with storing(folder):
                folder.mkdir(parents=True, exist_ok=True)
                _derive(index_path(cache_folder), older, snapshot, progress)
                _forget_older(folder)
            reader = open_index(older, wanted)
            if reader is not None:
                return reader
        except StorageError as error:
            _tell_of_private(error, progress)
    return open_private(cache_folder, snapshot, progress)


def _derive(source: Path, target: Path, snapshot: Snapshot, progress: Told | None) -> None:
    """Make the index of another version from a copy of an existing one, else from nothing."""
    temporary = temporary_path(target.parent)
    try:
        _copy_and_change(source, temporary, snapshot)
    except (writer.CannotUpdate, sqlite3.DatabaseError):
        remove_database(temporary)
        writer.build(target, snapshot, progress)
        return
    except BaseException:
        remove_database(temporary)
        raise
    writer.put_in_place(temporary, target)


def _copy_and_change(source: Path, target: Path, snapshot: Snapshot) -> None:
    with (
        contextlib.closing(connect_to_read(source)) as origin,
        contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        origin.backup(copy)
        copy.execute("PRAGMA journal_mode = OFF").fetchall()
        copy.execute("PRAGMA synchronous = OFF")
        copy.execute("BEGIN")
        writer.apply_changes(copy, snapshot)
        copy.execute("COMMIT")
        copy.execute("PRAGMA journal_mode = WAL").fetchall()


def _forget_older(folder: Path, keep: int = OLDER_KEPT) -> None:
    """Keep the most recently used indexes of other revisions."""
    found: list[tuple[int, Path]] = []
    for fs_path in folder.glob("*.db"):
        with contextlib.suppress(FileNotFoundError):  # another process forgets them too
            found.append((fs_path.stat().st_mtime_ns, fs_path))
    for _, fs_path in sorted(found, reverse=True)[keep:]:
        with contextlib.suppress(OSError):
            remove_database(fs_path)
            sum_path(fs_path).unlink(missing_ok=True)


def open_private(cache_folder: Path, snapshot: Snapshot, progress: Told | None) -> IndexReader:
    """An index in a folder that only this process knows, derived from the one that is there: nobody moves it on."""
    return _in_private_folder(lambda fs_path: _derive(index_path(cache_folder), fs_path, snapshot, progress))


def build_private(snapshot: Snapshot, progress: Told | None = None) -> IndexReader:
    """An index made from nothing but the objects, in a folder that goes when the reader is closed.

    Raises:
        IntegrityError: when an object that the index is made from is absent or damaged.
        StorageError: when the system refuses.
    """
    return _in_private_folder(lambda fs_path: writer.build(fs_path, snapshot, progress))


def _in_private_folder(make: Callable[[Path], None]) -> IndexReader:
    with storing(Path(tempfile.gettempdir())):
        private = tempfile.TemporaryDirectory(prefix="arbor-index-")
        try:
            fs_path = Path(private.name) / INDEX_FILE
            make(fs_path)
            return IndexReader(fs_path, private=private)
        except BaseException:
            private.cleanup()
            raise
