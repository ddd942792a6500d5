"""Changes to stage and work tree that are neither adds nor moves: restore, remove."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence

from arbor.errors import ConflictError, UsageError
from arbor.records import dataclass
from arbor.repo.forgetting.cold_needs import Need, named, refuse_absent
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.stage import Stage, write_stage
from arbor.repo.tiers import to_rehydrate
from arbor.repo.work_tree.checkout import absent_documents
from arbor.repo.work_tree.file_states import UNKNOWN, Entries, FileState, state_of
from arbor.repo.work_tree.selections import matcher_of, select_tracked
from arbor.repo.work_tree.status import displaced, remember_states, same_bytes, tracked_files
from arbor.repo.work_tree.unfinished import remove_beside
from arbor.repo.work_tree.worktree import (
    check_out,
    make_durable,
    name_on_disk,
    remove_bare_folders,
    remove_files,
)
from arbor.store.journal import NAMED_IN_JOURNAL, Journal
from arbor.store.syncing import FEW_FILES


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
        ConflictError: when a document in conflict would be brought back from the stage.
        ColdDocument: when files would be written whose passages are cold here; nothing is changed then.
        Locked: when another writer holds the lock.
    """
    with repo.changing_stage() as stage:
        tracked = tracked_files(repo, stage)
        if from_stage := source is None and not staged:
            wanted = {path: oid for path, (oid, _) in tracked.items()}
        else:
            wanted = dict(repo.snapshot(source if source is not None else repo.refs.head_oid()).paths())
        chosen = select_tracked(selections, {**dict.fromkeys(tracked), **dict.fromkeys(wanted)})
        _refuse_in_conflict(stage, chosen if from_stage else ())
        if worktree:
            _refuse_cold(repo, stage, {path: wanted.get(path) for path in chosen}, source)
        in_conflict = stage.documents_in_conflict
        states, in_the_way = dict.fromkeys(chosen, UNKNOWN), set[str]()
        changed = {
            path
            for path in chosen
            if staged
            and (path in in_conflict or stage.find(repo.store, DOCUMENTS + path) != wanted.get(path))
        }
        if worktree:
            remove_beside(repo.work_tree(), chosen)
            # What goes makes room for what comes.
            remove_files(
                repo.work_tree(), [path for path in chosen if path not in wanted and path in tracked]
            )
            changed |= _bring_all_back(repo, stage, chosen, wanted, tracked, states)
        if staged:
            in_the_way = displaced(tracked, [path for path in chosen if path in wanted]) - set(chosen)
            changes = {DOCUMENTS + path: wanted.get(path) for path in (*chosen, *in_the_way)}
            new = stage.with_changes(repo.store, changes).resolved({DOCUMENTS + path for path in states})
            write_stage(repo.folder, new)
        else:
            new = stage
        entries = dict(tracked)
        for path in (*chosen, *in_the_way):
            oid = new.find(repo.store, DOCUMENTS + path)
            entries.pop(path, None)
            if oid is not None:
                entries[path] = (oid, states.get(path, UNKNOWN) if oid == wanted.get(path) else UNKNOWN)
        remember_states(repo, new, entries)
        return RestoreResult(tuple(path for path in chosen if path in changed))


def _refuse_in_conflict(stage: Stage, chosen: Sequence[str]) -> None:
    """Raises ConflictError where a file is in conflict: the stage holds one side, and the other would go unseen."""
    in_conflict = stage.documents_in_conflict
    path = next((path for path in chosen if path in in_conflict), None)
    if path is not None:
        raise ConflictError(
            f"'{path}' is in conflict, and its file holds both sides",
            f"take a side, which HEAD or another REV names, with: arbor restore -s HEAD {shlex.quote(path)}",
            path,
        )


def _refuse_cold(
    repo: Repository, stage: Stage, wanted: Mapping[str, bytes | None], source: bytes | None
) -> None:
    """Raises ColdDocument for all of the files that cannot be written, before any is."""
    fs_root, gone = repo.work_tree(), absent_documents(repo, wanted.values())
    equal = same_bytes(Snapshot(repo.store, stage.base), fs_root)
    refuse_absent([Need(path, oid, named(source)) for path, oid in wanted.items()
                   if oid in gone and not equal(oid, name_on_disk(fs_root, path))])  # fmt: skip


def _bring_all_back(
    repo: Repository, stage: Stage, chosen: Sequence[str], wanted: Mapping[str, bytes | None], tracked: Entries,
    states: dict[str, FileState],
) -> set[str]:  # fmt: skip
    """Write the files of documents, durably, and note their states; those that were other before."""
    changed, are_few = set(), len(chosen) <= FEW_FILES
    for path in chosen:
        states[path], is_other = _bring_back(
            repo, stage, path, wanted.get(path), tracked.get(path), durable=are_few
        )
        changed |= {path} if is_other else set()
    make_durable(repo.work_tree(), [path for path in changed if path in wanted], names_only=are_few)
    return changed


def _bring_back(
    repo: Repository, stage: Stage, path: str, oid: bytes | None, known: tuple[bytes, FileState] | None,
    *, durable: bool,
) -> tuple[FileState, bool]:  # fmt: skip
    """Write a document's file unless it is there as it should be; its state now, and whether it was another.

    That of no document any more (`oid` is None) is gone by now.
    """
    fs_root = repo.work_tree()
    if oid is None:
        return UNKNOWN, known is not None
    snapshot, name = Snapshot(repo.store, stage.base), name_on_disk(fs_root, path)
    with contextlib.suppress(OSError):
        state = state_of(os.lstat(fs_root / name))
        if known == (oid, state):
            return state, False
        if same_bytes(snapshot, fs_root)(oid, name):
            return UNKNOWN, False
    remove_bare_folders(fs_root, path)
    return check_out(fs_root, path, snapshot.iter_file(oid), durable=durable), True


def remove(
    repo: Repository, selections: Sequence[str], *, cached: bool = False, force: bool = False,
    recursive: bool = False, dry_run: bool = False, ignore_unmatched: bool = False,
) -> tuple[str, ...]:  # fmt: skip
    """Remove tracked documents from the stage and, unless `cached`, from the work tree; the paths.

    Raises:
        UsageError: when a selection matches nothing, or is a folder without `recursive`.
        ConflictError: when a file has changes that are not committed and `force` is not given.
        PartlyDone: when the system refuses to remove a file; nothing is staged then.
        Locked: when another writer holds the lock.
    """
    with repo.changing_stage() as stage:
        tracked = tracked_files(repo, stage)
        if ignore_unmatched:
            selections = [each for each in selections if any(map(matcher_of([each]), tracked))]
            if not selections:
                return ()
        chosen = select_tracked(selections, tracked)
        if not recursive:
            for selection in selections:
                prefix = f"{selection}/" if selection else ""
                if selection not in tracked and any(path.startswith(prefix) for path in chosen):
                    raise UsageError(f"'{selection or '.'}' is a folder", "remove it with -r")
        lost = ""
        try:
            _refuse_to_lose(repo, stage, chosen, tracked, cached=cached)
        except ConflictError as error:
            lost = error.message
            if not force:
                raise
        if dry_run:
            return tuple(chosen)
        if lost:
            details = {"paths": chosen[:NAMED_IN_JOURNAL], "documents": len(chosen), "lost": lost}
            Journal(repo.folder).append("discard", details)
        gone = set(chosen)
        changes = dict.fromkeys(DOCUMENTS + path for path in chosen)
        new = stage.with_changes(repo.store, changes).resolved(changes)
        if not cached:
            # The files first: cut off or refused half-way, all of them are tracked, and the same command finds them.
            remove_files(repo.work_tree(), chosen)
        write_stage(repo.folder, new)
        remember_states(repo, new, {path: entry for path, entry in tracked.items() if path not in gone})
        return tuple(chosen)


def _refuse_to_lose(
    repo: Repository, stage: Stage, chosen: Sequence[str], tracked: Entries, *, cached: bool
) -> None:
    """Raises ConflictError where the last copy of something would go: the file's, or what the stage alone has."""
    fs_root, head = repo.work_tree(), Snapshot(repo.store, repo.head_root())
    equal, in_conflict = same_bytes(head, fs_root), stage.documents_in_conflict
    absent = frozenset() if cached else absent_documents(repo, [tracked[path][0] for path in chosen])
    for path in chosen:
        oid, state = tracked[path]
        name = name_on_disk(fs_root, path)
        try:
            current = state_of(os.lstat(fs_root / name))
        except OSError:
            continue
        if oid in absent:
            raise ConflictError(
                f"'{path}' is cold, and its file would go: it may be the last copy",
                f"lose it with -f, or run: {to_rehydrate(path)}",
                path,
            )
        if path in in_conflict:
            continue  # to remove it is one way to resolve it, and the next commit has what it was
        is_staged = DOCUMENTS + path in stage.changes and head.find(path) != oid
        if cached and not is_staged:
            continue
        is_edited = current != state and not equal(oid, name)
        if cached and is_edited:
            raise ConflictError(
                f"'{path}' is staged as neither its file nor HEAD has it", "lose what is staged with -f"
            )
        if is_edited:
            raise ConflictError(
                f"'{path}' has changes that are not added",
                "keep the file with --cached, or lose them with -f",
            )
        if is_staged and not cached:
            raise ConflictError(
                f"'{path}' has staged changes", "keep the file with --cached, or lose them with -f"
            )
