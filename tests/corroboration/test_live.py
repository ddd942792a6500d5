"""Consensus kept with commits: equal to a rebuild whatever happened before, live, explained, and usable in search."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import arbor
from arbor.cli import demo_documents
from arbor.errors import UsageError
from arbor.graph.consensus import Consensus
from arbor.graph.desk import ConsensusDesk
from arbor.graph.documents import disputed_paths
from arbor.graph.live import LiveConsensus
from arbor.graph.standing import Label
from arbor.kb import KnowledgeBase
from arbor.objects.links import Link

TIDES = {**demo_documents.BEGINNING, **dict([demo_documents.NEWCOMER]), **dict([demo_documents.THIRD])}


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return arbor.init(tmp_path / "kb")


def put(kb: KnowledgeBase, files: dict[str, str], message: str = "change") -> object:
    for path, text in files.items():
        kb.add_bytes(path, text.encode(), overwrite=True)
    return kb.commit(message)


def fingerprint(kb: KnowledgeBase) -> bytes:
    consensus = LiveConsensus(kb.repo).open_at(kb.snapshot())
    try:
        return consensus.fingerprint()
    finally:
        consensus.close()


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc to tell what is open")
def test_a_commit_that_is_interrupted_with_another_policy_leaves_no_state_open(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: Consensus) -> Consensus:
        raise KeyboardInterrupt

    put(kb, demo_documents.BEGINNING)
    monkeypatch.setattr(Consensus, "fork", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        put(kb, {"arbor.toml": "[ripple]\nmax_hops = 1\n"})
    targets = [os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if os.path.exists(entry.path)]
    assert [target for target in targets if "consensus" in target] == []
    assert caught.value.__traceback__ is not None  # which would keep it open


def test_a_commit_tells_whom_it_reached(kb: KnowledgeBase) -> None:
    put(kb, demo_documents.BEGINNING)
    put(kb, dict([demo_documents.NEWCOMER]))
    made = put(kb, dict([demo_documents.THIRD]))
    ripple = made.ripple  # type: ignore[attr-defined]
    assert ripple.origins == (demo_documents.THIRD[0],)
    assert {reach.key for reach in ripple.reached} >= {"anna/tides.md", "ben/harbour.md"}
    moved = {change.key: (change.before, change.after) for change in ripple.changed}
    assert moved["anna/tides.md"] == (Label.EXTENDED, Label.CORROBORATED)
    assert kb.ripple() == ripple
    assert kb.consensus("anna/tides.md").standing.label is Label.CORROBORATED
    assert kb.consensus("anna/tides.md", at="HEAD~1").standing.label is Label.EXTENDED
    history = [point.standing.label for point in kb.consensus_history("anna/tides.md") if point.standing]
    assert history == [Label.CORROBORATED, Label.EXTENDED, Label.EXTENDED]


def test_deleting_the_cache_changes_nothing(kb: KnowledgeBase) -> None:
    put(kb, TIDES)
    put(kb, {"anna/tides.md": TIDES["anna/tides.md"] + "\nA second look at the harbour.\n"})
    before, standings = fingerprint(kb), kb.standings()
    shutil.rmtree(kb.folder / "cache")
    assert fingerprint(kb) == before
    assert kb.standings() == standings


def test_history_leaves_no_trace(kb: KnowledgeBase, tmp_path: Path) -> None:
    """Any order and batching of adds, edits, renames, removals and merges ends in the state of a fresh KB."""
    chance = random.Random(7)
    names = list(TIDES)
    for _ in range(12):
        picked = chance.sample(names, chance.randint(1, 3))
        put(
            kb,
            {
                name: TIDES[name] + chance.choice(["", "\nLow tide at noon.\n", "\nThe yeast is wild.\n"])
                for name in picked
            },
        )
        tracked = [path for path, _ in kb.ls()]
        if len(tracked) > 3:
            kb.mv([tracked[0]], f"moved/{chance.randint(0, 99)}-{tracked[0].rsplit('/', 1)[-1]}", force=True)
            kb.rm([tracked[1]], force=True)
            kb.commit("move and remove", allow_empty=True)
    kb.branches.switch("side", create=True)
    put(kb, {"side.md": TIDES["fay/ferry.md"]})
    kb.branches.switch("main")
    put(kb, {"main.md": TIDES["ben/harbour.md"] + "\nA crane was built.\n"})
    kb.branches.merge("side")
    fresh = arbor.init(tmp_path / "fresh")
    for path, _ in list(kb.ls()):
        fresh.add_bytes(path, b"".join(kb.cat(path, "HEAD")))
    fresh.commit("all at once")
    assert fresh.repo.head_root() == kb.repo.head_root()
    assert fingerprint(fresh) == fingerprint(kb)


def test_a_preview_changes_nothing(kb: KnowledgeBase) -> None:
    put(kb, demo_documents.BEGINNING)
    before = fingerprint(kb)
    kb.add_bytes(demo_documents.NEWCOMER[0], demo_documents.NEWCOMER[1].encode())
    check = kb.check_staged()
    assert check.ripple.origins == (demo_documents.NEWCOMER[0],)
    assert fingerprint(kb) == before
    assert kb.commit("now").ripple == check.ripple


def test_a_contradiction_shows_beside_the_label(kb: KnowledgeBase) -> None:
    put(kb, TIDES)
    put(
        kb,
        {
            "anna/answer.md": "---\ncontradicts: tides.md\n---\n# No\n\nThe wind raises the sea, not gravity.\n"
        },
    )
    assert kb.consensus("anna/tides.md").standing.contested
    assert not kb.consensus("ben/harbour.md").standing.contested


def test_disputed_paths_do_not_depend_on_what_else_there_is() -> None:
    link = Link("frontmatter", "contradicts", "../b/c", "", "", 2)
    assert disputed_paths("a/x.md", [link]) == {"b/c", "b/c.md"}


def test_labels_filter_a_search_and_stand_beside_hits(kb: KnowledgeBase) -> None:
    put(kb, TIDES)
    hits = kb.search("moon label:corroborated").hits
    assert hits
    assert {hit.label for hit in hits} == {"CORROBORATED"}
    assert kb.search("moon label:novel -path:chen -path:dora -path:ivy").hits == ()
    with pytest.raises(UsageError):
        kb.search("moon label:true")


def test_contested_stands_beside_hits_and_is_asked_for_like_a_label(kb: KnowledgeBase) -> None:
    contested = {"anna/tides.md", "notes/denial.md", "notes/denial-again.md"}
    denial = "---\ncontradicts: ../anna/tides.md\n---\n# Denial\n\nThe moon has nothing to do with tides.\n"
    put(kb, TIDES)
    assert not any(hit.contested for hit in kb.search("moon tides").hits)
    assert kb.search("moon label:contested").hits == ()
    put(kb, {"notes/denial.md": denial, "notes/denial-again.md": denial})
    hits = kb.search("moon tides", limit=50).hits
    assert {path for hit in hits if hit.contested for path in hit.paths} == contested
    assert {hit.label for hit in hits if hit.contested} == {"CORROBORATED", "NOVEL"}
    assert len(hits) > 2
    for query in ("moon label:contested", "moon label:CONTESTED"):
        assert {path for hit in kb.search(query).hits for path in hit.paths} == contested
    assert not any(hit.contested for hit in kb.search("moon tides -label:contested").hits)
    assert {path for path, _ in kb.standings(label="Contested")} == contested
    assert kb.search("moon label:contested", at="HEAD~1").hits == ()
    kb.rm(["notes/denial.md", "notes/denial-again.md"])
    kb.commit("taken back")
    assert kb.search("moon label:contested").hits == ()


def test_a_profile_weighs_consensus_and_never_passes_the_item_asked_for(kb: KnowledgeBase) -> None:
    put(
        kb,
        {
            **TIDES,
            "notes/alone.md": "# High tides\n\nHigh tides, high tides, high tides: a song by nobody.\n",
        },
    )
    plain = kb.search("high tides moon", rank="relevance").hits
    ripple = kb.search("high tides moon", rank="ripple").hits
    assert {hit.path for hit in plain} == {hit.path for hit in ripple}
    assert ripple[0].label == "CORROBORATED"
    scores = ripple[0].scores
    assert scores.consensus is not None
    assert scores.quality is not None
    assert scores.freshness is not None
    assert kb.search("High tides", rank="ripple").hits[0].path == "notes/alone.md"


@pytest.mark.parametrize(
    "table",
    [
        "relevance = 2",
        "relevance = 0.5",
        "relevance = nan",
        "relevance = true",
        "speed = 1",
        'relevance = "much"',
    ],
)
def test_weights_are_validated(kb: KnowledgeBase, table: str) -> None:
    put(kb, {"a.md": "# A\n", "arbor.toml": f"[ranking.mine]\n{table}\n"})
    with pytest.raises(UsageError, match="ranking"):
        kb.search("a", rank="mine")


def test_a_profile_of_ones_own(kb: KnowledgeBase) -> None:
    policy = '[ranking]\ndefault = "fresh"\n[ranking.fresh]\nrelevance = 0.2\nfreshness = 0.8\nhalf_life_days = 30\n'
    put(kb, {
        "arbor.toml": policy,
        "old.md": "---\ndate: 2001-01-01\n---\n# Old\n\nsoup soup soup\n",
        "new.md": "---\ndate: 2026-11-01\n---\n# New\n\nsoup and much else besides\n",
    })  # fmt: skip
    assert [hit.path for hit in kb.search("soup").hits] == ["new.md", "old.md"]
    assert [hit.path for hit in kb.search("soup", rank="relevance").hits] == ["old.md", "new.md"]
    with pytest.raises(UsageError, match="there is no ranking profile"):
        kb.search("soup", rank="none")


def test_the_same_documents_rank_the_same_at_any_time_and_in_any_knowledge_base(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"{year}.md": f"---\ndate: {year}-03-01\n---\n# Soup of {year}\n" for year in (1999, 2024, 2025)}
    files |= {"undated.md": "# Soup\n", "arbor.toml": "[ranking.age]\nrelevance = 0.5\nfreshness = 0.5\n"}

    def ranking(kb: KnowledgeBase) -> list[object]:
        found = [
            hit
            for rank in ("ripple", "age")
            for query in ("soup", "undated")
            for hit in kb.search(query, rank=rank, mode="VISUAL").hits
        ]
        return [(hit.path, hit.score, hit.scores) for hit in found]

    put(kb, files)
    (kb.repo.work_tree() / "beside.md").write_text("# Soup beside\n")
    wanted = ranking(kb)
    assert len(wanted) == 12
    monkeypatch.setattr(time, "time", lambda moment=time.time: moment() + 400 * 86_400)
    assert ranking(kb) == wanted
    shutil.rmtree(kb.folder / "cache")
    assert ranking(kb) == wanted
    with arbor.init(tmp_path / "other") as other:
        for path in reversed(files):
            put(other, {path: files[path]})
        (other.repo.work_tree() / "beside.md").write_text("# Soup beside\n")
        assert ranking(other) == wanted


def test_the_policy_of_a_version_decides(kb: KnowledgeBase) -> None:
    put(kb, TIDES)
    put(kb, {"arbor.toml": "[ripple]\ncorroborated_from = 9\n"})
    assert kb.consensus("anna/tides.md").standing.label is Label.EXTENDED
    assert kb.consensus("anna/tides.md", at="HEAD~1").standing.label is Label.CORROBORATED
    assert kb.ripple().changed


def test_a_large_first_commit_waits_until_somebody_asks(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arbor.graph.live.EAGER_DOCUMENTS", 2)
    assert put(kb, TIDES).ripple is None  # type: ignore[attr-defined]
    assert not ConsensusDesk(kb.repo).is_at_hand(kb.snapshot())
    assert kb.consensus("anna/tides.md").standing.label is Label.CORROBORATED
    assert put(kb, dict([demo_documents.ISOLATED])).ripple is not None  # type: ignore[attr-defined]


def test_what_has_no_text_has_no_consensus(kb: KnowledgeBase) -> None:
    kb.add_bytes("image.png", b"\x89PNG\r\n\x1a\n\0\0\0\0")
    put(kb, {"a.md": "# A\n"})
    with pytest.raises(UsageError, match="no text"):
        kb.consensus("image.png")
    assert [path for path, _ in kb.standings()] == ["a.md"]


def test_a_cold_document_counts_for_nobody_until_it_comes_back(kb: KnowledgeBase, tmp_path: Path) -> None:
    """Incremental and anew alike: what is not here to be read is no evidence, and the cache makes no difference."""
    put(kb, TIDES)
    assert kb.fs_root is not None
    archive = tmp_path / "archive"
    shutil.copytree(kb.fs_root, archive, ignore=shutil.ignore_patterns(".arbor"))
    whole = fingerprint(kb)
    assert kb.consensus("anna/tides.md").standing.label is Label.CORROBORATED
    third = demo_documents.THIRD[0]
    for cold in ([third], [third, "anna/tides.md"]):
        kb.trust.evict(cold, places=[archive])
        followed = fingerprint(kb)
        assert followed != whole
        (kb.folder / "cache/consensus.db").unlink()
        assert fingerprint(kb) == followed
    assert kb.consensus("ben/harbour.md").standing.label is not Label.CORROBORATED
    with pytest.raises(UsageError, match="is cold here"):
        kb.consensus("anna/tides.md")
    put(kb, {"new.md": "# Bread\n\nNothing of the sea.\n"})
    followed = fingerprint(kb)
    (kb.folder / "cache/consensus.db").unlink()
    assert fingerprint(kb) == followed
    kb.trust.rehydrate(places=[archive])
    followed = fingerprint(kb)
    (kb.folder / "cache/consensus.db").unlink()
    assert fingerprint(kb) == followed
    assert kb.consensus("anna/tides.md").standing.label is Label.CORROBORATED


def test_a_knowledge_base_that_nobody_closes_leaves_its_state_sound(kb: KnowledgeBase) -> None:
    put(kb, TIDES)
    put(kb, {"more.md": TIDES["anna/tides.md"] + "\nMore of it.\n"})
    program = (
        "import arbor, sys\nkb = arbor.open(sys.argv[1])\nkb.add_bytes('x.md', b'# Tides in the harbour\\n')\n"
        "kb.commit('x')\nkb.search('tides')\nkb.consensus('anna/tides.md')\n"
    )
    subprocess.run([sys.executable, "-c", program, str(kb.fs_root)], check=True)
    assert kb.verify().ok
