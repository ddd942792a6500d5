"""Rows for a bulk build, made in a thread of their own while SQLite indexes the ones before.

`executemany` comes back to Python for every row, and two threads that meet at the interpreter's lock once a
row are slower than one. Here a single statement pulls batches of about a megabyte out of a function, so
SQLite works for tens of milliseconds at a time without the lock, and the build takes as long as the slower
half instead of both.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator

from arbor.index.entries import Entry

BATCH_BYTES = 1_000_000
_AHEAD = 4
_POLL_S = 0.2
_NUMBER, _LENGTH = 15, 8  # digits of a row number and of the lengths of title, heading and path
_HEAD = _NUMBER + 3 * _LENGTH
_NO_ESCAPES = bytes(ord(" ") if code < 0x20 or chr(code) in '"\\' else code for code in range(256))
"""Quotation marks, backslashes and control characters as spaces: to the tokenizer all of them are what stands between
words, and each is one character before and after."""

# A subquery with a LIMIT is run for itself: without, each use of `row` would parse the JSON string once more.
_INSERT = f"""
INSERT INTO passages(rowid, title, heading, path, body)
WITH RECURSIVE
    batch(n) AS (SELECT 0 WHERE has_batch(0) UNION ALL SELECT n + 1 FROM batch WHERE has_batch(n + 1)),
    packed(row) AS (SELECT j.value FROM batch CROSS JOIN json_each(CAST(get_batch(n) AS TEXT)) j LIMIT -1),
    sized(row, title, heading, path) AS (
        SELECT row, CAST(substr(row, {_NUMBER + 1}, {_LENGTH}) AS INTEGER),
            CAST(substr(row, {_NUMBER + _LENGTH + 1}, {_LENGTH}) AS INTEGER),
            CAST(substr(row, {_NUMBER + 2 * _LENGTH + 1}, {_LENGTH}) AS INTEGER)
        FROM packed LIMIT -1
    )
SELECT CAST(substr(row, 1, {_NUMBER}) AS INTEGER), substr(row, {_HEAD + 1}, title),
    substr(row, {_HEAD + 1} + title, heading), substr(row, {_HEAD + 1} + title + heading, path),
    substr(row, {_HEAD + 1} + title + heading + path)
FROM sized
"""

_CALLBACK_RAISED = "user-defined function raised exception"


def insert_rows(
    connection: sqlite3.Connection, entries: Iterable[Entry], note: Callable[[int, Entry], None]
) -> None:
    """Insert the rows of all entries, numbered from 1.

    Args:
        connection: With an open transaction.
        entries: Read in another thread.
        note: Called there with the first row number of each entry.

    Raises:
        BaseException: whatever reading an entry raised.
    """
    feed = _Feed(entries, note)
    connection.create_function("has_batch", 1, feed.has_batch)
    connection.create_function("get_batch", 1, feed.get_batch)
    try:
        connection.execute(_INSERT)
    except sqlite3.OperationalError as error:
        if feed.error is None and str(error) == _CALLBACK_RAISED:
            # The feed keeps every error of its own; an interrupt while SQLite works comes before its first line.
            raise KeyboardInterrupt from error
        if feed.error is None:
            raise
    finally:
        feed.stop()
    if feed.error is not None:
        raise feed.error


class _Feed:
    """Batches of packed rows, a few of them made ahead."""

    def __init__(self, entries: Iterable[Entry], note: Callable[[int, Entry], None]) -> None:
        self.error: BaseException | None = None
        self._entries = entries
        self._note = note
        self._queue: queue.Queue[bytes | None] = queue.Queue(_AHEAD)
        self._stopped = threading.Event()
        self._at_hand: tuple[int, bytes | None] = (-1, None)
        self._thread = threading.Thread(target=self._read, name="arbor-index-feed", daemon=True)
        self._unread: Iterator[bytes] | None = None
        try:
            self._thread.start()
        except RuntimeError:  # the system lets no thread start: batches are made when they are asked for
            self._unread = self._iter_batches()

    def has_batch(self, number: int) -> bool:
        """Whether there is a batch of this number; batches are asked for one after the other."""
        return self.get_batch(number) is not None

    def get_batch(self, number: int) -> bytes | None:
        """The rows of a batch as a JSON array of strings."""
        try:
            if self._at_hand[0] != number:
                batch = self._queue.get() if self._unread is None else next(self._unread, None)
                self._at_hand = (number, batch)
        except BaseException as error:
            self.error = error
            raise
        return self._at_hand[1]

    def stop(self) -> None:
        """End the reading thread, whatever it is at."""
        self._stopped.set()
        if self._unread is None:
            self._thread.join()

    def _read(self) -> None:
        try:
            for batch in self._iter_batches():
                if not self._put(batch):
                    return
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that asked
            self.error = error
        self._put(None)

    def _put(self, batch: bytes | None) -> bool:
        while not self._stopped.is_set():
            try:
                self._queue.put(batch, timeout=_POLL_S)
            except queue.Full:
                continue
            return True
        return False

    def _iter_batches(self) -> Iterator[bytes]:
        number, size = 1, 0
        packed: list[bytes] = []
        for entry in self._entries:
            self._note(number, entry)
            for title, heading, path, body in entry.rows:
                sizes = f"{number:015d}{len(title):08d}{len(heading):08d}{len(path):08d}"
                row = f"{sizes}{title}{heading}{path}".encode() + body.encode()
                packed.append(row.translate(_NO_ESCAPES))
                size += len(row)
                number += 1
                if size > BATCH_BYTES:
                    yield _encode(packed)
                    packed, size = [], 0
        if packed:
            yield _encode(packed)


def _encode(packed: list[bytes]) -> bytes:
    """A JSON array of strings in which nothing needs an escape, so that neither side spends time on one."""
    return b'["' + b'","'.join(packed) + b'"]'
