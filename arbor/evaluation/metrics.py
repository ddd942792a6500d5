"""Retrieval metrics with the semantics of trec_eval, each a pure function of one ranking and its judgements.

A ranking is the document ids of one query, best first. Judgements map document ids to relevance grades; a
grade of zero or less, or none at all, is not relevant. A document that a ranking names twice counts once, at
its first rank. Every metric lies in [0, 1] and is 0.0 for a query without a relevant document.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

Ranking = Sequence[str]
Judgements = Mapping[str, int]
Metric = Callable[[Ranking, Judgements], float]


def ndcg(ranking: Ranking, judgements: Judgements, k: int) -> float:
    """Discounted gain of the first k ranks over that of the best possible ranking, gains linear in the grade.

    Source: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques (TOIS 2002), with the
    log2(rank + 1) discount; trec_eval's ndcg_cut.
    """
    ideal = sorted((grade for grade in judgements.values() if grade > 0), reverse=True)
    best = _discounted_gain(islice(ideal, k))
    return _discounted_gain(islice(_grades(ranking, judgements), k)) / best if best else 0.0


def average_precision(ranking: Ranking, judgements: Judgements) -> float:
    """Mean of the precision at the rank of each relevant document; those that were not found count 0.

    Source: Buckley and Voorhees, Evaluating evaluation measure stability (SIGIR 2000); trec_eval's map.
    """
    found, total = 0, 0.0
    for rank, grade in enumerate(_grades(ranking, judgements), 1):
        if grade > 0:
            found += 1
            total += found / rank
    relevant = _count_relevant(judgements)
    return total / relevant if relevant else 0.0


def recall(ranking: Ranking, judgements: Judgements, k: int) -> float:
    """Share of the relevant documents that are among the first k ranks.

    Source: trec_eval's recall.
    """
    relevant = _count_relevant(judgements)
    found = sum(grade > 0 for grade in islice(_grades(ranking, judgements), k))
    return found / relevant if relevant else 0.0


def reciprocal_rank(ranking: Ranking, judgements: Judgements, k: int | None = None) -> float:
    """One over the rank of the first relevant document; 0.0 where the first k ranks (all, if None) hold none.

    Source: Voorhees, The TREC-8 question answering track report (1999); trec_eval's recip_rank.
    """
    grades = islice(_grades(ranking, judgements), k)
    return next((1 / rank for rank, grade in enumerate(grades, 1) if grade > 0), 0.0)


STANDARD_METRICS: Mapping[str, Metric] = {
    "ndcg@10": lambda ranking, judgements: ndcg(ranking, judgements, 10),
    "map": average_precision,
    "recall@100": lambda ranking, judgements: recall(ranking, judgements, 100),
    "mrr@10": lambda ranking, judgements: reciprocal_rank(ranking, judgements, 10),
}
"""What `arbor eval` reports, by the names it reports them under."""


def evaluate(run: Mapping[str, Ranking], qrels: Mapping[str, Judgements]) -> dict[str, float]:
    """Mean of each of the `STANDARD_METRICS` over every judged query; a query that the run does not answer counts 0.

    Queries without judgements are left out: nothing is known about them. Where no query is judged, each mean
    is 0.0.
    Source: trec_eval -c.
    """
    return {
        name: mean(metric(run.get(query, ()), judgements) for query, judgements in qrels.items())
        for name, metric in STANDARD_METRICS.items()
    }


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean, correctly rounded so that it does not depend on the order; 0.0 of no values."""
    collected = list(values)
    return math.fsum(collected) / len(collected) if collected else 0.0


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least `share` (0 to 1) of the values do not exceed; 0.0 of no values.

    Source: the nearest-rank method (Hyndman and Fan 1996, definition 1): always one of the values measured.
    """
    ordered = sorted(values)
    if not ordered:
        return 0.0
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _grades(ranking: Ranking, judgements: Judgements) -> Iterator[int]:
    return (judgements.get(document, 0) for document in dict.fromkeys(ranking))


def _discounted_gain(grades: Iterable[int]) -> float:
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1) if grade > 0)


def _count_relevant(judgements: Judgements) -> int:
    return sum(grade > 0 for grade in judgements.values())
