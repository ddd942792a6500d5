"""How search results look, to people and to programs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from arbor.cli.output import Output
from arbor.cli.safe_text import ELLIPSIS, cell_width, clean_line, clean_words, pad, quote_path, truncate, wrap
from arbor.cli.session import Session
from arbor.cli.views import LABEL_STYLES, count, origin_fields, short
from arbor.errors import first_of
from arbor.lazy import lazy_pattern

if TYPE_CHECKING:
    from arbor.search.results import ChunkPlace, Hit, PassageHit, Score, Scores, SearchResult

AUDIT_STYLES = {"STRICT": "green", "HYBRID": "yellow", "VISUAL": "dim"}
_MAX_SNIPPET_LINES = 4
_MAX_PATHS = 3
_MARKDOWN_HEADING = lazy_pattern("#{1,6} +")
_HEADING_ENDS = lazy_pattern(r"(?:(?: *\{:? *[#.][^{}]*\})?(?: [ #]*+)?(?<!\S)|\Z)")
"""A name that the heading was given, as in `{#name}`, and closing hashes; no word goes on after it."""
_NOT_SHOWN = lazy_pattern(r"\[\[[^\[\]|]*+\||\]\([^()]*+\)|</?[A-Za-z][^<>]*+>|[\\*_`!\[\]]")
"""What can stand before any character of a heading that is shown without its markup: escapes, emphasis, links, tags."""
Marks = tuple[tuple[int, int], ...]


def result_fields(result: SearchResult) -> dict[str, Any]:
    """A search result for `--json`."""
    return {
        "query": result.query,
        "mode": result.mode.value,
        "rev": result.rev.hex() or None,
        "ledger_root": result.ledger_root.hex(),
        "trace": result.trace,
        "hits": [_hit_fields(hit) for hit in result.hits],
        "withheld": {"count": sum(result.withheld.values()), "reasons": dict(result.withheld)},
        "more": result.more,
        "stale": result.stale,
        "notes": list(result.notes),
    }


def _hit_fields(hit: Hit) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "path": hit.path,
        "paths": list(hit.paths),
        "document": hit.document.hex() or None,
        "kind": hit.kind,
        "title": hit.title,
        "chunk": _chunk_fields(hit.chunk),
        "heading": list(hit.heading),
        "text": hit.text,
        "snippet": hit.snippet,
        "highlights": [list(mark) for mark in hit.highlights],
        "line": hit.line,
        "score": hit.score,
        "scores": _score_fields(hit.scores),
        "label": hit.label,
        "contested": hit.contested,
        "audit": hit.audit.value,
        "reasons": list(hit.reasons),
        "sources": [origin_fields(origin) for origin in hit.sources],
        "passages": [_passage_fields(passage) for passage in hit.passages],
    }


def _passage_fields(passage: PassageHit) -> dict[str, Any]:
    return {
        "chunk": _chunk_fields(passage.chunk),
        "heading": list(passage.heading),
        "text": passage.text,
        "snippet": passage.snippet,
        "highlights": [list(mark) for mark in passage.highlights],
        "line": passage.line,
        "score": passage.score,
        "audit": passage.audit.value,
        "reasons": list(passage.reasons),
    }


def _chunk_fields(chunk: ChunkPlace | None) -> dict[str, Any] | None:
    if chunk is None:
        return None
    return {
        "index": chunk.index,
        "oid": chunk.oid.hex(),
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "start_byte": chunk.start_byte,
        "end_byte": chunk.end_byte,
    }


def _score_fields(scores: Scores) -> dict[str, Any]:
    return {
        name: None if score is None else {"raw": score.raw, "normalised": score.normalised}
        for name, score in _signals(scores)
    }


def _signals(scores: Scores) -> Iterator[tuple[str, Score | None]]:
    for field in dataclasses.fields(scores):
        yield field.name, getattr(scores, field.name)


def porcelain_line(hit: Hit) -> str:
    """A hit as fields between tabs: rank, audit, score, path, first and last line, title."""
    lines = (str(hit.chunk.start_line), str(hit.chunk.end_line)) if hit.chunk else ("", "")
    score = f"{hit.score:.6f}"
    return "\t".join(
        [str(hit.rank), hit.audit.value, score, quote_path(hit.path), *lines, clean_words(hit.title)]
    )


def hit_lines(
    session: Session, hit: Hit, rank_cells: int, passages: int, *, explain: bool = False
) -> Iterator[str]:
    """A hit for people: where it is, what it is called, and what it says.

    Args:
        session: The run.
        hit: The hit.
        rank_cells: Width of the largest rank.
        passages: How many passages to quote; the others are named by their lines.
        explain: Also every signal and reason.
    """
    out = session.out
    indent = " " * (rank_cells + 2)
    line = f":{hit.line}" if hit.line else ""
    place = f"{session.shown(hit.path)}{line}"
    labels = [(hit.audit.value, AUDIT_STYLES[hit.audit.value])]
    if hit.contested:
        labels.insert(0, ("CONTESTED", "red"))
    if hit.label:
        labels.insert(0, (clean_line(hit.label), LABEL_STYLES.get(hit.label, "bold")))
    right = " ".join(out.style(text, style) for text, style in labels)
    right_cells = sum(cell_width(text) + 1 for text, _ in labels)
    rank = out.style(f"{hit.rank:>{rank_cells}}.", "dim")
    heading, heading_cells = _heading(hit.title, hit.heading), out.width - len(indent)
    if cell_width(place) + right_cells <= heading_cells:
        yield f"{rank} {out.style(place, 'bold')}{' ' * (heading_cells - cell_width(place) - right_cells + 1)}{right}"
        yield from [indent + out.style(truncate(heading, heading_cells), "cyan")] if heading else []
    else:  # a path is never cut, so that it can be copied: the labels go to the next line
        yield f"{rank} {out.style(place, 'bold')}"
        shown = pad(truncate(heading, heading_cells - right_cells), heading_cells - right_cells)
        yield f"{indent}{out.style(shown, 'cyan')} {right}"
    yield from _quote(out, indent, hit)
    if explain:
        yield from _explanation(out, indent, hit)
    elif hit.audit.value == "HYBRID":
        yield from _aside(out, indent, f"partly proven: {clean_line('; '.join(hit.reasons))}")
    yield from _origins(session, indent, hit)
    for passage in hit.passages[: passages - 1]:
        yield from _further(out, indent, hit, passage)
    yield from _named(session, indent, hit, passages)


def _explanation(out: Output, indent: str, hit: Hit) -> Iterator[str]:
    """What the hit is ranked by, and why it carries its label."""
    named = [
        f"{name} {score.raw:.3f} ({score.normalised:.2f})"
        for name, score in _signals(hit.scores)
        if score is not None
    ]
    lines = [f"score {hit.score:.4f} from {', '.join(named)}"]
    lines += [f"{hit.audit.value} because {clean_line(reason)}" for reason in hit.reasons]
    for line in lines:
        yield from _aside(out, indent, line)


def _aside(out: Output, indent: str, text: str) -> Iterator[str]:
    """A remark on a hit, broken to the width."""
    for start, end in wrap(text, out.width - len(indent)):
        yield indent + out.style(text[start:end].rstrip(), "dim")


def _further(out: Output, indent: str, hit: Hit, passage: PassageHit) -> Iterator[str]:
    """One more passage of the same document."""
    line = f":{passage.line}" if passage.line else ""
    heading = truncate(_heading(hit.title, passage.heading), out.width - len(indent) - len(line) - 2)
    yield f"{indent}{out.style(line, 'bold')}  {out.style(heading, 'cyan')}".rstrip()
    yield from _quote(out, indent, passage)


def _named(session: Session, indent: str, hit: Hit, passages: int) -> Iterator[str]:
    """The passages that are not quoted and the other paths of the same content."""
    out = session.out
    lines = sorted(
        (passage.line, f" ({passage.audit.value})" if passage.audit is not hit.audit else "")
        for passage in hit.passages[passages - 1 :]
        if passage.line
    )
    if lines:
        named = ", ".join(f"{line}{label}" for line, label in lines)
        yield from _aside(out, indent, f"also at line{'s' if len(lines) > 1 else ''} {named}")
    others = [path for path in hit.paths if path != hit.path]
    if others:
        yield indent + out.style(f"the same as {_some(session, others)}", "dim")


def _origins(session: Session, indent: str, hit: Hit) -> Iterator[str]:
    """What a core was made from, and whether that has changed since."""
    documents = {origin.path: origin.changed for origin in hit.sources}
    if not documents:
        return
    yield indent + session.out.style(f"made from {_some(session, list(documents))}", "dim")
    changed = [path for path, is_changed in documents.items() if is_changed]
    if changed:
        yield indent + session.out.style(f"stale, changed since: {_some(session, changed)}", "yellow")


def _some(session: Session, paths: Sequence[str]) -> str:
    """The first of some paths, and how many more there are."""
    return first_of([*map(session.shown, paths)], _MAX_PATHS)


def _heading(title: str, heading: Sequence[str]) -> str:
    """Title and heading path on one line, nothing twice."""
    parts = [clean_words(part).strip() for part in (title, *heading)]
    kept = [part for number, part in enumerate(parts) if part and (number == 0 or part != parts[number - 1])]
    return " › ".join(kept)


def _quote(out: Output, indent: str, hit: Hit | PassageHit) -> Iterator[str]:
    """The snippet, without the heading that it begins with where that was shown already."""
    text, marks = clean_marked(*_without_heading(hit.snippet, hit.highlights, hit.heading))
    spans = list(wrap(text, out.width - len(indent)))
    for number, (start, end) in enumerate(spans[:_MAX_SNIPPET_LINES], 1):
        is_cut = number == _MAX_SNIPPET_LINES < len(spans)
        while is_cut and cell_width(text[start:end].rstrip() + ELLIPSIS) > out.width - len(indent):
            end -= 1
        line = _highlighted(out, text, start, end, marks).rstrip()
        yield indent + line + (ELLIPSIS if is_cut else "")


def _without_heading(snippet: str, marks: Marks, heading: Sequence[str]) -> tuple[str, Marks]:
    """The path is that of the first match, so the snippet can begin with any heading of it."""
    found = _MARKDOWN_HEADING.match(snippet) if heading else None
    if found is None:
        return snippet, marks
    cut = max(_end_of_heading(snippet, found.end(), part) for part in heading)
    if cut in (0, len(snippet)):
        return snippet, marks
    return snippet[cut:], tuple((start - cut, end - cut) for start, end in marks if start >= cut)


def _end_of_heading(snippet: str, start: int, heading: str) -> int:
    """Where a heading's line ends that begins at `start` with its markup; 0 where another text stands there."""
    at = start
    for char in heading:
        while not snippet.startswith(char, at):
            markup = _NOT_SHOWN.match(snippet, at)
            if markup is None:
                return 0
            at = markup.end()
        at += 1
    while markup := _NOT_SHOWN.match(snippet, at):
        at = markup.end()
    found = _HEADING_ENDS.match(snippet, at) if heading else None
    return found.end() if found else 0


def _highlighted(out: Output, text: str, start: int, end: int, marks: Marks) -> str:
    pieces, at = [], start
    for left, right in marks:
        left, right = max(left, start), min(right, end)
        if left < right:
            pieces += [text[at:left], out.style(text[left:right], "bold", "yellow")]
            at = right
    return "".join(pieces) + text[at:end]


def clean_marked(text: str, marks: Marks) -> tuple[str, Marks]:
    """A text made safe for one line, runs of spaces made one, with its marks moved along."""
    pieces: list[str] = []
    moved: list[tuple[int, int]] = []
    length = at = 0

    def take(piece: str) -> int:
        nonlocal length
        shown = re.sub(" {2,}", " ", clean_words(piece))
        pieces.append(shown)
        length += len(shown)
        return length

    for left, right in marks:
        start = take(text[at:left])
        moved.append((start, take(text[left:right])))
        at = right
    take(text[at:])
    return "".join(pieces), tuple(moved)


def summary_lines(result: SearchResult, shown: int) -> Iterator[str]:
    """What to say beside the hits: how many, of which version, and what was withheld and why."""
    where = f" at {short(result.rev.hex())}" if result.rev else ""
    found = count(shown, "document") if shown else "no match"
    first, rest = ("the first ", "; -n shows more") if shown and result.more else ("", "")
    yield f"{first}{found}{where}, {result.mode.value}{rest}"
    for reason, number in result.withheld.items():
        yield f"withheld {number:,}: {clean_line(reason)}"
    yield from (clean_line(note) for note in result.notes)
