from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from arbor.errors import IntegrityError, UsageError
from arbor.index import access, feed, schema, writer
from arbor.index.access import bring_up_to_date, index_path
from arbor.index.checking import check
from arbor.index.checksum import is_unchanged
from arbor.index.schema import connect_to_read, stamp_of
from arbor.index.writer import build
from tests.index.dumping import dump
from tests.index.small_kb import SmallKb

FILES = {
    "a.md": "# Alpha\n\nThe first letter.\n\n## Beta\n\nThe second letter, in a section of its own.\n",
    "copy/a.md": "# Alpha\n\nThe first letter.\n\n## Beta\n\nThe second letter, in a section of its own.\n",
    "leer.txt": "",
    "知识/笔记.md": "---\nlang: zh-CN\ndate: 2024-05-31\n---\n# 知识库\n\n把笔记放进版本库。\n",
    "nul.txt": "before\x00after and \x01 more",
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
}


@pytest.fixture
def kb(tmp_path: Path) -> SmallKb:
    return SmallKb(tmp_path)


def rows(fs_path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = connect_to_read(fs_path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def test_a_new_index_holds_every_document_once_and_every_path(kb: SmallKb) -> None:
    snapshot = kb.commit(FILES)
    bring_up_to_date(kb.cache, snapshot).close()
    path = index_path(kb.cache)
    assert rows(path, "SELECT path FROM paths ORDER BY path") == [(each,) for each in sorted(FILES)]
    assert rows(path, "SELECT count(*) FROM documents") == [(len(set(FILES.values())),)]
    assert check(path, snapshot, deep=True) == []
    assert is_unchanged(path) is True


def test_language_and_date_come_from_front_matter(kb: SmallKb) -> None:
    bring_up_to_date(kb.cache, kb.commit(FILES)).close()
    found = rows(index_path(kb.cache), "SELECT title, lang, dated FROM documents WHERE lang = 'zh'")
    assert found == [("知识库", "zh", 1717113600)]


def test_a_document_without_text_still_has_its_row(kb: SmallKb) -> None:
    bring_up_to_date(kb.cache, kb.commit(FILES)).close()
    found = rows(
        index_path(kb.cache),
        "SELECT d.title FROM passages f JOIN documents d ON d.id = f.rowid"
        " WHERE f.passages MATCH 'path : leer OR path : picture'",
    )
    assert sorted(found) == [("leer",), ("picture",)]


def test_an_index_is_built_the_same_twice(kb: SmallKb) -> None:
    snapshot = kb.commit(FILES)
    build(kb.cache / "one.db", snapshot)
    build(kb.cache / "two.db", snapshot)
    assert dump(kb.cache / "one.db") == dump(kb.cache / "two.db")


def test_an_empty_version_has_an_empty_index(kb: SmallKb) -> None:
    snapshot = kb.commit({})
    with bring_up_to_date(kb.cache, snapshot) as reader, reader.session(snapshot.ledger_root) as session:
        assert session.statistics() == (0, 0.0)
    assert check(index_path(kb.cache), snapshot, deep=True) == []


def test_a_current_index_is_left_alone(kb: SmallKb) -> None:
    snapshot = kb.commit(FILES)
    bring_up_to_date(kb.cache, snapshot).close()
    before = index_path(kb.cache).stat()
    bring_up_to_date(kb.cache, snapshot).close()
    after = index_path(kb.cache).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_an_index_of_other_rules_is_made_anew(kb: SmallKb, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = kb.commit(FILES)
    bring_up_to_date(kb.cache, snapshot).close()
    before = index_path(kb.cache).stat().st_ino
    monkeypatch.setattr(schema, "ANALYZER_ID", "of the next release")
    with bring_up_to_date(kb.cache, snapshot) as reader:
        assert reader.stamp == stamp_of(snapshot.ledger_root)
        assert reader.stamp.analyzer == "of the next release"
    assert index_path(kb.cache).stat().st_ino != before


def test_a_build_that_takes_a_while_is_announced(kb: SmallKb, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = kb.commit(FILES)
    said: list[str] = []
    bring_up_to_date(kb.cache, snapshot, progress=said.append).close()
    assert said == []
    monkeypatch.setattr(writer, "TOLD_DOCUMENTS", 1)
    bring_up_to_date(kb.cache, snapshot, progress=said.append).close()
    assert said == [], "it is current"
    index_path(kb.cache).unlink()
    bring_up_to_date(kb.cache, snapshot, progress=said.append).close()
    [sentence] = said
    assert sentence.startswith("building the search index of ")


def test_what_cannot_be_read_fails_the_build_and_leaves_nothing(
    kb: SmallKb, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = kb.commit(FILES)

    def refuse(*_: object, **__: object) -> bytes:
        raise IntegrityError("the disk forgot")

    monkeypatch.setattr("arbor.index.entries.SequentialReader.get_kind", refuse)
    with pytest.raises(IntegrityError, match="the disk forgot"):
        bring_up_to_date(kb.cache, snapshot)
    assert [path.name for path in kb.cache.iterdir()] == ["index.lock"]


def test_a_passage_that_is_gone_leaves_its_document_findable_by_name(
    kb: SmallKb, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = kb.commit({"cold.md": "# Glacier\n\nsnow and ice\n", "warm.md": "# Beach\n\nsand\n"})
    cold = snapshot.document(snapshot.get("cold.md"))
    gone = {ref.oid for ref in snapshot.manifest(cold).passages}
    real = kb.store.get_kind

    def get_kind(reader: object, oid: bytes, kind: object) -> bytes:
        if oid in gone:
            raise IntegrityError("cold")
        return real(oid, kind)  # type: ignore[arg-type]

    monkeypatch.setattr("arbor.index.entries.SequentialReader.get_kind", get_kind)
    bring_up_to_date(kb.cache, snapshot).close()
    path = index_path(kb.cache)
    assert rows(path, "SELECT title, whole FROM documents ORDER BY title") == [("Beach", 1), ("Glacier", 0)]
    assert len(rows(path, "SELECT rowid FROM passages WHERE passages MATCH 'glacier'")) == 1
    assert rows(path, "SELECT rowid FROM passages WHERE passages MATCH 'snow'") == []


def test_reading_happens_in_another_thread_and_its_errors_come_back(kb: SmallKb) -> None:
    snapshot = kb.commit({f"{number}.md": f"word{number} " * 400 for number in range(40)})

    class Snag(Exception):
        pass

    class Snagging:
        ledger_root = snapshot.ledger_root
        store = snapshot.store

        def searchable(self) -> object:
            yield from snapshot.searchable()
            raise Snag

        def tiers(self) -> object:
            return snapshot.tiers()

        def cold_words(self) -> dict[bytes, str]:
            return {}

        def tiers_word(self) -> str:
            return ""

    with pytest.raises(Snag):
        build(kb.cache / "index.db", Snagging())  # type: ignore[arg-type]
    assert list(kb.cache.iterdir()) == []


def test_an_old_sqlite_is_named(kb: SmallKb, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = kb.commit(FILES)
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 37, 2))
    with pytest.raises(UsageError, match="too old"):
        bring_up_to_date(kb.cache, snapshot)
    monkeypatch.undo()
    monkeypatch.setattr("arbor.index.schema._TABLES", "CREATE VIRTUAL TABLE x USING fts5_is_not_here(y)")
    with pytest.raises(UsageError, match="no full-text search"):
        bring_up_to_date(kb.cache, snapshot)


def test_an_interrupt_while_sqlite_works_is_an_interrupt(
    kb: SmallKb, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_feed: object, _number: int) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(feed._Feed, "has_batch", interrupted)
    target = kb.cache / "index.db"
    with pytest.raises(KeyboardInterrupt):
        build(target, kb.commit(FILES))
    assert not target.exists()
    assert not list(kb.cache.iterdir())


def test_an_index_that_another_process_takes_away_is_not_missed(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.db").touch()
        os.utime(tmp_path / f"{number}.db", (number, number))
    (tmp_path / "gone.db").symlink_to(tmp_path / "nowhere")  # listed, and not there
    access._forget_older(tmp_path, keep=2)
    assert {path.name for path in tmp_path.glob("?.db")} == {"4.db", "5.db"}
