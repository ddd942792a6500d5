"""What people type for documents and versions: `PATH`, `PATH@REV`, `REV:PATH`, `A..B`, revisions, paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from arbor.cli.safe_text import typed_path
from arbor.cli.session import Session
from arbor.errors import UsageError
from arbor.lazy import lazy_pattern
from arbor.records import dataclass
from arbor.repo.commits.revisions import UnknownRevision, split_range
from arbor.repo.snapshot import CORE_MARK, CORES, DOCUMENTS
from arbor.repo.work_tree.status import tracked_files

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase


_REVISION_AND_PATH = lazy_pattern(r"((?:[@^]\{[^}]*\}|[@^](?!\{)|[^:@^])+):(.+)", re.DOTALL)
"""`REV:PATH`; what stands in braces, such as the time in `main@{2026-01-31 09:30}`, may hold a colon."""


_STAGE_AND_PATH = lazy_pattern(r":(?:([023]):)?([^/:].*)", re.DOTALL)
_SIDES = {None: None, "0": None, "2": "HEAD", "3": "MERGE_HEAD"}
"""What git's `:PATH` and `:N:PATH` are of: the stage, or in a merge the two sides."""


@dataclass(frozen=True, slots=True)
class Place:
    """A document that was asked for.

    Attributes:
        path: Its KB path.
        revision: The revision as typed; None for what is staged.
    """

    path: str
    revision: str | None


def find_place(session: Session, text: str) -> Place:
    """The document that `PATH`, `PATH@REV` or `REV:PATH` means.

    A path that itself holds `@` or `:` wins over any other reading.

    Raises:
        UsageError: when no reading names a document.
    """
    kb = session.open()
    whole = _whole_path(session, text)
    if whole is not None and _holds(kb, whole, None):
        return Place(whole, None)
    candidates = list(_candidates(session, text))
    for place in candidates:
        if _is_revision(kb, place.revision) and _holds(kb, place.path, place.revision):
            return place
    for place in candidates:
        if _is_revision(kb, place.revision):
            raise UsageError(f"there is no document '{session.path_from_here(place.path)}' in {place.revision}",
                             f"run: arbor log -- {session.typed(place.path)}")  # fmt: skip
    likeliest = candidates[-1 if "}:" in text else 0] if candidates else None
    if likeliest is not None and "@" in text and text[: text.index("@")]:
        kb.resolve(likeliest.revision or "HEAD")  # names the revision that is not there, and the nearest one
    text = session.as_shown(text)
    if whole is not None and has_documents(kb, whole):
        raise UsageError(f"'{text}' is a folder", f"run: arbor ls {typed_path(text)}")
    raise UsageError(f"there is no document '{text}'", _where_it_was(session, whole, text))


def _where_it_was(session: Session, path: str | None, text: str) -> str:
    kb, core = session.open(), text.removeprefix(CORE_MARK)
    if core != text and kb.snapshot().find_key(CORES + core) is not None:
        return f"it is a core; run: arbor core show {typed_path(core)}"
    fs_root = kb.fs_root
    if path is not None and fs_root is not None and (fs_root / path).is_file():
        return f"it is in the folder but not tracked; run: arbor add {typed_path(text)}"
    return f"it may be in an earlier version; run: arbor log -- {typed_path(text)}"


def _whole_path(session: Session, text: str) -> str | None:
    try:
        return session.kb_path(text)
    except UsageError:
        return None


def _candidates(session: Session, text: str) -> Iterator[Place]:
    """Every way to read the text as a path with a revision."""
    for position, char in enumerate(text):
        if char == "@" and position:
            rest = text[position + 1 :]
            path = _whole_path(session, text[:position])
            if path is not None and rest:
                yield Place(path, text[position:] if rest.startswith("{") else rest)
    of_stage = _STAGE_AND_PATH.fullmatch(text)
    if of_stage:
        yield Place(_from_top(session, of_stage[2]), _SIDES[of_stage[1]])
    named = _REVISION_AND_PATH.fullmatch(text)
    if named:
        yield Place(_from_top(session, named[2]), named[1])


def _from_top(session: Session, path: str) -> str:
    """The KB path behind a colon, which begins at the top unless it begins with dots, as in git."""
    return session.kb_path(path) if path.startswith(("./", "../")) else path


def _is_revision(kb: KnowledgeBase, text: str | None) -> bool:
    try:
        kb.resolve(text or "HEAD")
    except UsageError:
        return False
    return True


def has_documents(kb: KnowledgeBase, path: str) -> bool:
    """Whether HEAD has a document at or below a path."""
    return next(kb.ls(path), None) is not None


def known_documents(kb: KnowledgeBase) -> set[str]:
    """The paths of documents that are tracked, and of those that are staged as removed."""
    stage = kb.repo.stage()
    return {*tracked_files(kb.repo, stage), *(key.removeprefix(DOCUMENTS) for key in stage.changes)}


def _holds(kb: KnowledgeBase, path: str, revision: str | None) -> bool:
    try:
        kb.cat(path, revision)
    except UsageError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Selection:
    """Revisions (or ranges) and paths, told apart."""

    revisions: tuple[str, ...]
    paths: tuple[str, ...]


def split_revisions(
    session: Session, words: Sequence[str], after_dashes: Sequence[str] | None, *, most: int,
    excludes: bool = False,
) -> Selection:  # fmt: skip
    """Tell revisions from paths as git does: with `--` by it, without by trying.

    Args:
        session: The run.
        words: What was typed before any `--`.
        after_dashes: What was typed after it; None where there was none.
        most: How many revisions the command takes.
        excludes: Whether `^REV` is a revision too, one to leave out with all that it leads to.

    Raises:
        UsageError: when a word is neither, or there are too many revisions.
    """
    kb = session.open()
    if after_dashes is not None:
        _at_most(words, most)
        return Selection(tuple(words), tuple(after_dashes))
    count = 0
    while count < len(words) and not words[count].startswith("./"):
        if not is_range(kb, words[count].removeprefix("^") if excludes else words[count]):
            break
        count += 1
    for word in words[count:]:
        revision = word.removeprefix("^") if excludes else word
        _check_path(session, word, revision, is_first=word is words[0])
    _at_most(words[:count], most)
    return Selection(tuple(words[:count]), tuple(words[count:]))


def _at_most(revisions: Sequence[str], most: int) -> None:
    if len(revisions) > most:
        plural = "s" if most > 1 else ""
        raise UsageError(
            f"at most {most} revision{plural} can be given, not {len(revisions)}", "paths go after --"
        )


def is_range(kb: KnowledgeBase, text: str) -> bool:
    """Whether a word names a revision, or two of them with dots in between."""
    if text in ("..", "..."):
        return False  # the folder above
    return all(_is_revision(kb, side) for side in split_range(text) or (text,))


def is_span(kb: KnowledgeBase, text: str) -> bool:
    """Whether a word names two revisions with dots in between."""
    return ".." in text and is_range(kb, text)


def _check_path(session: Session, word: str, revision: str, *, is_first: bool) -> None:
    """A word that is no revision must be a file, folder or document; else it was meant as a revision."""
    kb = session.open()
    path = session.kb_path(word)
    on_disk = kb.fs_root is not None and os.path.lexists(kb.fs_root / path)
    if path == "" or on_disk or has_documents(kb, path):
        return
    is_path = "/../" in f"/{word}/"  # which no name of a revision has, and no range
    word = session.as_shown(word)
    gone = f"a path that is gone goes after --, as in: arbor log -- {typed_path(word)}"
    if is_path or not is_first:
        raise UsageError(f"'{word}' is neither a revision nor a path", gone)
    sides = split_range(revision) or (revision,)
    for side in sides:
        try:
            kb.resolve(side or "HEAD")
        except UnknownRevision as error:
            if len(sides) > 1 or any(char in word for char in "~^@"):
                raise
            if "did you mean" not in error.hint:
                raise UsageError(f"'{word}' is neither a revision nor a path", gone) from error
            hint = f"{error.hint} {gone}" if any(char in word for char in "./") else error.hint
            raise UsageError(error.message, hint) from error
