"""Ignore rules: `.gitignore` and `.arborignore` in every folder, with git's meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from arbor.errors import IntegrityError
from arbor.records import dataclass
from arbor.repo.work_tree.wildmatch import Pattern, parse_pattern
from arbor.store.files import read_bounded

IGNORE_FILES = (".gitignore", ".arborignore")
ALWAYS_IGNORED = frozenset({".arbor", ".git", ".hg", ".svn"})
_MAX_IGNORE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one folder: its own over those of the folders above it.

    Attributes:
        prefix: The folder's path with a trailing slash; "" for the top.
        patterns: The folder's own patterns, last one first.
        any_name, any_path: All of them at once, since most files match none; None where there are none of the kind.
        parent: The rules of the folder above.
    """

    prefix: str
    patterns: tuple[Pattern, ...]
    any_name: re.Pattern[bytes] | None
    any_path: re.Pattern[bytes] | None
    parent: IgnoreRules | None

    def ignored(self, path: str, *, is_folder: bool) -> bool:
        """Whether a file or folder in this folder is ignored. What lies above is taken as not ignored."""
        rules: IgnoreRules | None = self
        while rules is not None:
            verdict = rules._verdict(path[len(rules.prefix) :].encode("utf-8", "surrogateescape"), is_folder)
            if verdict is not None:
                return verdict
            rules = rules.parent
        return False

    def _verdict(self, subject: bytes, is_folder: bool) -> bool | None:
        name = subject.rpartition(b"/")[2]
        named = self.any_name is not None and self.any_name.fullmatch(name)
        if not named and not (self.any_path is not None and self.any_path.fullmatch(subject)):
            return None
        for pattern in self.patterns:
            if (is_folder or not pattern.only_folders) and pattern.regex.fullmatch(
                name if pattern.by_name else subject
            ):
                return pattern.ignores
        return None


def rules_for(
    fs_folder: Path | str, prefix: str, names: set[str], parent: IgnoreRules | None
) -> IgnoreRules | None:
    """The rules of a folder, given the names of the ignore files in it; the parent's object where it adds none."""
    if parent is EVERYTHING:
        return parent
    patterns: list[Pattern] = []
    for name in IGNORE_FILES:
        if name in names:
            patterns += _read_patterns(Path(fs_folder) / name)
    if not patterns:
        return parent
    return _compiled(prefix, patterns, parent)


def _compiled(prefix: str, patterns: Sequence[Pattern], parent: IgnoreRules | None) -> IgnoreRules:
    """Rules from the patterns of one folder, in the order of its file."""
    by_name = _any([pattern for pattern in patterns if pattern.by_name])
    by_path = _any([pattern for pattern in patterns if not pattern.by_name])
    return IgnoreRules(prefix, tuple(reversed(patterns)), by_name, by_path, parent)


def _any(patterns: Sequence[Pattern]) -> re.Pattern[bytes] | None:
    if not patterns:
        return None
    return re.compile(b"|".join(b"(?:" + pattern.regex.pattern + b")" for pattern in patterns), re.DOTALL)


def _read_patterns(fs_path: Path) -> list[Pattern]:
    """The patterns of an ignore file; one that cannot be read, or is very large, has none."""
    try:
        if fs_path.is_symlink():
            return []
        data = read_bounded(fs_path, _MAX_IGNORE_BYTES).removeprefix(b"\xef\xbb\xbf")
    except (OSError, IntegrityError):
        return []
    return _patterns_of(data)


def _patterns_of(data: bytes) -> list[Pattern]:
    found = [parse_pattern(line.removesuffix(b"\r")) for line in data.split(b"\n")]
    return [pattern for pattern in found if pattern is not None]


EVERYTHING = _compiled("", _patterns_of(b"*"), None)
"""What holds in an ignored folder: as in git nothing is taken back there, whatever the ignore files in it say."""
