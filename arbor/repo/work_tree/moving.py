"""Moves of the work tree that end wholly or can be undone: merge, revert, switch, reset --hard, and mv.

The order is the whole point: the record, the files, the stage, the ref, and the record goes. Killed before the last
file is written or before the ref has moved, the record tells what each file held; after that, everything is done.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path

from arbor.errors import ArborError, ConflictError, UsageError
from arbor.objects import ledger
from arbor.objects.ids import file_hash
from arbor.objects.ledger_diff import Change
from arbor.records import dataclass
from arbor.repo.folders import folders_of
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.stage import Stage, clear_stage, encode_stage, put_stage
from arbor.repo.work_tree.checkout import (
    CheckoutPlan,
    absent_documents,
    apply_checkout,
    carried_along,
    is_torn_file,
    plan_checkout,
)
from arbor.repo.work_tree.file_states import UNKNOWN
from arbor.repo.work_tree.move_record import (
    MovedFile,
    MoveRecord,
    clear_move,
    stage_bytes,
    state_of_move,
    write_move,
)
from arbor.repo.work_tree.status import remember_changes, same_bytes
from arbor.repo.work_tree.worktree import (
    check_out,
    hash_of_file,
    is_on_disk,
    make_durable,
    name_on_disk,
    remove_empty_folders,
    rename_files,
)
from arbor.store.files import make_folders, remove_temporaries, storing, write_atomically


@dataclass(frozen=True, slots=True)
class Move:
    """Where a move leads.

    Attributes:
        kind: `merge`, `revert`, `switch` or `reset`; `mv` is `arbor.repo.work_tree.renaming`'s.
        command: What was typed, in short.
        head: What HEAD holds afterwards: a full ref name or a commit.
        commit: The commit that HEAD stands for afterwards.
        stage: What is staged afterwards.
        marked: The bytes of the files in conflict, by path.
        new_ref: The branch that is made; "" for none.
    """

    kind: str
    command: str
    head: str | bytes
    commit: bytes | None
    stage: Stage
    marked: Mapping[str, bytes] = field(default_factory=dict)
    new_ref: str = ""


def move_files(
    repo: Repository, move: Move, plan: CheckoutPlan, snapshot: Snapshot, move_ref: Callable[[], object] = lambda: None
) -> None:  # fmt: skip
    """Write the files of a plan and those in conflict, then the stage, then the ref. Call it under the writer lock.

    Args:
        repo: Where.
        move: Where it leads.
        plan: The files that change, but for those in conflict.
        snapshot: Where their documents are read.
        move_ref: Moves HEAD or its branch, at the end.

    Raises:
        PartlyDone, StorageError: when the system refuses to write a file; what was written before is taken back. Where
            that is refused as well, or comes too late, the hint tells what waits and how it ends.
    """
    before = repo.stage()
    with telling_what_waits(repo, before.in_progress), storing(repo.folder):
        _move_files(repo, before, move, plan, snapshot, move_ref)


@contextlib.contextmanager
def telling_what_waits(repo: Repository, waited: str = "") -> Iterator[None]:
    """Around what moves or commits: where it fails and something waits to be ended, the hint says what and how.

    The same command again, which hints speak of otherwise, would be refused.

    Args:
        repo: Where.
        waited: What waited before a block that is about something else, see `Stage.in_progress`.
    """
    try:
        yield
    except ArborError as error:
        with contextlib.suppress(ArborError, OSError):
            record, stage = repo.interrupted(), repo.stage()
            if record is not None:
                error.hint = record.how_to_end
            elif stage.in_progress != waited:
                error.hint = stage.how_to_end
        raise


def _move_files(
    repo: Repository, before: Stage, move: Move, plan: CheckoutPlan, snapshot: Snapshot,
    move_ref: Callable[[], object],
) -> None:  # fmt: skip
    after = b"" if move.stage.is_empty else encode_stage(move.stage)
    head = repo.refs.head()
    record = MoveRecord(
        move.kind, move.command, head if isinstance(head, str) else head.hex(), stage_bytes(repo.folder),
        tuple(_moved_files(repo, move, plan, before)), move.new_ref, state_of_move(move.head, move.commit, after),
    )  # fmt: skip
    try:
        write_move(repo.folder, record)
        entries = apply_checkout(repo, plan, snapshot)
        for path, data in move.marked.items():
            if (
                repo.fs_root is not None
            ):  # durable, since what the power left of it could not be told from an edit
                check_out(repo.fs_root, path, [data], durable=True)
            oid = move.stage.find(repo.store, DOCUMENTS + path)
            if oid is not None:  # tracked like any other, so that it can be added, or removed
                entries[path] = oid, UNKNOWN
        if repo.fs_root is not None:
            make_durable(repo.fs_root, move.marked, names_only=True)
        put_stage(repo.folder, move.stage)
        move_ref()
    except (ArborError, OSError):
        with contextlib.suppress(ArborError, OSError):  # else the record stays, and status tells
            undo_move(repo)
        raise
    clear_move(repo.folder)
    remember_changes(repo, before, move.stage, entries)


def _moved_files(repo: Repository, move: Move, plan: CheckoutPlan, before: Stage) -> Iterator[MovedFile]:
    if repo.fs_root is None:
        return

    def held(path: str, old: bytes | None) -> bytes | None:
        assert repo.fs_root is not None
        return old if is_on_disk(repo.fs_root, path) else None

    for path, old, new in plan.changes:
        if path not in plan.already and old != new:
            has_none = new in plan.absent and path not in plan.carried
            yield MovedFile(path, held(path, old), None if has_none else new)
    for path, data in move.marked.items():
        old = before.find(repo.store, DOCUMENTS + path)
        yield MovedFile(path, held(path, old), move.stage.find(repo.store, DOCUMENTS + path), file_hash(data))


def undo_move(repo: Repository) -> None:
    """Put back what an interrupted move has changed; nothing where there is none. Call it under the writer lock.

    A file that is not as the move left it was not written yet, or was changed by somebody since: it stays as it is.

    Raises:
        PartlyDone: when the system refuses to write a file.
    """
    record = repo.interrupted()
    if record is None:
        return
    if record.kind == "mv":
        _rename_back(repo, record)
    elif repo.fs_root is not None:
        _put_back(repo, record)
    if record.stage:
        write_atomically(repo.folder / "stage", record.stage)
    else:
        clear_stage(repo.folder)
    if record.new_ref and repo.refs.head() != record.new_ref:
        made = repo.refs.read(record.new_ref)
        if made is not None:
            repo.refs.move(record.new_ref, made, None, repo.who(), f"undo of '{record.command}'")
    clear_move(repo.folder)


def _put_back(repo: Repository, record: MoveRecord) -> None:
    fs_root = repo.work_tree()
    snapshot = repo.snapshot(None)
    equal = same_bytes(snapshot, fs_root)
    changes, folders = [], {fs_root}
    for file in record.files:
        name = name_on_disk(fs_root, file.path)
        folders.add((fs_root / name).parent)
        there = os.path.lexists(fs_root / name)
        if not there or (fs_root / name).is_dir():
            is_ours = file.after is None
        elif file.marked_hash:
            is_ours = _has_hash(fs_root / name, file.marked_hash)
        else:
            is_ours = file.after is not None and (
                equal(file.after, name) or is_torn_file(snapshot, file.after, fs_root / name)
            )
        if is_ours:
            changes.append(Change(file.path, file.after, file.before))
    for folder in folders:  # what was being written
        remove_temporaries(folder, spare_running=True)
    absent = absent_documents(repo, (oid for _, *oids in changes for oid in oids))
    carried = carried_along(fs_root, changes, absent)
    still_there = {file.before for file in record.files if file.before in absent
                and equal(file.before, name_on_disk(fs_root, file.path))}  # fmt: skip
    # What cannot go back to where it was, and is not there still, stays: it may be the last copy.
    changes = [each for each in changes if each.after is not None or each.before not in absent - still_there
               or each.key in carried.values()]  # fmt: skip
    plan = CheckoutPlan(tuple(changes), frozenset(), absent, carried)
    apply_checkout(repo, plan, snapshot)


def _rename_back(repo: Repository, record: MoveRecord) -> None:
    """Move back the files that are at their new place and not at their old one, with whatever is in them by now."""
    fs_root = repo.work_tree()
    moved = [
        (old.path, new.path)
        for old, new in zip(record.files[::2], record.files[1::2], strict=True)
        if not is_on_disk(fs_root, old.path) and is_on_disk(fs_root, new.path)
    ]
    for _ in rename_files(fs_root, [(new, old) for old, new in reversed(moved)]):
        pass
    made = [fs_root / name_on_disk(fs_root, folder) for folder in reversed(record.made)]
    remove_empty_folders(fs_root, [folder for folder in made if folder.is_dir() and not folder.is_symlink()])
    there = {folder.rstrip("/") for folder in folders_of(file.path for file in record.files[1::2])}
    for folder in sorted(there - {*record.made}):
        target = fs_root / name_on_disk(fs_root, folder)
        if not os.path.lexists(target):  # it was empty before, and went with what had been moved into it
            make_folders(target)
    replaced = [
        Change(file.path, None, file.before)
        for file in record.files[1::2]
        if file.before is not None and not is_on_disk(fs_root, file.path)
    ]
    absent = absent_documents(repo, (change.after for change in replaced))
    plan = CheckoutPlan(tuple(replaced), frozenset(), absent)
    apply_checkout(repo, plan, repo.snapshot(None))


def _has_hash(fs_path: Path, wanted: bytes) -> bool:
    try:
        return hash_of_file(fs_path) == wanted
    except (OSError, UsageError):
        return False


def move_to(
    repo: Repository, stage: Stage, move: Move, move_ref: Callable[[], object], *, force: bool = False
) -> None:
    """Bring work tree, stage and ref to the version whose root `move.stage` has as its base.

    Staged changes elsewhere are kept, not with `force`; what is staged as it will be is no longer a change.

    Raises:
        ConflictError: when local or staged changes would be overwritten and `force` is not given.
    """
    new_root = move.stage.base
    snapshot = Snapshot(repo.store, new_root)
    changes = list(snapshot.changes_since(stage.base))
    staged = {key[len(DOCUMENTS) :] for key in stage.changes if key.startswith(DOCUMENTS)}
    if not force:
        # What is staged as it will be is there already, and what was edited since stays an edit, as in git.
        changes = [
            change for change in changes
            if change.key not in staged or stage.find(repo.store, DOCUMENTS + change.key) != change.after
        ]  # fmt: skip
    clash = [change.key for change in changes if change.key in staged]
    if clash and not force:
        raise ConflictError(
            f"staged changes would be overwritten: {', '.join(clash[:5])}", "commit them first"
        )
    if force:
        known = {change.key: change for change in changes}
        in_conflict = stage.documents_in_conflict
        for path in staged | in_conflict:
            known[path] = Change(path, stage.find(repo.store, DOCUMENTS + path), snapshot.find(path))
        # A file that is tracked neither before nor afterwards, such as after `rm --cached`, is nobody's to remove.
        known = {path: change for path, change in known.items()
                 if change.before or change.after or path in in_conflict}  # fmt: skip
        changes = list(known.values()) + _edited(repo, stage, known)
    plan = plan_checkout(repo, stage, changes, force=force)
    kept = {} if force else {key: value for key, value in stage.changes.items()
                             if ledger.find(repo.store, new_root, key) != value}  # fmt: skip
    move_files(repo, replace(move, stage=Stage(new_root, kept)), plan, snapshot, move_ref)


def _edited(repo: Repository, stage: Stage, known: Mapping[str, Change]) -> list[Change]:
    """Tracked files that differ from the stage and that a forced move brings back as well."""
    from_stage = stage.entries(repo.store, DOCUMENTS)
    return [
        Change(key[len(DOCUMENTS) :], oid, oid)
        for key, oid in from_stage.items()
        if key[len(DOCUMENTS) :] not in known
    ]
