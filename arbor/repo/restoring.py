"""Changes to stage and work tree that are not adds: restore, remove, move."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from arbor.errors import ConflictError, PartlyDone, UsageError
from arbor.objects.paths import check_path
from arbor.repo.adding import select_tracked
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.stage import UNKNOWN, Entries, FileState, Stage, write_stage
from arbor.repo.status import remember_states, same_bytes, tracked_files
from arbor.repo.worktree import check_out, remove_file, state_of


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """Which paths were written, removed, or only unstaged."""

    restored: tuple[str, ...]


def restore(
    repo: Repository, selections: Sequence[str], *, source: bytes | None = None, staged: bool = False,
    worktree: bool = True,
) -> RestoreResult:  # fmt: skip
    """Bring paths back: to the stage (default), or to a commit's version.

    Args:
        repo: Where.
        selections: KB paths, folders or globs.
        source: A commit; without one the stage (for the work tree) or HEAD (for the stage).
        staged: Change the stage.
        worktree: Change the files.

    Raises:
        UsageError: when a selection matches nothing.
        Locked: when another writer holds the lock.
    """
    with repo.lock():
        stage = repo.stage()
        tracked = tracked_files(repo, stage)
        if source is None and not staged:
            wanted = {path: oid for path, (oid, _) in tracked.items()}
        else:
            commit = source if source is not None else repo.refs.head_oid()
            wanted = dict(repo.snapshot(commit).paths())
        chosen = select_tracked(selections, {**dict.fromkeys(tracked), **dict.fromkeys(wanted)})
        states = dict.fromkeys(chosen, UNKNOWN)
        if worktree:
            for path in chosen:
                states[path] = _bring_back(repo, stage, path, wanted.get(path), is_tracked=path in tracked)
        if staged:
            new = stage.with_changes(repo.store, {DOCUMENTS + path: wanted.get(path) for path in chosen})
            new = replace(new, conflicts=tuple(path for path in stage.conflicts if path not in states))
            write_stage(repo.folder, new)
        else:
            new = stage
        entries = dict(tracked)
        for path in chosen:
            oid = new.find(repo.store, DOCUMENTS + path)
            entries.pop(path, None)
            if oid is not None:
                entries[path] = (oid, states[path] if oid == wanted.get(path) else UNKNOWN)
        remember_states(repo, new, entries)
        return RestoreResult(tuple(chosen))


def _bring_back(
    repo: Repository, stage: Stage, path: str, oid: bytes | None, *, is_tracked: bool
) -> FileState:
    fs_root = repo.work_tree()
    if oid is None:
        if is_tracked:
            remove_file(fs_root, path)
        return UNKNOWN
    snapshot = Snapshot(repo.store, stage.base)
    document = snapshot.document(oid)
    return check_out(fs_root, path, snapshot.file_pieces(document, snapshot.manifest(document)))


def remove(
    repo: Repository, selections: Sequence[str], *, cached: bool = False, force: bool = False,
    recursive: bool = False, dry_run: bool = False,
) -> tuple[str, ...]:  # fmt: skip
    """Remove tracked documents from the stage and, unless `cached`, from the work tree; the paths.

    Raises:
        UsageError: when a selection matches nothing, or is a folder without `recursive`.
        ConflictError: when a file has changes that are not committed and `force` is not given.
        Locked: when another writer holds the lock.
    """
    with repo.lock():
        stage = repo.stage()
        tracked = tracked_files(repo, stage)
        chosen = select_tracked(selections, tracked)
        if not recursive:
            for selection in selections:
                if selection not in tracked and any(path.startswith(f"{selection}/") for path in chosen):
                    raise UsageError(f"'{selection}' is a folder", "remove it with -r")
        if not force:
            _refuse_to_lose(repo, stage, chosen, tracked, cached)
        if dry_run:
            return tuple(chosen)
        new = stage.with_changes(repo.store, {DOCUMENTS + path: None for path in chosen})
        write_stage(repo.folder, new)
        if not cached:
            for path in chosen:
                remove_file(repo.work_tree(), path)
        remember_states(
            repo, new, {path: entry for path, entry in tracked.items() if path not in set(chosen)}
        )
        return tuple(chosen)


def _refuse_to_lose(
    repo: Repository, stage: Stage, chosen: Sequence[str], tracked: Entries, cached: bool
) -> None:
    fs_root = repo.work_tree()
    equal = same_bytes(Snapshot(repo.store, stage.base), fs_root)
    for path in chosen:
        oid, state = tracked[path]
        try:
            current = state_of(os.lstat(fs_root / path))
        except OSError:
            continue
        if not cached and current != state and not equal(oid, path):
            raise ConflictError(
                f"'{path}' has changes that are not added",
                "keep the file with --cached, or lose them with -f",
            )
        if not cached and DOCUMENTS + path in stage.changes:
            raise ConflictError(
                f"'{path}' has staged changes", "keep the file with --cached, or lose them with -f"
            )


def move(
    repo: Repository, sources: Sequence[str], target: str, *, force: bool = False
) -> tuple[tuple[str, str], ...]:
    """Rename tracked files or folders in the work tree and the stage; (old path, new path) pairs.

    Raises:
        UsageError: when a source is not tracked, or several sources have no folder to go to.
        ConflictError: when the target exists and `force` is not given.
        Locked: when another writer holds the lock.
    """
    with repo.lock():
        fs_root, stage = repo.work_tree(), repo.stage()
        tracked = tracked_files(repo, stage)
        pairs = _plan_moves(repo, sources, target, tracked)
        for _, new in pairs:
            check_path(new)
            if not force and (new in tracked or os.path.lexists(fs_root / new)):
                raise ConflictError(f"'{new}' exists already", "replace it with -f")
        entries = dict(tracked)
        changes: dict[str, bytes | None] = {}
        for old, new in pairs:
            oid, _ = entries.pop(old)
            changes[DOCUMENTS + old] = None
            changes[DOCUMENTS + new] = oid
            entries[new] = (oid, _rename(repo, old, new))
        changed = stage.with_changes(repo.store, changes)
        write_stage(repo.folder, changed)
        remember_states(repo, changed, entries)
        return tuple(pairs)


def _plan_moves(
    repo: Repository, sources: Sequence[str], target: str, tracked: Entries
) -> list[tuple[str, str]]:
    fs_root = repo.work_tree()
    into = target == "" or (fs_root / target).is_dir()
    if len(sources) > 1 and not into:
        raise UsageError(f"'{target}' is not a folder", "make the folder first, or move one thing at a time")
    pairs = []
    for source in sources:
        name = source.rsplit("/", 1)[-1]
        place = (f"{target}/{name}" if target else name) if into else target
        if source in tracked:
            pairs.append((source, place))
            continue
        below = [path for path in sorted(tracked) if path.startswith(f"{source}/")]
        if not below:
            raise UsageError(f"'{source}' is not tracked", "run: arbor status")
        pairs += [(path, place + path[len(source) :]) for path in below]
    return pairs


def _rename(repo: Repository, old: str, new: str) -> FileState:
    fs_root = repo.work_tree()
    try:
        (fs_root / new).parent.mkdir(parents=True, exist_ok=True)
        os.replace(fs_root / old, fs_root / new)
        state = state_of(os.lstat(fs_root / new))
    except OSError as error:
        raise PartlyDone(f"'{old}' cannot be moved to '{new}': {error.strerror}") from error
    remove_file(fs_root, old)
    return state
