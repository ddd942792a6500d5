"""Collection drops only what nothing has reached for the grace period; merging packs changes no object."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arbor
from arbor import KnowledgeBase
from arbor.errors import IntegrityError, StorageError
from arbor.objects.ids import Kind, object_id
from arbor.repo.upkeep.gc import collect, needed_objects, stored_objects
from arbor.store import repacking
from arbor.store.files import TEMPORARY_PREFIX
from arbor.store.odb import MERGE_ABOVE, ObjectStore
from arbor.store.pack_writer import PackWriter
from arbor.store.repacking import FACTOR, drop_objects, merge_packs, plan_merge, rewrite_packs
from tests.trust.conftest import MakeKb, fill, long_note

DAY = 24 * 3600.0


def with_garbage(kb: KnowledgeBase) -> set[bytes]:
    """Leave objects that nothing reaches: a commit that was taken back, with its reflog gone."""
    before = stored_objects(kb.repo.store)
    head = kb.resolve("HEAD")
    fill(kb, {"gone.md": long_note(4, "gone")}, "taken back")
    for name in ("HEAD", "refs/heads/main"):
        (kb.folder / "logs" / name).unlink()
    kb.repo.refs.move("refs/heads/main", kb.resolve("HEAD"), head, kb.repo.who(), "reset")
    for name in ("HEAD", "refs/heads/main"):
        (kb.folder / "logs" / name).unlink()
    return stored_objects(kb.repo.store) - before


def test_garbage_goes_after_the_grace_period_only(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": long_note(3), "b.md": "short\n"})
    fill(kb, {"b.md": "changed\n"}, "second")
    garbage = with_garbage(kb)
    assert garbage
    first = collect(kb.repo, now=1000 * DAY)
    assert (first.waiting, first.dropped) == (len(garbage), 0)
    again = collect(kb.repo, now=1013 * DAY)
    assert (again.waiting, again.dropped) == (len(garbage), 0)
    dry = collect(kb.repo, now=1015 * DAY, dry_run=True)
    assert dry.dropped == len(garbage)
    assert garbage <= stored_objects(kb.repo.store)
    last = collect(kb.repo, now=1015 * DAY)
    assert (last.waiting, last.dropped) == (0, len(garbage))
    assert stored_objects(kb.repo.store) == needed_objects(kb.repo)
    assert kb.verify().ok
    assert b"".join(kb.cat("b.md", "HEAD~1")) == b"short\n"


def test_a_clock_that_was_ahead_does_not_keep_garbage_for_longer(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": "one\n"})
    garbage = with_garbage(kb)
    collect(kb.repo, now=9000 * DAY)
    assert collect(kb.repo, now=1000 * DAY).waiting == len(garbage)
    assert collect(kb.repo, now=1015 * DAY).dropped == len(garbage)


def test_what_is_reached_again_is_kept(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": "one\n"})
    garbage = with_garbage(kb)
    collect(kb.repo, now=1000 * DAY)
    commits = [oid for oid in garbage if kb.repo.store.get(oid)[0] == Kind.COMMIT]
    kb.repo.refs.move("refs/heads/back", None, commits[0], kb.repo.who(), "found again")
    report = collect(kb.repo, now=1020 * DAY)
    assert (report.dropped, report.waiting) == (0, 0)
    assert kb.verify().ok


def test_the_reflog_and_the_stage_keep_objects(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": "one\n"})
    head = kb.resolve("HEAD")
    fill(kb, {"a.md": "two\n"}, "second")
    kb.repo.refs.move("refs/heads/main", kb.resolve("HEAD"), head, kb.repo.who(), "reset")
    assert kb.fs_root is not None
    (kb.fs_root / "staged.md").write_text("staged only\n")
    kb.add(["staged.md"])
    report = collect(kb.repo, grace_s=0)
    assert report.dropped == 0
    assert kb.verify().ok


def test_a_damaged_history_stops_collection(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": long_note(3)})
    with_garbage(kb)
    kb.repo.refs.move("refs/heads/broken", None, object_id(Kind.COMMIT, b"nothing"), kb.repo.who(), "test")
    before = stored_objects(kb.repo.store)
    with pytest.raises(IntegrityError):
        collect(kb.repo, grace_s=0)
    assert stored_objects(kb.repo.store) == before


def damage(store: ObjectStore, oid: bytes) -> None:
    """Flip a byte inside of the frame that holds an object."""
    store.refresh()
    for pack in store.packs():
        place = pack.index.find(oid)
        if place is not None:
            data = bytearray(pack.fs_path.read_bytes())
            data[pack.index.frame_offsets[place.frame] + 60] ^= 0xFF
            pack.fs_path.write_bytes(data)
    store.close()


def test_a_damaged_pack_is_left_alone(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": long_note(3)})
    garbage = with_garbage(kb)
    damage(kb.repo.store, next(oid for oid in garbage if kb.repo.store.get(oid)[0] == Kind.CHUNK))
    names = {pack.name for pack in kb.repo.store.packs()}
    report = collect(kb.repo, grace_s=0)
    assert len(report.damaged) == 1
    assert report.damaged[0] in {pack.name for pack in kb.repo.store.packs()} & names
    assert kb.document("a.md").document


def test_collecting_is_in_the_journal(make_kb: MakeKb) -> None:
    from arbor.store.journal import Journal

    kb = make_kb({"a.md": "one\n"})
    garbage = with_garbage(kb)
    collect(kb.repo, grace_s=0)
    [record] = Journal(kb.folder).records()
    assert (record.act, record.details["objects"]) == ("gc", len(garbage))


def many_packs(kb: KnowledgeBase, count: int) -> None:
    for number in range(count):
        fill(kb, {f"n{number}.md": f"# Note {number}\n"}, f"commit {number}")


def test_many_commits_do_not_make_many_packs(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": long_note(40)})
    before = stored_objects(kb.repo.store)
    for number in range(30):
        fill(kb, {f"n{number}.md": f"# Note {number}\n"}, f"commit {number}")
        kb.repo.store.refresh()
        assert len(kb.repo.store.packs()) <= MERGE_ABOVE
    assert before <= stored_objects(kb.repo.store)
    assert kb.verify().ok


def test_merging_keeps_every_object_and_its_bytes(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": long_note(60)})
    many_packs(kb, 12)
    store = kb.repo.store
    before = {oid: store.get(oid) for oid in stored_objects(store)}
    report = merge_packs(store, above=2)
    assert report.packs_before > 2
    assert {oid: store.get(oid) for oid in stored_objects(store)} == before
    fresh = ObjectStore(store.folder)
    assert {oid: fresh.get(oid) for oid in before} == before
    fresh.close()
    assert kb.verify().ok


@given(st.lists(st.integers(1, 10**9), max_size=60))
def test_what_is_left_after_a_merge_grows_geometrically(sizes: list[int]) -> None:
    sizes = sorted(sizes)
    count = plan_merge(sizes)
    if len(sizes) <= MERGE_ABOVE:
        assert count == 0
        return
    assert 2 <= count <= len(sizes)
    merged, left = sum(sizes[:count]), sizes[count:]
    assert all(larger >= FACTOR * smaller for smaller, larger in pairwise(left))
    if all(larger >= FACTOR * smaller for smaller, larger in pairwise(sizes)):
        assert len(left) + 1 == MERGE_ABOVE  # they are merely too many
    elif left:
        assert left[0] >= FACTOR * merged


def test_old_packs_stay_where_the_new_one_lacks_something(
    make_kb: MakeKb, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = make_kb({"a.md": long_note(3)})
    many_packs(kb, 3)
    store = kb.repo.store
    lost = max(stored_objects(store))

    def forget(writer: PackWriter, kind: int, data: bytes, oid: bytes) -> bytes:
        return oid if oid == lost else add(writer, kind, data, oid)

    add = PackWriter.add
    monkeypatch.setattr(PackWriter, "add", forget)
    monkeypatch.setattr(repacking, "_WHOLE_FRAME_BYTES", 1 << 30)
    with pytest.raises(IntegrityError, match="the old ones stay"):
        merge_packs(store, above=1)
    fresh = ObjectStore(store.folder)
    assert fresh.get(lost)
    fresh.close()


def test_an_object_that_another_pack_only_says_it_has_is_kept(tmp_path: Path) -> None:
    shared, garbage = b"in both " * 20, b"nobody needs it"
    for folder, others in (("one", [garbage]), ("two", [b"another"])):
        (tmp_path / folder).mkdir()
        with ObjectStore(tmp_path / folder).writer() as writer:
            oid = writer.add(Kind.CHUNK, shared)
            for data in others:
                writer.add(Kind.CHUNK, data)
    damage(ObjectStore(tmp_path / "two"), oid)
    for path in (tmp_path / "two").iterdir():
        path.rename(tmp_path / "one" / path.name)
    store = ObjectStore(tmp_path / "one")
    assert drop_objects(store, {object_id(Kind.CHUNK, garbage)}).dropped == 1
    assert store.get(oid) == (Kind.CHUNK, shared)


def test_old_packs_stay_where_the_new_one_does_not_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ObjectStore(tmp_path)
    with store.writer() as writer:
        oids = [writer.add(Kind.CHUNK, data) for data in (b"one" * 30, b"two" * 30)]
    seal = PackWriter.seal

    def seal_badly(writer: PackWriter) -> str | None:
        name = seal(writer)
        path = tmp_path / f"{name}.pack"
        data = bytearray(path.read_bytes())
        data[-40] ^= 1  # in the trailer: every object can still be read
        path.write_bytes(data)
        return name

    monkeypatch.setattr(PackWriter, "seal", seal_badly)
    with pytest.raises(IntegrityError, match="does not read back"):
        drop_objects(store, {oids[0]})
    assert ObjectStore(tmp_path).get(oids[0]) == (Kind.CHUNK, b"one" * 30)


def test_packs_that_fit_are_not_rewritten(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": long_note(2)})
    names = {pack.name for pack in kb.repo.store.packs()}
    assert merge_packs(kb.repo.store).packs_before == 0
    assert drop_objects(kb.repo.store, {bytes(32)}).packs_before == 0
    assert {pack.name for pack in kb.repo.store.packs()} == names


def test_a_reader_goes_on_beside_a_merge(make_kb: MakeKb) -> None:
    """Readers with the old packs open, and others that look for packs meanwhile, find everything."""
    kb = make_kb({"a.md": long_note(30)})
    many_packs(kb, 8)
    oids = sorted(stored_objects(kb.repo.store))
    problems: list[BaseException] = []
    stop = threading.Event()

    def read(store: ObjectStore) -> None:
        try:
            while not stop.is_set():
                for oid in oids:
                    store.get(oid)
                store.refresh()
        except Exception as error:  # noqa: BLE001 - told to the main thread
            problems.append(error)

    readers = [ObjectStore(kb.repo.store.folder) for _ in range(2)]
    threads = [threading.Thread(target=read, args=(store,)) for store in readers]
    for thread in threads:
        thread.start()
    for _ in range(6):
        with kb.repo.lock():
            rewrite_packs(kb.repo.store, kb.repo.store.packs())
            many = kb.repo.store.packs()
            assert len(many) == 1
    stop.set()
    for thread in threads:
        thread.join()
    for store in readers:
        store.close()
    assert problems == []


def test_leftovers_of_killed_writers_go(make_kb: MakeKb) -> None:
    kb = make_kb({"a.md": "one\n"})
    (kb.folder / "packs" / f"{TEMPORARY_PREFIX}1-abc").write_bytes(b"half a pack")
    (kb.folder / "packs" / ("ab" * 32 + ".idx")).write_bytes(b"an index without its pack")
    collect(kb.repo)
    assert {path.suffix for path in (kb.folder / "packs").iterdir()} == {".pack", ".idx"}
    assert len(list((kb.folder / "packs").iterdir())) == 2 * len(kb.repo.store.packs())


def test_a_failed_write_leaves_the_old_packs(make_kb: MakeKb, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = make_kb({"a.md": long_note(5)})
    with_garbage(kb)
    names = sorted(os.listdir(kb.folder / "packs"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("arbor.store.pack_writer.os.fsync", full)
    with pytest.raises(arbor.errors.ArborError, match="disk is full"):
        collect(kb.repo, grace_s=0)
    monkeypatch.undo()
    assert sorted(os.listdir(kb.folder / "packs")) == names
    assert kb.verify().ok


def test_a_repository_opened_before_sees_what_was_merged(make_kb: MakeKb, tmp_path: Path) -> None:
    kb = make_kb({"a.md": long_note(3)})
    many_packs(kb, 5)
    other = arbor.open(tmp_path / "kb")
    assert other.document("a.md").document
    with kb.repo.lock():
        rewrite_packs(kb.repo.store, kb.repo.store.packs())
    assert b"".join(other.cat("n3.md", "HEAD")) == b"# Note 3\n"
    other.close()


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.EMFILE])
@pytest.mark.parametrize("folder", ["refs", "refs/heads", "refs/heads/team", "refs/tags", "packs"])
def test_nothing_is_dropped_where_a_folder_cannot_be_listed(
    make_kb: MakeKb, monkeypatch: pytest.MonkeyPatch, folder: str, code: int
) -> None:
    kb = make_kb({"a.md": "one\n"})
    for name in ("team/side", "side"):
        kb.branches.create(name, "main")
        kb.branches.switch(name)
        fill(kb, {f"{name}.md": long_note(3, name)}, name)
    kb.branches.switch("main")
    kb.branches.tag("kept", "side", message="kept")
    kb.branches.delete("side", force=True)
    shutil.rmtree(kb.folder / "logs")
    stored = stored_objects(kb.repo.store)
    real_scan, real_list = os.scandir, os.listdir

    def refuse(path: object) -> None:
        if isinstance(path, (str, Path)) and Path(path) == kb.folder / folder:
            raise OSError(code, os.strerror(code), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", lambda path=".": (refuse(path), real_scan(path))[1])
        patch.setattr(os, "listdir", lambda path=".": (refuse(path), real_list(path))[1])
        with pytest.raises((OSError, StorageError)):
            collect(arbor.open(kb.fs_root or kb.folder).repo, grace_s=0)
    assert stored_objects(kb.repo.store) == stored
    assert kb.verify().ok
