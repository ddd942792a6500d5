"""Files into the stage: which ones, read safely, turned into objects, and remembered with their state."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arbor.errors import UsageError, first_of
from arbor.lazy import lazy_module
from arbor.objects.paths import check_path, collision_key, path_fault, windows_fault
from arbor.records import dataclass
from arbor.repo.folders import Folders
from arbor.repo.importing.known_sources import remember_file
from arbor.repo.importing.origins import follows_source
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.stage import Stage, put_stage, write_stage
from arbor.repo.staging.ingest import store_extraction
from arbor.repo.staging.storing_files import FileResult, Job, Rules, store_files, too_large
from arbor.repo.tiers import make_hot, read_tiers
from arbor.repo.whole_packs import note_added
from arbor.repo.work_tree.file_states import UNKNOWN, Entries, FileState, size_of
from arbor.repo.work_tree.selections import Matcher, glob_matcher, is_glob, lies_at
from arbor.repo.work_tree.status import cold_paths, displaced, remember_states, same_bytes, tracked_files
from arbor.repo.work_tree.unfinished import remove_beside
from arbor.repo.work_tree.worktree import (
    Scan,
    check_out,
    make_durable,
    name_on_disk,
    read_file,
    refuse_beyond_link,
    scan,
)
from arbor.store.syncing import is_torn
from arbor.text.reading import extract

if TYPE_CHECKING:
    from arbor.repo.merge import merge_text
    from arbor.store import journal
else:  # what few files need
    journal = lazy_module("arbor.store.journal")
    merge_text = lazy_module("arbor.repo.merge.merge_text")

_NAMED = 5


@dataclass(frozen=True, slots=True)
class AddResult:
    """What an add did, or with `dry_run` would do.

    Attributes:
        added, modified, removed: Paths whose staged document is new, other, or gone.
        unchanged: Files that were already staged as they are.
        skipped: (path, reason) of what could not be added.
        warnings: (path, message) about what was added.
    """

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    skipped: tuple[tuple[str, str], ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Found:
    """Files to look at, tracked paths that are gone, and what cannot be added."""

    files: dict[str, tuple[str, FileState]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def add(
    repo: Repository, selections: Sequence[str], *, update: bool = False, force: bool = False,
    dry_run: bool = False, progress: Callable[[int, int], None] | None = None,
) -> AddResult:  # fmt: skip
    """Stage files of the work tree.

    Args:
        repo: Where to.
        selections: KB paths of files or folders, or globs; "" is everything.
        update: Only what is tracked already.
        force: Also what is ignored or over the size limit.
        dry_run: Say what would happen; write nothing.
        progress: Called with (files done, files in all).

    Raises:
        UsageError: when a selection matches nothing, or all that is named is ignored.
        Locked: when another writer holds the lock.
    """
    if dry_run:
        return _add(repo, selections, update, force, True, progress)
    with repo.changing_stage():
        return _add(repo, selections, update, force, False, progress)


def _add(
    repo: Repository, selections: Sequence[str], update: bool, force: bool, dry_run: bool,
    progress: Callable[[int, int], None] | None,
) -> AddResult:  # fmt: skip
    fs_root, stage, policy = repo.work_tree(), repo.stage(), repo.policy()
    tracked, looked_ns = tracked_files(repo, stage), time.time_ns()
    found = _find(fs_root, selections, tracked, update=update, force=force)
    found.gone -= cold_paths(repo, tracked)
    in_conflict = stage.documents_in_conflict
    todo = sorted((path, name, state) for path, (name, state) in found.files.items()
                  if path not in tracked or tracked[path][1] != state or path in in_conflict)  # fmt: skip
    jobs = [Job(path, f"{fs_root}/{name}", size_of(state), tracked[path][0] if path in tracked else b"")
            for path, name, state in todo]  # fmt: skip
    rules = Rules(policy, None if force else policy.max_file_bytes, Snapshot(repo.store, stage.base),
                   read_tiers(repo.folder).cold, force)  # fmt: skip
    pack: str | None = None
    if dry_run:
        equal = same_bytes(rules.snapshot, fs_root)
        results = [_look(job, rules, equal) for job in jobs]
    else:
        results, pack = store_files(repo.store, jobs, rules, progress)
    found.gone |= displaced(tracked, [result.path for result in results if not result.problem])
    done = _outcome(results, tracked, found, unchanged=len(found.files) - len(jobs))
    if not dry_run:
        done = _warn_of_markers(fs_root, stage, results, done)
        _remember(repo, stage, tracked, results, pack, found.gone, looked_ns)
    return done


def _warn_of_markers(
    fs_root: Path, stage: Stage, results: Sequence[FileResult], done: AddResult
) -> AddResult:
    """Adding a document says that its conflict is resolved: a warning where its file does not look so."""
    good = {result.path for result in results if not result.problem}
    marked = [(path, "it still holds conflict markers") for path in _marked(fs_root, stage) if path in good]
    return replace(done, warnings=(*done.warnings, *marked))


def marked_conflicts(repo: Repository) -> list[str]:
    """The documents in conflict whose files still hold conflict markers."""
    return [] if repo.fs_root is None else _marked(repo.fs_root, repo.stage())


def _marked(fs_root: Path, stage: Stage) -> list[str]:
    found = []
    for path in sorted(stage.documents_in_conflict):
        with contextlib.suppress(OSError, UsageError):
            if merge_text.holds_markers(read_file(fs_root / name_on_disk(fs_root, path))[0]):
                found.append(path)
    return found


def _find(
    fs_root: Path, selections: Sequence[str], tracked: Entries, *,
    update: bool, force: bool,
) -> _Found:  # fmt: skip
    """Resolve the selections against the work tree and what is tracked."""
    found, ignored = _Found(), list[str]()
    tracked_below = Folders(tracked).__contains__
    for selection in selections:
        matcher: Matcher | None = None
        start = selection
        fs_path = fs_root / name_on_disk(fs_root, selection)
        refuse_beyond_link(fs_root, selection)
        there = selection == "" or fs_path.is_symlink() or fs_path.exists()
        if not there and is_glob(selection):
            matcher, start = glob_matcher(selection), ""
        if matcher is not None or (fs_path.is_dir() and not fs_path.is_symlink()):
            listing = scan(fs_root, start, tracked=tracked, tracked_below=tracked_below, use_ignore=not force)
        else:
            listing = _single(fs_root, selection, tracked, force)
        files, skipped = listing.files, listing.skipped
        keep = [
            path for path in files if (matcher is None or matcher(path)) and (not update or path in tracked)
        ]
        gone = {
            path
            for path in tracked.keys() - files.keys()
            if (lies_at(path, selection) if matcher is None else matcher(path)) and listing.is_gone(path)
        }
        if not (keep or gone or skipped or not selection):
            if listing.is_ignored and not update:
                ignored.append(selection)
            elif not fs_path.exists() or not (update or fs_path.is_dir()):
                verb = "cannot be added" if fs_path.exists() else "matches no file"
                raise UsageError(f"'{selection}' {verb}", "run: arbor status", selection)
        found.files.update((path, files[path]) for path in keep)
        found.gone |= gone
        found.skipped += [entry for entry in skipped if matcher is None or matcher(entry[0])]
    if ignored and not (found.files or found.gone or found.skipped):
        raise UsageError(f"'{ignored[0]}' is ignored", "add it all the same with -f", ignored[0])
    # The shell puts ignored files among the others for a *: those are added nevertheless.
    found.skipped += [(path, "it is ignored: -f adds it all the same") for path in ignored]
    return found


def _single(fs_root: Path, path: str, tracked: Entries, force: bool) -> Scan:
    """One named file, through a look at its folder, so that the same rules hold as for many."""
    folder = path.rpartition("/")[0]
    if not (fs_root / name_on_disk(fs_root, folder)).is_dir():
        return Scan()
    folders = {f"{folder}/"} if folder else set()
    listing = scan(fs_root, folder, tracked=tracked, tracked_below=folders.__contains__,
                   use_ignore=False, deep=False)  # fmt: skip
    files = {path: listing.files[path]} if path in listing.files else {}
    if files and not force and path not in tracked and path not in scan(fs_root, folder, deep=False).files:
        return Scan(is_ignored=True)
    skipped = [entry for entry in listing.skipped if f"{path}/".startswith(f"{entry[0].rstrip('/')}/")]
    return Scan(files, skipped, listing.unreadable)


def _look(job: Job, rules: Rules, equal: Callable[[bytes, str], bool]) -> FileResult:
    """What a dry run says of one file."""
    if rules.max_bytes is not None and job.size > rules.max_bytes:
        return FileResult(job.path, problem=too_large(job.size, rules.max_bytes))
    return FileResult(job.path, oid=job.before if job.before and equal(job.before, job.fs_path) else b"?")


def _outcome(results: list[FileResult], tracked: Entries, found: _Found, *, unchanged: int) -> AddResult:
    good = [result for result in results if not result.problem]
    added = [result.path for result in good if result.path not in tracked]
    modified = [
        result.path for result in good if result.path in tracked and tracked[result.path][0] != result.oid
    ]
    skipped = found.skipped + [(result.path, result.problem) for result in results if result.problem]
    warnings = [(result.path, text) for result in good for text in result.warnings]
    if added:
        warnings += _twins(added, tracked) + _foreign_to_windows(added)
    same = len(good) - len(added) - len(modified)
    return AddResult(tuple(added), tuple(modified), tuple(sorted(found.gone)), unchanged + same,
                     tuple(skipped), tuple(warnings))  # fmt: skip


def _foreign_to_windows(added: Sequence[str]) -> list[tuple[str, str]]:
    """One warning for all new paths that cannot be checked out on Windows."""
    faults = [(path, fault) for path in added if (fault := windows_fault(path))]
    if not faults:
        return []
    (path, fault), others = faults[0], [path for path, _ in faults[1:]]
    more = f"; nor can {first_of(others, _NAMED)}" if others else ""
    return [(path, f"it cannot be checked out on Windows ({fault}){more}")]


def _twins(added: Sequence[str], tracked: Iterable[str]) -> list[tuple[str, str]]:
    """Paths that a case-insensitive file system takes for one."""
    paths = [*tracked, *added]
    joined = "\0".join(paths)
    # All at once where that is the same: every tracked path is looked at for a single new one.
    keys = joined.lower().split("\0") if joined.isascii() else list(map(collision_key, paths))
    if len(set(keys)) == len(set(paths)):
        return []
    seen: dict[str, str] = {}
    for key, path in zip(keys, paths, strict=True):
        seen.setdefault(key, path)
    return [
        (path, f"on a case-insensitive file system it is the same name as '{seen[collision_key(path)]}'")
        for path in added
        if seen[collision_key(path)] != path
    ]


def _remember(
    repo: Repository, stage: Stage, tracked: Entries, results: list[FileResult], pack: str | None,
    gone: set[str], looked_ns: int,
) -> None:  # fmt: skip
    """Write the stage, then the cache of file states that fits it."""
    changes: dict[str, bytes | None] = {DOCUMENTS + path: None for path in gone}
    entries = dict(tracked)
    for path in gone:
        entries.pop(path, None)
    for result in results:
        if result.state is not None:
            changes[DOCUMENTS + result.path] = result.oid
            entries[result.path] = (result.oid, result.state)
    fresh = [result.oid for result in results
             if not result.problem and tracked.get(result.path, (b"", UNKNOWN))[0] != result.oid]  # fmt: skip
    note_added(repo, pack, None if any(result.is_partly_stored for result in results) else fresh)
    if not changes:
        return
    new = stage.with_changes(repo.store, changes).resolved(changes)
    write_stage(repo.folder, new)
    came_back(repo, [result.oid for result in results])
    remember_states(repo, new, entries, looked_ns, [result.path for result in results])


def stage_again(repo: Repository, before: Stage, after: Stage, head: bytes | None) -> None:
    """Take back an add that was for a commit alone, unless more was staged or committed since.

    Args:
        repo: Where.
        before: What was staged before the add.
        after: What was staged after it.
        head: The current commit at the time.

    Raises:
        Locked: when another writer holds the lock.
    """
    with repo.changing_stage() as now:
        if now == after and repo.refs.head_oid() == head:
            put_stage(repo.folder, before)


def came_back(repo: Repository, stored: Iterable[bytes]) -> None:
    """Documents whose bytes were just stored are cold no more. Call it under the writer lock."""
    warmed = read_tiers(repo.folder).cold.intersection(stored)
    if warmed:
        journal.Journal(repo.folder).append("rehydrate", {"from": "add", "documents": len(warmed)})
        with repo.following_tiers(warmed):
            make_hot(repo.folder, warmed)


def add_own_bytes(
    repo: Repository, path: str, data: bytes, source_uri: str = "", *, overwrite: bool = False
) -> AddResult:
    """As `add_bytes`, for a person who names the source: a file of theirs may be looked at again unasked."""
    done = add_bytes(repo, path, data, source_uri, overwrite=overwrite)
    remember_file(repo, source_uri)
    return done


def add_bytes(
    repo: Repository,
    path: str,
    data: bytes,
    source_uri: str = "",
    *,
    overwrite: bool = False,
    charset: str = "",
) -> AddResult:
    """Stage bytes that come from somewhere else than the work tree, and put them there as a file.

    Args:
        repo: Where to.
        path: Where it lies then.
        data: The bytes.
        source_uri: Where they come from.
        overwrite: Replace another file that is there.
        charset: The encoding that a server named for them; "" for none.

    Raises:
        UsageError: when the path may not be used, or another file is there already (unless `overwrite`).
        Locked: when another writer holds the lock.
    """
    check_path(path)
    with repo.changing_stage() as stage:
        fs_root, looked_ns = repo.work_tree(), time.time_ns()
        if not overwrite and _holds_other(fs_root / name_on_disk(fs_root, path), data):
            raise UsageError(
                f"'{path}' exists and holds something else", "replace it with -f, or give another name"
            )
        remove_beside(fs_root, [path])
        tracked = tracked_files(repo, stage)
        with repo.store.writer() as writer:
            extraction = extract(data, path, repo.policy().chunking, charset=charset)
            oid = store_extraction(writer, extraction, data, source_uri)
        state = check_out(fs_root, path, [data], durable=True)
        make_durable(fs_root, [path], names_only=True)
        result = FileResult(path, oid, state, tuple(extraction.warnings))
        found = _Found(gone=displaced(tracked, [path]))
        _remember(repo, stage, tracked, [result], writer.name, found.gone, looked_ns)
        return _outcome([result], tracked, found, unchanged=0)


class Item(NamedTuple):
    """A document that comes from somewhere else than the work tree: its path, bytes and source URI."""

    path: str
    data: bytes
    source_uri: str


def add_items(
    repo: Repository, items: Iterable[Item], *, overwrite: bool = False, same_source: str = ""
) -> AddResult:
    """Stage many documents at once and write them to the work tree; what cannot be taken is in `skipped`.

    Args:
        repo: Where.
        items: The documents.
        overwrite: Replace files of the work tree that hold something else.
        same_source: Replace those that are as a document with a source URI that begins so was staged.

    Raises:
        Locked: when another writer holds the lock.
    """
    with repo.changing_stage() as stage:
        fs_root, looked_ns = repo.work_tree(), time.time_ns()
        tracked, policy = tracked_files(repo, stage), repo.policy().chunking
        found, results = _Found(), []
        with repo.store.writer() as writer:
            for path, data, source_uri in items:
                problem = path_fault(path)
                if not problem and not overwrite:
                    fs_path, known = fs_root / name_on_disk(fs_root, path), tracked.get(path)
                    follows = known and same_source and follows_source(repo, known[0], fs_path, same_source)
                    if _holds_other(fs_path, data) and not follows:
                        problem = "it exists and holds something else"
                if problem:
                    found.skipped.append((path, problem))
                    continue
                extraction = extract(data, path, policy)
                oid = store_extraction(writer, extraction, data, source_uri)
                state = check_out(fs_root, path, [data])
                results.append(FileResult(path, oid, state, tuple(extraction.warnings)))
        make_durable(fs_root, [result.path for result in results])
        remove_beside(fs_root, [result.path for result in results])
        found.gone = displaced(tracked, [result.path for result in results])
        _remember(repo, stage, tracked, results, writer.name, found.gone, looked_ns)
        return _outcome(results, tracked, found, unchanged=0)


def _holds_other(fs_path: Path, data: bytes) -> bool:
    """Whether something is at a place that is not a file of these bytes, or what a loss of power left of them."""
    if not os.path.lexists(fs_path):
        return False
    try:
        found, _ = read_file(fs_path)
        return found != data and not is_torn(found, data)
    except (OSError, UsageError):
        return True
