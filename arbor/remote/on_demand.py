"""Documents on demand: what is cold here is asked of the remotes, and every passage is accepted by its own hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from arbor.errors import ArborError
from arbor.remote.exchange.chunks import Kept, ask_kept, fetch_chunks
from arbor.remote.own_store import may_be_own
from arbor.remote.protocol.wire import Transport
from arbor.remote.remotes import read_remotes
from arbor.remote.transports.addresses import STORE_SCHEMES
from arbor.remote.transports.connecting import ConnectOptions, connect
from arbor.repo.file_bytes import is_same_file
from arbor.repo.forgetting.copies import (
    ByteSource,
    ChunkSource,
    Found,
    WorkTreeSource,
    file_identity,
    open_place,
)
from arbor.repo.forgetting.rehydrating import RehydrateReport, rehydrate
from arbor.repo.forgetting.tiering import close_sources
from arbor.repo.forgetting.wanted import Wanted
from arbor.repo.repository import Repository
from arbor.store.store_id import UNNAMED, read_store_id

Warn = Callable[[str], None]
"""Told in a sentence when a place cannot be asked."""


class FarPlaces:
    """Places at the other end of a connection: each connects when it is first asked, and `close` ends them all.

    Args:
        options: How to reach them.
        warn: Told of each that cannot be asked.
        own: The repository whose copies they are to be, so that it is no copy of itself; None where that is no matter.
        dry_run: Whether nothing may be written to find that out.
    """

    def __init__(
        self, options: ConnectOptions, warn: Warn, own: Repository | None = None, *, dry_run: bool = False
    ) -> None:
        self._own = own
        self._dry_run = dry_run
        self._options = options
        self._warn = warn
        self._opened: list[Transport] = []

    def source(self, name: str, url: str) -> ByteSource:
        """A remote or bundle as a source of documents' bytes; one that cannot be reached has nothing."""
        fs_path = Path(self._options.cwd or ".", url)
        is_file = fs_path.is_file()
        identity = file_identity(fs_path) if is_file else b"remote " + url.encode()
        connected: list[Transport] = []

        def transport() -> Transport:
            if not connected:
                connected.append(connect(str(fs_path) if is_file else url, self._options))
                self._opened.extend(connected)
            return connected[0]

        def fetch(oids: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
            try:
                return list(fetch_chunks(transport(), oids, self._options.limits))
            except ArborError as error:
                self._warn(f"{name}: {error.message}")
                return []

        def ask(oids: Sequence[bytes]) -> Kept:
            try:
                return ask_kept(transport(), oids, self._options.limits)
            except ArborError as error:
                self._warn(f"{name}: {error.message}")
                return Kept(frozenset(), b"")

        own = self._own
        if own is None or is_file:
            return ChunkSource(name, identity, fetch)

        def identify(known: bytes) -> tuple[bytes, str]:
            store = ask(()).store
            problem = ""
            if self._dry_run:
                problem = _maybe_own(own, name, store, url)
            elif may_be_own(own, fetch, known):
                problem = f"'{name}' is this knowledge base itself, which is no copy"
            return (b"", problem) if problem else (store or (identity if _is_bucket(url) else UNNAMED), "")

        return ChunkSource(name, identity, fetch, identify, lambda oids: ask(oids).oids)

    def close(self) -> None:
        """Close the connections."""
        for transport in self._opened:
            transport.close()


def _maybe_own(own: Repository, name: str, store: bytes, url: str) -> str:
    """Why a place may be this knowledge base, as far as that can be told without writing; "" where it is not."""
    only = "only an eviction can tell"
    if store and store == read_store_id(own.folder):
        return f"'{name}' is this knowledge base, which is no copy, or was copied with its folder: {only}"
    if not store and not _is_bucket(url):
        return f"'{name}' does not say which store it is, and may be this one: {only}"
    return ""


def _is_bucket(url: str) -> bool:
    return url.partition("://")[0].lower() in STORE_SCHEMES


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
    found, wrong = read_remotes(repo)
    for name, fault in wrong.items():
        warn(f"remote '{name}' is not asked: {fault.message}")
    for remote in found:
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
