"""Candidates: the passages that match, gathered into documents, in an order that depends on content alone."""

from __future__ import annotations

from collections.abc import Sequence

from arbor.errors import UsageError
from arbor.index.reader import BadExpression, DocumentInfo, Found, Session
from arbor.records import dataclass
from arbor.search.plan import Plan, RankedUnit
from arbor.search.query import Query
from arbor.text.extraction import Extraction

COLUMN_WEIGHTS = (4.0, 2.0, 2.0, 1.0)
"""BM25 weights of title, heading, path and body (`docs/design/search-settings.md`)."""
ROWS_PER_DOCUMENT = 3
EXTRA_ROWS = 20
GROWTH = 4
MAX_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that matches.

    Attributes:
        document: As the index has it.
        score: Of its best passage.
        passages: Matching passages, best first: (ordinal, BM25).
        file: What was read from the work tree, where the document is a file that is not committed.
        file_paths: Of all files there that have this content, those that the query asks for first.
    """

    document: DocumentInfo
    score: float
    passages: tuple[tuple[int, float], ...]
    file: Extraction | None = None
    file_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates, best first.

    Attributes:
        candidates: Every document that belongs among the first ones, none of a lower place missing before it.
        complete: Whether these are all that there are.
        units: The units that were ranked by.
    """

    candidates: tuple[Candidate, ...]
    complete: bool
    units: tuple[RankedUnit, ...]


def retrieve(session: Session, query: Query, plan: Plan, documents: int) -> Pool:
    """At least the best `documents` documents, or all that match.

    Documents are ranked by their best passage; equal ones by path. The cut after a number of rows could split
    rows of equal score by their row number, which depends on history; so rows of the last score count only
    when there are no more rows behind them, and otherwise more are asked for.
    """
    if not query.has_words:
        return _list_all(session, plan, documents)
    if query.raw:
        return _retrieve_ranked(session, query.raw, plan, (), documents, raw=True)
    pool = Pool((), True, ())
    for units in (plan.units, plan.fallback):
        if units and not pool.candidates:
            expression = " OR ".join(unit.expression for unit in units)
            pool = _retrieve_ranked(session, expression, plan, units, documents)
    return pool


def _retrieve_ranked(
    session: Session,
    expression: str,
    plan: Plan,
    units: tuple[RankedUnit, ...],
    documents: int,
    *,
    raw: bool = False,
) -> Pool:
    limit = ROWS_PER_DOCUMENT * documents + EXTRA_ROWS
    while True:
        rows = _match(session, expression, plan, limit, raw=raw)
        complete = len(rows) < limit
        settled = rows if complete else _without_last_score(rows)
        if complete or len(settled) >= documents or limit >= MAX_ROWS:
            candidates = group_rows(session, settled)
            if complete or len(candidates) >= documents or limit >= MAX_ROWS:
                return Pool(candidates, complete, units)
        limit *= GROWTH


def _match(session: Session, expression: str, plan: Plan, limit: int, *, raw: bool) -> list[Found]:
    try:
        return session.match(expression, COLUMN_WEIGHTS, plan.filters, limit)
    except BadExpression as error:
        if not raw:
            raise
        raise UsageError(
            f"the raw query is not a full-text expression: {error}",
            "leave out --raw to search for plain words",
        ) from error


def _without_last_score(rows: list[Found]) -> list[Found]:
    last = rows[-1].score
    return [found for found in rows if found.score != last]


def group_rows(session: Session, rows: Sequence[Found]) -> tuple[Candidate, ...]:
    """The rows by document, best first; equal documents by path, equal passages by place."""
    documents = session.documents_of([found.row for found in rows])
    grouped: dict[int, list[tuple[int, float]]] = {}
    infos: dict[int, DocumentInfo] = {}
    for row, score in rows:
        info = documents[row]
        infos[info.first] = info
        grouped.setdefault(info.first, []).append((row - info.first, score))
    candidates = []
    for first, passages in grouped.items():
        passages.sort(key=lambda passage: (-passage[1], passage[0]))
        candidates.append(Candidate(infos[first], passages[0][1], tuple(passages)))
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.document.path))
    return tuple(candidates)


def _list_all(session: Session, plan: Plan, documents: int) -> Pool:
    """Without words: the documents that meet the conditions, by path, each with its first passage."""
    rows = session.list_documents(plan.filters, documents)
    infos = session.documents_of(rows)
    candidates = tuple(Candidate(infos[row], 0.0, ((0, 0.0),)) for row in rows)
    return Pool(candidates, len(rows) < documents, ())
