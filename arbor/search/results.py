"""What a search gives back: plain frozen values, ready for people, programs and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import NamedTuple

from arbor.records import dataclass
from arbor.repo.distillation.core_binding import CoreOrigin


class AuditMode(StrEnum):
    """How much of a hit is proven, the most first (`docs/concepts/audit-modes.md`)."""

    STRICT = "STRICT"
    HYBRID = "HYBRID"
    VISUAL = "VISUAL"

    def allows(self, label: AuditMode) -> bool:
        """Whether a hit that carries `label` may be shown when this mode was asked for."""
        return _PROOF[label] >= _PROOF[self]


_PROOF = {AuditMode.STRICT: 2, AuditMode.HYBRID: 1, AuditMode.VISUAL: 0}


class Score(NamedTuple):
    """One signal of a hit: as it was measured, and brought to 0 ... 1 so that signals can be weighed."""

    raw: float
    normalised: float


@dataclass(frozen=True, slots=True)
class Scores:
    """The signals of a hit; None where a signal was not in use."""

    lexical: Score | None = None
    dense: Score | None = None
    graph: Score | None = None
    consensus: Score | None = None
    quality: Score | None = None
    freshness: Score | None = None


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Where a passage stands in its document.

    Attributes:
        index: Its number, from 0.
        oid: The chunk, which is the leaf of the document's tree.
        start_line, end_line: First and last line, from 1, of the file (of the extracted text where the file
            is none).
        start_byte, end_byte: Offsets in the same text, the end not included.
    """

    index: int
    oid: bytes
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class PassageHit:
    """One passage of a hit.

    Attributes:
        chunk: Its place; None for a document without passages.
        heading: The path of the headings under which the first match of the snippet stands, outermost first.
        text: The passage as stored, decoded; "" where its bytes are not here.
        snippet: The part of it that answers best, on one line.
        highlights: (start, end) of the matches in `snippet`, in characters.
        line: The line of the first of them, from 1; the first line of the snippet where nothing matches, None for a
            document without passages.
        score: Its own lexical score.
        audit: What is proven of it.
        reasons: Why it carries this label, one sentence each.
    """

    chunk: ChunkPlace | None
    heading: tuple[str, ...]
    text: str
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    line: int | None
    score: float
    audit: AuditMode
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One document among the results, shown by its best passage.

    Attributes:
        rank: From 1.
        path, paths: The first path, and all that hold the same content, in path order; where the query names paths,
            those that it asks for come first.
        document: Its oid; b"" for a file of the work tree that is not committed as it is.
        kind, title: Of the document.
        chunk, heading, text, snippet, highlights, line: As in `PassageHit`, of the best passage.
        score: What the hit is ranked by.
        scores: Each signal.
        label: The consensus label, None where it is not known.
        audit, reasons: What is proven of the hit, and why that much.
        passages: Further passages of the document that match, best first.
        sources: Of a core: the passages that it was made from.
        contested: Whether somebody says that it contradicts another document, or is contradicted by one; False also
            where that is not known.
    """

    rank: int
    path: str
    paths: tuple[str, ...]
    document: bytes
    kind: str
    title: str
    chunk: ChunkPlace | None
    heading: tuple[str, ...]
    text: str
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    line: int | None
    score: float
    scores: Scores
    label: str | None
    audit: AuditMode
    reasons: tuple[str, ...]
    passages: tuple[PassageHit, ...] = ()
    sources: tuple[CoreOrigin, ...] = ()
    contested: bool = False


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to a query.

    Attributes:
        query: As typed.
        mode: The least proof that was asked for.
        ledger_root: The version that was searched.
        rev: The commit that was searched, b"" before the first one and for a stale answer.
        trace: Names this retrieval: the same version, query, mode and hits have the same trace.
        hits: Best first.
        withheld: How many better or equal hits were not shown, by reason.
        more: Whether further documents match, which were not looked at since enough are shown or were withheld.
        stale: Whether the index could not be brought to the version asked for, since the store is damaged, and the
            hits may be of an older one. Only VISUAL answers so.
        notes: What was done to the query, and what of the version could not be searched, one sentence each.
    """

    query: str
    mode: AuditMode
    ledger_root: bytes
    rev: bytes
    trace: str
    hits: tuple[Hit, ...]
    withheld: Mapping[str, int] = field(default_factory=dict)
    more: bool = False
    stale: bool = False
    notes: tuple[str, ...] = ()
