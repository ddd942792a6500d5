"""A proof verifies if and only if what it says is so, in the package's verifier and in the standalone one
alike."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arbor.proofs
from arbor import KnowledgeBase
from arbor.errors import AnswerNo, IntegrityError, UsageError, WrongType
from arbor.objects import ledger, merkle
from arbor.objects.ids import Kind, file_hash, object_id
from arbor.objects.model import decode_commit, decode_document, encode_commit, encode_document
from arbor.objects.proofs import ConsistencyProof, Proof, decode_proof, encode_proof
from arbor.repo.trust.proving import find_passage, find_place, prove, prove_absent, prove_consistency
from tests.conftest import REPOSITORY
from tests.trust.conftest import MakeKb, fill, long_note

STANDALONE = REPOSITORY / "docs" / "format" / "verify_proof.py"


def load_standalone() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_proof", STANDALONE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


standalone: Any = load_standalone()


def accepted(data: bytes, **anchors: Any) -> bool:
    """Whether a proof is accepted; the two verifiers must say the same."""
    try:
        arbor.proofs.verify(data, **anchors)
        ours = True
    except IntegrityError:
        ours = False
    try:
        standalone.verify(data, **anchors)
        theirs = True
    except standalone.Refused:
        theirs = False
    assert ours == theirs, "the two verifiers differ"
    return ours


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    made = arbor.init(tmp_path_factory.mktemp("proofs"))
    files: dict[str, str | bytes] = {
        f"notes/{i:03}.md": f"# Note {i}\n\nThis is note {i}.\n" for i in range(120)
    }
    files["long.md"] = long_note(9)
    files["中文/笔记.md"] = "# 题目\n\n第一句。第二句。\n"
    files["utf16.txt"] = "Nota bene: ä ö ü\n".encode("utf-16")
    fill(made, files, "first")
    for number in range(6):
        fill(made, {f"later/{number}.md": f"# Later {number}\n"}, f"later {number}")
    yield made
    made.close()


def tip(kb: KnowledgeBase) -> bytes:
    return kb.resolve("HEAD")


def every_kind(kb: KnowledgeBase) -> dict[str, Proof | ConsistencyProof]:
    return {
        "passage": prove(kb.repo, tip(kb), "long.md", 4),
        "document": prove(kb.repo, tip(kb), "中文/笔记.md"),
        "absence": prove_absent(kb.repo, tip(kb), "notes/nothing.md"),
        "consistency": prove_consistency(kb.repo, kb.resolve("HEAD~4"), tip(kb)),
    }


def test_what_is_there_is_proven(kb: KnowledgeBase) -> None:
    assert kb.fs_root is not None
    data = (kb.fs_root / "long.md").read_bytes()
    document = kb.document("long.md")
    for index, passage in enumerate(document.passages):
        proof = prove(kb.repo, tip(kb), "long.md", index)
        found = arbor.proofs.verify(arbor.proofs.format_msgpack(proof), commit=tip(kb))
        assert found.passage == data[passage.start_byte : passage.end_byte]
        assert (found.index, found.passages, found.leaf) == (index, len(document.passages), passage.oid)
        assert (found.path, found.kind, found.anchor) == ("long.md", "passage", "commit")
        assert accepted(encode_proof(proof), root=found.ledger_root, text=found.passage)
        assert accepted(encode_proof(proof), text=data)
        assert not accepted(encode_proof(proof), text=data + b" ")


def test_the_root_and_the_commit_are_compared(kb: KnowledgeBase) -> None:
    data = encode_proof(prove(kb.repo, tip(kb), "notes/007.md", 0))
    assert arbor.proofs.verify(data).anchor == ""
    root, other = kb.repo.ledger_root(tip(kb)), kb.resolve("HEAD~1")
    assert arbor.proofs.verify(data, root=root, commit=tip(kb).hex()).anchor == "commit+root"
    assert not accepted(data, commit=other.hex())
    assert not accepted(data, root=kb.repo.ledger_root(other).hex())
    with pytest.raises(UsageError, match="not an oid"):
        arbor.proofs.verify(data, root="abc")


@pytest.mark.parametrize("kind", ["passage", "document", "absence", "consistency"])
def test_both_forms_say_the_same(kb: KnowledgeBase, kind: str) -> None:
    proof = every_kind(kb)[kind]
    packed, text = arbor.proofs.format_msgpack(proof), arbor.proofs.format_json(proof)
    assert arbor.proofs.parse(packed) == arbor.proofs.parse(text) == proof
    assert arbor.proofs.verify(packed) == arbor.proofs.verify(text)
    assert accepted(packed)
    assert accepted(text.encode())
    assert accepted(arbor.proofs.format_json(proof, indent=None).encode() + b"\n")


@pytest.mark.parametrize("kind", ["passage", "document", "absence", "consistency"])
def test_no_byte_of_a_proof_can_be_changed(kb: KnowledgeBase, kind: str) -> None:
    data = encode_proof(every_kind(kb)[kind])
    changed = bytearray(data)
    for position in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            changed[position] ^= flip
            with pytest.raises(IntegrityError):
                arbor.proofs.verify(bytes(changed))
            changed[position] = data[position]
        if position % 7 == 0:
            changed[position] ^= 0x20
            assert not accepted(bytes(changed))
            changed[position] = data[position]
    for cut in range(0, len(data), 11):
        assert not accepted(data[:cut])
    assert not accepted(data + b"\x00")


@pytest.mark.parametrize("bound", ["MAX_PROOF_BYTES", "MAX_KEY_CHARS_TOTAL", "MAX_PATH_NODES"])
def test_a_proof_is_read_to_its_bounds(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    data = encode_proof(every_kind(kb)["passage"])
    size = {
        "MAX_PROOF_BYTES": len(data),
        "MAX_KEY_CHARS_TOTAL": sum(len(key) for key in keys_of(decode_proof(data))),
        "MAX_PATH_NODES": len(decode_proof(data).nodes),
    }[bound]
    monkeypatch.setattr(f"arbor.objects.proofs.{bound}", size)
    assert decode_proof(data)
    monkeypatch.setattr(f"arbor.objects.proofs.{bound}", size - 1)
    with pytest.raises(IntegrityError):
        decode_proof(data)


def keys_of(proof: Proof) -> list[str]:
    nodes = map(ledger.decode_node, proof.nodes)
    return [
        key for node in nodes for key in (*dict(node.entries), *(child.last_key for child in node.children))
    ]


def leaves_of(value: Any, trail: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves_of(value[key], (*trail, key))]
    return [trail]


CHANGES: list[Callable[[Any], Any]] = [
    lambda v: v + 1,
    lambda v: f"{v}x",
    lambda v: None,
    lambda v: [v],
    lambda v: {"a": v},
    lambda v: v.upper(),
    lambda v: v + " ",
    lambda v: v * 2,
    bool,
    float,
]


def variants(fields: dict[str, Any], trail: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    """The JSON with one field changed in many ways, and without it."""
    for change in [*CHANGES, None]:
        copy = json.loads(json.dumps(fields))
        place = copy
        for key in trail[:-1]:
            place = place[key]
        old = place.pop(trail[-1])
        if change is not None:
            try:
                place[trail[-1]] = change(old)
            except (TypeError, AttributeError, ValueError):
                continue
        if json.dumps(copy, sort_keys=True) != json.dumps(fields, sort_keys=True):
            yield copy


@pytest.mark.parametrize("kind", ["passage", "document", "absence", "consistency"])
def test_no_field_of_the_json_form_can_be_changed(kb: KnowledgeBase, kind: str) -> None:
    fields = json.loads(arbor.proofs.format_json(every_kind(kb)[kind]))
    for trail in leaves_of(fields):
        changed = list(variants(fields, trail))
        assert len(changed) > 4
        for variant in changed:
            assert not accepted(json.dumps(variant).encode()), (trail, variant)
    assert not accepted(json.dumps({**fields, "more": 1}).encode())
    doubled = json.dumps(fields)[:-1] + f', "kind": "{kind}"' + "}"
    assert not accepted(doubled.encode())


def resealed(proof: Any, **changes: Any) -> bytes:
    """The encoding of a changed proof whose check was made anew, as somebody who lies would do it."""
    return encode_proof(dataclasses.replace(proof, **changes))


@pytest.mark.parametrize("kind", ["passage", "document", "absence", "consistency"])
def test_the_object_of_the_json_form_is_as_good_as_its_text(kb: KnowledgeBase, kind: str) -> None:
    text = arbor.proofs.format_json(every_kind(kb)[kind])
    fields = json.loads(text)
    assert arbor.proofs.verify(fields) == arbor.proofs.verify(text)
    for wrong in (
        {},
        {**fields, "more": 1},
        {**fields, "kind": kind.upper()},
        {**fields, "proof": b"x"},
        {1: fields},
    ):
        with pytest.raises(IntegrityError):
            arbor.proofs.verify(wrong)


def test_a_lie_with_a_fresh_check_is_refused(kb: KnowledgeBase) -> None:
    proof = every_kind(kb)["passage"]
    assert isinstance(proof, Proof)
    other = prove(kb.repo, tip(kb), "notes/080.md", 0)
    older = prove(kb.repo, kb.resolve("HEAD~1"), "long.md", 4)
    document = decode_document(proof.document)
    commit = decode_commit(proof.commit_data)
    forged_commit = encode_commit(dataclasses.replace(commit, message="another"))
    lies: list[dict[str, Any]] = [
        {"index": 3}, {"index": 5}, {"index": 4 + 16}, {"passage": proof.passage + b"\n"}, {"passage": b""},
        {"inclusion": proof.inclusion[:-1]}, {"inclusion": (*proof.inclusion, bytes(32))},
        {"inclusion": proof.inclusion[::-1]}, {"key": "d/long.mx"}, {"key": "c/long.md"},
        {"key": "x/long.md"},
        {"key": "d/../long.md"}, {"nodes": proof.nodes[:-1]}, {"nodes": proof.nodes[1:]}, {"nodes": ()},
        {"nodes": (*proof.nodes, proof.nodes[-1])}, {"nodes": other.nodes}, {"document": other.document},
        {"document": b""}, {"kind": "absence"}, {"kind": "document"},
        {"document": encode_document(dataclasses.replace(document, title="another"))},
        {"document": encode_document(dataclasses.replace(document, passage_count=10))},
        {"commit": older.commit}, {"commit_data": older.commit_data}, {"commit_data": forged_commit},
        {"commit": object_id(Kind.COMMIT, forged_commit)},
    ]  # fmt: skip
    for lie in lies:
        assert not accepted(resealed(proof, **lie)), lie


def test_a_forged_commit_is_another_commit(kb: KnowledgeBase) -> None:
    """Who makes a whole world anew gets a proof of that world, which no anchor fits."""
    proof = every_kind(kb)["passage"]
    assert isinstance(proof, Proof)
    data = encode_commit(dataclasses.replace(decode_commit(proof.commit_data), message="forged"))
    forged = resealed(proof, commit_data=data, commit=object_id(Kind.COMMIT, data))
    assert accepted(forged)
    assert not accepted(forged, commit=tip(kb).hex())


def test_the_size_of_the_tree_comes_from_the_document(tmp_path: Path) -> None:
    """A wrong index or size that leads to the right root is refused, since the count is committed."""
    leaves = [object_id(Kind.CHUNK, bytes([i])) for i in range(5)]
    root, path = merkle.tree_root(leaves), merkle.inclusion_path(leaves, 4)
    fits = [
        (i, n) for n in range(1, 40) for i in range(n) if merkle.root_from_path(leaves[4], i, n, path) == root
    ]
    assert len(fits) > 1, "an inclusion path alone does not bind the size"
    assert [fit for fit in fits if fit[1] == 5] == [(4, 5)]


def test_absence_is_proven_only_for_what_is_absent(kb: KnowledgeBase) -> None:
    for path in ("a.md", "notes/0000.md", "notes/1199.md", "zzz.md", "notes", "notes/007.md/x", "中文/无.md"):
        data = encode_proof(prove_absent(kb.repo, tip(kb), path))
        found = arbor.proofs.verify(data, commit=tip(kb))
        assert (found.kind, found.path) == ("absence", path)
        assert accepted(data)
    with pytest.raises(AnswerNo, match="is in this revision"):
        prove_absent(kb.repo, tip(kb), "long.md")
    there = prove(kb.repo, tip(kb), "notes/050.md")
    assert not accepted(encode_proof(dataclasses.replace(there, kind="absence", document=b"")))
    with pytest.raises(UsageError, match="no document"):
        prove(kb.repo, tip(kb), "notes/nothing.md")


def test_a_proof_of_absence_says_nothing_of_a_passage(kb: KnowledgeBase) -> None:
    proof = prove_absent(kb.repo, tip(kb), "notes/nothing.md")
    for beside in ({"index": 1}, {"inclusion": (bytes(32),)}, {"passage": b"x"}, {"document": b"x"}):
        assert not accepted(encode_proof(dataclasses.replace(proof, **beside)))


def test_absence_cannot_be_shown_with_a_path_to_elsewhere(kb: KnowledgeBase) -> None:
    proof = prove_absent(kb.repo, tip(kb), "notes/nothing.md")
    elsewhere = prove(kb.repo, tip(kb), "long.md").nodes
    for key in ("d/notes/050.md", "d/long.md", "d/中文/笔记.md"):
        assert not accepted(resealed(proof, key=key, nodes=elsewhere))
        assert not accepted(resealed(proof, key=key))


def test_every_pair_of_commits_on_a_branch_is_consistent(kb: KnowledgeBase) -> None:
    chain = [kb.resolve(f"HEAD~{n}") for n in range(6, -1, -1)]
    for older, old in enumerate(chain):
        for newer in range(older, len(chain)):
            proof = prove_consistency(kb.repo, old, chain[newer])
            leaves = chain[: newer + 1]
            assert list(proof.path) == merkle.consistency_path(leaves, older + 1)
            found = arbor.proofs.verify(encode_proof(proof), commit=old)
            assert (found.old_log_size, found.log_size) == (older + 1, newer + 1)
            assert found.log_root == merkle.tree_root(leaves).hex()
            assert accepted(encode_proof(proof), commit=chain[newer].hex())
    with pytest.raises(AnswerNo, match="does not hold the older one"):
        prove_consistency(kb.repo, chain[3], chain[2])


def test_a_rewritten_history_is_not_consistent(make_kb: MakeKb) -> None:
    kb = fill(make_kb({"a.md": "one"}), {"a.md": "two"}, "second")
    old = tip(kb)
    kb.commit("another second", amend=True, index=False)
    amended = fill(kb, {"a.md": "three"}, "third")
    with pytest.raises(AnswerNo, match="does not hold the older one"):
        prove_consistency(kb.repo, old, tip(amended))
    honest = prove_consistency(kb.repo, kb.resolve("HEAD~1"), tip(kb))
    lie = resealed(honest, old=old, old_data=kb.repo.store.get_kind(old, Kind.COMMIT))
    assert not accepted(lie)


@given(st.integers(1, 200), st.data())
def test_consistency_paths_are_those_of_the_rfc(size: int, data: st.DataObject) -> None:
    from arbor.repo.trust.proving import _SparseLog

    old = data.draw(st.integers(1, size))
    leaves = [object_id(Kind.COMMIT, i.to_bytes(2, "big")) for i in range(size)]
    peaks: list[bytes] = []
    for number in range(old):
        peaks = merkle.append_leaf(number, peaks, leaves[number])
    path = _SparseLog(old, peaks, leaves[old:]).subproof(0, size, old, whole=True)
    assert path == merkle.consistency_path(leaves, old)
    assert len(path) <= 2 * size.bit_length()
    roots = (merkle.tree_root(leaves[:old]), merkle.tree_root(leaves))
    assert merkle.verify_consistency(old, size, *roots, path)
    assert standalone.both_roots(old, size, path, roots[0]) == roots


@given(st.integers(1, 130), st.data())
def test_inclusion_in_the_standalone_verifier(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    leaves = [object_id(Kind.CHUNK, i.to_bytes(2, "big")) for i in range(size)]
    path = merkle.inclusion_path(leaves, index)
    assert standalone.both_roots(index + 1, size, path, leaves[index], 1)[1] == merkle.tree_root(leaves)
    for wrong in ([*path, bytes(32)], *([path[1:]] if path else [])):
        with pytest.raises((standalone.Refused, IndexError)):
            standalone.both_roots(index + 1, size, wrong, leaves[index], 1)


@settings(max_examples=300)
@given(st.binary(max_size=300))
def test_noise_is_refused(data: bytes) -> None:
    assert not accepted(data)


@settings(max_examples=200)
@given(
    st.recursive(
        st.none() | st.integers(-5, 300) | st.binary(max_size=40) | st.text(max_size=9),
        st.lists,
        max_leaves=25,
    )
)
def test_well_formed_nonsense_is_refused(value: Any) -> None:
    from arbor.objects import codec

    row = ["arbor-proof", 1, "passage", *(value if isinstance(value, list) else [value])]
    assert not accepted(codec.encode(row))


def test_folded_keys_have_one_form_and_are_bounded() -> None:
    from arbor.objects import codec
    from arbor.objects.proofs import _check

    node = [0, [0, "d/a.md", bytes(32), 3, ".md", bytes(32)]]
    for rows in ([0, [0, "d/a.md", bytes(32), 2, "b.md", bytes(32)]], [0, [1, "d/a.md", bytes(32)]], node):
        row = ["arbor-proof", 1, "passage", bytes(32), b"", "d/a.md", [rows], b"", 0, [], b""]
        assert not accepted(codec.encode([*row, _check(row)]))
    bomb = [0, [0, "d/" + "x" * 4000, b""] + [4002, "y", b""] * 3000]
    row = ["arbor-proof", 1, "passage", bytes(32), b"", "d/a.md", [bomb] * 16, b"", 0, [], b""]
    assert not accepted(codec.encode([*row, _check(row)]))


def test_a_file_is_proven_by_its_document(kb: KnowledgeBase) -> None:
    assert kb.fs_root is not None
    data = encode_proof(prove(kb.repo, tip(kb), "notes/042.md"))
    text = (kb.fs_root / "notes/042.md").read_bytes()
    assert arbor.proofs.verify(data, text=text).text_matched == "file"
    assert arbor.proofs.verify(data).file_hash == file_hash(text).hex()
    assert not accepted(data, text=text[:-1])


def test_text_in_another_encoding_can_be_read(kb: KnowledgeBase) -> None:
    found = arbor.proofs.verify(encode_proof(prove(kb.repo, tip(kb), "utf16.txt", 0)))
    assert found.text == "Nota bene: ä ö ü\n"
    assert found.passage == "Nota bene: ä ö ü\n".encode("utf-16")


def test_places_are_found_as_people_point_at_them(kb: KnowledgeBase) -> None:
    snapshot = kb.snapshot()
    passages = kb.document("long.md").passages
    for passage in passages:
        for line in range(passage.start_line, passage.end_line):
            assert find_passage(snapshot, find_place(snapshot, f"long.md:{line}")) == passage.index
    assert find_passage(snapshot, find_place(snapshot, "long.md#3")) == 3
    assert find_passage(snapshot, find_place(snapshot, f"long.md#{passages[5].oid[:8]}")) == 5
    assert find_passage(snapshot, find_place(snapshot, "long.md")) is None
    for wrong in ("long.md:0", "long.md:99999", "long.md#99", "long.md#zz", "long.md#abc"):
        with pytest.raises(UsageError):
            find_passage(snapshot, find_place(snapshot, wrong))


def test_the_last_line_is_the_last_one_that_there_is(make_kb: MakeKb) -> None:
    cut = "w " * 3000  # a line of two passages
    kb = make_kb({"open.md": "one\ntwo", "ended.md": "one\ntwo\n", "cut.md": f"one\n{cut}\nthree\n"})
    for path in ("open.md", "ended.md"):
        assert find_passage(kb.snapshot(), find_place(kb.snapshot(), f"{path}:2")) == 0
        with pytest.raises(UsageError, match="has no line 3") as raised:
            find_passage(kb.snapshot(), find_place(kb.snapshot(), f"{path}:3"))
        assert raised.value.hint == "its last line is 2"
    first, second, *_ = kb.document("cut.md").passages
    assert (first.end_line, second.start_line) == (2, 2)
    assert find_passage(kb.snapshot(), find_place(kb.snapshot(), "cut.md:2")) == 0


def test_a_name_that_looks_like_a_place_is_a_name(make_kb: MakeKb) -> None:
    kb = make_kb({"c#3": "one\n", "c": "two\n"})
    assert find_place(kb.snapshot(), "c#3").path == "c#3"
    assert find_place(kb.snapshot(), "c#0").path == "c"


def test_a_number_sign_in_a_name_is_no_passage(make_kb: MakeKb) -> None:
    snapshot = make_kb({"notes/C#.md": "one\ntwo\n", "F#": "three\n"}).snapshot()
    for typed, path in (("notes/C#.md:2", "notes/C#.md"), ("F#:1", "F#"), ("notes/C#.md#0", "notes/C#.md")):
        place = find_place(snapshot, typed)
        assert (place.path, find_passage(snapshot, place)) == (path, 0)
    with pytest.raises(UsageError, match=r"no document 'G#\.md'"):
        find_passage(snapshot, find_place(snapshot, "G#.md"))


def test_a_damaged_passage_is_not_signed_for(make_kb: MakeKb, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = make_kb({"a.md": "# Title\n\ntext\n"})
    honest = kb.repo.store.get_kind
    monkeypatch.setattr(
        kb.repo.store, "get_kind", lambda oid, kind: b"other" if kind == Kind.CHUNK else honest(oid, kind)
    )
    with pytest.raises(IntegrityError, match="passage"):
        prove(kb.repo, tip(kb), "a.md", 0)


def test_a_proof_of_a_large_ledger_is_small() -> None:
    """20,000 entries: the folded path is far below the 16 KB that a whole proof may take."""
    store: dict[bytes, bytes] = {}

    class Source:
        def get_node(self, oid: bytes) -> ledger.Node:
            return ledger.decode_node(store[oid], trusted=True)

    entries = [
        (f"d/area{i % 40:02}/topic{i // 40 % 25:02}/note{i}.md", object_id(3, b"%d" % i))
        for i in range(20_000)
    ]
    root = ledger.build(sorted(entries), store.__setitem__)
    for key, _ in entries[::1999]:
        nodes = tuple(ledger.encode_node(node) for node in ledger.proof_nodes(Source(), root, key))
        proof = Proof("document", bytes(32), b"", key, nodes)
        assert len(encode_proof(proof)) < 8_000
        assert decode_proof(encode_proof(proof)) == proof


def test_the_standalone_file_runs_by_itself(kb: KnowledgeBase, tmp_path: Path) -> None:
    assert len(STANDALONE.read_text().splitlines()) < 200
    proof = tmp_path / "p.json"
    proof.write_text(arbor.proofs.format_json(prove(kb.repo, tip(kb), "long.md", 2)))
    command = [sys.executable, "-I", str(STANDALONE), str(proof), "--commit", tip(kb).hex()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"proven: passage of document 'long.md'\ncommit {tip(kb).hex()} \n"
    core = prove_absent(kb.repo, tip(kb), "long.md", room="core")
    proof.write_bytes(encode_proof(core))
    done = subprocess.run(command[:-2], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == [
        "proven: absence of core 'long.md'",
        f"commit {tip(kb).hex()} vouched for by nothing",
    ]
    proof.write_text(arbor.proofs.format_json(prove(kb.repo, tip(kb), "long.md", 2)))
    command[-1] = bytes(32).hex()
    failed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert failed.returncode == 1
    assert "another commit" in failed.stderr


def test_checking_a_proof_loads_nothing_heavy() -> None:
    # What the start of this Python loads by itself does not count: Debian's has a sitecustomize.
    code = (
        "import sys; before = {*sys.modules}; import arbor.proofs; "
        "print(*sorted({n.split('.')[0] for n in sys.modules.keys() - before}))"
    )
    done = subprocess.run(
        [sys.executable, "-s", "-c", code], env={"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    loaded = {n for n in done.stdout.split() if n not in sys.stdlib_module_names and not n.startswith("_")}
    assert loaded == {"arbor", "blake3", "msgpack", "cython_runtime"}


def test_what_is_no_proof_and_no_text_is_named(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": "# Tides\n"})
    proof = kb.trust.prove("a.md:1")
    data: Any = arbor.proofs.format_msgpack(proof)
    for same in (bytearray(data), memoryview(data)):
        assert arbor.proofs.verify(same).path == "a.md"  # type: ignore[arg-type]
    wrong: list[Any] = [None, 3, [data], Path("a.proof")]
    for each in wrong:
        calls = (
            arbor.proofs.verify,
            arbor.proofs.parse,
            arbor.proofs.format_json,
            arbor.proofs.format_msgpack,
        )
        for call in calls:
            with pytest.raises(TypeError, match="must be"):
                call(each)
        if each is not None:
            with pytest.raises(WrongType, match="'text' must be bytes or text"):
                arbor.proofs.verify(data, text=each)
    with pytest.raises(UsageError, match="not valid Unicode"):
        arbor.proofs.verify(data, text="\udcff")
    for forged in ({"nodes": None}, {"nodes": 3}, {"index": 2**70}, {"passage": None}, {"kind": 2**70}):
        with pytest.raises(IntegrityError):
            arbor.proofs.verify(dataclasses.replace(proof, **forged))  # type: ignore[arg-type]
