"""Forgetting is reversible: nothing is dropped that was not found elsewhere now, and what comes back is what
went."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import arbor
from arbor import KnowledgeBase
from arbor.errors import ColdDocument, ConflictError, UsageError
from arbor.objects.ids import Kind
from arbor.repo import places
from arbor.repo.config import DEFAULT_MAX_FILE_BYTES
from arbor.repo.forgetting import copies, evicting, rehydrating
from arbor.repo.forgetting.copies import (
    ByteSource,
    FolderSource,
    Found,
    StoreSource,
    UriSource,
    Wanted,
    WorkTreeSource,
    open_place,
    read_copy,
)
from arbor.repo.forgetting.evicting import EvictReport, evict
from arbor.repo.forgetting.rehydrating import RehydrateReport, rehydrate
from arbor.repo.forgetting.tiering import Criteria, TierSizes, choose, default_sources, report_tiers
from arbor.repo.importing import updating
from arbor.repo.importing.known_sources import OwnFiles, remember_file
from arbor.repo.staging import adding
from arbor.repo.tiers import read_tiers
from arbor.repo.trust.proving import prove
from arbor.repo.upkeep.gc import packed_bytes, stored_objects
from arbor.store.journal import Journal
from arbor.store.odb import ObjectStore
from arbor.text import readers
from tests.trust.conftest import MakeKb, fill, long_note

NOTES: dict[str, str | bytes] = {
    "a.md": long_note(6, "a"),
    "b/b.md": long_note(4, "b"),
    "c.md": "# C\n\nOnly one passage.\n",
    "page.html": "<html><title>Page</title><body><h1>H</h1>"
    + "<p>words and words</p>" * 200
    + "</body></html>",
    "latin.txt": "Ein Absatz über Größe.\n\n".encode("latin-1") * 300,
}


def picked(kb: KnowledgeBase, *paths: str) -> list[tuple[str, bytes]]:
    return choose(kb.repo, kb.snapshot(), paths, Criteria())


def copied(kb: KnowledgeBase, target: Path) -> Path:
    """A copy of the work tree's files without the KB in it."""
    assert kb.fs_root is not None
    shutil.copytree(kb.fs_root, target, ignore=shutil.ignore_patterns(".arbor"))
    return target


def remove_files(kb: KnowledgeBase, *paths: str) -> None:
    assert kb.fs_root is not None
    for path in paths:
        (kb.fs_root / path).unlink()


def go_cold(kb: KnowledgeBase, sources: Sequence[ByteSource], *paths: str, copies: int = 1) -> EvictReport:
    return evict(kb.repo, picked(kb, *paths), sources=sources, copies=copies)


def come_back(kb: KnowledgeBase, *sources: ByteSource) -> RehydrateReport:
    return rehydrate(kb.repo, picked(kb), sources)


def test_what_goes_while_it_is_verified_is_not_damaged(
    make_kb: MakeKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make_kb(NOTES)
    folder = FolderSource(copied(kb, tmp_path / "copy"))
    refresh = kb.repo.store.refresh

    def evict_first() -> None:
        monkeypatch.undo()
        assert go_cold(kb, [folder]).evicted
        refresh()

    monkeypatch.setattr(kb.repo.store, "refresh", evict_first)
    assert kb.verify().ok


def test_cold_and_back(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb(NOTES)
    folder = copied(kb, tmp_path / "copy")
    before, size = stored_objects(kb.repo.store), packed_bytes(kb.repo.store)
    head = kb.resolve("HEAD")
    report = go_cold(kb, [FolderSource(folder)])
    assert len(report.evicted) == len(NOTES)
    assert report.refused == report.lost == ()
    kinds = [kb.repo.store.get(oid)[0] for oid in stored_objects(kb.repo.store)]
    assert Kind.CHUNK not in kinds
    assert report.dropped == len(before) - len(kinds)
    assert packed_bytes(kb.repo.store) == size - report.freed_bytes < size
    verified = kb.verify()
    assert verified.ok
    assert verified.checked["cold"] == len(NOTES)
    assert kb.resolve("HEAD") == head
    with pytest.raises(ColdDocument, match="pieces are not stored"):
        list(kb.cat("a.md", "HEAD"))
    with pytest.raises(ColdDocument, match="is cold here"):
        prove(kb.repo, head, "a.md", 0)
    assert prove(kb.repo, head, "a.md").kind == "document"

    back = come_back(kb, FolderSource(folder))
    assert [each.state for each in back.documents] == ["whole"] * len(NOTES)
    assert stored_objects(kb.repo.store) == before
    assert read_tiers(kb.folder).cold == frozenset()
    assert kb.verify().ok
    for path, content in NOTES.items():
        data = content if isinstance(content, bytes) else content.encode()
        assert b"".join(kb.cat(path, "HEAD")) == data
    assert [record.act for record in Journal(kb.folder).records()] == ["evict", "rehydrate"]
    assert Journal(kb.folder).check().faults == ()


def test_the_record_of_tiers_is_not_read_for_each_document(
    make_kb: MakeKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make_kb({f"{number}.md": f"note {number}\n" for number in range(60)})
    folder = copied(kb, tmp_path / "copy")
    assert len(go_cold(kb, [FolderSource(folder)], "1.md").evicted) == 1
    reads: list[Path] = []
    monkeypatch.setattr(evicting, "read_tiers", lambda path: (reads.append(path), read_tiers(path))[1])
    report = go_cold(kb, [FolderSource(folder)])
    assert (len(report.evicted), report.refused) == (59, ())
    assert [each.paths for each in report.already] == [("1.md",)]
    assert len(reads) <= 3


def test_text_that_an_earlier_reader_extracted_comes_back(
    make_kb: MakeKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(
            "arbor.text.reading.get_reader", lambda name, _="": readers.get_reader(name, "email/1")
        )
        kb = make_kb(
            {"mail.eml": "From: ann@example.com\nTo: b@example.com\nSubject: Plums\n\nThey are ripe.\n"}
        )
    [(_, oid)] = picked(kb)
    assert kb.snapshot().document(oid).extractor == "email/1"
    folder = copied(kb, tmp_path / "copy")
    assert len(go_cold(kb, [FolderSource(folder)]).evicted) == 1
    remove_files(kb, "mail.eml")
    assert len(come_back(kb, FolderSource(folder)).whole) == 1
    assert kb.verify().ok
    assert kb.status().clean


def test_the_last_copy_is_kept(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb(NOTES)
    remove_files(kb, "a.md")
    before = stored_objects(kb.repo.store)
    report = go_cold(
        kb, [WorkTreeSource(tmp_path / "kb"), UriSource(), FolderSource(tmp_path / "none")], "a.md"
    )
    assert report.evicted == ()
    assert report.refused[0].problem == "no other copy was found"
    assert stored_objects(kb.repo.store) == before
    assert list(Journal(kb.folder).records()) == []


def test_a_changed_source_is_no_copy(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb(NOTES)
    folder = copied(kb, tmp_path / "copy")
    with open(folder / "a.md", "a") as file:
        file.write("one more line\n")
    (folder / "page.html").write_text("<html>other</html>")
    report = go_cold(kb, [FolderSource(folder)])
    assert {item.paths[0] for item in report.refused} == {"a.md", "page.html"}
    assert "gives other bytes" in report.refused[0].problem
    assert b"".join(kb.cat("a.md", "HEAD")) == str(NOTES["a.md"]).encode()


def test_names_of_one_file_are_one_copy(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(3)})
    assert kb.fs_root is not None
    links, hard = tmp_path / "links", tmp_path / "hard"
    links.mkdir()
    hard.mkdir()
    (links / "a.md").symlink_to(kb.fs_root / "a.md")
    os.link(kb.fs_root / "a.md", hard / "a.md")
    sources = [WorkTreeSource(kb.fs_root), FolderSource(links), FolderSource(hard)]
    report = go_cold(kb, sources, copies=2)
    assert report.refused[0].problem == "only 1 of 2 copies were found"
    real = tmp_path / "real"
    real.mkdir()
    shutil.copy(kb.fs_root / "a.md", real / "renamed.bin")
    report = go_cold(kb, [*sources, FolderSource(real)], copies=2)
    assert len(report.evicted[0].copies) == 2


def test_this_store_is_no_copy_of_itself(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(3)})
    remove_files(kb, "a.md")
    alias = tmp_path / "alias"
    alias.symlink_to(tmp_path / "kb")
    linked = tmp_path / "linked"
    shutil.copytree(tmp_path / "kb", linked, copy_function=os.link)
    inside = FolderSource(kb.folder, kb.folder)
    for place in (tmp_path / "kb", alias, linked):
        sources = open_place(place, kb.repo.store)
        assert go_cold(kb, sources).evicted == (), place
        for source in sources:
            if isinstance(source, StoreSource):
                source.close()
    assert go_cold(kb, [inside]).evicted == ()


def test_another_knowledge_base_is_a_copy(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb(NOTES)
    remove_files(kb, *NOTES)
    other = tmp_path / "other"
    shutil.copytree(kb.folder, other / ".arbor")
    [store, folder] = open_place(other, kb.repo.store)
    assert isinstance(store, StoreSource)
    report = go_cold(kb, [store, folder])
    assert len(report.evicted) == len(NOTES)
    assert come_back(kb, store).whole
    assert kb.verify().ok
    store.close()


def test_a_damaged_knowledge_base_is_no_copy(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(5)})
    remove_files(kb, "a.md")
    other = tmp_path / "other" / ".arbor"
    shutil.copytree(kb.folder, other)
    for pack in (other / "packs").glob("*.pack"):
        data = bytearray(pack.read_bytes())
        data[len(data) // 2] ^= 1
        pack.write_bytes(data)
    [store, folder] = open_place(other.parent, kb.repo.store)
    assert isinstance(store, StoreSource)
    assert go_cold(kb, [store, folder]).evicted == ()
    store.close()


def test_force_says_what_is_lost(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": long_note(3), "b.md": "short\n"})
    assert kb.fs_root is not None
    remove_files(kb, "a.md")
    dry = evict(kb.repo, picked(kb), sources=[WorkTreeSource(kb.fs_root)], force=True, dry_run=True)
    assert [item.paths for item in dry.lost] == [("a.md",)]
    assert not read_tiers(kb.folder).cold
    report = evict(kb.repo, picked(kb), sources=[WorkTreeSource(kb.fs_root)], force=True)
    assert [item.paths for item in report.lost] == [("a.md",)]
    assert next(iter(Journal(kb.folder).records())).details["lost"] == 1
    assert kb.verify().ok


def test_what_a_hot_document_shares_stays(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(6)})
    fill(kb, {"a.md": long_note(6) + "\n## More\n\nAt the end.\n"}, "longer")
    folder = copied(kb, tmp_path / "copy")
    report = go_cold(kb, [FolderSource(folder)])
    assert report.shared >= 5
    assert b"".join(kb.cat("a.md", "HEAD~1")) == long_note(6).encode()
    assert kb.verify().ok
    assert come_back(kb, FolderSource(folder)).documents[0].state == "whole"


def test_a_staged_document_keeps_its_passages(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(3)})
    folder = copied(kb, tmp_path / "copy")
    assert kb.fs_root is not None
    (kb.fs_root / "b.md").write_text(long_note(3).replace("word2x5", "changed"))
    kb.add(["b.md"])
    go_cold(kb, [FolderSource(folder)], "a.md")
    assert b"".join(kb.cat("b.md")) == (kb.fs_root / "b.md").read_bytes()
    kb.commit("b", index=False)
    assert kb.verify().ok


def test_drift_gives_what_has_not_changed(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb(NOTES)
    folder = copied(kb, tmp_path / "copy")
    go_cold(kb, [FolderSource(folder)])
    changed = str(NOTES["a.md"]).replace("word3x7a", "another")
    (folder / "a.md").write_text(changed)
    report = come_back(kb, FolderSource(folder))
    [part] = [each for each in report.documents if each.state != "whole"]
    assert (part.paths, part.state) == (("a.md",), "part")
    assert part.drift is not None
    passages = kb.document("a.md").passages
    assert part.drift.same == len(passages) - 1 == part.accepted
    assert [leaf for _, leaf in part.drift.gone] == [passages[part.drift.gone[0][0]].oid]
    assert len(part.drift.new) == 1
    assert part.drifted == str(folder / "a.md")
    [record] = [record for record in Journal(kb.folder).records() if record.act == "drift"]
    assert record.details["path"] == "a.md"
    assert kb.verify().ok
    with pytest.raises(ColdDocument, match=f"1 of its {len(passages)} pieces"):
        list(kb.cat("a.md", "HEAD"))
    row = report_tiers(kb.repo, kb.snapshot(), ["a.md"]).rows[0]
    assert row[1] == "cold"
    assert row[3:] == (len(passages) - 1, len(passages))
    assert prove(kb.repo, kb.resolve("HEAD"), "a.md", 0).kind == "passage"

    (folder / "a.md").write_bytes(str(NOTES["a.md"]).encode())
    [last] = come_back(kb, FolderSource(folder)).documents
    assert (last.state, last.accepted, last.drift) == ("whole", 1, None)
    assert b"".join(kb.cat("a.md", "HEAD")) == str(NOTES["a.md"]).encode()


def test_an_update_from_a_changed_source_undoes_nobodys_work(make_kb: MakeKb, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        f"{name}.md": long_note(3, name) for name in ("free", "edited", "staged", "away")
    }
    kb = make_kb(files | {"twin.md": files["free.md"]})
    assert kb.fs_root is not None
    folder = copied(kb, tmp_path / "copy")
    kb.trust.evict([""], places=[folder])
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n## From the source\n")
    (folder / "twin.md").write_bytes((folder / "free.md").read_bytes())
    (kb.fs_root / "edited.md").write_text("a day's work\n")
    (kb.fs_root / "staged.md").write_text("another day's work\n")
    kb.add(["staged.md"])
    (kb.fs_root / "away.md").unlink()
    report = kb.trust.rehydrate((), places=[folder], update=True)
    assert {each.path: each.problem for each in report.updates} == {
        "away.md": "", "edited.md": "its file was edited and not added", "free.md": "", "staged.md":
        "something else is staged", "twin.md": "",
    }  # fmt: skip
    assert (kb.fs_root / "edited.md").read_text() == "a day's work\n"
    assert (kb.fs_root / "staged.md").read_text() == "another day's work\n"
    for name in ("free.md", "away.md", "twin.md"):
        assert (kb.fs_root / name).read_bytes() == (folder / name).read_bytes()
    kb.commit("updated", index=False)
    assert b"".join(kb.cat("staged.md")) == b"another day's work\n"
    assert kb.verify().ok


@pytest.mark.parametrize("moment", ["add_bytes", "make_hot"])
def test_an_update_that_is_cut_off_is_done_by_the_next_one(
    make_kb: MakeKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """A source that only grew gives the whole document: were it hot first, nobody would ask its source again."""
    kb = make_kb({f"{name}.md": long_note(3, name) for name in ("one", "two")})
    folder = copied(kb, tmp_path / "copy")
    kb.trust.evict([""], places=[folder])
    for name in ("one", "two"):
        (folder / f"{name}.md").write_text(long_note(3, name) + "\n## From the source\n")
    module = updating if moment == "add_bytes" else rehydrating
    calls, go_on = [], getattr(module, moment)

    def killed_at_the_second(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        if len(calls) == (2 if moment == "add_bytes" else 1):
            raise KeyboardInterrupt
        return go_on(*arguments, **named)

    monkeypatch.setattr(module, moment, killed_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        kb.trust.rehydrate((), places=[folder], update=True)
    monkeypatch.undo()
    report = kb.trust.rehydrate((), places=[folder], update=True)
    assert {each.problem for each in report.updates} <= {""}
    kb.commit("updated", index=False)
    for name in ("one", "two"):
        assert b"".join(kb.cat(f"{name}.md", "HEAD")) == (folder / f"{name}.md").read_bytes()
    assert kb.verify().ok
    assert kb.trust.tiers().cold.documents == 0


class Liar:
    """A source that claims everything and gives something else."""

    name = "liar"

    def __init__(self, found: Found | None) -> None:
        self._found = found

    def find(self, wanted: Wanted) -> Found | None:
        oids = wanted.chunk_oids()
        if self._found is None:
            return Found("liar", b"liar", None, dict.fromkeys(oids, b"not the passage"))
        return self._found


def test_a_source_that_lies_gives_nothing(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb(NOTES)
    folder = copied(kb, tmp_path / "copy")
    liars = [Liar(None), Liar(Found("liar", b"liar", b"other bytes")), Liar(Found("liar", b"x", b""))]
    assert go_cold(kb, liars).evicted == ()
    go_cold(kb, [FolderSource(folder)])
    before = stored_objects(kb.repo.store)
    report = come_back(kb, *liars)
    assert {each.state for each in report.documents} == {"cold"}
    assert stored_objects(kb.repo.store) == before
    assert len(come_back(kb, *liars, FolderSource(folder)).whole) == len(NOTES)


def test_several_sources_make_one_document_whole(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(6)})
    folder = copied(kb, tmp_path / "copy")
    go_cold(kb, [FolderSource(folder)])
    left, right = tmp_path / "left", tmp_path / "right"
    for place, word in ((left, "word1x1"), (right, "word4x4")):
        place.mkdir()
        (place / "a.md").write_text(long_note(6).replace(word, "x"))
    [done] = come_back(kb, FolderSource(left), FolderSource(right)).documents
    assert done.state == "whole"
    assert len(done.sources) == 2


def test_a_file_under_another_name_is_found(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(3)})
    place = tmp_path / "elsewhere" / "deep"
    place.mkdir(parents=True)
    (place / "other name.txt").write_text(long_note(3))
    assert go_cold(kb, [FolderSource(tmp_path / "elsewhere")]).evicted
    assert come_back(kb, FolderSource(tmp_path / "elsewhere")).whole


def test_a_source_uri_of_a_file_is_asked(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb()
    origin = tmp_path / "with space.md"
    origin.write_text(long_note(2))
    kb.add_bytes("in.md", origin.read_bytes(), source_uri=origin.as_uri())
    kb.commit("in", index=False)
    remove_files(kb, "in.md")
    assert go_cold(kb, [UriSource(may_open=OwnFiles(kb.folder))]).evicted
    assert come_back(kb, UriSource(may_open=OwnFiles(kb.folder))).whole
    pages = {"https://example.org/a": b"page"}
    kb.add_bytes("web.txt", b"page", source_uri="https://example.org/a")
    kb.commit("web", index=False)
    remove_files(kb, "web.txt")
    assert go_cold(kb, [UriSource(), UriSource(pages.__getitem__)], "web.txt").evicted
    assert come_back(kb, UriSource(pages.__getitem__)).whole


def test_a_file_that_a_stranger_names_is_not_opened(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb()
    own, other = tmp_path / "own", tmp_path / "other.md"
    own.mkdir()
    for fs_path in (own / "a.md", other):
        fs_path.write_text(long_note(2))
    (own / "link.md").symlink_to(other)
    remember_file(kb.repo, own.as_uri())
    may_open = OwnFiles(kb.folder)
    assert may_open((own / "a.md").as_uri())
    for uri in (
        other.as_uri(),
        (own / "link.md").as_uri(),
        own.as_uri() + "/../other.md",
        own.as_uri() + "/%2e%2e/other.md",
        own.as_uri() + "er",
        (own / "a.md").as_uri().replace("file://", "file://elsewhere"),
        "file:///etc/hostname",
        "file:",
        "file:///%00",
        "https://example.org/a.md",
    ):
        assert not may_open(uri), uri
    # As it comes in a clone: the document is here, and nobody here has added the file.
    adding.add_bytes(kb.repo, "in.md", other.read_bytes(), other.as_uri())
    kb.commit("in", index=False)
    remove_files(kb, "in.md")
    assert not go_cold(kb, default_sources(kb.repo)).evicted
    assert go_cold(kb, [UriSource()]).evicted == ()
    assert go_cold(kb, [UriSource(may_open=lambda uri: True)]).evicted


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_special_files_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for fs_path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(UsageError, match="regular"):
            read_copy(fs_path, 10)
    with open(tmp_path / "large", "wb") as file:
        file.truncate(DEFAULT_MAX_FILE_BYTES + 1)
    with pytest.raises(UsageError, match="larger"):
        read_copy(tmp_path / "large", 10)


def test_warm_is_stored_and_only_marked(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": "one\n", "b.md": "two\n"})
    before = stored_objects(kb.repo.store)
    report = evict(kb.repo, picked(kb, "a.md"), tier="warm")
    assert [item.paths for item in report.evicted] == [("a.md",)]
    assert stored_objects(kb.repo.store) == before
    assert read_tiers(kb.folder).tier_of(kb.snapshot().get("a.md")) == "warm"
    assert come_back(kb).warmed == 1
    assert not read_tiers(kb.folder).warm


def test_the_work_tree_of_a_cold_document(make_kb: MakeKb, tmp_path: Path) -> None:
    """A cold document needs no file; but while its file may be the last copy, no command takes it away."""
    kb = make_kb({"a.md": long_note(2), "b.md": "two\n"})
    assert kb.fs_root is not None
    kb.repo.refs.move("refs/heads/old", None, kb.resolve("HEAD"), kb.repo.who(), "test")
    go_cold(kb, [WorkTreeSource(kb.fs_root)], "a.md")
    with pytest.raises(ConflictError, match="last copy"):
        kb.rm(["a.md"])
    assert kb.status().clean
    remove_files(kb, "a.md")
    assert kb.status().clean
    assert kb.add().removed == ()
    with pytest.raises(ColdDocument):
        kb.restore(["a.md"])
    assert not (kb.fs_root / "a.md").exists()
    shown = kb.document("a.md")
    assert len(shown.passages) == 2
    kb.rm(["a.md"])
    assert [change.status for change in kb.status().staged] == ["D"]


def test_cores_are_never_evicted(make_kb: MakeKb) -> None:
    import dataclasses

    from arbor.objects.model import Derivation, encode_derivation, encode_document
    from arbor.repo.staging.ingest import store_extraction
    from arbor.text.reading import extract

    kb = make_kb({"a.md": "one\n"})
    with kb.repo.store.writer() as writer:
        oid = store_extraction(writer, extract(b"a core", "core.md"), b"a core")
        derivation = writer.add(Kind.DERIVATION, encode_derivation(Derivation("manual", 1, {}, b"", ())))
    document = dataclasses.replace(kb.snapshot().document(oid), kind="core", derivation=derivation)
    with kb.repo.store.writer() as writer:
        core = writer.add(Kind.DOCUMENT, encode_document(document))
    with pytest.raises(UsageError, match="cores are never evicted"):
        evict(kb.repo, [("core", core)], tier="cold", force=True)


def test_a_core_has_no_other_tier_than_the_hot_one(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": "one\n", "core:odd.md": "two\n"})
    kb.trust.add_core("gist", "One.", [("a.md", None, None)])
    kb.commit("a core")
    for ask in (kb.trust.evict, kb.trust.rehydrate, kb.trust.tiers):
        with pytest.raises(UsageError, match="'core:gist' is a core, and cores never leave the hot tier"):
            ask("core:gist")
    with pytest.raises(UsageError, match="'core:none' matches no document"):
        kb.trust.evict("core:none")
    assert len(kb.trust.evict("core:odd.md", tier="warm").evicted) == 1


def test_a_cold_policy_stands_in_nobodys_way(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": "one word\n", "arbor.toml": "[chunking]\ntarget_bytes = 2000\n"})
    kb.trust.evict("arbor.toml", force=True)
    remove_files(kb, "arbor.toml")
    assert kb.search("word", mode="STRICT").hits
    assert [path for path, _ in kb.standings()] == ["a.md"]
    assert kb.verify(deep=True).ok
    assert kb.fs_root is not None
    with arbor.clone(kb.fs_root, tmp_path / "clone", index=False) as clone:
        assert clone.resolve() == kb.resolve()


def test_the_policy_goes_cold_only_where_it_is_named_and_forced(make_kb: MakeKb, tmp_path: Path) -> None:
    policy = "[ripple]\nepsilon = 0.2\n"
    kb = make_kb({"a.md": "one word\n", "arbor.toml": policy, "x/copy.toml": policy})
    shutil.copytree(tmp_path / "kb", tmp_path / "archive", ignore=shutil.ignore_patterns(".arbor"))
    for selection in ("arbor.toml", "x", "x/copy.toml", ("a.md", "arbor.toml")):
        with pytest.raises(UsageError, match=r"'arbor\.toml' is the policy") as caught:
            kb.trust.evict(selection, places=[tmp_path / "archive"])
        assert "--force" in caught.value.hint
    for options in ({"paths": ("*.toml", "*.md")}, {"paths": "", "force": True},
                    {"criteria": Criteria(older_than_s=0)}):  # fmt: skip
        report = kb.trust.evict(**options, places=[tmp_path / "archive"], dry_run=True)  # type: ignore[arg-type]
        assert [item.paths for item in report.evicted] == [("a.md",)]
    assert kb.trust.evict("arbor.toml", tier="warm", dry_run=True).evicted
    [gone] = kb.trust.evict("arbor.toml", force=True).evicted
    assert gone.paths == ("arbor.toml", "x/copy.toml")


def test_the_policy_of_an_older_version_stays_where_its_documents_go(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": "# Alpha tides and moon\n", "b.md": "# Beta tides and the moon\n",
                  "old.md": "old\n", "arbor.toml": "[ripple]\nmin_similarity = 1.0\n"})  # fmt: skip
    before = kb.resolve("HEAD")
    assert kb.fs_root is not None
    (kb.fs_root / "arbor.toml").write_text("[ripple]\nmin_similarity = 0.2\n")
    kb.add(["arbor.toml"])
    kb.rm(["old.md"])
    kb.commit("others")

    def labels() -> dict[str, str]:
        return {
            path: standing.label.value for path, standing in kb.standings(at=before.hex()) if path != "old.md"
        }

    told = labels()
    with pytest.raises(UsageError, match=r"'arbor\.toml' is the policy"):
        kb.trust.evict("arbor.toml", history=True)
    assert [item.paths for item in kb.trust.evict(history=True, force=True).evicted] == [("old.md",)]
    assert labels() == told
    assert b"".join(kb.cat("arbor.toml", before.hex())).startswith(b"[ripple]")
    [gone] = kb.trust.evict("arbor.toml", history=True, force=True).evicted
    assert gone.paths == ("arbor.toml",)
    assert labels() != told, "the defaults count, and tell something else"


def test_criteria(make_kb: MakeKb) -> None:
    kb = make_kb({"old.md": long_note(3), "small.md": "x\n"})
    now = kb.repo.commit(kb.resolve("HEAD")).committer.seconds
    snapshot = kb.snapshot()

    def paths(*selections: str, age_days: int = 0, **criteria: object) -> list[str]:
        found = choose(kb.repo, snapshot, selections, Criteria(**criteria), now=now + age_days * 86_400.0)  # type: ignore[arg-type]
        return [path for path, _ in found]

    assert paths() == ["old.md", "small.md"]
    assert paths(larger_than=1000) == ["old.md"]
    assert paths(older_than_s=90 * 86_400.0) == []
    assert paths(older_than_s=90 * 86_400.0, age_days=91) == ["old.md", "small.md"]
    assert paths("small.md", larger_than=1000) == []
    assert paths(among=frozenset({"small.md"})) == ["small.md"]
    assert paths(to_fit=10**9) == []
    assert paths(to_fit=packed_bytes(kb.repo.store) - 10) == ["old.md"]
    assert paths(to_fit=0) == ["old.md", "small.md"]
    with pytest.raises(UsageError):
        paths("nothing.md")


def test_several_rounds_give_several_packs(
    make_kb: MakeKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make_kb({f"n{i}.md": long_note(2, str(i)) for i in range(8)})
    folder = copied(kb, tmp_path / "copy")
    go_cold(kb, [FolderSource(folder)])
    monkeypatch.setattr(rehydrating._rounds, "__defaults__", (8_000,))
    seen: list[tuple[int, int]] = []
    report = rehydrate(
        kb.repo, picked(kb), [FolderSource(folder)], progress=lambda done, total: seen.append((done, total))
    )
    assert len(report.whole) == 8
    assert len(seen) > 2
    assert seen[-1] == (8, 8)
    assert kb.verify().ok


def test_a_missing_passage_of_a_hot_document_is_damage(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(3)})
    folder = copied(kb, tmp_path / "copy")
    go_cold(kb, [FolderSource(folder)])
    (kb.folder / "tiers").unlink()
    report = kb.verify()
    assert not report.ok
    assert {finding.where for finding in report.damaged} == {"chunk"}
    (kb.folder / "tiers").write_bytes(b"nonsense")
    assert any(finding.where == "tiers" for finding in kb.verify().damaged)


def test_hints_name_the_cold_document_and_its_version(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a note.md": long_note(2, "old")})
    old = kb.resolve("HEAD").hex()
    fill(kb, {"a note.md": long_note(2, "new")}, "new")
    archive = tmp_path / "archive"
    shutil.copytree(kb.folder, archive / ".arbor")
    kb.trust.evict(["a note.md"], places=[archive])
    kb.trust.evict(history=True, places=[archive])
    here, then = (
        "run: arbor rehydrate-cold 'a note.md'",
        f"run: arbor rehydrate-cold --at {old[:12]} 'a note.md'",
    )
    acts: list[tuple[Callable[[], object], str]] = [
        (lambda: kb.trust.prove("a note.md#0"), here),
        (lambda: kb.trust.prove("a note.md#0", old), then),
        (lambda: kb.rm(["a note.md"]), f"lose it with -f, or {here}"),
        (lambda: kb.consensus("a note.md"), here),
    ]
    for act, hint in acts:
        with pytest.raises(arbor.errors.ArborError) as caught:
            act()
        assert caught.value.hint == hint


def test_evicting_again_does_nothing_and_is_no_failure(make_kb: MakeKb, tmp_path: Path) -> None:
    """Also where a passage of what is cold stays, since a hot document has it too."""
    text = long_note(3)
    kb = make_kb({"a.md": text + "\n## Only here\n\nmine\n" * 90, "b.md": text, "c.md": "# C\n"})
    places = [copied(kb, tmp_path / "copy")]
    first = kb.trust.evict(["a.md"], places=places)
    assert first.shared
    records = len(kb.trust.records())
    again = kb.trust.evict(["a.md"], places=places)
    assert [item.paths for item in again.already] == [("a.md",)]
    assert (again.evicted, again.refused) == ((), ())
    assert [item.paths for item in kb.trust.evict(["a.md"], tier="warm").already] == [("a.md",)]
    kb.trust.evict(["c.md"], tier="warm")
    assert kb.trust.evict(["c.md"], tier="warm").already
    assert len(kb.trust.records()) == records + 1
    assert kb.trust.evict(["b.md"], places=places).dropped >= 3, "now nobody needs what they share"
    assert kb.verify().ok


def test_evicting_again_finishes_what_a_crash_left(
    make_kb: MakeKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make_kb(NOTES)
    folder = copied(kb, tmp_path / "copy")
    before = stored_objects(kb.repo.store)

    def crash(*_: object) -> None:
        raise OSError(5, "power")

    monkeypatch.setattr("arbor.repo.forgetting.evicting.drop_objects", crash)
    with pytest.raises(arbor.errors.ArborError):
        go_cold(kb, [FolderSource(folder)])
    monkeypatch.undo()
    assert stored_objects(kb.repo.store) == before
    assert kb.verify().ok
    assert b"".join(kb.cat("a.md", "HEAD")) == str(NOTES["a.md"]).encode()
    assert go_cold(kb, [FolderSource(folder)]).dropped
    assert kb.verify().ok


def test_a_documents_other_paths_go_with_it_and_are_named(make_kb: MakeKb) -> None:
    kb = make_kb(
        {"one.md": "# Same\n\nsame words\n", "two.md": "# Same\n\nsame words\n", "c.md": "# C\n\nother\n"}
    )
    remove_files(kb, "one.md", "two.md")
    kept = kb.trust.evict(["one.md"])
    assert [item.paths for item in kept.refused] == [("one.md", "two.md")]
    gone = kb.trust.evict(["one.md"], force=True)
    assert [item.paths for item in gone.lost] == [("one.md", "two.md")]


def test_one_knowledge_base_is_one_copy_however_it_is_reached(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(3)})
    other = tmp_path / "other"
    shutil.copytree(kb.folder.parent, other)
    shutil.copytree(other, tmp_path / "plain", ignore=shutil.ignore_patterns(".arbor"))
    once = kb.trust.evict(["a.md"], places=[other, other / ".arbor"], copies=2, dry_run=True)
    assert once.refused[0].problem == "only 1 of 2 copies were found"
    twice = kb.trust.evict(["a.md"], places=[other, tmp_path / "plain"], copies=2, dry_run=True)
    assert len(twice.evicted[0].copies) == 2


def test_a_source_in_the_own_work_tree_is_no_copy(make_kb: MakeKb) -> None:
    kb = make_kb({"own.md": long_note(3)})
    assert kb.fs_root is not None
    kb.add_bytes(
        "y.md", (kb.fs_root / "own.md").read_bytes() + b"y", source_uri=(kb.fs_root / "y.src").as_uri()
    )
    (kb.fs_root / "y.src").write_bytes(b"".join(kb.cat("y.md")))
    kb.commit("y")
    assert "own folder, which is no copy" in kb.trust.evict(["y.md"]).refused[0].problem


def test_older_versions_come_back_too(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(3, "old"), "b.md": "# B\n\ntext\n"})
    archive = copied(kb, tmp_path / "archive")
    go_cold(kb, [FolderSource(archive)], "a.md")
    old = kb.resolve("HEAD").hex()
    kb.add_bytes("a.md", b"# new\n\nnew text\n", overwrite=True)
    kb.commit("new")
    with pytest.raises(ColdDocument):
        list(kb.cat("a.md", old))
    assert kb.trust.rehydrate(["a.md"], places=[archive]).documents == ()
    [done] = kb.trust.rehydrate(["a.md"], places=[archive], revision=old).documents
    assert (done.paths, done.state) == (("a.md",), "whole")
    assert b"".join(kb.cat("a.md", old)) == (archive / "a.md").read_bytes()
    assert b"".join(kb.cat("a.md")) == b"# new\n\nnew text\n"
    assert kb.fs_root is not None
    assert (kb.fs_root / "a.md").read_bytes() == b"# new\n\nnew text\n"


def test_all_means_the_documents_of_the_history_too(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(3, "old"), "b.md": "# B\n\ntext\n"})
    archive = copied(kb, tmp_path / "archive")
    go_cold(kb, [FolderSource(archive)], "a.md", "b.md")
    kb.rm(["a.md"], cached=True)
    kb.commit("gone")
    done = kb.trust.rehydrate(places=[archive])
    assert sorted(each.paths for each in done.whole) == [("a.md",), ("b.md",)]
    assert read_tiers(kb.folder).cold == frozenset()


def test_older_versions_are_evicted_and_nothing_that_is_current(make_kb: MakeKb, tmp_path: Path) -> None:
    texts = {name: long_note(4, name) for name in ("old", "tagged", "branch", "staged", "now", "gone")}
    kb = make_kb({"a.md": texts["old"], "gone.md": texts["gone"]})
    assert kb.fs_root is not None
    fill(kb, {"a.md": texts["tagged"]}, "tagged")
    kb.branches.tag("v1")
    kb.branches.switch("side", create=True)
    fill(kb, {"a.md": texts["branch"], "s.md": texts["staged"]}, "side")
    kb.branches.switch("main")
    kb.rm(["gone.md"])
    fill(kb, {"a.md": texts["now"]}, "now")
    kb.add_bytes("again.md", texts["old"].encode())
    archive = tmp_path / "archive"
    shutil.copytree(kb.fs_root / ".arbor", archive / ".arbor")
    before = packed_bytes(kb.repo.store)
    hot = kb.trust.tiers()
    assert [item.paths for item in kb.trust.evict(history=True, places=[archive]).evicted] == [("a.md",)]
    assert packed_bytes(kb.repo.store) < before
    cold = kb.trust.tiers()
    size = len(texts["tagged"])
    assert (hot.past, hot.past_cold, cold.past, cold.past_cold) == (
        TierSizes(1, size),
        TierSizes(0, 0),
        TierSizes(1, size),
        TierSizes(1, size),
    )
    assert cold.packed + cold.cache < cold.folder < hot.folder
    assert kb.verify().ok
    for revision, path, text in (
        ("side", "a.md", "branch"),
        ("side", "gone.md", "gone"),
        ("HEAD~1", "gone.md", "gone"),
    ):
        assert b"".join(kb.cat(path, revision)).decode() == texts[text]
    with pytest.raises(ColdDocument):
        list(kb.cat("a.md", "v1"))
    kb.add_bytes("again.md", b"something else\n", overwrite=True)
    kb.branches.delete("side", force=True)
    found = kb.trust.evict(["*.md"], Criteria(larger_than=100), history=True, places=[archive])
    assert {item.paths for item in found.evicted} == {("a.md",), ("gone.md",)}
    assert kb.verify().ok
    assert kb.trust.rehydrate((), places=[archive]).whole
    assert b"".join(kb.cat("a.md", "v1")).decode() == texts["tagged"]
    for criteria, tier in ((Criteria(older_than_s=5), "cold"), (Criteria(to_fit=5), "cold"), (None, "warm")):
        with pytest.raises(UsageError, match="with the history go"):
            kb.trust.evict((), criteria, tier=tier, history=True)
    with pytest.raises(UsageError, match="nothing says"):
        kb.trust.evict()


def test_a_source_that_only_grew_has_drifted(make_kb: MakeKb, tmp_path: Path) -> None:
    source = tmp_path / "source.md"
    source.write_text(long_note(4))
    kb = make_kb({"b.md": "# B\n\ntext\n"})
    kb.add_bytes("a.md", source.read_bytes(), source_uri=source.as_uri())
    kb.commit("a")
    kb.trust.evict(["a.md"])
    remove_files(kb, "a.md")
    source.write_text(long_note(4) + "\n## More\n\n" + "grown text " * 300 + "\n")
    [done] = kb.trust.rehydrate(["a.md"], update=True).documents
    assert done.state == "whole"
    assert done.drift is not None
    assert len(done.drift.gone) <= 1, "the last passage may be cut elsewhere now"
    assert len(done.drift.new) >= 1
    assert [record.act for record in Journal(kb.folder).records()][-1] == "drift"
    assert b"".join(kb.cat("a.md", "HEAD")) == long_note(4).encode()
    assert kb.status().staged[0].path == "a.md", "what the source holds now is staged"


def test_an_edit_of_the_own_file_is_no_drift(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(4)})
    go_cold(kb, [FolderSource(copied(kb, tmp_path / "archive"))], "a.md")
    assert kb.fs_root is not None
    (kb.fs_root / "a.md").write_text(long_note(4) + "\nmore\n")
    [done] = kb.trust.rehydrate(["a.md"]).documents
    assert (done.state, done.drift) == ("whole", None)


def test_what_is_here_of_a_half_document_is_found_and_proven(make_kb: MakeKb, tmp_path: Path) -> None:
    sections = [
        f"## Part {name}\n\n{name} " + f"{name}word filler text " * 150 + "\n\n"
        for name in ("ash", "oak", "elm")
    ]
    kb = make_kb({"a.md": "# Trees\n\n" + "".join(sections), "b.md": "# B\n\ntext\n"})
    archive = copied(kb, tmp_path / "archive")
    go_cold(kb, [FolderSource(archive)], "a.md")
    remove_files(kb, "a.md")
    text = (archive / "a.md").read_text()
    (archive / "a.md").write_text(text.replace("ashword", "ASHWORD", 1).replace("elmword", "ELMWORD", 1))
    [done] = kb.trust.rehydrate(["a.md"], places=[archive]).documents
    assert done.state == "part"
    [hit] = kb.search("oakword", mode="STRICT").hits
    assert (hit.path, hit.audit.value) == ("a.md", "STRICT")
    assert "oakword" in hit.text
    other = kb.search("elmword")
    assert [found.audit.value for found in other.hits] == ["HYBRID"], "found by the words that were kept"
    assert kb.search("elmword", mode="STRICT").hits == ()
    assert kb.verify().ok
    before = [(found.path, found.score) for found in kb.search("oakword filler").hits]
    kb.reindex()
    assert [(found.path, found.score) for found in kb.search("oakword filler").hits] == before
    kb.add_bytes("b.md", b"# B\n\noakword elsewhere\n", overwrite=True)
    kb.commit("more")
    (archive / "a.md").write_text(text)
    assert kb.trust.rehydrate(["a.md"], places=[archive]).whole
    assert read_tiers(kb.folder).parts == frozenset()
    assert {found.path for found in kb.search("elmword", mode="STRICT").hits} == {"a.md"}


def test_statistics_of_everything_need_everything(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(3), "b.md": long_note(3, "b")})
    go_cold(kb, [FolderSource(copied(kb, tmp_path / "archive"))], "a.md")
    with pytest.raises(ColdDocument, match="of 1 it is not here"):
        kb.trust.distill(["b.md"], "keywords", {"statistics": "kb"})
    with pytest.raises(UsageError, match="'all' is no kind of statistics"):
        kb.trust.distill(["b.md"], "keywords", {"statistics": "all"})


def test_a_changed_file_of_the_same_name_gives_its_passages(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"deep/a.md": long_note(6), "b.md": "# B\n\ntext\n"})
    archive = copied(kb, tmp_path / "archive")
    go_cold(kb, [FolderSource(archive)], "deep/a.md")
    remove_files(kb, "deep/a.md")
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat/a.md").write_text(
        "# Another beginning\n\n" + (archive / "deep/a.md").read_text().split("\n", 1)[1]
    )
    [done] = kb.trust.rehydrate(["deep/a.md"], places=[tmp_path / "flat"]).documents
    assert done.state == "part"
    assert done.accepted > done.missing


def test_another_document_of_the_same_name_is_no_drift(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"api/ssr.md": long_note(3)})
    go_cold(kb, [FolderSource(copied(kb, tmp_path / "archive"))], "api/ssr.md")
    remove_files(kb, "api/ssr.md")
    other = tmp_path / "guide/scaling"
    other.mkdir(parents=True)
    (other / "ssr.md").write_text("# Server side\n\nanother document altogether\n")
    report = kb.trust.rehydrate(["api/ssr.md"], places=[tmp_path / "guide"], update=True)
    assert [(done.state, done.drift) for done in report.documents] == [("cold", None)]
    assert kb.status().clean
    assert all(
        "other bytes" not in item.problem for item in kb.trust.evict("api/ssr.md", places=[other]).refused
    )


def test_the_packs_of_a_cold_document_are_not_listed_once_a_passage(
    make_kb: MakeKb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make_kb({"a.md": long_note(40)})
    go_cold(kb, [FolderSource(copied(kb, tmp_path / "copy"))], "a.md")
    assert len(kb.document("a.md").passages) > 20
    listed, refresh = [], ObjectStore.refresh

    def counted(store: ObjectStore) -> bool:
        listed.append(store)
        return refresh(store)

    monkeypatch.setattr(ObjectStore, "refresh", counted)
    assert not any(passage.here for passage in kb.document("a.md").passages)
    with pytest.raises(ColdDocument):
        list(kb.cat("a.md", "HEAD"))
    assert len(listed) < 10


def test_the_owner_of_a_file_is_looked_for_once_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("kb", "kb/notes/inner"):
        arbor.init(tmp_path / name)
    (tmp_path / "other").mkdir()
    asked: list[Path] = []

    def is_kb_folder(folder: Path) -> bool:
        asked.append(folder)
        return places.is_kb_folder(folder)

    monkeypatch.setattr(copies, "is_kb_folder", is_kb_folder)
    owners = copies.Owners()
    files = ["kb/a.md", "kb/notes/b.md", "kb/notes/inner/c.md", "kb/notes/inner/d/e.md", "other/f.md", "g.md"]
    found = {name: owners.owner_of(tmp_path / name) for name in files}
    assert (
        found["kb/a.md"]
        == found["kb/notes/b.md"]
        != found["kb/notes/inner/c.md"]
        == found["kb/notes/inner/d/e.md"]
    )
    assert b"" not in (found["kb/a.md"], found["kb/notes/inner/c.md"])
    assert found["other/f.md"] == found["g.md"]
    assert {name: owners.owner_of(tmp_path / name) for name in reversed(files)} == found
    assert len(asked) == len(set(asked))


def test_links_of_a_cold_document_are_no_findings_and_no_error(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb(
        {"cold.md": "# Cold\n\nSee [it](gone.md).\n", "hot.md": "See [it](gone.md).\n", "gone.md": "# It\n"}
    )
    archive = copied(kb, tmp_path / "archive")
    go_cold(kb, [FolderSource(archive)], "cold.md")
    kb.rm(["gone.md"])
    assert [finding.path for finding in kb.check_staged().findings] == ["hot.md"]
