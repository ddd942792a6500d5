"""Finds all peers of a document exactly, over the inverted index of signatures, without looking at any other document.

Terms are taken heaviest first, and among equals the rarest first. As soon as the terms that are left could not make a
document a peer by themselves, no new candidates are taken up: the longest lists come last and then only add to the
candidates that are there. Source: the prefix filter of Bayardo, Ma and Srikant, Scaling Up All Pairs Similarity
Search, WWW 2007, for sums of minima instead of inner products.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from arbor.graph.similarity import Signature, least_shared, scale_similarity


class Index(Protocol):
    """Where the inverted index is."""

    def postings(self, term: int) -> list[tuple[int, int]]:
        """(document, value) of the documents whose signature holds a term."""

    def sizes(self, documents: list[int]) -> dict[int, int]:
        """The sizes of signatures."""


class Likeness(NamedTuple):
    """One document that is like another.

    Attributes:
        document: Its number.
        similarity_ppm: At or over the threshold.
    """

    document: int
    similarity_ppm: int


def find_peers(document: int, signature: Signature, index: Index, min_similarity_ppm: int) -> list[Likeness]:
    """All documents of the set at or over the threshold, by number, without the document itself.

    Args:
        document: Its number; its own postings are passed over.
        signature: Its signature.
        index: The postings of the set as it is now.
        min_similarity_ppm: The threshold in millionths.
    """
    least = least_shared(signature.size, min_similarity_ppm)
    shared: dict[int, int] = {}
    left = sum(signature.values)
    lists = [
        (value, index.postings(term)) for term, value in zip(signature.hashes, signature.values, strict=True)
    ]
    lists.sort(key=lambda each: (-each[0], len(each[1])))
    for value, postings in lists:
        if left >= least:
            for candidate, other in postings:
                shared[candidate] = shared.get(candidate, 0) + min(value, other)
        else:
            for candidate, other in postings:
                if candidate in shared:
                    shared[candidate] += min(value, other)
        left -= value
    shared.pop(document, None)
    candidates = sorted(number for number, weight in shared.items() if weight >= least)
    sizes = index.sizes(candidates)
    likenesses = (
        Likeness(number, scale_similarity(shared[number], signature.size, sizes[number]))
        for number in candidates
    )
    return [likeness for likeness in likenesses if likeness.similarity_ppm >= min_similarity_ppm]
