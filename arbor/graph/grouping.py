"""Which of a document's peers are independent of it and of each other.

Peers are grouped as the document sees them: two belong together when one is a copy of the other, when they share a
declared origin, or when a chain of such ties among the document's own peers joins them. Chains do not leave that
neighbourhood. If groups were closed over the whole set, one syndicated article would make two publishers a single
source for everything that either of them ever wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Peer(NamedTuple):
    """One peer of a document.

    Attributes:
        document: The peer's number.
        similarity_ppm: To the document.
        oid: The peer's, for breaking ties.
        origins: The peer's declared origins, and itself as an origin for others.
    """

    document: int
    similarity_ppm: int
    oid: bytes
    origins: frozenset[str]


class Groups(NamedTuple):
    """The peers of a document.

    Attributes:
        own: Peers that are not independent of the document.
        others: Independent groups, most similar first; in each, the most similar peer first. Ties by oid.
    """

    own: tuple[Peer, ...]
    others: tuple[tuple[Peer, ...], ...]


def rank(peer: Peer) -> tuple[int, bytes]:
    """Sorts the most similar peer first and breaks ties by content."""
    return -peer.similarity_ppm, peer.oid


def group_peers(
    document: int, origins: frozenset[str], peers: Sequence[Peer], copies: Mapping[int, Iterable[int]]
) -> Groups:
    """Group the peers of a document.

    Args:
        document: Its number.
        origins: Its declared origins, and itself as an origin for others.
        peers: All documents at or over the threshold.
        copies: For each of them and for the document itself, the documents that it is a copy of or that are copies
            of it.
    """
    parents: dict[int, int] = {document: document}
    parents.update((peer.document, peer.document) for peer in peers)
    by_origin = dict.fromkeys(origins, document)
    for peer in peers:
        for origin in peer.origins:
            _join(parents, peer.document, by_origin.setdefault(origin, peer.document))
    for number in list(parents):
        for other in copies.get(number, ()):
            if other in parents:
                _join(parents, number, other)
    own: list[Peer] = []
    others: dict[int, list[Peer]] = {}
    home = _find(parents, document)
    for peer in sorted(peers, key=rank):
        top = _find(parents, peer.document)
        if top == home:
            own.append(peer)
        else:
            others.setdefault(top, []).append(peer)
    # Peers were taken best first, so the groups stand in the order of their best peers.
    return Groups(tuple(own), tuple(map(tuple, others.values())))


def _find(parents: dict[int, int], number: int) -> int:
    while parents[number] != number:
        parents[number] = parents[parents[number]]
        number = parents[number]
    return number


def _join(parents: dict[int, int], one: int, other: int) -> None:
    parents[_find(parents, one)] = _find(parents, other)
