"""`arbor eval`."""

from __future__ import annotations

from typing import Any

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import count
from arbor.evaluation.collections import CollectionSize
from arbor.evaluation.profiles import evaluate_profiles
from arbor.evaluation.runner import evaluate_collection

FIELDS = {
    "collection": "the folder's name",
    "documents": "how many documents were indexed",
    "queries": "how many judged queries were asked",
    "unknown": "judgements that do not fit the collection: `documents`, of documents that are not in it, which nothing "
    "can find, and `queries`, of queries that are not in it, which were left out",
    "metrics": "without --rank, means over these queries, 0 to 1: `ndcg@10`, `map`, `recall@100`, `mrr@10`",
    "latency_ms": "without --rank, `p50` and `p95` of one search, in process",
    "config": "without --rank, everything that decides the ranking",
    "labels": "with --rank: documents by consensus label",
    "profiles": "with --rank: `profile` and `metrics` of each, with `consensus_lift@10`, `source_diversity@10` and "
    "`known_item_rank_loss`",
}


@arbor_command("eval", fields=FIELDS)
@click.argument("folder", metavar="FOLDER", type=click.Path())
@click.option(
    "--rank",
    "profiles",
    multiple=True,
    metavar="PROFILE",
    help="Measure a ranking profile, with what it brings and costs; may be repeated.",
)
@json_option
def command(session: Session, folder: str, profiles: tuple[str, ...], as_json: bool) -> None:
    """Measure search quality on a test collection.

    FOLDER holds corpus.jsonl, queries.jsonl and qrels.tsv (or qrels/test.tsv), as the BEIR collections do; the
    judgements may also have the four columns of TREC. It is indexed in a temporary folder with the defaults; no
    knowledge base is needed or touched.

    With --rank, each profile is measured on the same queries, and beside the metrics stand consensus lift, source
    diversity, and the places that a known item loses against relevance alone.
    """
    if profiles:
        _profiles(session, folder, profiles, as_json)
        return
    result = evaluate_collection(session.from_here(folder))
    out = session.out
    _warn(session, result.size)
    if as_json:
        out.json("eval", {
            **_size_fields(result.size),
            "metrics": dict(result.metrics),
            "latency_ms": dict(result.latency_ms),
            "config": dict(result.config),
        })  # fmt: skip
        return
    asked = count(result.size.queries, "query", "queries")
    out.line(f"{clean_line(result.size.collection)}: {count(result.size.documents, 'document')}, {asked}")
    width = max(map(len, result.metrics))
    for name, value in result.metrics.items():
        out.line(f"  {name.ljust(width)}  {value:.4f}")
    p50, p95 = result.latency_ms["p50"], result.latency_ms["p95"]
    out.line(f"  {'latency'.ljust(width)}  {p50:.1f} ms median, {p95:.1f} ms for 95 %")


def _profiles(session: Session, folder: str, names: tuple[str, ...], as_json: bool) -> None:
    results = evaluate_profiles(session.from_here(folder), names)
    out, size = session.out, results[0].size
    _warn(session, size)
    if as_json:
        rows = [{"profile": result.profile, "metrics": dict(result.metrics)} for result in results]
        out.json("eval", {**_size_fields(size), "labels": dict(results[0].labels), "profiles": rows})
        return
    labels = ", ".join(f"{number:,} {label}" for label, number in results[0].labels.items())
    out.line(f"{clean_line(size.collection)}: {labels}")
    width = max(map(len, results[0].metrics))
    out.line(f"  {''.ljust(width)}  {'  '.join(f'{result.profile:>12}' for result in results)}")
    for name in results[0].metrics:
        out.line(
            f"  {name.ljust(width)}  {'  '.join(f'{result.metrics[name]:>12.4f}' for result in results)}"
        )


def _size_fields(size: CollectionSize) -> dict[str, Any]:
    return {
        "collection": size.collection, "documents": size.documents, "queries": size.queries,
        "unknown": {"documents": size.unknown_documents, "queries": size.unknown_queries},
    }  # fmt: skip


def _warn(session: Session, size: CollectionSize) -> None:
    """Judgements that fit nothing make every number lower, or are about less than one thinks."""
    if size.unknown_documents:
        session.out.warning(
            f"{count(size.unknown_documents, 'judgement')} of documents that are not in the collection: nothing can "
            "find them"
        )
    if size.unknown_queries:
        session.out.warning(
            f"{count(size.unknown_queries, 'judgement')} of queries that are not in the collection: left out"
        )
