"""Reading the index: one consistent view at a time, from any thread, without ever being in a writer's way."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from arbor.errors import ConflictError, IntegrityError
from arbor.index.disk_errors import REINDEX, in_own_words, is_unopened
from arbor.index.schema import Stamp, connect_to_read, file_identity, read_stamp

if TYPE_CHECKING:
    import tempfile

KNOWN_FREQUENCIES_MAX = 100_000
_AVERAGES = "SELECT block FROM passages_data WHERE id = 1"


class IndexMoved(ConflictError):
    """Another process took the index to another version between opening it and asking it, or a thread closed it."""


class IndexDamaged(IntegrityError):
    """The index database cannot be read; it can be made again from the objects."""


class BadExpression(ValueError):
    """An FTS5 expression that is not well formed."""


class Filter(NamedTuple):
    """A condition on documents: SQL over the columns of `documents d`, and values for its placeholders."""

    sql: str
    values: tuple[Any, ...] = ()


class Found(NamedTuple):
    """A passage that matches.

    Attributes:
        row: Row number; it means something only within the session that gave it.
        score: BM25, higher is better.
    """

    row: int
    score: float


class DocumentInfo(NamedTuple):
    """What the index says of a document. Row `first + n` is its passage n."""

    first: int
    oid: bytes
    passages: int
    whole: bool
    kind: str
    media_type: str
    lang: str
    title: str
    dated: int | None
    path: str


class Statistics(NamedTuple):
    """Rows in the index and their mean length in tokens, as BM25 uses them."""

    rows: int
    mean_tokens: float


def _close_all(connections: list[sqlite3.Connection]) -> None:
    for connection in connections:
        connection.close()


class IndexReader:
    """An open index. Close it, or use it as a context manager."""

    def __init__(
        self,
        fs_path: Path,
        *,
        immutable: bool = False,
        private: tempfile.TemporaryDirectory[str] | None = None,
    ) -> None:
        """Open an index; raises sqlite3.DatabaseError when there is none that can be read.

        Args:
            fs_path: The database.
            immutable: Nothing will change the file while it is open.
            private: A folder that belongs to this reader and goes when it is closed.
        """
        self.fs_path = fs_path
        self._immutable = immutable
        self._private = private
        self._mutex = threading.Lock()
        self._identity = file_identity(fs_path)  # before it is opened, so that no replacement goes unnoticed
        self._idle = [connect_to_read(fs_path, immutable=immutable)]
        weakref.finalize(self, _close_all, self._idle)  # a reader that is dropped leaves nothing open
        self._closed = False
        self._frequencies: tuple[str, dict[str, int]] = ("", {})
        try:
            self.stamp = read_stamp(self._idle[0])
        except sqlite3.DatabaseError:
            self.close()
            raise

    def __enter__(self) -> IndexReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def session(self, ledger_root: bytes) -> Iterator[Session]:
        """One consistent view of the index.

        Args:
            ledger_root: The version that the caller expects.

        Raises:
            IndexMoved: when the index holds another version now, or the reader was closed.
            IndexDamaged: when the database turns out to be broken, now or within the block.
            StorageError: when the disk refuses.
        """
        connection = self._take()
        try:
            connection.execute("BEGIN")
            stamp = read_stamp(connection)
            if stamp is None or stamp.ledger_root != ledger_root.hex():
                raise IndexMoved("the search index moved on while it was in use", "search again")
            yield Session(connection, self._frequencies_of(stamp))
        except sqlite3.DatabaseError as error:
            raise self._in_own_words(error) from error
        finally:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            self._give_back(connection)

    def is_current_file(self) -> bool:
        """Whether the name still stands for the file that was opened; a rebuild puts another one there."""
        return self._private is not None or self._identity == file_identity(self.fs_path)

    def _take(self) -> sqlite3.Connection:
        with self._mutex:
            if self._closed:
                raise IndexMoved("the search index was closed while it was in use", "search again")
            if self._idle:
                return self._idle.pop()
        try:
            return connect_to_read(self.fs_path, immutable=self._immutable)
        except sqlite3.DatabaseError as error:
            if is_unopened(error):  # one more thread than before, and the cache was deleted meanwhile
                raise IndexMoved("the search index went while it was in use", "search again") from error
            raise self._in_own_words(error) from error

    def _in_own_words(self, error: sqlite3.DatabaseError) -> BaseException:
        damaged = IndexDamaged(f"the search index is damaged: {error}", REINDEX)
        return in_own_words(error, self.fs_path, damaged)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._mutex:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _frequencies_of(self, stamp: Stamp) -> dict[str, int]:
        """Frequencies found so far for this version of the index."""
        version, known = self._frequencies
        if version != stamp.ledger_root or len(known) > KNOWN_FREQUENCIES_MAX:
            known = {}
            self._frequencies = (stamp.ledger_root, known)
        return known

    def close(self) -> None:
        """Give file handles back; sessions that are open end well."""
        with self._mutex:
            self._closed = True
            idle, self._idle = self._idle, []
        _close_all(idle)
        if self._private is not None:
            self._private.cleanup()


class Session:
    """One consistent view of an index, used by one thread."""

    def __init__(self, connection: sqlite3.Connection, frequencies: dict[str, int]) -> None:
        self._connection = connection
        self._frequencies = frequencies

    def statistics(self) -> Statistics:
        """Rows and mean length, from the record that FTS5 keeps for BM25."""
        found = self._connection.execute(_AVERAGES).fetchone()
        rows, *totals = decode_varints(found[0]) if found and found[0] else [0]
        return Statistics(rows, sum(totals) / rows if rows else 0.0)

    def frequency(self, expression: str) -> int:
        """In how many passages an FTS5 expression of one unit occurs."""
        known = self._frequencies.get(expression)
        if known is None:
            query = "SELECT count(*) FROM passages WHERE passages MATCH ?"
            known = self._frequencies[expression] = self._ask(query, expression)
        return known

    def term_frequency(self, token: str) -> int:
        """In how many passages a token occurs; several times faster than asking for it as an expression."""
        known = self._frequencies.get(token)
        if known is None:
            found = self._connection.execute("SELECT doc FROM terms WHERE term = ?", (token,)).fetchone()
            known = self._frequencies[token] = int(found[0]) if found else 0
        return known

    def frequent_terms(self, beginning: str, limit: int) -> list[str]:
        """The tokens that begin so and are in the most passages; of equally frequent ones those first in order."""
        found = self._connection.execute(
            "SELECT term FROM terms WHERE term >= ? AND term < ? ORDER BY doc DESC, term LIMIT ?",
            (beginning, beginning + "\U0010ffff", limit),
        )
        return [term for (term,) in found]

    def _ask(self, query: str, *values: str) -> Any:
        """The one value of a query's one row."""
        return self._connection.execute(query, values).fetchone()[0]

    def match(
        self, expression: str, weights: Sequence[float], filters: Sequence[Filter], limit: int
    ) -> list[Found]:
        """The passages that match, best first; equal scores in no particular order.

        Args:
            expression: FTS5 query, well formed.
            weights: BM25 weight of each column, in the order of `schema.COLUMNS`.
            filters: Conditions that the document of a passage must meet, all of them.
            limit: At most this many.

        Raises:
            BadExpression: when the expression is not well formed.
        """
        where = _document_condition(filters)
        columns = ", ".join(map(repr, map(float, weights)))
        try:
            found = self._connection.execute(
                f"SELECT rowid, bm25(passages, {columns}) AS score FROM passages"
                f" WHERE passages MATCH ?{where.sql} ORDER BY score LIMIT ?",
                (expression, *where.values, limit),
            ).fetchall()
        except sqlite3.OperationalError as error:
            raise BadExpression(str(error)) from error
        return [Found(row, -score) for row, score in found]

    def list_documents(self, filters: Sequence[Filter], limit: int) -> list[int]:
        """First rows of the documents that meet all filters, by path."""
        condition = all_of(filters)
        found = self._connection.execute(
            "SELECT d.id FROM documents d JOIN paths p ON p.document = d.id"
            f" WHERE {condition.sql} GROUP BY d.id ORDER BY min(p.path) LIMIT ?",
            (*condition.values, limit),
        )
        return [row for (row,) in found]

    def count_bodiless(self) -> int:
        """Documents whose passages are not in, since they are not stored here."""
        return int(self._ask("SELECT count(*) FROM documents WHERE NOT whole"))

    def count_paths(self) -> int:
        """Paths of documents and names of cores."""
        return int(self._ask("SELECT count(*) FROM paths"))

    def documents_of(self, rows: Sequence[int]) -> dict[int, DocumentInfo]:
        """The document of each row."""
        found = self._connection.execute(
            "SELECT r.value, d.id, oid, passages, whole, kind, media_type, lang, title, dated,"
            " (SELECT min(path) FROM paths WHERE document = d.id)"
            " FROM json_each(?) r JOIN documents d ON d.id = (SELECT max(id) FROM documents WHERE id <= r.value)",
            (json.dumps(list(rows)),),
        )
        infos = {
            row: DocumentInfo(first, oid, passages, bool(whole), kind, media_type, lang, title, dated, path)
            for row, first, oid, passages, whole, kind, media_type, lang, title, dated, path in found
        }
        if any(row not in infos or row - infos[row].first >= infos[row].passages for row in rows):
            raise IndexDamaged("the search index names passages of no document", REINDEX)
        return infos

    def newest_date(self) -> int | None:
        """The latest date that any document says of itself, in seconds since 1970 UTC; None where none says one."""
        newest: int | None = self._ask("SELECT max(dated) FROM documents")
        return newest

    def paths_of(self, first: int) -> list[str]:
        """All paths of the document with this first row, in path order."""
        found = self._connection.execute("SELECT path FROM paths WHERE document = ? ORDER BY path", (first,))
        return [path for (path,) in found]

    def paths_meeting(self, first: int, condition: Filter) -> list[str]:
        """Those of the paths that meet a condition on the column `path`, in path order."""
        found = self._connection.execute(
            f"SELECT path FROM paths WHERE document = ? AND ({condition.sql}) ORDER BY path",
            (first, *condition.values),
        )
        return [path for (path,) in found]


def matches_any(expression: str) -> Filter:
    """The documents that have a passage which matches an FTS5 expression."""
    return Filter(
        "d.id IN (SELECT (SELECT max(id) FROM documents WHERE id <= f.rowid)"
        " FROM passages f WHERE f.passages MATCH ?)",
        (expression,),
    )


def all_of(filters: Sequence[Filter]) -> Filter:
    """What meets all of these conditions, and anything where there are none."""
    sql = " AND ".join(f"({condition.sql})" for condition in filters) or "1"
    return Filter(sql, tuple(value for condition in filters for value in condition.values))


def _document_condition(filters: Sequence[Filter]) -> Filter:
    """The filters as a further condition on rows. The set of documents is made once, not once a row."""
    if not filters:
        return Filter("")
    documents = all_of(filters)
    return Filter(
        " AND (SELECT max(id) FROM documents WHERE id <= passages.rowid)"
        f" IN (SELECT d.id FROM documents d WHERE {documents.sql})",
        documents.values,
    )


def decode_varints(block: bytes) -> list[int]:
    """SQLite's variable-length integers: seven bits a byte, most significant first."""
    values, value = [], 0
    for byte in block:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            values.append(value)
            value = 0
    return values


def inverse_frequency(rows: int, frequency: int) -> float:
    """The idf of FTS5's bm25(), clamped as it clamps it for terms in half of the rows or more."""
    idf = math.log((rows - frequency + 0.5) / (frequency + 0.5))
    return idf if idf > 0 else 1e-6
