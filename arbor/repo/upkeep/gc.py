"""Collecting what nothing reaches, in two phases, and keeping the number of packs small.

An object is only dropped when an earlier run found it unreachable, a grace period has passed since, and it is
still unreachable now, with the writer lock held. So an object that a reader found through a name just before
the name moved stays for that reader, and one that a slow command has written but not named yet stays for that
command.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path

import msgpack

from arbor.errors import IntegrityError, Locked, UsageError
from arbor.objects.model import split_oids
from arbor.records import dataclass
from arbor.repo.repository import Repository
from arbor.repo.upkeep.reachability import Reach
from arbor.repo.work_tree.unfinished import remove_all
from arbor.store.files import (
    MAX_STATE_BYTES,
    read_bounded,
    remove_durably,
    seal,
    unpack_sealed,
    write_atomically,
)
from arbor.store.journal import Journal
from arbor.store.lock import writer_lock
from arbor.store.odb import ObjectStore
from arbor.store.repacking import Repacked, drop_objects, merge_packs

GRACE_S = 14 * 24 * 3600
CANDIDATES_FILE = "unreachable"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class GcReport:
    """What a collection did.

    Attributes:
        reachable: Objects that are needed.
        waiting: Objects that nothing reaches and whose grace period runs.
        dropped, dropped_bytes: Objects that went, and their size unpacked.
        freed_bytes: How much smaller the packs are now.
        packs: How many packs there are now.
        merged: How many packs were merged.
        damaged: Packs that were left alone because they cannot be read in full.
    """

    reachable: int
    waiting: int
    dropped: int
    dropped_bytes: int
    freed_bytes: int
    packs: int
    merged: int
    damaged: tuple[str, ...] = ()


def collect(
    repo: Repository, *, grace_s: float = GRACE_S, now: float | None = None, dry_run: bool = False
) -> GcReport:
    """Drop what has been unreachable for the grace period, and merge packs.

    Args:
        repo: Where.
        grace_s: Seconds that an object must have been unreachable. 0 drops at once what nothing reaches: only
            when no other command is at work.
        now: The time, in seconds since 1970 UTC.
        dry_run: Write nothing; `dropped` is what would go.

    Raises:
        IntegrityError: when something reachable is absent or damaged: then nothing may be dropped.
        Locked: when another writer holds the lock.
        UsageError: for a time below 0.
    """
    if grace_s < 0:  # what begins after now would go too, which other commands are writing
        raise UsageError("the grace period is 0 seconds or more")
    moment = time.time() if now is None else now
    with repo.lock():
        needed = needed_objects(repo)
        stored = stored_objects(repo.store)
        garbage = stored - needed
        known = _read_candidates(repo.folder)
        since = {oid: min(known.get(oid, moment), moment) for oid in garbage}
        due = frozenset(oid for oid, first in since.items() if moment - first >= grace_s)
        if dry_run:
            return GcReport(len(stored) - len(garbage), len(garbage) - len(due), len(due), 0, 0,
                            len(repo.store.packs()), 0)  # fmt: skip
        size_before = packed_bytes(repo.store)
        done = Repacked()
        if due:
            Journal(repo.folder).append("gc", {"objects": len(due), "grace_s": int(grace_s)})
            done = drop_objects(repo.store, due)
        merged = merge_packs(repo.store)
        _write_candidates(repo.folder, {oid: first for oid, first in since.items() if oid not in due})
        _remove_orphan_indexes(repo.store)
        _remove_interrupted(repo.folder, moment - grace_s)
        remove_all(repo)
        return GcReport(
            len(stored) - len(garbage), len(garbage) - len(due), done.dropped, done.dropped_bytes,
            size_before - packed_bytes(repo.store), len(repo.store.packs()), merged.packs_before,
            (*done.damaged, *merged.damaged),
        )  # fmt: skip


def needed_objects(repo: Repository) -> set[bytes]:
    """Every oid that a name, a reflog or the stage needs, be it here or (cold) elsewhere.

    Raises:
        IntegrityError: when something on the way cannot be read.
    """
    reach = Reach(repo)
    return reach.walk().objects() | reach.chunks()


def stored_objects(store: ObjectStore) -> set[bytes]:
    """Every oid in the packs, computed from their bytes; damaged frames are passed over."""
    found: set[bytes] = set()
    for pack in store.packs():
        for _, frame in pack.iter_frames():
            if frame is not None:
                found.update(oid for _, oid, _ in frame.objects())
    return found


def packed_bytes(store: ObjectStore) -> int:
    """Bytes of all packs on disk, without their indexes."""
    return sum(pack.size_bytes for pack in store.packs())


def _remove_interrupted(folder: Path, before: float) -> None:
    """Remove what interrupted transfers left in quarantine, unless it was touched since or is being filled now."""
    for place in folder.glob("incoming-*"):
        with contextlib.suppress(OSError, Locked):
            if max(path.stat().st_mtime for path in (place, *place.iterdir())) <= before:
                with writer_lock(place / "lock", wait_s=0):
                    shutil.rmtree(place, ignore_errors=True)


def _remove_orphan_indexes(store: ObjectStore) -> None:
    """Remove indexes whose pack is gone: a crash can fall between the two."""
    names = {pack.name for pack in store.packs()}
    for path in store.folder.glob("*.idx"):
        if path.stem not in names:
            with contextlib.suppress(OSError):
                path.unlink()


def read_waiting(folder: Path) -> frozenset[bytes]:
    """What the last collection found unreachable: one of the next drops it, so that it is no copy to rely on."""
    return frozenset(_read_candidates(folder))


def _read_candidates(folder: Path) -> dict[bytes, float]:
    """Unreachable objects by the time they were first found so; none where the record is absent or damaged.

    A lost record only means that the grace period begins again.
    """
    try:
        data = read_bounded(folder / CANDIDATES_FILE, MAX_STATE_BYTES)
        version, groups = unpack_sealed(data, "the record of unreachable objects")
        if version != _VERSION:
            return {}
        return {oid: float(first) for first, joined in groups for oid in split_oids(joined)}
    except (FileNotFoundError, IntegrityError, ValueError, TypeError):
        return {}


def _write_candidates(folder: Path, since: dict[bytes, float]) -> None:
    groups: dict[int, list[bytes]] = {}
    for oid, first in since.items():
        groups.setdefault(int(first), []).append(oid)
    path = folder / CANDIDATES_FILE
    if not groups:
        remove_durably(path)  # were it to come back, what is needed now would have no grace period later
        return
    row = [_VERSION, [[first, b"".join(sorted(oids))] for first, oids in sorted(groups.items())]]
    write_atomically(path, seal(msgpack.packb(row)))
