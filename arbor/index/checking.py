"""Whether an index is what it says: its bytes, its documents and, when asked, its full-text tables."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import IntegrityError
from arbor.index.checksum import has_sum, is_unchanged, sum_path
from arbor.index.consensus_store import CONSENSUS_FILE
from arbor.index.disk_errors import is_refusal
from arbor.index.schema import (
    INDEX_FILE,
    Stamp,
    connect_in_memory,
    connect_to_read,
    read_stamp,
    stamp_for,
)
from arbor.lazy import lazy_module
from arbor.objects.ledger import EMPTY_LEDGER
from arbor.repo.commits.revisions import resolve
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot

if TYPE_CHECKING:
    from arbor.repo.trust import verify as object_checks
    from arbor.repo.trust.verify import VerifyReport
else:  # which a commit, that asks only for the state of the consensus, does without
    object_checks = lazy_module("arbor.repo.trust.verify")

_TRIES = 5
_LISTING = "SELECT p.path, d.oid FROM paths p JOIN documents d ON d.id = p.document ORDER BY p.path"


def verify_everything(
    repo: Repository, revision: str | None, *, expected_root: bytes | None = None, deep: bool = False
) -> VerifyReport:
    """Check what a revision needs, or without one what every ref needs and the caches.

    Args:
        repo: What to check.
        revision: Only this one.
        expected_root: The ledger root that the revision must have.
        deep: Also every document's file, and the structure of the index.

    Raises:
        UsageError: when there is no such revision.
    """
    tip = None
    # A damaged HEAD or branch is one of the findings and hides none of the others.
    with contextlib.suppress(IntegrityError) if revision is None else contextlib.nullcontext():
        tip = resolve(repo, revision) if revision is not None else repo.refs.head_oid()
    problems: list[tuple[str, str]] = []

    def look_at_caches() -> None:
        if revision is not None:
            return
        with contextlib.suppress(IntegrityError):  # of an object, and so a finding of its own
            problems.extend(check_caches(repo, deep=deep))

    report = object_checks.verify(repo, tip, expected_root=expected_root, all_refs=revision is None, deep=deep,
                    meanwhile=look_at_caches)  # fmt: skip
    if not problems or not report.ok:
        return report
    return replace(
        report,
        ok=False,
        damaged=tuple(object_checks.Finding("", where, problem) for where, problem in problems),
    )


def check_caches(repo: Repository, *, deep: bool = False) -> list[tuple[str, str]]:
    """(file, what is wrong) of the index and the consensus state."""
    cache = repo.folder / "cache"
    of_consensus = _settled(cache / CONSENSUS_FILE, lambda: check_consensus(repo))
    of_index = _settled(cache / INDEX_FILE, lambda: check_current(repo, deep=deep))
    return [
        *((f"cache/{CONSENSUS_FILE}", problem) for problem in of_consensus),
        *((f"cache/{INDEX_FILE}", problem) for problem in of_index),
    ]


def _settled(fs_path: Path, look: Callable[[], list[str]]) -> list[str]:
    """What is wrong with a database; looked at again where somebody wrote or replaced it meanwhile."""
    for _ in range(_TRIES):
        before = _state_of(fs_path)
        problems = look()
        if not problems or _state_of(fs_path) == before:
            break
    return problems


def _state_of(fs_path: Path) -> list[tuple[int, int, int] | None]:
    """What changes with every write to a database: of its file, the write-ahead file and the checksum."""
    state: list[tuple[int, int, int] | None] = []
    for each in (fs_path, Path(f"{fs_path}-wal"), sum_path(fs_path)):
        try:
            found = os.stat(each)
        except OSError:
            state.append(None)
        else:
            state.append((found.st_ino, found.st_mtime_ns, found.st_size))
    return state


def check_current(repo: Repository, *, deep: bool = False) -> list[str]:
    """What is wrong with the index of HEAD; an absent or older one is no fault, since it is made again."""
    path = repo.folder / "cache" / INDEX_FILE
    if not path.exists():
        return []
    snapshot = repo.head_snapshot()
    stamp = stamp_on_disk(path)
    if stamp is not None and stamp.ledger_root != snapshot.ledger_root.hex():
        older = bytes.fromhex(stamp.ledger_root)
        if older != EMPTY_LEDGER and not repo.store.has(older):
            return []
        snapshot = Snapshot(repo.store, older)
    return check(path, snapshot, deep=deep)


def check_consensus(repo: Repository) -> list[str]:
    """What is wrong with the consensus state's file; an absent one is made when somebody asks."""
    path = repo.folder / "cache" / CONSENSUS_FILE
    if path.exists() and is_unchanged(path) is False:
        return ["the consensus state is not as it was written: its checksum does not fit"]
    return []


def check(fs_path: Path, snapshot: Snapshot, *, deep: bool = False) -> list[str]:
    """What is wrong with an index, one sentence each; empty where it is sound.

    Args:
        fs_path: The database.
        snapshot: Gives the store whose ledgers it is compared with.
        deep: Also check the structure of the database and of the full-text tables, in a copy in memory.
    """
    if not fs_path.exists():
        return ["there is no search index"]
    problems = []
    if is_unchanged(fs_path) is False:
        problems.append("the search index is not as it was written: its checksum does not fit")
    try:
        try:
            problems += _check_rows(fs_path, snapshot, deep=deep)
        except sqlite3.DatabaseError as error:
            if not (is_refusal(error) and has_sum(fs_path)):
                raise
            # A full disk has no room for what SQLite shares between readers; the main file is whole without it.
            problems += _check_rows(fs_path, snapshot, deep=deep, immutable=True)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        problems.append(f"the search index cannot be read: {error}")
    return problems


def _check_rows(fs_path: Path, snapshot: Snapshot, *, deep: bool, immutable: bool = False) -> list[str]:
    with contextlib.closing(connect_to_read(fs_path, immutable=immutable)) as connection:
        connection.execute("BEGIN")
        problems = list(_check_content(connection, snapshot))
        return problems + list(_check_structure(connection)) if deep else problems


def stamp_on_disk(fs_path: Path) -> Stamp | None:
    """What an index says it was made from; None where it cannot be read."""
    try:
        with contextlib.closing(connect_to_read(fs_path)) as connection:
            return read_stamp(connection)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None


def _check_content(connection: sqlite3.Connection, snapshot: Snapshot) -> Iterator[str]:
    """Against the ledger that the stamp names: an older index is no fault, since the next search updates it."""
    stamp = read_stamp(connection)
    if stamp is None or not stamp.has_rules_of(stamp_for(snapshot)):
        return  # made by other rules, and so made anew at the next search
    try:
        held = Snapshot(snapshot.store, bytes.fromhex(stamp.ledger_root))
        for listed, committed in zip_longest(connection.execute(_LISTING), held.searchable()):
            if listed != committed:
                path = min(entry[0] for entry in (listed, committed) if entry is not None)
                yield f"the search index differs from its ledger at '{path}'"
                return
    except (IntegrityError, ValueError) as error:
        yield f"the search index was made from an absent ledger: {error}"


def _check_structure(connection: sqlite3.Connection) -> Iterator[str]:
    with contextlib.closing(connect_in_memory()) as copy:
        connection.backup(copy)
        for (line,) in copy.execute("PRAGMA integrity_check(10)"):
            if line != "ok":
                yield f"the search index is damaged: {line}"
        copy.execute("INSERT INTO passages(passages, rank) VALUES('integrity-check', 1)")
