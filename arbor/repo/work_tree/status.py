"""What differs: between HEAD and the stage, and between the stage and the work tree."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import UsageError
from arbor.lazy import lazy_module
from arbor.records import dataclass
from arbor.repo.commits.upstreams import count_ahead_behind, is_gone, told_upstream
from arbor.repo.folders import Folders, folders_above, folders_of
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORES, DOCUMENTS, Snapshot, shown_path
from arbor.repo.stage import Stage
from arbor.repo.tiers import read_tiers
from arbor.repo.work_tree.file_states import (
    UNKNOWN,
    Entries,
    EntryChanges,
    WorkTreeCache,
    change_worktree_cache,
    moment_of,
    read_some_states,
    read_worktree_cache,
    still_tracked,
    write_worktree_cache,
)
from arbor.repo.work_tree.worktree import Scan, hash_of_file, scan

if TYPE_CHECKING:
    from arbor.repo.commits import diffing
else:
    diffing = lazy_module("arbor.repo.commits.diffing")

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
        merging, reverting: Whether a merge, or a revert, waits for its commit.
        upstream: What the branch follows, such as `origin/main`; "" where it follows nothing.
        ahead, behind: Commits that the upstream lacks, and that it has beyond the branch, as it was last seen.
        upstream_gone: Whether nothing is known of the upstream: it is gone there, or was never pushed.
        interrupted: The command that was moving files when it was interrupted; "" for none.
        way_out: What to type then.
    """

    branch: str
    head: str
    staged: tuple[PathChange, ...]
    unstaged: tuple[PathChange, ...]
    untracked: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    merging: bool
    reverting: bool = False
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    upstream_gone: bool = False
    interrupted: str = ""
    way_out: str = ""

    @property
    def clean(self) -> bool:
        """Whether nothing differs, nothing is untracked, and nothing waits to be finished."""
        waits = self.merging or self.reverting or self.interrupted
        return not (self.staged or self.unstaged or self.untracked or waits)


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


def tracked_among(repo: Repository, stage: Stage, paths: Sequence[str]) -> Entries:
    """As `tracked_files`, of these paths alone: nearly free where they are few of many."""
    found = read_some_states(repo.folder, stage.stamp, paths)
    if found is not None:
        return found
    tracked = tracked_files(repo, stage)
    return {path: tracked[path] for path in paths if path in tracked}


def safe_states(entries: Entries, now_ns: int, looked_at: Iterable[str] | None = None) -> Entries:
    """The entries, without the states of files touched so lately that a further write could go unseen.

    Args:
        entries: Paths with their documents and file states.
        now_ns: When the first of the files was looked at, in nanoseconds since 1970.
        looked_at: The paths of those files; all without. The others were safe when they were kept, and so they are.
    """
    limit = moment_of(now_ns - _RACY_NS)
    some = entries if looked_at is None else {path: entries[path] for path in looked_at if path in entries}
    young = [(path, oid) for path, (oid, state) in some.items() if state[:8] >= limit or state[8:16] >= limit]
    return {**entries, **{path: (oid, UNKNOWN) for path, oid in young}} if young else entries


def get_status(repo: Repository, *, each_untracked: bool = False) -> Status:
    """Compare HEAD, stage and work tree; what was found unchanged is remembered for the next time.

    Args:
        repo: Where.
        each_untracked: Name each file of a folder that holds nothing tracked, and not the folder.
    """
    stage = repo.stage()
    head_oid = repo.refs.head_oid()
    tracked = tracked_files(repo, stage)
    staged = tuple(change for change in staged_changes(repo, stage) if change.path not in stage.conflicts)
    unstaged: tuple[PathChange, ...] = ()
    listing = Scan()
    untracked: list[str] = []
    if repo.fs_root is not None:
        looked_ns = time.time_ns()
        listing = scan(repo.fs_root, tracked=tracked)
        unstaged = _unstaged(repo, stage, repo.fs_root, tracked, listing, looked_ns)
        loose = listing.files.keys() - tracked.keys()
        untracked = sorted(loose) if each_untracked else _collapse(loose, Folders(tracked))
    branch = repo.refs.current_branch()
    record = repo.interrupted()
    return Status(branch, head_oid.hex() if head_oid else "", staged, unstaged, tuple(untracked),
                  tuple(listing.skipped), bool(stage.merge_parents), stage.in_progress == "revert",
                  *_compare_upstream(repo, branch, head_oid), record.command if record else "",
                  record.hint if record else "")  # fmt: skip


def _compare_upstream(repo: Repository, branch: str, head_oid: bytes | None) -> tuple[str, int, int, bool]:
    """(name, commits ahead, commits behind, whether it is gone) of what a branch follows."""
    upstream = told_upstream(repo, branch)
    return upstream, *count_ahead_behind(repo, head_oid, upstream), is_gone(repo, upstream)


def list_ignored(repo: Repository, *, each: bool = False) -> list[str]:
    """Files, and folders with a slash at the end, that are neither tracked nor told as untracked: they are ignored.

    With `each` the files in such folders instead.
    """
    if repo.fs_root is None:
        return []
    tracked = tracked_files(repo, repo.stage())
    seen = scan(repo.fs_root, tracked=tracked).files.keys() | tracked.keys()
    ignored = scan(repo.fs_root, use_ignore=False).files.keys() - seen
    return sorted(ignored) if each else _collapse(ignored, Folders(seen))


def staged_changes(repo: Repository, stage: Stage) -> tuple[PathChange, ...]:
    """What the next commit changes, renames paired; a core is named `core:NAME`."""
    rows: list[tuple[str, bytes | None, bytes | None]] = []
    for key, old, new in stage.changes_since(repo.store, repo.head_root()):
        if key.startswith(DOCUMENTS):
            rows.append((key[len(DOCUMENTS) :], old, new))
        elif key.startswith(CORES):
            rows.append((shown_path(key), old, new))
    return _as_changes(repo, stage, rows)


def _as_changes(
    repo: Repository, stage: Stage, rows: Sequence[tuple[str, bytes | None, bytes | None]]
) -> tuple[PathChange, ...]:
    """Path changes from (path, old oid, new oid), in order; what was added and removed is paired as `diff` does it."""
    removed = sum(new is None for _, _, new in rows)
    added = sum(old is None for _, old, _ in rows)
    if not removed or not added:
        letters = (("A" if old is None else "D" if new is None else "M", path) for path, old, new in rows)
        return tuple(PathChange(letter, path) for letter, path in sorted(letters, key=lambda row: row[1]))
    found = diffing.pair_documents(rows, Snapshot(repo.store, stage.base))
    return tuple(PathChange(d.status, d.path, d.old_path if d.status == "R" else "") for d in found)


def displaced(tracked: Iterable[str], added: Iterable[str]) -> set[str]:
    """Tracked paths that cannot stay beside added ones, since one of the two is a folder of the other's name."""
    known = set(tracked)
    fresh = [path for path in added if path not in known]
    gone: set[str] = set()
    folders = folders_of(known) if fresh else set()
    for path in fresh:
        gone.update(folder for folder in folders_above(path) if folder in known)
        if f"{path}/" in folders:
            gone.update(other for other in known if other.startswith(f"{path}/"))
    return gone


def cold_paths(repo: Repository, tracked: Entries) -> set[str]:
    """The tracked paths whose document is cold here: no file need be there, and none is gone."""
    cold = read_tiers(repo.folder).cold
    return {path for path, (oid, _) in tracked.items() if oid in cold} if cold else set()


def _unstaged(
    repo: Repository, stage: Stage, fs_root: Path, tracked: Entries, listing: Scan, looked_ns: int
) -> tuple[PathChange, ...]:
    changes = [PathChange("U", path) for path in stage.conflicts]
    in_conflict = stage.documents_in_conflict
    fresh: Entries = {}
    equal = same_bytes(Snapshot(repo.store, stage.base), fs_root)
    absent_by_right = cold_paths(repo, tracked) | in_conflict
    files = listing.files
    differing = [path for path, (_, state) in tracked.items() if path not in files or files[path][1] != state]
    for path in differing:
        oid, found = tracked[path][0], files.get(path)
        if found is None:
            if path not in absent_by_right and listing.is_gone(path):
                changes.append(PathChange("D", path))
        elif equal(oid, found[0]):
            fresh[path] = (oid, found[1])
        elif path not in in_conflict:
            changes.append(PathChange("M", path))
    if fresh:
        remember_states(repo, stage, {**tracked, **fresh}, looked_ns, fresh)
    return tuple(sorted(changes, key=lambda change: change.path))


def same_bytes(snapshot: Snapshot, fs_root: Path) -> Callable[[bytes, str], bool]:
    """A test whether a file of the work tree has the bytes of a document."""

    def equal(oid: bytes, name: str) -> bool:
        document = snapshot.document(oid)
        fs_path = fs_root / name
        try:
            if fs_path.lstat().st_size != document.size:
                return False
            return hash_of_file(fs_path) == document.file_hash
        except (OSError, UsageError):
            return False

    return equal


def remember_states(
    repo: Repository, stage: Stage, entries: Entries, looked_ns: int | None = None,
    looked_at: Iterable[str] | None = None,
) -> None:  # fmt: skip
    """Keep file states for the next status; on a read-only KB nothing is kept.

    Args:
        repo: Where.
        stage: What the entries are the paths of.
        entries: Paths with their documents and file states.
        looked_ns: When the first of the files was looked at, in nanoseconds since 1970; now without. A state from
            just before that moment is not kept: a write right after the look could have left it as it was.
        looked_at: The files that were; all without.
    """
    try:
        safe = safe_states(entries, time.time_ns() if looked_ns is None else looked_ns, looked_at)
        write_worktree_cache(repo.folder, WorkTreeCache(stage.stamp, safe))
    except OSError:
        return


def remember_changes(repo: Repository, before: Stage, after: Stage, changes: EntryChanges) -> None:
    """Keep the states of files that were looked at just now, where the others stay as they were known.

    Args:
        repo: Where.
        before: What the files known until now are the paths of.
        after: What they will be the paths of.
        changes: Paths with their entries then, None for those that are not tracked any more.
    """
    known = still_tracked(changes)
    safe: EntryChanges = {**changes, **safe_states(known, time.time_ns())}
    try:
        if change_worktree_cache(repo.folder, before.stamp, after.stamp, safe):
            return
    except OSError:
        return
    entries: EntryChanges = {**tracked_files(repo, before), **changes}
    remember_states(repo, after, still_tracked(entries), looked_at=known)


def _collapse(paths: Iterable[str], folders: Container[str]) -> list[str]:
    """Untracked files, with a folder that holds nothing tracked shown once."""
    shown: set[str] = set()
    for path in paths:
        cut = path.find("/")
        while cut >= 0 and path[: cut + 1] in folders:
            cut = path.find("/", cut + 1)
        shown.add(path[: cut + 1] if cut >= 0 else path)
    return sorted(shown)
