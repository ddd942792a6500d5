"""Whether two documents are one text told twice: an edited repost, a version, a quotation.

Compared are runs of key terms as they stand in the text. An edited copy keeps most of its runs, whatever happens to
punctuation, case, titles, the order of sentences or some of the words; two people who tell the same thing in their own
words share the terms but few of the runs. Runs are counted and not weighed: how many other documents hold a word says
nothing about who copied whom, so unrelated documents that come or go do not make copies of two short texts, or undo
them. Only words without any weight in the signatures do not count here either, so that a template that hundreds of
notes share does not make them copies of each other.
"""

from __future__ import annotations

from itertools import chain, pairwise

from arbor.graph.similarity import Signature

COPIED_MILLI = 150
"""From this share of the smaller document's triples on, one is a copy of the other. A triple is three key terms in the
order of the text, each right after the one before or one apart. Independent tellings had at most 107 of a thousand in
common, reposts with 15 % of their words edited seldom under 200."""

PAIRED_MILLI = 400
"""The same for pairs: two key terms side by side or one apart, in either order. Stubs have too few words for
triples."""

QUOTED = ((3, 800, 4), (4, 600, 6))
"""(run, share, least): where of the key terms that two documents have in common at least this share in thousandths, and
at least so many, stand in common runs of this length, the likeness is a quotation, or the same greeting around
different texts. What is called by three or four words is called so by everybody, so a name alone is no quotation."""


class Runs:
    """The runs of one document.

    Attributes:
        terms: Its key terms.
        pairs: Unordered pairs of different key terms that stand side by side or one apart.
    """

    __slots__ = ("_text", "_triples", "pairs", "terms")

    def __init__(self, hashes: tuple[int, ...], sequence: bytes, signature: Signature) -> None:
        """Find the runs of a document.

        Args:
            hashes: `term_hash` of each of its different terms.
            sequence: The text as indexes into them.
            signature: Its signature; other terms are passed over.
        """
        self.terms = terms = frozenset(signature.hashes)
        passed_over = bytes([index for index, number in enumerate(hashes) if number not in terms])
        text = sequence.translate(None, passed_over)
        self._text = list(map(hashes.__getitem__, text))
        self._triples: frozenset[tuple[int, ...]] | None = None
        pairs = set()
        for index, other_index in {*pairwise(text), *zip(text, text[2:], strict=False)}:
            if index != other_index:
                one, other = hashes[index], hashes[other_index]
                pairs.add((one, other) if one < other else (other, one))
        self.pairs = frozenset(pairs)

    def triples(self) -> frozenset[tuple[int, ...]]:
        """Three different key terms in order, each next to the one before or one apart; worked out when asked for."""
        if self._triples is None:
            text, second, third, fourth = self._text, self._text[1:], self._text[2:], self._text[3:]
            near = zip(text, second, third, strict=False), zip(text, second, fourth, strict=False)
            far = zip(text, third, fourth, strict=False), zip(text, third, self._text[4:], strict=False)
            # A word that is repeated is no wording.
            found = {run for run in chain(*near, *far) if run[0] != run[1] != run[2] != run[0]}
            self._triples = frozenset(found)
        return self._triples

    def in_a_row(self, length: int) -> set[tuple[int, ...]]:
        """So many key terms in a row."""
        return set(zip(*(self._text[start:] for start in range(length)), strict=False))


def is_copy(first: Runs, second: Runs) -> bool:
    """Whether two documents are one text told twice; symmetric."""
    common = len(first.pairs & second.pairs)
    if not common:
        return False
    if common * 1000 >= PAIRED_MILLI * min(len(first.pairs), len(second.pairs)):
        return True
    triples, others = first.triples(), second.triples()
    common = len(triples & others)
    if not common:
        # Three in a row are a triple.
        return False
    return common * 1000 >= COPIED_MILLI * min(len(triples), len(others)) or _is_quotation(first, second)


def _is_quotation(first: Runs, second: Runs) -> bool:
    common = len(first.terms & second.terms)
    for length, share_milli, least in QUOTED:
        quoted = len(set(chain.from_iterable(first.in_a_row(length) & second.in_a_row(length))))
        if quoted >= least and quoted * 1000 >= share_milli * common:
            return True
    return False
