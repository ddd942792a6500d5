"""Moving the work tree from one version to another without losing what is not committed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from arbor.errors import ArborError, ConflictError, first_of
from arbor.objects.ledger_diff import Change
from arbor.records import dataclass
from arbor.repo.file_bytes import iter_file
from arbor.repo.folders import folders_above
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.repo.stage import Stage
from arbor.repo.tiers import read_tiers, to_rehydrate
from arbor.repo.work_tree.file_states import UNKNOWN, Entries, EntryChanges, FileState, state_of
from arbor.repo.work_tree.status import remember_states, same_bytes, tracked_among, tracked_files
from arbor.repo.work_tree.unfinished import remove_beside
from arbor.repo.work_tree.worktree import (
    check_out,
    hash_of_file,
    is_on_disk,
    make_durable,
    name_on_disk,
    read_file,
    remove_bare_folders,
    remove_files,
    scan,
)
from arbor.store.files import open_regular
from arbor.store.sequential import SequentialReader
from arbor.store.syncing import FEW_FILES, is_torn

_NAMED = 5
_IN_THE_WAY = "commit them, move them away, or discard them with arbor restore"
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CheckoutPlan:
    """Which files change.

    Attributes:
        changes: (path, old document, new document).
        already: Paths whose file holds the new bytes already.
        absent: Documents whose bytes are not stored here because they are cold: no file is written for them.
        carried: New path to old one of those whose file is here and goes along, since it may be the last copy.
    """

    changes: tuple[Change, ...]
    already: frozenset[str]
    absent: frozenset[bytes] = frozenset()
    carried: Mapping[str, str] = field(default_factory=dict)


def plan_checkout(
    repo: Repository, stage: Stage, changes: Sequence[Change], *, force: bool = False
) -> CheckoutPlan:
    """Look at every file that would change.

    Args:
        repo: Where.
        stage: What is staged now.
        changes: (path, staged document now, document wanted); None where there is none.
        force: Overwrite changes that are not committed.

    Raises:
        ConflictError: when a file or the stage holds something else than the old or the new version, or is the
            last copy known here of a cold document that gets no other path.
    """
    absent = absent_documents(repo, (oid for _, *oids in changes for oid in oids))
    if repo.fs_root is None:
        return CheckoutPlan(tuple(changes), frozenset(change.key for change in changes))
    tracked = tracked_among(repo, stage, [change.key for change in changes])
    equal = same_bytes(Snapshot(repo.store, stage.base), repo.fs_root)
    going = {path for path, _, new in changes if new is None}
    blocked, already, unchanged = [], set(), set()
    carried = carried_along(repo.fs_root, changes, absent)
    safe = {old for path, old, _ in changes if path in carried.values()}
    for path, old, new in changes:
        verdict = _look_at(repo.fs_root, path, old, new, tracked, equal, going)
        if verdict == "old":
            unchanged.add(path)
        if verdict == "new":
            already.add(path)
        elif verdict == "old" and not force and old in absent - safe and os.path.lexists(repo.fs_root / path):
            raise ConflictError(
                f"'{path}' is cold, and its file would go: it may be the last copy",
                f"run: {to_rehydrate(path)}",
                path,
            )
        elif verdict == "other" and (above := _file_above(repo.fs_root, path)):
            raise ConflictError(
                f"'{above}' is a file, and '{path}' needs a folder there", "move it away", above
            )
        elif verdict == "other" and not force:
            blocked.append(path)
    _refuse(blocked)
    carried = {new: old for new, old in carried.items() if old in unchanged}
    return CheckoutPlan(tuple(changes), frozenset(already), absent, carried)


def refuse_edited(repo: Repository, stage: Stage, changes: Sequence[Change]) -> None:
    """Raises ConflictError where a file holds neither what is staged nor what is wanted: it would be lost.

    What a loss of power left of what is wanted is no edit: the same command was cut off before.
    """
    if repo.fs_root is None:
        return
    tracked = tracked_among(repo, stage, [change.key for change in changes])
    snapshot = Snapshot(repo.store, stage.base)
    equal = same_bytes(snapshot, repo.fs_root)
    going = {path for path, _, new in changes if new is None}
    _refuse([path for path, old, new in changes
             if _look_at(repo.fs_root, path, old, new, tracked, equal, going) == "other"
             and not _file_above(repo.fs_root, path)  # in the way, but nothing of the document
             and (new is None or not is_torn_file(snapshot, new, repo.fs_root / name_on_disk(repo.fs_root, path)))],
            "copy them elsewhere, or discard them with arbor restore")  # fmt: skip


def is_torn_file(snapshot: Snapshot, oid: bytes, fs_path: Path) -> bool:
    """Whether a file is what a loss of power left of a document's."""
    document = snapshot.document(oid)
    try:
        data, _ = read_file(fs_path, document.size)
        return is_torn(data, b"".join(snapshot.file_pieces(document, snapshot.manifest(document))))
    except (OSError, ArborError):  # a link, larger, or of a document whose passages are not here
        return False


def _refuse(blocked: Sequence[str], hint: str = _IN_THE_WAY) -> None:
    """Raises ConflictError where there are files that would be overwritten."""
    if blocked:
        raise ConflictError(f"local changes would be overwritten: {first_of(blocked, _NAMED)}", hint)


def carried_along(fs_root: Path, changes: Iterable[Change], absent: frozenset[bytes]) -> dict[str, str]:
    """New path to old one of cold documents that only get another path, where the old one's file can go there."""
    changes = list(changes) if absent else []
    gone = {path: old for path, old, new in changes if new is None}
    files = {old: path for path, old in gone.items() if old in absent and (fs_root / path).is_file()}
    free = [(path, new) for path, _, new in changes if new in files and not os.path.lexists(fs_root / path)]
    return {
        path: files[new]
        for path, new in free
        if new is not None and gone.keys().isdisjoint(folders_above(path))
    }


def _carry(repo: Repository, source: str, target: str, document: bytes) -> FileState:
    """Write the file of a cold document to another path too, durably, before the old one may go.

    Raises:
        ConflictError: when the old file has other bytes by now.
    """
    fs_root = repo.work_tree()
    with open_regular(fs_root / name_on_disk(fs_root, source)) as file:
        # What the power left of it could not be told from an edit: the document's passages are not here.
        state = check_out(fs_root, target, iter(lambda: file.read(_PIECE_BYTES), b""), durable=True)
    written = fs_root / name_on_disk(fs_root, target)
    if hash_of_file(written) != repo.snapshot(None).document(document).file_hash:
        remove_files(fs_root, [target])
        raise ConflictError(f"'{source}' was changed just now", "begin again")
    make_durable(fs_root, [target], names_only=True)
    return state


def write_missing(repo: Repository, documents: Container[bytes]) -> int:
    """Write the files of documents that are staged and have none; how many. Their passages are here.

    Call it under the writer lock.

    Raises:
        PartlyDone: when the system refuses to write one.
    """
    if repo.fs_root is None:
        return 0
    stage, looked_ns = repo.stage(), time.time_ns()
    tracked, reader, written = tracked_files(repo, stage), SequentialReader(repo.store), {}
    wanted = {path: oid for path, (oid, _) in tracked.items() if oid in documents}
    remove_beside(repo.fs_root, wanted)
    for path, oid in wanted.items():
        if not is_on_disk(repo.fs_root, path):
            written[path] = oid, check_out(repo.fs_root, path, iter_file(reader, oid))
    make_durable(repo.fs_root, written)
    if written:
        remember_states(repo, stage, {**tracked, **written}, looked_ns)
    return len(written)


def absent_documents(repo: Repository, oids: Iterable[bytes | None]) -> frozenset[bytes]:
    """Those of the documents that are cold and lack passages here."""
    cold = read_tiers(repo.folder).cold
    wanted = {oid for oid in oids if oid is not None and oid in cold} if cold else set()
    snapshot = repo.snapshot(None)
    return frozenset(oid for oid in wanted if snapshot.lacks_pieces(oid))


def _look_at(
    fs_root: Path, path: str, old: bytes | None, new: bytes | None,
    tracked: Entries, equal: Callable[[bytes, str], bool], going: Container[str],
) -> str:  # fmt: skip
    """What a file holds: `old`, `new` or `other`. A folder whose files are all going is no other.

    Nor is a file where a folder of the path belongs, when it is going.
    """
    fs_path = fs_root / path
    try:
        state = state_of(os.lstat(fs_path))
    except FileNotFoundError:
        return "new" if new is None else "old"
    except NotADirectoryError:
        if new is None:
            return "new"
        return "old" if _file_above(fs_root, path) in going else "other"
    known = tracked.get(path)
    if old is not None and known is not None and known[0] == old and known[1] == state:
        return "old"
    if fs_path.is_dir() and not fs_path.is_symlink():
        return "old" if new is None or _is_going(fs_root, path, going) else "other"
    if new is not None and equal(new, path):
        return "new"
    if old is not None and equal(old, path):
        return "old"
    return "other"


def _file_above(fs_root: Path, path: str) -> str:
    """The file that stands where a folder of the path belongs; "" where none does."""
    return next((above for above in folders_above(path)
                 if os.path.lexists(fs_root / above) and not (fs_root / above).is_dir()), "")  # fmt: skip


def _is_going(fs_root: Path, path: str, going: Container[str]) -> bool:
    """Whether no file is left in a folder when the paths that go are gone."""
    listing = scan(fs_root, path, use_ignore=False)
    return not listing.skipped and not listing.unreadable and all(file in going for file in listing.files)


def apply_checkout(repo: Repository, plan: CheckoutPlan, snapshot: Snapshot) -> EntryChanges:
    """Write the files; what is known of each of them then.

    Removals come first, so that names are free, and before them what they may hold the last copy of goes along.
    """
    if repo.fs_root is None:
        return {path: None if new is None else (new, UNKNOWN) for path, _, new in plan.changes}
    gone = [path for path, _, new in plan.changes if new is None]
    carried = {path: (new, _carry(repo, plan.carried[path], path, new))
               for path, _, new in plan.changes if path in plan.carried and new is not None}  # fmt: skip
    remove_files(repo.fs_root, (path for path in gone if path not in plan.already))
    entries: EntryChanges = dict.fromkeys(gone)
    written, are_few = [], len(plan.changes) <= FEW_FILES
    for path, _, new in plan.changes:
        if new is None:
            continue
        if path in plan.already:
            entries[path] = (new, UNKNOWN)
            continue
        if path in carried:
            entries[path] = carried[path]
            continue
        if new in plan.absent:
            remove_files(repo.fs_root, [path])
            entries[path] = (new, UNKNOWN)
            continue
        remove_bare_folders(repo.fs_root, path)
        entries[path] = (new, check_out(repo.fs_root, path, snapshot.iter_file(new), durable=are_few))
        written.append(path)
    make_durable(repo.fs_root, written, names_only=are_few)
    return entries
