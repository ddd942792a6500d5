"""Words to tokens by SQLite's own tokenizer: what is shown as a match is what the index calls one."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence

from arbor.index.schema import COLUMNS, connect_in_memory
from arbor.text.analyzer import TOKENIZER

CACHED_TEXTS_MAX = 50_000
_FIRST = 1


class Tokenizer:
    """Tokenizes prepared texts, and knows the words it was asked before. Safe from several threads.

    FTS5 offers no call for its tokenizer, but a table that holds one text a row and its vocabulary do the
    same.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._known: dict[str, tuple[str, ...]] = {}
        self._connection: sqlite3.Connection | None = None

    def tokens(self, text: str) -> tuple[str, ...]:
        """The tokens of one prepared text, in order."""
        known = self._known.get(text)
        return self.tokens_of([text])[text] if known is None else known

    def tokens_of(self, texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The tokens of each prepared text, in order."""
        known = self._known
        wanted = set(texts)
        missing = [text for text in wanted if text not in known]
        if missing:
            with self._mutex:
                if len(known) + len(missing) > CACHED_TEXTS_MAX:
                    known = {text: known[text] for text in wanted if text in known}
                    self._known = known
                known.update(self._ask(missing))
        return {text: known[text] for text in wanted}

    def _ask(self, texts: list[str]) -> dict[str, tuple[str, ...]]:
        found: list[list[str]] = [[] for _ in texts]
        with self._table_of(texts) as connection:
            for row, token in connection.execute("SELECT doc, term FROM tokens ORDER BY doc, offset"):
                found[row - _FIRST].append(token)
        return {text: tuple(tokens) for text, tokens in zip(texts, found, strict=True)}

    def matches(self, text: str, expressions: Sequence[str]) -> bool:
        """Whether a prepared text, as the body of a passage, matches one of these FTS5 expressions.

        One that is not well formed matches nothing.
        """
        with self._mutex, self._table_of([text]) as connection:
            try:
                return any(
                    connection.execute("SELECT 1 FROM words WHERE words MATCH ?", (expression,)).fetchone()
                    for expression in expressions
                )
            except sqlite3.OperationalError:
                return False

    @contextlib.contextmanager
    def _table_of(self, texts: Sequence[str]) -> Iterator[sqlite3.Connection]:
        """The table with these texts in it, until the block ends."""
        if self._connection is None:
            self._connection = _open_table()
            weakref.finalize(self, self._connection.close)
        self._connection.execute("BEGIN")
        try:
            self._connection.executemany(
                "INSERT INTO words(rowid, body) VALUES(?, ?)", enumerate(texts, _FIRST)
            )
            yield self._connection
        finally:
            self._connection.execute("ROLLBACK")


def _open_table() -> sqlite3.Connection:
    connection = connect_in_memory()
    connection.execute(f"CREATE VIRTUAL TABLE words USING fts5({', '.join(COLUMNS)}, tokenize='{TOKENIZER}')")
    connection.execute("CREATE VIRTUAL TABLE tokens USING fts5vocab(words, instance)")
    return connection
