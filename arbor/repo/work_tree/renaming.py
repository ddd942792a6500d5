"""Moving documents within the work tree: `mv`, which ends wholly or can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from arbor.errors import ConflictError, PartlyDone, UsageError
from arbor.objects.paths import check_path
from arbor.repo.folders import folders_of
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS
from arbor.repo.stage import Stage, encode_stage, write_stage
from arbor.repo.staging.ingest import store_extraction
from arbor.repo.work_tree.checkout import absent_documents
from arbor.repo.work_tree.file_states import UNKNOWN, Entries
from arbor.repo.work_tree.move_record import (
    MovedFile,
    MoveRecord,
    clear_move,
    stage_bytes,
    state_of_move,
    write_move,
)
from arbor.repo.work_tree.moving import telling_what_waits, undo_move
from arbor.repo.work_tree.status import displaced, remember_states, tracked_files
from arbor.repo.work_tree.worktree import is_on_disk, name_on_disk, refuse_beyond_link, rename_files
from arbor.store.files import storing
from arbor.text.charsets import split_recorded
from arbor.text.media import format_of_suffix
from arbor.text.reading import extract

KIND = "mv"


def move(
    repo: Repository, sources: Sequence[str], target: str, *, force: bool = False, is_folder: bool = False,
    dry_run: bool = False,
) -> tuple[tuple[str, str], ...]:  # fmt: skip
    """Rename tracked files or folders in the work tree and the stage; (old path, new path) pairs.

    One that a crash cut off before is taken back first.

    Args:
        repo: Where.
        sources: KB paths of documents or folders.
        target: The new path, or the folder to move into.
        force: Replace what is there.
        is_folder: The target was written as a folder, so that no document may become it.
        dry_run: Only tell what would be renamed.

    Raises:
        UsageError: when a source is not tracked, has no file any more or would go into itself, or several have one
            place or no folder to go to.
        ConflictError: when the target exists and `force` is not given, or a source is in conflict.
        PartlyDone: when the system refuses; what was moved before is staged.
        Locked: when another writer holds the lock.
    """
    with repo.lock():
        record = repo.interrupted()
        if record is not None and (dry_run or record.kind != KIND):
            record.refuse()
        undo_move(repo)
        stage, fs_root = repo.stage(), repo.work_tree()
        tracked = tracked_files(repo, stage)
        plan = _plan_moves(repo, sources, target, tracked, is_folder=is_folder)
        in_conflict = stage.documents_in_conflict
        for old, new in plan.pairs:
            if old in in_conflict:  # which would go on under a name that is no document's
                raise ConflictError(f"'{old}' is in conflict", "resolve it first, then run: arbor add PATH")
            check_path(new)
            refuse_beyond_link(fs_root, new)
            if not force and (new in tracked or is_on_disk(fs_root, new)):
                raise ConflictError(f"'{new}' exists already", "replace it with -f")
        if dry_run:
            return tuple(plan.pairs)
        tracked = {**tracked, **_read_anew(repo, tracked, plan.pairs)}
        with telling_what_waits(repo, stage.in_progress), storing(repo.folder):
            _apply_moves(repo, stage, tracked, plan, f"mv {' '.join(sources)} {target or '.'}")
        return tuple(plan.pairs)


class _Plan(NamedTuple):
    """(old path, new path) of each document, and of the folders that go as a whole with all that lies in them."""

    pairs: list[tuple[str, str]]
    folders: list[tuple[str, str]]


def _read_anew(repo: Repository, tracked: Entries, pairs: Sequence[tuple[str, str]]) -> Entries:
    """The documents whose new suffix says another kind of file, read as that kind; by old path.

    `add` of the file under its new name would read them so, and what a knowledge base holds must not tell how it came.
    Cold documents have nothing to be read from, and those over the limit of `add` are not held in memory: they stay.
    """
    pairs = [(old, new) for old, new in pairs if format_of_suffix(old) is not format_of_suffix(new)]
    gone = absent_documents(repo, [tracked[old][0] for old, _ in pairs])
    pairs = [(old, new) for old, new in pairs if tracked[old][0] not in gone]
    anew: Entries = {}
    if not pairs:
        return anew
    snapshot, policy = repo.snapshot(None), repo.policy()
    with repo.store.writer() as writer:
        for old, new in pairs:
            oid, state = tracked[old]
            document = snapshot.document(oid)
            if document.size <= policy.max_file_bytes:
                data = b"".join(snapshot.iter_file(oid))
                extraction = extract(
                    data, new, policy.chunking, charset=split_recorded(document.extractor)[1]
                )
                anew[old] = store_extraction(writer, extraction, data, document.source_uri), state
    return anew


def _apply_moves(repo: Repository, stage: Stage, tracked: Entries, plan: _Plan, command: str) -> None:
    """Move the files, then what is staged; a record from before the first to after the last tells of a crash."""
    fs_root, pairs = repo.work_tree(), plan.pairs
    no_file = absent_documents(repo, [tracked[old][0] for old, _ in pairs])
    in_the_way = displaced(tracked.keys() - {old for old, _ in pairs}, [new for _, new in pairs])
    # A cold document needs no file: where there is none, it moves in the stage alone.
    files = {old for old, _ in pairs
             if tracked[old][0] not in no_file or is_on_disk(fs_root, old)}  # fmt: skip
    for old in sorted(files):
        if not is_on_disk(fs_root, old):
            raise UsageError(
                f"the file of '{old}' is gone", "bring it back with arbor restore, or let it go with arbor rm"
            )
    going = {
        folder: [pair for pair in pairs if pair[0].startswith(f"{folder}/")] for folder, _ in plan.folders
    }
    along = {old for inside in going.values() for old, _ in inside}
    _write_record(repo, stage, tracked, plan, files - along, in_the_way, command)
    moved: list[tuple[str, str]] = []
    try:
        moved += (pair for pair in pairs if pair[0] not in files | along)
        alone = [pair for pair in pairs if pair[0] in files - along]
        for pair in rename_files(fs_root, [*plan.folders, *alone]):
            moved += going.get(pair[0], [pair])
    except PartlyDone:
        _stage_moves(repo, stage, tracked, moved, in_the_way if moved else set())
        raise
    _stage_moves(repo, stage, tracked, moved, in_the_way)


def _stage_moves(
    repo: Repository, stage: Stage, tracked: Entries, moved: Sequence[tuple[str, str]], in_the_way: set[str]
) -> None:
    changed = _staged(repo, stage, tracked, moved, in_the_way)
    write_stage(repo.folder, changed)
    clear_move(repo.folder)
    entries = {path: entry for path, entry in tracked.items() if path not in in_the_way}
    for old, new in moved:
        entries[new] = entries.pop(old)[0], UNKNOWN
    remember_states(repo, changed, entries)


def _staged(
    repo: Repository, stage: Stage, tracked: Entries, pairs: Sequence[tuple[str, str]], in_the_way: set[str]
) -> Stage:
    changes: dict[str, bytes | None] = {}
    for old, new in pairs:
        changes[DOCUMENTS + old] = None
        changes[DOCUMENTS + new] = tracked[old][0]
    changes.update({DOCUMENTS + path: None for path in in_the_way})
    return stage.with_changes(repo.store, changes)


def _write_record(
    repo: Repository, stage: Stage, tracked: Entries, plan: _Plan, files: set[str], in_the_way: set[str], command: str,
) -> None:  # fmt: skip
    """Each file twice, as its old path loses it and its new one gains it: a pair is taken back by a rename.

    A folder that goes as a whole stands there as a file that is no document.
    """
    rows = [MovedFile(path, None, None) for pair in plan.folders for path in pair]
    for old, new in plan.pairs:
        if old in files:
            oid, replaced = tracked[old][0], tracked.get(new, (None, UNKNOWN))[0]
            rows += (MovedFile(old, oid, None), MovedFile(new, replaced, oid))
    fs_root, head = repo.work_tree(), repo.refs.head()
    folders = {folder.rstrip("/") for folder in folders_of(row.path for row in rows[1::2])}
    made = [folder for folder in sorted(folders) if not is_on_disk(fs_root, folder)]
    after = encode_stage(_staged(repo, stage, tracked, plan.pairs, in_the_way))
    write_move(repo.folder, MoveRecord(
        KIND, command, head if isinstance(head, str) else head.hex(), stage_bytes(repo.folder), tuple(rows), "",
        state_of_move(head, repo.refs.head_oid(), after), tuple(made),
    ))  # fmt: skip


def _plan_moves(
    repo: Repository, sources: Sequence[str], target: str, tracked: Entries, *, is_folder: bool
) -> _Plan:
    fs_root = repo.work_tree()
    into = target == "" or (fs_root / name_on_disk(fs_root, target)).is_dir()
    there = [oid for path, (oid, _) in tracked.items() if path.startswith(f"{target}/")]
    into = into or bool(absent_documents(repo, there))  # of cold documents there is no folder
    if len(sources) > 1 and not into:
        raise UsageError(f"'{target}' is not a folder", "make the folder first, or move one thing at a time")
    if is_folder and not into and not tracked.keys().isdisjoint(sources):
        raise UsageError(
            f"'{target}' is not a folder", "make the folder first, or leave out the / at the end"
        )
    pairs: list[tuple[str, str]] = []
    folders: list[tuple[str, str]] = []
    for source in dict.fromkeys(sources):
        name = source.rsplit("/", 1)[-1]
        place = (f"{target}/{name}" if target else name) if into else target
        if not source or place == source or place.startswith(f"{source}/"):
            raise UsageError(f"'{source or '.'}' cannot be moved into itself")
        if source in tracked:
            pairs.append((source, place))
            continue
        below = [path for path in sorted(tracked) if path.startswith(f"{source}/")]
        if not below:
            raise UsageError(f"'{source}' is not tracked", "run: arbor status", source)
        pairs += [(path, place + path[len(source) :]) for path in below]
        if _goes_whole(fs_root, source, place):
            folders.append((source, place))
    _refuse_twice(pairs)
    return _Plan(pairs, folders)


def _goes_whole(fs_root: Path, source: str, place: str) -> bool:
    """Whether a folder is renamed as in git, with what is not tracked in it: where nothing is at its place yet."""
    there = fs_root / name_on_disk(fs_root, source)
    return there.is_dir() and not there.is_symlink() and not is_on_disk(fs_root, place)


def _refuse_twice(pairs: Sequence[tuple[str, str]]) -> None:
    """Raises UsageError where something would be moved twice, or two would have one place."""
    sources: set[str] = set()
    places: set[str] = set()
    for old, new in pairs:
        if new in places:
            raise UsageError(f"two of the sources would become '{new}'")
        if old in sources:
            raise UsageError(f"'{old}' would be moved twice", "name the folder, or what is in it")
        sources.add(old)
        places.add(new)
