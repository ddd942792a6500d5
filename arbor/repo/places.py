"""Which folders are knowledge bases."""

from __future__ import annotations

from pathlib import Path

from arbor.objects.paths import PRIVATE_FOLDER

FORMAT_FILE = "format"
"""Written last, so that a folder without it is no knowledge base."""


def has_own_kb(fs_path: Path | str) -> bool:
    """Whether a folder is the work tree of a knowledge base."""
    return Path(fs_path, PRIVATE_FOLDER, FORMAT_FILE).exists()


def is_kb_folder(folder: Path) -> bool:
    """Whether a folder is the `.arbor` of a knowledge base, or a bare one; others may hold a file of that name."""
    return (folder / "packs").is_dir() and (folder / FORMAT_FILE).is_file()
