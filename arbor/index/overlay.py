"""A small index in memory over files that are not committed, scored like the index beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from arbor.index.entries import Entry
from arbor.index.reader import Session, decode_varints
from arbor.index.schema import COLUMNS, connect_in_memory, create_tables
from arbor.index.tables import insert_entries

K1, B = 1.2, 0.75
"""BM25's parameters, as FTS5 has them."""


class ScoredUnit(NamedTuple):
    """A unit of a query: its tokens, whether the last is only a beginning, inverse document frequency."""

    tokens: tuple[str, ...]
    prefix: bool
    idf: float


class Overlay:
    """Files by path, held in memory for one search or several. For one thread."""

    def __init__(self, entries: Iterable[tuple[Entry, Sequence[str]]], now: int) -> None:
        """Index the entries.

        Args:
            entries: One for each content, with the paths of the files that have it.
            now: Dates the files whose text names no date, in seconds since 1970 UTC.
        """
        self._connection = connect_in_memory()
        create_tables(self._connection)
        self._connection.execute("CREATE VIRTUAL TABLE places USING fts5vocab(passages, instance)")
        self._connection.execute("BEGIN")
        dated = (
            (entry if entry.dated is not None else entry._replace(dated=now), paths)
            for entry, paths in entries
        )
        insert_entries(self._connection, dated)
        self._connection.execute("COMMIT")
        self.session = Session(self._connection, {})

    def scores(
        self, units: Sequence[ScoredUnit], weights: Sequence[float], mean_tokens: float
    ) -> dict[int, float]:
        """BM25 of each row that holds any of the units, as FTS5 computes it, but with the statistics given.

        Source: Robertson and Zaragoza, The probabilistic relevance framework: BM25 and beyond (2009), with
        the weights of fields put on the term frequencies.
        """
        scores: Counter[int] = Counter()
        by_column = dict(zip(COLUMNS, weights, strict=True))
        lengths = dict(self._iter_lengths())
        for unit in units:
            frequencies: Counter[int] = Counter()
            for row, column, _ in self._places(unit):
                frequencies[row] += by_column[column]  # type: ignore[assignment]
            for row, frequency in frequencies.items():
                norm = 1 - B + B * lengths[row] / mean_tokens if mean_tokens else 1.0
                scores[row] += unit.idf * frequency * (K1 + 1) / (frequency + K1 * norm)  # type: ignore[assignment]
        return dict(scores)

    def _places(self, unit: ScoredUnit) -> set[tuple[int, str, int]]:
        """(row, column, offset of the first token) of each occurrence."""
        last = len(unit.tokens) - 1
        found: set[tuple[int, str, int]] | None = None
        for number, token in enumerate(unit.tokens):
            here = set(self._iter_token(token, number, prefix=unit.prefix and number == last))
            found = here if found is None else found & here
        return found or set()

    def _iter_token(self, token: str, shift: int, *, prefix: bool) -> Iterator[tuple[int, str, int]]:
        condition, values = (
            ("term >= ? AND term < ?", (token, token + "\U0010ffff")) if prefix else ("term = ?", (token,))
        )
        found = self._connection.execute(f"SELECT doc, col, offset FROM places WHERE {condition}", values)
        return ((row, column, offset - shift) for row, column, offset in found)

    def _iter_lengths(self) -> Iterator[tuple[int, int]]:
        for row, sizes in self._connection.execute("SELECT id, sz FROM passages_docsize"):
            yield row, sum(decode_varints(sizes))

    def close(self) -> None:
        """Give the memory back."""
        self._connection.close()
