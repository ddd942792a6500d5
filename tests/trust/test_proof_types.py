"""Truth values and floats are no integers, anywhere in a proof, for either verifier: however well the rest is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import arbor
from arbor.objects import codec, proofs
from arbor.objects.ids import Kind, object_id
from arbor.objects.paths import path_fault
from arbor.objects.proofs import ConsistencyProof, Proof, encode_proof
from arbor.repo.trust.proving import prove, prove_absent, prove_consistency
from tests.trust.conftest import fill
from tests.trust.test_proofs import accepted, standalone

KINDS = ("passage", "document", "absence", "consistency")
CONFUSIONS: list[Callable[[int], Any]] = [
    bool,
    float,
    lambda n: not n,
    lambda n: n + 0.5,
    str,
    lambda n: None,
]
Row = list[Any]
Reseal = Callable[[Row], bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Proof | ConsistencyProof]]:
    """Proofs with ledger nodes of two levels, positions of 0 and 1, and front matter that holds an integer."""
    with arbor.init(tmp_path_factory.mktemp("types")) as kb:
        files = {f"notes/{i:03}.md": f"# {i}\n" for i in range(40)}
        fill(kb, files | {"a.md": "---\nyear: 1\ndraft: true\n---\n# A\n"}, "one")
        fill(kb, {"c.md": "c\n"}, "two")
        tip = kb.resolve("HEAD")
        yield {
            "passage": prove(kb.repo, tip, "a.md", 0),
            "document": prove(kb.repo, tip, "a.md"),
            "absence": prove_absent(kb.repo, tip, "b.md"),
            "consistency": prove_consistency(kb.repo, kb.resolve("HEAD~1"), tip),
        }


def sealed(row: Row) -> bytes:
    """A proof's fields with a fresh check."""
    return codec.encode([*row, proofs._check(row)])


def integers(value: Any, trail: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the integers of a value are."""
    pairs: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in pairs:
        yield from integers(inner, (*trail, key))
    if type(value) is int:
        yield trail


def with_value(value: Any, trail: tuple[Any, ...], change: Callable[[int], Any]) -> Any:
    """A copy with one part changed."""
    if not trail:
        return change(value)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[trail[0]] = with_value(copy[trail[0]], trail[1:], change)
    return copy


def confused(value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The value with each of its integers as something else that may count as equal."""
    for trail in integers(value):
        for change in CONFUSIONS:
            yield trail, with_value(value, trail, change)


@pytest.mark.parametrize("kind", KINDS)
def test_no_integer_of_a_proof_can_be_of_another_type(made: dict[str, Any], kind: str) -> None:
    row = codec.decode(encode_proof(made[kind]))[:-1]
    assert accepted(sealed(row))
    found = list(confused(row))
    assert len(found) >= (6 if kind == "consistency" else 60)
    for trail, lie in found:
        assert not accepted(sealed(lie)), (trail, lie)


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_of_a_proof_can_be_of_another_type(made: dict[str, Any], kind: str) -> None:
    row = codec.decode(encode_proof(made[kind]))[:-1]
    others = (0, 1, False, True, None, 0.0, 1.0, "", b"", [], {}, [[]], row[4], bytes(32))
    for place, old in enumerate(row):
        for other in others:
            if type(other) is not type(old) or other != old:
                assert not accepted(sealed([*row[:place], other, *row[place + 1 :]])), (place, other)
        assert not accepted(sealed([*row[:place], old, *row[place:]])), place
        assert not accepted(sealed([*row[:place], *row[place + 1 :]])), place
    if kind != "consistency":
        for place, (level, rows) in enumerate(row[6]):
            for node in ([level, {}], [level, ""], [level, b""], [level], [level, rows, 0], {"level": level}):
                assert not accepted(sealed([*row[:6], [*row[6][:place], node], *row[7:]]))


def forged_commit(row: Row, place: int, commit: Row) -> Row:
    """The fields of a proof of another commit."""
    data = codec.encode(commit)
    return [*row[:place], object_id(Kind.COMMIT, data), data, *row[place + 2 :]]


@pytest.mark.parametrize(
    ("kind", "place"), [("document", 3), ("absence", 3), ("consistency", 3), ("consistency", 5)]
)
def test_no_integer_of_a_commit_can_be_of_another_type(made: dict[str, Any], kind: str, place: int) -> None:
    """Also where its oid was made anew."""
    row = codec.decode(encode_proof(made[kind]))[:-1]
    commit = codec.decode(row[place + 1])
    assert accepted(sealed(forged_commit(row, place, commit)))
    found = list(confused(commit))
    assert len(found) >= 6 * 6
    for trail, lie in found:
        assert not accepted(sealed(forged_commit(row, place, lie))), trail


def forged_document(proof: Proof, document: Row) -> Row:
    """The fields of a proof of another document, with ledger and commit made anew around it."""
    data = codec.encode(document)
    value = object_id(Kind.DOCUMENT, data)
    nodes = [codec.decode(node) for node in proof.nodes]
    at = nodes[-1][1].index(proof.key)
    nodes[-1][1][at + 1] = value
    for below, above in zip(nodes[:0:-1], nodes[-2::-1], strict=True):
        child = next(i for i in range(0, len(above[1]), 3) if above[1][i] >= proof.key)
        above[1][child + 1] = object_id(Kind.NODE, codec.encode(below))
    commit = codec.decode(proof.commit_data)
    encodings = [codec.encode(node) for node in nodes]
    commit[1] = object_id(Kind.NODE, encodings[0])
    folded = [proofs._fold_node(data) for data in encodings]
    row = [
        "arbor-proof",
        1,
        proof.kind,
        b"",
        b"",
        proof.key,
        folded,
        data,
        0,
        list(proof.inclusion),
        proof.passage,
    ]
    return forged_commit(row, 3, commit)


WRONG_FIELDS: list[tuple[int, Any]] = [
    (0, 2), (1, "note"), (1, "core"), (6, -1), (7, b""), (7, b"short"), (11, -1), (12, b""), (13, 1), (13, -1),
    (14, bytes(32)), (14, b"short"), (15, b""), (15, bytes(33)), (17, bytes(32)), (17, b"short"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "lie"), WRONG_FIELDS)
def test_no_field_of_a_document_can_be_impossible(made: dict[str, Any], place: int, lie: Any) -> None:
    document = codec.decode(made["document"].document)
    document[place] = lie
    assert not accepted(sealed(forged_document(made["document"], document)))


@pytest.mark.parametrize(
    ("place", "lie"),
    [(0, 2), (1, b""), (2, [b"short"]), (2, []), (5, b"m"), (6, {"policy": 1}), (7, -1), (8, [b"short"])],
)
def test_no_field_of_a_commit_can_be_impossible(made: dict[str, Any], place: int, lie: Any) -> None:
    row = codec.decode(encode_proof(made["absence"]))[:-1]
    commit = codec.decode(row[4])
    commit[place] = lie
    assert not accepted(sealed(forged_commit(row, 3, commit)))


ODD_NAMES = [
    "b.md\0", "b.md\n", "b\x7f.md", "b\x85.md", "b\u2028.md", "a\\b", "b.md ", "b.", "b./c", "..", "../b", "/b", "b//c",
    "b/", "", "C:/b", "c:b", "con", "CON.md", "x/aux .txt", "com\u00b9", "lpt0:", "conin$", ".git", "x/.Git", ".arbor",
    ".gi\u200ct", "git~1", ".arbor~12", "\uff0egit", ".git. :x", "e\u0301.md", "x" * 256, "\u00e9" * 128,
    "d/" * 2100 + "b",
    "b.md", "console.md", "com.md", "x\u202ey.md", "gitignore", ".gitignore", "a:b", "\u00e9.md", "x" * 255, "e \u4e2d",
]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_there_is_no_proof_of_what_can_never_be_called_so(made: dict[str, Any], name: str) -> None:
    """The key of an absence is bound by no hash, so that it may be anything."""
    row = codec.decode(encode_proof(made["absence"]))[:-1]
    for room in ("d/", "c/"):
        row[5] = room + name
        is_accepted = accepted(sealed(row))
        assert not is_accepted or not path_fault(name)


@given(
    st.lists(st.sampled_from([*ODD_NAMES, "/", ".", " ", ":", "\u200d", "\uff0f", "1"]), max_size=4).map(
        "".join
    )
)
def test_both_verifiers_know_the_same_names(name: str) -> None:
    assert bool(standalone.is_path(name)) == (not path_fault(name))


@pytest.mark.parametrize("kind", ["passage", "document"])
def test_no_integer_of_a_document_can_be_of_another_type(made: dict[str, Any], kind: str) -> None:
    document = codec.decode(made[kind].document)
    assert accepted(sealed(forged_document(made[kind], document)))
    found = [(trail, lie) for trail, lie in confused(document) if trail[0] != 16]
    assert len(found) >= 6 * 4
    for trail, lie in found:
        assert not accepted(sealed(forged_document(made[kind], lie))), trail
    for number in (1.0, 1.5):
        document[16]["year"] = number
        assert not accepted(sealed(forged_document(made[kind], document)))
