"""Merge and revert: what another version changed comes into the current one, up to the commit."""

from __future__ import annotations

from collections.abc import Iterable

from arbor.errors import ConflictError, UsageError
from arbor.objects import ledger
from arbor.objects.ledger_diff import Change, diff
from arbor.records import dataclass
from arbor.repo.commits.committing import write_ledger
from arbor.repo.commits.history import is_ancestor, mainline_of, merge_bases
from arbor.repo.commits.messages import subject_of
from arbor.repo.commits.revisions import resolve
from arbor.repo.commits.shorthands import name_told
from arbor.repo.forgetting.cold_needs import (
    Versions,
    needs_of_revert,
    needs_of_versions,
    refuse_absent,
)
from arbor.repo.merge.merge_bases import find_base
from arbor.repo.merge.merge_ledgers import PARENT_OF, Merging, merge_ledgers
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORES, DOCUMENTS, Snapshot, shown_path
from arbor.repo.stage import Stage, clear_stage
from arbor.repo.work_tree.checkout import apply_checkout, plan_checkout, refuse_edited
from arbor.repo.work_tree.moving import Move, move_files, move_to, undo_move
from arbor.repo.work_tree.status import remember_changes
from arbor.repo.work_tree.unfinished import remove_beside


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a merge did.

    Attributes:
        kind: `up-to-date`, `fast-forward`, `merged` (and committed), `clean` (staged, ready to commit) or `conflict`.
        commit: The commit that was merged, as hexadecimal digits.
        changed: Document paths, and cores as `core:NAME`, that the merge brought.
        conflicts: Those to be resolved by hand.
        reasons: Why each of them is in conflict, in the same order.
        message: The prepared commit message.
        stale: Distilled cores that both sides made anew and that fit the merged sources on neither side.
    """

    kind: str
    commit: str
    changed: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    message: str = ""
    stale: tuple[str, ...] = ()


def merge(
    repo: Repository, revision: str, *, fast_forward: bool = True, only_fast_forward: bool = False,
    unrelated: bool = False, message: str = "", favour: str = "",
) -> MergeResult:  # fmt: skip
    """Merge a revision into the current branch, up to but without the commit of a true merge.

    With `favour`, `ours` or `theirs`, that side stands where both changed the same lines, or the same document that has
    none; what one side removed or moved is still for a person to decide on.

    Raises:
        UsageError: when there is no such side or revision, or the histories are unrelated and that is not allowed.
        ConflictError: when local changes are in the way, or a fast-forward was demanded and is impossible.
        ColdDocument: when versions that must be read are cold here; see `arbor.repo.forgetting.cold_needs`.
    """
    if favour not in ("", "ours", "theirs"):
        raise UsageError(f"'{favour}' is not a side of a merge", "the sides are ours and theirs")
    theirs, revision = resolve(repo, revision), name_told(repo, revision)
    with repo.lock():
        undo_move(repo)
        ours, stage = repo.refs.head_oid(), repo.stage()
        stage.refuse_unfinished()
        if ours is not None and is_ancestor(repo, theirs, ours):
            return MergeResult("up-to-date", theirs.hex())
        if ours is None or (fast_forward and is_ancestor(repo, ours, theirs)):
            changed = _shown(
                c.key for c in diff(repo.store, repo.ledger_root(ours), repo.ledger_root(theirs))
            )
            _fast_forward(repo, stage, ours, theirs, revision)
            return MergeResult("fast-forward", theirs.hex(), changed)
        if only_fast_forward:
            raise ConflictError(
                "the branches have diverged: no fast-forward is possible", "merge without --ff-only"
            )
        if stage.changes:
            raise ConflictError("there are staged changes", "commit them before merging")
        bases = merge_bases(repo, [ours], [theirs])
        refuse_absent(needs_of_versions(repo, Versions(bases[0] if bases else None, ours, theirs)))
        base_root = find_base(repo, ours, theirs)
        if base_root is None and not unrelated:
            raise UsageError(
                "the two histories have nothing in common", "merge them all the same with --allow-unrelated"
            )
        text = message or f"Merge {revision}"
        return _three_way(repo, stage, base_root or ledger.EMPTY_LEDGER, repo.ledger_root(theirs), theirs, revision,
                          text, (theirs,), favour)  # fmt: skip


def revert(
    repo: Repository, revision: str, mainline: int | None = None, *, further: bool = False
) -> MergeResult:
    """Stage the undoing of a commit: its parent merged in, with the commit itself as the base.

    Where that changes nothing (kind `up-to-date`) no revert is in progress afterwards that was not before.

    Args:
        repo: Where.
        revision: The commit.
        mainline: Of a merge, the parent whose side stays, from 1: what the merge brought to it is undone.
        further: Also where a revert without conflicts waits for its commit: the two become one.

    Raises:
        UsageError: when the revision is unknown, a merge without `mainline`, or has no such parent.
        ConflictError: when something is staged or local changes are in the way.
    """
    oid = resolve(repo, revision)
    commit = repo.commit(oid)
    parent = mainline_of(repo, oid, mainline)
    with repo.lock():
        undo_move(repo)
        stage = repo.stage()
        further = further and stage.in_progress == "revert" and not stage.conflicts
        if not further:
            stage.refuse_unfinished()
        if stage.changes and not further:
            raise ConflictError("there are staged changes", "commit them before reverting")
        refuse_absent(needs_of_revert(repo, revision, mainline))
        before = repo.ledger_root(parent) if parent else ledger.EMPTY_LEDGER
        subject = subject_of(commit.message)
        message = f'Revert "{subject}"\n\nThis reverts commit {oid.hex()}.'
        message = f"{stage.message}\n\n{message}" if further else message
        return _three_way(repo, stage, commit.ledger_root, before, oid, revision, message, ())


def abort(repo: Repository, what: str) -> None:
    """Leave a merge, a revert, or an mv that was cut off: files, stage and HEAD as before it.

    Args:
        repo: Where.
        what: `merge`, `revert` or `mv`.

    Raises:
        UsageError: when no such thing is in progress.
        ConflictError: when a file that it would bring back was edited since it was staged.
    """
    with repo.lock():
        record = repo.interrupted()
        if record is not None and record.kind == what:
            undo_move(repo)
            return
        stage = repo.stage()
        found = stage.in_progress
        if found != what or record is not None:
            hint = f"leave the {found} with: arbor {found} --abort" if found else ""
            raise UsageError(f"there is no {what} in progress", record.hint if record else hint)
        _bring_back(repo, stage)


def _fast_forward(repo: Repository, stage: Stage, ours: bytes | None, theirs: bytes, revision: str) -> None:
    head = repo.refs.head()
    move = Move("merge", f"merge {revision}", head if isinstance(head, str) else theirs, theirs,
                Stage(repo.ledger_root(theirs)))  # fmt: skip

    def move_ref() -> None:
        repo.refs.move_head(ours, theirs, repo.who(), f"merge {revision}: fast-forward")

    move_to(repo, stage, move, move_ref)


def _bring_back(repo: Repository, stage: Stage) -> None:
    head = Snapshot(repo.store, repo.head_root())
    in_conflict = stage.documents_in_conflict
    paths = in_conflict | {key[len(DOCUMENTS) :] for key in stage.changes if key.startswith(DOCUMENTS)}
    changes = [
        Change(path, stage.find(repo.store, DOCUMENTS + path), head.find(path)) for path in sorted(paths)
    ]
    # What was edited since it was staged is nobody's to overwrite; a conflict's file holds its two sides anyway.
    refuse_edited(repo, stage, [change for change in changes if change.key not in in_conflict])
    plan = plan_checkout(repo, stage, changes, force=True)
    if repo.fs_root is not None:  # of an abort that was cut off before
        remove_beside(repo.fs_root, paths)
    entries = apply_checkout(repo, plan, head)
    clear_stage(repo.folder)
    remember_changes(repo, stage, Stage(head.ledger_root), entries)


def _three_way(
    repo: Repository, stage: Stage, base_root: bytes, their_root: bytes, theirs: bytes, typed: str, message: str,
    parents: tuple[bytes, ...], favour: str = "",
) -> MergeResult:  # fmt: skip
    with repo.store.writer() as writer:
        our_root = write_ledger(repo, writer, stage.base, stage.changes)
    with repo.store.writer() as writer:
        merging = Merging(repo, writer, typed if parents else f"{PARENT_OF}{typed}", favour)
        merged = merge_ledgers(merging, base_root, our_root, their_root)
    if not (parents or merged.changes or merged.conflicts):
        return MergeResult("up-to-date", theirs.hex())
    documents = [
        Change(key[len(DOCUMENTS) :], stage.find(repo.store, key), value)
        for key, value in sorted(merged.changes.items())
        if key.startswith(DOCUMENTS) and key not in merged.conflicts
    ]
    files = {
        key[len(DOCUMENTS) :]: conflict.data
        for key, conflict in merged.conflicts.items()
        if conflict.data is not None
    }
    snapshot = Snapshot(repo.store, their_root)
    plan = plan_checkout(repo, stage, documents)
    if files:  # they must hold nothing that is not committed either
        plan_checkout(repo, stage, [Change(path, stage.find(repo.store, DOCUMENTS + path), None)
                                    for path in files])  # fmt: skip
    reasons = {shown_path(key): conflict.reason for key, conflict in sorted(merged.conflicts.items())}
    changes = stage.with_changes(repo.store, merged.changes).changes
    new = Stage(stage.base, changes, parents, message, tuple(reasons))
    what = "merge" if parents else "revert"
    move = Move(what, f"{what} {typed}", repo.refs.head(), repo.refs.head_oid(), new, files)
    move_files(repo, move, plan, snapshot)
    kind = "conflict" if reasons else "clean"
    return MergeResult(kind, theirs.hex(), _shown(merged.changes), new.conflicts, tuple(reasons.values()), message,
                       _shown(merged.stale))  # fmt: skip


def _shown(keys: Iterable[str]) -> tuple[str, ...]:
    """Documents and cores among ledger keys, as people call them, in order."""
    return tuple(sorted(shown_path(key) for key in keys if key.startswith((DOCUMENTS, CORES))))
