"""Which folders are knowledge bases."""

from __future__ import annotations

import os
from pathlib import Path

from arbor.objects.paths import PRIVATE_FOLDER

FORMAT_FILE = "format"
"""Written last, so that a folder without it is no knowledge base."""


def has_own_kb(fs_path: Path | str) -> bool:
    """Whether a folder is the work tree of a knowledge base.

    Raises:
        OSError: when the system cannot tell: the folder may not be read, or its name is too long.
    """
    try:
        os.stat(
            Path(fs_path, PRIVATE_FOLDER, FORMAT_FILE)
        )  # `Path.exists` keeps errors to itself from Python 3.14
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def is_kb_folder(folder: Path) -> bool:
    """Whether a folder is the `.arbor` of a knowledge base, or a bare one; others may hold a file of that name."""
    return (folder / "packs").is_dir() and (folder / FORMAT_FILE).is_file()
