from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from arbor.index.access import bring_up_to_date
from arbor.index.reader import IndexReader
from arbor.repo.snapshot import Snapshot
from arbor.search.options import SearchOptions
from arbor.search.results import SearchResult
from arbor.search.searching import Searcher
from tests.index.small_kb import SmallKb


class Library:
    """A small KB with its index open."""

    def __init__(self, folder: Path, files: Mapping[str, bytes | str]) -> None:
        self.kb = SmallKb(folder)
        self.snapshot: Snapshot = self.kb.commit(files)
        self.index: IndexReader = bring_up_to_date(self.kb.cache, self.snapshot)
        self.searcher = Searcher()

    def search(self, query: str, **options: object) -> SearchResult:
        return self.searcher.search(self.snapshot, self.index, query, SearchOptions(**options))  # type: ignore[arg-type]

    def paths(self, query: str, **options: object) -> list[str]:
        return [hit.path for hit in self.search(query, **options).hits]

    def close(self) -> None:
        self.index.close()
        self.kb.store.close()


Shelve = Callable[[Mapping[str, bytes | str]], Library]


@pytest.fixture
def shelve(tmp_path: Path) -> Iterator[Shelve]:
    """Makes libraries out of files."""
    made: list[Library] = []

    def make(files: Mapping[str, bytes | str]) -> Library:
        made.append(Library(tmp_path / str(len(made)), files))
        return made[-1]

    yield make
    for library in made:
        library.close()
