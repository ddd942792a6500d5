"""The index follows documents from tier to tier, without being made anew, and ends as one that is."""

from __future__ import annotations

import errno
import random
import shutil
from pathlib import Path

import pytest

from arbor import KnowledgeBase
from arbor.index import following_tiers, writer
from arbor.index.access import index_path
from arbor.index.schema import file_identity
from arbor.index.writer import build
from arbor.repo.repository import Repository
from arbor.repo.tiers import read_tiers, write_tiers
from tests.index.dumping import dump
from tests.trust.conftest import MakeKb

LONG = "\n\n".join(f"## Part {number}\n\n" + f"word{number} " * 300 for number in range(6))
NOTES: dict[str, str | bytes] = {
    **{f"n/{number}.md": f"# Note {number}\n\nice and snow {number}\n" for number in range(12)},
    "long.md": f"# Long\n\n{LONG}",
    "twin.md": "# Twin\n\nthe same text\n",
    "other/twin.md": "# Twin\n\nthe same text\n",
    "named.md": "---\ntags: [moraine]\n---\n# 名前\n\n知识库 and fjords\n",
    "core:odd.md": "# Odd\n\na file with the name of a core\n",
}


@pytest.fixture
def kb(make_kb: MakeKb) -> KnowledgeBase:
    made = make_kb(NOTES)
    made.search("ice")
    return made


@pytest.fixture
def archive(kb: KnowledgeBase, tmp_path: Path) -> Path:
    assert kb.fs_root is not None
    return shutil.copytree(kb.fs_root, tmp_path / "archive", ignore=shutil.ignore_patterns(".arbor"))


def as_made_anew(repo: Repository, tmp_path: Path) -> bool:
    fresh = tmp_path / "fresh.db"
    build(fresh, repo.snapshot(repo.refs.head_oid()))
    return dump(index_path(repo.folder / "cache")) == dump(fresh)


def index_file(kb: KnowledgeBase) -> tuple[int, int] | None:
    return file_identity(index_path(kb.folder / "cache"))


def test_it_follows_there_and_back(kb: KnowledgeBase, archive: Path, tmp_path: Path) -> None:
    made = index_file(kb)
    chance = random.Random(3)
    for step in range(30):
        paths = chance.sample(sorted(NOTES), chance.randint(1, 4))
        tier = chance.choice(("cold", "cold", "warm", "hot", "hot"))
        if tier == "hot":
            kb.trust.rehydrate(paths, places=[archive])
        else:
            kb.trust.evict(paths, tier=tier, places=[archive])
        assert as_made_anew(kb.repo, tmp_path), (step, tier, paths)
        if chance.random() < 0.3:
            kb.mv(["n/1.md"], "moved.md")
            kb.commit("moved")
            kb.mv(["moved.md"], "n/1.md")
            kb.commit("and back")
            assert as_made_anew(kb.repo, tmp_path), (step, "moved")
    kb.trust.rehydrate((), places=[archive])
    kb.search("ice")
    assert index_file(kb) == made, "it was made anew"
    assert kb.verify().ok


def test_it_follows_a_document_that_comes_back_by_being_added(
    kb: KnowledgeBase, archive: Path, tmp_path: Path
) -> None:
    made = index_file(kb)
    kb.trust.evict(["n/3.md"], places=[archive])
    kb.add(["n/3.md"], force=True)
    assert as_made_anew(kb.repo, tmp_path)
    assert next(hit.path for hit in kb.search("snow 3", mode="STRICT").hits) == "n/3.md"
    assert index_file(kb) == made


def test_more_of_a_document_in_part_is_found(kb: KnowledgeBase, archive: Path, tmp_path: Path) -> None:
    made = index_file(kb)
    kb.trust.evict(["long.md"], places=[archive])
    assert kb.fs_root is not None
    (kb.fs_root / "long.md").write_text("edited")
    for kept in (2, 4):
        part = tmp_path / f"part{kept}"
        part.mkdir()
        text = str(NOTES["long.md"])
        (part / "long.md").write_text(text[: text.index(f"## Part {kept}")] + "something else\n" * 99)
        kb.trust.rehydrate(["long.md"], places=[part])
        [hit] = kb.search(f"word{kept - 1}").hits
        assert hit.path == "long.md"
        assert as_made_anew(kb.repo, tmp_path)
    kb.add_bytes("another.md", f"{NOTES['long.md']!s}\n\nand what the first does not have\n".encode())
    kb.commit("brings passages of the first")
    assert as_made_anew(kb.repo, tmp_path), "what another one brings is not found in this one"
    kb.trust.evict(["another.md"], force=True)
    assert as_made_anew(kb.repo, tmp_path), "it still has what went with another one"
    kb.trust.rehydrate(["another.md"], places=[archive])
    assert as_made_anew(kb.repo, tmp_path)
    kb.mv(["long.md"], "longer.md", force=True)
    kb.commit("moved")
    assert as_made_anew(kb.repo, tmp_path), "its rows were removed by another text than they were made from"
    kb.trust.evict(["longer.md"], places=[archive])
    assert as_made_anew(kb.repo, tmp_path)
    kb.trust.rehydrate(["longer.md"], places=[archive])
    assert as_made_anew(kb.repo, tmp_path)
    assert index_file(kb) == made, "it was made anew"


@pytest.mark.parametrize("fault", ["old", "damaged", "absent", "busy", "large", "fails"])
def test_where_it_cannot_follow_the_next_search_makes_it_anew(
    kb: KnowledgeBase, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    fs_path = index_path(kb.folder / "cache")
    kb.close()
    if fault == "old":
        kb.add_bytes("new.md", b"# New\n")
        kb.commit("not indexed", index=False)
        kb.trust.evict(["n/2.md"], tier="warm")
    elif fault == "damaged":
        fs_path.write_bytes(b"no database" * 1000)
    elif fault == "absent":
        fs_path.unlink()
    elif fault == "large":
        monkeypatch.setattr(following_tiers, "MOST_BYTES", 10)
    elif fault == "fails":
        monkeypatch.setattr(following_tiers, "_replace", _fail)
    if fault == "busy":
        with following_tiers.writing_index(kb.folder / "cache", 1.0):
            kb.trust.evict(["n/1.md"], places=[archive])
    else:
        kb.trust.evict(["n/1.md"], places=[archive])
    assert kb.trust.tiers().cold.documents == 1
    kb.search("ice")
    assert as_made_anew(kb.repo, tmp_path)
    assert kb.verify().ok


def _fail(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_what_fails_in_the_change_itself_is_told(kb: KnowledgeBase) -> None:
    made = index_file(kb)
    with pytest.raises(OSError, match="mine"), kb.repo.following_tiers(()):
        raise OSError("mine")
    kb.search("ice")
    assert index_file(kb) == made


def test_an_interrupt_leaves_no_lock_behind(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(following_tiers, "_find", interrupted)
    with pytest.raises(KeyboardInterrupt) as stop, kb.repo.following_tiers(()):
        pass
    with following_tiers.writing_index(
        kb.folder / "cache", 0.0
    ):  # while somebody still looks at the interrupt
        assert stop.value.__traceback__ is not None


def test_an_index_of_other_tiers_is_made_anew(kb: KnowledgeBase, archive: Path, tmp_path: Path) -> None:
    """As after a kill between the record of tiers and the index: to go on from it would hide what it lacks."""
    oid = bytes.fromhex(dict(kb.ls())["n/3.md"])
    write_tiers(kb.folder, read_tiers(kb.folder).with_tier([oid], "warm"))
    kb.trust.evict(["n/4.md"], places=[archive])
    assert not index_path(kb.folder / "cache").exists()
    kb.search("ice")
    assert as_made_anew(kb.repo, tmp_path)


@pytest.mark.parametrize("warmth", ["warm", "cold"])
def test_indexes_of_tiers_that_are_past_give_their_space_back(
    kb: KnowledgeBase, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warmth: str
) -> None:
    kb.add_bytes("new.md", b"# New\n\nice\n")
    kb.commit("second")
    kb.search("ice", at="HEAD~1")
    kb.search("ice")
    cache = kb.folder / "cache"
    [older] = (cache / "at").glob("*.db")
    kb.trust.evict(["n/1.md"], tier=warmth, places=[archive])
    assert index_path(cache).exists(), "it followed"
    assert not older.exists()
    monkeypatch.setattr(following_tiers, "MOST_BYTES", 10)
    kb.trust.evict(["n/2.md"], tier=warmth, places=[archive])
    assert [path.name for path in cache.iterdir() if path.name.startswith("index.db")] == []
    assert kb.search("ice").hits
    assert as_made_anew(kb.repo, tmp_path)
    assert kb.verify().ok


def test_what_large_documents_took_in_the_index_is_given_back(
    make_kb: MakeKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghij", k=chance.randint(3, 9))) for _ in range(20_000)]

    def text(number: int) -> str:
        return "\n\n".join(
            [f"# Large {number}", *(" ".join(chance.choices(words, k=60)) for _ in range(1500))]
        )

    kb = make_kb({f"{number}.md": text(number) for number in range(8)})
    kb.search("large")
    fs_path = index_path(kb.folder / "cache")

    def most_bytes() -> int:
        fresh = tmp_path / "fresh.db"
        build(fresh, kb.repo.snapshot(kb.repo.refs.head_oid()))
        return fresh.stat().st_size * 11 // 10

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:  # nothing is lost where there is no room for it
        patched.setattr(writer, "put_in_place", refuse)
        kb.trust.evict(["0.md", "1.md"], force=True)
    assert as_made_anew(kb.repo, tmp_path)
    assert not list(fs_path.parent.glob(".arbor-tmp-*"))
    kb.trust.evict(["2.md"], force=True)
    assert fs_path.stat().st_size < most_bytes()
    assert as_made_anew(kb.repo, tmp_path)
    kb.trust.evict(["3.md", "4.md"], force=True)
    assert fs_path.stat().st_size < most_bytes()
    kb.trust.evict(["5.md", "6.md"], tier="warm")
    assert fs_path.stat().st_size < most_bytes()
    assert as_made_anew(kb.repo, tmp_path)
    made = index_file(kb)
    assert kb.search("large 7").hits
    assert kb.verify().ok
    assert index_file(kb) == made
