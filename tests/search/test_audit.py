"""What a hit may claim: every link of the proof is cut once, and the label falls."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arbor.errors import IntegrityError
from arbor.index.access import index_path
from arbor.objects import ledger, merkle
from arbor.objects.ids import Kind, object_id
from arbor.objects.ledger import Child, Node
from arbor.repo.snapshot import Snapshot
from arbor.repo.tiers import Tiers
from arbor.search import audit
from arbor.search.results import AuditMode, Hit
from arbor.store.odb import ObjectStore
from tests.search.conftest import Library, Shelve

STRICT, HYBRID, VISUAL = AuditMode.STRICT, AuditMode.HYBRID, AuditMode.VISUAL
SECTION = "\n\n## Section {0}\n\n" + "Some text that goes on for a while. " * 60
LONG = "# Trees\n\nA merkle tree has leaves.\n" + "".join(SECTION.format(n) for n in range(6)) + "merkle"
FILES = {
    "merkle.md": LONG,
    "copy of merkle.md": LONG,
    "named/merkle notes.md": "# Something\n\nNothing about it in here.\n",
    "empty-merkle.txt": "",
    **{f"other{n}.md": f"# Other {n}\n\nfiller\n" for n in range(10)},
}


@pytest.fixture
def library(shelve: Shelve) -> Library:
    return shelve(FILES)


def by_path(library: Library, query: str = "merkle", **options: object) -> dict[str, Hit]:
    return {hit.path: hit for hit in library.search(query, **options).hits}


@pytest.mark.parametrize("false", [{"newlines": 1}, {"size": 5}], ids=["lines", "bytes"])
def test_a_passage_that_is_not_as_long_as_its_manifest_says_is_not_proven(
    library: Library, false: dict[str, int]
) -> None:
    oid = by_path(library)["copy of merkle.md"].document
    proven = audit.Auditor().document(library.snapshot, oid)
    first, *others = proven.manifest.passages
    assert not audit.Auditor().passage(library.snapshot, proven, 0, frozenset()).problem
    manifest = replace(proven.manifest, passages=(first._replace(**false), *others))
    lied = audit.ProvenDocument(oid, proven.document, manifest)
    assert audit.Auditor().passage(library.snapshot, lied, 0, frozenset()).problem == audit.FALSE_LINES


def test_a_strict_hit_is_proven_by_hand(library: Library) -> None:
    hit = by_path(library, mode=STRICT)["copy of merkle.md"]
    assert hit.audit is STRICT
    assert hit.paths == ("copy of merkle.md", "merkle.md")
    assert hit.reasons == (audit.VERIFIED, "in the text: merkle")
    place = hit.chunk
    assert place is not None
    data = FILES[hit.path].encode()[place.start_byte : place.end_byte]
    assert data.decode() == hit.text
    assert object_id(Kind.CHUNK, data) == place.oid
    lines = FILES[hit.path].split("\n")
    assert hit.text.rstrip("\n").split("\n")[0] == lines[place.start_line - 1]
    assert hit.text.rstrip("\n").split("\n")[-1] == lines[place.end_line - 1]
    document = library.snapshot.document(hit.document)
    leaves = [ref.oid for ref in library.snapshot.manifest(document).passages]
    path = merkle.inclusion_path(leaves, place.index)
    assert merkle.root_from_path(place.oid, place.index, document.passage_count, path) == document.text_root


def test_each_hit_says_what_is_proven(library: Library) -> None:
    hits = by_path(library, mode=HYBRID)
    assert hits["copy of merkle.md"].audit is STRICT
    assert hits["named/merkle notes.md"].audit is HYBRID
    assert hits["named/merkle notes.md"].reasons[-1] == audit.NO_EVIDENCE
    assert hits["empty-merkle.txt"].audit is HYBRID
    assert hits["empty-merkle.txt"].reasons[-1] == audit.NO_TEXT
    assert hits["empty-merkle.txt"].chunk is None


def test_what_a_mode_withholds_is_counted(library: Library) -> None:
    found = library.search("merkle", mode=STRICT)
    assert [hit.path for hit in found.hits] == ["copy of merkle.md"]
    assert found.withheld == {audit.NO_EVIDENCE: 1, audit.NO_TEXT: 1}
    assert library.search("merkle", mode=HYBRID).withheld == {}


def test_filters_alone_can_show_nothing_in_strict_and_few_documents_are_looked_at(shelve: Shelve) -> None:
    library = shelve({f"{number}.md": f"# Note {number}\n\ntext {number}\n" for number in range(60)})
    found = library.search("path:*.md", mode=STRICT)
    assert not found.hits
    assert found.withheld == {audit.NO_EVIDENCE: 11}
    [note] = found.notes
    assert "STRICT shows nothing without" in note
    assert note.endswith("(withheld are the first 11)")
    assert len(library.search("path:*.md", mode=HYBRID).hits) == 10
    few = library.search("path:1*.md", mode=STRICT, limit=20)
    assert few.withheld == {audit.NO_EVIDENCE: 11}


def test_only_what_stands_before_the_last_hit_counts_as_withheld(shelve: Shelve) -> None:
    files = {f"apple{n}.md": f"# T{n}\n\nfiller" for n in range(30)} | {
        "z.md": "# Z\n\napple",
        "y.md": "# Y\n\napple",
    }
    library = shelve(files | {f"o{n}.md": f"# O{n}\n\nother" for n in range(60)})
    found = library.search("apple", mode=STRICT, limit=1)
    assert [hit.path for hit in found.hits] == ["y.md"]
    assert sum(found.withheld.values()) in (0, 30)


def test_visual_claims_nothing(library: Library) -> None:
    for hit in library.search("merkle", mode=VISUAL).hits:
        assert hit.audit is VISUAL
        assert audit.NO_CLAIM in hit.reasons


def test_the_modes_allow_no_less_than_they_ask() -> None:
    allowed = {mode: [label for label in AuditMode if mode.allows(label)] for mode in AuditMode}
    assert allowed == {STRICT: [STRICT], HYBRID: [STRICT, HYBRID], VISUAL: [STRICT, HYBRID, VISUAL]}


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("所有权", "这里是所有的列表。", HYBRID),
        ("所有权", "每个值都有所有权。", STRICT),
        ("什么是所有权和借用", "可变借用只能有一个。", STRICT),
        ("什么是所有权和借用", "这是所有的列表，什么都有。", HYBRID),
        ("蔚来的汽车", "蔚来今天上市。", STRICT),
        ("所有", "每个值都有所有权。", STRICT),
        ("所有 所有权", "这里是所有的列表。", STRICT),
        ("所有權", "這裡是所有的列表。", HYBRID),
        ("東京都の", "京都の寺。", HYBRID),
        ("データベース", "データを見る。", HYBRID),
        ("データベース", "関係データベースの設計。", STRICT),
        ("ありがとう", "そこにあり、ここにある。", HYBRID),
        ("고양이는", "고양이가 잔다.", STRICT),
        ("데이터베이스", "데이터를 읽는다.", HYBRID),
        ('"所有的"', "这里是所有的列表。", STRICT),
        ("所有*", "每个值都有所有权。", STRICT),
        ("owner所有权", "the owner of all", STRICT),
    ],
)
def test_a_piece_of_a_word_is_no_evidence_where_words_are_not_spaced(
    shelve: Shelve, query: str, text: str, expected: object
) -> None:
    library = shelve({"note.txt": text} | {f"o{n}.md": f"# O{n}\n\nother {n}" for n in range(20)})
    hit = by_path(library, query=query, mode=HYBRID)["note.txt"]
    assert hit.audit is expected, hit.reasons
    assert hit.reasons[-1] == audit.NO_EVIDENCE or expected is STRICT


def lose(library: Library, monkeypatch: pytest.MonkeyPatch, gone: set[bytes], *, stored: bool) -> None:
    """The store refuses these objects from now on."""
    real_get, real_has = library.kb.store.get_kind, library.kb.store.has

    def get_kind(oid: bytes, kind: Kind) -> bytes:
        if oid in gone:
            raise IntegrityError("gone")
        return real_get(oid, kind)

    monkeypatch.setattr(library.kb.store, "get_kind", get_kind)
    monkeypatch.setattr(library.kb.store, "has", lambda oid: stored if oid in gone else real_has(oid))


@pytest.mark.parametrize(
    ("cold", "stored", "reason"),
    [(True, False, audit.COLD), (True, True, audit.DAMAGED), (False, False, audit.DAMAGED)],
)
def test_a_passage_without_its_bytes_is_not_strict(
    library: Library, monkeypatch: pytest.MonkeyPatch, cold: bool, stored: bool, reason: str
) -> None:
    oid = library.snapshot.get("merkle.md")
    document = library.snapshot.document(oid)
    tiers = Tiers(cold=frozenset({oid} if cold else ()))
    monkeypatch.setattr(Snapshot, "tiers", lambda _: tiers)
    passages = {ref.oid for ref in library.snapshot.manifest(document).passages}
    lose(library, monkeypatch, passages, stored=stored)
    hit = by_path(library, mode=HYBRID)["copy of merkle.md"]
    assert hit.audit is HYBRID
    assert hit.reasons[-1] == reason
    assert hit.text == hit.snippet == ""
    assert library.search("merkle", mode=STRICT).withheld[reason] == 1


def test_a_document_that_cannot_be_read_is_withheld(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(library, monkeypatch, {library.snapshot.get("merkle.md")}, stored=True)
    found = library.search("merkle", mode=HYBRID)
    assert "copy of merkle.md" not in {hit.path for hit in found.hits}
    assert found.withheld == {audit.DOCUMENT_DAMAGED: 1}
    assert audit.DOCUMENT_DAMAGED in by_path(library, mode=VISUAL)["copy of merkle.md"].reasons


def tampered(library: Library, sql: str, *values: object) -> None:
    """Change the index behind everyone's back."""
    connection = sqlite3.connect(index_path(library.kb.cache))
    connection.execute(sql, values)
    connection.commit()
    connection.close()


def test_an_index_that_names_another_path_proves_nothing(library: Library) -> None:
    tampered(library, "UPDATE paths SET path = 'forged.md' WHERE path = 'copy of merkle.md'")
    hit = by_path(library, mode=HYBRID)["merkle.md"]
    assert hit.paths == ("merkle.md",), "a path that the ledger does not hold was shown"
    tampered(library, "UPDATE paths SET path = 'forged2.md' WHERE path = 'merkle.md'")
    found = library.search("merkle", mode=HYBRID)
    assert found.withheld == {audit.NOT_COMMITTED: 1}
    assert by_path(library, mode=VISUAL)["forged.md"].audit is VISUAL


def test_an_index_that_names_another_document_proves_nothing(library: Library) -> None:
    other = library.kb.commit({"secret.md": "# Secret\n\nmerkle, never committed here"})
    forged = other.get("secret.md")
    tampered(library, "UPDATE documents SET oid = ? WHERE oid = ?", forged, library.snapshot.get("merkle.md"))
    found = library.search("merkle", mode=HYBRID)
    assert all(hit.document != forged for hit in found.hits)
    assert found.withheld == {audit.NOT_COMMITTED: 1}


def test_an_index_that_lies_about_the_text_proves_nothing(library: Library) -> None:
    quiet = library.snapshot.get("other3.md")
    tampered(
        library, "INSERT INTO passages(rowid, body) SELECT id, 'merkle' FROM documents WHERE oid = ?", quiet
    )
    hit = by_path(library, mode=HYBRID, limit=50)["other3.md"]
    assert hit.audit is HYBRID
    assert hit.reasons[-1] == audit.NO_EVIDENCE
    assert hit.text.startswith("# Other 3")


def test_a_manifest_of_other_passages_is_found(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    real = library.snapshot.document

    def document(oid: bytes) -> object:
        return replace(real(oid), text_root=bytes(32))

    monkeypatch.setattr(library.snapshot, "document", document)
    found = library.search("merkle", mode=HYBRID)
    assert found.hits == ()
    assert set(found.withheld) == {audit.DOCUMENT_DAMAGED}


def test_the_ledger_is_followed_by_hash(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    lose(library, monkeypatch, {library.snapshot.ledger_root}, stored=True)
    found = library.search("merkle", mode=HYBRID)
    assert found.hits == ()
    assert set(found.withheld) == {audit.LEDGER_DAMAGED}


@pytest.mark.parametrize("checked", [None, False, True])
def test_a_core_is_strict_only_with_its_sources(
    library: Library, monkeypatch: pytest.MonkeyPatch, checked: bool | None
) -> None:
    real = library.snapshot.document
    monkeypatch.setattr(
        library.snapshot, "document", lambda oid: replace(real(oid), kind="core", derivation=bytes(32))
    )
    check: Callable[[object, bytes, object], str] | None = None
    if checked is not None:
        check = lambda *_: "" if checked else audit.CORE  # noqa: E731
    hit = by_path(library, mode=HYBRID, check_core=check)["copy of merkle.md"]
    assert hit.kind == "core"
    assert hit.sources == (), "its derivation is not there"
    assert hit.audit is (STRICT if checked else HYBRID)
    assert (audit.CORE in hit.reasons) is not bool(checked)
    assert (audit.SOURCES in hit.reasons) is bool(checked)


def test_evidence_is_read_from_the_passage_and_not_from_the_index(library: Library, tmp_path: Path) -> None:
    hits = by_path(library, '"merkle tree"', mode=STRICT)
    assert hits["copy of merkle.md"].reasons == (audit.VERIFIED, "in the text: merkle tree")
    assert by_path(library, "mer*", mode=STRICT)["copy of merkle.md"].audit is STRICT
    raw = by_path(library, "body : NEAR(merkle leaves)", mode=STRICT, raw=True)["copy of merkle.md"]
    assert raw.reasons == (audit.VERIFIED, "the text matches the query")


def test_proofs_are_remembered_within_bounds(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "KEPT_DOCUMENTS", 2)
    monkeypatch.setattr(audit, "KEPT_NODES", 1)
    auditor = audit.Auditor()
    for path, oid in library.snapshot.paths():
        auditor.document(library.snapshot, oid)
        assert auditor.is_in_ledger(library.snapshot, path, oid)
        assert not auditor.is_in_ledger(library.snapshot, path + "x", oid)
        assert not auditor.is_in_ledger(library.snapshot, path, bytes(32))
    assert len(auditor._documents) == 2
    assert len(auditor._nodes) == 1


@pytest.mark.parametrize(
    ("query", "label"),
    [
        ('title:"committed apple"', STRICT),
        ("title:commit*", STRICT),
        ("title:apples", STRICT),
        ("title:书籍", STRICT),
        ("title:windfall", HYBRID),
        ("path:apple.md", HYBRID),
    ],
)
def test_words_of_the_title_are_words_of_the_query(shelve: Shelve, query: str, label: AuditMode) -> None:
    library = shelve({
        "apple.md": "# Committed apple\n\nIt fell.\n",
        "书.md": "# 关于书籍\n\n没有。\n",
        "windfall": "What lies under the tree.\n",
    })  # fmt: skip
    [hit] = library.search(query).hits
    assert hit.audit is label, hit.reasons
    if label is STRICT:
        assert hit.highlights
        assert hit.reasons[-1].startswith("in the text: ")


@pytest.mark.parametrize("says", [{"count": 7}, {"last_key": "d/z.md"}])
def test_a_node_that_is_not_what_its_parent_says_proves_nothing(
    tmp_path: Path, says: dict[str, object]
) -> None:
    store = ObjectStore(tmp_path)
    with store.writer() as writer:
        leaf = Node(0, (("d/a.md", bytes(32)), ("d/b.md", bytes(32))), ())
        child = Child("d/b.md", writer.add(Kind.NODE, ledger.encode_node(leaf)), 2)
        roots = [
            writer.add(Kind.NODE, ledger.encode_node(Node(1, (), (each,))))
            for each in (child, child._replace(**says))
        ]
    assert audit.Auditor().is_in_ledger(Snapshot(store, roots[0]), "a.md", bytes(32))
    with pytest.raises(IntegrityError, match="does not fit its parent"):
        audit.Auditor().is_in_ledger(Snapshot(store, roots[1]), "a.md", bytes(32))
