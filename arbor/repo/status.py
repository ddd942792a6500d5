"""What differs: between HEAD and the stage, and between the stage and the work tree."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from arbor.errors import ArborError
from arbor.objects import ledger
from arbor.objects.ids import file_hash
from arbor.objects.ledger_diff import diff
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.stage import (
    UNKNOWN,
    Entries,
    Stage,
    WorkTreeCache,
    read_worktree_cache,
    write_worktree_cache,
)
from arbor.repo.worktree import Scan, read_file, scan

_RACY_NS = 100_000_000


@dataclass(frozen=True, slots=True)
class PathChange:
    """One path that differs.

    Attributes:
        status: `A` added, `M` modified, `D` deleted, `R` renamed, `U` in conflict.
        path: The path now.
        old_path: The path before a rename; "" else.
    """

    status: str
    path: str
    old_path: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the work tree.

    Attributes:
        branch: Short name of the current branch; "" where HEAD is detached.
        head: The current commit's oid as hexadecimal digits; "" before the first.
        staged: What the next commit changes.
        unstaged: Tracked files that differ from the stage.
        untracked: Files (or whole folders, with a trailing slash) that are not tracked.
        skipped: (name, reason) of what is there but cannot be tracked.
        merging: Whether a merge waits for its commit.
    """

    branch: str
    head: str
    staged: tuple[PathChange, ...]
    unstaged: tuple[PathChange, ...]
    untracked: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    merging: bool

    @property
    def clean(self) -> bool:
        """Whether nothing differs and nothing is untracked."""
        return not (self.staged or self.unstaged or self.untracked or self.merging)


def tracked_files(repo: Repository, stage: Stage) -> Entries:
    """Every staged document path with its oid and the last known state of its file."""
    cache = read_worktree_cache(repo.folder)
    if cache is not None and cache.stamp == stage.stamp:
        return cache.entries
    known = cache.entries if cache is not None else {}
    tracked = {}
    for key, oid in stage.entries(repo.store, DOCUMENTS).items():
        path = key[len(DOCUMENTS) :]
        entry = known.get(path)
        tracked[path] = entry if entry is not None and entry[0] == oid else (oid, UNKNOWN)
    return tracked


def safe_states(entries: Entries, now_ns: int) -> Entries:
    """The entries, without the states of files touched so lately that a further write could go unseen."""
    limit = now_ns - _RACY_NS
    return {
        path: (oid, UNKNOWN) if state[0] >= limit or state[1] >= limit else (oid, state)
        for path, (oid, state) in entries.items()
    }


def get_status(repo: Repository) -> Status:
    """Compare HEAD, stage and work tree; what was found unchanged is remembered for the next time."""
    head, stage = repo.refs.head(), repo.stage()
    head_oid = repo.refs.head_oid()
    tracked = tracked_files(repo, stage)
    staged = staged_changes(repo, stage)
    unstaged: tuple[PathChange, ...] = ()
    listing = Scan()
    untracked: list[str] = []
    if repo.fs_root is not None:
        folders = folders_of(tracked)
        listing = scan(repo.fs_root, tracked=tracked.__contains__, tracked_below=folders.__contains__)
        unstaged = _unstaged(repo, stage, repo.fs_root, tracked, listing)
        untracked = _collapse([path for path in listing.files if path not in tracked], folders)
    branch = head.removeprefix("refs/heads/") if isinstance(head, str) else ""
    return Status(branch, head_oid.hex() if head_oid else "", staged, unstaged, tuple(untracked),
                  tuple(listing.skipped), bool(stage.merge_parents))  # fmt: skip


def staged_changes(repo: Repository, stage: Stage) -> tuple[PathChange, ...]:
    """What the next commit changes, with exact renames paired."""
    head_root = repo.head_root()
    before = {key: value for key, value, _ in diff(repo.store, head_root, stage.base)}
    for key in stage.changes:
        if key not in before:
            before[key] = ledger.find(repo.store, head_root, key)
    rows: list[tuple[str, bytes | None, bytes | None]] = []
    for key, old in sorted(before.items()):
        new = stage.find(repo.store, key)
        if old != new and key.startswith(DOCUMENTS):
            rows.append((key[len(DOCUMENTS) :], old, new))
    return pair_renames(rows)


def pair_renames(rows: Iterable[tuple[str, bytes | None, bytes | None]]) -> tuple[PathChange, ...]:
    """Path changes from (path, old oid, new oid); an added document that equals a removed one is a rename."""
    rows = list(rows)
    removed: dict[bytes, list[str]] = {}
    for path, old, new in rows:
        if new is None and old is not None:
            removed.setdefault(old, []).append(path)
    renamed_from: set[str] = set()
    changes = []
    for path, old, new in rows:
        if old is None and new is not None and removed.get(new):
            source = removed[new].pop(0)
            renamed_from.add(source)
            changes.append(PathChange("R", path, source))
        elif new is not None:
            changes.append(PathChange("A" if old is None else "M", path))
    changes += [PathChange("D", path) for path, _, new in rows if new is None and path not in renamed_from]
    return tuple(sorted(changes, key=lambda change: change.path))


def folders_of(tracked: Iterable[str]) -> set[str]:
    """Every folder (with trailing slash) that has something tracked below it."""
    folders: set[str] = set()
    for path in tracked:
        cut = path.rfind("/")
        while cut > 0 and path[: cut + 1] not in folders:
            folders.add(path[: cut + 1])
            cut = path.rfind("/", 0, cut)
    return folders


def _unstaged(
    repo: Repository, stage: Stage, fs_root: Path, tracked: Entries, listing: Scan
) -> tuple[PathChange, ...]:
    changes = [PathChange("U", path) for path in stage.conflicts]
    in_conflict = set(stage.conflicts)
    fresh: Entries = {}
    equal = same_bytes(Snapshot(repo.store, stage.base), fs_root)
    for path, (oid, state) in tracked.items():
        found = listing.files.get(path)
        if found is None:
            if path not in in_conflict:
                changes.append(PathChange("D", path))
        elif found[1] != state:
            if equal(oid, found[0]):
                fresh[path] = (oid, found[1])
            elif path not in in_conflict:
                changes.append(PathChange("M", path))
    if fresh:
        remember_states(repo, stage, {**tracked, **fresh})
    return tuple(sorted(changes, key=lambda change: change.path))


def same_bytes(snapshot: Snapshot, fs_root: Path) -> Callable[[bytes, str], bool]:
    """A test whether a file of the work tree has the bytes of a document."""

    def equal(oid: bytes, name: str) -> bool:
        document = snapshot.document(oid)
        fs_path = fs_root / name
        try:
            if fs_path.stat().st_size != document.size:
                return False
            data, _ = read_file(fs_path)
        except (OSError, ArborError):
            return False
        return file_hash(data) == document.file_hash

    return equal


def remember_states(repo: Repository, stage: Stage, entries: Entries) -> None:
    """Keep file states for the next status; on a read-only KB nothing is kept."""
    try:
        write_worktree_cache(repo.folder, WorkTreeCache(stage.stamp, safe_states(entries, time.time_ns())))
    except OSError:
        return


def _collapse(paths: list[str], folders: set[str]) -> list[str]:
    """Untracked files, with a folder that holds nothing tracked shown once."""
    shown: set[str] = set()
    for path in paths:
        cut = path.find("/")
        while cut >= 0 and path[: cut + 1] in folders:
            cut = path.find("/", cut + 1)
        shown.add(path[: cut + 1] if cut >= 0 else path)
    return sorted(shown)
