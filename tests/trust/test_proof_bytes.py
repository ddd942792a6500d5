"""No byte of a proof can be changed, put in or taken away, in either form, for either verifier."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import arbor.proofs
from arbor import KnowledgeBase
from arbor.errors import IntegrityError, UsageError
from arbor.objects.proofs import ConsistencyProof, Proof
from arbor.repo.trust.proving import prove, prove_absent, prove_consistency
from tests.cli.harness import IDENTITY, Cli
from tests.trust.conftest import MakeKb, fill
from tests.trust.test_proofs import accepted, standalone

KINDS = ("passage", "document", "absence", "consistency")
FORMS = ("json", "msgpack")
LONG_DIGITS = re.compile(rb"[0-9A-Za-z+/]{17}")
ODD_TEXT = 'ä "quoted" back\\slash, tab\t, bell\x07, delete\x7f, 題, \U0001f333\n'


def small_proofs(kb: KnowledgeBase) -> dict[str, Proof | ConsistencyProof]:
    tip = kb.resolve("HEAD")
    return {
        "passage": prove(kb.repo, tip, "a.md", 0),
        "document": prove(kb.repo, tip, "a.md"),
        "absence": prove_absent(kb.repo, tip, "b.md"),
        "consistency": prove_consistency(kb.repo, kb.resolve("HEAD~1"), tip),
    }


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Proof | ConsistencyProof]]:
    """One proof of each kind, as small as they are."""
    with arbor.init(tmp_path_factory.mktemp("bytes")) as kb:
        fill(kb, {"a.md": "a\n"}, "one")
        fill(kb, {"c.md": "c\n"}, "two")
        yield small_proofs(kb)


def written(proof: Proof | ConsistencyProof, form: str) -> bytes:
    """The file that `arbor prove` writes."""
    return arbor.proofs.format_json(proof).encode() if form == "json" else arbor.proofs.format_msgpack(proof)


def others(byte: int, form: str) -> set[int]:
    """What a byte is changed to: to every other in the short form, to one of each kind in the long one."""
    if form == "msgpack":
        return set(range(256)) - {byte}
    flipped = {byte ^ 1 << bit for bit in range(8)}
    return (flipped | {byte - 1 & 255, byte + 1 & 255, *b'\x00\t\n\r "\\/,:{}[]09afAFn\x7f\x80\xc3\xff'}) - {
        byte
    }


def in_turns(values: set[int], data: bytes, position: int, form: str, *, elsewhere: int) -> list[int]:
    """The values that are tried here: every ninth, each in its turn, where bytes of one kind stand side by side.

    That is everywhere in the short form, which a hash covers as a whole, and deep within the digits of the long one.
    """
    alike = form == "msgpack" or LONG_DIGITS.fullmatch(data, max(position - 8, 0), position + 9)
    step = 9 if alike else elsewhere
    return sorted(values)[position % step :: step]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_byte_can_be_another(proofs: dict[str, Any], kind: str, form: str) -> None:
    data = written(proofs[kind], form)
    assert accepted(data)
    changed = bytearray(data)
    for position, byte in enumerate(data):
        for value in in_turns(others(byte, form), data, position, form, elsewhere=3):
            changed[position] = value
            assert not accepted(bytes(changed)), (position, value)
        changed[position] = byte


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_byte_can_be_put_in_or_taken_away(proofs: dict[str, Any], kind: str, form: str) -> None:
    data = written(proofs[kind], form)
    for position in range(len(data) + 1):
        head, tail = data[:position], data[position:]
        values = {*b' \t\r\n\x00"0{}=,', 0xC0, *head[-1:], *tail[:1]}
        for value in in_turns(values, data, position, form, elsewhere=1):
            assert not accepted(head + bytes([value]) + tail), (position, value)
        if tail:
            assert not accepted(head + tail[1:]), position


@pytest.fixture
def odd(make_kb: MakeKb) -> dict[str, Any]:
    """Proofs whose fields need every kind of escape."""
    kb = fill(make_kb({"a.md": ODD_TEXT}), {"c.md": "# 題目\n"}, "two")
    return small_proofs(kb)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_ascii", [False, True])
def test_spellings_of_standard_tools_pass(odd: dict[str, Any], kind: str, is_ascii: bool) -> None:
    text = arbor.proofs.format_json(odd[kind])
    fields = json.loads(text)
    one_line = [
        json.dumps(fields, ensure_ascii=is_ascii),
        json.dumps(fields, ensure_ascii=is_ascii, separators=(",", ":")),
    ]
    indented = json.dumps(fields, ensure_ascii=is_ascii, indent=2)
    for spelled in (*one_line, *(line + "\n" for line in one_line), indented + "\n"):
        assert accepted(spelled.encode())
        assert accepted(spelled.replace("\x7f", "\\u007f").encode()), "as jq writes it"
        assert arbor.proofs.verify(spelled) == arbor.proofs.verify(text)


RESPELLINGS: list[Callable[[str], str]] = [
    lambda text: text + "\n",
    lambda text: text + " ",
    lambda text: " " + text,
    lambda text: "\n" + text,
    lambda text: "\ufeff" + text,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text.replace("\n", "\r"),
    lambda text: text.removesuffix("\n"),
    lambda text: text.replace('": ', '" : '),
    lambda text: text.replace('": ', '":'),
    lambda text: text.replace("  ", "\t"),
    lambda text: text.replace('"kind"', '"\\u006bind"'),
    lambda text: text.replace("/", "\\/"),
    lambda text: json.dumps(json.loads(text), indent=4) + "\n",
    lambda text: json.dumps(json.loads(text), indent=0) + "\n",
    lambda text: json.dumps(json.loads(text), sort_keys=True, indent=2) + "\n",
    lambda text: json.dumps(dict(reversed(json.loads(text).items()))),
    lambda text: json.dumps(json.loads(text), separators=(",", ":")) + "\n\n",
    lambda text: json.dumps(json.loads(text), separators=(",", ":")) + "\r\n",
    lambda text: json.dumps(json.loads(text), separators=(" ,", ":")),
    lambda text: text.replace('"kind": "', '"kind": "lie", "kind": "'),
]


def test_what_would_be_obeyed_is_escaped(make_kb: MakeKb) -> None:
    """A title or path that turns the direction of what is written after it, or a control of eight bits."""
    marks = "\x7f\x85\x9b\u2028\u2029\u202a\u202e\u2066\u2069"
    kb = fill(make_kb({"r\u202el.md": f"# Title {marks} ende \u00e9\n"}), {"c.md": "c\n"}, "two")
    for proof in (
        prove(kb.repo, kb.resolve("HEAD"), "r\u202el.md", 0),
        prove_absent(kb.repo, kb.resolve("HEAD"), "\u2066b.md"),
    ):
        for indent in (2, None):
            text = arbor.proofs.format_json(proof, indent=indent)
            assert not set(text) & set(marks)
            assert "\\u202e" in text or "\\u2066" in text
            assert accepted(text.encode())
            for again in (False, True):
                told = json.dumps(json.loads(text), indent=indent, ensure_ascii=again)
                assert accepted((told + "\n" if indent else told).encode()), "as other tools write it"
        if proof.kind == "passage":
            assert "ende é" in text, "what is no mark is itself"
            assert not accepted(text.replace("\\u202e", "\u202e", 1).encode()), "one of several alone"


@pytest.mark.parametrize("kind", KINDS)
def test_other_spellings_of_the_same_value_are_refused(odd: dict[str, Any], kind: str) -> None:
    text = arbor.proofs.format_json(odd[kind])
    for number, respell in enumerate(RESPELLINGS):
        assert respell(text) != text
        assert not accepted(respell(text).encode()), number
    for encoding in ("utf-16", "utf-16-le", "utf-32", "utf-8-sig"):
        assert not accepted(text.encode(encoding)), encoding
    with pytest.raises(IntegrityError, match="spelled in another way"):
        arbor.proofs.verify(text + " ")


def test_only_spellings_that_are_read_are_written(proofs: dict[str, Any]) -> None:
    for proof in proofs.values():
        assert accepted(arbor.proofs.format_json(proof, indent=None).encode())
        with pytest.raises(UsageError, match="indent of 4"):
            arbor.proofs.format_json(proof, indent=4)


def test_deep_nonsense_is_refused() -> None:
    for data in (b'{"proof": ' + b"[" * 100_000, b"\x91" * 5000 + b"\x00", b'{"proof": 1}', b"{}", b"{"):
        assert not accepted(data)


def test_the_proof_of_a_hit_can_be_taken_out_of_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `jq .hits[0].proof` and `jq -c` do it, or a line of Python."""
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    cli = Cli(tmp_path)
    cli("init")
    cli.write("a.md", f"# Straße\n\nA tree: {ODD_TEXT}")
    cli.commit("first")
    answer = cli("search", "--json", "--proof", "tree").json
    hit = answer["hits"][0]["proof"]
    for spelled in (
        json.dumps(hit, indent=2, ensure_ascii=False) + "\n",
        json.dumps(hit, separators=(",", ":"), ensure_ascii=False) + "\n",
        json.dumps(hit),
    ):
        (tmp_path / "hit.json").write_bytes(spelled.replace("\x7f", "\\u007f").encode())
        cli("verify", "--proof", "hit.json", "--commit", answer["rev"])
        assert accepted((tmp_path / "hit.json").read_bytes(), commit=answer["rev"])
    assert standalone.verify(spelled.encode())["path"] == "a.md"
