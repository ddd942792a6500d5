"""A batch accepts exactly what the model accepts one by one, and comes to the same."""

from __future__ import annotations

from itertools import chain
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.errors import IntegrityError
from arbor.objects import model
from arbor.objects.codec import encode
from arbor.objects.columns import decode_documents, decode_manifests, document_row, manifest_row
from arbor.objects.links import KINDS

OIDS = st.binary(min_size=32, max_size=32)
COUNTS = st.integers(0, 2**31)
HEADINGS = st.lists(st.sampled_from(["a", "b", "ä"]), max_size=3)
CODES = st.integers(0, 4 * len(KINDS) - 1)
PLACED = st.tuples(CODES, st.integers(-99, 70_000), st.integers(-9, 99), *[st.integers(0, 2**20)] * 4)
TOLD = st.tuples(CODES, st.integers(1, 300), *[st.text(max_size=9)] * 4, st.just(0))
LINKS = st.lists(PLACED | TOLD, max_size=3).map(lambda links: list(chain.from_iterable(links)))
MANIFESTS = st.builds(
    lambda rows, original, links: model.encode_manifest(
        model.Manifest(tuple(model.ChunkRef(*row) for row in rows), tuple(original), links)
    ),
    st.lists(st.tuples(OIDS, COUNTS, COUNTS, HEADINGS.map(tuple)), max_size=4),
    st.lists(st.tuples(OIDS, COUNTS), max_size=2),
    LINKS,
)
DOCUMENTS = st.builds(
    lambda kind, media, encoding, text, oid, count, original, front: encode(
        [
            1,
            kind,
            media,
            text,
            text,
            encoding,
            count,
            oid,
            text,
            text,
            text,
            count,
            oid,
            1 if original else 0,
            oid if original else b"",
            oid,
            front,
            oid if kind == "core" else b"",
        ]
    ),
    st.sampled_from(model.KINDS),
    st.sampled_from(["text/markdown", "application/vnd.x+y", "image/x.a-b_c"]),
    st.sampled_from(["", *sorted(model.ENCODINGS)]),
    st.text(max_size=40),
    OIDS,
    COUNTS,
    st.booleans(),
    st.dictionaries(st.text(max_size=3), st.integers(-(2**63), 2**63), max_size=2).map(
        lambda d: dict(sorted(d.items()))
    ),
)
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=33),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


def alone(decode: Any, data: bytes) -> Any:
    try:
        return decode(data)
    except IntegrityError:
        return None


def agree(batch: Any, single: Any, encoded: list[bytes]) -> None:
    """What a batch says yes to, each object alone gets a yes for, with the same outcome."""
    found = batch(encoded)
    if found is not None:
        assert found == [alone(single, data) for data in encoded]


@given(st.lists(MANIFESTS, min_size=1, max_size=5))
def test_sound_manifests_are_taken_in_batches(encoded: list[bytes]) -> None:
    assert decode_manifests(encoded) == [manifest_row(data) for data in encoded]


@given(st.lists(DOCUMENTS, min_size=1, max_size=5))
def test_sound_documents_are_taken_in_batches(encoded: list[bytes]) -> None:
    agree(decode_documents, document_row, encoded)
    if all(msgpack.unpackb(data)[16] == {} for data in encoded):
        assert decode_documents(encoded) is not None


@given(st.lists(MANIFESTS, min_size=1, max_size=3), st.data())
def test_no_unsound_manifest_passes_in_a_batch(encoded: list[bytes], data: st.DataObject) -> None:
    agree(decode_manifests, manifest_row, twist(encoded, data))


@given(st.lists(DOCUMENTS, min_size=1, max_size=3), st.data())
def test_no_unsound_document_passes_in_a_batch(encoded: list[bytes], data: st.DataObject) -> None:
    agree(decode_documents, document_row, twist(encoded, data))


def twist(encoded: list[bytes], data: st.DataObject) -> list[bytes]:
    """One object with a value or a byte changed, or its end moved into the next."""
    number = data.draw(st.integers(0, len(encoded) - 1))
    victim = encoded[number]
    way = data.draw(st.sampled_from(["value", "byte", "cut", "shift"]))
    if way == "value":
        value = msgpack.unpackb(victim)
        place: Any = value
        while isinstance(place, list) and place:
            at = data.draw(st.integers(0, len(place) - 1))
            if not isinstance(place[at], list) or data.draw(st.booleans()):
                place[at] = data.draw(ODD)
                break
            place = place[at]
        return [*encoded[:number], msgpack.packb(value), *encoded[number + 1 :]]
    at = data.draw(st.integers(0, len(victim) - 1))
    if way == "byte":
        return [
            *encoded[:number],
            victim[:at] + data.draw(st.binary(min_size=1, max_size=2)) + victim[at + 1 :],
            *encoded[number + 1 :],
        ]
    if way == "cut":
        return [*encoded[:number], victim[:at], *encoded[number + 1 :]]
    following = encoded[number + 1 :] or [b""]
    return [*encoded[:number], victim[:at], victim[at:] + following[0], *following[1:]]


def test_ends_that_make_up_for_each_other_are_not_taken() -> None:
    whole = model.encode_manifest(model.Manifest((), (), ()))
    assert decode_manifests([whole, whole]) is not None
    assert decode_manifests([whole + whole, b""]) is None
    assert decode_manifests([whole[:2], whole[2:] + whole]) is None


def test_more_newlines_than_a_measure_holds_are_refused() -> None:
    most = 2**32 - 1
    sound, unsound = (
        model.encode_manifest(model.Manifest((model.ChunkRef(bytes(32), 1, newlines, ()),), ()))
        for newlines in (most, most + 1)
    )
    assert decode_manifests([sound]) == [manifest_row(sound)]
    assert decode_manifests([unsound]) is None
    with pytest.raises(IntegrityError):
        manifest_row(unsound)
