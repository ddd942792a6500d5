"""Finding the right documents: the metrics of the public collections with the default settings."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.benchmarks.harness import ARBOR, MeasurementError, Settings, Table, measure

TITLE = "Retrieval quality"
# What the best plain FTS5 settings reach on each collection.
WANTED_NDCG = {"cranfield": 0.375, "scifact": 0.685, "hotpot100": 0.81, "cmrc2018_zh": 0.98}
METRICS = ("ndcg@10", "map", "recall@100", "mrr@10")


def run(settings: Settings) -> Iterator[Table]:
    """Measure each collection with `arbor eval`."""
    if settings.data is None:
        raise MeasurementError("the public collections are not at hand (set ARBOR_TEST_DATA)")
    rows, data = [], {}
    work = settings.fast / "work"
    work.mkdir()
    for name, wanted in WANTED_NDCG.items():
        sample = measure([(*ARBOR, "eval", str(settings.data / name), "--json")], work)[0]
        report = json.loads(sample.stdout)
        data[name] = report
        values = [report["metrics"][metric] for metric in METRICS]
        kept = f"{'yes' if values[0] >= wanted else 'NO'} (>= {wanted:g})"
        latency = f"{report['latency_ms']['p50']:.1f} ms / {report['latency_ms']['p95']:.1f} ms"
        shown = (f"{value:.4f}" for value in values)
        rows.append((name, str(report["queries"]), *shown, latency, f"{sample.seconds:.1f} s", kept))
    columns = ("collection", "queries", *METRICS, "p50 / p95", "in all", "kept")
    note = "Scores with the semantics of trec_eval; queries are asked as they are, one after the other."
    yield Table("Default settings", columns, tuple(rows), note, data)
