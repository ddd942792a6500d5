"""The files of the work tree that differ from a version, read for a search that claims nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arbor.errors import ArborError
from arbor.lazy import lazy_module
from arbor.repo.config import Policy
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.repo.work_tree.status import cold_paths, same_bytes, tracked_files
from arbor.repo.work_tree.worktree import read_file, scan
from arbor.text.extraction import Extraction

if TYPE_CHECKING:
    from arbor.text import reading
else:
    reading = lazy_module("arbor.text.reading")

MAX_FILES = 2_000
MAX_FILE_BYTES = 4 * 1024 * 1024


class ChangedFiles(NamedTuple):
    """What differs from a version.

    Attributes:
        files: New and edited files as read, by path; None for those that are gone.
        unread: How many more there are: too many, too large, or not to be read.
    """

    files: dict[str, Extraction | None]
    unread: int


def read_changed_files(repo: Repository, snapshot: Snapshot, policy: Policy) -> ChangedFiles:
    """New and edited files as they are now, and None for files that are gone. A cold document needs no file.

    Args:
        repo: Whose work tree.
        snapshot: The version to compare with.
        policy: How texts are cut.

    Returns:
        At most `MAX_FILES` files, none over `MAX_FILE_BYTES` bytes.
    """
    fs_root = repo.work_tree()
    tracked = tracked_files(repo, repo.stage())
    files = scan(fs_root, tracked=tracked).files
    equal = same_bytes(snapshot, fs_root)
    changed: dict[str, Extraction | None] = {}
    needs_no_file = cold_paths(repo, tracked)
    for path, oid in snapshot.paths():
        if path not in files:
            if path not in needs_no_file or tracked[path][0] != oid:
                changed[path] = None
        elif tracked.get(path, (b"", None)) == (oid, files[path][1]) or equal(oid, files[path][0]):
            del files[path]
    unread = max(len(files) - MAX_FILES, 0)
    for path, (name, _) in list(files.items())[:MAX_FILES]:
        try:
            data, _ = read_file(fs_root / name, MAX_FILE_BYTES)
        except (ArborError, OSError):
            unread += 1
            continue
        changed[path] = reading.extract(data, path, policy.chunking)
    return ChangedFiles(changed, unread)
