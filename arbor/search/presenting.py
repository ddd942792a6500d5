"""From candidates to hits: each passage read, audited, and shown where it answers best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from arbor.errors import IntegrityError
from arbor.index.reader import Session, inverse_frequency
from arbor.index.tokens import Tokenizer
from arbor.objects.model import Document
from arbor.repo.distillation.core_binding import CoreOrigin, get_derivation, origins_of
from arbor.repo.snapshot import Snapshot, display_title
from arbor.search import audit
from arbor.search.audit import Auditor, ProvenDocument, label_passage
from arbor.search.evidence import evidence_units
from arbor.search.headings import heading_at, heading_in_file
from arbor.search.matching import Matcher, Span
from arbor.search.options import SearchOptions
from arbor.search.plan import RankedUnit, path_condition, title_units, unit_expression
from arbor.search.query import Query
from arbor.search.ranking import Ranked
from arbor.search.results import AuditMode, ChunkPlace, Hit, PassageHit
from arbor.search.retrieval import Candidate
from arbor.search.snippet import Snippet, make_snippet
from arbor.search.work_tree import Content, content_of_file, passage_of_file, paths_asked_first
from arbor.text.analyzer import index_text
from arbor.text.extraction import Extraction

_LOOKED_FURTHER = 12
"""Passages looked at beyond those that are shown, for one that holds a word of the query."""
EVIDENCE_WORDS = 8
HIDDEN = "its file in the work tree is another now"
"""Reason of a document that a file of the work tree stands in for; it is not counted as withheld."""


class _Standing(NamedTuple):
    """What is proven of a hit's document as a whole."""

    committed: bool
    core_problem: str | None


class _Shown(NamedTuple):
    """What a hit says of its document."""

    paths: Sequence[str]
    oid: bytes
    kind: str
    title: str
    label: str | None
    sources: tuple[CoreOrigin, ...] = ()
    contested: bool = False


class HitMaker:
    """Makes the hits of one search."""

    def __init__(
        self,
        snapshot: Snapshot,
        session: Session,
        auditor: Auditor,
        tokenizer: Tokenizer,
        query: Query,
        options: SearchOptions,
    ) -> None:
        self._snapshot = snapshot
        self._session = session
        self._auditor = auditor
        self._tokenizer = tokenizer
        self._query = query
        self._options = options
        self._path_condition = path_condition(query.paths)
        self._cold = snapshot.tiers().cold
        self._audited = options.mode is not AuditMode.VISUAL
        self._units: tuple[RankedUnit, ...] | None = None
        self._matcher = self._evidence_matcher = Matcher((), tokenizer)
        self._weights: dict[int, float] = {}

    def look_for(self, units: tuple[RankedUnit, ...]) -> None:
        """Take the units that the candidates were ranked by.

        They are highlighted and their words are evidence, and so are those that the title must hold.
        """
        if units == self._units:
            return
        self._units = units
        distinct = {unit.unit: unit.frequency for unit in units}
        for unit in title_units(self._query, self._tokenizer):
            distinct.setdefault(unit, self._session.frequency(unit_expression(unit)))
        self._matcher = self._evidence_matcher = Matcher(list(distinct), self._tokenizer)
        if self._audited and not self._query.text.isascii():
            evidence = evidence_units(self._query, list(distinct))
            if evidence != list(distinct):
                self._evidence_matcher = Matcher(evidence, self._tokenizer)
        rows = self._session.statistics().rows
        self._weights = {
            number: inverse_frequency(rows, min(frequency, rows))
            for number, frequency in enumerate(distinct.values())
        }

    def make(self, ranked: Ranked, rank: int, hidden: frozenset[str]) -> tuple[Hit | None, str]:
        """The hit of a candidate, or None and why it is withheld.

        Args:
            ranked: The candidate.
            rank: What it gets.
            hidden: Paths where something else is in the work tree.
        """
        candidate = ranked.candidate
        if candidate.file is not None:
            return self._hit_of_file(ranked, rank, candidate.file), ""
        info = candidate.document
        paths = self._paths_of(info.first, hidden)
        if not paths:
            return None, HIDDEN
        try:
            proven = self._auditor.document(self._snapshot, info.oid)
        except IntegrityError:
            return self._unproven_hit(ranked, rank, paths)
        committed = True
        if self._audited:
            in_ledger, is_damaged = self._committed_paths(paths, info.oid)
            if is_damaged and not in_ledger:
                return None, audit.LEDGER_DAMAGED
            committed, paths = bool(in_ledger), in_ledger or paths
        standing = _Standing(
            committed, self._core_problem(info.oid, proven.document) if self._audited else None
        )
        passages, reason = self._passages(ranked, proven, standing)
        if not passages:
            return None, reason
        hooks = self._options.hooks
        label = hooks.label_of(info.oid) if hooks.label_of else None
        title = display_title(proven.document, paths[0])
        sources = self._origins(proven.document)
        contested = hooks.is_contested is not None and hooks.is_contested(info.oid)
        shown = _Shown(paths, info.oid, proven.document.kind, title, label, sources, contested)
        return _join(ranked, rank, shown, passages), ""

    def content_of(self, candidate: Candidate) -> Content:
        """What the copies of a candidate that was made a hit of agree in with it."""
        if candidate.file is not None:
            return content_of_file(candidate.file)
        try:
            document = self._auditor.document(self._snapshot, candidate.document.oid).document
        except IntegrityError:
            return "", candidate.document.oid
        return document.media_type, document.file_hash

    def _committed_paths(self, paths: Sequence[str], oid: bytes) -> tuple[list[str], bool]:
        """The paths that the ledger proves, and whether a part of the ledger that was needed cannot be read."""
        proven, is_damaged = [], False
        for path in paths:
            try:
                if self._auditor.is_in_ledger(self._snapshot, path, oid):
                    proven.append(path)
            except IntegrityError:
                is_damaged = True
        return proven, is_damaged

    def is_shown(self, ranked: Ranked, hidden: frozenset[str]) -> bool:
        """Whether a candidate is more than what a file of the work tree stands in for."""
        candidate = ranked.candidate
        return candidate.file is not None or bool(self._paths_of(candidate.document.first, hidden))

    def _paths_of(self, first: int, hidden: frozenset[str]) -> list[str]:
        return paths_asked_first(self._session, first, self._path_condition, hidden)

    def _origins(self, document: Document) -> tuple[CoreOrigin, ...]:
        """What a core was made from; nothing for other documents, and where its derivation cannot be read."""
        if document.kind != "core":
            return ()
        try:
            derivation = get_derivation(self._snapshot.store, document)
            return origins_of(self._snapshot.store, derivation, self._snapshot.find_key)
        except IntegrityError:
            return ()

    def _core_problem(self, oid: bytes, document: Document) -> str | None:
        if document.kind != "core":
            return None
        check = self._options.check_core
        return audit.CORE if check is None else check(self._snapshot, oid, document)

    def _passages(
        self, ranked: Ranked, proven: ProvenDocument, standing: _Standing
    ) -> tuple[list[PassageHit], str]:
        """The passages that the mode allows; without any, why the best one is withheld.

        Best first, but those that hold a word of the query before those that stand for their title or path: a short
        passage without the word can score more than a long one with it.
        """
        allowed: list[PassageHit] = []
        reason = ""
        for number, (ordinal, score) in enumerate(ranked.candidate.passages):
            if self._are_enough(allowed, number):
                break
            passage = self._passage(proven, ordinal, score, standing)
            if self._options.mode.allows(passage.audit):
                allowed.append(passage)
            else:
                reason = reason or passage.reasons[-1]
        return self._chosen(allowed), reason

    def _are_enough(self, passages: Sequence[PassageHit], looked_at: int) -> bool:
        """Whether no further passage of a document is to be read."""
        if len(passages) < self._options.passages:
            return False
        looked_further = looked_at >= self._options.passages + _LOOKED_FURTHER
        can_hold_words = self._audited or bool(self._units)
        return looked_further or not can_hold_words or any(map(self._holds_word, passages))

    def _chosen(self, passages: list[PassageHit]) -> list[PassageHit]:
        """Those that are shown: the ones that hold a word before the others."""
        return sorted(passages, key=lambda passage: not self._holds_word(passage))[: self._options.passages]

    def _holds_word(self, passage: PassageHit) -> bool:
        """Whether a passage itself speaks for the query; where nothing is audited, the marks tell."""
        return passage.audit is AuditMode.STRICT if self._audited else bool(passage.highlights)

    def _passage(self, proven: ProvenDocument, ordinal: int, score: float, standing: _Standing) -> PassageHit:
        if ordinal >= len(proven.manifest.passages):
            label, reasons = self._label(standing, audit.NO_TEXT, "")
            return PassageHit(None, (), "", "", (), None, score, label, reasons)
        found = self._auditor.passage(self._snapshot, proven, ordinal, self._cold)
        spans = self._matcher.spans(found.text)
        evidence = self._evidence(found.text, spans) if self._audited else ""
        label, reasons = self._label(standing, found.problem, evidence)
        snippet = make_snippet(found.text, spans, self._weights)
        headings = heading_at(self._snapshot, proven, ordinal, found.text, snippet.at)
        place = proven.place(ordinal, found.text)
        line = _line(place, found.text, snippet)
        return PassageHit(
            place, headings, found.text, snippet.text, snippet.highlights, line, score, label, reasons
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
        if self._query.raw:
            matched = self._tokenizer.matches(index_text(text), [self._query.raw])
        else:
            if self._evidence_matcher is not self._matcher:
                spans = self._evidence_matcher.spans(text)
            matched = self._evidence_matcher.has_match(text, spans)
        if not matched or not spans:
            return "the text matches the query" if matched else ""
        words = dict.fromkeys(" ".join(text[span.start : span.end].split()) for span in spans)
        return "in the text: " + ", ".join(list(words)[:EVIDENCE_WORDS])

    def _unproven_hit(self, ranked: Ranked, rank: int, paths: list[str]) -> tuple[Hit | None, str]:
        """A document that the index knows and the store cannot give."""
        if self._audited:
            return None, audit.DOCUMENT_DAMAGED
        info = ranked.candidate.document
        reasons = (audit.NO_CLAIM, audit.DOCUMENT_DAMAGED)
        passage = PassageHit(None, (), "", "", (), None, ranked.score, AuditMode.VISUAL, reasons)
        return _join(ranked, rank, _Shown(paths, info.oid, info.kind, info.title, None), [passage]), ""

    def _hit_of_file(self, ranked: Ranked, rank: int, file: Extraction) -> Hit:
        passages: list[PassageHit] = []
        for number, (ordinal, score) in enumerate(ranked.candidate.passages):
            if self._are_enough(passages, number):
                break
            text, place = passage_of_file(file, ordinal)
            snippet = make_snippet(text, self._matcher.spans(text), self._weights)
            headings = heading_in_file(file, ordinal, text, snippet.at)
            line, reasons = _line(place, text, snippet), (audit.WORK_TREE,)
            passages.append(
                PassageHit(
                    place, headings, text, snippet.text, snippet.highlights, line, score, AuditMode.VISUAL, reasons,
                )
            )  # fmt: skip
        info = ranked.candidate.document
        shown = _Shown(ranked.candidate.file_paths, b"", info.kind, info.title, None)
        return _join(ranked, rank, shown, self._chosen(passages))


def join_copies(first: Hit, other: Hit) -> Hit:
    """One hit, in place of the first, of a committed document and of copies of it that are not committed.

    The text of a cold document is shown as the copies have it.
    """
    document, beside = (first, other) if first.document else (other, first)
    read = document if document.text else beside
    return replace(
        document,
        rank=first.rank,
        score=first.score,
        scores=first.scores,
        paths=(*document.paths, *beside.paths),
        reasons=(*document.reasons, f"{audit.WORK_TREE}: {', '.join(beside.paths)}"),
        chunk=read.chunk,
        heading=read.heading,
        text=read.text,
        snippet=read.snippet,
        highlights=read.highlights,
        line=read.line,
        passages=read.passages,
    )


def _line(place: ChunkPlace | None, text: str, snippet: Snippet) -> int | None:
    """The line of the first match in a snippet."""
    return place.start_line + text.count("\n", 0, snippet.at) if place is not None else None


def _join(ranked: Ranked, rank: int, shown: _Shown, passages: Sequence[PassageHit]) -> Hit:
    best = passages[0]
    return Hit(
        rank=rank,
        path=shown.paths[0],
        paths=tuple(shown.paths),
        document=shown.oid,
        kind=shown.kind,
        title=shown.title,
        chunk=best.chunk,
        heading=best.heading,
        text=best.text,
        snippet=best.snippet,
        highlights=best.highlights,
        line=best.line,
        score=ranked.score,
        scores=ranked.scores,
        label=shown.label,
        audit=best.audit,
        reasons=best.reasons,
        passages=tuple(passages[1:]),
        sources=shown.sources,
        contested=shown.contested,
    )
