"""Links that would lead nowhere after a commit: what it brings, and what it takes away from under others."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from arbor.graph.staged import Staged
from arbor.objects.links import Link

_NOT_LOCAL = ("url", "html")


class DanglingLink(NamedTuple):
    """A link that would lead nowhere.

    Attributes:
        path: The document that holds it.
        link: The link.
        removed: Whether it leads somewhere before the commit, and the commit takes that away.
    """

    path: str
    link: Link
    removed: bool


def iter_dangling(staged: Staged, fs_root: Path | None) -> Iterator[DanglingLink]:
    """Links that lead to no document and no folder after a commit: of staged documents, then of those that stay.

    Links of a document that stays count where they lead somewhere before. Only where something is removed are they
    looked at, and of cold documents they cannot be read.

    Args:
        staged: What the commit changes.
        fs_root: The work tree, where folders without documents may be.
    """
    after = _Places(staged, fs_root)
    for path, oid in staged.documents.items():
        for link in _local_links(staged, oid):
            if not after.leads_somewhere(path, link):
                yield DanglingLink(path, link, False)
    gone = [path for path, oid in staged.documents.items() if oid is None and staged.head.find(path)]
    if not gone:
        return
    before, touched = _Places(Staged(staged.head, {}), fs_root), _meant_by(gone)
    cold = staged.head.tiers().cold
    for path, oid in staged.head.paths():
        if path in staged.documents or oid in cold:
            continue
        for link in _local_links(staged, oid):
            may_mean = touched.intersection([*_places(path, link), _name(link)])
            if may_mean and not after.leads_somewhere(path, link) and before.leads_somewhere(path, link):
                yield DanglingLink(path, link, True)


def _local_links(staged: Staged, oid: bytes | None) -> Iterator[Link]:
    if oid is None:
        return
    manifest = staged.head.manifest(staged.head.document(oid))
    if manifest.links:
        yield from filter(_is_local, staged.head.links(manifest))


def _is_local(link: Link) -> bool:
    if link.kind in _NOT_LOCAL or not link.target:
        return False
    if link.target.startswith(("//", "#")):
        return False
    try:
        return ":" not in link.target or not urlsplit(link.target).scheme
    except ValueError:
        return False


def _places(path: str, link: Link) -> set[str]:
    """The paths that a link may mean: beside its document or from the top, as written or percent-decoded."""
    bases = (posixpath.dirname(path), "")
    targets = {link.target.lstrip("/"), unquote(link.target).lstrip("/")}
    return {posixpath.normpath(posixpath.join(base, target)) for base in bases for target in targets}


def _name(link: Link) -> str:
    """The file name by which a wikilink finds its document in any folder; "" for a link that is a path."""
    by_name = link.kind == "wikilink" or (link.kind == "frontmatter" and "/" not in link.target)
    return posixpath.basename(link.target).casefold() if by_name else ""


def _meant_by(paths: list[str]) -> set[str]:
    """What a link to one of these paths, or to a folder that they are in, can look like."""
    found = set()
    for path in paths:
        name = posixpath.basename(path).casefold()
        found |= {path, path.removesuffix(".md"), name, posixpath.splitext(name)[0]}
        while path := posixpath.dirname(path):
            found.add(path)
    return found


class _Places:
    """Where links can lead in one version."""

    def __init__(self, staged: Staged, fs_root: Path | None) -> None:
        self._staged = staged
        self._fs_root = fs_root
        self._names: set[str] | None = None

    def leads_somewhere(self, path: str, link: Link) -> bool:
        """Whether there is a document, or a folder, that a link of the document at a path can mean."""
        name = _name(link)
        if name and name in self._known_names():
            return True
        return any(self._is_there(place) for place in _places(path, link))

    def _known_names(self) -> set[str]:
        """The file names of all documents, with and without their suffixes, as wikilinks find them."""
        if self._names is None:
            names = [posixpath.basename(path).casefold() for path in self._staged.paths()]
            self._names = {*names, *(posixpath.splitext(name)[0] for name in names)}
        return self._names

    def _is_there(self, place: str) -> bool:
        if place == ".":
            return True
        if any(self._staged.find(path) is not None for path in (place, f"{place}.md")):
            return True
        if next(self._staged.paths(f"{place}/"), None) is not None:
            return True
        # A folder may hold nothing but files that are no documents.
        return (
            self._fs_root is not None
            and not place.startswith("..")
            and os.path.isdir(os.path.join(self._fs_root, place))
        )
