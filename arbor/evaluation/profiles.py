"""What a ranking profile does to a collection: relevance metrics beside what it is meant to bring and may cost."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from arbor.evaluation.collections import Collection, CollectionSize, read_judged_collection, size_of
from arbor.evaluation.metrics import Ranking, evaluate
from arbor.evaluation.runner import DEPTH, parse_words, store_collection
from arbor.graph.consensus import Consensus
from arbor.graph.documents import gather_documents
from arbor.index.access import bring_up_to_date
from arbor.index.reader import IndexReader
from arbor.records import dataclass
from arbor.repo.snapshot import Snapshot
from arbor.search.options import SearchOptions
from arbor.search.profiles import DEFAULT, RankingProfile, get_profile
from arbor.search.ranking import ProfileRanker, consensus_share
from arbor.search.results import AuditMode
from arbor.search.searching import Searcher

TOP = 10


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """What one profile gave on one collection.

    Attributes:
        size: What was measured.
        profile: The profile.
        metrics: The standard metrics; `consensus_lift@10`, the mean consensus (0 to 1) of the first ten documents less
            that of all documents; `source_diversity@10`, sources among the first ten that do not copy each other, as a
            share; `known_item_rank_loss`, places by which the first judged document falls behind its place by
            relevance alone, on average (0 where it falls nowhere).
        labels: Documents of the collection by label.
    """

    size: CollectionSize
    profile: str
    metrics: Mapping[str, float]
    labels: Mapping[str, int]


def evaluate_profiles(folder: Path, names: Sequence[str]) -> list[ProfileResult]:
    """Rank the judged queries of a collection by each of these built-in profiles.

    Raises:
        UsageError: when the collection is not in order, or there is no such profile.
    """
    profiles = [get_profile(name) for name in names]
    collection = read_judged_collection(folder)
    with tempfile.TemporaryDirectory(prefix="arbor-eval-") as temporary:
        snapshot = store_collection(Path(temporary) / "packs", collection)
        rows = list(snapshot.paths())
        consensus = Consensus.open(None)
        consensus.rebuild(gather_documents(snapshot, rows))
        with bring_up_to_date(Path(temporary) / "cache", snapshot) as index:
            bench = _Bench(collection, snapshot, index, consensus, rows)
            results = [bench.measure(profile) for profile in profiles]
        consensus.close()
        snapshot.store.close()
    return results


class _Bench:
    """One collection, indexed, with its consensus."""

    def __init__(
        self, collection: Collection, snapshot: Snapshot, index: IndexReader, consensus: Consensus,
        rows: Sequence[tuple[str, bytes]],
    ) -> None:  # fmt: skip
        self._collection = collection
        self._snapshot = snapshot
        self._index = index
        self._consensus = consensus
        self._searcher = Searcher()
        ids = list(collection.documents)
        self._ids = {path: ids[position] for position, (path, _) in enumerate(rows)}
        self._paths = {document: path for path, document in self._ids.items()}
        self._shares = {self._ids[path]: consensus_share(consensus, oid) for path, oid in rows}
        self._plain = self._run(DEFAULT)

    def measure(self, profile: RankingProfile) -> ProfileResult:
        run = self._plain if profile.is_plain else self._run(profile)
        metrics = evaluate(run, self._collection.qrels)
        tops = [ranking[:TOP] for ranking in run.values() if ranking]
        overall = fmean(self._shares.values()) if self._shares else 0.0
        lift = fmean([self._shares[each] for top in tops for each in top] or [overall]) - overall
        metrics[f"consensus_lift@{TOP}"] = lift
        metrics[f"source_diversity@{TOP}"] = fmean([self._sources(top) / len(top) for top in tops] or [0.0])
        metrics["known_item_rank_loss"] = self._rank_loss(run)
        labels = {label.value: number for label, number in self._consensus.counts().items()}
        return ProfileResult(size_of(self._collection), profile.name, metrics, labels)

    def _run(self, profile: RankingProfile) -> dict[str, list[str]]:
        run = {}
        for query in self._collection.qrels:
            parsed = parse_words(self._collection.queries[query])
            if parsed is None:
                continue
            ranker = ProfileRanker(profile, self._snapshot, self._consensus, parsed.text)
            options = SearchOptions(
                mode=AuditMode.VISUAL, limit=DEPTH, ranker=None if profile.is_plain else ranker
            )
            ranked = self._searcher.rank(self._snapshot, self._index, parsed, options)
            run[query] = [self._ids[path] for paths, _ in ranked for path in paths]
        return run

    def _sources(self, top: Sequence[str]) -> int:
        """Documents of a ranking less those that copy, or share their origin with, one before them."""
        seen: set[str] = set()
        sources = 0
        for document in top:
            path = self._paths[document]
            own = [group for group in self._consensus.peers(path) if not group.independent]
            if not any(member in seen for group in own for member in group.members):
                sources += 1
            seen.add(path)
        return sources

    def _rank_loss(self, run: Mapping[str, Ranking]) -> float:
        losses = [
            max(0, _first(run.get(query, ()), judged) - _first(self._plain.get(query, ()), judged))
            for query, judged in self._collection.qrels.items()
        ]
        return fmean(losses) if losses else 0.0


def _first(ranking: Ranking, judged: Mapping[str, int]) -> int:
    """The rank of the first relevant document, from 1; one beyond the depth where there is none."""
    return next((rank for rank, document in enumerate(ranking, 1) if judged.get(document, 0) > 0), DEPTH + 1)
