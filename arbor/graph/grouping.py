"""Which of a document's peers are independent of it and of each other.

Peers are grouped as the document sees them: two belong together when one is a copy of the other, when they share a
declared origin, or when a chain of such ties among the document's own peers joins them. Chains do not leave that
neighbourhood. If groups were closed over the whole set, one syndicated article would make two publishers a single
source for everything that either of them ever wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
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
    document: int, origins: frozenset[str], peers: Sequence[Peer], copies: Mapping[int, Set[int]]
) -> Groups:
    """Group the peers of a document.

    Args:
        document: Its number.
        origins: Its declared origins, and itself as an origin for others.
        peers: All documents at or over the threshold.
        copies: For each of them and for the document itself, the documents that it is a copy of or that are copies
            of it.
    """
    ties = _find_origin_ties(document, origins, peers)
    left = {document, *(peer.document for peer in peers)}
    group_of: dict[int, int] = {}
    for start in (document, *(peer.document for peer in peers)):
        # Everything that a chain of ties joins to the start.
        frontier = {start} & left
        while frontier:
            left -= frontier
            group_of.update(dict.fromkeys(frontier, start))
            tied = set().union(
                *map(copies.__getitem__, frontier), *(ties.get(number, ()) for number in frontier)
            )
            frontier = tied & left
    own: list[Peer] = []
    others: dict[int, list[Peer]] = {}
    for peer in sorted(peers, key=rank):
        group = group_of[peer.document]
        if group == document:
            own.append(peer)
        else:
            others.setdefault(group, []).append(peer)
    # Peers were taken best first, so the groups stand in the order of their best peers.
    return Groups(tuple(own), tuple(map(tuple, others.values())))


def _find_origin_ties(document: int, origins: frozenset[str], peers: Sequence[Peer]) -> dict[int, set[int]]:
    """For each document that shares an origin with another, the documents that it shares one with."""
    if len(origins) == 1 and all(len(peer.origins) == 1 for peer in peers):
        return {}  # each is only an origin by itself
    holders: dict[str, set[int]] = {origin: {document} for origin in origins}
    for peer in peers:
        for origin in peer.origins:
            holders.setdefault(origin, set()).add(peer.document)
    ties: dict[int, set[int]] = {}
    for sharing in holders.values():
        if len(sharing) > 1:
            for number in sharing:
                ties.setdefault(number, set()).update(sharing)
    return ties
