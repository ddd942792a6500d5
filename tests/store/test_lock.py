"""The writer lock: one at a time, between threads and processes, and never left behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

import pytest

from arbor.errors import Locked, StorageError
from arbor.store import lock
from arbor.store.files import storing
from arbor.store.lock import writer_lock

HOLDER = """
import signal, sys, time
from pathlib import Path
from arbor.store.lock import writer_lock
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are started deaf to it
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def hold_elsewhere(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    process.send_signal(number)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_lock_that_is_held_is_said_to_be(tmp_path: Path) -> None:
    with writer_lock(tmp_path / "lock"):
        with (
            pytest.raises(Locked, match="another arbor process") as caught,
            writer_lock(tmp_path / "lock", wait_s=0),
        ):
            pytest.fail("two hold the lock")
        assert caught.value.exit_code == 11
        assert "no file needs to be removed" in caught.value.hint
    with writer_lock(tmp_path / "lock", wait_s=0):
        pass


def test_the_lock_goes_when_the_block_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), writer_lock(tmp_path / "lock"):
        raise RuntimeError
    with writer_lock(tmp_path / "lock", wait_s=0):
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_lock_goes_with_its_process(tmp_path: Path, number: int) -> None:
    process = hold_elsewhere(tmp_path / "lock")
    with pytest.raises(Locked), writer_lock(tmp_path / "lock", wait_s=0):
        pytest.fail("two hold the lock")
    end(process, number)
    assert (tmp_path / "lock").exists()
    with writer_lock(tmp_path / "lock", wait_s=0):
        pass


def test_a_thread_that_takes_the_lock_over_and_over_lets_others_have_it(tmp_path: Path) -> None:
    done, waiting = threading.Event(), threading.Event()

    def once() -> None:
        waiting.set()
        with writer_lock(tmp_path / "lock"):
            done.set()

    thread = threading.Thread(target=once)
    with writer_lock(tmp_path / "lock"):
        thread.start()
        assert waiting.wait(60)
    turns = 0
    while not done.is_set() and turns < 3000:
        with writer_lock(tmp_path / "lock"):
            turns += 1
    assert done.is_set()
    thread.join()


def test_threads_have_the_lock_in_the_order_in_which_they_asked(tmp_path: Path) -> None:
    order: list[int] = []

    def work(number: int) -> None:
        with writer_lock(tmp_path / "lock", wait_s=60):
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    with writer_lock(tmp_path / "lock"):
        status = (tmp_path / "lock").stat()
        for number, thread in enumerate(threads, 1):
            thread.start()
            while len(lock._queues.get((status.st_dev, status.st_ino), ())) < number:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == list(range(8))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_waits_for_none_of_the_threads_of_its_parent(tmp_path: Path) -> None:
    lock._queues[os.stat(tmp_path).st_dev, 1] = deque([object()])
    pid = os.fork()
    if pid == 0:
        os._exit(len(lock._queues))
    lock._queues.clear()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    order: list[str] = []
    inside = threading.Event()

    def first() -> None:
        with writer_lock(tmp_path / "lock"):
            inside.set()
            time.sleep(0.1)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    with writer_lock(tmp_path / "lock", wait_s=30):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_many_threads_are_never_inside_together(tmp_path: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        with writer_lock(tmp_path / "lock", wait_s=60):
            inside += 1
            most = max(most, inside)
            time.sleep(0.002)
            inside -= 1

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_file_that_was_left_locks_nothing(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("12345")
    with writer_lock(tmp_path / "lock", wait_s=0):
        pass


def test_where_the_file_cannot_be_made_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> int:
        raise OSError(30, "Read-only file system", str(tmp_path / "lock"))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StorageError, match="read-only"), storing(tmp_path), writer_lock(tmp_path / "lock"):
        pytest.fail("it was made")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """It is neither taken for a lock that another holds, nor for one that is held now."""
    if sys.platform == "win32":
        pytest.skip("flock is not there on Windows")

    def refuse(*args: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    with pytest.raises(StorageError, match="gives no locks") as refused, writer_lock(tmp_path / "lock"):
        pytest.fail("it was taken for locked")
    assert "mount it with locks" in refused.value.hint


def test_an_interrupt_while_one_queues_leaves_no_place_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(deque[object]):
        def append(self, ticket: object) -> None:
            super().append(ticket)
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(lock, "deque", Interrupted)
        with pytest.raises(KeyboardInterrupt), lock.writer_lock(tmp_path / "lock", 1.0):
            pass
    with lock.writer_lock(tmp_path / "lock", 1.0):
        pass
