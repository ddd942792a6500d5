"""Ranking by a profile: consensus, quality and freshness beside relevance, and the labels that hits carry."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arbor.errors import IntegrityError, UsageError
from arbor.graph.consensus import Consensus
from arbor.graph.desk import ConsensusDesk, parse_label
from arbor.graph.policy import MILLI, PPM
from arbor.graph.standing import CONTESTED
from arbor.index.cache_lock import Told
from arbor.index.reader import Session
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.search.fusion import Ranked, rank_by_relevance
from arbor.search.profiles import RankingProfile
from arbor.search.quality import date_of, freshness_of, quality_of
from arbor.search.results import Score
from arbor.search.retrieval import Candidate

POOL_DOCUMENTS = 100
"""A profile looks at so many of the most relevant documents; what is not relevant is never brought up."""


IDLE_KEPT = 4
"""So many are kept open for searches that run at once."""

NOT_AT_HAND = "labels are not worked out yet; run: arbor consensus"


class LabelDesk:
    """The consensus of a version for searches, kept open from one to the next while the version stays the same.

    Safe from several threads: searches that run at once have one each, so that none is moved or closed under another.
    """

    def __init__(self, repo: Repository) -> None:
        self._desk = ConsensusDesk(repo)
        self._mutex = threading.Lock()
        self._idle: list[Consensus] = []

    @contextlib.contextmanager
    def at(
        self, snapshot: Snapshot, *, required: bool, progress: Told | None = None
    ) -> Iterator[tuple[Consensus | None, str]]:
        """The consensus of a version, or None and why, where it is not `required`.

        It may not be at hand, be damaged, or its policy in `arbor.toml`, which came with a clone, not make sense.
        """
        try:
            held = self._find(snapshot, required=required, progress=progress)
            lack = "" if held else NOT_AT_HAND
        except (IntegrityError, UsageError) as error:
            if required:
                raise
            held, lack = None, f"without labels: {error.message}"
        try:
            yield held, lack
        except BaseException:
            if held is not None:
                held.close()  # it may be what was wrong
            raise
        if held is not None:
            self._keep(held)

    def _find(self, snapshot: Snapshot, *, required: bool, progress: Told | None) -> Consensus | None:
        while (held := self._pop()) is not None:
            if _is_of(held, snapshot):
                return held
            held.close()
        if not required and not self._desk.is_at_hand(snapshot):
            return None
        return self._desk.labels(snapshot, progress)

    def _pop(self) -> Consensus | None:
        with self._mutex:
            return self._idle.pop() if self._idle else None

    def _keep(self, held: Consensus) -> None:
        """Keep what a search is done with for the next one, or close it where there are enough."""
        held.rest()
        with self._mutex:
            if len(self._idle) < IDLE_KEPT:
                self._idle.append(held)
                return
        held.close()

    def mend(self) -> None:
        """Make the consensus anew where what is on disk is damaged."""
        self.close()
        self._desk.mend()

    def distrust(self) -> None:
        """Make the consensus anew at the next search, for what is on disk is damaged."""
        self.close()
        self._desk.distrust()

    def close(self) -> None:
        """Give back what no search is using."""
        while (held := self._pop()) is not None:
            held.close()


def _is_of(consensus: Consensus, snapshot: Snapshot) -> bool:
    """Whether a consensus that was kept is, as it is now, of a version."""
    try:
        consensus.wake()
        return (consensus.ledger_root, consensus.tiers) == (snapshot.ledger_root, snapshot.tiers_word())
    except IntegrityError:
        return False


def label_hooks(consensus: Consensus | None) -> dict[str, Any]:
    """What a search asks of consensus: a document's label, what stands beside it, and who carries which."""
    if consensus is None:
        return {}

    def label_of(oid: bytes) -> str | None:
        label = consensus.label_of_document(oid)
        return None if label is None else label.value

    def documents_labelled(name: str) -> Collection[bytes]:
        if name.upper() == CONTESTED:
            return consensus.documents_contested()
        return consensus.documents_labelled(parse_label(name))

    return {
        "label_of": label_of, "is_contested": consensus.is_contested, "documents_labelled": documents_labelled,
    }  # fmt: skip


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

    @property
    def pool(self) -> int:
        """How many candidates to look at."""
        return POOL_DOCUMENTS

    def __call__(self, candidates: Sequence[Candidate], session: Session) -> list[Ranked]:
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
        dated = (
            document.dated if file is None else date_of(fields)
        )  # the index of files dates them by the clock
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
