"""What a text must hold to speak for a query.

The index finds Chinese, Japanese and Korean by pairs of characters, so that a long question meets passages that
share much of it. A pair ranks; it is no evidence by itself: a text about `所有` (all) does not speak of `所有权`
(ownership). Here the pairs of a run are taken back into the words that were typed.
"""

from __future__ import annotations

from collections.abc import Sequence

from arbor.search.plan import units_of
from arbor.search.query import Query
from arbor.text.analyzer import Unit, match_units, phrase_unit, unspaced_runs
from arbor.text.terms import typed_words

_PAIR = 2


def evidence_units(query: Query, ranked: Sequence[Unit]) -> list[Unit]:
    """The units any of which is evidence.

    Args:
        query: The query.
        ranked: The units that the candidates were ranked by.

    Returns:
        Those of `ranked`, with the pairs of each longer run replaced by the words of the run that hold one of them.
        Runs whose words cannot be told apart keep their pairs.
    """
    pieces: set[Unit] = set()
    typed: set[Unit] = set()
    words: dict[Unit, None] = {}
    for term in query.terms:
        runs = [run for run in unspaced_runs(term.text) if len(run) > _PAIR] if term.kind == "word" else []
        cut: set[Unit] = set()
        for run in runs:
            meant = typed_words(run)
            if meant:
                cut.update(match_units(run))
            words.update((unit, None) for word in meant if (unit := _word_unit(word, ranked)) is not None)
        pieces |= cut
        typed.update(unit for unit in units_of(term) if unit not in cut)
    kept = dict.fromkeys(unit for unit in ranked if unit in typed or unit not in pieces)
    return list(kept | words)


def _word_unit(word: str, ranked: Sequence[Unit]) -> Unit | None:
    """A word as a phrase of its pairs; None where none of them ranked."""
    return phrase_unit(word) if any(unit in ranked for unit in match_units(word)) else None
