"""Files of the work tree that are not committed as they are, for searches that make no claim."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from arbor.index.reader import Filter, Found, Session, Statistics, inverse_frequency
from arbor.lazy import lazy_module
from arbor.objects.ids import Kind, file_hash, object_id
from arbor.search.plan import Plan, RankedUnit, path_condition
from arbor.search.query import Query
from arbor.search.results import ChunkPlace
from arbor.search.retrieval import COLUMN_WEIGHTS, MAX_ROWS, Candidate, group_rows, retrieve
from arbor.text.encodings import decode_passage
from arbor.text.extraction import Extraction

if TYPE_CHECKING:
    from arbor.index import entries, overlay
else:  # most searches find the files as they were committed
    entries = lazy_module("arbor.index.entries")
    overlay = lazy_module("arbor.index.overlay")

Content = tuple[str, bytes]
"""Media type and BLAKE3 of a file: files that are alike in both are one document."""


class WorkTree:
    """What differs from the version that is searched: files that were added, edited or removed.

    Attributes:
        paths: All of their paths; what is committed there is not shown.
    """

    def __init__(self, files: Mapping[str, Extraction | None], now: int) -> None:
        """Index the files.

        Args:
            files: What was read by path; None for a file that is gone.
            now: Seconds since 1970 UTC; dates the files.
        """
        self.paths = frozenset(files)
        self._files = {path: file for path, file in files.items() if file is not None}
        copies: dict[Content, list[str]] = {}
        for path, file in sorted(self._files.items()):
            copies.setdefault(content_of_file(file), []).append(path)
        made = ((entries.entry_of_file(paths, self._files[paths[0]]), paths) for paths in copies.values())
        self.overlay = overlay.Overlay(made, now)

    def candidates(
        self, query: Query, plan: Plan, units: tuple[RankedUnit, ...], beside: Statistics
    ) -> list[Candidate]:
        """All files that match, scored as if they were in the index beside."""
        session = self.overlay.session
        if query.raw or not query.has_words:
            found = retrieve(session, query, plan, MAX_ROWS).candidates
        elif units:
            expression = " OR ".join(unit.expression for unit in units)
            rows = {match.row for match in session.match(expression, COLUMN_WEIGHTS, plan.filters, MAX_ROWS)}
            scores = self.overlay.scores(
                _scored(units, beside, session.statistics()), COLUMN_WEIGHTS, beside.mean_tokens
            )
            found = group_rows(session, [Found(row, scores.get(row, 0.0)) for row in sorted(rows)])
        else:
            return []
        condition = path_condition(query.paths)
        return [
            replace(
                each, file=self._files[each.document.path],
                file_paths=tuple(paths_asked_first(session, each.document.first, condition)),
            )
            for each in found
        ]  # fmt: skip

    def close(self) -> None:
        """Give the memory back."""
        self.overlay.close()


def content_of_file(file: Extraction) -> Content:
    """What files that are the same document agree in."""
    pieces = file.original or [passage.data for passage in file.passages]
    return file.media_type, file_hash(b"".join(pieces))


def paths_asked_first(
    session: Session, first: int, condition: Filter | None, hidden: Set[str] = frozenset()
) -> list[str]:
    """All paths of the document with this first row but the hidden ones, those before the others that meet a condition.

    Nothing where no path is left that meets it.
    """
    paths = [path for path in session.paths_of(first) if path not in hidden]
    if condition is None:
        return paths
    meeting = set(session.paths_meeting(first, condition))
    return [] if meeting.isdisjoint(paths) else sorted(paths, key=lambda path: path not in meeting)


def _scored(units: tuple[RankedUnit, ...], beside: Statistics, own: Statistics) -> list[overlay.ScoredUnit]:
    rows = beside.rows + own.rows
    return [
        overlay.ScoredUnit(each.tokens, each.unit.prefix, inverse_frequency(rows, each.frequency))
        for each in units
    ]


def passage_of_file(file: Extraction, ordinal: int) -> tuple[str, ChunkPlace | None]:
    """Text and place of a passage; an empty text and no place for a file without text."""
    if ordinal >= len(file.passages):
        return "", None
    before, passage = file.passages[:ordinal], file.passages[ordinal]
    text = decode_passage(passage.data, file.encoding)
    start_line = 1 + sum(each.newlines for each in before)
    start_byte = sum(len(each.data) for each in before)
    end_line = start_line + passage.newlines - (1 if passage.newlines and text.endswith("\n") else 0)
    place = ChunkPlace(
        ordinal,
        object_id(Kind.CHUNK, passage.data),
        start_line,
        end_line,
        start_byte,
        start_byte + len(passage.data),
    )
    return text, place
