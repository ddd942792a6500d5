"""What the other side shows, and which commits both have.

Those are asked for in batches that grow, until no more than what is missing will be sent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from arbor.remote.protocol.limits import MAX_HAVES
from arbor.remote.protocol.messages import Advertisement, decode_advertisement, decode_oids
from arbor.remote.protocol.wire import Transport, take_message
from arbor.repo.commits.history import ancestors
from arbor.repo.repository import Repository
from arbor.store.refs import REMOTES

_FIRST_BATCH = 64
ROLLED_BACK = "the other side has rolled it back from what it showed before"


def advertised(transport: Transport) -> Advertisement:
    """The refs of the other side; raises RemoteError when it does not answer well."""
    return decode_advertisement(take_message(transport.call("refs", {})))


def find_haves(
    repo: Repository,
    transport: Transport,
    shown: Advertisement,
    complete: Collection[bytes],
    remote: str,
    *,
    certain: bool = False,
) -> tuple[bytes, ...]:
    """Commits that are here in full and that the other side has, too, as far as it can be told.

    Args:
        repo: Where.
        transport: The other side.
        shown: Its refs.
        complete: Every commit that is here with all it needs.
        remote: Its name, whose tracking refs say what it has shown before; "" for none.
        certain: Leave out what it no longer has, as after it was restored from an older copy: what is sent to it
            would otherwise lack what it lost. A fetch need not ask, since unknown commits are passed over.
    """
    if not complete:
        return ()
    common = {ref.peeled for ref in shown.refs if ref.peeled in complete}
    tracking = repo.refs.iter_names(f"{REMOTES}{remote}/") if remote else ()
    shown_before = {oid for name in tracking if (oid := repo.refs.read(name)) and oid in complete}
    if certain and not shown_before <= common:
        shown_before = _known(transport, sorted(shown_before - ancestors(repo, common)))
    common |= shown_before
    if not common:
        common = _ask(repo, transport, complete)
    return tuple(sorted(common))[:MAX_HAVES]


def _known(transport: Transport, oids: Sequence[bytes]) -> set[bytes]:
    """Those of the commits that the other side's refs reach now."""
    if not oids:
        return set()
    message = take_message(transport.call("known", {"oids": b"".join(oids[:MAX_HAVES])}))
    return set(decode_oids(message, "oids")) & set(oids)


def _ask(repo: Repository, transport: Transport, complete: Collection[bytes]) -> set[bytes]:
    """Walk down from the newest commits; below one that the other side knows, nothing needs to be asked."""
    parents = {oid: repo.commit(oid).parents for oid in complete}
    below = {parent for row in parents.values() for parent in row}
    waiting = deque(oid for oid in parents if oid not in below)
    seen: set[bytes] = set()
    common: set[bytes] = set()
    batch_size = _FIRST_BATCH
    while waiting:
        batch = list(islice(_iter_down(waiting, parents, seen), batch_size))
        known = _known(transport, batch)
        lower = set(_iter_down(deque(parent for oid in known for parent in parents[oid]), parents, set()))
        common = (common | known) - lower
        seen |= lower
        waiting = deque(oid for oid in waiting if oid not in seen)
        batch_size = min(batch_size * 2, MAX_HAVES)
    return common


def _iter_down(
    waiting: deque[bytes], parents: Mapping[bytes, Sequence[bytes]], seen: set[bytes]
) -> Iterator[bytes]:
    """The commits that wait and those below them, each generation after the one above; what comes is marked as seen."""
    while waiting:
        oid = waiting.popleft()
        if oid not in seen:
            seen.add(oid)
            waiting.extend(parents[oid])
            yield oid
