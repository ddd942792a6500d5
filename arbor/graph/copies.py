"""Whether two documents are one text told twice: an edited repost, a version, a quotation.

Compared are runs of key terms as they stand in the text. An edited copy keeps most of its runs, whatever happens to
punctuation, case, titles, the order of sentences or some of the words; two people who tell the same thing in their own
words share the terms but few of the runs. Words that carry no weight in the signatures do not count here
either, so that a template that hundreds of notes share does not make them copies of each other.
"""

from __future__ import annotations

from itertools import pairwise

from arbor.graph.similarity import Signature

COPIED_MILLI = 300
"""From this share of the smaller document's pairs of neighbouring key terms on, one is a copy of the other."""

QUOTED_MILLI = 600
"""From this share of what two documents have in common on, all of it standing in common runs of four key terms, the
likeness is a quotation."""

_RUN = 4


class Runs:
    """The runs of one document.

    Attributes:
        pairs: Unordered pairs of key terms that stand side by side or one apart, with the smaller weight of the two.
        size: Sum of those weights.
        weights: Class weight of each key term.
    """

    __slots__ = ("_fours", "_hashes", "_text", "pairs", "size", "weights")

    def __init__(self, hashes: tuple[int, ...], sequence: bytes, signature: Signature) -> None:
        """Find the runs of a document.

        Args:
            hashes: `term_hash` of each of its different terms.
            sequence: The text as indexes into them.
            signature: Its signature; other terms are passed over.
        """
        self.weights = weights = signature.weight_of()
        self._hashes = hashes
        passed_over = bytes([index for index, number in enumerate(hashes) if number not in weights])
        self._text = text = sequence.translate(None, passed_over)
        self._fours: frozenset[tuple[int, ...]] | None = None
        self.pairs: dict[tuple[int, int], int] = {}
        for index, other_index in {*pairwise(text), *zip(text, text[2:], strict=False)}:
            if index != other_index:
                one, other = hashes[index], hashes[other_index]
                weight, other_weight = weights[one], weights[other]
                pair = (one, other) if one < other else (other, one)
                self.pairs[pair] = min(other_weight, weight)
        self.size = sum(self.pairs.values())

    def fours(self) -> frozenset[tuple[int, ...]]:
        """Sets of four key terms in a row, each sorted; worked out when first asked for."""
        if self._fours is None:
            text, hashes = self._text, self._hashes
            runs = set(zip(text, text[1:], text[2:], text[3:], strict=False))
            self._fours = frozenset(tuple(sorted(map(hashes.__getitem__, run))) for run in runs)
        return self._fours


def is_copy(first: Runs, second: Runs) -> bool:
    """Whether two documents are one text told twice; symmetric."""
    common = sum(map(first.pairs.__getitem__, first.pairs.keys() & second.pairs.keys()))
    if common and common * 1000 >= COPIED_MILLI * min(first.size, second.size):
        return True
    return common > 0 and _is_quotation(first, second)


def _is_quotation(first: Runs, second: Runs) -> bool:
    runs = first.fours() & second.fours()
    if not runs:
        return False
    shared = sum(map(first.weights.__getitem__, first.weights.keys() & second.weights.keys()))
    quoted = sum(map(first.weights.__getitem__, {term for run in runs for term in run}))
    return quoted * 1000 >= QUOTED_MILLI * shared
