"""One index reader for all searches of the current version: none is closed while a search still uses it."""

from __future__ import annotations

import threading
from collections import Counter

from arbor.index.reader import IndexReader


class ReaderDesk:
    """Lends out the reader that is kept open, and closes one that was replaced when the last search is done with it.

    Safe from several threads.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._kept: IndexReader | None = None
        self._users: Counter[IndexReader] = Counter()

    def borrow(self) -> IndexReader | None:
        """The reader that is kept, to be given back; None where there is none."""
        with self._mutex:
            if self._kept is not None:
                self._users[self._kept] += 1
            return self._kept

    def keep(self, reader: IndexReader) -> None:
        """Keep a reader, which the caller uses and gives back, in place of the one so far."""
        with self._mutex:
            replaced, self._kept = self._kept, reader
            self._users[reader] += 1
        self._close_unused(replaced)

    def give_back(self, reader: IndexReader) -> None:
        """Be done with a reader that was borrowed or kept."""
        with self._mutex:
            self._users[reader] -= 1
            if not self._users[reader]:
                del self._users[reader]
        self._close_unused(reader)

    def forget(self, reader: IndexReader | None = None) -> None:
        """Keep a reader no more: this one, if it is the one that is kept, or without one whichever it is."""
        with self._mutex:
            kept = self._kept
            if kept is None or (reader is not None and kept is not reader):
                return
            self._kept = None
        self._close_unused(kept)

    def _close_unused(self, reader: IndexReader | None) -> None:
        with self._mutex:
            if reader is None or reader is self._kept or reader in self._users:
                return
        reader.close()
