"""Incremental == rebuild, in every state that a history can lead to."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbor.index import entries, write_ahead, writer
from arbor.index.access import bring_up_to_date, index_path, open_at, rebuild_or_update
from arbor.index.checking import check
from arbor.index.writer import CannotUpdate, build, update
from tests.index.dumping import dump
from tests.index.small_kb import SmallKb

TEXTS = (
    "",
    "# Alpha\n\none two three\n",
    "# Alpha\n\none two three four\n",
    "plain words, no heading",
    "知识库 的 版本 management\n\nC++ and C#",
    "---\ntitle: Named\ndate: 2020-01-02\n---\ntext " + "long " * 1500,
    "before\x00after",
    "Café naïve ＦＵＬＬ ｱｲｳ 한국어 สวัสดี",
    b"\xff\xfe" + "sixteen bits".encode("utf-16-le"),
    b"\x00\x01\x02 not text \xff",
)
PATHS = ("a.md", "b.md", "c.txt", "d/a.md", "d/e/long name.md", "知.md", "z.md")
STATES = st.lists(st.dictionaries(st.sampled_from(PATHS), st.sampled_from(TEXTS)), min_size=2, max_size=6)


@pytest.mark.parametrize("large_bytes", [entries.LARGE_BYTES, 20])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=STATES)
def test_any_sequence_of_versions_ends_as_a_rebuild(
    monkeypatch: pytest.MonkeyPatch, large_bytes: int, states: list[dict[str, bytes | str]]
) -> None:
    monkeypatch.setattr(entries, "LARGE_BYTES", large_bytes)
    with tempfile.TemporaryDirectory() as folder:
        kb = SmallKb(Path(folder))
        for files in states:
            snapshot = kb.commit(files)
            bring_up_to_date(kb.cache, snapshot).close()
            build(kb.folder / "fresh.db", snapshot)
            assert dump(index_path(kb.cache)) == dump(kb.folder / "fresh.db")
        assert check(index_path(kb.cache), snapshot, deep=True) == []


def test_a_long_history_updates_and_never_drifts(tmp_path: Path) -> None:
    kb, source = SmallKb(tmp_path), random.Random(7)
    words = [f"word{number}" for number in range(300)]
    files: dict[str, bytes | str] = {}
    for number in range(120):
        files[f"n/{number}.md"] = f"# Note {number}\n\n" + " ".join(
            source.choices(words, k=source.randint(5, 600))
        )
    bring_up_to_date(kb.cache, kb.commit(files)).close()
    for step in range(40):
        for path in source.sample(sorted(files), 3):
            content = files.pop(path)
            if source.random() < 0.7:
                files[source.choice((path, f"moved/{step}-{path[2:]}"))] = (
                    content if source.random() < 0.5 else f"{content!s} edited {step}"
                )
        files[f"n/new{step}.md"] = " ".join(source.choices(words, k=80))
        assert rebuild_or_update(index_path(kb.cache), kb.commit(files)) is False, "it was built anew"
    snapshot = kb.commit(files)
    build(tmp_path / "fresh.db", snapshot)
    assert dump(index_path(kb.cache)) == dump(tmp_path / "fresh.db")
    assert check(index_path(kb.cache), snapshot, deep=True) == []


def test_a_rename_touches_one_document(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    files: dict[str, bytes | str] = {f"n/{number}.md": f"note {number}" for number in range(50)}
    build(index_path(kb.cache), kb.commit(files))
    files["elsewhere.md"] = files.pop("n/7.md")
    assert update(index_path(kb.cache), kb.commit(files)) == (0, 0, 1)


def test_two_files_that_change_places(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    build(index_path(kb.cache), kb.commit({"a": "one", "b": "two", "c": "three"}))
    snapshot = kb.commit({"a": "two", "b": "one", "c": "three"})
    assert update(index_path(kb.cache), snapshot) == (0, 0, 2)
    assert check(index_path(kb.cache), snapshot) == []


def test_a_change_of_most_documents_is_a_rebuild(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_UPDATE_FREE", 0)
    kb = SmallKb(tmp_path)
    build(index_path(kb.cache), kb.commit({str(n): f"old {n}" for n in range(10)}))
    snapshot = kb.commit({str(n): f"new {n}" for n in range(10)})
    with pytest.raises(CannotUpdate):
        update(index_path(kb.cache), snapshot)
    assert rebuild_or_update(index_path(kb.cache), snapshot) is True
    assert check(index_path(kb.cache), snapshot) == []


def test_an_index_of_a_ledger_that_is_gone_is_built_anew(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    build(index_path(kb.cache), kb.commit({"a": "gone"}))
    shutil.rmtree(kb.packs)
    kb = SmallKb(tmp_path)
    snapshot = kb.commit({"b": "here"})
    assert rebuild_or_update(index_path(kb.cache), snapshot) is True
    assert check(index_path(kb.cache), snapshot) == []


def test_the_write_ahead_file_is_folded_in_when_it_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = SmallKb(tmp_path)
    path = index_path(kb.cache)
    build(path, kb.commit({"a": "one"}))
    main, files = path.read_bytes(), {"a": "one", "b": "two"}
    update(path, kb.commit(files))
    assert path.read_bytes() == main, "an update changed the main file behind its checksum"
    monkeypatch.setattr(write_ahead, "FOLD_BYTES", 0)
    snapshot = kb.commit({**files, "c": "three"})
    update(path, snapshot)
    assert path.read_bytes() != main
    assert path.with_name("index.db-wal").stat().st_size == 0
    assert check(path, snapshot, deep=True) == []


@settings(max_examples=25)
@given(first=st.dictionaries(st.sampled_from(PATHS), st.sampled_from(TEXTS), min_size=1),
       second=st.dictionaries(st.sampled_from(PATHS), st.sampled_from(TEXTS), min_size=1))  # fmt: skip
def test_the_index_of_another_revision_is_that_of_a_rebuild(
    first: dict[str, bytes | str], second: dict[str, bytes | str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kb = SmallKb(Path(folder))
        older, newer = kb.commit(first), kb.commit(second)
        bring_up_to_date(kb.cache, newer).close()
        before = dump(index_path(kb.cache))
        with open_at(kb.cache, older) as reader:
            build(kb.folder / "fresh.db", older)
            assert dump(reader.fs_path) == dump(kb.folder / "fresh.db")
        assert dump(index_path(kb.cache)) == before


def test_indexes_of_other_revisions_are_kept_for_a_while(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    snapshots = [kb.commit({"a": f"version {number}"}) for number in range(7)]
    bring_up_to_date(kb.cache, snapshots[-1]).close()
    for snapshot in snapshots[:-1]:
        open_at(kb.cache, snapshot).close()
    kept = list((kb.cache / "at").glob("*.db"))
    assert len(kept) == 4
    newest = kb.cache / "at" / f"{snapshots[-2].ledger_root.hex()}.db"
    stamp = newest.stat().st_ino
    open_at(kb.cache, snapshots[-2]).close()
    assert newest.stat().st_ino == stamp, "it was made again"
