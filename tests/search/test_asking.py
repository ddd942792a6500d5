"""Searching a whole knowledge base: what is said where the store is damaged, labels wait, or a policy is broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import arbor
from arbor.errors import IntegrityError, UsageError
from arbor.graph.standing import Label
from arbor.index import access
from arbor.kb import KnowledgeBase
from arbor.objects.model import Signature
from arbor.repo.commits import history
from arbor.repo.repository import Repository
from arbor.search import audit, changed_files
from arbor.search.labels import LabelDesk
from arbor.search.lending import ReaderDesk
from arbor.search.results import SearchResult
from arbor.search.searching import Searcher
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


def test_what_other_threads_do_meanwhile_closes_nothing_that_a_search_uses(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a thread that is stopped between opening the index and asking it, while others commit and search."""
    real = Searcher.search
    turns: list[str] = []

    def search(searcher: Searcher, *what: Any) -> SearchResult:
        if not turns:
            turns.append("commit")
            kb.add_bytes("quince.md", b"# Quince\n\nIt waits on the tree.\n")
            kb.commit("three")
            assert len(kb.search("tree label:novel", mode="STRICT").hits) == 4
        return real(searcher, *what)

    monkeypatch.setattr(Searcher, "search", search)
    result = kb.search("tree", mode="STRICT", rank="ripple")
    assert {hit.path for hit in result.hits} == {"apple.md", "pear.md", "plum.md"}
    assert {hit.label for hit in result.hits} == {"NOVEL"}


def test_a_private_index_goes_when_the_last_search_is_done_with_it(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the folder cannot be written, each version has an index in a folder of its own."""
    desk, snapshot = ReaderDesk(), kb.snapshot()
    first = access.build_private(snapshot)
    desk.keep(first)
    assert desk.borrow() is first
    desk.give_back(first)
    desk.keep(access.build_private(snapshot))
    with first.session(snapshot.ledger_root) as session:
        assert session.count_paths() == 3
    desk.give_back(first)
    assert not first.fs_path.exists()
    second = desk.borrow()
    assert second is not None
    assert second is not first
    desk.forget(first)
    assert desk.borrow() is second
    desk.forget()
    assert second.fs_path.exists()
    for _ in range(3):
        desk.give_back(second)
    assert not second.fs_path.exists()


def test_searches_that_run_at_once_have_a_consensus_each(kb: KnowledgeBase) -> None:
    desk = LabelDesk(kb.repo)
    old = kb.snapshot()
    with desk.at(old, required=True) as (first, _), desk.at(old, required=True) as (second, _):
        assert first is not None
        assert second is not None
        kb.add_bytes("quince.md", b"# Quince\n\nIt waits on the tree.\n")
        kb.commit("three")
        with desk.at(kb.snapshot(), required=True) as (third, _):
            assert third is not None
            assert len(third.documents_labelled(Label.NOVEL)) == 4
        desk.close()
        for consensus in (first, second):
            assert consensus.ledger_root == old.ledger_root
            assert len(consensus.documents_labelled(Label.NOVEL)) == 3
    with desk.at(kb.snapshot(), required=True) as (after, _):
        assert after is not None
        assert after.ledger_root == kb.snapshot().ledger_root
    desk.close()


def test_changed_files_that_are_not_looked_at_are_counted(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kb.fs_root is not None
    for number in range(5):
        (kb.fs_root / f"new{number}.md").write_text("a tree in the work tree\n")
    (kb.fs_root / "apple.md").write_text("x" * 200)
    monkeypatch.setattr(changed_files, "MAX_FILES", 4)
    monkeypatch.setattr(changed_files, "MAX_FILE_BYTES", 100)
    told = kb.search("tree", mode="VISUAL").notes
    assert [note for note in told if "changed files" in note] == [
        "changed files that were not searched, being too many, too large or unreadable: 3"
    ]
    for named in ({"mode": "HYBRID"}, {"mode": "VISUAL", "working_copy": False}):
        assert not any("changed files" in note for note in kb.search("tree", **named).notes)  # type: ignore[arg-type]


def test_a_consensus_policy_that_makes_no_sense_stops_only_what_needs_labels(kb: KnowledgeBase) -> None:
    """Which may have come with a clone."""
    wanted = [hit.path for hit in kb.search("tree path:*.md").hits]
    kb.add_bytes("arbor.toml", b"[ripple]\nlambda = 1.5\n")
    kb.commit("a policy")
    result = kb.search("tree path:*.md")
    assert [hit.path for hit in result.hits] == wanted
    assert {hit.label for hit in result.hits} == {None}
    assert [
        note for note in result.notes if note.startswith("without labels: the consensus policy needs lambda")
    ]
    with pytest.raises(UsageError, match="lambda"):
        kb.search("tree label:novel")
    with pytest.raises(UsageError, match="lambda"):
        kb.search("tree", rank="ripple")


def test_a_search_ends_though_others_move_the_index_on_each_time_it_is_opened(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, times = access.bring_up_to_date, iter(range(100))

    def outrun(*given: Any, **named: Any) -> Any:
        reader = real(*given, **named)
        number = next(times)
        kb.add_bytes(f"new{number}.md", b"# New\n\nAnother tree.\n")
        kb.commit(f"new {number}")
        return reader

    monkeypatch.setattr(access, "bring_up_to_date", outrun)
    head = kb.resolve()
    found = search(kb, "STRICT")
    assert found.rev == head
    assert [hit.path for hit in found.hits] == ["apple.md", "pear.md", "plum.md"]


def test_what_a_profile_weighs_alike_is_in_path_order_and_not_in_that_of_relevance(tmp_path: Path) -> None:
    profile = "[ranking.flat]\nrelevance = 0.0\nconsensus = 0.0\nquality = 1.0\nfreshness = 0.0\n"
    with arbor.init(tmp_path / "kb") as kb:
        kb.add_bytes("arbor.toml", profile.encode())
        kb.add_bytes("a.md", b"a tree among many other words that say nothing of it\n")
        kb.add_bytes("z.md", b"tree tree\n")
        kb.commit("all")
        assert [hit.path for hit in kb.search("tree", rank="relevance").hits] == ["z.md", "a.md"]
        assert [hit.path for hit in kb.search("tree", rank="flat").hits] == ["a.md", "z.md"]


def test_what_a_file_of_the_work_tree_stands_in_for_is_not_more(kb: KnowledgeBase) -> None:
    assert kb.fs_root is not None
    (kb.fs_root / "apple.md").write_text("# Apple\n\nIt is in the basket.\n")
    (kb.fs_root / "pear.md").write_text("# Pear\n\nIt is in the basket, too.\n")
    found = kb.search("tree", mode="VISUAL", limit=1)
    assert ([hit.path for hit in found.hits], found.more) == (["plum.md"], False)
    assert kb.search("tree", mode="HYBRID", limit=1).more
    assert kb.search("tree", mode="HYBRID", limit=1, rank="ripple").more


def test_more_is_said_also_where_the_next_candidates_are_hidden(tmp_path: Path) -> None:
    with arbor.init(tmp_path / "kb") as kb:
        assert kb.fs_root is not None
        for number in range(12):
            kb.add_bytes(f"note{number:02}.md", f"# Note {number}\n\nsome words\n".encode())
        kb.commit("all")
        for left in range(12, 0, -1):  # a file that is gone hides its document from such a search
            for limit in (1, 2, left - 1, left, left + 1):
                if limit > 0:
                    found = kb.search("path:note*", mode="VISUAL", limit=limit)
                    assert (len(found.hits), found.more) == (min(limit, left), limit < left), (left, limit)
            (kb.fs_root / f"note{12 - left:02}.md").unlink(missing_ok=True)


def test_a_time_span_walks_the_log_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[int] = []
    walk = history.iter_log

    def iter_log(*given: Any, **named: Any) -> Iterator[history.LogEntry]:
        walked.append(1)
        return walk(*given, **named)

    with arbor.init(tmp_path / "spans") as kb:
        for number in range(4):
            kb.add_bytes(f"{number}.md", f"word and {number}\n".encode())
            monkeypatch.setattr(Repository, "who", lambda repo, now=None, day=number: Signature(
                "Ada", "ada@example.org", 1_704_067_200 + day * 86_400, 0))  # fmt: skip
            kb.commit(str(number))
        monkeypatch.setattr(history, "iter_log", iter_log)
        found = kb.search("word since:2024-01-02 until:2024-01-03")
        assert {hit.path for hit in found.hits} == {"1.md", "2.md"}
        assert len(walked) == 1
        assert {hit.path for hit in kb.search("word until:2024-01-01").hits} == {"0.md"}


def test_an_empty_revision_is_an_error_and_not_head(kb: KnowledgeBase) -> None:
    for ask in (
        lambda: kb.search("tree", at=""),
        lambda: list(kb.log("")),
        lambda: kb.ripple(""),
        lambda: kb.diff("", "HEAD"),
        lambda: kb.diff("", staged=True),
        lambda: kb.trust.prove("apple.md", ""),
        lambda: kb.trust.prove_absent("fig.md", ""),
        lambda: kb.trust.prove_consistency("", "HEAD"),
        lambda: kb.trust.checkpoint(""),
        lambda: kb.trust.tiers((), ""),
        lambda: kb.trust.rehydrate((), revision=""),
        lambda: kb.trust.cores(""),
        lambda: kb.trust.check_cores((), ""),
    ):
        with pytest.raises(UsageError, match="'' is not a revision"):
            ask()
