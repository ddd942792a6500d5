"""Whoever only reads needs no lock and writes nothing: read-only media, busy writers, full disks, damaged state."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import arbor
from arbor.errors import StorageError
from arbor.graph import live
from arbor.index import access, cache_lock, consensus_store
from arbor.index import writer as index_writer
from arbor.index.consensus_store import CONSENSUS_FILE, CONSENSUS_LOCK
from arbor.index.schema import LOCK_FILE as INDEX_LOCK
from arbor.kb import KnowledgeBase
from arbor.store.files import TEMPORARY_PREFIX
from arbor.store.lock import writer_lock

REFUSALS = [errno.EROFS, errno.EACCES]


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with arbor.init(tmp_path / "kb") as kb:
        kb.add_bytes("a.md", b"# Tides\n\nThe harbour fills at noon.\n")
        kb.commit("one")
        kb.add_bytes("b.md", b"# Harbour\n\nBoats wait for the tide.\n")
        kb.commit("two")
        yield kb


def ask_everything(kb: KnowledgeBase) -> list[object]:
    """What people ask of a knowledge base, in every way that has derived state under it."""
    with arbor.open(kb.fs_root) as reader:
        found: list[object] = []
        for mode in ("STRICT", "HYBRID", "VISUAL"):
            for rank in ("relevance", "ripple"):
                for at in (None, "HEAD~1"):
                    result = reader.search("harbour", mode=mode, rank=rank, at=at)
                    found += [
                        (hit.path, hit.score, hit.label, hit.audit, hit.scores.consensus)
                        for hit in result.hits
                    ]
        found += [reader.search("harbour label:NOVEL").hits, reader.consensus("a.md"), reader.standings()]
        found += [reader.ripple(), reader.consensus_history("a.md")]
        return found


def refuse_writing(monkeypatch: pytest.MonkeyPatch, refusal: int) -> None:
    def refuse(fs_path: Path, *_: object, **__: object) -> None:
        raise OSError(refusal, os.strerror(refusal), str(fs_path))

    monkeypatch.setattr(cache_lock, "writer_lock", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)


@pytest.mark.parametrize("cache", ["current", "stale", "empty", "absent"])
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_read_only_knowledge_base_answers_as_any_other(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, refusal: int, cache: str
) -> None:
    if cache == "stale":
        kb.add_bytes("c.md", b"# Quay\n\nThe harbour has a quay.\n")
        kb.commit("three", index=False)
    with arbor.open(kb.fs_root) as copy:
        shutil.copytree(copy.fs_root or "", kb.folder.parent.parent / "copy")
    with arbor.open(kb.folder.parent.parent / "copy") as copy:
        wanted = ask_everything(copy)
    if cache in ("empty", "absent"):
        shutil.rmtree(kb.folder / "cache")
    if cache == "empty":
        (kb.folder / "cache").mkdir()
    before = {path: path.read_bytes() for path in kb.folder.rglob("*") if path.is_file()}
    refuse_writing(monkeypatch, refusal)
    assert ask_everything(kb) == wanted
    left = {path: path.read_bytes() for path in kb.folder.rglob("*") if path.is_file()}
    changed = [path for path in {*before, *left} if before.get(path) != left.get(path)]
    assert [path for path in changed if not path.name.endswith(("-shm", "-wal"))] == []


def test_readers_of_what_is_current_take_no_lock(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    kb.search("harbour", at="HEAD~1")
    cache = kb.folder / "cache"

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a reader asked for a lock")

    monkeypatch.setattr(cache_lock, "writer_lock", refuse)
    with writer_lock(cache / CONSENSUS_LOCK), writer_lock(cache / INDEX_LOCK):
        ask_everything(kb)


def test_state_that_somebody_else_is_updating_is_waited_for_a_moment_and_then_worked_out(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.add_bytes("c.md", b"# Quay\n\nThe harbour has a quay.\n")
    kb.commit("three", index=False)
    for module in (live, access):
        monkeypatch.setattr(module, "READER_WAIT_S", 0.4)
    cache, told = kb.folder / "cache", list[str]()
    with writer_lock(cache / CONSENSUS_LOCK), writer_lock(cache / INDEX_LOCK):
        result = kb.search("quay", progress=told.append)
        assert [(hit.path, hit.label) for hit in result.hits] == [("c.md", "NOVEL")]
        assert kb.consensus("c.md").path == "c.md"
    assert sum("waiting for it" in each for each in told) == 2, "once for the index, once for the consensus"
    told.clear()
    assert kb.search("quay", progress=told.append).hits == result.hits
    assert told == []


def fill_the_disk(monkeypatch: pytest.MonkeyPatch, folder: Path, pages: int) -> None:
    """Let databases below a folder grow to so many pages only: beyond, SQLite says that the disk is full."""

    def limited(connect: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
        def connect_to_limited(fs_path: Path, **named: bool) -> sqlite3.Connection:
            connection = connect(fs_path, **named)
            if fs_path.is_relative_to(folder):
                connection.execute(f"PRAGMA max_page_count = {pages}")
            return connection

        return connect_to_limited

    monkeypatch.setattr(index_writer, "connect_to_write", limited(index_writer.connect_to_write))
    monkeypatch.setattr(consensus_store, "connect_to_change", limited(consensus_store.connect_to_change))


@pytest.mark.parametrize("cache", ["there", "absent"])
def test_a_full_disk_takes_the_caches_and_not_the_commit(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    if cache == "absent":
        shutil.rmtree(kb.folder / "cache")
    with monkeypatch.context() as limits:
        fill_the_disk(limits, kb.folder, 3)
        kb.add_bytes("c.md", "".join(f"word{number} of the harbour\n" for number in range(9000)).encode())
        made = kb.commit("three")
        assert made.commit == kb.resolve("HEAD").hex()
        assert ["the disk is full" in warning for warning in made.warnings] == [True, True]
        told: list[str] = []
        with arbor.open(kb.fs_root) as reader:
            assert [hit.path for hit in reader.search("word77", progress=told.append).hits] == ["c.md"]
            assert reader.search("word77", rank="ripple").hits[0].label == "NOVEL"
            assert reader.consensus("c.md").path == "c.md"
        assert ["the disk is full" in each for each in told] == [True, True]
        with pytest.raises(StorageError, match="the disk is full"):
            kb.reindex()
    assert [hit.path for hit in kb.search("word77").hits] == ["c.md"]
    assert kb.verify(deep=True).ok


def test_where_no_room_is_left_at_all_the_disk_is_named(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.add_bytes("c.md", b"# Quay\n\nThe harbour has a quay.\n")
    kb.commit("three", index=False)
    shutil.rmtree(kb.folder / "cache")
    fill_the_disk(monkeypatch, Path("/"), 3)
    with pytest.raises(StorageError, match="the disk is full"):
        kb.search("quay")
    kb.commit("four", allow_empty=True)


def test_a_damaged_state_is_made_anew_by_whoever_meets_it(kb: KnowledgeBase) -> None:
    wanted = ask_everything(kb)
    kb.close()
    path = kb.folder / "cache" / CONSENSUS_FILE
    whole = path.read_bytes()
    for start in (0, 4096, 8192, 12288, 20480):
        data = bytearray(whole)
        data[start:] = os.urandom(len(data) - start)
        for beside in path.parent.glob(f"{path.name}-*"):
            beside.unlink()
        path.write_bytes(data)
        with arbor.open(kb.fs_root) as reader:
            assert not reader.verify().ok
            assert ask_everything(reader) == wanted, f"damaged from byte {start} on"
            assert reader.verify().ok


@pytest.mark.parametrize("name", ["index.db", "index.sum", "consensus.db", "consensus.sum"])
def test_a_damaged_cache_is_mended_by_reindexing(kb: KnowledgeBase, name: str) -> None:
    wanted = ask_everything(kb)
    kb.close()
    (kb.folder / "cache" / name).write_bytes(os.urandom(5000))
    with arbor.open(kb.fs_root) as damaged:
        report = damaged.verify()
        assert not report.ok
        assert {finding.where.split("/")[0] for finding in report.damaged} == {"cache"}
        damaged.reindex()
        assert damaged.verify(deep=True).ok
        assert ask_everything(damaged) == wanted


def test_what_killed_writers_left_goes_with_the_next_reindexing(kb: KnowledgeBase) -> None:
    kb.search("harbour", at="HEAD~1")
    cache = kb.folder / "cache"
    old, new = cache / f"{TEMPORARY_PREFIX}1-old", cache / f"{TEMPORARY_PREFIX}2-new"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 120,) * 2)
    with writer_lock(cache / CONSENSUS_LOCK):
        access.remove_leftovers(cache)
    assert old.exists(), "its writer may still be at work"
    kb.reindex()
    assert (old.exists(), new.exists()) == (False, True)
    os.utime(new, (time.time() - 7200,) * 2)
    kb.add()
    assert not new.exists()
    assert list((cache / access.OLDER_FOLDER).iterdir()) == []
