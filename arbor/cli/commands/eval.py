"""`arbor eval`."""

from __future__ import annotations

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import count
from arbor.evaluation.runner import evaluate_collection

FIELDS = {
    "collection": "the folder's name",
    "documents": "how many documents were indexed",
    "queries": "how many judged queries were asked",
    "metrics": "means over these queries, 0 to 1: `ndcg@10`, `map`, `recall@100`, `mrr@10`",
    "latency_ms": "`p50` and `p95` of one search, in process",
    "config": "everything that decides the ranking",
}


@arbor_command("eval", fields=FIELDS)
@click.argument("folder", metavar="FOLDER", type=click.Path())
@json_option
def command(session: Session, folder: str, as_json: bool) -> None:
    """Measure search quality on a test collection.

    FOLDER holds corpus.jsonl, queries.jsonl and qrels.tsv (or qrels/test.tsv), as the BEIR collections do. It
    is indexed in a temporary folder with the defaults; no knowledge base is needed or touched.
    """
    result = evaluate_collection(session.from_here(folder))
    out = session.out
    if as_json:
        out.json("eval", {
            "collection": result.collection,
            "documents": result.documents,
            "queries": result.queries,
            "metrics": dict(result.metrics),
            "latency_ms": dict(result.latency_ms),
            "config": dict(result.config),
        })  # fmt: skip
        return
    asked = count(result.queries, "query", "queries")
    out.line(f"{clean_line(result.collection)}: {count(result.documents, 'document')}, {asked}")
    width = max(map(len, result.metrics))
    for name, value in result.metrics.items():
        out.line(f"  {name.ljust(width)}  {value:.4f}")
    p50, p95 = result.latency_ms["p50"], result.latency_ms["p95"]
    out.line(f"  {'latency'.ljust(width)}  {p50:.1f} ms median, {p95:.1f} ms for 95 %")
