"""Writing rows: whole documents go in and come out, and the statistics of the index follow."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from arbor.index.entries import NOTHING, Entry, Row, read_entry, which_are_here
from arbor.index.feed import insert_rows
from arbor.repo.snapshot import Snapshot

_INSERT_ROW = "INSERT INTO passages(rowid, title, heading, path, body) VALUES(?, ?, ?, ?, ?)"
_DELETE_ROW = (
    "INSERT INTO passages(passages, rowid, title, heading, path, body) VALUES('delete', ?, ?, ?, ?, ?)"
)
_INSERT_DOCUMENT = "INSERT INTO documents VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_PATH = "INSERT INTO paths VALUES(?, ?)"


def insert_all(
    connection: sqlite3.Connection, entries: Iterable[Entry], grouped: Mapping[bytes, Sequence[str]]
) -> None:
    """Fill empty tables; row numbers are given in the order of the entries."""
    documents: list[tuple[object, ...]] = []
    paths: list[tuple[str, int]] = []

    def note(number: int, entry: Entry) -> None:
        documents.append(_document_row(number, entry))
        paths.extend((path, number) for path in grouped[entry.oid])

    insert_rows(connection, entries, note)
    connection.executemany(_INSERT_DOCUMENT, documents)
    connection.executemany(_INSERT_PATH, sorted(paths))


def insert_entries(connection: sqlite3.Connection, entries: Iterable[tuple[Entry, Sequence[str]]]) -> None:
    """Fill empty tables with entries and the paths at which they lie: files of a work tree."""
    number = 1
    for entry, paths in entries:
        _insert_entry(connection, number, entry, paths)
        number += len(entry.rows)


def _insert_entry(connection: sqlite3.Connection, number: int, entry: Entry, paths: Sequence[str]) -> None:
    connection.execute(_INSERT_DOCUMENT, _document_row(number, entry))
    connection.executemany(_INSERT_PATH, [(path, number) for path in paths])
    connection.executemany(_INSERT_ROW, _numbered(number, entry.rows))


def _document_row(number: int, entry: Entry) -> tuple[object, ...]:
    return (
        number, entry.oid, len(entry.rows), int(entry.whole), entry.kind, entry.media_type, entry.lang,
        entry.title, entry.dated, entry.here,
    )  # fmt: skip


class Indexed(NamedTuple):
    """What the index holds of one document: the number of its first row, and the rows, read when they are used."""

    first: int
    rows: Collection[Row]


class DocumentTable:
    """Takes documents out and puts them in, within the caller's transaction.

    Rows of a contentless FTS5 table are removed by telling it the text they were made from, so the old entry is read
    again from the objects: equal objects and paths give equal rows. Row numbers in use when the transaction began are
    not given again in it, so the order of what goes out and what comes in does not matter.
    """

    def __init__(self, connection: sqlite3.Connection, snapshot: Snapshot) -> None:
        self._connection = connection
        self._snapshot = snapshot
        self._tiers = snapshot.tiers()
        self._words = snapshot.cold_words() if self._tiers.cold else {}
        found = connection.execute("SELECT id + passages FROM documents ORDER BY id DESC LIMIT 1").fetchone()
        self._next_number = int(found[0]) if found else 1

    def get_paths(self, oid: bytes) -> list[str]:
        """The paths that a document has in the index, in path order."""
        found = self._connection.execute(
            "SELECT path FROM paths WHERE document = (SELECT id FROM documents WHERE oid = ?) ORDER BY path",
            (oid,),
        )
        return [path for (path,) in found]

    def remove(self, oid: bytes, paths: Sequence[str]) -> None:
        """Take a document out that lies at these paths; raises as `find`."""
        self.take_out(self.find(oid, paths))

    def find(self, oid: bytes, paths: Sequence[str]) -> Indexed:
        """What the index holds of a document that lies at these paths.

        Raises:
            IntegrityError: when its objects are absent or damaged.
            LookupError: when the index does not hold what it should hold.
        """
        found = self._connection.execute(
            "SELECT id, passages, whole, here FROM documents WHERE oid = ?", (oid,)
        ).fetchone()
        if found is None:
            raise LookupError("a document is missing in the index")
        first, count, whole, here = found
        entry = self._read(oid, paths, whole=bool(whole), here=here or NOTHING)
        if len(entry.rows) != count or entry.whole != bool(whole):
            raise LookupError("a document no longer reads as it was indexed")
        return Indexed(first, entry.rows)

    def take_out(self, indexed: Indexed) -> None:
        """Take a document out that was found."""
        self._connection.executemany(_DELETE_ROW, _numbered(indexed.first, indexed.rows))
        self._connection.execute("DELETE FROM documents WHERE id = ?", (indexed.first,))
        self._connection.execute("DELETE FROM paths WHERE document = ?", (indexed.first,))

    def insert(self, oid: bytes, paths: Sequence[str]) -> None:
        """Put a document in at these paths; raises IntegrityError when its objects are absent or damaged."""
        entry = self._read(oid, paths, whole=oid not in self._tiers.cold)
        _insert_entry(self._connection, self._next_number, entry, paths)
        self._next_number += len(entry.rows)

    def refresh_parts(self) -> None:
        """Take documents in part to what is here of them now: others bring passages that these have too.

        Raises:
            IntegrityError, LookupError: as `find`.
        """
        indexed = self._connection.execute("SELECT oid, here FROM documents WHERE NOT whole")
        parts = {oid: here for oid, here in indexed if oid in self._tiers.parts} if self._tiers.parts else {}
        for oid, here in which_are_here(self._snapshot.store, parts):
            if here != parts[oid]:
                paths = self.get_paths(oid)
                self.remove(oid, paths)
                self.insert(oid, paths)

    def _read(self, oid: bytes, paths: Sequence[str], *, whole: bool, here: bytes | None = None) -> Entry:
        """The entry of a document, of one in part with what is here now, or with what was `here` then."""
        if here is None and oid not in self._tiers.parts:
            here = NOTHING
        words = self._words.get(oid, "")
        return read_entry(self._snapshot.store, oid, paths, whole=whole, here=here, words=words)


def _numbered(first: int, rows: Iterable[Row]) -> Iterator[tuple[int, str, str, str, str]]:
    return ((first + ordinal, *row) for ordinal, row in enumerate(rows))
