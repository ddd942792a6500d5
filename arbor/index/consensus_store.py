"""The tables of the consensus state: rows in and out, in one transaction for each update; what they mean is graph's.

Documents have numbers of their own, which mean nothing outside the file. The file is a cache: it is made aside and
renamed, changed in write-ahead mode, stamped with what it was made from, and may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from arbor.errors import Locked
from arbor.index.checksum import drop_sum, write_sum
from arbor.index.consensus_file import connect_to_change, connect_to_look, give_back
from arbor.index.consensus_rows import (
    Content,
    DocumentRow,
    Edge,
    KeyRow,
    document_row,
    join_words,
    key_row,
    pack_numbers,
    unpack_numbers,
)
from arbor.index.disk_errors import ConsensusDamaged, in_own_words, is_busy, is_refusal, refusals_told
from arbor.index.schema import CACHE_KIB, connect_in_memory
from arbor.index.write_ahead import discard_database, fold, open_without_lock, remove_database
from arbor.store.files import fsync_folder, storing, temporary_path
from arbor.store.syncing import fsync_file

CONSENSUS_FILE = "consensus.db"
CONSENSUS_LOCK = "consensus.lock"
SCHEMA_ID = "arbor-consensus-tables/1"
_ASKED_AT_ONCE = 400

_TABLES = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE keys(
    key TEXT PRIMARY KEY, document INTEGER NOT NULL, origins TEXT NOT NULL, disputes TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE disputes(target TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY(target, source)) WITHOUT ROWID;
CREATE TABLE documents(
    id INTEGER PRIMARY KEY, oid BLOB NOT NULL, size INTEGER NOT NULL, groups INTEGER NOT NULL,
    support_1 INTEGER NOT NULL, support_2 INTEGER NOT NULL, support_3 INTEGER NOT NULL, score INTEGER NOT NULL,
    origins TEXT NOT NULL, nearest BLOB NOT NULL
);
CREATE TABLE contents(id INTEGER PRIMARY KEY, terms BLOB NOT NULL, steps BLOB NOT NULL, sequence BLOB NOT NULL);
CREATE TABLE signatures(id INTEGER PRIMARY KEY, key_terms BLOB NOT NULL);
CREATE TABLE terms(id INTEGER PRIMARY KEY, text TEXT NOT NULL, frequency INTEGER NOT NULL);
CREATE TABLE postings(
    term INTEGER NOT NULL, document INTEGER NOT NULL, value INTEGER NOT NULL, PRIMARY KEY(term, document)
) WITHOUT ROWID;
CREATE TABLE edges(
    document INTEGER NOT NULL, peer INTEGER NOT NULL, similarity INTEGER NOT NULL, copy INTEGER NOT NULL,
    PRIMARY KEY(document, peer)
) WITHOUT ROWID;
"""

_LOOKUPS = """
CREATE UNIQUE INDEX documents_oid ON documents(oid);
CREATE INDEX keys_document ON keys(document);
CREATE INDEX edges_copies ON edges(document, peer) WHERE copy = 1;
"""


class ConsensusStore:
    """One open state, in a file or in memory; not safe to use from two threads at once."""

    def __init__(self, connection: sqlite3.Connection, fs_path: Path | None, *, writes: bool = True) -> None:
        self.fs_path = fs_path
        self._writes = writes
        self._connection = connection
        # Also where nobody closes it: a plain close would fold the write-ahead file in behind the checksum.
        self._give_back = weakref.finalize(self, give_back, connection, fs_path if writes else None)
        self._run = connection.execute
        self._run_many = connection.executemany

    @classmethod
    def open(cls, fs_path: Path | None) -> ConsensusStore:
        """Open the state of a file to change it, or an empty one in memory.

        A file that is absent or no state is made anew. The caller holds the lock of the state.

        Raises:
            Locked: when another connection is in the way.
            StorageError: when the disk is full or refuses; the file is as it was.
        """
        if fs_path is None or not fs_path.exists():
            return cls.create(fs_path)
        try:
            store = cls(connect_to_change(fs_path), fs_path)
            if store.read_meta().get("schema") == SCHEMA_ID:
                return store
            store.close()
        except sqlite3.DatabaseError as error:
            if is_busy(error) or is_refusal(error):
                raise in_own_words(error, fs_path, ConsensusDamaged(str(error))) from error
        return cls.create(fs_path)

    @classmethod
    def open_to_read(cls, fs_path: Path) -> ConsensusStore | None:
        """Open the state of a file without any lock and without writing; None where there is none to be read.

        What is read is of one moment, until `rest`.
        """

        def look(immutable: bool) -> ConsensusStore | None:
            store = cls(connect_to_look(fs_path, immutable=immutable), fs_path, writes=False)
            store.wake()
            if store.read_meta().get("schema") == SCHEMA_ID:
                return store
            store.close()
            return None

        return open_without_lock(fs_path, look)

    @classmethod
    def create(cls, fs_path: Path | None) -> ConsensusStore:
        """An empty state, in place of the file if there is one."""
        if fs_path is None:
            return cls._fill_schema(connect_in_memory(), None)
        with storing(fs_path), refusals_told(fs_path):
            fs_path.parent.mkdir(parents=True, exist_ok=True)
            discard_database(fs_path)
            store = cls._fill_schema(connect_to_change(fs_path, create=True), fs_path)
            fold(store._connection, fs_path)
        return store

    @classmethod
    def _fill_schema(cls, connection: sqlite3.Connection, fs_path: Path | None) -> ConsensusStore:
        store = cls(connection, fs_path)
        with store.transaction():
            for statement in (_TABLES + _LOOKUPS).split(";"):
                if statement.strip():
                    connection.execute(statement)
            store.write_meta({"schema": SCHEMA_ID})
        return store

    def close(self) -> None:
        """Give the file back."""
        self._give_back()

    def wake(self) -> None:
        """Read the file as it is at the next look, and so from then on whatever others write; for who only reads."""
        if not self._writes and not self._connection.in_transaction:
            self._run("BEGIN")

    def rest(self) -> None:
        """Hold on to no moment, which would keep the write-ahead file from being folded in."""
        if not self._writes and self._connection.in_transaction:
            self._run("ROLLBACK")

    @contextlib.contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """All or nothing: committed at the end when `keep`, rolled back otherwise or when anything is raised.

        Raises:
            Locked: when another process is writing.
        """
        try:
            self._run("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if is_busy(error):
                raise Locked(
                    "the consensus state is in use by another process", "try again in a moment"
                ) from error
            raise
        try:
            yield
            self._run("COMMIT" if keep else "ROLLBACK")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # a full disk may have ended the transaction already
                self._run("ROLLBACK")
            raise

    def is_writable(self) -> bool:
        """Whether a change could be written where the file lies."""
        if not self._writes:
            return False  # SQLite begins a transaction even so, and refuses its first change
        try:
            self._run("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            return is_busy(error)
        self._run("ROLLBACK")
        return True

    def copy(self) -> ConsensusStore:
        """The same state in memory, to try things on."""
        connection = connect_in_memory()
        self._connection.backup(connection)
        return ConsensusStore(connection, None)

    # What the state was made from

    def read_meta(self) -> dict[str, str]:
        """All that is stamped on the state."""
        return {str(name): str(value) for name, value in self._run("SELECT name, value FROM meta")}

    def write_meta(self, values: Mapping[str, str]) -> None:
        """Stamp the state, in the caller's transaction."""
        self._run_many("INSERT OR REPLACE INTO meta VALUES(?, ?)", list(values.items()))

    # Keys

    def find_key(self, key: str) -> KeyRow | None:
        """What is at a key."""
        row = self._run("SELECT key, document, origins, disputes FROM keys WHERE key = ?", (key,)).fetchone()
        return None if row is None else key_row(row)

    def iter_keys(self) -> Iterator[KeyRow]:
        """Every key, in the order of their UTF-8 bytes."""
        return map(key_row, self._run("SELECT key, document, origins, disputes FROM keys ORDER BY key"))

    def keys_of(self, document: int) -> list[KeyRow]:
        """The keys of one document, sorted."""
        query = "SELECT key, document, origins, disputes FROM keys WHERE document = ? ORDER BY key"
        return [key_row(row) for row in self._run(query, (document,))]

    def put_key(self, row: KeyRow) -> None:
        """Add a key or replace what is there."""
        self.drop_key(row.key)
        self._run(
            "INSERT INTO keys VALUES(?, ?, ?, ?)",
            (row.key, row.document, join_words(row.origins), join_words(row.disputes)),
        )
        self._run_many(
            "INSERT OR IGNORE INTO disputes VALUES(?, ?)", [(target, row.key) for target in row.disputes]
        )

    def drop_key(self, key: str) -> None:
        """Take a key out, if it is there."""
        row = self.find_key(key)
        if row is not None:
            self._run_many(
                "DELETE FROM disputes WHERE target = ? AND source = ?", [(t, key) for t in row.disputes]
            )
            self._run("DELETE FROM keys WHERE key = ?", (key,))

    def disputed_by(self, key: str) -> list[str]:
        """Keys that say they contradict this one, sorted."""
        query = "SELECT source FROM disputes WHERE target = ? ORDER BY source"
        return [str(source) for (source,) in self._run(query, (key,))]

    def disputing_keys(self) -> set[str]:
        """Keys that contradict another, and keys that are said to be contradicted."""
        found = self._run("SELECT target FROM disputes UNION SELECT source FROM disputes")
        return {str(key) for (key,) in found}

    # Documents

    def find_document(self, oid: bytes) -> int | None:
        """The number of a content."""
        row = self._run("SELECT id FROM documents WHERE oid = ?", (oid,)).fetchone()
        return None if row is None else int(row[0])

    def get_document(self, document: int) -> DocumentRow:
        """The row of a document; raises KeyError when there is none."""
        row = self._run("SELECT * FROM documents WHERE id = ?", (document,)).fetchone()
        if row is None:
            raise KeyError(document)
        return document_row(row)

    def iter_documents(self) -> Iterator[DocumentRow]:
        """Every document, by number."""
        return map(document_row, self._run("SELECT * FROM documents ORDER BY id"))

    def iter_groups(self) -> Iterator[int]:
        """The number of independent groups of every document."""
        return (int(groups) for (groups,) in self._run("SELECT groups FROM documents"))

    def count_documents(self) -> int:
        """Documents of the set."""
        (count,) = self._run("SELECT count(*) FROM documents").fetchone()
        return int(count)

    def next_id(self) -> int:
        """A number that no document has."""
        (number,) = self._run("SELECT coalesce(max(id), 0) + 1 FROM documents").fetchone()
        return int(number)

    def put_documents(self, rows: Iterable[DocumentRow]) -> None:
        """Add documents or replace their rows."""
        self._run_many(
            "INSERT OR REPLACE INTO documents VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (row.id, row.oid, row.size, row.groups, *row.supports, row.score, join_words(row.origins),
                 pack_numbers(row.nearest))
                for row in rows
            ),
        )  # fmt: skip

    def drop_document(self, document: int) -> None:
        """Take a document out, with all rows that are its own."""
        terms = self.get_content(document).terms
        self._run_many(
            "DELETE FROM postings WHERE term = ? AND document = ?", [(term, document) for term in terms]
        )
        self._run("DELETE FROM edges WHERE document = ?", (document,))
        for table in ("documents", "contents", "signatures"):
            self._run(f"DELETE FROM {table} WHERE id = ?", (document,))

    def get_content(self, document: int) -> Content:
        """The terms of a document; raises KeyError when there is none."""
        row = self._run("SELECT terms, steps, sequence FROM contents WHERE id = ?", (document,)).fetchone()
        if row is None:
            raise KeyError(document)
        return Content(unpack_numbers(row[0]), row[1], row[2])

    def iter_contents(self) -> Iterator[tuple[int, Content]]:
        """The terms of every document, by number."""
        for number, terms, steps, sequence in self._run("SELECT * FROM contents ORDER BY id"):
            yield int(number), Content(unpack_numbers(terms), steps, sequence)

    def put_contents(self, contents: Iterable[tuple[int, Content]]) -> None:
        """Add the terms of documents."""
        self._run_many(
            "INSERT INTO contents VALUES(?, ?, ?, ?)",
            ((number, pack_numbers(c.terms), c.steps, c.sequence) for number, c in contents),
        )

    # Signatures and postings

    def find_signature(self, document: int) -> bytes | None:
        """The packed signature of a document."""
        row = self._run("SELECT key_terms FROM signatures WHERE id = ?", (document,)).fetchone()
        return None if row is None else bytes(row[0])

    def iter_signatures(self) -> Iterator[tuple[int, bytes]]:
        """The packed signature of every document, by number."""
        return self._run("SELECT id, key_terms FROM signatures ORDER BY id")

    def put_signatures(self, signatures: Iterable[tuple[int, bytes]]) -> None:
        """Add or replace packed signatures."""
        self._run_many("INSERT OR REPLACE INTO signatures VALUES(?, ?)", signatures)

    def put_postings(self, rows: Iterable[tuple[int, int, int]]) -> None:
        """Add or replace (term, document, value); value 0 for a term outside the document's signature."""
        self._run_many("INSERT OR REPLACE INTO postings VALUES(?, ?, ?)", rows)

    def postings(self, term: int) -> list[tuple[int, int]]:
        """(document, value) of the documents whose signature holds a term."""
        return self._run(
            "SELECT document, value FROM postings WHERE term = ? AND value > 0", (term,)
        ).fetchall()

    def iter_postings(self) -> Iterator[tuple[int, int, int]]:
        """(term, document, value) of every term of every document."""
        return self._run("SELECT term, document, value FROM postings")

    def holders(self, term: int) -> list[int]:
        """All documents that hold a term."""
        return [
            document for (document,) in self._run("SELECT document FROM postings WHERE term = ?", (term,))
        ]

    def frequencies(self, terms: Sequence[int]) -> dict[int, int]:
        """How many documents hold each term; terms that none holds are left out."""
        return dict(self._look_up("frequency", terms))

    def iter_frequencies(self) -> Iterator[tuple[int, int]]:
        """(term, documents that hold it) for every term."""
        return self._run("SELECT id, frequency FROM terms")

    def iter_term_texts(self) -> Iterator[tuple[int, str]]:
        """(term, text) for every term."""
        return self._run("SELECT id, text FROM terms")

    def put_frequencies(self, rows: Iterable[tuple[int, str, int]]) -> None:
        """Set (term, text, documents that hold it); the text of a known term stays."""
        self._run_many(
            "INSERT INTO terms VALUES(?, ?, ?) ON CONFLICT(id) DO UPDATE SET frequency = excluded.frequency",
            rows,
        )

    def drop_terms(self, terms: Iterable[int]) -> None:
        """Forget terms that no document holds."""
        self._run_many("DELETE FROM terms WHERE id = ?", ((term,) for term in terms))

    def term_texts(self, terms: Sequence[int]) -> dict[int, str]:
        """The words behind the hashes of terms."""
        return dict(self._look_up("text", terms))

    def _look_up(self, column: str, terms: Sequence[int]) -> Iterator[tuple[int, Any]]:
        for start in range(0, len(terms), _ASKED_AT_ONCE):
            part = terms[start : start + _ASKED_AT_ONCE]
            marks = ",".join("?" * len(part))
            yield from self._run(f"SELECT id, {column} FROM terms WHERE id IN ({marks})", part)

    # Edges

    def edges(self, document: int) -> list[Edge]:
        """The peers of a document, by number."""
        query = "SELECT peer, similarity, copy FROM edges WHERE document = ?"
        return [Edge(peer, similarity, copy == 1) for peer, similarity, copy in self._run(query, (document,))]

    def copies(self, document: int) -> frozenset[int]:
        """The peers that a document is a copy of or that are copies of it."""
        query = "SELECT peer FROM edges INDEXED BY edges_copies WHERE document = ? AND copy = 1"
        return frozenset(peer for (peer,) in self._run(query, (document,)))

    def iter_edges(self) -> Iterator[tuple[int, int, int, int]]:
        """(document, peer, similarity, copy), each edge from both ends."""
        return self._run("SELECT document, peer, similarity, copy FROM edges ORDER BY document, peer")

    def put_edges(self, rows: Iterable[tuple[int, int, int, bool]]) -> None:
        """Add or replace (document, peer, similarity, copy), from both ends."""
        self._run_many(
            "INSERT OR REPLACE INTO edges VALUES(?, ?, ?, ?)",
            (
                row
                for one, other, similarity, copy in rows
                for row in ((one, other, similarity, int(copy)), (other, one, similarity, int(copy)))
            ),
        )

    def drop_edges(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Take edges out, from both ends."""
        self._run_many(
            "DELETE FROM edges WHERE document = ? AND peer = ?",
            (row for one, other in pairs for row in ((one, other), (other, one))),
        )


@contextlib.contextmanager
def build_aside(fs_path: Path) -> Iterator[ConsensusStore]:
    """An empty state beside the file; it takes the file's place at the end, unless anything is raised."""
    fs_path.parent.mkdir(parents=True, exist_ok=True)
    aside = temporary_path(fs_path.parent)
    try:
        connection = sqlite3.connect(aside, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        store = ConsensusStore._fill_schema(connection, aside)
        yield store
        # Later it would change the file behind its checksum.
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.close()
        fsync_file(aside)
        remove_database(fs_path, keep_main=True)
        drop_sum(fs_path)
        fsync_folder(fs_path.parent)  # no write-ahead file may come back beside the new state
        os.replace(aside, fs_path)
        write_sum(fs_path)
    finally:
        remove_database(aside)
