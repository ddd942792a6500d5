"""The local record of sources: what servers said last, and which files and folders were added from here.

It is never sent. A document's source URI is only what somebody wrote; a file that it names is opened without asking
only where the same person once added that file, or the folder it is in, to this knowledge base.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgpack

from arbor.errors import IntegrityError
from arbor.repo.repository import Repository
from arbor.store.files import MAX_STATE_BYTES, read_bounded, seal, unpack_sealed, write_atomically

SOURCES_FILE = "sources"
_VERSION = 1


class KnownSource(NamedTuple):
    """What a server said when it was last asked, and of what bytes; empty texts for a file or folder.

    Attributes:
        etag, last_modified: As sent; "" where absent.
        seconds: When, in seconds since 1970 UTC.
        file_hash: Plain BLAKE3 of what came, of which alone the server said it.
    """

    etag: str
    last_modified: str
    seconds: int
    file_hash: bytes = b""


def read_known(folder: Path) -> dict[str, KnownSource]:
    """What is known, by address; nothing where the record is absent or damaged.

    Then bytes are compared, and files are not opened without consent.
    """
    try:
        version, rows = unpack_sealed(
            read_bounded(folder / SOURCES_FILE, MAX_STATE_BYTES), "the record of sources"
        )
        return {row[0]: KnownSource(*row[1:5]) for row in rows} if version == _VERSION else {}
    except (FileNotFoundError, IntegrityError, ValueError, TypeError, LookupError):
        return {}


def remember(repo: Repository, said: Iterable[tuple[str, str, str, bytes]]) -> None:
    """Note (address, ETag, Last-Modified, hash of what came) of sources that were asked now."""
    now = int(time.time())
    with repo.lock():
        known = read_known(repo.folder)
        known.update((url, KnownSource(etag, modified, now, came)) for url, etag, modified, came in said)
        rows = [[url, *each] for url, each in sorted(known.items())]
        write_atomically(repo.folder / SOURCES_FILE, seal(msgpack.packb([_VERSION, rows])))


def remember_file(repo: Repository, uri: str) -> None:
    """Note that a person has added this file or folder from here; does nothing for another kind of URI."""
    if urlsplit(uri).scheme == "file" and uri not in read_known(repo.folder):
        remember(repo, [(uri, "", "", b"")])


def path_of(uri: str) -> Path | None:
    """The path on this disk that a `file:` URI names; None for any other URI, and where it goes up on its way."""
    parts = urlsplit(uri)
    fs_path = Path(unquote(parts.path))
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "\0" in str(fs_path):
        return None
    return None if ".." in fs_path.parts else fs_path


class OwnFiles:
    """Which `file:` and `git+file:` URIs a person has added from here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: frozenset[str] | None = None
        self._paths: tuple[Path, ...] = ()

    def __call__(self, uri: str) -> bool:
        """Whether the file of a URI, links followed, is one of those or in one of those folders or repositories."""
        if self._known is None:
            self._known = frozenset(read_known(self._folder))
            self._paths = tuple(path for path in map(path_of, self._known) if path is not None)
        fs_path = path_of(uri)
        if fs_path is None:
            # A repository, at any commit.
            return uri.partition("#")[0].rpartition("@")[0] + "@" in self._known
        above = [own for own in self._paths if fs_path.is_relative_to(own)]
        # Not resolve(), which a link to itself brings to a RuntimeError.
        real = Path(os.path.realpath(fs_path))
        return any(real.is_relative_to(os.path.realpath(own)) for own in above)
