"""Documents on demand: what is cold here is asked of the remotes, and every passage is accepted by its own hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from arbor.errors import ArborError
from arbor.remote.chunks import fetch_chunks
from arbor.remote.connecting import ConnectOptions, connect
from arbor.remote.own_store import may_be_own
from arbor.remote.remotes import list_remotes
from arbor.remote.wire import Transport
from arbor.repo.copies import (
    ByteSource,
    ChunkSource,
    Found,
    Wanted,
    WorkTreeSource,
    file_identity,
    is_same_file,
    open_place,
)
from arbor.repo.rehydrating import RehydrateReport, rehydrate
from arbor.repo.repository import Repository
from arbor.repo.tiering import close_sources

Warn = Callable[[str], None]
"""Told in a sentence when a place cannot be asked."""


class FarPlaces:
    """Places at the other end of a connection: each connects when it is first asked, and `close` ends them all.

    Args:
        options: How to reach them.
        warn: Told of each that cannot be asked.
        own: The repository whose copies they are to be, so that it is no copy of itself; None where that is no matter.
    """

    def __init__(self, options: ConnectOptions, warn: Warn, own: Repository | None = None) -> None:
        self._own = own
        self._options = options
        self._warn = warn
        self._opened: list[Transport] = []

    def source(self, name: str, url: str) -> ByteSource:
        """A remote or bundle as a source of documents' bytes; one that cannot be reached has nothing."""
        fs_path = Path(self._options.cwd or ".", url)
        is_file = fs_path.is_file()
        identity = file_identity(fs_path) if is_file else b"remote " + url.encode()
        connected: list[Transport] = []

        def fetch(oids: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
            try:
                if not connected:
                    connected.append(connect(str(fs_path) if is_file else url, self._options))
                    self._opened.extend(connected)
                return list(fetch_chunks(connected[0], oids))
            except ArborError as error:
                self._warn(f"{name}: {error.message}")
                return []

        own = self._own
        if own is None or is_file:
            return ChunkSource(name, identity, fetch)
        return ChunkSource(name, identity, fetch, lambda known: may_be_own(own, fetch, known))

    def close(self) -> None:
        """Close the connections."""
        for transport in self._opened:
            transport.close()


class _OwnFiles:
    """The work tree's files, where one is the very version that is wanted: a file that was edited since is no drift."""

    name = "the work tree"

    def __init__(self, fs_root: Path) -> None:
        self._files = WorkTreeSource(fs_root)

    def find(self, wanted: Wanted) -> Found | None:
        """The file at one of the document's paths."""
        found = self._files.find(wanted)
        same = found is not None and found.data is not None and is_same_file(wanted.document, found.data)
        return found if same else None


def bring_documents(
    repo: Repository, documents: Iterable[tuple[str, bytes]], options: ConnectOptions, warn: Warn
) -> RehydrateReport:
    """Bring cold documents of any version back from the remotes; call it without the writer lock.

    A document's own address, on the web or this disk, is not asked: what a clone says is not followed by merely
    reading it.

    Args:
        repo: Where.
        documents: (path, document oid); those that are not cold are passed over.
        options: How to reach the remotes.
        warn: Told of each remote that cannot be asked.

    Raises:
        Locked: when another writer holds the lock.
    """
    far = FarPlaces(options, warn)
    sources: list[ByteSource] = []
    for remote in list_remotes(repo):
        fs_path = Path(options.cwd or ".", remote.url)
        if fs_path.is_dir():
            sources += open_place(fs_path, repo.store)
        else:
            sources.append(far.source(remote.name, remote.url))
    if repo.fs_root is not None:
        sources.append(_OwnFiles(repo.fs_root))
    try:
        return rehydrate(repo, documents, sources)
    finally:
        close_sources(sources)
        far.close()
