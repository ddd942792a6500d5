"""Weighing the signals of a hit into the score that ranks it.

Every signal is brought to 0 ... 1 first. BM25 is divided by the best score of the query, not stretched
between the best and the worst of the pool, so that a hit's value does not depend on how many hits were asked
for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arbor.index.reader import Session
from arbor.search.results import Score, Scores
from arbor.search.retrieval import Candidate


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its signals and the score that ranks it."""

    candidate: Candidate
    score: float
    scores: Scores


def rank_by_relevance(candidates: Sequence[Candidate], _: Session | None = None) -> list[Ranked]:
    """The candidates by their lexical score alone, in the order they come in."""
    best = max((candidate.score for candidate in candidates), default=0.0)
    return [
        Ranked(
            candidate,
            candidate.score,
            Scores(lexical=Score(candidate.score, normalise(candidate.score, best))),
        )
        for candidate in candidates
    ]


def normalise(score: float, best: float) -> float:
    """A score as its share of the best one, 0 ... 1; 0 where nothing matches."""
    return min(1.0, max(0.0, score / best)) if best > 0 else 0.0
