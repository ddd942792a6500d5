"""Work over forked processes, and modules that are loaded late."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from arbor import processes
from arbor.errors import IntegrityError
from arbor.lazy import lazy_module
from arbor.processes import can_fork, map_forked, worker_count
from arbor.store import files
from tests.repo.kit import new_kb

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(params=[True, False], ids=["forked", "here"])
def forked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param and not hasattr(os, "fork"):
        pytest.skip("needs fork")
    monkeypatch.setattr(processes, "can_fork", lambda: request.param)
    return bool(request.param)


def test_results_come_in_the_order_of_the_tasks(forked: bool) -> None:
    assert list(map_forked(lambda n: (n, n * n), list(range(37)))) == [(n, n * n) for n in range(37)]
    assert list(map_forked(lambda n: n, [])) == []
    assert list(map_forked(lambda n: n, [5])) == [5]


def test_large_results_come_whole(forked: bool) -> None:
    assert [len(found) for found in map_forked(bytes, [3_000_000, 5, 2_000_000])] == [
        3_000_000,
        5,
        2_000_000,
    ]


def test_what_a_task_raises_is_raised_in_its_turn(forked: bool) -> None:
    def work(number: int) -> int:
        if number == 3:
            raise IntegrityError("number three", "try four")
        return number

    found = map_forked(work, list(range(6)))
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(IntegrityError, match="number three") as caught:
        next(found)
    assert caught.value.hint == "try four"


def test_an_interrupt_is_for_the_parent_alone(forked: bool) -> None:
    if not forked:
        pytest.skip("there is no child")

    def work(number: int) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return number

    before = signal.getsignal(signal.SIGINT)
    assert list(map_forked(work, list(range(6)))) == list(range(6))
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM])
def test_a_fork_that_fails_leaves_nothing_behind(
    forked: bool, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    if not forked:
        pytest.skip("there is no child")

    def refuse() -> int:
        raise OSError(number, os.strerror(number))

    before = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else []
    monkeypatch.setattr(os, "fork", refuse)
    assert list(map_forked(str, [1, 2, 3])) == ["1", "2", "3"]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
    assert before == (sorted(os.listdir("/proc/self/fd")) if before else [])


def test_children_end_at_once_when_nobody_waits_for_them(forked: bool) -> None:
    if not forked:
        pytest.skip("there is no child")
    found = map_forked(lambda n: n if n < 2 else time.sleep(600), list(range(6)))
    assert [next(found), next(found)] == [0, 1]
    started = time.monotonic()
    found.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 60
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_ctrl_c_is_for_the_one_who_waits(forked: bool) -> None:
    blocked = set(map_forked(lambda _: signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()), [1, 2]))
    assert blocked == {forked}
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_work_is_done_in_other_processes_where_it_can_be(forked: bool) -> None:
    pids = set(map_forked(lambda _: os.getpid(), list(range(8))))
    assert (os.getpid() in pids) == (not forked)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_worker_that_dies_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    parent = os.getpid()

    def die(number: int) -> int:
        if number == 1 and os.getpid() != parent:
            os._exit(3)
        return number

    with pytest.raises(RuntimeError, match="ended before"):
        list(map_forked(die, [0, 1, 2, 3]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_results_that_are_not_wanted_any_more_leave_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    found = map_forked(lambda n: bytes(1_000_000), list(range(20)))
    next(found)
    found.close()  # type: ignore[attr-defined]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_cannot_be_sent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    with pytest.raises(RuntimeError, match=r"pickle|local object"):
        list(map_forked(lambda n: lambda: n, [1, 2]))


def test_no_fork_beside_other_threads() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert not can_fork()
    finally:
        done.set()
        thread.join()
    assert 1 <= worker_count() <= 8


def test_a_late_module_is_the_module() -> None:
    assert lazy_module("json").dumps({"a": 1}) == '{"a": 1}'
    with pytest.raises(ModuleNotFoundError):
        lazy_module("no_such_module_anywhere")
    with pytest.raises(AttributeError):
        _ = lazy_module("json").no_such_name


def test_a_module_that_another_thread_is_loading_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "halfway.py").write_text(
        "import threading\nbegun, go_on = threading.begun, threading.go_on\n"
        "begun.set()\ngo_on.wait(10)\nvalue = 7\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    begun, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(threading, "begun", begun, raising=False)
    monkeypatch.setattr(threading, "go_on", go_on, raising=False)
    loading = threading.Thread(target=lambda: importlib.import_module("halfway"))
    loading.start()
    assert begun.wait(10)
    threading.Timer(0.05, go_on.set).start()
    try:
        assert lazy_module("halfway").value == 7
    finally:
        go_on.set()
        loading.join()


def test_a_late_module_is_loaded_at_its_first_use_and_once(tmp_path: Path) -> None:
    """Also when eight threads use it for the first time at once."""
    (tmp_path / "late.py").write_text(
        "import time\ntime.sleep(0.05)\nopen('loaded', 'a').write('x')\nvalue = object()\n"
    )
    code = (
        "import os, sys, threading\nfrom arbor.lazy import lazy_module\nlate = lazy_module('late')\n"
        "assert not os.path.exists('loaded')\nfound = []\n"
        "threads = [threading.Thread(target=lambda: found.append(late.value)) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "assert len(found) == 8 and len({id(v) for v in found}) == 1, found\nassert open('loaded').read() == 'x'\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{tmp_path}"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("granted", [0, 1])
def test_where_no_more_processes_may_start_the_work_is_done_here(
    monkeypatch: pytest.MonkeyPatch, granted: int
) -> None:
    fork, started = os.fork, []

    def refused() -> int:
        if len(started) == granted:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        started.append(fork())
        return started[-1]

    monkeypatch.setattr(processes, "can_fork", lambda: True)
    monkeypatch.setattr(processes, "worker_count", lambda: 3)
    monkeypatch.setattr(os, "fork", refused)
    begun: list[int] = []
    assert list(map_forked(lambda n: (n, os.getpid()), range(9), meanwhile=lambda: begun.append(1))) == [
        (n, os.getpid()) for n in range(9)
    ]
    assert begun == [1]
    for pid in started:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, 0)


def test_where_no_thread_may_start_everything_is_done_in_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    files._may_start_threads.cache_clear()
    with monkeypatch.context() as limit:
        limit.setattr(threading.Thread, "start", refused)
        kb = new_kb(tmp_path / "kb", {f"{number}.md": f"hello {number}\n" for number in range(20)})
        kb.reindex()
        assert len(kb.search("hello", limit=50).hits) == 20
        assert kb.verify(deep=True).ok
        kb.close()
    files._may_start_threads.cache_clear()
    assert (tmp_path / "kb/.arbor/cache/index.sum").exists()
