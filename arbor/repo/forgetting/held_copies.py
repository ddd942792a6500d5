"""Copies in other knowledge bases, which must not go in the moment in which this one lets go of its own.

Two that evict at once, each counting on the other, would else both let go. On this machine the other one is held still.
Over a network it is asked a last time, after this one has said what goes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from arbor.repo.forgetting.copies import ByteSource, ChunkSource, StoreSource
from arbor.repo.importing.git_sources import GIT_SCHEME
from arbor.repo.importing.known_sources import path_of
from arbor.repo.repository import Repository
from arbor.store.files import storing
from arbor.store.lock import writer_lock
from arbor.store.syncing import sync_disk


@contextlib.contextmanager
def held_still(repo: Repository, sources: Iterable[ByteSource]) -> Iterator[None]:
    """Hold the writer lock of a repository, and those of the knowledge bases among the sources.

    They are taken in one order, whoever takes them, so that two do not wait for each other. A knowledge base in which
    nothing may be written is passed over.

    Raises:
        Locked: when another writer keeps one of them.
    """
    locks = {source.identity: _lock_of(source.folder) for source in sources
             if isinstance(source, StoreSource) and source.identity}  # fmt: skip
    locks[StoreSource.identity_of(repo.folder)] = repo.lock()
    with contextlib.ExitStack() as stack:
        for _, lock in sorted(locks.items(), key=lambda named: named[0]):
            stack.enter_context(lock)
        # Put into words here: the stack would keep an error that changes on its way out, and with it the packs it read.
        with storing(repo.folder):
            yield


@contextlib.contextmanager
def _lock_of(folder: Path) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(writer_lock(folder / "lock"))
        yield


def make_copies_durable(places: Iterable[str]) -> None:
    """Let copies on this machine last before what is here goes: one that was made just now may be in memory only.

    Args:
        places: Where they were found; those that are no paths on this machine are passed over.

    Raises:
        OSError: when the system refuses.
    """
    disks: dict[int, Path] = {}
    for where in set(places):
        place = where
        if place.startswith(f"{GIT_SCHEME}:"):
            place = place.removeprefix("git+").partition("@")[0]
        fs_path = path_of(place) if place.startswith("file:") else Path(place)
        with contextlib.suppress(OSError, ValueError):
            if fs_path is not None:
                disks.setdefault(os.stat(fs_path).st_dev, fs_path)
    for fs_path in disks.values():
        sync_disk(fs_path)


def gone_since(
    sources: Iterable[ByteSource],
    copies: Mapping[bytes, Sequence[str]],
    chunks: Mapping[bytes, Sequence[bytes]],
) -> dict[bytes, str]:
    """Of documents whose copies were found, those that a knowledge base has let go of since or is about to: its name.

    Args:
        sources: Those that were asked.
        copies: Where the copies of each document were found.
        chunks: What each document consists of.
    """
    gone: dict[bytes, str] = {}
    for source in sources:
        if isinstance(source, (StoreSource, ChunkSource)):
            relied = [oid for oid, places in copies.items() if source.name in places]
            lacking = source.lacking({chunk for oid in relied for chunk in chunks[oid]})
            gone.update((oid, source.name) for oid in relied if not lacking.isdisjoint(chunks[oid]))
    return gone
