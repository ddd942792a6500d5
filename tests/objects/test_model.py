"""Objects: each kind round trips, each has one encoding, and a foreign one of any other shape is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import chain
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.errors import IntegrityError
from arbor.objects import codec, model
from arbor.objects.columns import decode_manifests, manifest_row
from arbor.objects.model import (
    ENCODINGS,
    ChunkRef,
    Commit,
    CoreSource,
    Derivation,
    Document,
    Manifest,
    Signature,
    Tag,
)
from arbor.objects.passages import decode_passages

OIDS = st.binary(min_size=32, max_size=32)
COUNTS = st.integers(0, 2**53)
TEXTS = st.text(max_size=20)
HEADINGS = st.lists(st.sampled_from(["Intro", "Usage", "安装", "A > B", ""]), max_size=4).map(tuple)
FRONT = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(TEXTS, FRONT, max_size=4).map(codec.canonical)
CODES = st.integers(0, 23)
PLACED = st.tuples(CODES, st.integers(-500, 500), st.integers(-9, 99), *[st.integers(0, 500)] * 4)
TOLD = st.tuples(CODES, st.integers(1, 500), *[TEXTS] * 4, st.just(0))
LINKS = st.lists(PLACED | TOLD, max_size=4).map(lambda links: list(chain.from_iterable(links)))
SIGNATURES = st.builds(Signature, TEXTS, TEXTS, st.integers(-(2**40), 2**40), st.integers(-900, 900))
MANIFESTS = st.builds(
    Manifest,
    st.lists(st.builds(ChunkRef, OIDS, COUNTS, COUNTS, HEADINGS), max_size=6).map(tuple),
    st.lists(st.tuples(OIDS, COUNTS), max_size=4).map(tuple),
    LINKS,
)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    is_core, has_original = draw(st.booleans()), draw(st.booleans())
    return Document(
        kind="core" if is_core else "surface",
        media_type=draw(st.sampled_from(["text/markdown", "application/vnd.x+y", "image/x.a-b_c"])),
        title=draw(TEXTS),
        source_uri=draw(TEXTS),
        encoding=draw(st.sampled_from(["", *sorted(ENCODINGS)])),
        size=draw(COUNTS),
        file_hash=draw(OIDS),
        extractor=draw(TEXTS),
        chunker=draw(TEXTS),
        canonicalisation=draw(TEXTS),
        passage_count=draw(COUNTS),
        text_root=draw(OIDS),
        original_count=draw(st.integers(1, 2**40)) if has_original else 0,
        original_root=draw(OIDS) if has_original else b"",
        manifest=draw(OIDS),
        front_matter=draw(FIELDS),
        derivation=draw(OIDS) if is_core else b"",
    )


@st.composite
def commits(draw: st.DrawFn) -> Commit:
    parents = tuple(draw(st.lists(OIDS, max_size=3)))
    size = draw(st.integers(1, 2**30)) if parents else 0
    peaks = tuple(draw(st.lists(OIDS, min_size=size.bit_count(), max_size=size.bit_count())))
    return Commit(
        draw(OIDS),
        parents,
        draw(SIGNATURES),
        draw(SIGNATURES),
        draw(TEXTS),
        draw(st.dictionaries(TEXTS, TEXTS, max_size=3)),
        size,
        peaks,
        draw(TEXTS),
    )


TAGS = st.builds(Tag, OIDS, TEXTS, SIGNATURES, TEXTS, TEXTS)
SOURCES = st.builds(CoreSource, TEXTS, OIDS, COUNTS, COUNTS, OIDS, st.lists(OIDS, max_size=4).map(tuple))
DERIVATIONS = st.builds(
    Derivation, TEXTS, COUNTS, FIELDS, OIDS | st.just(b""), st.lists(SOURCES, max_size=3).map(tuple)
)
PAIRS: dict[str, tuple[st.SearchStrategy[Any], Callable[..., bytes], Callable[..., Any]]] = {
    "manifest": (MANIFESTS, model.encode_manifest, model.decode_manifest),
    "document": (documents(), model.encode_document, model.decode_document),
    "commit": (commits(), model.encode_commit, model.decode_commit),
    "tag": (TAGS, model.encode_tag, model.decode_tag),
    "derivation": (DERIVATIONS, model.encode_derivation, model.decode_derivation),
}
KINDS = sorted(PAIRS)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_each_kind_comes_back_as_it_was(kind: str, data: st.DataObject) -> None:
    values, encode, decode = PAIRS[kind]
    value = data.draw(values)
    whole = encode(value)
    assert decode(whole) == value
    assert decode(whole, trusted=True) == value
    assert encode(decode(whole)) == whole


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=300)
def test_a_changed_byte_gives_another_value_or_an_integrity_error(kind: str, data: st.DataObject) -> None:
    values, encode, decode = PAIRS[kind]
    value = data.draw(values)
    changed = bytearray(encode(value))
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = decode(bytes(changed))
    except IntegrityError:
        return
    assert found != value
    assert encode(found) == bytes(changed)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.binary(max_size=300))
def test_any_bytes_raise_an_integrity_error_and_nothing_else(kind: str, data: bytes) -> None:
    _, encode, decode = PAIRS[kind]
    with contextlib.suppress(IntegrityError):
        assert encode(decode(data)) == data


ODD = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**64 - 1,
    1.0,
    0.0,
    float("nan"),
    "",
    "x",
    "surface",
    b"",
    b"x",
    bytes(31),
    bytes(32),
    bytes(33),
    [],
    [[]],
    {},
    {"a": 1},
    [None],
    ["x"],
    [bytes(32)],
    [[bytes(32), 1]],
    {"a": 1.5},
    {"a": [1.5]},
    [[bytes(32), 1, 0, 0, []]],
    [[bytes(32), -1, 0, 0, []]],
    [[bytes(32), 1, 0, 1, []]],
    [[1, "", 1, "", "", ""]],
    [[9, "", 1, "", "", ""]],
    [[0, "", 1, [1, -1], "", ""]],
    [[0, "", 1, [1, 2**40], "", ""]],
    [[0, "", 1, [1], "", ""]],
    [[0, "", True, "", "", ""]],
    ["", "", 1, 1],
    ["", "", True, 1],
    ["", "", 1.0, 1],
    "abcd",
    "abcde",
    "abcdef",
    msgpack.ExtType(5, b""),
    {"a": msgpack.ExtType(5, b"")},
    msgpack.Timestamp(0),
)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=10)
def test_a_field_of_another_type_or_width_is_refused(kind: str, data: st.DataObject) -> None:
    """Every field is replaced by every odd value: decoding gives an IntegrityError, or the one value it encodes."""
    values, encode, decode = PAIRS[kind]
    row = msgpack.unpackb(encode(data.draw(values)))
    for place in range(len(row)):
        for odd in ODD:
            lie = msgpack.packb([*row[:place], odd, *row[place + 1 :]])
            try:
                found = decode(lie)
            except IntegrityError:
                continue
            assert encode(found) == lie, (place, odd)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=5)
def test_the_number_of_fields_is_fixed(kind: str, data: st.DataObject) -> None:
    values, encode, decode = PAIRS[kind]
    row = msgpack.unpackb(encode(data.draw(values)))
    for other in ([*row, None], row[:-1], [], [row], {"a": row}, None, 1):
        with pytest.raises(IntegrityError):
            decode(msgpack.packb(other))
        with pytest.raises(IntegrityError):
            decode(msgpack.packb(other), trusted=True)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=5)
def test_another_schema_is_refused(kind: str, data: st.DataObject) -> None:
    values, encode, decode = PAIRS[kind]
    row = msgpack.unpackb(encode(data.draw(values)))
    for schema in (0, 3 - row[0], True, float(row[0]), str(row[0]), None):
        with pytest.raises(IntegrityError):
            decode(msgpack.packb([schema, *row[1:]]))


@given(st.lists(st.lists(TEXTS, max_size=4).map(tuple), max_size=8))
def test_heading_paths_survive_being_written_as_differences(paths: list[tuple[str, ...]]) -> None:
    refs = tuple(ChunkRef(bytes(32), 1, 0, path) for path in paths)
    found = model.decode_manifest(model.encode_manifest(Manifest(refs, (), [])))
    assert [ref.headings for ref in found.passages] == paths


def test_a_heading_path_has_one_form() -> None:
    """Saying again what is shared, or sharing more than there is, would be a second encoding."""
    columns = [2, bytes(64), [1, 1], [0, 0]]
    for shared, rest in ((0, ["A", "C"]), (3, ["C"]), (1, ["B"])):
        with pytest.raises(IntegrityError):
            model.decode_manifest(msgpack.packb([*columns, [0, shared], [["A", "B"], rest], b"", [], []]))
    assert model.decode_manifest(msgpack.packb([*columns, [0, 1], [["A", "B"], ["C"]], b"", [], []]))


@pytest.mark.parametrize("levels", [model.MAX_HEADINGS, model.MAX_HEADINGS + 1, 30_000])
def test_a_heading_path_is_only_so_long(levels: int) -> None:
    """Each passage says what differs, so that what all paths come to could grow with the square of the bytes."""
    rests = [["a"] * levels] + [[str(number % 9)] for number in range(300)]
    shared = [0] + [levels - 1] * 300
    columns = [2, bytes(32 * 301), [1] * 301, [0] * 301, shared, rests, b"", [], []]
    data = msgpack.packb(columns)
    readers = [model.decode_manifest, manifest_row, decode_passages]
    if levels == model.MAX_HEADINGS:
        assert decode_manifests([data]) == [manifest_row(data)]
        assert list(model.decode_manifest(data).passages) == decode_passages(data)
        return
    assert decode_manifests([data]) is None
    for read in readers:
        with pytest.raises(IntegrityError):
            read(data)


@pytest.mark.parametrize("place", range(1, 9))
@pytest.mark.parametrize("wrong", ["", b"", {}, None, 0, False, [], b"x" * 31, [1], ["a"], [-1], [b""]])
def test_the_columns_of_a_manifest_have_one_type_and_one_length(place: int, wrong: object) -> None:
    empty: list[object] = [2, b"", [], [], [], [], b"", [], []]
    assert model.decode_manifest(msgpack.packb(empty)) == Manifest((), (), [])
    if wrong != empty[place]:
        with pytest.raises(IntegrityError):
            model.decode_manifest(msgpack.packb([*empty[:place], wrong, *empty[place + 1 :]]))


def test_the_log_of_a_commit_fits_its_size_and_its_parents() -> None:
    who = Signature("a", "b", 1, 0)
    for parents, size, peaks in (
        ((), 1, (bytes(32),)),
        ((bytes(32),), 0, ()),
        ((bytes(32),), 3, (bytes(32),)),
        ((bytes(32),), 2, (bytes(32),) * 2),
    ):
        with pytest.raises(IntegrityError):
            model.decode_commit(
                model.encode_commit(Commit(bytes(32), parents, who, who, "m", {}, size, peaks))
            )


def test_the_policy_of_a_commit_is_written_in_one_order() -> None:
    who = Signature("a", "b", 1, 0)
    one = Commit(bytes(32), (), who, who, "m", {"a": "1", "b": "2"}, 0, ())
    two = Commit(bytes(32), (), who, who, "m", {"b": "2", "a": "1"}, 0, ())
    assert model.encode_commit(one) == model.encode_commit(two)


def test_a_surface_has_no_derivation_and_a_core_has_one() -> None:
    base = Document(
        "surface", "t", "", "", "utf-8", 0, bytes(32), "x", "y", "z", 0, bytes(32), 0, b"", bytes(32)
    )
    for kind, derivation in (("surface", bytes(32)), ("core", b""), ("other", b"")):
        row = msgpack.unpackb(model.encode_document(base))
        row[1], row[17] = kind, derivation
        with pytest.raises(IntegrityError):
            model.decode_document(msgpack.packb(row))
