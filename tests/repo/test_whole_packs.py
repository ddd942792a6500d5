"""What is noted of whole packs is what a walk would find: never more, whatever was done before."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from arbor.kb import KnowledgeBase
from arbor.remote.exchange.planning import plan_answer
from arbor.repo.desk import TrustDesk
from arbor.repo.repository import ADDED_FILE
from arbor.repo.whole_packs import NOTE_FILE, read_notes
from tests.repo.kit import new_kb, write


def sent(kb: KnowledgeBase) -> set[bytes]:
    """The oids of what a clone of HEAD would get; nothing is noted by that."""
    kb.repo.store.refresh()
    head = kb.repo.refs.head_oid()
    assert head is not None
    note = kb.folder / "cache" / NOTE_FILE
    before = note.read_bytes() if note.exists() else None
    answer, parts = plan_answer(kb.repo, [head], [])
    if before is None:
        note.unlink(missing_ok=True)
    else:
        note.write_bytes(before)
    oids = [
        oid
        for part in parts
        for slot, (_, oid, _) in enumerate(part.pack.read_frame(part.frame).objects())
        if part.slots is None or slot in part.slots
    ]
    assert answer.objects == len(oids)
    return set(oids)


def walked(kb: KnowledgeBase) -> set[bytes]:
    """The same, by a walk."""
    note = kb.folder / "cache" / NOTE_FILE
    before = note.read_bytes() if note.exists() else None
    note.unlink(missing_ok=True)
    found = sent(kb)
    if before is not None:
        note.write_bytes(before)
    return found


def noted_tip(kb: KnowledgeBase) -> bytes | None:
    kb.repo.store.refresh()
    notes = read_notes(kb.repo)
    return notes[0].tips[0] if notes else None


def put(kb: KnowledgeBase, path: str, text: str) -> None:
    write(kb.repo.work_tree(), {path: text})
    kb.add([path])


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return new_kb(tmp_path, {f"{n}.md": f"# Note {n}\n\nText of {n}.\n" for n in range(12)})


def test_adds_and_commits_carry_the_note_on(kb: KnowledgeBase) -> None:
    assert noted_tip(kb) == kb.repo.refs.head_oid()
    assert not (kb.folder / "cache" / ADDED_FILE).exists()
    put(kb, "new.md", "# New\n")
    put(kb, "1.md", "# Changed\n")
    kb.rm(["2.md"])
    kb.commit("two")
    assert noted_tip(kb) == kb.repo.refs.head_oid()
    assert sent(kb) == walked(kb)
    kb.add_bytes("clip.md", b"# Clip\n")
    kb.mv(["3.md"], "moved/3.md")
    kb.commit("three")
    assert noted_tip(kb) == kb.repo.refs.head_oid()
    assert sent(kb) == walked(kb)


def test_an_older_note_serves_when_the_newest_was_left_behind(kb: KnowledgeBase) -> None:
    first = kb.repo.refs.head_oid()
    put(kb, "secret.md", "# plumfruit\n")
    kb.commit("two")
    put(kb, "other.md", "# Other\n")
    kb.rm(["secret.md"])
    kb.commit("two again", amend=True)
    assert (first,) in [note.tips for note in read_notes(kb.repo)]
    assert sent(kb) == walked(kb)
    assert not any(b"plumfruit" in kb.repo.store.get(oid)[1] for oid in sent(kb))


def test_merged_packs_keep_their_name_in_the_note(kb: KnowledgeBase) -> None:
    for number in range(40):
        put(kb, f"more{number}.md", f"# More {number}\n")
        kb.commit(f"more {number}")
        assert noted_tip(kb) == kb.repo.refs.head_oid()
    assert sent(kb) == walked(kb)


def test_another_branch_does_not_end_the_note(kb: KnowledgeBase) -> None:
    kb.branches.switch("side", create=True)
    put(kb, "side.md", "# Side\n")
    kb.commit("side")
    kb.branches.switch("main")
    put(kb, "main.md", "# Main\n")
    kb.commit("main")
    tips = {kb.resolve("main"), kb.resolve("side")}
    assert set(read_notes(kb.repo)[0].tips) == tips
    assert sent(kb) == walked(kb)
    answer, _ = plan_answer(kb.repo, sorted(tips), [])
    (kb.folder / "cache" / NOTE_FILE).unlink()
    assert plan_answer(kb.repo, sorted(tips), [])[0] == answer


def test_a_file_that_is_refused_does_not_end_the_note(kb: KnowledgeBase) -> None:
    write(
        kb.repo.work_tree(),
        {"a.md": "# A\n", "arbor.toml": "[add]\nmax_file_size = 100\n", "b.md": "x" * 200},
    )
    skipped = kb.add().skipped
    kb.commit("a")
    assert noted_tip(kb) == kb.repo.refs.head_oid(), skipped
    assert sent(kb) == walked(kb)


def test_what_cannot_be_noted_fails_no_commit(kb: KnowledgeBase) -> None:
    put(kb, "new.md", "# New\n")
    (kb.folder / "tiers").write_bytes(b"damaged")
    made = kb.commit("new")
    assert kb.resolve().hex() == made.commit


def test_what_was_added_and_not_committed_is_not_noted(kb: KnowledgeBase) -> None:
    put(kb, "secret.md", "# plumfruit\n")
    kb.rm(["secret.md"], cached=True)
    put(kb, "other.md", "# Other\n")
    before = noted_tip(kb)
    kb.commit("other")
    assert noted_tip(kb) == before
    put(kb, "more.md", "# More\n")
    kb.commit("more")
    assert noted_tip(kb) == before
    assert sent(kb) == walked(kb)
    assert not any(b"plumfruit" in kb.repo.store.get(oid)[1] for oid in sent(kb))


def test_packs_of_other_acts_end_the_note(kb: KnowledgeBase) -> None:
    before = noted_tip(kb)
    TrustDesk(kb.repo).add_core("haiku", "winter\n", [("1.md", None, None)])
    kb.commit("a core")
    assert noted_tip(kb) == before
    assert sent(kb) == walked(kb)


def test_a_file_that_could_not_be_read_whole_ends_the_note(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = noted_tip(kb)
    write(kb.repo.work_tree(), {"a.md": "# A\n", "large.md": "x" * 5000})
    with monkeypatch.context() as small:
        small.setattr("arbor.repo.staging.ingest.encode_manifest", _refuse_large)
        assert [path for path, _ in kb.add().skipped] == ["large.md"]
    kb.commit("a")
    assert noted_tip(kb) == before
    assert sent(kb) == walked(kb)


def _refuse_large(manifest: object) -> bytes:
    from arbor.errors import UsageError
    from arbor.objects.model import Manifest, encode_manifest

    assert isinstance(manifest, Manifest)
    if len(manifest.passages) > 1:
        raise UsageError("too large")
    return encode_manifest(manifest)


@pytest.mark.parametrize("damage", [b"", b"damaged", b"\x00" * 200])
def test_damaged_notes_are_no_notes(kb: KnowledgeBase, damage: bytes) -> None:
    put(kb, "new.md", "# New\n")
    for name in (NOTE_FILE, ADDED_FILE):
        (kb.folder / "cache" / name).write_bytes(damage)
    assert read_notes(kb.repo) == []
    kb.commit("new")
    assert sent(kb) == walked(kb)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_done_the_note_sends_what_a_walk_sends(kb: KnowledgeBase, seed: int) -> None:
    source = random.Random(seed)
    made = 0
    for _ in range(40):
        act = source.choice(
            ["put", "put", "put", "again", "rm", "unstage", "reset", "amend", "share", "core"]
        )
        name = f"{source.randrange(16)}.md"
        if act == "put":
            put(kb, name, f"# {source.randrange(6)}\n\n{source.randrange(4)}\n")
        elif act == "again":
            put(kb, "shared.md", "# Note 1\n\nText of 1.\n")
        elif act == "rm" and kb.repo.stage().find(kb.repo.store, f"d/{name}"):
            kb.rm([name], force=True)
        elif act == "unstage":
            kb.branches.reset("HEAD", "mixed")
        elif act == "reset" and made > 1:
            kb.branches.reset("HEAD~1", "hard")
            made -= 1
        elif act == "share":
            plan_answer(kb.repo, [kb.repo.refs.head_oid() or b""], [])
        elif act == "core":
            put(kb, "shared.md", "# Note 1\n\nText of 1.\n")
            TrustDesk(kb.repo).add_core(f"core{made}", f"{source.random()}\n", [("shared.md", None, None)])
        if source.random() < 0.4 or act == "amend":
            if not kb.status().staged:
                continue
            kb.commit(f"{act} {made}", amend=act == "amend")
            made += act != "amend"
            assert sent(kb) == walked(kb)
    assert kb.verify().ok
