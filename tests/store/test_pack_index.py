"""The index of a pack: it finds every oid and says no to every other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.errors import IntegrityError, UsageError
from arbor.objects.ids import object_id
from arbor.store.odb import ObjectStore
from arbor.store.pack_index import KEY_BYTES, PackIndex, Place, encode_index, encode_row, open_index

NAME = bytes(range(32))
OIDS = st.lists(
    st.binary(min_size=32, max_size=32)
    | st.tuples(st.sampled_from([b"\0", b"\xff"]), st.binary(min_size=31, max_size=31)).map(b"".join),
    max_size=40,
    unique_by=lambda oid: oid[:KEY_BYTES],
)


def index_of(oids: list[bytes]) -> PackIndex:
    return PackIndex(
        encode_index(NAME, [encode_row(oid, n, n % 7) for n, oid in enumerate(oids)], [8, 99]), NAME
    )


@given(OIDS, st.binary(min_size=32, max_size=32))
def test_every_oid_is_found_and_no_other(oids: list[bytes], other: bytes) -> None:
    index = index_of(oids)
    assert index.count == len(oids)
    assert index.frame_offsets == (8, 99)
    assert index.check()
    for number, oid in enumerate(oids):
        assert index.find(oid) == Place(number, number % 7)
    if other[:KEY_BYTES] not in {oid[:KEY_BYTES] for oid in oids}:
        assert index.find(other) is None
    assert index.keys() == sorted(oid[:KEY_BYTES] for oid in oids)


@given(OIDS, st.binary(max_size=3))
def test_a_walk_begins_at_a_prefix_and_goes_up(oids: list[bytes], prefix: bytes) -> None:
    expected = sorted(oid[:KEY_BYTES] for oid in oids if oid[:KEY_BYTES] >= prefix)
    assert [key for key, _ in index_of(oids).places_from(prefix)] == expected


@given(OIDS, st.data())
def test_a_changed_byte_is_found_by_the_checksum_or_at_once(oids: list[bytes], data: st.DataObject) -> None:
    whole = bytearray(encode_index(NAME, [encode_row(oid, 0, 0) for oid in oids], [8]))
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        index = PackIndex(bytes(whole), NAME)
    except IntegrityError:
        return
    assert not index.check()
    for oid in [*oids, bytes(32), b"\xff" * 32]:
        index.find(oid)  # whatever it says, it says it without failing


def test_an_index_of_another_pack_is_refused(tmp_path: Path) -> None:
    (tmp_path / "i").write_bytes(encode_index(NAME, [], []))
    assert open_index(tmp_path / "i", NAME).count == 0
    with pytest.raises(IntegrityError):
        open_index(tmp_path / "i", bytes(32))
    with pytest.raises(FileNotFoundError):
        open_index(tmp_path / "absent", NAME)
    (tmp_path / "empty").touch()
    with pytest.raises(IntegrityError):
        open_index(tmp_path / "empty", NAME)


def test_prefixes_of_oids(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    with store.writer() as writer:
        oids = [writer.add(1, os.urandom(9)) for _ in range(400)]
    for oid in oids[:20]:
        for digits in (4, 5, 17, 40, 41, 64):
            expected = sorted(o for o in oids if o.hex().startswith(oid.hex()[:digits]))
            assert store.find_prefix(oid.hex()[:digits]) == expected
            assert store.find_prefix(oid.hex()[:digits].upper()) == expected
    assert store.find_prefix(object_id(2, b"absent").hex()[:50]) == []
    for bad in ("", "abc", "xyzw", "ab" * 33, "12 4", "１２３４"):
        with pytest.raises(UsageError):
            store.find_prefix(bad)
