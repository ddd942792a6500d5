"""Finds all peers of a document exactly, over the inverted index of signatures, without looking at any other document.

Terms are taken heaviest first. As soon as the terms that are left could not make a document a peer by themselves, no
new candidates are taken up, which leaves out the longest lists; and what is left can no longer lift a
candidate that is too far behind. Source: the prefix filter of Bayardo, Ma and Srikant, Scaling Up All Pairs Similarity
Search, WWW 2007, for sums of minima instead of inner products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from arbor.graph.similarity import Signature, least_shared, similarity


class Postings(Protocol):
    """Where the inverted index is."""

    def postings(self, term: int) -> list[tuple[int, int]]:
        """(document, value) of the documents whose signature holds a term."""


class Likeness(NamedTuple):
    """One document that is like another.

    Attributes:
        document: Its number.
        similarity_ppm: At or over the threshold.
    """

    document: int
    similarity_ppm: int


def find_peers(
    document: int,
    signature: Signature,
    index: Postings,
    signature_of: Callable[[int], Signature],
    min_similarity_ppm: int,
) -> list[Likeness]:
    """All documents of the set at or over the threshold, by number, without the document itself.

    Args:
        document: Its number; its own postings are passed over.
        signature: Its signature.
        index: The postings of the set as it is now.
        signature_of: The signature of a candidate.
        min_similarity_ppm: The threshold in millionths.
    """
    least = least_shared(signature.size, min_similarity_ppm)
    shared: dict[int, int] = {}
    left = signature.size
    for term in signature.key_terms:
        if left < least:
            break
        left -= term.value
        value = term.value
        for candidate, other in index.postings(term.hash):
            shared[candidate] = shared.get(candidate, 0) + (other if other < value else value)
    shared.pop(document, None)
    found = []
    for candidate in sorted(number for number, weight in shared.items() if weight + left >= least):
        likeness = similarity(signature, signature_of(candidate))
        if likeness >= min_similarity_ppm:
            found.append(Likeness(candidate, likeness))
    return found
