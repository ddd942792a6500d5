"""Frozen proofs: what was written once is read and verified for ever, and written the same again."""

from __future__ import annotations

from pathlib import Path

import pytest

import arbor.proofs
from tests.conftest import REPOSITORY
from tests.trust.test_proofs import accepted

FOLDER = REPOSITORY / "tests" / "data" / "proofs"
COMMIT = "ce21d2529bc3a80e5e07894528ce25dfbdf1cc48248da405155ea5a10904410d"
FILES = sorted(FOLDER.glob("*.proof"))


def test_there_is_one_of_each_kind() -> None:
    kinds = {arbor.proofs.verify(path.read_bytes()).kind for path in FILES}
    assert kinds == {"passage", "document", "absence", "consistency"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_frozen_proof_verifies_in_both_forms(path: Path) -> None:
    packed, text = path.read_bytes(), path.with_suffix(".json").read_text(encoding="utf-8")
    proof = arbor.proofs.parse(packed)
    assert arbor.proofs.parse(text) == proof
    assert arbor.proofs.format_msgpack(proof) == packed
    assert arbor.proofs.format_json(proof) == text
    assert accepted(packed, commit=COMMIT)
    assert accepted(text.encode("utf-8"), commit=COMMIT)
    assert not accepted(packed, commit="00" * 32)


def test_what_they_say() -> None:
    found = {path.stem: arbor.proofs.verify(path.read_bytes(), commit=COMMIT) for path in FILES}
    assert found["latin"].text == "Größe und Maß.\n"
    assert (found["core"].room, found["core"].path, found["core"].text) == ("core", "gist", "in short\n")
    assert found["absence"].path == "notes/99.md"
    assert (found["consistency"].old_log_size, found["consistency"].log_size) == (1, 3)
    assert found["passage"].index == 2
