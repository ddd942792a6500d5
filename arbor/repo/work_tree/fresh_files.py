"""Files written into a work tree that was empty a moment ago: one handle for each folder, no second look at its path.

A file is made where it belongs and only if nothing is there, and folders are entered by handle without following
links, so whatever another process puts in the way is refused and nothing is written elsewhere.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from arbor.errors import PartlyDone
from arbor.objects.paths import check_path
from arbor.repo.work_tree.file_states import FileState, state_of
from arbor.repo.work_tree.worktree import check_out
from arbor.store.files import in_words

_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_HAS_HANDLES = {os.open, os.mkdir} <= os.supports_dir_fd
_NOWHERE = -1


class FreshFiles:
    """Writes the files of an empty work tree. Fast where paths come in order, since folders are entered once."""

    def __init__(self, fs_root: Path) -> None:
        self._fs_root = fs_root
        self._folder = ""
        self._handle = _NOWHERE

    def __enter__(self) -> FreshFiles:
        return self

    def __exit__(self, *exc: object) -> None:
        self._leave()

    def write(self, path: str, pieces: Iterable[bytes]) -> FileState:
        """Write one file, and the folders above it.

        Raises:
            UsageError: when the path may not be used.
            PartlyDone: when something is in the way, or the system refuses.
        """
        if not _HAS_HANDLES:
            return check_out(self._fs_root, path, pieces)
        check_path(path)
        folder, _, name = path.rpartition("/")
        try:
            if folder != self._folder or self._handle == _NOWHERE:
                self._enter(folder)
            handle = os.open(name, _FILE_FLAGS, 0o666, dir_fd=self._handle)
            try:
                data = b"".join(pieces)
                while data := data[os.write(handle, data) :]:
                    pass
                return state_of(os.fstat(handle))
            finally:
                os.close(handle)
        except OSError as error:
            raise PartlyDone(f"'{path}' cannot be written: {in_words(error)[0]}") from error

    def _enter(self, folder: str) -> None:
        self._leave()
        handle = os.open(self._fs_root, _FOLDER_FLAGS)
        try:
            for part in folder.split("/") if folder else ():
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=handle)
                above, handle = handle, os.open(part, _FOLDER_FLAGS, dir_fd=handle)
                os.close(above)
        except OSError:
            os.close(handle)
            raise
        self._folder, self._handle = folder, handle

    def _leave(self) -> None:
        if self._handle != _NOWHERE:
            handle, self._handle = (
                self._handle,
                _NOWHERE,
            )  # first forgotten: an interrupt must not close it twice
            os.close(handle)
