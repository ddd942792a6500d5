"""Object ids: one context for each kind, checked against BLAKE3's own definition."""

from __future__ import annotations

import itertools

import pytest
from blake3 import blake3

from arbor.errors import UsageError
from arbor.objects.ids import Kind, file_hash, object_id, parse_oid


def test_an_oid_is_blake3_in_derive_key_mode_with_the_kind_in_the_context() -> None:
    for kind in Kind:
        expected = blake3(b"some bytes", derive_key_context=f"arbor 1 object {kind.name.lower()}").digest()
        assert object_id(kind, b"some bytes") == expected


def test_the_same_bytes_have_another_oid_under_another_kind() -> None:
    oids = [object_id(kind, b"x") for kind in Kind]
    assert all(a != b for a, b in itertools.combinations([*oids, file_hash(b"x")], 2))


def test_a_file_hash_is_the_plain_one() -> None:
    # From the BLAKE3 test vectors: the hash of no input.
    assert file_hash(b"").hex() == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"


def test_a_view_hashes_as_the_bytes_do() -> None:
    data = bytes(range(256)) * 9
    assert object_id(Kind.CHUNK, memoryview(data)[7:2000]) == object_id(Kind.CHUNK, data[7:2000])


def test_oids_are_written_and_read_as_hexadecimal_digits() -> None:
    oid = bytes(range(32))
    assert parse_oid(oid.hex()) == oid
    assert parse_oid(oid.hex().upper()) == oid


@pytest.mark.parametrize(
    "text", ["", "ab", "g" * 64, "ab" * 31, "ab" * 33, "ab " * 21 + "a", "０" * 64, "\n" + "ab" * 32]
)
def test_other_texts_are_no_oids(text: str) -> None:
    with pytest.raises(UsageError):
        parse_oid(text)
