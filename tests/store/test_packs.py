"""Packs: what is sealed can be read, whatever happens to the index, and nothing is believed before it is hashed."""

from __future__ import annotations

import errno
import os
import random
import threading
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.errors import IntegrityError, StorageError, UsageError
from arbor.objects.codec import MAX_OBJECT_BYTES
from arbor.objects.ids import Kind, object_id
from arbor.store import frames, pack_format
from arbor.store.frames import FrameCollector
from arbor.store.odb import ObjectStore
from arbor.store.pack_format import FRAME_TARGET_BYTES, encode_frame
from arbor.store.pack_index import Place, encode_index, encode_row
from arbor.store.pack_writer import PackWriter
from arbor.store.packs import Pack

KINDS = st.sampled_from([Kind.CHUNK, Kind.MANIFEST, Kind.DOCUMENT, Kind.NODE, Kind.COMMIT])
OBJECTS = st.lists(st.tuples(KINDS, st.binary(max_size=60)), max_size=30)


def write_pack(folder: Path, objects: list[tuple[int, bytes]]) -> tuple[Path, list[bytes]]:
    writer = PackWriter(folder)
    oids = [writer.add(kind, data) for kind, data in objects]
    name = writer.seal()
    assert name is not None
    return folder / f"{name}.pack", oids


def sample(count: int, seed: int = 1, size: int = 400) -> list[tuple[int, bytes]]:
    source = random.Random(seed)
    return [
        (source.choice([1, 1, 1, 2, 3, 4]), source.randbytes(source.randrange(size))) for _ in range(count)
    ]


@given(OBJECTS.filter(bool))
@settings(max_examples=60)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, objects: list[tuple[int, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("packs")
    path, oids = write_pack(folder, objects)
    store = ObjectStore(folder)
    for (kind, data), oid in zip(objects, oids, strict=True):
        assert store.get(oid) == (kind, data)
    assert path.stem == path.read_bytes()[-32:].hex()
    assert Pack(path).check_hash()
    assert sorted(p.suffix for p in folder.iterdir()) == [".idx", ".pack"]


def test_many_objects_are_spread_over_frames_and_all_found(tmp_path: Path) -> None:
    objects = sample(3000, size=900)
    path, oids = write_pack(tmp_path, objects)
    store = ObjectStore(tmp_path)
    assert len(list(Pack(path).walk())) > 4
    for (kind, data), oid in zip(objects, oids, strict=True):
        assert store.get(oid) == (kind, data)
        assert store.has(oid)
    assert not store.has(bytes(32))


def test_an_object_larger_than_a_frame_has_its_own(tmp_path: Path) -> None:
    big = os.urandom(FRAME_TARGET_BYTES * 3)
    _, oids = write_pack(tmp_path, [(1, b"small"), (1, big), (1, b"other")])
    assert ObjectStore(tmp_path).get(oids[1]) == (1, big)


def test_an_object_is_stored_once(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    with store.writer() as writer:
        oid = writer.add(Kind.CHUNK, b"one")
        assert writer.add(Kind.CHUNK, b"one") == oid
        assert oid in writer
    with store.writer() as writer:
        writer.add(Kind.CHUNK, b"one")
    assert len(store.packs()) == 1
    assert store.packs()[0].index.count == 1


def test_a_pack_of_nothing_is_no_pack(tmp_path: Path) -> None:
    assert PackWriter(tmp_path).seal() is None
    assert list(tmp_path.iterdir()) == []


def test_the_same_bytes_under_two_kinds_are_two_objects(tmp_path: Path) -> None:
    _, [chunk, node] = write_pack(tmp_path, [(Kind.CHUNK, b"x"), (Kind.NODE, b"x")])
    store = ObjectStore(tmp_path)
    assert store.get_kind(chunk, Kind.CHUNK) == b"x"
    with pytest.raises(IntegrityError, match="is a chunk, not a node"):
        store.get_kind(chunk, Kind.NODE)
    assert store.get(node) == (Kind.NODE, b"x")


def test_an_object_over_the_limit_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert frames.MAX_OBJECT_BYTES == MAX_OBJECT_BYTES
    monkeypatch.setattr(frames, "MAX_OBJECT_BYTES", 100)
    writer = PackWriter(tmp_path)
    with pytest.raises(UsageError, match="over the limit"):
        writer.add(Kind.MANIFEST, bytes(101))
    writer.discard()


def test_more_objects_than_a_frame_can_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_FRAME_OBJECTS", 10)
    objects: list[tuple[int, bytes]] = [(1, str(n).encode()) for n in range(35)]
    path, oids = write_pack(tmp_path, objects)
    assert len(list(Pack(path).walk())) == 4
    assert all(
        ObjectStore(tmp_path).get(oid)[1] == data for (_, data), oid in zip(objects, oids, strict=True)
    )


def test_whole_frames_from_elsewhere_are_found(tmp_path: Path) -> None:
    """As several processes prepare them, with what they found alike stored twice and indexed once."""
    store = ObjectStore(tmp_path)
    collectors = [FrameCollector(store.holds) for _ in range(3)]
    oids = [
        collector.add(1, data)
        for n, collector in enumerate(collectors)
        for data in (b"shared", str(n).encode())
    ]
    with store.writer() as writer:
        for collector in collectors:
            for frame, held in collector.finish():
                writer.add_frame(frame, held)
    assert [store.get(oid)[1] for oid in oids] == [b"shared", b"0", b"shared", b"1", b"shared", b"2"]
    assert store.packs()[0].index.count == 4


def test_nothing_is_visible_before_the_seal_and_nothing_after_a_failure(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)

    def write_and_fail() -> None:
        with store.writer() as writer:
            for kind, data in sample(2000):
                writer.add(kind, data)
            assert list(tmp_path.glob("*.pack")) == []
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_and_fail()
    assert list(tmp_path.iterdir()) == []


class FullFile:
    """A file on a disk that is full after so many bytes, and has space again later."""

    def __init__(self, file: object, limit: int) -> None:
        self._file = file
        self.left = limit

    def write(self, data: bytes) -> int:
        if len(data) > self.left:
            self._file.write(data[: self.left])  # type: ignore[attr-defined]
            self.left = 10**9
            raise OSError(errno.ENOSPC, "No space left on device")
        self.left -= len(data)
        return self._file.write(data)  # type: ignore[attr-defined, no-any-return]

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


def test_a_pack_that_was_not_written_whole_is_never_sealed(tmp_path: Path) -> None:
    """Even when there is space again after one write failed."""
    writer = PackWriter(tmp_path)
    writer._file = FullFile(writer._file, 2000)  # type: ignore[assignment]
    for kind, data in sample(2000, size=900):
        writer.add(kind, data)
    with pytest.raises(OSError, match="No space"):
        writer.seal()
    with pytest.raises(StorageError):
        writer.seal()
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_at_the_close_too_leaves_no_litter(tmp_path: Path) -> None:
    writer = PackWriter(tmp_path)
    writer.add(1, b"x")

    class Stubborn(FullFile):
        def close(self) -> None:
            self._file.close()  # type: ignore[attr-defined]
            raise OSError(errno.ENOSPC, "No space left on device")

    writer._file = Stubborn(writer._file, 0)  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space"):
        writer.seal()
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_the_index_is_made_again_when_it_is_gone(tmp_path: Path) -> None:
    path, oids = write_pack(tmp_path, sample(300))
    index = path.with_suffix(".idx")
    before = index.read_bytes()
    index.unlink()
    store = ObjectStore(tmp_path)
    assert all(store.has(oid) for oid in oids)
    assert index.read_bytes() == before


@pytest.mark.parametrize(
    "damage", ["empty", "short", "magic", "count", "of another pack", "garbage", "folder"]
)
def test_the_index_is_made_again_when_it_does_not_fit(tmp_path: Path, damage: str) -> None:
    path, oids = write_pack(tmp_path, sample(50))
    index = path.with_suffix(".idx")
    sound = index.read_bytes()
    other = encode_index(bytes(32), [encode_row(oid, 0, 0) for oid in oids], [8])
    lies = {
        "empty": b"",
        "short": sound[:-1],
        "magic": b"X" + sound[1:],
        "count": sound[:8] + b"\xff" + sound[9:],
        "of another pack": other,
        "garbage": os.urandom(len(sound)),
    }
    index.unlink()
    if damage == "folder":
        index.mkdir()
    else:
        index.write_bytes(lies[damage])
    store = ObjectStore(tmp_path)
    assert all(store.get(oid) for oid in oids)
    if damage != "folder":
        assert index.read_bytes() == sound


def test_a_lying_index_can_hide_nothing_and_pass_nothing_off(tmp_path: Path) -> None:
    """Its checksum and its pack's name are right, but every place in it is wrong."""
    path, oids = write_pack(tmp_path, sample(60))
    pack = Pack(path)
    places = [pack.index.find(oid) for oid in oids]
    offsets = pack.index.frame_offsets
    shifted = [place for place in [*places[1:], places[0]] if place is not None]
    for rows in (
        [encode_row(oid, place.frame, place.slot) for oid, place in zip(oids, shifted, strict=True)],
        [encode_row(oid, 77, 0) for oid in oids],
        [encode_row(oid, 0, 60_000) for oid in oids],
    ):
        path.with_suffix(".idx").write_bytes(encode_index(bytes.fromhex(path.stem), rows, offsets))
        store = ObjectStore(tmp_path)
        for oid in oids:
            kind, data = store.get(oid)
            assert object_id(kind, data) == oid


def test_offsets_that_lead_nowhere_are_found_again(tmp_path: Path) -> None:
    path, oids = write_pack(tmp_path, sample(60))
    pack = Pack(path)
    rows = [encode_row(oid, *place) for oid in oids if (place := pack.index.find(oid)) is not None]
    path.with_suffix(".idx").write_bytes(encode_index(bytes.fromhex(path.stem), rows, [2**40, 3]))
    store = ObjectStore(tmp_path)
    assert all(object_id(*store.get(oid)) == oid for oid in oids)


def test_a_second_copy_is_taken_when_the_first_is_damaged(tmp_path: Path) -> None:
    first, [oid] = write_pack(tmp_path, [(1, b"precious")])
    second, _ = write_pack(tmp_path, [(1, b"precious"), (1, b"and more")])
    for path in (first, second):
        whole = path.read_bytes()
        broken = bytearray(whole)
        broken[45] ^= 1
        path.write_bytes(broken)
        assert ObjectStore(tmp_path).get(oid) == (1, b"precious")
        path.write_bytes(whole)


def test_a_listing_that_falls_between_two_packs_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = write_pack(tmp_path, sample(3))
    write_pack(tmp_path, sample(3, seed=2))
    real, listed = os.listdir, []

    def early(folder: Path) -> list[str]:
        listed.append(folder)
        return real(folder) if len(listed) > 1 else [first.name]

    monkeypatch.setattr(os, "listdir", early)
    assert len(ObjectStore(tmp_path).packs()) == 2


def test_a_pack_that_is_gone_does_not_answer_from_memory(tmp_path: Path) -> None:
    write_pack(tmp_path, sample(50, seed=1))
    path, oids = write_pack(tmp_path, sample(20, seed=2))
    store = ObjectStore(tmp_path)
    assert all(store.get(oid) for oid in oids)  # the last pack asked is asked first
    path.unlink()
    path.with_suffix(".idx").unlink()
    store.refresh()
    assert not any(store.holds(oid) for oid in oids)
    write_pack(tmp_path, sample(20, seed=2))
    assert store.has(oids[0])
    store.close()
    assert store.get(oids[-1])


def test_a_missing_object_and_a_damaged_one_are_two_answers(tmp_path: Path) -> None:
    path, [oid] = write_pack(tmp_path, [(1, b"precious")])
    with pytest.raises(IntegrityError, match="is missing"):
        ObjectStore(tmp_path).get(bytes(32))
    broken = bytearray(path.read_bytes())
    broken[45] ^= 1
    path.write_bytes(broken)
    with pytest.raises(IntegrityError, match="is damaged"):
        ObjectStore(tmp_path).get(oid)


def test_other_files_in_the_folder_are_no_packs(tmp_path: Path) -> None:
    path, [oid] = write_pack(tmp_path, [(1, b"x")])
    for name in (
        "copy of a.pack",
        "x.pack",
        path.stem[:-1] + ".pack",
        path.stem.upper() + ".pack",
        ".arbor-tmp-1-2.pack",
    ):
        (tmp_path / name).write_bytes(b"junk")
    store = ObjectStore(tmp_path)
    assert [pack.name for pack in store.packs()] == [path.stem]
    assert store.get(oid) == (1, b"x")


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 20, 40, 100])
def test_a_pack_cut_short_gives_what_is_left_of_it(tmp_path: Path, cut: int) -> None:
    objects = sample(2500, size=900)
    path, oids = write_pack(tmp_path, objects)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * cut // 100] if cut >= 20 else whole[:cut])
    path.with_suffix(".idx").unlink()
    store = ObjectStore(tmp_path)
    found = 0
    for oid, (kind, data) in zip(oids, objects, strict=True):
        try:
            assert store.get(oid) == (kind, data)
            found += 1
        except IntegrityError:
            pass
    assert (found > 300) if 40 <= cut < 100 else (found == len(oids) if cut == 100 else True)
    assert Pack(path).check_hash() == (cut == 100)


def test_damage_costs_only_the_frame_it_is_in(tmp_path: Path) -> None:
    path, _ = write_pack(tmp_path, sample(3000, size=900))
    offsets = Pack(path).index.frame_offsets
    whole = path.read_bytes()
    for number, offset in enumerate(offsets):
        for place in (offset, offset + 5, offset + 30, offset + 40):
            broken = bytearray(whole)
            broken[place] ^= 0x10
            path.write_bytes(broken)
            path.with_suffix(".idx").unlink(missing_ok=True)
            pack = Pack(path)
            lost = [o for o, frame in pack.iter_frames() if frame is None]
            assert lost == [offset], (number, place)
            assert not pack.check_hash()


def test_a_forged_header_inside_a_passage_is_not_followed_while_the_pack_is_sound(tmp_path: Path) -> None:
    forged = encode_frame([(1, b"forged")])
    path, oids = write_pack(tmp_path, [(1, os.urandom(500) + forged + os.urandom(500)), (1, b"honest")])
    pack = Pack(path)
    assert [len(frame.kinds) for _, frame in pack.iter_frames() if frame is not None] == [2]
    assert not ObjectStore(tmp_path).has(object_id(1, b"forged"))
    assert ObjectStore(tmp_path).get(oids[1]) == (1, b"honest")


@given(st.binary(max_size=300))
@settings(max_examples=300)
def test_any_bytes_as_a_frame_are_refused_or_are_one(data: bytes) -> None:
    header = pack_format.decode_frame_header(data)
    if header is None:
        return
    with pytest.raises(IntegrityError):
        pack_format.decode_frame(header, data)


@pytest.mark.parametrize("rows", [[(1, 5)], [(1, 3), (1, 1)], [(99, 3)], [(0, 3)], [(1, 2)]])
def test_a_frame_whose_table_lies_is_refused(rows: list[tuple[int, int]]) -> None:
    """Checksums are right, as an attacker would make them; the content is three bytes."""
    table = b"".join(pack_format._ROW.pack(kind, size) for kind, size in rows)
    for count in (len(rows), len(rows) + 1, 60_000):
        raw = table + b"abc"
        payload = pack_format.compression.compress(raw)
        header = pack_format.FrameHeader(count, len(raw), len(payload), pack_format.blake3(payload).digest(8))
        with pytest.raises(IntegrityError):
            pack_format.decode_frame(header, payload)


def test_a_sound_header_of_something_else_is_no_frame() -> None:
    frame = encode_frame([(Kind.CHUNK, b"words")])
    head = b"GRAM" + frame[4 : pack_format.HEADER_BYTES - 8]
    assert pack_format.decode_frame_header(frame) is not None
    assert pack_format.decode_frame_header(head + blake3(head).digest(8)) is None


def test_trailers() -> None:
    whole = pack_format.encode_trailer(3, 9) + bytes(32)
    assert pack_format.decode_trailer(whole) == (3, 9, bytes(32))
    for lie in (b"", whole[:-1], whole + b"x", b"X" + whole[1:]):
        with pytest.raises(IntegrityError):
            pack_format.decode_trailer(lie)


def test_readers_see_packs_that_appear_while_they_read(tmp_path: Path) -> None:
    """Three threads look for objects of packs that another store of the same folder keeps writing."""
    reader, writer = ObjectStore(tmp_path), ObjectStore(tmp_path)
    written: list[bytes] = []
    wrong: list[object] = []
    done = threading.Event()

    def read(seed: int) -> None:
        source = random.Random(seed)
        while not done.is_set():
            for oid in source.sample(written, min(len(written), 5)):
                try:
                    kind, data = reader.get(oid)
                    if object_id(kind, data) != oid:
                        wrong.append(oid)
                except IntegrityError as error:
                    wrong.append(error)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for number in range(12):
        with writer.writer() as pack:
            oids = [pack.add(1, f"{number} {n}".encode()) for n in range(30)]
        written.extend(oids)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(reader.has(oid) for oid in written)
    assert len(reader.packs()) == 12


def test_a_place_beyond_a_frame_is_an_integrity_error(tmp_path: Path) -> None:
    path, _ = write_pack(tmp_path, [(1, b"x")])
    for place in (Place(0, 1), Place(1, 0), Place(2**31, 65_535)):
        with pytest.raises(IntegrityError):
            Pack(path).get(place)


def test_digits_that_a_damaged_object_shares_still_name_the_sound_one(tmp_path: Path) -> None:
    sound, damaged = b"note 268", b"note 425"
    [first, second] = [object_id(Kind.CHUNK, data) for data in (sound, damaged)]
    path, _ = write_pack(tmp_path, [(Kind.CHUNK, sound)])
    other, _ = write_pack(tmp_path, [(Kind.CHUNK, damaged)])
    assert path != other
    assert first.hex()[:4] == second.hex()[:4]
    data = bytearray(other.read_bytes())
    data[Pack(other).index.frame_offsets[0] + 30] ^= 0x10
    other.write_bytes(data)
    store = ObjectStore(tmp_path)
    assert store.find_prefix(first.hex()[:4]) == [first]
    with pytest.raises(IntegrityError):
        store.get(second)


def test_a_store_that_is_closed_lets_those_finish_who_still_read_in_it(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    with store.writer() as writer:
        oid = writer.add(Kind.CHUNK, b"one passage")
    handles = len(os.listdir("/proc/self/fd"))
    assert store.get(oid) == (Kind.CHUNK, b"one passage")
    [pack] = store.packs()
    place = pack.index.find(oid)
    assert place is not None
    store.close()
    assert pack.get(place) == (Kind.CHUNK, b"one passage")
    del pack
    assert len(os.listdir("/proc/self/fd")) < handles, "and the last of them closes it"
    assert store.get(oid) == (Kind.CHUNK, b"one passage")
