"""Unfinished files that commands left where they wrote when they were killed: in the work tree and among the refs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from arbor.objects.paths import PRIVATE_FOLDER
from arbor.repo.folders import folders_of
from arbor.repo.places import has_own_kb, is_kb_folder
from arbor.repo.repository import Repository
from arbor.repo.work_tree.worktree import name_on_disk
from arbor.store.files import remove_temporaries


def remove_beside(fs_root: Path, paths: Iterable[str]) -> None:
    """Remove them from the folders that the files of some paths are in.

    Call it under the writer lock: nobody else writes documents then, so that what is unfinished stays so. What people
    let arbor write anywhere, such as a bundle, is written without the lock: that of a process that runs is spared.
    """
    for folder in {path.rpartition("/")[0] for path in paths}:
        if not _leads_elsewhere(fs_root, folder):
            remove_temporaries(fs_root / name_on_disk(fs_root, folder), spare_running=True)


def _leads_elsewhere(fs_root: Path, folder: str) -> bool:
    """Whether a folder of the work tree is, or is in, a symbolic link or a knowledge base of its own."""
    above = folders_of([f"{folder}/"]) if folder else set()
    places = [fs_root / name_on_disk(fs_root, part.rstrip("/")) for part in above]
    return any(place.is_symlink() or has_own_kb(place) or is_kb_folder(place) for place in places)


def remove_all(repo: Repository) -> None:
    """Remove them from the whole work tree and from among the refs. Call it under the writer lock."""
    for folder, _, _ in os.walk(repo.folder / "refs"):
        remove_temporaries(Path(folder))
    if repo.fs_root is None:
        return
    for folder, folders, _ in os.walk(repo.fs_root):
        here = Path(folder)
        # Others write to a knowledge base within this one, under a lock of its own.
        folders[:] = [
            name
            for name in folders
            if name != PRIVATE_FOLDER and not has_own_kb(here / name) and not is_kb_folder(here / name)
        ]
        remove_temporaries(here, spare_running=True)
