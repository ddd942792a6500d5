"""Selections: which paths are meant by paths, folders and globs; "" is everything."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from arbor.errors import UsageError
from arbor.objects.paths import in_form_c

Matcher = Callable[[str], bool]


def kb_path(fs_root: Path, cwd: Path, typed: str) -> str:
    """The KB path that a typed path means; "" for the work tree itself.

    Raises:
        UsageError: when it leads out of the work tree, or is one of git's pathspecs that are no path: what they leave
            out would be taken for what is wanted.
    """
    if typed.startswith((":!", ":^", ":(")) or typed == ":/":
        _refuse_pathspec(fs_root, cwd, typed)
    absolute = os.path.normpath(os.path.join(cwd, typed))
    top = str(fs_root)
    inside = top.rstrip(os.sep) + os.sep
    if not absolute.startswith(inside) and absolute != top:
        # The folder may have been named through a symlink above it.
        folder, name = os.path.split(absolute)
        absolute = top if os.path.realpath(absolute) == top else os.path.join(os.path.realpath(folder), name)
    if absolute == top:
        return ""
    if not absolute.startswith(inside):
        raise UsageError(f"'{typed}' is outside of the knowledge base at {fs_root}")
    return in_form_c(os.path.relpath(absolute, top).replace(os.sep, "/"))


def _refuse_pathspec(fs_root: Path, cwd: Path, typed: str) -> None:
    if os.path.lexists(os.path.join(cwd, typed)) and typed != ":/":
        return
    others = "name the paths that are wanted; for good, .arborignore leaves some out"
    hint = f"the top is {os.path.relpath(fs_root, cwd)}" if typed == ":/" else others
    raise UsageError(
        f"'{typed}' means something to git alone: a path is plain here, or a pattern such as '*.md'", hint
    )


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
            raise UsageError(f"'{selection}' matches no document", "run: arbor status", selection)
        chosen.update(found)
    return sorted(chosen)
