"""The layout of the index database and its stamp: what it was made from and by which rules."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from pathlib import Path
from typing import NamedTuple

from arbor.errors import UsageError
from arbor.repo.snapshot import Snapshot
from arbor.text.analyzer import ANALYZER_ID, TOKENIZER

SCHEMA_VERSION = 3
INDEX_FILE = "index.db"
LOCK_FILE = "index.lock"
PAGE_BYTES = 8192
BUSY_TIMEOUT_S = 10.0
CACHE_KIB = 64 * 1024
"""Pages that a connection which changes much keeps in memory."""
SQLITE_NEEDED = (3, 38, 0)
"""The first version that always has JSON functions."""
COLUMNS = ("title", "heading", "path", "body")

_TABLES = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents(
    id INTEGER PRIMARY KEY, oid BLOB NOT NULL, passages INTEGER NOT NULL, whole INTEGER NOT NULL,
    kind TEXT NOT NULL, media_type TEXT NOT NULL, lang TEXT NOT NULL, title TEXT NOT NULL, dated INTEGER, here BLOB
);
CREATE TABLE paths(path TEXT PRIMARY KEY, document INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE passages USING fts5({", ".join(COLUMNS)}, content='', tokenize='{TOKENIZER}');
CREATE VIRTUAL TABLE terms USING fts5vocab(passages, row);
"""
# The rows of a document's passages are `documents.id`, `id + 1`, ... : a row number is a document and an
# ordinal. Of a document in part `here` has a bit for each passage that is indexed, the lowest for the first.

_LOOKUPS = """
CREATE UNIQUE INDEX documents_oid ON documents(oid);
CREATE INDEX paths_document ON paths(document);
"""


class Stamp(NamedTuple):
    """What an index was made from.

    Attributes:
        schema: `SCHEMA_VERSION` of the writer.
        analyzer: `ANALYZER_ID` of the writer, which names the tokenizer too.
        tiers: A word for which documents are warm or cold; "" where all are hot.
        ledger_root: Hex oid of the ledger that the index holds.
    """

    schema: str
    analyzer: str
    tiers: str
    ledger_root: str

    def has_rules_of(self, other: Stamp) -> bool:
        """Whether two indexes were made by the same rules, be it from different ledgers."""
        return self._replace(ledger_root="") == other._replace(ledger_root="")


def stamp_of(ledger_root: bytes, tiers: str = "") -> Stamp:
    """The stamp that an index made now from this ledger carries."""
    return Stamp(str(SCHEMA_VERSION), ANALYZER_ID, tiers, ledger_root.hex())


def stamp_for(snapshot: Snapshot) -> Stamp:
    """The stamp of an index of this version as its documents lie in tiers now."""
    return stamp_of(snapshot.ledger_root, snapshot.tiers_word())


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the empty tables; `create_lookups` follows when the rows are in.

    Raises:
        UsageError: when this Python's SQLite is too old or has no full-text search.
    """
    if sqlite3.sqlite_version_info < SQLITE_NEEDED:
        needed = ".".join(map(str, SQLITE_NEEDED))
        raise UsageError(
            f"SQLite {sqlite3.sqlite_version} is too old", f"use a Python with SQLite {needed} or newer"
        )
    try:
        connection.executescript(_TABLES)
    except sqlite3.OperationalError as error:
        if "fts5" not in str(error):
            raise
        raise UsageError(
            "this Python's SQLite has no full-text search", "use a Python whose SQLite has FTS5"
        ) from error


def create_lookups(connection: sqlite3.Connection) -> None:
    """Make the look-up indexes, faster after the rows than before them."""
    connection.executescript(_LOOKUPS)


def write_stamp(connection: sqlite3.Connection, stamp: Stamp) -> None:
    """Record what the index holds, in the caller's transaction."""
    connection.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", list(stamp._asdict().items()))


def read_stamp(connection: sqlite3.Connection) -> Stamp | None:
    """The stamp, or None where it is not complete.

    Raises:
        sqlite3.DatabaseError: when the file is not an index at all.
    """
    found = dict(connection.execute("SELECT key, value FROM meta"))
    if not found.keys() >= set(Stamp._fields):
        return None
    return Stamp(*(str(found[name]) for name in Stamp._fields))


def connect_in_memory() -> sqlite3.Connection:
    """A database of its own that goes when it is closed, with transactions begun by hand."""
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


def connect_to_write(fs_path: Path) -> sqlite3.Connection:
    """A connection that writes, with transactions begun by hand."""
    refuse_irregular(fs_path)
    return sqlite3.connect(
        fs_path, isolation_level=None, timeout=BUSY_TIMEOUT_S, check_same_thread=False, cached_statements=64
    )


def connect_to_read(fs_path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """A connection that cannot write; it may move from thread to thread, one at a time.

    Args:
        fs_path: The database.
        immutable: The file is known not to change, or lies where no lock can be taken.
    """
    refuse_irregular(fs_path)
    query = "mode=ro&immutable=1" if immutable else "mode=ro"
    connection = sqlite3.connect(
        f"{fs_path.absolute().as_uri()}?{query}",
        uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_S, check_same_thread=False, cached_statements=64,
    )  # fmt: skip
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def refuse_irregular(fs_path: Path) -> None:
    """SQLite waits for a pipe, and reads a device without end; raises sqlite3.DatabaseError as for no database."""
    with contextlib.suppress(OSError):
        mode = os.stat(fs_path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise sqlite3.DatabaseError("the file is no database but a pipe, a device or the like")


def file_identity(fs_path: Path) -> tuple[int, int] | None:
    """What tells a file from another one that takes its name; None where there is none."""
    try:
        found = os.stat(fs_path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
