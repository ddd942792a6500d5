"""The canonical encoding: what goes in comes out, and every value has exactly one encoding."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.errors import IntegrityError, UsageError
from arbor.objects import codec

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(max_size=40)
    | st.binary(max_size=40)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=25,
)


@given(VALUES)
def test_what_goes_in_comes_out(value: object) -> None:
    value = codec.canonical(value)
    assert codec.decode(codec.encode(value)) == value


@given(VALUES)
def test_a_value_has_one_encoding(value: object) -> None:
    once = codec.encode(codec.canonical(value))
    assert codec.encode(codec.canonical(codec.decode(once))) == once


@given(st.dictionaries(st.text(max_size=8), SCALARS, min_size=2, max_size=6), st.randoms())
def test_the_order_in_which_a_map_was_made_does_not_matter(table: dict[str, object], random: object) -> None:
    keys = list(table)
    random.shuffle(keys)  # type: ignore[attr-defined]
    again = {key: table[key] for key in keys}
    assert codec.encode(codec.canonical(again)) == codec.encode(codec.canonical(table))


@given(st.binary(max_size=200))
@settings(max_examples=1500)
def test_any_bytes_decode_to_their_own_value_or_raise_an_integrity_error(data: bytes) -> None:
    try:
        value = codec.decode(data)
    except IntegrityError:
        return
    assert codec.encode(value) == data


@given(VALUES, st.data())
@settings(max_examples=400)
def test_a_changed_byte_never_decodes_to_the_same_value(value: object, data: st.DataObject) -> None:
    whole = codec.encode(codec.canonical(value))
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[place] ^= data.draw(st.integers(1, 255))
    try:
        found = codec.decode(bytes(changed))
    except IntegrityError:
        return
    assert codec.encode(found) != whole


SECOND_ENCODINGS = {
    "an integer one byte too long": b"\xcc\x01",
    "an integer in eight bytes": b"\xcf" + (5).to_bytes(8, "big"),
    "a negative integer too long": b"\xd0\xff",
    "a positive integer in a signed form": b"\xd1\x01\x00",
    "a string in a longer form": b"\xd9\x01a",
    "a string in the longest form": b"\xdb\x00\x00\x00\x01a",
    "bytes in a longer form": b"\xc5\x00\x01a",
    "an array in a longer form": b"\xdc\x00\x01\x01",
    "a map in a longer form": b"\xde\x00\x01\xa1a\x01",
    "a repeated key": b"\x82\xa1a\x01\xa1a\x02",
    "keys out of order": b"\x82\xa1b\x01\xa1a\x02",
    "a key of bytes": b"\x81\xc4\x01a\x01",
    "an integer key": b"\x81\x01\x01",
    "a null key": b"\x81\xc0\x01",
    "something after the value": b"\x01\x01",
    "nothing at all": b"",
    "a value cut short": b"\x92\x01",
    "a string cut short": b"\xa5abc",
    "a string that is not UTF-8": b"\xa1\xff",
    "a lone surrogate": b"\xa3\xed\xa0\x80",
    "an overlong form of a character": b"\xa2\xc0\x80",
    "the byte that means nothing": b"\xc1",
    "a float in a map": b"\x81\xa1a\xcb" + bytes(8),
    "not a number in a map": b"\x81\xa1a\xcb\x7f\xf8" + bytes(6),
    "a single float in a map": b"\x81\xa1a\xca" + bytes(4),
    "a float in a list in a map": b"\x81\xa1a\x91\xca" + bytes(4),
    "an extension": b"\xd4\x05\x00",
    "an extension of no bytes": b"\xc7\x00\x05",
    "an extension of no bytes in a map": b"\x81\xa1a\xc7\x00\x05",
    "a large extension": b"\xc9\xff\xff\xff\xff\x05",
    "a timestamp": b"\xd6\xff\x00\x00\x00\x00",
    "a timestamp of no bytes": b"\xc7\x00\xff",
    "an array of four billion": b"\xdd\xff\xff\xff\xff\x01",
    "a map of a billion in twenty bytes": b"\xdf\x3b\x9a\xca\x00" + b"\xa1a\xc0" * 5,
    "a string of four billion": b"\xdb\xff\xff\xff\xffabc",
    "bytes of four billion": b"\xc6\xff\xff\xff\xffabc",
    "maps nested too deep": b"\x81\xa1a" * 30 + b"\xc0",
    "lists nested too deep in a map": b"\x81\xa1a" + b"\x91" * 30 + b"\xc0",
    "lists nested beyond the decoder": b"\x91" * 100_000 + b"\xc0",
    "maps nested beyond the decoder": b"\x81\xa1a" * 100_000 + b"\xc0",
}


@pytest.mark.parametrize("name", SECOND_ENCODINGS)
def test_no_second_encoding_and_no_bomb_is_accepted(name: str) -> None:
    with pytest.raises(IntegrityError):
        codec.decode(SECOND_ENCODINGS[name])


@pytest.mark.parametrize("depth", [100, 500, 511, 512, 513, 1000, 1024, 5000])
def test_lists_of_every_depth_decode_or_raise_an_integrity_error(depth: int) -> None:
    data = b"\x91" * depth + b"\xc0"
    try:
        assert codec.encode(codec.decode(data)) == data
    except IntegrityError:
        assert depth > 100


def test_an_object_over_the_limit_is_not_read() -> None:
    with pytest.raises(IntegrityError):
        codec.decode(bytes(codec.MAX_OBJECT_BYTES + 1))


def test_an_object_over_the_limit_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_OBJECT_BYTES", 100)
    assert codec.encode(bytes(90))
    with pytest.raises(UsageError, match="over the limit"):
        codec.encode(bytes(101))


def test_a_long_string_that_can_be_written_can_be_read() -> None:
    text = "x" * (codec.MAX_ITEMS + 10)
    assert codec.decode(codec.encode(text)) == text


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        float("nan"),
        {1: 2},
        {b"a": 1},
        "\ud800",
        {"\udfff": 1},
        2**64,
        -(2**63) - 1,
        {1, 2},
        object(),
        [[1.0]],
    ],
)
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(IntegrityError):
        codec.canonical(value)


def test_nesting_is_bounded() -> None:
    value: object = None
    for _ in range(codec.MAX_DEPTH):
        value = [value]
    assert codec.canonical(value) == value
    with pytest.raises(IntegrityError):
        codec.canonical([value])


def test_trusted_bytes_are_not_compared_again() -> None:
    loose = msgpack.packb({"b": 1, "a": 2})
    assert codec.decode(loose, trusted=True) == {"b": 1, "a": 2}
    with pytest.raises(IntegrityError):
        codec.decode(loose)
