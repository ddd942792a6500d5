"""Verification names what is damaged and whom it touches, and takes nothing on trust."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest

import arbor
from arbor.errors import IntegrityError, UsageError
from arbor.index import checking
from arbor.kb import KnowledgeBase
from arbor.objects import ledger, merkle
from arbor.objects.ids import Kind
from arbor.objects.ledger import Node
from arbor.objects.model import Commit, Document, Manifest, encode_commit, encode_document, encode_manifest
from arbor.repo.trust import verify
from arbor.repo.trust.pack_audit import Audit
from arbor.repo.trust.verify import VerifyReport
from arbor.store.pack_index import encode_index, encode_row, open_index
from tests.repo.kit import new_kb, record, signature, write

FILES: dict[str, str | bytes] = {f"{n % 3}/{n}.md": f"# Note {n}\n\nText of note {n}.\n" for n in range(40)}


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    kb = new_kb(tmp_path, FILES)
    record(kb, {"0/0.md": "# Changed\n", "x.md": "x\n"}, "second")
    return kb


def again(kb: KnowledgeBase) -> VerifyReport:
    assert kb.fs_root is not None
    return arbor.open(kb.fs_root).verify()


def flip(path: Path, place: int, bit: int = 1) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= bit
    path.write_bytes(data)


def packs(kb: KnowledgeBase) -> list[Path]:
    return sorted((kb.folder / "packs").glob("*.pack"), key=lambda path: path.stat().st_size)


def test_a_sound_one_is_sound(kb: KnowledgeBase) -> None:
    report = kb.verify()
    assert report.ok
    assert report.damaged == ()
    assert report.commit == kb.resolve().hex()
    assert report.ledger_root == kb.snapshot("HEAD").ledger_root.hex()
    assert (report.checked["commits"], report.checked["documents"]) == (2, 42)
    assert kb.verify("HEAD~1").checked["commits"] == 1


def test_an_empty_one_is_sound(tmp_path: Path) -> None:
    report = new_kb(tmp_path).verify()
    assert report.ok
    assert (report.commit, report.ledger_root) == ("", ledger.EMPTY_LEDGER.hex())


def test_the_root_that_somebody_read_out(kb: KnowledgeBase) -> None:
    root = kb.snapshot("HEAD~1").ledger_root.hex()
    assert kb.verify("HEAD~1", root=root).ok
    report = kb.verify(root=root)
    assert not report.ok
    assert root in report.damaged[0].problem
    assert kb.verify(root=report.ledger_root).ok
    with pytest.raises(UsageError):
        kb.verify(root="abc")


def test_a_damaged_passage_is_named_with_every_document_at_every_revision(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {"a.md": "shared\n", "b/c.md": "shared\n", "other.md": "other\n" * 1000})
    kb.mv(["b/c.md"], "d.md")
    second = kb.commit("moved", index=False).commit
    first = kb.resolve("HEAD~1").hex()
    shared = bytes.fromhex(kb.document("a.md").passages[0].oid)
    [pack] = [pack for pack in kb.repo.store.packs() if pack.index.find(shared)]
    place = pack.index.find(shared)
    assert place is not None
    flip(pack.fs_path, pack.index.frame_offsets[place.frame] + 40)
    report = again(kb)
    assert not report.ok
    lost = [finding for finding in report.damaged if finding.where == "chunk"]
    assert {pair for finding in lost for pair in finding.affects} == {
        (first, "a.md"),
        (first, "b/c.md"),
        (first, "other.md"),
        (second, "a.md"),
        (second, "d.md"),
        (second, "other.md"),
    }
    assert any(pack.name[:12] in finding.where for finding in report.damaged)


def test_a_missing_pack_names_what_is_gone(kb: KnowledgeBase) -> None:
    whole = {path: path.read_bytes() for path in packs(kb)}
    for path in packs(kb):
        path.unlink()
        path.with_suffix(".idx").unlink()
        report = again(kb)
        assert not report.ok
        assert {finding.where for finding in report.damaged} & {
            "commit",
            "node",
            "document",
            "manifest",
            "chunk",
        }
        path.write_bytes(whole[path])
    assert again(kb).ok


DAMAGE: dict[str, Callable[[KnowledgeBase], None]] = {
    "HEAD": lambda kb: flip(kb.folder / "HEAD", 8),
    "refs/heads/main": lambda kb: flip(kb.folder / "refs/heads/main", 3),
    "refs/tags/odd": lambda kb: write(kb.folder, {"refs/tags/odd": "what\n"}),
    "logs/refs/heads/main:1": lambda kb: flip(kb.folder / "logs/refs/heads/main", 10),
    "logs/HEAD:2": lambda kb: flip(kb.folder / "logs/HEAD", (kb.folder / "logs/HEAD").stat().st_size - 5),
    "stage": lambda kb: write(kb.folder, {"stage": b"junk"}),
    "config.toml": lambda kb: write(kb.folder, {"config.toml": "not = [toml"}),
}


@pytest.mark.parametrize("where", DAMAGE)
def test_damage_outside_of_the_packs_is_named(kb: KnowledgeBase, where: str) -> None:
    DAMAGE[where](kb)
    report = again(kb)
    assert not report.ok
    assert where in [finding.where for finding in report.damaged]


def test_a_head_that_follows_nothing_is_named(kb: KnowledgeBase) -> None:
    kb.repo.refs.set_head("refs/heads/absent")
    assert [finding.where for finding in again(kb).damaged] == ["HEAD"]


def test_every_damage_is_found_at_once(kb: KnowledgeBase) -> None:
    for damage in DAMAGE.values():
        damage(kb)
    assert set(DAMAGE) <= {finding.where for finding in again(kb).damaged}


def test_an_index_that_does_not_fit_is_named_or_made_again(kb: KnowledgeBase) -> None:
    for path in packs(kb):
        index = path.with_suffix(".idx")
        whole = index.read_bytes()
        for place in (3, 9, 20, 60, 1100, len(whole) // 2, len(whole) - 1):
            flip(index, place)
            report = again(kb)
            assert report.ok or f"pack index {path.stem[:12]}" in [
                finding.where for finding in report.damaged
            ]
            index.write_bytes(whole)


@pytest.mark.parametrize("fault", ["a row less", "a row more", "another key"])
def test_an_index_with_a_right_checksum_that_names_other_objects_is_named(
    kb: KnowledgeBase, fault: str
) -> None:
    path = packs(kb)[-1]
    index = open_index(path.with_suffix(".idx"), bytes.fromhex(path.stem))
    rows = [encode_row(key, frame, slot) for key, frame, slot in index.rows()]
    if fault == "a row more":
        rows.append(encode_row(b"\x77" * 32, 0, 0))
    else:
        changed = rows.pop(len(rows) // 2)
        if fault == "another key":
            rows.append(bytes([changed[0] ^ 1]) + changed[1:])
    path.with_suffix(".idx").write_bytes(encode_index(bytes.fromhex(path.stem), rows, index.frame_offsets))
    assert f"pack index {path.stem[:12]}" in [finding.where for finding in again(kb).damaged]


def store(kb: KnowledgeBase, *objects: tuple[int, bytes]) -> list[bytes]:
    with kb.repo.lock(), kb.repo.store.writer() as writer:
        return [writer.add(kind, data) for kind, data in objects]


def commit_of(
    root: bytes, parents: tuple[bytes, ...] = (), log: tuple[int, tuple[bytes, ...]] = (0, ())
) -> bytes:
    who = signature()
    return encode_commit(Commit(root, parents, who, who, "forged", {}, *log))


def point_main_at(kb: KnowledgeBase, oid: bytes) -> None:
    kb.repo.refs.move("refs/heads/main", kb.repo.refs.head_oid(), oid, signature(), "forged")


def leaf(*entries: tuple[str, bytes]) -> bytes:
    return ledger.encode_node(Node(0, entries, ()))


def document_of(manifest: bytes, count: int, root: bytes, size: int) -> bytes:
    return encode_document(
        Document(
            "surface",
            "text/plain",
            "",
            "",
            "utf-8",
            size,
            bytes(32),
            "x/1",
            "y/1",
            "z/1",
            count,
            root,
            0,
            b"",
            manifest,
        )
    )


def key_of_level(level: int, prefix: str = "d/k") -> str:
    return next(key for number in range(10**6) if ledger.boundary_level(key := f"{prefix}{number}") == level)


def forge_commit_without_its_ledger(kb: KnowledgeBase) -> None:
    point_main_at(kb, store(kb, (Kind.COMMIT, commit_of(bytes(32))))[0])


def forge_log(kb: KnowledgeBase) -> None:
    head = kb.resolve()
    point_main_at(
        kb, store(kb, (Kind.COMMIT, commit_of(kb.snapshot("HEAD").ledger_root, (head,), (1, (head,)))))[0]
    )


def forge_parent(kb: KnowledgeBase) -> None:
    root = kb.snapshot("HEAD").ledger_root
    point_main_at(kb, store(kb, (Kind.COMMIT, commit_of(root, (bytes(32),), (1, (bytes(32),)))))[0])


def forge_ledger(kb: KnowledgeBase, *nodes: bytes) -> None:
    oids = store(kb, *[(Kind.NODE, node) for node in nodes])
    point_main_at(kb, store(kb, (Kind.COMMIT, commit_of(oids[-1])))[0])


def forge_path(kb: KnowledgeBase) -> None:
    forge_ledger(kb, leaf(("d/../escape", bytes.fromhex(kb.document("x.md").document))))


def forge_tall_tree(kb: KnowledgeBase) -> None:
    key = key_of_level(0)
    low = leaf((key, bytes.fromhex(kb.document("x.md").document)))
    [oid] = store(kb, (Kind.NODE, low))
    forge_ledger(kb, ledger.encode_node(Node(1, (), (ledger.Child(key, oid, 1),))))


def forge_count(kb: KnowledgeBase) -> None:
    one, two = sorted([key_of_level(1), key_of_level(1, "d/m")])
    value = bytes.fromhex(kb.document("x.md").document)
    oids = store(kb, (Kind.NODE, leaf((one, value))), (Kind.NODE, leaf((two, value))))
    forge_ledger(
        kb, ledger.encode_node(Node(1, (), (ledger.Child(one, oids[0], 5), ledger.Child(two, oids[1], 1))))
    )


def forge_file_and_folder(kb: KnowledgeBase) -> None:
    value = bytes.fromhex(kb.document("x.md").document)
    paths = next(
        (f"d/n{n}", f"d/n{n}/x/y")
        for n in range(999)
        if not ledger.boundary_level(f"d/n{n}") and ledger.boundary_level(f"d/n{n}/x/y") < 2
    )
    forge_ledger(kb, leaf(*[(path, value) for path in paths]))


def forge_document(kb: KnowledgeBase, **lie: object) -> None:
    text = b"words\n"
    [chunk] = store(kb, (Kind.CHUNK, text))
    refs = (arbor.objects.model.ChunkRef(chunk, len(text), 1, ()),)
    [manifest] = store(kb, (Kind.MANIFEST, encode_manifest(Manifest(refs, (), []))))
    honest = {"manifest": manifest, "count": 1, "root": merkle.tree_root([chunk]), "size": len(text)}
    [document] = store(kb, (Kind.DOCUMENT, document_of(**{**honest, **lie})))  # type: ignore[arg-type]
    forge_ledger(kb, leaf((key_of_level(0), document)))


def forge_loose_encoding(kb: KnowledgeBase) -> None:
    [oid] = store(kb, (Kind.COMMIT, commit_of(ledger.EMPTY_LEDGER)))
    row = msgpack.unpackb(kb.repo.store.get(oid)[1])
    row[0] = True
    point_main_at(kb, store(kb, (Kind.COMMIT, msgpack.packb(row)))[0])


FORGERIES: dict[str, Callable[[KnowledgeBase], None]] = {
    "a commit whose ledger is not there": forge_commit_without_its_ledger,
    "a commit whose log forgets": forge_log,
    "a commit whose parent is not there": forge_parent,
    "a path that leaves the folder": forge_path,
    "a tree that is too high": forge_tall_tree,
    "a wrong count": forge_count,
    "a file that is a folder": forge_file_and_folder,
    "a document with a wrong root": lambda kb: forge_document(kb, root=bytes(32)),
    "a document with a wrong count": lambda kb: forge_document(kb, count=2),
    "a document with a wrong size": lambda kb: forge_document(kb, size=7),
    "a document without its manifest": lambda kb: forge_document(kb, manifest=bytes(32)),
    "a second encoding": forge_loose_encoding,
    "a branch at a document": lambda kb: point_main_at(kb, bytes.fromhex(kb.document("x.md").document)),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_was_forged_with_right_hashes_is_found(kb: KnowledgeBase, name: str) -> None:
    """As somebody could who writes a knowledge base by hand: every checksum fits, what they say does not."""
    FORGERIES[name](kb)
    assert not again(kb).ok


def test_an_honest_document_made_the_same_way_passes(kb: KnowledgeBase) -> None:
    forge_document(kb)
    assert again(kb).ok


def test_litter_is_harmless(kb: KnowledgeBase) -> None:
    write(
        kb.folder,
        {
            "packs/.arbor-tmp-1-2": "half",
            "packs/notes.txt": "x",
            "packs/" + "0" * 64 + ".idx": "x",
            "refs/heads/.arbor-tmp-3-4": "x",
        },
    )
    assert again(kb).ok


def test_many_frames_are_checked_by_several_processes(tmp_path: Path) -> None:
    kb = new_kb(tmp_path, {f"{n}.bin": os.urandom(300_000) for n in range(40)})
    assert kb.verify().ok
    pack = packs(kb)[-1]
    flip(pack, pack.stat().st_size // 2)
    assert not again(kb).ok


def test_verify_of_one_revision_says_what_it_needs(kb: KnowledgeBase) -> None:
    kb.repo.refs.move("refs/heads/other", None, bytes(31) + b"x", signature(), "nowhere")
    assert kb.verify("HEAD").ok
    assert not kb.verify().ok


def test_a_document_that_records_the_hash_of_another_file_is_found(
    kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every object is sound, and the document still does not hold the file that it names."""
    assert kb.verify(deep=True).ok
    with monkeypatch.context() as lying:
        lying.setattr("arbor.repo.staging.storing_files.file_hash", lambda data: bytes(32))
        write(kb.repo.work_tree(), {"lie.md": "# Not this\n"})
        kb.add(["lie.md"])
    kb.commit("third")
    assert kb.verify().ok
    report = kb.verify(deep=True)
    assert not report.ok
    [found] = report.damaged
    assert found.affects == ((kb.resolve().hex(), "lie.md"),)
    assert "hash it records" in found.problem
    with pytest.raises(IntegrityError, match="hash it records"):
        b"".join(kb.cat("lie.md"))
    folder = tmp_path_factory.mktemp("clones")
    assert kb.fs_root is not None
    with pytest.raises(IntegrityError, match=r"'lie.md' \(document [0-9a-f]{12}\) does not hold the file"):
        arbor.clone(str(kb.fs_root), folder / "full")
    assert not (folder / "full").exists()
    kb.branches.switch("other", create=True)
    kb.rm(["lie.md"], force=True)
    kb.commit("without it")
    with pytest.raises(IntegrityError, match="hash it records"):
        kb.branches.switch("main")
    assert not (kb.fs_root / "lie.md").exists()


@pytest.mark.parametrize("deep", [False, True])
def test_what_others_write_meanwhile_is_no_damage(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, deep: bool
) -> None:
    """A commit, a tag, something staged and a new index, each made while the packs are read."""
    assert kb.fs_root is not None
    kb.search("note")
    other = arbor.open(kb.fs_root)
    real = verify.audit_packs

    def audit_packs(*what: Any) -> Audit:
        audit = real(*what)
        record(other, {"new.md": "# New\n\nOnly just.\n"}, "third")
        other.branches.tag("late", message="so late")
        other.add_bytes("staged.md", b"# Staged\n\nNot in yet.\n")
        other.reindex()
        return audit

    monkeypatch.setattr(verify, "audit_packs", audit_packs)
    report = kb.verify(deep=deep)
    assert report.damaged == ()
    assert report.ok
    monkeypatch.undo()
    assert again(kb).ok


def test_a_cache_that_is_written_while_it_is_looked_at_is_looked_at_again(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.search("note")
    real, turns = checking.check, []

    def check(fs_path: Path, *what: Any, **how: Any) -> list[str]:
        turns.append(fs_path)
        if len(turns) > 1:
            return real(fs_path, *what, **how)
        kb.reindex()  # between opening the old file and reading the write-ahead file of the new one
        return ["the search index cannot be read: disk I/O error"]

    monkeypatch.setattr(checking, "check", check)
    assert kb.verify().ok
    assert len(turns) == 2
    monkeypatch.setattr(checking, "check", lambda *_, **__: ["it is broken"])
    assert [finding.problem for finding in kb.verify().damaged] == ["it is broken"]
