"""Ignore rules: `.gitignore` and `.arborignore` in every folder, with git's meaning, through pathspec."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arbor.lazy import lazy_module

IGNORE_FILES = (".gitignore", ".arborignore")
ALWAYS_IGNORED = frozenset({".arbor", ".git", ".hg", ".svn"})
_MAX_IGNORE_BYTES = 1024 * 1024
pathspec = lazy_module("pathspec")


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one folder: its own over those of the folders above it.

    Attributes:
        prefix: The folder's path with a trailing slash; "" for the top.
        spec: The compiled patterns of this folder, None where it has none.
        parent: The rules of the folder above.
    """

    prefix: str
    spec: Any
    parent: IgnoreRules | None

    def ignored(self, path: str, *, is_folder: bool) -> bool:
        """Whether a file or folder in this folder is ignored. What lies above is taken as not ignored."""
        rules: IgnoreRules | None = self
        subject = path + "/" if is_folder else path
        while rules is not None:
            if rules.spec is not None:
                verdict = rules.spec.check_file(subject[len(rules.prefix) :]).include
                if verdict is not None:
                    return bool(verdict)
            rules = rules.parent
        return False


def rules_for(
    fs_folder: Path | str, prefix: str, names: set[str], parent: IgnoreRules | None
) -> IgnoreRules | None:
    """The rules of a folder, given the names of the ignore files in it; the parent's object where it adds none."""
    lines: list[str] = []
    for name in IGNORE_FILES:
        if name in names:
            lines += _read_lines(Path(fs_folder) / name)
    if not lines:
        return parent
    return IgnoreRules(prefix, pathspec.GitIgnoreSpec.from_lines(lines), parent)


def _read_lines(fs_path: Path) -> list[str]:
    """The patterns of an ignore file; one that cannot be read, or is no text, has none."""
    try:
        if fs_path.is_symlink() or fs_path.stat().st_size > _MAX_IGNORE_BYTES:
            return []
        text = fs_path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError:
        return []
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return [line for line in lines if line.strip() and not line.startswith("#") and _compiles(line)]


def _compiles(line: str) -> bool:
    """One broken pattern is left out, as git does, instead of making the others fail."""
    try:
        pathspec.GitIgnoreSpec.from_lines([line])
    except (ValueError, TypeError):
        return False
    return True
