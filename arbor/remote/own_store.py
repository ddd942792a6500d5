"""Whether what answers at an address is this very store: a server here, under whatever name, is no copy of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from arbor.objects.ids import Kind
from arbor.repo.repository import Repository
from arbor.store.repacking import drop_objects

Ask = Callable[[Sequence[bytes]], Iterable[tuple[bytes, bytes]]]
"""Asks a place for passages by their oids; gives (oid, bytes) of those that it has."""

_MADE_UP_BYTES = 32


def may_be_own(repo: Repository, ask: Ask, known: bytes) -> bool:
    """Whether a place gives a passage that was made up just now and stored here alone.

    An address says nothing: a tunnel, a proxy or another host name may lead back to this machine. So does no answer:
    the place must give what it is known to have.

    Args:
        repo: Ours. For a moment it holds one passage more, which nothing needs.
        ask: Asks the place.
        known: A passage that the place gave before.

    Raises:
        Locked: when another writer holds the lock.
    """
    with repo.lock(), repo.store.writer() as writer:
        made_up = writer.add(Kind.CHUNK, os.urandom(_MADE_UP_BYTES))
    try:
        given = {oid for oid, _ in ask([made_up, known])}
    finally:
        with repo.lock():
            drop_objects(repo.store, {made_up})
    return made_up in given or known not in given
