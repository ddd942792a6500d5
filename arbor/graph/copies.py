"""Whether two documents are one text told twice: an edited repost, a version, a quotation.

Compared are runs of key terms as they stand in the text. An edited copy keeps most of its runs, whatever happens to
punctuation, case, titles, the order of sentences or some of the words; two people who tell the same thing in their own
words share the terms but few of the runs. Words that carry no weight in the signatures do not count here
either, so that a template that hundreds of notes share does not make them copies of each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from arbor.graph.similarity import Signature

COPIED_MILLI = 300
"""From this share of the smaller document's pairs of neighbouring key terms on, one is a copy of the other."""

QUOTED_MILLI = 600
"""From this share of what two documents have in common on, all of it standing in common runs of four key terms, the
likeness is a quotation."""

_RUN = 4


class Runs(NamedTuple):
    """The runs of one document.

    Attributes:
        pairs: Unordered pairs of key terms that stand side by side or one apart, with the smaller weight of the two.
        size: Sum of those weights.
        fours: Sets of four key terms in a row, each sorted.
        weights: Class weight of each key term.
    """

    pairs: dict[tuple[int, int], int]
    size: int
    fours: frozenset[tuple[int, ...]]
    weights: dict[int, int]


def find_runs(hashes: tuple[int, ...], sequence: Iterable[int], signature: Signature) -> Runs:
    """The runs of a document.

    Args:
        hashes: `term_hash` of each of its different terms.
        sequence: The text as indexes into them.
        signature: Its signature; other terms are passed over.
    """
    weights = {term.hash: term.weight for term in signature.key_terms}
    text = [hashes[index] for index in sequence if hashes[index] in weights]
    pairs: dict[tuple[int, int], int] = {}
    for gap in (1, 2):
        for one, other in zip(text, text[gap:], strict=False):
            if one != other:
                pairs[(one, other) if one < other else (other, one)] = min(weights[one], weights[other])
    fours = frozenset(
        tuple(sorted(text[start : start + _RUN])) for start in range(len(text) - _RUN + 1)
    )
    return Runs(pairs, sum(pairs.values()), fours, weights)


def is_copy(first: Runs, second: Runs) -> bool:
    """Whether two documents are one text told twice; symmetric."""
    smaller, larger = (first, second) if len(first.pairs) <= len(second.pairs) else (second, first)
    common = sum(weight for pair, weight in smaller.pairs.items() if pair in larger.pairs)
    if common and common * 1000 >= COPIED_MILLI * min(first.size, second.size):
        return True
    return _is_quotation(first, second)


def _is_quotation(first: Runs, second: Runs) -> bool:
    runs = first.fours & second.fours
    if not runs:
        return False
    shared = sum(weight for term, weight in first.weights.items() if term in second.weights)
    quoted = sum(first.weights[term] for term in {term for run in runs for term in run})
    return quoted * 1000 >= QUOTED_MILLI * shared
