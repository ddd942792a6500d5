"""How candidates are ranked: each signal measured from 0 to 1, and weighed into the score of a hit.

BM25 is divided by the best score of the query, not stretched between the best and the worst of the pool, so that a
hit's value does not depend on how many hits were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from arbor.errors import IntegrityError
from arbor.graph.consensus import Consensus
from arbor.graph.policy import MILLI, PPM
from arbor.index.dates import find_date
from arbor.index.reader import Session
from arbor.records import dataclass
from arbor.repo.snapshot import Snapshot
from arbor.search.profiles import RankingProfile
from arbor.search.quality import freshness_of, quality_of
from arbor.search.results import Score, Scores
from arbor.search.retrieval import Candidate

POOL_DOCUMENTS = 100
"""A profile looks at so many of the most relevant documents; what is not relevant is never brought up."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its signals and the score that ranks it."""

    candidate: Candidate
    score: float
    scores: Scores


def rank_by_relevance(candidates: Sequence[Candidate]) -> list[Ranked]:
    """The candidates by their lexical score alone, in the order they come in."""
    # Scores are never negative; all are 0 where the query has no words.
    best = max((candidate.score for candidate in candidates), default=0.0) or 1.0
    return [
        Ranked(each, each.score, Scores(lexical=Score(each.score, each.score / best))) for each in candidates
    ]


@dataclass(frozen=True, slots=True)
class ProfileRanker:
    """Ranks candidates by a profile.

    score = relevance w_r + consensus w_c + quality w_q + freshness w_f, each signal from 0 to 1 (Ripple Consensus,
    fusion profile). A document whose title or name is the query itself is what was asked for: nothing passes it.

    Attributes:
        profile: The weights.
        snapshot: The version that is searched.
        consensus: Its consensus; None gives every document 0.
        query: As typed.
    """

    profile: RankingProfile
    snapshot: Snapshot
    consensus: Consensus | None
    query: str

    def rank(self, candidates: Sequence[Candidate], session: Session) -> list[Ranked]:
        """The candidates, best first; ties by path.

        Age is counted back from the newest date of the version, so that the same documents rank the same at any time.
        """
        newest = session.newest_date()
        asked_for = " ".join(self.query.casefold().split()).strip('"')
        weighed = [self._weigh(ranked, newest) for ranked in rank_by_relevance(candidates)]
        return sorted(
            weighed, key=lambda r: (not _is_item(r.candidate, asked_for), -r.score, r.candidate.document.path)
        )

    def _weigh(self, ranked: Ranked, newest: int | None) -> Ranked:
        document, file, profile = ranked.candidate.document, ranked.candidate.file, self.profile
        relevance = ranked.scores.lexical.normalised if ranked.scores.lexical else 0.0
        consensus = self._consensus_score(document.oid) if file is None else Score(0.0, 0.0)
        fields = self._fields(document.oid) if file is None else file.front_matter
        quality = quality_of(fields, document.kind)
        # The index of the work tree's files dates them by the clock, so a file's own date is read from its text.
        dated = document.dated if file is None else find_date(fields)
        freshness = Score(float(dated or 0), freshness_of(dated, newest, profile.half_life_days))
        score = (
            profile.relevance * relevance + profile.consensus * consensus.normalised
            + profile.quality * quality + profile.freshness * freshness.normalised
        )  # fmt: skip
        scores = replace(
            ranked.scores, consensus=consensus, quality=Score(quality, quality), freshness=freshness
        )
        return Ranked(ranked.candidate, score, scores)

    def _consensus_score(self, oid: bytes) -> Score:
        if self.consensus is None:
            return Score(0.0, 0.0)
        return Score(self.consensus.score_of_document(oid) / PPM, consensus_share(self.consensus, oid))

    def _fields(self, oid: bytes) -> Mapping[str, Any]:
        """The document's own fields; none where it cannot be read, which the audit of the hit tells."""
        try:
            return self.snapshot.document(oid).front_matter
        except IntegrityError:
            return {}


def consensus_share(consensus: Consensus, oid: bytes) -> float:
    """Consensus from 0 to 1: full where as many wholly similar groups as CORROBORATED needs reach the document."""
    policy = consensus.policy
    full = policy.corroborated_from * policy.lambda_milli * PPM // MILLI
    return min(1.0, consensus.score_of_document(oid) / full)


def _is_item(candidate: Candidate, asked_for: str) -> bool:
    """Whether a document is the very item that the query names."""
    document = candidate.document
    stem = document.path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    names = (document.title, document.path, stem, stem.replace("-", " ").replace("_", " "))
    return bool(asked_for) and any(" ".join(name.casefold().split()) == asked_for for name in names)
