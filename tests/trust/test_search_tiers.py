"""Searching what is cold, warm or distilled: found as far as it is here, and labelled for what is proven."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import arbor
from arbor import KnowledgeBase
from arbor.errors import ColdDocument, UsageError
from arbor.repo.desk import TrustDesk
from tests.trust.conftest import MakeKb

NOTES: dict[str, str | bytes] = {
    "glaciers.md": "---\ntags: [moraine, fjord]\n---\n# Ice rivers\n\n## Calving fronts\n\nSlow ice carves valleys.\n",
    "deserts.md": "# Deserts\n\nDunes of sand move slowly, like ice does.\n",
}


@pytest.fixture
def kb(make_kb: MakeKb) -> KnowledgeBase:
    return make_kb(NOTES)


def hits(kb: KnowledgeBase, query: str, mode: str = "HYBRID") -> dict[str, Any]:
    return {hit.path: hit for hit in kb.search(query, mode=mode).hits}


def label(kb: KnowledgeBase, query: str, path: str, mode: str = "HYBRID") -> str:
    found = hits(kb, query, mode)
    return str(found[path].audit.name) if path in found else ""


def evict(kb: KnowledgeBase, tmp_path: Path, path: str, tier: str = "cold") -> Path:
    archive = tmp_path / "archive"
    assert kb.fs_root is not None
    shutil.copytree(kb.fs_root, archive, ignore=shutil.ignore_patterns(".arbor"), dirs_exist_ok=True)
    assert TrustDesk(kb.repo).evict([path], tier=tier, places=[archive]).evicted
    return archive


def test_a_cold_document_without_a_file_is_in_the_working_copy(kb: KnowledgeBase, tmp_path: Path) -> None:
    evict(kb, tmp_path, "glaciers.md")
    assert kb.fs_root is not None
    for name in NOTES:
        (kb.fs_root / name).unlink()
    assert [hit.path for hit in kb.search("glaciers", mode="VISUAL").hits] == ["glaciers.md"]
    assert hits(kb, "slowly", "VISUAL") == {}, "a file that is gone, of a document that is not cold"
    (kb.fs_root / "glaciers.md").write_text("# Melted\n")
    kb.add()
    (kb.fs_root / "glaciers.md").unlink()
    assert hits(kb, "glaciers", "VISUAL") == {}, "another version is staged"


def test_a_copy_of_a_cold_document_shows_its_text(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert kb.fs_root is not None
    evict(kb, tmp_path, "glaciers.md")
    (kb.fs_root / "glaciers.md").rename(kb.fs_root / "copy.md")
    hit = hits(kb, "rivers valleys", "VISUAL")["glaciers.md"]
    assert hit.paths == ("glaciers.md", "copy.md")
    assert "carves valleys" in hit.snippet
    assert hit.line is not None


def test_a_cold_document_is_found_by_what_is_here(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert label(kb, "valleys", "glaciers.md") == "STRICT"
    archive = evict(kb, tmp_path, "glaciers.md")
    for query in ("glaciers", "rivers", "calving", "moraine"):
        assert label(kb, query, "glaciers.md") == "HYBRID", query
        assert "glaciers.md" not in hits(kb, query, "STRICT"), query
    [hit] = kb.search("fjord", mode="HYBRID").hits
    assert any("cold" in reason for reason in hit.reasons)
    withheld = kb.search("moraine", mode="STRICT").withheld
    assert sum(withheld.values()) == 1
    assert any("cold" in reason for reason in withheld)
    assert kb.search("nowhere", mode="STRICT").notes == (
        "searched only by title, path and kept words, being cold: 1",
    )
    assert label(kb, "valleys", "glaciers.md") == "HYBRID", "a keyword that was kept"
    assert label(kb, "slowly", "deserts.md", "STRICT") == "STRICT"
    TrustDesk(kb.repo).rehydrate(["glaciers.md"], places=[archive])
    assert label(kb, "valleys", "glaciers.md", "STRICT") == "STRICT"


def test_without_the_cache_the_answers_are_the_same(kb: KnowledgeBase, tmp_path: Path) -> None:
    evict(kb, tmp_path, "glaciers.md")
    queries = ("ice", "valleys", "moraine", "slowly", "calving fronts")

    def answers() -> list[Any]:
        return [
            [(hit.path, hit.score, hit.audit, hit.reasons) for hit in kb.search(query, mode="HYBRID").hits]
            for query in queries
        ]

    before = answers()
    kb.reindex()
    assert answers() == before
    assert kb.verify().ok


def test_a_warm_document_is_not_found(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert "glaciers.md" in hits(kb, "ice")
    evict(kb, tmp_path, "glaciers.md", "warm")
    assert set(hits(kb, "ice")) == {"deserts.md"}
    assert "glaciers.md" not in hits(kb, "rivers", "VISUAL")
    assert kb.search("ice").notes == ("not searched, being warm: 1",)
    assert kb.verify().ok
    TrustDesk(kb.repo).rehydrate(["glaciers.md"])
    assert "glaciers.md" in hits(kb, "ice")
    assert kb.search("ice").notes == ()


def test_commits_go_on_with_cold_and_warm_documents(kb: KnowledgeBase, tmp_path: Path) -> None:
    evict(kb, tmp_path, "glaciers.md")
    evict(kb, tmp_path, "deserts.md", "warm")
    kb.search("ice", mode="HYBRID")
    kb.add_bytes("tundra.md", b"# Tundra\n\nFrozen ice ground.\n")
    kb.commit("tundra")
    assert set(hits(kb, "ice")) == {"tundra.md", "glaciers.md"}
    kb.rm(["deserts.md"], force=True)
    kb.mv(["tundra.md"], "north.md")
    kb.commit("moved")
    assert set(hits(kb, "ice")) == {"north.md", "glaciers.md"}
    assert kb.verify().ok
    assert kb.verify(deep=True).ok


def test_cores_are_found_and_audited(kb: KnowledgeBase) -> None:
    trust = TrustDesk(kb.repo)
    trust.add_core("haiku/ice", "Blue tongue of winter\n", [("glaciers.md", None, None)])
    kb.commit("haiku")
    assert label(kb, "winter", "core:haiku/ice", "STRICT") == "STRICT"
    assert set(hits(kb, "winter kind:core")) == {"core:haiku/ice"}
    assert hits(kb, "winter kind:surface") == {}
    hit = hits(kb, "winter")["core:haiku/ice"]
    assert hit.kind == "core"
    trust.remove_core("haiku/ice")
    kb.commit("gone")
    assert hits(kb, "winter") == {}
    assert kb.verify().ok


def test_a_core_with_a_false_binding_is_not_strict(kb: KnowledgeBase) -> None:
    from tests.trust.test_cores import tampered

    TrustDesk(kb.repo).add_core("haiku/ice", "Blue tongue of winter\n", [("glaciers.md", None, None)])
    kb.commit("haiku")
    tampered(kb, "haiku/ice", sources=())
    assert label(kb, "winter", "core:haiku/ice") == "HYBRID"
    assert hits(kb, "winter", "STRICT") == {}


def test_a_core_hit_shows_its_sources_and_which_changed(kb: KnowledgeBase) -> None:
    trust = TrustDesk(kb.repo)
    trust.add_core(
        "haiku/ice", "Blue tongue of winter\n", [("glaciers.md", None, None), ("deserts.md", None, None)]
    )
    trust.add_core("short", "Winter, once more\n", [("core:haiku/ice", None, None)])
    made_at = kb.commit("haiku").commit
    found = hits(kb, "winter")
    assert {origin.path for origin in found["core:haiku/ice"].sources} == {"glaciers.md", "deserts.md"}
    assert {origin.path for origin in found["core:short"].sources} == {"core:haiku/ice"}
    assert not any(origin.changed for hit in found.values() for origin in hit.sources)
    work = kb.repo.fs_root
    assert work is not None
    (work / "deserts.md").write_text("Another text.\n", encoding="utf-8")
    kb.add()
    kb.commit("changed")
    assert hits(kb, "winter", "STRICT") == {}, "a stale core is not proven by the version"
    hit = hits(kb, "winter")["core:haiku/ice"]
    assert {origin.path: origin.changed for origin in hit.sources} == {
        "glaciers.md": False,
        "deserts.md": True,
    }
    [before] = [hit for hit in kb.search("winter", at=made_at).hits if hit.path == "core:haiku/ice"]
    assert not any(origin.changed for origin in before.sources)
    (work / "glaciers.md").unlink()
    kb.add()
    kb.commit("gone")
    assert all(origin.changed for origin in hits(kb, "winter")["core:haiku/ice"].sources)
    assert hits(kb, "another")["deserts.md"].sources == ()


def test_searching_one_kind(kb: KnowledgeBase) -> None:
    TrustDesk(kb.repo).add_core("gist", "glaciers in short\n", [("glaciers.md", None, None)])
    kb.commit("gist")

    def paths(query: str, kind: str, **options: Any) -> set[str]:
        return {hit.path for hit in kb.search(query, kind=kind, **options).hits}

    assert paths("glaciers", "core") == paths("glaciers kind:core", "core") == {"core:gist"}
    assert paths("glaciers -kind:core", "surface") == paths("glaciers", "surface") == {"glaciers.md"}
    assert paths("glaciers", "") == {"core:gist", "glaciers.md"}
    assert paths("glaciers", "core", raw=True) == {"core:gist"}
    for query, kind in (
        ("glaciers kind:surface", "core"),
        ("glaciers -kind:core", "core"),
        ("glaciers", "other"),
    ):
        with pytest.raises(UsageError):
            kb.search(query, kind=kind)


def test_a_document_may_be_called_as_a_core_is(kb: KnowledgeBase) -> None:
    kb.add_bytes("core:gist", b"# Paper\n\nwalrus paper\n")
    TrustDesk(kb.repo).add_core("gist", "walrus core\n", [("glaciers.md", None, None)])
    kb.commit("both")
    found = {hit.path: hit for hit in kb.search("walrus", mode="STRICT").hits}
    assert {path: hit.kind for path, hit in found.items()} == {"./core:gist": "surface", "core:gist": "core"}
    assert kb.verify(deep=True).ok
    kb.rm(["core:gist"], force=True)
    kb.commit("gone")
    assert [hit.path for hit in kb.search("walrus").hits] == ["core:gist"]
    assert kb.verify(deep=True).ok


def test_what_another_program_evicts_is_cold_for_one_that_was_open_before(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    with arbor.open(kb.folder) as open_before:
        assert label(open_before, "valleys", "glaciers.md", "STRICT") == "STRICT"
        held = open_before.repo.store.packs()
        evict(kb, tmp_path, "glaciers.md")
        found = open_before.search("glaciers", mode="STRICT")
        assert found.hits == ()
        assert sum(found.withheld.values()) == 1
        assert not any(passage.here for passage in open_before.document("glaciers.md").passages)
        with pytest.raises(ColdDocument):
            list(open_before.cat("glaciers.md"))
        assert set(held) - set(open_before.repo.store.packs()), "the place on the disk is given back"
