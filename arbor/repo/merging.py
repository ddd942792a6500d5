"""Merge and revert: three ledgers become one, documents by content, everything else as sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arbor.errors import ConflictError, UsageError
from arbor.objects import ledger
from arbor.objects.ledger_diff import Change, diff
from arbor.objects.model import Document
from arbor.repo.branching import move_to
from arbor.repo.checkout import apply_checkout, plan_checkout
from arbor.repo.cold_needs import Versions, needs_of_revert, needs_of_versions, refuse_absent
from arbor.repo.history import is_ancestor, merge_bases
from arbor.repo.ingest import Sink, store_extraction
from arbor.repo.merge_moves import Moves, find_moves
from arbor.repo.merge_text import merge_text
from arbor.repo.repository import Repository
from arbor.repo.revisions import resolve
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.stage import UNKNOWN, Stage, clear_stage, write_stage
from arbor.repo.status import remember_states
from arbor.repo.worktree import check_out
from arbor.text.reading import extract


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a merge did.

    Attributes:
        kind: `up-to-date`, `fast-forward`, `clean` (staged, ready to commit) or `conflict`.
        commit: The commit that was merged, as hexadecimal digits.
        changed: Document paths that the merge brought.
        conflicts: Document paths to be resolved by hand.
        reasons: Why each of them is in conflict, in the same order.
        message: The prepared commit message.
    """

    kind: str
    commit: str
    changed: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    message: str = ""


@dataclass(slots=True)
class _Merged:
    """The merged changes against our side; of conflicted documents the bytes for the work tree, and why."""

    changes: dict[str, bytes | None] = field(default_factory=dict)
    conflicts: dict[str, tuple[bytes, str]] = field(default_factory=dict)


def merge(
    repo: Repository, revision: str, *, fast_forward: bool = True, only_fast_forward: bool = False,
    unrelated: bool = False, message: str = "",
) -> MergeResult:  # fmt: skip
    """Merge a revision into the current branch, up to but without the commit of a true merge.

    Raises:
        UsageError: when the revision is unknown, or the histories are unrelated and that is not allowed.
        ConflictError: when local changes are in the way, or a fast-forward was demanded and is impossible.
        ColdDocument: when versions that must be read are cold here; see `arbor.repo.cold_needs`.
    """
    theirs = resolve(repo, revision)
    with repo.lock():
        ours, stage = repo.refs.head_oid(), repo.stage()
        stage.refuse_unfinished()
        if ours is not None and is_ancestor(repo, theirs, ours):
            return MergeResult("up-to-date", theirs.hex())
        if ours is None or (fast_forward and is_ancestor(repo, ours, theirs)):
            changed = [c.key for c in repo.snapshot(theirs).changes_since(repo.ledger_root(ours))]
            move_to(repo, stage, repo.ledger_root(theirs))
            repo.refs.move_head(ours, theirs, repo.who(), f"merge {revision}: fast-forward")
            return MergeResult("fast-forward", theirs.hex(), tuple(changed))
        if only_fast_forward:
            raise ConflictError(
                "the branches have diverged: no fast-forward is possible", "merge without --ff-only"
            )
        if stage.changes:
            raise ConflictError("there are staged changes", "commit them before merging")
        bases = merge_bases(repo, ours, theirs)
        if not bases and not unrelated:
            raise UsageError(
                "the two histories have nothing in common", "merge them all the same with --allow-unrelated"
            )
        refuse_absent(needs_of_versions(repo, Versions(bases[0] if bases else None, ours, theirs)))
        base_root = repo.ledger_root(bases[0]) if bases else ledger.EMPTY_LEDGER
        text = message or f"Merge {revision}"
        return _three_way(repo, stage, base_root, repo.ledger_root(theirs), theirs, revision, text, (theirs,))


def revert(repo: Repository, revision: str) -> MergeResult:
    """Stage the undoing of a commit: its parent merged in, with the commit itself as the base.

    Raises:
        UsageError: when the revision is unknown or a merge.
        ConflictError: when something is staged or local changes are in the way.
    """
    oid = resolve(repo, revision)
    commit = repo.commit(oid)
    if len(commit.parents) > 1:
        raise UsageError("a merge cannot be reverted as a whole", "revert the commits that it brought")
    with repo.lock():
        stage = repo.stage()
        stage.refuse_unfinished()
        if stage.changes:
            raise ConflictError("there are staged changes", "commit them before reverting")
        refuse_absent(needs_of_revert(repo, revision))
        before = repo.ledger_root(commit.parents[0]) if commit.parents else ledger.EMPTY_LEDGER
        subject = commit.message.split("\n", 1)[0]
        message = f'Revert "{subject}"\n\nThis reverts commit {oid.hex()}.'
        return _three_way(repo, stage, commit.ledger_root, before, oid, f"parent of {revision}", message, ())


def abort(repo: Repository, what: str) -> None:
    """Leave a merge or a revert: files, stage and HEAD as before it.

    Args:
        repo: Where.
        what: `merge` or `revert`.

    Raises:
        UsageError: when no such thing is in progress.
    """
    with repo.lock():
        stage = repo.stage()
        found = stage.in_progress
        if found != what:
            hint = f"leave the {found} with: arbor {found} --abort" if found else ""
            raise UsageError(f"there is no {what} in progress", hint)
        _bring_back(repo, stage)


def _bring_back(repo: Repository, stage: Stage) -> None:
    head = Snapshot(repo.store, repo.head_root())
    paths = {key[len(DOCUMENTS) :] for key in stage.changes if key.startswith(DOCUMENTS)} | set(
        stage.conflicts
    )
    changes = [
        Change(path, stage.find(repo.store, DOCUMENTS + path), head.find(path)) for path in sorted(paths)
    ]
    plan = plan_checkout(repo, stage, changes, force=True)
    entries = apply_checkout(repo, plan, head)
    clear_stage(repo.folder)
    remember_states(repo, Stage(head.ledger_root), entries)


def _three_way(
    repo: Repository, stage: Stage, base_root: bytes, their_root: bytes, theirs: bytes, name: str, message: str,
    parents: tuple[bytes, ...],
) -> MergeResult:  # fmt: skip
    with repo.store.writer() as writer:
        merged = merge_ledgers(repo, base_root, stage.base, their_root, writer, name)
    documents = [
        Change(key[len(DOCUMENTS) :], ledger.find(repo.store, stage.base, key), value)
        for key, value in sorted(merged.changes.items())
        if key.startswith(DOCUMENTS)
    ]
    snapshot = Snapshot(repo.store, their_root)
    plan = plan_checkout(repo, stage, [c for c in documents if c.key not in merged.conflicts])
    if merged.conflicts:  # their files must hold nothing that is not committed either
        plan_checkout(repo, stage, [Change(p, snapshot_find(repo, stage, p), None) for p in merged.conflicts])
    entries = apply_checkout(repo, plan, snapshot)
    for path, (data, _) in merged.conflicts.items():
        if repo.fs_root is not None:
            check_out(repo.fs_root, path, [data])
    new = Stage(stage.base, merged.changes, parents, message, tuple(sorted(merged.conflicts)))
    for path in new.conflicts:  # tracked like any other, so that it can be added, or removed
        oid = new.find(repo.store, DOCUMENTS + path)
        if oid is not None:
            entries[path] = oid, UNKNOWN
    write_stage(repo.folder, new)
    remember_states(repo, new, entries)
    kind = "conflict" if merged.conflicts else "clean"
    reasons = tuple(merged.conflicts[path][1] for path in new.conflicts)
    return MergeResult(kind, theirs.hex(), tuple(c.key for c in documents), new.conflicts, reasons, message)


def snapshot_find(repo: Repository, stage: Stage, path: str) -> bytes | None:
    """The document at a path of the stage's base."""
    return ledger.find(repo.store, stage.base, DOCUMENTS + path)


def merge_ledgers(
    repo: Repository, base_root: bytes, our_root: bytes, their_root: bytes, sink: Sink, their_name: str
) -> _Merged:
    """The changes that bring our ledger to the merge of both; reads only what differs."""
    ours = {change.key: change for change in diff(repo.store, base_root, our_root)}
    theirs = {change.key: change for change in diff(repo.store, base_root, their_root)}
    merged = _Merged()
    moves = find_moves(repo, ours, theirs, our_root, their_root)
    old_names = {new: old for old, new in moves.theirs.items()}
    for key, change in theirs.items():
        if key in moves.theirs:
            merged.changes[key] = None
        elif key in old_names:
            old = old_names[key]
            _merge_document(
                repo, merged, key, change.after, theirs[old].before, ours[old].after, sink, their_name
            )
        elif key in moves.same and ours[key].after != change.after:
            base = theirs[moves.same[key]].before
            _merge_document(repo, merged, key, change.after, base, ours[key].after, sink, their_name)
        else:
            _merge_key(repo, merged, moves.ours.get(key, key), change, ours, sink, their_name)
    _mark_moves(repo, merged, moves, ours, theirs)
    merged.changes = {key: value for key, value in merged.changes.items()
                      if ledger.find(repo.store, our_root, key) != value}  # fmt: skip
    _refuse_clash(repo, merged, our_root)
    return merged


def _mark_moves(
    repo: Repository, merged: _Merged, moves: Moves, ours: Mapping[str, Change], theirs: Mapping[str, Change]
) -> None:
    """Documents that one side moved and the other removed or moved elsewhere are for a person to decide on."""
    marks: list[tuple[str, bytes | None, str]] = []
    for old, here, there in moves.apart:
        reason = f"renamed from {_path(old)}: here to {_path(here)}, there to {_path(there)}"
        marks += [(here, ours[here].after, reason), (there, theirs[there].after, reason)]
    marks += [(new, theirs[new].after, "deleted here, renamed there") for _, new in moves.deleted_here]
    marks += [(new, ours[new].after, "renamed here, deleted there") for _, new in moves.deleted_there]
    snapshot = Snapshot(repo.store, ledger.EMPTY_LEDGER)
    for key, oid, reason in marks:
        if oid is not None:
            merged.conflicts.setdefault(_path(key), (_bytes_of(snapshot, oid), reason))


def _refuse_clash(repo: Repository, merged: _Merged, our_root: bytes) -> None:
    """No document may come to stand where a folder of others must be.

    Raises:
        ConflictError: naming the first such path.
    """

    def stands(key: str) -> bool:
        value = merged.changes[key] if key in merged.changes else ledger.find(repo.store, our_root, key)
        return value is not None

    for key, value in sorted(merged.changes.items()):
        if value is None or not key.startswith(DOCUMENTS):
            continue
        parts = key[len(DOCUMENTS) :].split("/")
        above = [DOCUMENTS + "/".join(parts[:count]) for count in range(1, len(parts))]
        below = (other for other, _ in ledger.iter_entries(repo.store, our_root, key + "/"))
        clash = next((other for other in above if stands(other)), None)
        clash = clash or next((key for other in below if stands(other)), None)
        if clash is not None:
            raise ConflictError(
                f"'{_path(clash)}' is a document on one side and a folder on the other",
                "rename one of them with arbor mv, commit that, and begin again",
            )


def _path(key: str) -> str:
    return key[len(DOCUMENTS) :]


def _merge_key(
    repo: Repository, merged: _Merged, key: str, change: Change, ours: Mapping[str, Change], sink: Sink,
    their_name: str,
) -> None:  # fmt: skip
    """One key that they changed, under the name that it has on our side."""
    mine = ours.get(key)
    if mine is None:
        merged.changes[key] = change.after
    elif mine.after == change.after:
        return
    elif not key.startswith(DOCUMENTS):
        merged.changes[key] = _merge_value(mine.after, change.after)
    else:
        _merge_document(repo, merged, key, change.after, change.before, mine.after, sink, their_name)


def _merge_value(ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Edges, events and records are sets keyed by their own hash: what one side has, the merge has."""
    values = [value for value in (ours, theirs) if value is not None]
    return max(values) if values else None


def _merge_document(
    repo: Repository, merged: _Merged, key: str, theirs: bytes | None, base: bytes | None, ours: bytes | None,
    sink: Sink, their_name: str,
) -> None:  # fmt: skip
    snapshot, path = Snapshot(repo.store, ledger.EMPTY_LEDGER), key[len(DOCUMENTS) :]
    if ours is None or theirs is None:
        kept = ours or theirs
        assert kept is not None
        merged.changes[key] = kept
        reason = "deleted here, changed there" if ours is None else "changed here, deleted there"
        merged.conflicts[path] = _bytes_of(snapshot, kept), reason
        return
    documents = [snapshot.document(oid) if oid else None for oid in (base, ours, theirs)]
    if all(document is None or _is_lines(document) for document in documents):
        sides = [_bytes_of(snapshot, oid) if oid else b"" for oid in (base, ours, theirs)]
        result = merge_text(sides[0], sides[1], sides[2], "HEAD", their_name)
        if result is not None and not result.conflicts:
            extraction = extract(result.data, path, repo.policy().chunking)
            source = documents[1].source_uri if documents[1] else ""
            merged.changes[key] = store_extraction(sink, extraction, result.data, source)
            return
        if result is not None:
            reason = "both changed the same lines" if base else "added on both sides"
            merged.conflicts[path] = result.data, reason
            return
    act = "both changed it" if base else "added on both sides"
    reason = f"{act}, and it cannot be merged by lines: the file is as it was here"
    merged.conflicts[path] = _bytes_of(snapshot, ours), reason


def _is_lines(document: Document) -> bool:
    return document.original_count == 0 and not document.encoding.startswith(("utf-16", "utf-32"))


def _bytes_of(snapshot: Snapshot, oid: bytes) -> bytes:
    document = snapshot.document(oid)
    return b"".join(snapshot.file_pieces(document, snapshot.manifest(document)))
