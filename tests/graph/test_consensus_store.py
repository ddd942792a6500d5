"""The file of the state: never half changed, made anew when it is no state, never believed when it is damaged."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arbor.errors import Locked
from arbor.graph.consensus import Consensus
from arbor.index import consensus_file
from arbor.index.checksum import is_unchanged
from arbor.index.consensus_rows import KeyRow, pack_numbers, unpack_numbers
from arbor.index.consensus_store import ConsensusStore, build_aside
from tests.conftest import REPOSITORY
from tests.graph.labelled_set import tellings, topics

WRITER = """
import sys
from pathlib import Path
from arbor.graph.consensus import Consensus
from tests.graph.labelled_set import tellings, topics

told = list(tellings(topics()[:6]))
consensus = Consensus.open(Path(sys.argv[1]))
print("ready", flush=True)
for turn in range(10_000):
    facts = told[turn % len(told)]
    if turn % 7 == 6:
        consensus.apply([], [facts.key], at_once=turn % 2 == 0, ledger_root=bytes([1]) * 32)
    else:
        consensus.apply([facts], at_once=turn % 5 == 4, ledger_root=bytes([1]) * 32)
"""


def put_and_fail(store: ConsensusStore) -> None:
    with store.transaction():
        store.put_key(KeyRow("a.md", 1, (), ()))
        raise RuntimeError("in the middle")


def test_rows_come_back() -> None:
    store = ConsensusStore.open(None)
    with store.transaction():
        store.put_key(KeyRow("é/a b.md", 3, ("author:ada", "host:x"), ("b.md",)))
    assert store.find_key("é/a b.md") == KeyRow("é/a b.md", 3, ("author:ada", "host:x"), ("b.md",))
    assert store.disputed_by("b.md") == ["é/a b.md"]
    with store.transaction():
        store.drop_key("é/a b.md")
    assert store.find_key("é/a b.md") is None
    assert store.disputed_by("b.md") == []
    assert unpack_numbers(pack_numbers((0, 1, 2**63 - 1))) == (0, 1, 2**63 - 1)


def test_a_transaction_that_is_not_kept_leaves_no_trace() -> None:
    store = ConsensusStore.open(None)
    with store.transaction(keep=False):
        store.put_key(KeyRow("a.md", 1, (), ()))
    assert store.find_key("a.md") is None
    with pytest.raises(RuntimeError, match="in the middle"):
        put_and_fail(store)
    assert store.find_key("a.md") is None


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4000])
def test_what_is_no_state_is_made_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "consensus.db"
    path.write_bytes(content)
    consensus = Consensus.open(path)
    assert consensus.ledger_root is None
    consensus.rebuild(tellings(topics()[:1]))
    assert len(list(consensus.items())) == 4
    consensus.close()


def test_a_second_writer_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consensus_file, "BUSY_TIMEOUT_S", 0.05)
    path = tmp_path / "consensus.db"
    first, second = ConsensusStore.open(path), ConsensusStore.open(path)
    with first.transaction():
        first.put_key(KeyRow("a.md", 1, (), ()))
        with pytest.raises(Locked), second.transaction():
            pass
        assert second.find_key("a.md") is None
    assert second.find_key("a.md") is not None
    first.close()
    second.close()


@pytest.mark.parametrize("at_once", [False, True])
def test_who_reads_sees_one_moment_until_told_to_look_again(tmp_path: Path, at_once: bool) -> None:
    told = list(tellings(topics()[:2]))
    path = tmp_path / "consensus.db"
    writer = Consensus.open(path)
    writer.rebuild(told[:-1], ledger_root=b"1" * 32)
    reader = Consensus.open_to_read(path, writer.policy)
    assert reader is not None
    before = reader.fingerprint(), dict(reader.items())
    writer.apply(told[-1:], [told[0].key], ledger_root=b"2" * 32, at_once=at_once)
    assert (reader.fingerprint(), dict(reader.items())) == before
    assert reader.ledger_root == b"1" * 32
    assert reader.peers(told[0].key)
    reader.rest()
    reader.wake()
    if not at_once:  # else another file has taken the name
        assert reader.fingerprint() == writer.fingerprint()
        assert reader.ledger_root == b"2" * 32
    reader.close()
    writer.close()


def test_a_build_that_fails_leaves_the_old_state(tmp_path: Path) -> None:
    path = tmp_path / "consensus.db"
    store = ConsensusStore.open(path)
    with store.transaction():
        store.put_key(KeyRow("a.md", 1, (), ()))
    store.close()
    with pytest.raises(RuntimeError, match="in the middle"), build_aside(path):
        raise RuntimeError("in the middle")
    again = ConsensusStore.open(path)
    assert again.find_key("a.md") is not None
    again.close()
    assert not [each.name for each in tmp_path.iterdir() if not each.name.startswith("consensus.")]


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc to count handles")
def test_a_look_at_what_is_no_state_leaves_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "consensus.db"
    path.write_bytes(b"no database" * 1000)
    gc.disable()  # a long-lived process may open many before the collector comes by
    try:
        before = os.listdir("/proc/self/fd")
        for _ in range(3):
            assert ConsensusStore.open_to_read(path) is None
        assert os.listdir("/proc/self/fd") == before
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_killed_writer_leaves_a_whole_state(tmp_path: Path) -> None:
    path = tmp_path / "consensus.db"
    told = {facts.key: facts for facts in tellings(topics()[:6])}
    for turn in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], cwd=REPOSITORY, stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(0.05 + 0.07 * turn)
            writer.send_signal(signal.SIGKILL)
        survivor = Consensus.open(path)
        rebuilt = Consensus.open()
        rebuilt.rebuild([told[key] for key, _ in survivor.items()])
        assert survivor.fingerprint() == rebuilt.fingerprint()
        survivor.close()


def test_a_new_state_is_synced_and_nothing_of_the_old_one_can_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "consensus.db", os.fsync
    path.with_name("consensus.db-wal").write_bytes(b"of the old one")
    seen: list[tuple[int, bool]] = []

    def fsync(handle: int) -> None:
        seen.append((os.fstat(handle).st_ino, path.with_name("consensus.db-wal").exists()))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with build_aside(path):
        pass
    assert os.stat(path).st_ino in [inode for inode, _ in seen]
    assert (os.stat(tmp_path).st_ino, False) in seen


def test_an_interrupt_as_the_state_is_given_back_leaves_no_checksum_that_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "consensus.db"
    ConsensusStore.open(path).close()
    store = ConsensusStore.open(path)
    with store.transaction():
        store.put_key(KeyRow("a.md", 1, (), ()))
    with monkeypatch.context() as patch:
        patch.setattr(consensus_file, "fold_if_large", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.close()
    del store
    gc.collect()
    assert is_unchanged(path) is not False
    again = ConsensusStore.open(path)
    assert again.find_key("a.md") is not None
    again.close()


def test_a_state_whose_guard_cannot_be_opened_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "consensus.db"
    ConsensusStore.open(path).close()
    store = ConsensusStore.open(path)
    with store.transaction():
        store.put_key(KeyRow("a.md", 1, (), ()))

    def refused(fs_path: Path) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(consensus_file, "guarded", refused)
        store.close()
    assert is_unchanged(path) is not False, "what was written ahead was folded in behind the checksum"
    again = ConsensusStore.open(path)
    assert again.find_key("a.md") is not None
    again.close()
