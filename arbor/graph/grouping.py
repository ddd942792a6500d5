"""Which of a document's peers are independent of it and of each other.

Peers are grouped as the document sees them: two belong together when one is a copy of the other, when they share a
declared origin, or when a chain of such ties among the document's own peers joins them. Chains do not leave that
neighbourhood. If groups were closed over the whole set, one syndicated article would make two publishers a single
source for everything that either of them ever wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from arbor.graph.facts import origin_of_document


class Peer(NamedTuple):
    """One peer of a document, or the document itself.

    Attributes:
        document: Its number.
        similarity_ppm: To the document.
        oid: Its content's, for breaking ties.
        origins: What it declares.
    """

    document: int
    similarity_ppm: int
    oid: bytes
    origins: tuple[str, ...]


class Groups(NamedTuple):
    """The peers of a document.

    Attributes:
        own: Peers that are not independent of the document.
        others: Independent groups, most similar first; in each, the most similar peer first. Ties by oid.
    """

    own: tuple[Peer, ...]
    others: tuple[tuple[Peer, ...], ...]

    @property
    def nearest(self) -> tuple[int, ...]:
        """For each independent group the nearest member and its similarity, one after the other."""
        return tuple(n for group in self.others for n in (group[0].document, group[0].similarity_ppm))


def rank(peer: Peer) -> tuple[int, bytes]:
    """Sorts the most similar peer first and breaks ties by content."""
    return -peer.similarity_ppm, peer.oid


def group_peers(home: Peer, peers: Sequence[Peer], copies: Mapping[int, Set[int]]) -> Groups:
    """Group the peers of a document.

    Args:
        home: The document itself.
        peers: All documents at or over the threshold.
        copies: For each of them and for the document itself, the documents that it is a copy of or that are copies
            of it.
    """
    document = home.document
    ties = _find_origin_ties([home, *peers])
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


def _find_origin_ties(documents: Sequence[Peer]) -> dict[int, set[int]]:
    """For each document that shares an origin with another, the documents that it shares one with."""
    if not any(each.origins for each in documents):
        return {}
    holders: dict[str, set[int]] = {}
    for each in documents:
        # A document is an origin for others by itself: a core declares its sources that way.
        for origin in (*each.origins, origin_of_document(each.oid)):
            holders.setdefault(origin, set()).add(each.document)
    ties: dict[int, set[int]] = {}
    for sharing in holders.values():
        if len(sharing) > 1:
            for number in sharing:
                ties.setdefault(number, set()).update(sharing)
    return ties
