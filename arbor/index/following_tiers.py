"""The index follows documents from tier to tier.

Rows are removed by telling FTS5 the text they were made from. Of a document that goes cold this text goes too, and of
one that comes back the keywords that stood for it, so what the index holds is read before the change.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from arbor.errors import ArborError
from arbor.index.access import drop_outdated, index_path, writing_index
from arbor.index.schema import Stamp, read_stamp, stamp_for, write_stamp
from arbor.index.tables import DocumentTable, Indexed
from arbor.index.writer import CannotUpdate, give_back, most_to_update, transaction, writing_in_place
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot, group_paths, shown_path

MOST_BYTES = 64 * 1024 * 1024
"""The text of so many bytes of files is held in memory; with more the next search makes the index anew."""

_WAIT_S = 0.3
_FAULTS = (CannotUpdate, ArborError, OSError, sqlite3.Error, LookupError, ValueError)


class _Moving(NamedTuple):
    """A document on its way to another tier, its size in bytes, and what the index holds of it, if anything."""

    oid: bytes
    paths: Sequence[str]
    size: int
    indexed: Indexed | None


@contextlib.contextmanager
def following_tiers(repo: Repository, documents: Collection[bytes]) -> Iterator[None]:
    """Bring the index along with a change of tiers that the block makes.

    Nothing that is wrong with the index stops the change, or is told. Where the index cannot follow, and those of other
    revisions never do, the next search makes it anew; it goes at once, since evicting is to give space back.

    Args:
        repo: Where; the caller holds its writer lock.
        documents: The documents that the block lets change their tier, and those in part that lose passages in it.
            Before it their passages are in the store as far as they are not cold, and after it again.
    """
    lock, opened = contextlib.ExitStack(), contextlib.ExitStack()
    moving: list[_Moving] | None = None
    try:
        with contextlib.suppress(*_FAULTS):
            connection = _open(lock, opened, repo)
            moving = _find(connection, repo, documents)
        yield
        if moving is not None:
            with contextlib.suppress(*_FAULTS):
                gone_bytes = _replace(connection, repo, moving)
                opened.close()
                if gone_bytes:
                    give_back(index_path(repo.folder / "cache"), gone_bytes)
    finally:
        for stack in (opened, lock):
            with contextlib.suppress(*_FAULTS):
                stack.close()
    with contextlib.suppress(*_FAULTS):
        drop_outdated(repo)


def _open(lock: contextlib.ExitStack, opened: contextlib.ExitStack, repo: Repository) -> sqlite3.Connection:
    """A connection that changes the index, with its lock held; each is given back with its stack."""
    cache = repo.folder / "cache"
    fs_path = index_path(cache)
    if not fs_path.exists():
        raise CannotUpdate("there is no index")
    lock.enter_context(writing_index(cache, _WAIT_S))
    return opened.enter_context(writing_in_place(fs_path))


def _find(connection: sqlite3.Connection, repo: Repository, documents: Collection[bytes]) -> list[_Moving]:
    """What the index holds of these documents.

    Raises:
        CannotUpdate: when the index is of other rules, or when it is quicker to make it anew.
        IntegrityError, LookupError: as `DocumentTable.find`.
    """
    stamp = read_stamp(connection)
    snapshot = _indexed_version(repo, stamp)
    if stamp != stamp_for(snapshot) or len(documents) > most_to_update(connection):
        raise CannotUpdate("the index is of other rules, or most of it would change")
    table = DocumentTable(connection, snapshot)
    back = snapshot.tiers().warm.intersection(documents)
    listing = ((shown_path(DOCUMENTS + path), oid) for path, oid in snapshot.paths() if oid in back)
    comes = group_paths(listing) if back else {}
    moving: list[_Moving] = []
    size_bytes = 0
    for oid in sorted(documents):
        if oid in comes:
            moving.append(_Moving(oid, comes[oid], 0, None))
            continue
        paths = table.get_paths(oid)
        if not paths:
            continue
        size = snapshot.document(oid).size
        size_bytes += size
        if size_bytes > MOST_BYTES:
            raise CannotUpdate("too large to be held in memory")
        first, rows = table.find(oid, paths)
        moving.append(_Moving(oid, paths, size, Indexed(first, list(rows))))
    return moving


def _replace(connection: sqlite3.Connection, repo: Repository, moving: Sequence[_Moving]) -> int:
    """Put the documents where their tier has them now, and say by the stamp that the index is of these tiers.

    Returns:
        The bytes of the files whose words the index does not hold any more.
    """
    snapshot = _indexed_version(repo, read_stamp(connection))
    warm, cold = snapshot.tiers().warm, snapshot.tiers().cold
    with transaction(connection):
        table = DocumentTable(connection, snapshot)
        for each in moving:
            if each.indexed is not None:
                table.take_out(each.indexed)
        for each in moving:
            if each.oid not in warm:
                table.insert(each.oid, each.paths)
        table.refresh_parts()
        write_stamp(connection, stamp_for(snapshot))
    return sum(each.size for each in moving if each.oid in warm or each.oid in cold)


def _indexed_version(repo: Repository, stamp: Stamp | None) -> Snapshot:
    if stamp is None:
        raise CannotUpdate("the index has no stamp")
    return Snapshot(repo.store, bytes.fromhex(stamp.ledger_root))
