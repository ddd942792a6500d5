"""Searching a whole knowledge base: what is said where the store is damaged, labels wait, or a policy is broken."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import arbor
from arbor.errors import IntegrityError, UsageError
from arbor.index import access
from arbor.index.reader import IndexReader
from arbor.kb import KnowledgeBase
from arbor.search import audit, working_copy
from arbor.search.ranking import LabelDesk
from arbor.search.results import SearchResult
from arbor.store.odb import ObjectStore


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with arbor.init(tmp_path / "kb") as kb:
        kb.add_bytes("apple.md", b"# Apple\n\nIt fell from the tree.\n")
        kb.add_bytes("pear.md", b"# Pear\n\nIt hangs on the tree.\n")
        kb.commit("one")
        kb.add_bytes("plum.md", b"# Plum\n\nIt lies under the tree.\n")
        kb.commit("two")
        kb.search("tree")
        yield kb


def damage(monkeypatch: pytest.MonkeyPatch, *oids: bytes) -> None:
    """No store gives these objects from now on."""
    real = ObjectStore.get

    def get(store: ObjectStore, oid: bytes) -> tuple[int, bytes]:
        if oid in oids:
            raise IntegrityError(f"object {oid.hex()[:12]} is damaged", "run: arbor verify")
        return real(store, oid)

    monkeypatch.setattr(ObjectStore, "get", get)


def search(kb: KnowledgeBase, mode: str, **named: str) -> SearchResult:
    with arbor.open(kb.fs_root) as reader:
        return reader.search("tree", mode=mode, **named)  # type: ignore[arg-type]


@pytest.mark.parametrize("what", ["commit", "ledger"])
@pytest.mark.parametrize("rank", ["relevance", "ripple"])
def test_without_a_commit_or_its_ledger_only_visual_answers(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, what: str, rank: str
) -> None:
    head = kb.resolve("HEAD")
    wanted = [hit.path for hit in search(kb, "VISUAL").hits]
    damage(monkeypatch, head if what == "commit" else kb.repo.ledger_root(head))
    result = search(kb, "VISUAL", rank=rank)
    assert [hit.path for hit in result.hits] == wanted
    assert result.stale == (what == "commit" or rank == "ripple")
    assert any("is damaged" in note for note in result.notes)
    for mode in ("STRICT", "HYBRID"):
        if what == "commit" or rank == "ripple":
            with pytest.raises(IntegrityError, match="is damaged"):
                search(kb, mode, rank=rank)
        else:
            assert dict(search(kb, mode).withheld) == {audit.LEDGER_DAMAGED: 3}


def test_visual_without_an_index_of_the_version_answers_from_the_one_there_is(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.add_bytes("quince.md", b"# Quince\n\nIt waits on the tree.\n")
    kb.commit("three", index=False)

    def refuse(*_: object, **__: object) -> bool:
        raise IntegrityError("object 1234 is damaged", "run: arbor verify")

    monkeypatch.setattr(access, "rebuild_or_update", refuse)
    result = search(kb, "VISUAL")
    assert result.stale
    assert {hit.path for hit in result.hits} == {"apple.md", "pear.md", "plum.md"}
    with pytest.raises(IntegrityError):
        search(kb, "HYBRID")
    with pytest.raises(IntegrityError):
        search(kb, "VISUAL", at="HEAD")


def test_files_not_committed_do_not_say_that_labels_are_missing(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kb.repo.work_tree() / "draft.md").write_text("# A medlar\n")
    assert kb.search("medlar", mode="VISUAL").notes == ()
    (kb.folder / "cache" / "consensus.db").unlink()
    monkeypatch.setattr("arbor.graph.live.EAGER_DOCUMENTS", 1)
    with arbor.open(kb.fs_root) as reader:
        assert reader.search("medlar", mode="VISUAL").notes == ()
        assert reader.search("tree").notes == ("labels are not worked out yet; run: arbor consensus",)
        reader.consensus("pear.md")
        assert reader.search("tree").notes == ()


@pytest.mark.parametrize("broken", ["[ranking\n", "[nonsense]\n", "[ranking.mine]\nrelevance = 3\n"])
def test_a_broken_policy_stops_no_search(kb: KnowledgeBase, broken: str) -> None:
    kb.add_bytes("arbor.toml", b'[ranking]\ndefault = "ripple"\n')
    kb.commit("a policy")
    wanted = [(hit.path, hit.score) for hit in kb.search("tree").hits]
    assert wanted != [(hit.path, hit.score) for hit in kb.search("tree", rank="relevance").hits]
    (kb.repo.work_tree() / "arbor.toml").write_text(broken)
    for mode in ("STRICT", "HYBRID"):
        result = kb.search("tree", mode=mode)
        assert [(hit.path, hit.score) for hit in result.hits] == wanted
        assert [note.startswith("arbor.toml") for note in result.notes] == [True]
    assert kb.search("tree", mode="VISUAL", limit=1).hits
    with pytest.raises(UsageError, match=r"arbor\.toml"):
        kb.search("tree", rank="mine")
    (kb.repo.work_tree() / "arbor.toml").unlink()
    kb.add_bytes("arbor.toml", b"[ranking.mine]\nrelevance = 3\n", overwrite=True)
    kb.commit("a broken policy")
    assert [hit.score for hit in kb.search("tree").hits] == [
        hit.score for hit in kb.search("tree", rank="relevance").hits
    ]


def test_the_labels_of_a_version_stay_open_for_the_search_that_uses_them(kb: KnowledgeBase) -> None:
    desk, now, before = LabelDesk(kb.repo), kb.snapshot(), kb.snapshot("HEAD~1")
    with desk.at(now, required=True) as (one, _), desk.at(now, required=True) as (same, _):
        assert one is not None
        assert same is one
        with desk.at(before, required=True) as (other, _):
            assert other is not None
            assert other is not one
            assert other.label_of_document(before.get("apple.md"))
        assert one.label_of_document(now.get("plum.md"))
    with desk.at(before, required=True) as (again, _):
        assert again is other
    desk.close()
    for closed in (one, other):
        with pytest.raises(sqlite3.ProgrammingError):
            closed.label_of_document(now.get("apple.md"))


def test_an_index_that_another_thread_has_closed_is_opened_again(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, closed = access.bring_up_to_date, 0

    def open_and_lose(*args: object, **named: object) -> IndexReader:
        nonlocal closed
        reader = real(*args, **named)  # type: ignore[arg-type]
        if not closed:
            reader.close()
        closed += 1
        return reader

    with arbor.open(kb.fs_root) as other:
        monkeypatch.setattr(access, "bring_up_to_date", open_and_lose)
        assert [hit.path for hit in other.search("plum").hits] == ["plum.md"]
    assert closed == 2


def test_changed_files_that_are_not_looked_at_are_counted(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kb.fs_root is not None
    for number in range(5):
        (kb.fs_root / f"new{number}.md").write_text("a tree in the work tree\n")
    (kb.fs_root / "apple.md").write_text("x" * 200)
    monkeypatch.setattr(working_copy, "MAX_FILES", 4)
    monkeypatch.setattr(working_copy, "MAX_FILE_BYTES", 100)
    told = kb.search("tree", mode="VISUAL").notes
    assert [note for note in told if "changed files" in note] == [
        "changed files that were not searched, being too many, too large or unreadable: 3"
    ]
    for named in ({"mode": "HYBRID"}, {"mode": "VISUAL", "working_copy": False}):
        assert not any("changed files" in note for note in kb.search("tree", **named).notes)  # type: ignore[arg-type]
