"""Selections: which paths are meant by paths, folders and globs; "" is everything."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence

from arbor.errors import UsageError

Matcher = Callable[[str], bool]


def is_glob(selection: str) -> bool:
    """Whether a selection can be a pattern; one that names a path as it is, is that path."""
    return any(char in selection for char in "*?[")


def glob_matcher(pattern: str) -> Matcher:
    """A matcher with git's pathspec meaning: `*` also spans folders, and a matched folder means all in it."""
    compiled = re.compile(fnmatch.translate(pattern.rstrip("/")))
    return lambda path: (
        bool(compiled.match(path))
        or any(compiled.match(path[:cut]) for cut, char in enumerate(path) if char == "/")
    )


def lies_at(path: str, selection: str) -> bool:
    """Whether a path is that of the selection or below it."""
    return not selection or path == selection or path.startswith(selection.rstrip("/") + "/")


def matcher_of(selections: Sequence[str]) -> Matcher:
    """Whether a path is meant by any of the selections; without any, every path is.

    As in git, what names a document as it is and could be a pattern too counts as both.
    """
    globs = [glob_matcher(selection) for selection in selections if is_glob(selection)]
    return lambda path: (
        not selections
        or any(lies_at(path, selection) for selection in selections)
        or any(matches(path) for matches in globs)
    )


def select_tracked(selections: Sequence[str], tracked: Iterable[str]) -> list[str]:
    """The tracked paths that the selections mean, in order.

    Raises:
        UsageError: when a selection matches none.
    """
    known = sorted(tracked)
    chosen: set[str] = set()
    for selection in selections:
        found = [path for path in known if lies_at(path, selection)]
        if not found and is_glob(selection):
            found = list(filter(glob_matcher(selection), known))
        if not found and selection:
            raise UsageError(f"'{selection}' matches no document", "run: arbor status")
        chosen.update(found)
    return sorted(chosen)
