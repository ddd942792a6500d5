"""Files that others wrote, made durable after the fact, and what a loss of power leaves of those that were not."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arbor.lazy import lazy_module
from arbor.store.files import fsync_folder

if TYPE_CHECKING:
    import ctypes
else:  # for what Python does not offer of the system, and rarely
    ctypes = lazy_module("ctypes")

FEW_FILES = 64
"""As many are made durable one by one."""
_SECTOR_BYTES = 512


def sync_files(fs_paths: Sequence[Path], top: Path, *, names_only: bool = False) -> None:
    """Make files and the folders that lead to them durable.

    Many are left to the system, which writes all that waits for their disk at once: an fsync of each takes long.

    Args:
        fs_paths: The files; one that has gone is passed over.
        top: The folder that they are below.
        names_only: Whether their bytes are durable already.

    Raises:
        OSError: when the system tried and failed.
    """
    folders = {folder for fs_path in fs_paths for folder in fs_path.parents if top in folder.parents}
    if len(folders if names_only else fs_paths) > FEW_FILES and sync_disk(top):
        return
    for fs_path in () if names_only else fs_paths:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            fsync_file(fs_path)
    # A name that moved down into a folder is there before it is known to be gone above.
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        fsync_folder(folder)
    if fs_paths:
        fsync_folder(top)


def fsync_file(fs_path: Path) -> None:
    """Make the content of a file durable that another handle wrote."""
    handle = os.open(fs_path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY | os.O_NONBLOCK)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_disk(fs_path: Path) -> bool:
    """Make everything durable that waits for the disk of a file or folder; whether the system told that it is.

    Raises:
        OSError: when the system tried and failed.
    """
    library = _system_library()
    if not hasattr(library, "syncfs"):
        if hasattr(os, "sync"):
            os.sync()  # it waits on few systems, and tells no errors
        return False
    handle = os.open(fs_path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if library.syncfs(handle):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(fs_path))
    finally:
        os.close(handle)
    return True


def _system_library() -> Any:
    """The functions of the system's library for C, where they can be called by name."""
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def is_torn(data: bytes, whole: bytes) -> bool:
    """Whether a file's bytes are what a loss of power left of others: cut off at a sector, or zeros in place of some.

    To write the others over them loses nothing.
    """
    if len(data) != len(whole) and (len(data) > len(whole) or len(data) % _SECTOR_BYTES):
        return False
    sectors = ((data[at : at + _SECTOR_BYTES], at) for at in range(0, len(data), _SECTOR_BYTES))
    return all(not any(sector) or sector == whole[at : at + len(sector)] for sector, at in sectors)
