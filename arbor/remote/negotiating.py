"""Which commits both sides have: asked for in batches that grow, until no more than what is missing will be sent."""

from __future__ import annotations

from collections.abc import Collection

from arbor.remote.limits import MAX_HAVES
from arbor.remote.messages import Advertisement, decode_oids
from arbor.remote.wire import Transport, open_packets
from arbor.repo.repository import Repository
from arbor.store.refs import REMOTES

_FIRST_BATCH = 64


def find_haves(
    repo: Repository,
    transport: Transport,
    shown: Advertisement,
    complete: Collection[bytes],
    remote: str,
) -> tuple[bytes, ...]:
    """Commits to name as here in full.

    Args:
        repo: Where.
        transport: The other side.
        shown: Its refs.
        complete: Every commit that is here with all it needs.
        remote: Its name, whose tracking refs say what it has shown before; "" for none.
    """
    if not complete:
        return ()
    common = {ref.peeled for ref in shown.refs if ref.peeled in complete}
    tracking = repo.refs.iter_names(f"{REMOTES}{remote}/") if remote else ()
    common.update(oid for name in tracking if (oid := repo.refs.read(name)) and oid in complete)
    if not common:
        common = _ask(repo, transport, complete)
    return tuple(sorted(common))[:MAX_HAVES]


def _ask(repo: Repository, transport: Transport, complete: Collection[bytes]) -> set[bytes]:
    """Walk down from the newest commits; below one that the other side knows, nothing needs to be asked."""
    parents = {oid: repo.commit(oid).parents for oid in complete}
    below = {parent for row in parents.values() for parent in row}
    frontier = [oid for oid in parents if oid not in below]
    asked: set[bytes] = set()
    common: set[bytes] = set()
    batch_size = _FIRST_BATCH
    while frontier:
        batch, frontier = frontier[:batch_size], frontier[batch_size:]
        asked.update(batch)
        message, frames = open_packets(transport.call("known", {"oids": b"".join(batch)}))
        for _ in frames:
            pass
        known = set(decode_oids(message, "oids")) & set(batch)
        common |= known
        for oid in batch:
            if oid not in known:
                fresh = [parent for parent in parents[oid] if parent not in asked and parent not in frontier]
                frontier += fresh
        batch_size = min(batch_size * 2, MAX_HAVES)
    return common
