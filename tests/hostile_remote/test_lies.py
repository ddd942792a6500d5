"""Lies in what is sent: each is refused with exit 12 or 14, says what was wrong, and leaves nothing behind."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgpack
import pytest
from blake3 import blake3

from arbor.errors import ArborError, IntegrityError
from arbor.objects import ledger, merkle, model
from arbor.objects.codec import encode
from arbor.objects.ids import Kind, object_id
from arbor.objects.ledger import Child
from arbor.objects.model import ChunkRef, Tag
from arbor.remote.exchange.service import Service
from arbor.remote.exchange.transfer import TransferOptions
from arbor.remote.protocol.limits import Limits
from arbor.remote.protocol.messages import FetchAnswer, encode_fetch_answer
from arbor.remote.protocol.wire import PacketKind, decode_message
from arbor.repo.commits import committing
from arbor.repo.repository import open_repository
from arbor.repo.staging import adding
from arbor.repo.trust.verify import verify
from tests.cli.harness import Cli
from tests.hostile_remote.liars import MAIN, WHO, Liar, World, frame, push_packets, shown, write_bundle
from tests.remote.people import clone_to, fetch_from, make_kb, notes

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Lie = Callable[[World], tuple[bytes, list[bytes] | None]]
LIES: dict[str, Lie] = {}


def lie(words: str) -> Callable[[Lie], Lie]:
    """Register a lie under the words that its refusal must hold."""

    def keep(function: Lie) -> Lie:
        LIES[f"{function.__name__}: {words}"] = function
        return function

    return keep


def simple(w: World, text: str = "# A\n", path: str = "a.md") -> tuple[bytes, model.Commit]:
    return w.commit(w.ledger({"d/" + path: w.document(text)}))


# --- something is absent


@lie("missing")
def the_commit_is_absent(w: World) -> tuple[bytes, None]:
    simple(w)
    return b"\x11" * 32, None


@lie("missing")
def a_parent_is_absent(w: World) -> tuple[bytes, None]:
    first = simple(w)
    tip, _ = w.commit(first[1].ledger_root, [first])
    w.drop(first[0])
    return tip, None


@lie("missing")
def the_ledger_is_absent(w: World) -> tuple[bytes, None]:
    return w.commit(b"\x22" * 32)[0], None


def _without(kind: Kind) -> Lie:
    def absent(w: World) -> tuple[bytes, None]:
        tip, _ = simple(w)
        w.objects = [(each, data) for each, data in w.objects if each != kind]
        return tip, None

    return absent


for _kind in (Kind.DOCUMENT, Kind.MANIFEST, Kind.CHUNK, Kind.NODE):
    LIES[f"{_kind.label}_is_absent: missing"] = _without(_kind)


@lie("missing")
def a_child_node_is_absent(w: World) -> tuple[bytes, None]:
    document = w.document()
    tip, made = w.commit(w.ledger({f"d/n{number}.md": document for number in range(200)}))
    top = next(
        ledger.decode_node(data) for kind, data in w.objects if object_id(kind, data) == made.ledger_root
    )
    w.drop(top.children[-1].oid)
    return tip, None


@lie("missing")
def the_derivation_of_a_core_is_absent(w: World) -> tuple[bytes, None]:
    return w.commit(w.ledger({"c/x": w.document(kind="core", derivation=b"\x33" * 32)}))[0], None


# --- something does not hash to its name, or is of another kind


@lie("missing")
def a_byte_of_a_passage_is_changed(w: World) -> tuple[bytes, None]:
    tip, _ = simple(w)
    w.objects = [(kind, b"# B\n" if kind == Kind.CHUNK else data) for kind, data in w.objects]
    return tip, None


@lie("missing")
def a_passage_is_sent_as_another_kind(w: World) -> tuple[bytes, None]:
    tip, _ = simple(w)
    w.objects = [
        (Kind.TAG if kind == Kind.CHUNK else kind, data) for kind, data in w.objects if kind != Kind.CHUNK
    ]
    return tip, None


# --- structures that do not fit each other


@lie("do not fit its manifest")
def the_text_root_is_another(w: World) -> tuple[bytes, None]:
    return w.commit(w.ledger({"d/a.md": w.document(text_root=b"\x44" * 32)}))[0], None


@lie("do not fit its manifest")
def the_size_is_another(w: World) -> tuple[bytes, None]:
    return w.commit(w.ledger({"d/a.md": w.document(size=5)}))[0], None


@lie("do not fit its manifest")
def the_number_of_passages_is_another(w: World) -> tuple[bytes, None]:
    return w.commit(w.ledger({"d/a.md": w.document(passage_count=2)}))[0], None


@lie("not as long as it says")
def a_passage_is_longer_than_it_says(w: World) -> tuple[bytes, None]:
    chunk = object_id(Kind.CHUNK, b"# A\n")
    document = w.document(manifest_changes={"passages": (ChunkRef(chunk, 3, 1, ()),)}, size=3)
    return w.commit(w.ledger({"d/a.md": document}))[0], None


@lie("does not have the lines it says")
def a_passage_says_more_lines_than_it_has(w: World) -> tuple[bytes, None]:
    data = b"# A\nhello world\n"
    ref = ChunkRef(object_id(Kind.CHUNK, data), len(data), 4000, ("Fake heading",))
    return w.commit(w.ledger({"d/a.md": w.document(data.decode(), {"passages": (ref,)})}))[0], None


@lie("bytes and lines that are recorded")
def a_passage_in_another_encoding_says_more_lines(w: World) -> tuple[bytes, None]:
    # U+0A00 has a byte that is a line feed in ASCII, and is none.
    data = "\u0a00\n\u0a00".encode("utf-16-le")
    chunk = w.put(Kind.CHUNK, data)
    passages = (ChunkRef(chunk, len(data), 3, ()),)
    document = w.document(
        manifest_changes={"passages": passages},
        size=len(data),
        file_hash=blake3(data).digest(),
        encoding="utf-16-le",
        text_root=merkle.tree_root([chunk]),
    )
    return w.commit(w.ledger({"d/a.md": document}))[0], None


@lie("of another kind")
def a_core_key_is_at_a_surface(w: World) -> tuple[bytes, None]:
    return w.commit(w.ledger({"d/a.md": w.document(), "c/a.md": w.document()}))[0], None


@lie("of another kind")
def a_document_key_is_at_a_core(w: World) -> tuple[bytes, None]:
    made = w.put(Kind.DERIVATION, model.encode_derivation(model.Derivation("manual", 1, {}, b"", ())))
    return w.commit(w.ledger({"d/a.md": w.document(kind="core", derivation=made)}))[0], None


for _field, _value in (
    ("encoding", "rot13"),
    ("encoding", "zlib_codec"),
    ("encoding", "UTF-8"),
    ("media_type", "markdown"),
    ("media_type", "text/markdown\x1b[2J"),
    ("media_type", "text/" + "x" * 200),
):
    LIES[f"{_field}_{_value[:14]!r}: is none"] = lambda w, field=_field, value=_value: (
        w.commit(w.ledger({"d/a.md": w.document(**{field: value})}))[0],
        None,
    )


@lie("log does not go on")
def the_log_begins_anew(w: World) -> tuple[bytes, None]:
    first = simple(w)
    return w.commit(first[1].ledger_root, [first], log_size=2, log_peaks=(b"\x55" * 32,))[0], None


@lie("names a parent twice")
def a_parent_is_named_twice(w: World) -> tuple[bytes, None]:
    first = simple(w)
    return w.commit(first[1].ledger_root, [first, first])[0], None


@lie("wrong type")
def a_first_commit_has_a_log(w: World) -> tuple[bytes, None]:
    return w.commit(simple(w)[1].ledger_root, log_size=1, log_peaks=(b"\x55" * 32,))[0], None


@lie("not at the level")
def the_ledger_root_is_a_leaf_of_another_ledger(w: World) -> tuple[bytes, None]:
    document = w.document()
    keys = sorted(f"d/n{number}.md" for number in range(3000))
    last = next(key for key in keys if ledger.boundary_level(key) >= 2)
    return w.commit(w.node(0, [(last, document)]))[0], None


@lie("document as a ledger root: missing|is a document")
def the_ledger_root_is_a_document(w: World) -> tuple[bytes, None]:
    return w.commit(w.document())[0], None


# --- ledgers that are no trees


def _two_leaves(w: World, **says: object) -> bytes:
    """A root of two leaves; what it says of the second is changed."""
    document = w.document()
    keys = sorted(f"d/n{number}.md" for number in range(400))
    cut = next(i for i, key in enumerate(keys) if ledger.boundary_level(key) == 1)
    second = [key for key in keys[cut + 1 :] if not ledger.boundary_level(key)][:2]
    first = [*[key for key in keys[:cut] if not ledger.boundary_level(key)][:2], keys[cut]]
    children = []
    for row in (first, second):
        oid = w.node(0, [(key, document) for key in row])
        children.append(Child(row[-1], oid, len(row)))
    children[1] = children[1]._replace(**says)  # type: ignore[arg-type]
    return w.node(1, children)


@lie("does not fit its parent")
def a_node_says_another_count(w: World) -> tuple[bytes, None]:
    return w.commit(_two_leaves(w, count=7))[0], None


@lie("does not fit its parent")
def a_node_says_another_last_key(w: World) -> tuple[bytes, None]:
    return w.commit(_two_leaves(w, last_key="d/zzzzzz.md"))[0], None


@lie("fit its parent|after a boundary")
def a_node_is_below_itself_by_level(w: World) -> tuple[bytes, None]:
    inner = _two_leaves(w)
    data = next(data for kind, data in w.objects if object_id(kind, data) == inner)
    top = ledger.decode_node(data)
    keys = [key for key in (f"d/z{number}.md" for number in range(4000)) if ledger.boundary_level(key) >= 1]
    return w.commit(w.node(1, [Child(top.last_key, inner, top.count), Child(keys[0], inner, 5)]))[0], None


@lie("goes on after a boundary|ascending|ends below")
def keys_are_not_in_order(w: World) -> tuple[bytes, None]:
    document = w.document()
    return w.commit(w.node(0, [("d/b.md", document), ("d/a.md", document)]))[0], None


@lie("ascending")
def a_key_stands_twice(w: World) -> tuple[bytes, None]:
    document = w.document()
    return w.commit(w.node(0, [("d/a.md", document), ("d/a.md", document)]))[0], None


@lie("not at the level|fit its parent")
def a_tree_is_higher_than_its_keys_ask(w: World) -> tuple[bytes, None]:
    document = w.document()
    leaf = w.node(0, [("d/a.md", document)])
    return w.commit(w.node(1, [Child("d/a.md", leaf, 1)]))[0], None


@lie("impossible level")
def a_node_is_of_an_impossible_level(w: World) -> tuple[bytes, None]:
    return w.commit(w.node(200, [Child("d/a.md", b"\x01" * 32, 1)]))[0], None


@lie("as a document and as a folder")
def a_document_is_where_a_folder_is(w: World) -> tuple[bytes, None]:
    document = w.document()
    return w.commit(w.ledger({"d/a": document, "d/a.b": document, "d/a/b": document}))[0], None


@lie("as a document and as a folder")
def a_later_commit_puts_a_document_over_a_folder(w: World) -> tuple[bytes, None]:
    document = w.document()
    first = w.commit(w.ledger({"d/a/b/c": document}))
    return w.commit(w.ledger({"d/a/b": document, "d/a/b/c": document}), [first])[0], None


# --- paths

PATHS = [
    "../x",
    "a/../../x",
    "/etc/passwd",
    "a//b",
    "./a",
    "a/.",
    ".arbor/config.toml",
    ".ARBOR/x",
    "a/.Arbor/x",
    ".arbor /x",
    ".arbor./x",
    ".ar\u200cbor/x",
    ".arbor\u2060/x",
    "\uff0earbor/x",
    ".arbor::$INDEX_ALLOCATION/x",
    "arbor~1/x",
    ".git/config",
    "git~1",
    "con",
    "a/NUL.txt",
    "aux.md",
    "COM1",
    "lpt9.x",
    "a\\b",
    "a\x00b",
    "a\nb",
    "a\x1bb",
    "a\x7fb",
    "e\u0301.md",
    "x" * 300,
    "a/" * 2500 + "b",
    "a ",
    "a.",
    " /..",
    "\u2028",
    "",
]

for _path in PATHS:

    def _with_path(w: World, path: str = _path) -> tuple[bytes, None]:
        document = w.document()
        return w.commit(w.node(0, [("d/" + path, document)]))[0], None

    LIES[f"path {_path[:30]!a}: path|Unicode|order|ascending"] = _with_path


@lie("path")
def a_core_has_a_path_that_leads_out(w: World) -> tuple[bytes, None]:
    return w.commit(w.node(0, [("c/../x", w.document())]))[0], None


# --- encodings

BROKEN = {
    "a billion entries in five bytes": b"\xdf\x3b\x9a\xca\x00",
    "a billion items in five bytes": b"\xdd\x3b\x9a\xca\x00",
    "four gigabytes of text in five bytes": b"\xdb\xff\xff\xff\xff",
    "nested a thousand times": b"\x91" * 1000 + b"\xc0",
    "nested a million times": b"\x91" * 1_000_000 + b"\xc0",
    "an extension": b"\xc7\x00\x01",
    "a timestamp": b"\xd6\xff\x00\x00\x00\x00",
    "nothing": b"",
    "text that is not UTF-8": b"\xa2\xff\xfe",
    "the never used byte": b"\xc1",
}

for _name, _data in BROKEN.items():
    for _kind in (Kind.COMMIT, Kind.NODE, Kind.MANIFEST, Kind.DOCUMENT, Kind.TAG, Kind.DERIVATION):

        def _with_data(w: World, kind: Kind = _kind, data: bytes = _data) -> tuple[bytes, None]:
            tip, _ = simple(w)
            w.put(kind, data)
            return tip, None

        LIES[f"{_name} as a {_kind.label}: {_kind.label}"] = _with_data


def _reencoded(kind: Kind, change: Callable[[bytes], bytes]) -> Lie:
    def twisted(w: World) -> tuple[bytes, None]:
        tip, _ = simple(w)
        data = next(data for each, data in w.objects if each == kind)
        w.put(kind, change(data))
        return tip, None

    return twisted


for _kind in (Kind.COMMIT, Kind.NODE, Kind.MANIFEST, Kind.DOCUMENT):
    LIES[f"{_kind.label} with a byte after its end: {_kind.label}"] = _reencoded(
        _kind, lambda data: data + b"\x00"
    )
    LIES[f"{_kind.label} with a wide number: {_kind.label}"] = _reencoded(
        _kind, lambda data: data[:1] + b"\xcc" + data[1:2] + data[2:]
    )
    LIES[f"{_kind.label} with one field more: {_kind.label}"] = _reencoded(
        _kind, lambda data: encode([*msgpack.unpackb(data), 1])
    )
    LIES[f"{_kind.label} that says True for 1: {_kind.label}"] = _reencoded(
        _kind, lambda data: encode([True, *msgpack.unpackb(data)[1:]])
    )
    LIES[f"{_kind.label} with a float: {_kind.label}"] = _reencoded(
        _kind, lambda data: encode([1.0, *msgpack.unpackb(data)[1:]])
    )


@lie("document")
def front_matter_has_a_key_twice(w: World) -> tuple[bytes, None]:
    tip, _ = simple(w)
    data = next(data for kind, data in w.objects if kind == Kind.DOCUMENT)
    assert data.endswith(b"\x80\xc4\x00")
    w.put(Kind.DOCUMENT, data[:-3] + b"\x82\xa1a\x01\xa1a\x02" + b"\xc4\x00")
    return tip, None


@lie("document")
def front_matter_has_a_float(w: World) -> tuple[bytes, None]:
    tip, _ = simple(w)
    data = next(data for kind, data in w.objects if kind == Kind.DOCUMENT)
    w.put(Kind.DOCUMENT, data[:-3] + b"\x81\xa1a\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00" + b"\xc4\x00")
    return tip, None


@lie("document")
def front_matter_is_nested_without_end(w: World) -> tuple[bytes, None]:
    tip, _ = simple(w)
    data = next(data for kind, data in w.objects if kind == Kind.DOCUMENT)
    w.put(Kind.DOCUMENT, data[:-3] + b"\x81\xa1a" * 40 + b"\xc0" + b"\xc4\x00")
    return tip, None


# --- frames


@lie("")
def a_frame_bursts_its_declared_size(w: World) -> tuple[bytes, list[bytes]]:
    tip, _ = simple(w)
    table = b"\x01" + (100).to_bytes(4, "little")
    payload = zstd.compress(table + bytes(50_000_000))
    return tip, [*w.frames(), frame(b"", payload, 1, 105)]


@lie("")
def a_frame_does_not_declare_a_size(w: World) -> tuple[bytes, list[bytes]]:
    tip, _ = simple(w)
    compressor = zstd.ZstdCompressor()
    payload = compressor.compress(b"\x01" + (95).to_bytes(4, "little") + bytes(95)) + compressor.flush()
    return tip, [*w.frames(), frame(b"", payload, 1, 100)]


@lie("")
def two_frames_of_zstd_in_one(w: World) -> tuple[bytes, list[bytes]]:
    tip, _ = simple(w)
    raw = b"\x01" + (95).to_bytes(4, "little") + bytes(95)
    return tip, [*w.frames(), frame(raw, zstd.compress(raw) + zstd.compress(raw), 1)]


@lie("table")
def a_table_goes_beyond_its_frame(w: World) -> tuple[bytes, list[bytes]]:
    tip, _ = simple(w)
    raw = b"\x01" + (2**32 - 1).to_bytes(4, "little") + bytes(10)
    return tip, [*w.frames(), frame(raw, zstd.compress(raw), 1)]


@lie("table")
def a_table_has_more_rows_than_bytes(w: World) -> tuple[bytes, list[bytes]]:
    tip, _ = simple(w)
    return tip, [*w.frames(), frame(b"abc", zstd.compress(b"abc"), 65535)]


@lie("table")
def an_object_is_of_no_kind(w: World) -> tuple[bytes, list[bytes]]:
    tip, _ = simple(w)
    raw = b"\x63" + (1).to_bytes(4, "little") + b"x"
    return tip, [*w.frames(), frame(raw, zstd.compress(raw), 1)]


@lie("damaged")
def a_header_is_damaged(w: World) -> tuple[bytes, list[bytes]]:
    tip, _ = simple(w)
    [good] = w.frames()
    return tip, [good[:9] + b"\xff" + good[10:]]


@lie("damaged")
def a_payload_is_damaged(w: World) -> tuple[bytes, list[bytes]]:
    tip, _ = simple(w)
    [good] = w.frames()
    return tip, [good[:-5] + b"\xff" + good[-4:]]


@lie("damaged")
def a_frame_claims_more_than_may_be_unpacked(w: World) -> tuple[bytes, list[bytes]]:
    tip, _ = simple(w)
    return tip, [*w.frames(), frame(b"", zstd.compress(b"x"), 1, 2**31)]


@lie("times its size")
def frames_unpack_to_far_more_than_they_are(w: World) -> tuple[bytes, list[bytes]]:
    tip, _ = simple(w)
    raw = b"\x01" + (60_000_000).to_bytes(4, "little") + bytes(60_000_000)
    bomb = frame(raw, zstd.compress(raw), 1)
    return tip, [*w.frames(), *[bomb] * 6]


# --- tags


@lie("no sound commit: missing|is a chunk|does not decode|not.*commit")
def the_branch_stands_at_a_document(w: World) -> tuple[bytes, None]:
    simple(w)
    return next(object_id(kind, data) for kind, data in w.objects if kind == Kind.DOCUMENT), None


def refused(folder: Path, words: str, error: ArborError) -> None:
    """The refusal has the right exit code and says what was wrong."""
    assert error.exit_code in (12, 14), error.exit_code
    assert re.search(words.rsplit(": ", maxsplit=1)[-1], error.message), error.message
    assert "\n" not in error.message


@pytest.mark.parametrize("name", LIES)
def test_a_lying_server_is_refused_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    world = World()
    tip, frames = LIES[name](world)
    frames = world.frames() if frames is None else frames
    words = name.split(": ", 1)[1]
    with pytest.raises(ArborError) as caught:
        clone_to(Liar(shown(tip), frames), tmp_path / "b")
    refused(tmp_path, words, caught.value)
    assert not (tmp_path / "b").exists()


@pytest.fixture(scope="module")
def victims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A KB with a work tree and a bare one, which must be as they are after every lie."""
    folder = tmp_path_factory.mktemp("victims")
    make_kb(folder / "mine", notes(3))
    make_kb(folder / "bare", bare=True)
    return folder


def state(folder: Path) -> list[tuple[str, bytes]]:
    return sorted(
        (str(path.relative_to(folder)), path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
        if path.name != "lock"
    )


@pytest.mark.parametrize("name", LIES)
def test_lies_change_no_kb_by_fetch_bundle_or_push(tmp_path: Path, victims: Path, name: str) -> None:
    world = World()
    tip, frames = LIES[name](world)
    frames = world.frames() if frames is None else frames
    words = name.split(": ", 1)[1]
    before = state(victims)
    repo = open_repository(victims / "mine")
    with pytest.raises(ArborError) as caught:
        fetch_from(repo, Liar(shown(tip), frames), "evil")
    refused(tmp_path, words, caught.value)
    bundle = write_bundle(tmp_path / "x.bundle", shown(tip), frames)
    with pytest.raises(ArborError) as caught:
        fetch_from(repo, bundle, "evil")
    assert caught.value.exit_code in (12, 14)
    packets = list(Service(victims / "bare", may_push=True).answer(push_packets(tip, frames)))
    assert [packet.kind for packet in packets] == [PacketKind.ERROR]
    assert decode_message(packets[0].payload)["exit_code"] in (12, 14)
    assert state(victims) == before


def test_limits_on_bytes_and_objects(tmp_path: Path) -> None:
    world = World()
    tip, _ = simple(world)
    for limits in (Limits(max_bytes=100), Limits(max_objects=3), Limits(max_raw_bytes=100)):
        with pytest.raises(ArborError, match=r"limit|more than"):
            clone_to(Liar(shown(tip), world.frames()), tmp_path / "b", TransferOptions(limits=limits))
        assert not (tmp_path / "b").exists()


def test_the_world_that_tells_the_truth_is_cloned(tmp_path: Path) -> None:
    world = World()
    tip, _ = simple(world)
    assert clone_to(Liar(shown(tip), world.frames()), tmp_path / "b").documents == 1
    assert (tmp_path / "b/a.md").read_text() == "# A\n"


def test_documents_that_are_said_to_be_cold_are_cold_and_not_missing(tmp_path: Path) -> None:
    world = World()
    document = world.document()
    tip, _ = world.commit(world.ledger({"d/a.md": document}))
    world.objects = [(kind, data) for kind, data in world.objects if kind != Kind.CHUNK]
    answer = encode_fetch_answer(FetchAnswer(4, (document,)))
    assert clone_to(Liar(shown(tip), world.frames(), answer), tmp_path / "b").cold == 1


def test_a_core_that_is_said_to_be_cold_is_missing(tmp_path: Path) -> None:
    world = World()
    text = "# A\n\nWords of a note.\n"
    source, leaf = world.document(text), object_id(Kind.CHUNK, text.encode())
    made = model.Derivation("lead", 1, {}, b"", (model.CoreSource("d/a.md", source, 0, 1, leaf, ()),))
    derivation = world.put(Kind.DERIVATION, model.encode_derivation(made))
    core = world.document("words\n", kind="core", derivation=derivation)
    tip, _ = world.commit(world.ledger({"d/a.md": source, "c/k": core}))
    world.drop(object_id(Kind.CHUNK, b"words\n"))
    answer = encode_fetch_answer(FetchAnswer(len(world.objects), (core,)))
    with pytest.raises(IntegrityError, match="is missing"):
        clone_to(Liar(shown(tip), world.frames(), answer), tmp_path / "b")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("field", ["title", "source_uri", "extractor", "chunker", "canonicalisation"])
def test_what_a_document_says_of_itself_cannot_draw_on_the_terminal(tmp_path: Path, field: str) -> None:
    world = World()
    tip, _ = world.commit(world.ledger({"d/a.md": world.document(**{field: "\x1b[31mred\x07\u202e\x9b"})}))
    clone_to(Liar(shown(tip), world.frames()), tmp_path / "b")
    for words in (("show", "a.md"), ("show", "HEAD:a.md"), ("log",), ("search", "A"), ("ls", "--json")):
        done = Cli(tmp_path / "b").run(*words)
        assert not set("\x1b\x07\u202e\x9b") & set(done.out + done.err), words


@pytest.mark.parametrize(
    ("distiller", "parameters"),
    [
        ("keywords", {}),
        ("keywords", {"count": [1], "statistics": {}}),
        ("lead", {"paragraphs": "many"}),
        ("first-sentence", {"max_chars": True, "more": 1}),
        ("\x1b[31mred\x07\u202e\x9b", {"\x1b[31m": "\x1b[0m"}),
    ],
)
def test_a_core_that_says_anything_of_how_it_was_made_is_looked_at_safely(
    tmp_path: Path, distiller: str, parameters: dict[str, object]
) -> None:
    world = World()
    text = "# A\n\nWords of a note.\n"
    source, leaf = world.document(text), object_id(Kind.CHUNK, text.encode())
    made = model.Derivation(
        distiller, 1, parameters, b"", (model.CoreSource("d/a.md", source, 0, 1, leaf, ()),)
    )
    derivation = world.put(Kind.DERIVATION, model.encode_derivation(made))
    core = world.document("words\n", kind="core", derivation=derivation)
    tip, _ = world.commit(world.ledger({"d/a.md": source, "c/k": core}))
    clone_to(Liar(shown(tip), world.frames()), tmp_path / "b")
    for words in (("core",), ("core", "show", "k"), ("core", "check"), ("verify",)):
        done = Cli(tmp_path / "b").run(*words)
        assert done.code in (0, 3, 12), done
        assert not set("\x1b\x07\u202e\x9b") & set(done.out + done.err), words


def test_twins_are_warned_of(tmp_path: Path) -> None:
    world = World()
    one, two = world.document("# 1\n"), world.document("# 2\n")
    tip, _ = world.commit(world.ledger({"d/Note.md": one, "d/note.md": two}))
    result = clone_to(Liar(shown(tip), world.frames()), tmp_path / "b")
    assert "'Note.md' and 'note.md'" in result.warnings[0]


def test_a_tag_that_leads_elsewhere_than_it_says(tmp_path: Path) -> None:
    world = World()
    first = simple(world)
    tip = world.commit(first[1].ledger_root, [first])
    tag = world.put(Kind.TAG, model.encode_tag(Tag(first[0], "v1", WHO, "m")))
    refs = shown(tip[0], refs=[[MAIN, tip[0], tip[0]], ["refs/tags/v1", tag, tip[0]]])
    with pytest.raises(ArborError, match="another commit"):
        clone_to(Liar(refs, world.frames()), tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_tags_of_tags_without_end(tmp_path: Path) -> None:
    world = World()
    tip, _ = simple(world)
    oid = tip
    for _ in range(40):
        oid = world.put(Kind.TAG, model.encode_tag(Tag(oid, "v", WHO, "m")))
    refs = shown(tip, refs=[[MAIN, tip, tip], ["refs/tags/v", oid, tip]])
    with pytest.raises(ArborError, match="without end"):
        clone_to(Liar(refs, world.frames()), tmp_path / "b")


def test_a_node_that_was_here_is_not_said_to_be_another(tmp_path: Path) -> None:
    """A parent may not say of a node that both versions share something else than the old parent did."""
    world = World()
    document = world.document()
    entries = {f"d/n{number}.md": document for number in range(300)}
    first = world.commit(world.ledger(entries))
    root = ledger.decode_node(next(d for k, d in world.objects if object_id(k, d) == first[1].ledger_root))
    kids = list(root.children)
    kids[0] = kids[0]._replace(count=kids[0].count + 5)
    evil = world.node(root.level, kids)
    tip = world.commit(evil, [first])
    with pytest.raises(ArborError, match="does not fit its parent"):
        clone_to(Liar(shown(tip[0]), world.frames()), tmp_path / "b")
    assert replace(root, children=tuple(kids)).count != root.count


def test_true_lines_in_another_encoding_are_taken(tmp_path: Path) -> None:
    source = make_kb(tmp_path / "a", {"a.md": "plain\n"})
    (tmp_path / "a/u.txt").write_bytes(b"\xff\xfe" + ("\u0a00 line\r\n" * 900).encode("utf-16-le"))
    (tmp_path / "a/j.txt").write_bytes(("日本語の文章です。\n" * 900).encode("cp932"))
    (tmp_path / "a/i.txt").write_bytes(("日本語の文章です。\n" * 900).encode("iso2022_jp"))
    adding.add(source, [""], update=False)
    committing.commit(source, "encodings")
    clone_to(tmp_path / "a", tmp_path / "b")
    assert verify(open_repository(tmp_path / "b"), source.refs.head_oid(), deep=True).ok


def test_a_passage_that_is_here_already_is_measured_too(tmp_path: Path) -> None:
    repo = make_kb(tmp_path / "b", {"a.md": "# A\n"})
    world = World()
    ref = ChunkRef(object_id(Kind.CHUNK, b"# A\n"), 4, 7, ())
    tip, _ = world.commit(world.ledger({"d/a.md": world.document(manifest_changes={"passages": (ref,)})}))
    world.objects = [(kind, data) for kind, data in world.objects if kind != Kind.CHUNK]
    with pytest.raises(ArborError, match="bytes and lines"):
        fetch_from(repo, Liar(shown(tip), world.frames()), "evil")
    assert not list(repo.folder.glob("incoming-*"))


def test_a_piece_of_an_original_that_is_here_already_is_measured_too(tmp_path: Path) -> None:
    repo = make_kb(tmp_path / "b", {"a.md": "# A\n", "p.txt": "a page\n"})
    world = World()
    piece, text = b"a page\n", object_id(Kind.CHUNK, b"# A\n")
    for size in (7, 9):
        changes = {"original": ((object_id(Kind.CHUNK, piece), size),)}
        hashes = {
            "text_root": merkle.tree_root([text]),
            "original_root": merkle.tree_root([object_id(Kind.CHUNK, piece)]),
            "file_hash": blake3(piece).digest(),
        }
        document = world.document(
            "# A\n", changes, size=size, original_count=1, media_type="application/pdf", **hashes
        )
        tip, _ = world.commit(world.ledger({"d/a.pdf": document}))
        world.objects = [(kind, data) for kind, data in world.objects if kind != Kind.CHUNK]
        liar = Liar(shown(tip), world.frames())
        if size == len(piece):
            fetch_from(repo, liar, "evil")
            continue
        with pytest.raises(ArborError, match="piece 0 of its original"):
            fetch_from(repo, liar, "evil")
