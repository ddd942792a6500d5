"""Making an index and bringing one up to date: built aside or changed in one transaction, never half.

A new index is built under a temporary name, made durable and renamed. An existing one is changed by the
difference of two ledgers, in write-ahead mode, so readers keep the version they began with and a kill leaves
the old or the new one. The main file changes only when the write-ahead file is folded in, and a checksum of
it is kept beside it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from arbor.errors import IntegrityError
from arbor.index.cache_lock import Told
from arbor.index.checksum import write_sum
from arbor.index.disk_errors import is_refusal, is_unopened, refusals_told
from arbor.index.entries import iter_entries
from arbor.index.schema import (
    CACHE_KIB,
    PAGE_BYTES,
    connect_to_write,
    create_lookups,
    create_tables,
    read_stamp,
    stamp_for,
    write_stamp,
)
from arbor.index.tables import DocumentTable, insert_all
from arbor.index.write_ahead import discard_database, fold_if_large, guarded, remove_database
from arbor.repo.snapshot import Snapshot, group_paths
from arbor.store.files import fsync_folder, remove_temporaries, storing, temporary_path
from arbor.store.syncing import fsync_file

BUILD_HASH_BYTES = 32 * 1024 * 1024
"""How much FTS5 gathers before it sorts and writes; its default of 1 MiB makes a build 2.5 times slower."""
UPDATE_SHARE_MAX = 0.4
"""An update that touches more than this share of the documents is slower than a rebuild."""
LEFTOVER_AGE_S = 600.0
"""What a build left that was killed goes with the next build after this time; others write to the folder too."""
_UPDATE_FREE = 200
_GIVE_BACK_SHARE = 0.125
_GIVE_BACK_BYTES = 1024 * 1024
TOLD_DOCUMENTS = 2000
"""Fewer are indexed before anyone wonders."""


class CannotUpdate(Exception):
    """An index can only be made anew: it is damaged, of other rules, or the change is too large."""


class Update(NamedTuple):
    """What an update did: documents that were taken out, put in, or moved to other paths."""

    removed: int
    added: int
    moved: int


def build(fs_path: Path, snapshot: Snapshot, progress: Told | None = None) -> None:
    """Make the index of a snapshot from nothing and put it in the place of whatever is there.

    Args:
        fs_path: The database file; its folder must exist, and the caller holds the index lock.
        snapshot: What to index.
        progress: Told in a sentence when it will take a while.

    Raises:
        IntegrityError: when a document's object is absent or damaged.
        StorageError: when the disk is full or refuses.
    """
    remove_temporaries(fs_path.parent, LEFTOVER_AGE_S)
    temporary = temporary_path(fs_path.parent)
    try:
        with storing(fs_path), refusals_told(fs_path):
            _fill(temporary, snapshot, progress)
            put_in_place(temporary, fs_path)
    except BaseException:
        remove_database(temporary)
        raise


def _fill(fs_path: Path, snapshot: Snapshot, progress: Told | None) -> None:
    stamp, grouped = stamp_for(snapshot), group_paths(snapshot.searchable())
    if progress is not None and len(grouped) > TOLD_DOCUMENTS:
        progress(f"building the search index of {len(grouped):,} documents")
    with contextlib.closing(connect_to_write(fs_path)) as connection:
        for pragma in (
            f"page_size = {PAGE_BYTES}",
            "journal_mode = OFF",
            "synchronous = OFF",
            "locking_mode = EXCLUSIVE",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        create_tables(connection)
        connection.execute("INSERT INTO passages(passages, rank) VALUES('hashsize', ?)", (BUILD_HASH_BYTES,))
        connection.execute("BEGIN")
        insert_all(connection, iter_entries(snapshot, grouped), grouped)
        write_stamp(connection, stamp)
        connection.execute("COMMIT")
        create_lookups(connection)
        connection.execute("INSERT INTO passages(passages, rank) VALUES('hashsize', 1048576)")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()


def put_in_place(temporary: Path, fs_path: Path) -> None:
    """Make a finished database durable and give it its name.

    A write-ahead file belongs to a name and not to a database, so what lies beside an old database must be
    gone before the new one gets the name, on the disk too; the old one goes first, so that it is never seen without
    its own.
    """
    fsync_file(temporary)
    discard_database(fs_path)
    fsync_folder(fs_path.parent)
    os.replace(temporary, fs_path)
    fsync_folder(fs_path.parent)
    write_sum(fs_path)


def update(fs_path: Path, snapshot: Snapshot) -> Update:
    """Take an index from the ledger it was made from to the snapshot's, in one transaction.

    Args:
        fs_path: The database; the caller holds the index lock.
        snapshot: What it is to hold. Its store must still have the objects of the ledger that it holds now.

    Raises:
        CannotUpdate: when only `build` can help; the index is as it was.
        StorageError: when the disk is full or refuses; the index is as it was.
    """
    with refusals_told(fs_path), writing_in_place(fs_path) as connection, transaction(connection):
        return apply_changes(connection, snapshot)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """What the block writes, all of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def writing_in_place(fs_path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that changes an index while others read it; the caller holds the index lock.

    It leaves the write-ahead file as it is when it closes, unless that is large.

    Raises:
        CannotUpdate: when the database is damaged.
    """
    try:
        with guarded(fs_path), contextlib.closing(connect_to_write(fs_path)) as connection:
            connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            yield connection
            fold_if_large(connection, fs_path)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if is_refusal(error) and not is_unopened(error):
            raise
        raise CannotUpdate(str(error)) from error


def apply_changes(connection: sqlite3.Connection, snapshot: Snapshot) -> Update:
    """Bring the rows from the stamped ledger to the snapshot's, within the caller's transaction.

    Raises:
        CannotUpdate: as `update`.
    """
    wanted = stamp_for(snapshot)
    stamp = read_stamp(connection)
    if stamp is None or not stamp.has_rules_of(wanted):
        raise CannotUpdate("the index was made by other rules")
    try:
        before, after = _paths_that_differ(connection, snapshot, bytes.fromhex(stamp.ledger_root))
        table = DocumentTable(connection, snapshot)
        done = _replace_documents(table, before, after)
        table.refresh_parts()
    except (IntegrityError, LookupError, ValueError) as error:
        raise CannotUpdate(str(error)) from error
    write_stamp(connection, wanted)
    return done


def most_to_update(connection: sqlite3.Connection) -> int:
    """How many changes an update may have; with more of them a build is quicker."""
    (count,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    return max(_UPDATE_FREE, int(count * UPDATE_SHARE_MAX))


def give_back(fs_path: Path, gone_bytes: int) -> None:
    """Write an index anew without what is free in it, where that is much; what it holds stays the same.

    SQLite keeps the pages that become free, and FTS5 the postings of rows that went until it merges them: where a file
    of 3 MB went out of an index of 28 MB the index took 54 MB. This takes a quarter of the time of a build.

    Args:
        fs_path: The database; the caller holds the index lock and has no connection to it.
        gone_bytes: The text of the rows that went.

    Raises:
        CannotUpdate, OSError, sqlite3.Error: the index is as it was.
    """
    temporary = temporary_path(fs_path.parent)
    try:
        with writing_in_place(fs_path) as connection:
            (pages,), (free,) = (
                connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count")
            )
            if free * PAGE_BYTES + gone_bytes < max(_GIVE_BACK_BYTES, pages * PAGE_BYTES * _GIVE_BACK_SHARE):
                return
            connection.execute("INSERT INTO passages(passages) VALUES('optimize')")
            connection.execute("VACUUM INTO ?", (str(temporary),))
        with contextlib.closing(connect_to_write(temporary)) as copy:
            copy.execute("PRAGMA journal_mode = WAL").fetchall()
        put_in_place(temporary, fs_path)
    except BaseException:
        remove_database(temporary)
        raise


_PathsByDocument = dict[bytes, set[str]]


def _paths_that_differ(
    connection: sqlite3.Connection, snapshot: Snapshot, older: bytes
) -> tuple[_PathsByDocument, _PathsByDocument]:
    """By document, the paths it lost and the paths it gained."""
    limit = most_to_update(connection)
    lost: _PathsByDocument = {}
    gained: _PathsByDocument = {}
    for number, (path, before, after) in enumerate(snapshot.searchable_changes(older), 1):
        if number > limit:
            raise CannotUpdate("most of the index would change")
        if before is not None:
            lost.setdefault(before, set()).add(path)
        if after is not None:
            gained.setdefault(after, set()).add(path)
    return lost, gained


def _replace_documents(table: DocumentTable, lost: _PathsByDocument, gained: _PathsByDocument) -> Update:
    """Take every document that lost or gained a path to its new paths.

    All that goes out goes before anything comes in, since a path has one document at a time.
    """
    plan = []
    for oid in lost.keys() | gained.keys():
        old = table.get_paths(oid)
        new = sorted(set(old) - lost.get(oid, set()) | gained.get(oid, set()))
        if old != new:
            plan.append((oid, old, new))
    plan.sort(key=lambda step: (step[2], step[1]))
    for oid, old, _ in plan:
        if old:
            table.remove(oid, old)
    for oid, _, new in plan:
        if new:
            table.insert(oid, new)
    removed = sum(not new for _, _, new in plan)
    added = sum(not old for _, old, _ in plan)
    return Update(removed, added, len(plan) - removed - added)
