"""Kills, flipped bits, full and read-only disks, and readers beside writers."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from arbor.errors import IntegrityError
from arbor.index import access, cache_lock, checking
from arbor.index.access import bring_up_to_date, index_path, open_at, open_index
from arbor.index.checking import check
from arbor.index.checksum import sum_path
from arbor.index.reader import IndexDamaged, IndexMoved
from arbor.index.schema import LOCK_FILE, stamp_of
from arbor.index.writer import build, update
from arbor.repo.snapshot import Snapshot
from arbor.store.files import TEMPORARY_PREFIX
from arbor.store.lock import writer_lock
from tests.conftest import REPOSITORY
from tests.index.dumping import dump
from tests.index.small_kb import SmallKb

WORKER = """
import sys
from pathlib import Path
from arbor.index import writer
from arbor.index.access import bring_up_to_date
from tests.index.small_kb import SmallKb
writer.FOLD_BYTES = int(sys.argv[2])
kb = SmallKb(Path(sys.argv[1]))
roots = [bytes.fromhex(line) for line in (kb.folder / "roots").read_text().split()]
print("ready", flush=True)
sys.stdin.readline()
while True:
    for root in roots:
        bring_up_to_date(kb.cache, kb.snapshot(root)).close()
"""


def files_of(version: int) -> dict[str, bytes | str]:
    return {
        f"n/{number}.md": f"# Note {number}\n\n" + f"word{number * version % 97} some text " * 30
        for number in range(150)
    }


def make_versions(folder: Path) -> tuple[SmallKb, list[Snapshot]]:
    kb, files, snapshots = SmallKb(folder), files_of(1), []
    for version in range(1, 5):
        files.update({path: text for path, text in files_of(version).items() if hash(path) % 9 == version})
        files[f"only{version}.md"] = "x " * version * 40
        snapshots.append(kb.commit(files))
    (folder / "roots").write_text("\n".join(snapshot.ledger_root.hex() for snapshot in snapshots))
    return kb, snapshots


@pytest.mark.parametrize("fold_bytes", [0, 8_000_000])
def test_a_kill_at_any_moment_leaves_one_of_the_versions(tmp_path: Path, fold_bytes: int) -> None:
    kb, snapshots = make_versions(tmp_path)
    by_root = {snapshot.ledger_root.hex(): snapshot for snapshot in snapshots}
    path, source = index_path(kb.cache), random.Random(fold_bytes)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", WORKER, str(tmp_path), str(fold_bytes)]
    for _ in range(8):
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as worker:
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdout.readline()
            worker.stdin.write("go\n")
            worker.stdin.flush()
            time.sleep(source.uniform(0.001, 0.15))
            worker.send_signal(signal.SIGKILL)
        if path.exists():
            reader = next(
                (each for root in by_root if (each := open_index(path, stamp_of(bytes.fromhex(root))))), None
            )
            assert reader is not None, "the index is of no version"
            held = by_root[reader.stamp.ledger_root]  # type: ignore[union-attr]
            reader.close()
            assert check(path, held, deep=True) == []
        else:
            assert not path.with_name("index.db-wal").exists()
    bring_up_to_date(kb.cache, snapshots[0]).close()
    build(tmp_path / "fresh.db", snapshots[0])
    assert dump(path) == dump(tmp_path / "fresh.db")


def test_a_kill_during_a_build_leaves_no_index(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit(files_of(1))
    code = (
        "import os, signal, sys; from pathlib import Path; from arbor.index import writer;"
        "from tests.index.small_kb import SmallKb; kb = SmallKb(Path(sys.argv[1]));"
        "writer.put_in_place = lambda *_: os.kill(os.getpid(), signal.SIGKILL);"
        "writer.build(kb.cache / 'index.db', kb.snapshot(bytes.fromhex(sys.argv[2])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), snapshot.ledger_root.hex()],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    assert not index_path(kb.cache).exists()
    left = list(kb.cache.glob(f"{TEMPORARY_PREFIX}*"))
    assert left
    for fs_path in left:
        os.utime(fs_path, (1, 1))
    bring_up_to_date(kb.cache, snapshot).close()
    assert check(index_path(kb.cache), snapshot) == []
    assert list(kb.cache.glob(f"{TEMPORARY_PREFIX}*")) == [], "what a killed build left was not removed"


def test_a_reader_keeps_its_version_while_a_writer_commits(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    before = kb.commit({"a.md": "apple"})
    after = kb.commit({"a.md": "apple", "b.md": "apple pie"})
    with bring_up_to_date(kb.cache, before) as reader:
        with reader.session(before.ledger_root) as session:
            assert session.frequency('"apple"') == 1
            update(index_path(kb.cache), after)
            assert session.term_frequency("appl") == 1
            assert len(session.match('"apple"', (1, 1, 1, 1), (), 10)) == 1
        with pytest.raises(IndexMoved), reader.session(before.ledger_root):
            pass
        with reader.session(after.ledger_root) as session:
            assert session.frequency('"apple"') == 2


def test_a_reader_whose_file_is_gone_cannot_serve_one_more_thread(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit({"a.md": "apple"})
    with bring_up_to_date(kb.cache, snapshot) as reader, reader.session(snapshot.ledger_root) as session:
        shutil.rmtree(kb.cache)
        with pytest.raises(IndexMoved), reader.session(snapshot.ledger_root):
            pass
        assert session.frequency('"apple"') == 1


def test_a_reader_notices_that_its_file_was_replaced(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit({"a.md": "apple"})
    with bring_up_to_date(kb.cache, snapshot) as reader:
        assert reader.is_current_file()
        build(index_path(kb.cache), snapshot)
        assert not reader.is_current_file()
        with reader.session(snapshot.ledger_root) as session:
            assert session.frequency('"apple"') == 1, "the old file is still read"


def test_readers_and_a_writer_at_once(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    snapshots = [
        kb.commit({f"{n}.md": "apple" for n in range(size)} | {"z": f"{size}"}) for size in range(2, 8)
    ]
    bring_up_to_date(kb.cache, snapshots[0]).close()
    stop, wrong = threading.Event(), []

    def read() -> None:
        with bring_up_to_date(kb.cache, snapshots[0], read_only=True) as private:
            reader = private
            while not stop.is_set():
                try:
                    with reader.session(snapshots[0].ledger_root) as session:
                        if session.frequency('"apple"') != 1:
                            wrong.append(session.frequency('"apple"'))
                except IndexMoved:
                    continue
                except Exception as error:  # noqa: BLE001 - any error at all is a finding
                    wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        for snapshot in snapshots:
            bring_up_to_date(kb.cache, snapshot).close()
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_every_flipped_bit_is_found_or_harmless(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit({f"{n}.md": f"# T{n}\n\nword{n} common" for n in range(40)})
    path, source = index_path(kb.cache), random.Random(3)
    build(path, snapshot)
    good = path.read_bytes()
    for _ in range(60):
        position = source.randrange(len(good))
        bad = bytearray(good)
        bad[position] ^= 1 << source.randrange(8)
        path.write_bytes(bad)
        assert check(path, snapshot), f"a flipped bit at {position} was not found"
    path.write_bytes(good)
    assert check(path, snapshot) == []


def test_a_flipped_bit_in_the_write_ahead_file_is_an_older_index(tmp_path: Path) -> None:
    kb, source = SmallKb(tmp_path), random.Random(5)
    before, after = kb.commit({"a": "one"}), kb.commit({"a": "one", "b": "two"})
    path, wal = index_path(kb.cache), kb.cache / "index.db-wal"
    for _ in range(12):
        shutil.rmtree(kb.cache)
        kb.cache.mkdir()
        build(path, before)
        update(path, after)
        data = bytearray(wal.read_bytes())
        data[source.randrange(len(data))] ^= 1 << source.randrange(8)
        wal.write_bytes(data)
        (kb.cache / "index.db-shm").unlink()
        with bring_up_to_date(kb.cache, after) as reader, reader.session(after.ledger_root) as session:
            assert session.frequency('"two"') == 1
        assert check(path, after, deep=True) == []


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "zeros"])
def test_what_is_no_index_is_made_anew(tmp_path: Path, damage: str) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit({"a.md": "apple", "b.md": "pear"})
    path = index_path(kb.cache)
    build(path, snapshot)
    good = path.read_bytes()
    bad = {"empty": b"", "cut": good[:9000], "text": b"hello\n" * 9000, "zeros": bytes(len(good))}[damage]
    path.write_bytes(bad)
    newer = kb.commit({"a.md": "apple", "b.md": "pear", "c.md": "plum"})
    with bring_up_to_date(kb.cache, newer) as reader, reader.session(newer.ledger_root) as session:
        assert session.frequency('"plum"') == 1
    assert check(path, newer, deep=True) == []


def test_a_folder_in_the_way_is_named_and_does_not_stop_a_search(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    index_path(kb.cache).mkdir()
    snapshot, told = kb.commit({"a.md": "apple"}), list[str]()
    with bring_up_to_date(kb.cache, snapshot, progress=told.append) as reader:
        assert tmp_path not in reader.fs_path.parents
        with reader.session(snapshot.ledger_root) as session:
            assert session.frequency('"apple"') == 1
    assert len(told) == 1
    assert "index.db" in told[0]


def read_everything(kb: SmallKb, snapshot: Snapshot) -> None:
    with bring_up_to_date(kb.cache, snapshot) as reader, reader.session(snapshot.ledger_root) as session:
        for number in range(60):
            found = session.match(f'"word{number}" OR common', (1, 1, 1, 1), (), 100)
            session.documents_of([each.row for each in found])


def test_damage_that_shows_while_searching_has_a_name(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit({f"{n}.md": f"# T{n}\n\n" + f"word{n} common " * 200 for n in range(60)})
    path = index_path(kb.cache)
    build(path, snapshot)
    read_everything(kb, snapshot)
    data = bytearray(path.read_bytes())
    data[8192 * 2 :] = os.urandom(len(data) - 8192 * 2)
    path.write_bytes(data)
    with pytest.raises(IndexDamaged) as caught:
        read_everything(kb, snapshot)
    assert isinstance(caught.value, IntegrityError)
    access.discard(kb.cache, snapshot)
    read_everything(kb, snapshot)
    assert check(path, snapshot, deep=True) == []


@pytest.mark.parametrize("refusal", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_folder_that_cannot_be_written_is_searched_from_a_private_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int
) -> None:
    kb = SmallKb(tmp_path)
    before, after = kb.commit({"a": "one"}), kb.commit({"a": "one", "b": "two"})
    bring_up_to_date(kb.cache, before).close()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(refusal, os.strerror(refusal))

    monkeypatch.setattr(cache_lock, "writer_lock", refuse)
    with bring_up_to_date(kb.cache, before) as reader:
        assert reader.fs_path == index_path(kb.cache), "a current index needs nothing to be written"
    with bring_up_to_date(kb.cache, after) as reader:
        assert tmp_path not in reader.fs_path.parents
        assert reader.fs_path.parent.stat().st_mode & 0o077 == 0
        with reader.session(after.ledger_root) as session:
            assert session.frequency('"two"') == 1
    assert not reader.fs_path.parent.exists()


def test_without_a_cache_folder_a_read_only_one_is_not_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit({"a": "one"})
    kb.cache.rmdir()

    def refuse(fs_path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(fs_path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    for opened in (bring_up_to_date, open_at):
        with opened(kb.cache, snapshot) as reader, reader.session(snapshot.ledger_root) as session:
            assert session.frequency('"one"') == 1


def test_a_full_disk_is_searched_from_a_private_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = SmallKb(tmp_path)
    snapshot, told = kb.commit({"a": "one"}), list[str]()

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "index.db")

    monkeypatch.setattr(access, "_make_current", refuse)
    with bring_up_to_date(kb.cache, snapshot, progress=told.append) as reader:
        assert tmp_path not in reader.fs_path.parents
        with reader.session(snapshot.ledger_root) as session:
            assert session.frequency('"one"') == 1
    assert ["the disk is full" in each for each in told] == [True]


def test_a_reader_waits_a_moment_for_a_writer_and_then_makes_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = SmallKb(tmp_path)
    before, after = kb.commit({"a": "one"}), kb.commit({"a": "one", "b": "two"})
    bring_up_to_date(kb.cache, before).close()
    monkeypatch.setattr(access, "READER_WAIT_S", 0.5)
    told: list[str] = []
    with writer_lock(kb.cache / LOCK_FILE):
        with bring_up_to_date(kb.cache, before, progress=told.append) as reader:
            assert reader.fs_path == index_path(kb.cache), "what is current is read without a lock"
        assert told == []
        with bring_up_to_date(kb.cache, after, progress=told.append) as reader:
            assert tmp_path not in reader.fs_path.parents
            with reader.session(after.ledger_root) as session:
                assert session.frequency('"two"') == 1
    assert ["waiting for it" in each for each in told] == [True, False], "the wait is told once"


def test_read_only_writes_nothing(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit({"a": "one"})
    for opened in (bring_up_to_date, open_at):
        with (
            opened(kb.cache, snapshot, read_only=True) as reader,
            reader.session(snapshot.ledger_root) as session,
        ):
            assert session.frequency('"one"') == 1
        assert list(kb.cache.iterdir()) == []


def test_a_folder_without_room_for_locks_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = SmallKb(tmp_path)
    before, after = kb.commit({"a": "one"}), kb.commit({"a": "one", "b": "two"})
    bring_up_to_date(kb.cache, before).close()
    for name in ("index.db-wal", "index.db-shm"):
        (kb.cache / name).unlink()
        (kb.cache / name).mkdir()  # as on read-only media: SQLite cannot make these files
    reader = open_index(index_path(kb.cache), stamp_of(before.ledger_root))
    assert reader is not None
    with reader, reader.session(before.ledger_root) as session:
        assert session.frequency('"one"') == 1
    assert open_index(index_path(kb.cache), stamp_of(after.ledger_root)) is None
    (kb.cache / "index.sum").unlink()
    assert open_index(index_path(kb.cache), stamp_of(before.ledger_root)) is None, "it may be half folded"


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from arbor.errors import StorageError
from arbor.index.access import bring_up_to_date
from tests.index.small_kb import SmallKb
kb = SmallKb(Path(sys.argv[1]))
snapshot = kb.snapshot(bytes.fromhex(sys.argv[2]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    bring_up_to_date(kb.cache, snapshot).close()
except StorageError as error:
    print("StorageError", error.message)
"""


def run_with_small_disk(kb: SmallKb, snapshot: Snapshot, size_bytes: int) -> str:
    command = [sys.executable, "-c", FULL_DISK, str(kb.folder), snapshot.ledger_root.hex(), str(size_bytes)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_what_a_full_disk_leaves_no_room_for_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit(files_of(1))
    bring_up_to_date(kb.cache, snapshot).close()
    connect = checking.connect_to_read

    def refuse(fs_path: Path, *, immutable: bool = False) -> sqlite3.Connection:
        if not immutable:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        return connect(fs_path, immutable=True)

    monkeypatch.setattr(checking, "connect_to_read", refuse)
    assert check(index_path(kb.cache), snapshot, deep=True) == []
    sum_path(index_path(kb.cache)).unlink()  # without it the main file may be between two states
    assert any("cannot be read" in problem for problem in check(index_path(kb.cache), snapshot))


def test_a_full_disk_is_an_error_of_the_disk_and_the_index_stays_good(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    before = kb.commit(files_of(1))
    assert run_with_small_disk(kb, before, 40_000).startswith("StorageError")
    assert not index_path(kb.cache).exists()
    bring_up_to_date(kb.cache, before).close()
    after = kb.commit({**files_of(1), **{f"more{n}.md": os.urandom(6000).hex() for n in range(40)}})
    assert run_with_small_disk(kb, after, 300_000).startswith("StorageError")
    assert check(index_path(kb.cache), before, deep=True) == []
    bring_up_to_date(kb.cache, after).close()
    assert check(index_path(kb.cache), after, deep=True) == []


@pytest.mark.parametrize("left", [b"", bytes(65)])
def test_a_checksum_that_lost_its_bytes_is_none_and_no_damage(tmp_path: Path, left: bytes) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit(files_of(1))
    bring_up_to_date(kb.cache, snapshot).close()
    path = index_path(kb.cache)
    sum_path(path).write_bytes(left)  # it is not synced: it can be made again
    assert check(path, snapshot) == []
    bring_up_to_date(kb.cache, snapshot).close()


def test_nothing_of_an_old_index_can_come_back_beside_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit(files_of(1))
    bring_up_to_date(kb.cache, snapshot).close()
    path, synced = index_path(kb.cache), list[list[str]]()
    inodes: set[int] = set()
    for suffix in ("-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").write_bytes(b"of the old one")
    real = os.fsync

    def fsync(handle: int) -> None:
        inodes.add(os.fstat(handle).st_ino)
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            synced.append(
                sorted(
                    name for name in os.listdir(kb.cache) if name.startswith("index.") and "lock" not in name
                )
            )
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    build(path, snapshot)
    assert [] in synced, "the old files were not durably gone when the new one came"
    assert synced[-1] == ["index.db"]
    assert os.stat(path).st_ino in inodes
