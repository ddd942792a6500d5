"""The files of a new clone: every document written once, in the order of the packs, over several processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from arbor.objects import ledger
from arbor.objects.ledger_diff import Change
from arbor.objects.paths import PRIVATE_FOLDER, collision_key
from arbor.processes import batches, map_forked
from arbor.repo.file_bytes import iter_file
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.repo.stage import Stage
from arbor.repo.tiers import read_tiers
from arbor.repo.work_tree.checkout import apply_checkout, plan_checkout
from arbor.repo.work_tree.file_states import UNKNOWN, FileState, still_tracked
from arbor.repo.work_tree.fresh_files import FreshFiles
from arbor.repo.work_tree.status import remember_states
from arbor.repo.work_tree.worktree import check_out, make_durable
from arbor.store.sequential import SequentialReader

_DOCUMENTS_A_TASK = 250

Row = tuple[str, bytes]


def check_out_all(repo: Repository, tip: bytes) -> int:
    """Write the documents of a commit into an empty work tree; how many. Cold ones are tracked and get no file."""
    snapshot = Snapshot(repo.store, repo.ledger_root(tip))
    rows = list(snapshot.paths())
    cold = read_tiers(repo.folder).cold
    here = [(path, oid) for path, oid in rows if oid not in cold]
    entries = {path: (oid, UNKNOWN) for path, oid in rows if oid in cold}
    if len({collision_key(path) for path, _ in here}) < len(here):
        # Two of the names may be one file here; what stands in the way is looked at one by one.
        stage = Stage(ledger.EMPTY_LEDGER)
        changes = [Change(path, None, oid) for path, oid in here]
        plan = plan_checkout(repo, stage, changes, force=True)
        entries |= still_tracked(apply_checkout(repo, plan, snapshot))
    else:
        entries |= _write_all(repo, here)
        make_durable(repo.work_tree(), [path for path, _ in here])
    remember_states(repo, Stage(snapshot.ledger_root), entries)
    return len(here)


def _write_all(repo: Repository, rows: Sequence[Row]) -> dict[str, tuple[bytes, FileState]]:
    fs_root = repo.work_tree()
    tasks = batches(rows, _DOCUMENTS_A_TASK)

    is_empty = all(entry.name == PRIVATE_FOLDER for entry in fs_root.iterdir())

    def work(task: Sequence[Row]) -> list[FileState]:
        return list(_write(repo, fs_root, task, is_empty=is_empty))

    entries: dict[str, tuple[bytes, FileState]] = {}
    for task, states in zip(tasks, map_forked(work, tasks), strict=True):
        entries.update((path, (oid, state)) for (path, oid), state in zip(task, states, strict=True))
    return entries


def _write(repo: Repository, fs_root: Path, rows: Sequence[Row], *, is_empty: bool) -> Iterator[FileState]:
    """Write documents; into a folder that an earlier try left something in, beside what is there and then over it."""
    reader = SequentialReader(repo.store)
    with FreshFiles(fs_root) as files:
        for path, oid in rows:
            pieces = list(iter_file(reader, oid))
            yield files.write(path, pieces) if is_empty else check_out(fs_root, path, pieces)
