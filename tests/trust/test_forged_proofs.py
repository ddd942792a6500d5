"""Whole worlds that somebody made: every hash in them fits, and one thing is as no knowledge base takes it in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from arbor.objects import codec, merkle
from arbor.objects.ids import Kind, object_id
from arbor.objects.ledger import boundary_level
from arbor.objects.proofs import Proof, encode_proof
from tests.trust.test_proofs import accepted

OID = bytes(range(32))
NAMES = [f"d/n{number:04}.md" for number in range(2000)]
PLAIN = [name for name in NAMES if boundary_level(name) == 0]
KEY = PLAIN[9]
LAST = next(name for name in NAMES if boundary_level(name) == 1 and name > KEY)
BEYOND = next(name for name in NAMES if boundary_level(name) == 2 and name > LAST)
Row = list[Any]
Change = Callable[[Row], Row]


def same(row: Row) -> Row:
    return row


def nested(levels: int) -> Any:
    return 1 if not levels else [nested(levels - 1)]


def forged(
    *,
    document: Change = same,
    leaf: Change = same,
    top: Change = same,
    commit: Change = same,
    kind: str = "passage",
) -> bytes:
    """A proof of a world of one commit, one ledger of two levels, and one document with one passage."""
    who = ["A", "a@example.org", 1_700_000_000, 60]
    passage = object_id(Kind.CHUNK, b"text")
    described = codec.encode(document([
        1, "surface", "text/markdown", "T", "", "utf-8", 4, OID, "e", "c", "k", 1, merkle.tree_root([passage]), 0, b"",
        OID, {"a": 1}, b"",
    ]))  # fmt: skip
    rows = [PLAIN[8], OID, KEY, object_id(Kind.DOCUMENT, described), LAST, OID]
    if kind == "absence":
        rows = [PLAIN[8], OID, LAST, OID]
    below = codec.encode(leaf([0, rows]))
    above = codec.encode(top([1, [LAST, object_id(Kind.NODE, below), len(rows) // 2, BEYOND, OID, 4]]))
    committed = codec.encode(
        commit([1, object_id(Kind.NODE, above), [], who, who, "m", {"chunker": "c"}, 0, [], ""])
    )
    return encode_proof(
        Proof(kind, object_id(Kind.COMMIT, committed), committed, KEY, (above, below),
              described if kind != "absence" else b"", 0, (), b"text" if kind == "passage" else b"")
    )  # fmt: skip


def put(at: int, value: Any) -> Change:
    return lambda row: [*row[:at], value, *row[at + 1 :]]


def in_rows(at: int, value: Any) -> Change:
    return lambda row: [row[0], put(at, value)(row[1])]


def first_row(*fields: Any) -> Change:
    return lambda row: [row[0], [*fields, *row[1]]]


@pytest.mark.parametrize("kind", ["passage", "document", "absence"])
def test_a_world_that_breaks_no_rule_is_accepted(kind: str) -> None:
    assert accepted(forged(kind=kind))
    assert accepted(forged(kind=kind, document=put(16, {"a": nested(23)})))
    key = next(f"a/own {number}" for number in range(99) if not boundary_level(f"a/own {number}"))
    count = in_rows(2, 3 if kind == "absence" else 4)
    assert accepted(forged(kind=kind, leaf=first_row(key, b"x" * 4096), top=count))


@pytest.mark.parametrize("change", [
    put(2, "text"), put(2, "text/\x00"), put(2, "a/b/c"), put(2, "/markdown"), put(5, "rot13"), put(5, "UTF-8"),
    put(5, "binary"), put(5, "utf-8 "), put(16, {"a": nested(24)}), put(16, {"a": {"b": nested(23)}}),
])  # fmt: skip
def test_a_document_that_cannot_be_read_is_refused(change: Change) -> None:
    assert not accepted(forged(document=change))
    assert not accepted(forged(document=change, kind="document"))


LEAVES: list[Change] = [
    in_rows(1, b"short"), in_rows(1, b""), first_row("d/../a", OID), first_row("c/.git/config", OID),
    first_row("c/e\u0301", OID), first_row("a/e\u0301", b""), first_row("a/", b"x" * 4097),
    first_row("a/" + "x" * 4200, b""), first_row(next(name for name in NAMES if boundary_level(name)), OID),
]  # fmt: skip


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_ledger_with_an_entry_that_none_can_have_is_refused(leaf: Change) -> None:
    """Its count is what the parent says, so that nothing else is wrong with it."""
    added = len(leaf([0, [PLAIN[8], OID, LAST, OID]])[1]) // 2 - 2
    for kind, count in (("passage", 3), ("absence", 2)):
        assert not accepted(forged(leaf=leaf, top=in_rows(2, count + added), kind=kind))


@pytest.mark.parametrize("top", [
    first_row(PLAIN[0], OID, 3), first_row("d/" + "x" * 4200, OID, 3), in_rows(5, 0), put(0, 16), put(0, 2),
    in_rows(0, PLAIN[10]),
])  # fmt: skip
def test_a_ledger_whose_nodes_end_elsewhere_is_refused(top: Change) -> None:
    assert not accepted(forged(top=top))
    assert not accepted(forged(top=top, kind="absence"))


@pytest.mark.parametrize("level", [16, 200, -1])
def test_a_node_of_an_impossible_level_shows_no_absence(level: int) -> None:
    above = codec.encode([level, ["a", OID, 1]])
    who = ["A", "", 0, 0]
    data = codec.encode([1, object_id(Kind.NODE, above), [], who, who, "", {}, 0, [], ""])
    assert not accepted(encode_proof(Proof("absence", object_id(Kind.COMMIT, data), data, KEY, (above,))))
