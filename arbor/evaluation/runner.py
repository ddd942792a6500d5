"""Running a test collection through the search that people use, and measuring what comes back."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from arbor.errors import UsageError
from arbor.evaluation.collections import Collection, CollectionSize, read_judged_collection, size_of
from arbor.evaluation.metrics import evaluate, percentile
from arbor.index.access import bring_up_to_date
from arbor.index.reader import IndexReader
from arbor.index.schema import stamp_of
from arbor.objects import ledger
from arbor.objects.ids import Kind
from arbor.records import dataclass
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.staging.ingest import store_extraction
from arbor.search.options import SearchOptions
from arbor.search.plan import COMMON_SHARE
from arbor.search.query import Query, parse_plain_query
from arbor.search.results import AuditMode
from arbor.search.retrieval import COLUMN_WEIGHTS
from arbor.search.searching import Searcher
from arbor.store.odb import ObjectStore
from arbor.text.reading import extract_text

DEPTH = 100
"""Documents asked for with each query: what recall@100 needs."""
TIMED_QUERIES = 300
"""Searches that are timed, spread over the collection."""
_PATH = "{:08d}.txt"


@dataclass(frozen=True, slots=True)
class EvalResult:
    """What a run gave.

    Attributes:
        size: What was measured.
        metrics: Mean of each metric of `STANDARD_METRICS` over the judged queries, 0 ... 1.
        latency_ms: `p50` and `p95` of a search for ten documents as people ask for it, in process, warm.
        config: Everything that decides the ranking.
    """

    size: CollectionSize
    metrics: Mapping[str, float]
    latency_ms: Mapping[str, float]
    config: Mapping[str, Any] = field(default_factory=dict)


def evaluate_collection(folder: Path) -> EvalResult:
    """Index a collection in a folder of its own and ask all its judged queries.

    Every document becomes a plain text document with the collection's title, read and indexed as any other. A query
    is plain words: what would be a field or a sign of the query language in it is looked for as text. Nothing is
    withheld.

    Args:
        folder: In the shape of BEIR (`collections`).

    Raises:
        UsageError: when the collection is not in order, or holds nothing to ask.
    """
    collection = read_judged_collection(folder)
    with tempfile.TemporaryDirectory(prefix="arbor-eval-") as temporary:
        return _evaluate_in(Path(temporary), collection)


def _evaluate_in(work_folder: Path, collection: Collection) -> EvalResult:
    ids = {_PATH.format(number): document for number, document in enumerate(collection.documents)}
    snapshot = store_collection(work_folder / "packs", collection)
    with bring_up_to_date(work_folder / "cache", snapshot) as index:
        run, seconds = _run_queries(snapshot, index, collection, ids)
    snapshot.store.close()
    return EvalResult(
        size_of(collection),
        evaluate(run, collection.qrels),
        {"p50": 1000 * percentile(seconds, 0.50), "p95": 1000 * percentile(seconds, 0.95)},
        {
            "analyzer": stamp_of(b"").analyzer,
            "column_weights": list(COLUMN_WEIGHTS),
            "common_share": COMMON_SHARE,
            "depth": DEPTH,
            "mode": AuditMode.VISUAL.value,
        },
    )


def store_collection(packs_folder: Path, collection: Collection) -> Snapshot:
    """Keep the documents of a collection as objects, under numbered names in the order of the collection."""
    packs_folder.mkdir(parents=True, exist_ok=True)
    store = ObjectStore(packs_folder)
    with store.writer() as writer:
        entries = []
        for number, document in enumerate(collection.documents.values()):
            extraction = extract_text(document.text, document.title)
            oid = store_extraction(writer, extraction, document.text.encode())
            entries.append((DOCUMENTS + _PATH.format(number), oid))

        def keep_node(oid: bytes, data: bytes) -> None:
            writer.add(Kind.NODE, data, oid)

        root = ledger.build(entries, keep_node)
    return Snapshot(store, root)


def _run_queries(
    snapshot: Snapshot, index: IndexReader, collection: Collection, ids: Mapping[str, str]
) -> tuple[dict[str, list[str]], list[float]]:
    """The ranking of each judged query as document ids, and how long some of them took, in seconds."""
    searcher = Searcher()
    queries = {
        query: parsed for query in collection.qrels if (parsed := parse_words(collection.queries[query]))
    }
    deep = SearchOptions(mode=AuditMode.VISUAL, limit=DEPTH)
    run = {
        query: [ids[path] for paths, _ in searcher.rank(snapshot, index, parsed, deep) for path in paths]
        for query, parsed in queries.items()
    }
    seconds = []
    every = max(1, len(queries) // TIMED_QUERIES)
    for parsed in list(queries.values())[::every]:
        started = time.perf_counter()
        searcher.search(snapshot, index, parsed, SearchOptions(mode=AuditMode.VISUAL))
        seconds.append(time.perf_counter() - started)
    return run, seconds


def parse_words(text: str) -> Query | None:
    """The query as plain words; None where it has none, which finds nothing."""
    try:
        return parse_plain_query(text)
    except UsageError:
        return None
