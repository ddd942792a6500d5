"""The search itself: plan, candidates, ranking, audit, and what is shown."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from arbor.errors import IntegrityError, UsageError
from arbor.index.reader import IndexReader, Session, inverse_frequency
from arbor.index.tokens import Tokenizer
from arbor.objects.model import Document
from arbor.repo.snapshot import Snapshot, display_title
from arbor.search import audit
from arbor.search.audit import Auditor, ProvenDocument, label_passage
from arbor.search.fusion import Ranked, rank_by_relevance
from arbor.search.matching import Matcher, Span
from arbor.search.plan import Hooks, Plan, RankedUnit, make_plan
from arbor.search.query import Query, parse_query, parse_raw_query
from arbor.search.results import AuditMode, Hit, PassageHit, SearchResult
from arbor.search.retrieval import Pool, retrieve
from arbor.search.snippet import make_snippet
from arbor.text.analyzer import index_text

MAX_LIMIT = 10_000
EXAMINED_MAX = 5_000
"""Documents looked at when a mode withholds most of them."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search.

    Attributes:
        mode: The least proof that a hit must have.
        limit: Documents to show, 1 ... `MAX_LIMIT`.
        passages: Passages to show of each document, from 1.
        raw: The query is an FTS5 expression.
        now: Seconds since 1970 UTC for `since:30d`; None is the clock.
        check_core: Whether the sources of a core verify; without it no core is STRICT.
        hooks: What other rooms know.
    """

    mode: AuditMode = AuditMode.HYBRID
    limit: int = 10
    passages: int = 3
    raw: bool = False
    now: float | None = None
    check_core: Callable[[bytes, Document], bool] | None = None
    hooks: Hooks = field(default_factory=Hooks)

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_LIMIT:
            raise UsageError(f"the number of results must be 1 to {MAX_LIMIT:,}, not {self.limit}")
        if self.passages < 1:
            raise UsageError(f"the number of passages must be 1 or more, not {self.passages}")


DEFAULT_OPTIONS = SearchOptions()


class Searcher:
    """Asks indexes, and remembers what it has proven and tokenized. Safe from several threads."""

    def __init__(self) -> None:
        self._tokenizer = Tokenizer()
        self._auditor = Auditor()

    def search(
        self,
        snapshot: Snapshot,
        index: IndexReader,
        query: str | Query,
        options: SearchOptions = DEFAULT_OPTIONS,
    ) -> SearchResult:
        """Search one version.

        Args:
            snapshot: The version; hits are proven against its ledger root.
            index: An index of that version.
            query: As typed, or parsed before.
            options: Mode, limits and hooks.

        Raises:
            UsageError: when the query cannot be understood.
            IndexMoved: when the index holds another version by now: open it again and repeat.
            IndexDamaged: when the index is broken: rebuild it and repeat.
        """
        parsed = query if isinstance(query, Query) else parse(query, options)
        with index.session(snapshot.ledger_root) as session:
            plan = make_plan(parsed, session, self._tokenizer, options.hooks)
            view = _View(snapshot, session, self._auditor, self._tokenizer, options, parsed)
            hits, withheld = _collect(view, plan)
        notes = (*plan.notes, *view.notes)
        return SearchResult(
            parsed.text, options.mode, snapshot.ledger_root, b"", _trace_of(snapshot, parsed, options, hits),
            hits, withheld, False, notes,
        )  # fmt: skip


def search(
    snapshot: Snapshot, index: IndexReader, query: str | Query, options: SearchOptions = DEFAULT_OPTIONS
) -> SearchResult:
    """Search once; see `Searcher.search`."""
    return Searcher().search(snapshot, index, query, options)


def parse(text: str, options: SearchOptions = DEFAULT_OPTIONS) -> Query:
    """The query that a text means under these options; raises UsageError."""
    if options.raw:
        return parse_raw_query(text)
    return parse_query(text, time.time() if options.now is None else options.now)


def _collect(view: _View, plan: Plan) -> tuple[tuple[Hit, ...], dict[str, int]]:
    """The hits that may be shown, and the reasons of those passed over on the way, counted."""
    limit = view.options.limit
    wanted = limit
    while True:
        pool = retrieve(view.session, view.query, plan, wanted)
        view.use(pool, plan)
        shown: list[Hit] = []
        withheld: Counter[str] = Counter()
        for ranked in rank_by_relevance(pool.candidates):
            hit, reason = view.hit(ranked, len(shown) + 1)
            if hit is None:
                withheld[reason] += 1
            else:
                shown.append(hit)
            if len(shown) == limit:
                break
        if len(shown) == limit or pool.complete or wanted >= EXAMINED_MAX:
            return tuple(shown), dict(sorted(withheld.items()))
        wanted *= 4


class _Standing(NamedTuple):
    """What is proven of a hit's document as a whole."""

    committed: bool
    core_problem: bool


class _View:
    """One search under way: turns candidates into hits."""

    def __init__(
        self, snapshot: Snapshot, session: Session, auditor: Auditor, tokenizer: Tokenizer,
        options: SearchOptions, query: Query,
    ) -> None:  # fmt: skip
        self.snapshot = snapshot
        self.session = session
        self.options = options
        self.query = query
        self.notes: list[str] = []
        self._auditor = auditor
        self._tokenizer = tokenizer
        self._audited = options.mode is not AuditMode.VISUAL
        self._units: tuple[RankedUnit, ...] | None = None
        self._matcher = Matcher((), tokenizer)
        self._weights: dict[int, float] = {}
        self._hits: dict[bytes, tuple[Hit | None, str]] = {}

    def use(self, pool: Pool, plan: Plan) -> None:
        """Take the units that this pool was ranked by."""
        if pool.units == self._units:
            return
        self._units = pool.units
        if pool.units and pool.units == plan.fallback:
            self.notes.append("nothing holds the telling words of the query: its common words were used")
        distinct = {unit.unit: unit.frequency for unit in pool.units}
        self._matcher = Matcher(list(distinct), self._tokenizer)
        rows = self.session.statistics().rows
        self._weights = {
            number: inverse_frequency(rows, frequency) for number, frequency in enumerate(distinct.values())
        }

    def hit(self, ranked: Ranked, rank: int) -> tuple[Hit | None, str]:
        """The hit of a candidate, or None and why it is withheld."""
        oid = ranked.candidate.document.oid
        known = self._hits.get(oid)
        if known is None:
            known = self._hits[oid] = self._make_hit(ranked, rank)
        hit, reason = known
        return (replace(hit, rank=rank) if hit is not None and hit.rank != rank else hit), reason

    def _make_hit(self, ranked: Ranked, rank: int) -> tuple[Hit | None, str]:
        info = ranked.candidate.document
        paths = self.session.paths_of(info.first)
        try:
            proven = self._auditor.document(self.snapshot, info.oid)
        except IntegrityError:
            return self._unproven_hit(ranked, rank, paths)
        committed = True
        if self._audited:
            in_ledger = [path for path in paths if self._auditor.is_in_ledger(self.snapshot, path, info.oid)]
            committed, paths = bool(in_ledger), in_ledger or paths
        standing = _Standing(committed, self._audited and self._has_core_problem(info.oid, proven.document))
        passages, reason = self._passages(ranked, proven, standing)
        if not passages:
            return None, reason
        return self._assemble(ranked, rank, paths, proven.document, passages), ""

    def _has_core_problem(self, oid: bytes, document: Document) -> bool:
        check = self.options.check_core
        return document.kind == "core" and not (check is not None and check(oid, document))

    def _passages(
        self, ranked: Ranked, proven: ProvenDocument, standing: _Standing
    ) -> tuple[list[PassageHit], str]:
        """The passages that the mode allows, best first; without any, why the best one is withheld."""
        allowed: list[PassageHit] = []
        reason = ""
        for ordinal, score in ranked.candidate.passages:
            if len(allowed) == self.options.passages:
                break
            passage = self._passage(proven, ordinal, score, standing)
            if self.options.mode.allows(passage.audit):
                allowed.append(passage)
            else:
                reason = reason or passage.reasons[-1]
        return allowed, reason

    def _passage(self, proven: ProvenDocument, ordinal: int, score: float, standing: _Standing) -> PassageHit:
        if ordinal >= len(proven.manifest.passages):
            label, reasons = self._label(standing, audit.NO_TEXT, "")
            return PassageHit(None, (), "", "", (), score, label, reasons)
        found = self._auditor.passage(self.snapshot, proven, ordinal)
        spans = self._matcher.spans(found.text)
        evidence = self._evidence(found.text, spans) if self._audited else ""
        label, reasons = self._label(standing, found.problem, evidence)
        snippet = make_snippet(found.text, spans, self._weights)
        headings = tuple(proven.manifest.passages[ordinal].headings)
        place = proven.place(ordinal, found.text)
        return PassageHit(
            place, headings, found.text, snippet.text, snippet.highlights, score, label, reasons
        )

    def _label(self, standing: _Standing, problem: str, evidence: str) -> tuple[AuditMode, tuple[str, ...]]:
        if not self._audited:
            return AuditMode.VISUAL, (audit.NO_CLAIM, *([problem] if problem else []))
        return label_passage(
            committed=standing.committed,
            problem=problem,
            evidence=evidence,
            core_problem=standing.core_problem,
        )

    def _evidence(self, text: str, spans: Sequence[Span]) -> str:
        """What in the text speaks for the query, in words; "" where nothing does."""
        if spans:
            words = dict.fromkeys(" ".join(text[span.start : span.end].split()) for span in spans)
            return "in the text: " + ", ".join(list(words)[:8])
        if self.query.raw:
            matched = self._tokenizer.matches(index_text(text), [self.query.raw])
        else:
            matched = self._matcher.has_match(text)
        return "the text matches the query" if matched else ""

    def _unproven_hit(self, ranked: Ranked, rank: int, paths: list[str]) -> tuple[Hit | None, str]:
        """A document that the index knows and the store cannot give."""
        if self._audited:
            return None, audit.DOCUMENT_DAMAGED
        info = ranked.candidate.document
        passage = PassageHit(
            None, (), "", "", (), ranked.score, AuditMode.VISUAL, (audit.NO_CLAIM, audit.DOCUMENT_DAMAGED)
        )
        return _join(ranked, rank, _Shown(paths, info.kind, info.title, None), [passage]), ""

    def _assemble(
        self, ranked: Ranked, rank: int, paths: list[str], document: Document, passages: list[PassageHit]
    ) -> Hit:
        label_of = self.options.hooks.label_of
        label = label_of(ranked.candidate.document.oid) if label_of else None
        shown = _Shown(paths, document.kind, display_title(document, paths[0]), label)
        return _join(ranked, rank, shown, passages)


class _Shown(NamedTuple):
    """What a hit says of its document."""

    paths: list[str]
    kind: str
    title: str
    label: str | None


def _join(ranked: Ranked, rank: int, shown: _Shown, passages: list[PassageHit]) -> Hit:
    best = passages[0]
    return Hit(
        rank=rank,
        path=shown.paths[0],
        paths=tuple(shown.paths),
        document=ranked.candidate.document.oid,
        kind=shown.kind,
        title=shown.title,
        chunk=best.chunk,
        heading=best.heading,
        text=best.text,
        snippet=best.snippet,
        highlights=best.highlights,
        score=ranked.score,
        scores=ranked.scores,
        label=shown.label,
        audit=best.audit,
        reasons=best.reasons,
        passages=tuple(passages[1:]),
    )


def _trace_of(snapshot: Snapshot, query: Query, options: SearchOptions, hits: Sequence[Hit]) -> str:
    """The same version, query, mode and hits have the same trace."""
    hasher = hashlib.sha256(snapshot.ledger_root)
    hasher.update(f"\0{options.mode.value}\0{query.text}\0".encode("utf-8", "surrogatepass"))
    for hit in hits:
        hasher.update(hit.document)
    return hasher.hexdigest()[:16]
