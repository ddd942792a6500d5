"""Work spread over forked processes where that is safe, and done in this process where it is not.

Children hold one end of one pipe each: when the parent dies, even by `kill -9`, their next write fails and they end.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from arbor.lazy import lazy_module

if TYPE_CHECKING:
    import pickle
else:  # for processes that are really started
    pickle = lazy_module("pickle")

T = TypeVar("T")
R = TypeVar("R")
_LENGTH = struct.Struct("<Q")


def can_fork() -> bool:
    """Whether a fork is safe here: Linux, more than one core, and no other thread in this process."""
    if sys.platform != "linux" or threading.active_count() > 1 or worker_count() < 2:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def will_fork(tasks: Sequence[object], at_least: int = 2) -> bool:
    """Whether `map_forked` starts processes for these tasks."""
    return len(tasks) >= max(at_least, 2) and can_fork()


def batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """The items in groups of a size, which are tasks for `map_forked`."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def bounded_batches(
    items: Iterable[T], size_of: Callable[[T], int], max_bytes: int, most: int = sys.maxsize
) -> Iterator[list[T]]:
    """The items in groups of so many at most, and of so many bytes where no single one has more."""
    group: list[T] = []
    held = 0
    for item in items:
        size = size_of(item)
        if group and (len(group) >= most or held + size > max_bytes):
            yield group
            group, held = [], 0
        group.append(item)
        held += size
    if group:
        yield group


def worker_count() -> int:
    """Cores that this process may use, eight at most."""
    try:
        return min(len(os.sched_getaffinity(0)), 8)
    except AttributeError:
        return min(os.cpu_count() or 1, 8)


def map_forked(
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    at_least: int = 2,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[R]:
    """`map(function, tasks)` in order, over forked processes when there are enough tasks and a fork is safe.

    Args:
        function: Gets one task. In a child it sees this process's memory as it is now; its result must pickle.
        tasks: Worth some ten milliseconds each.
        at_least: With fewer tasks no process is started.
        meanwhile: Called once in this process, when the others have begun.

    Raises:
        Exception: what `function` raised, in the order of the tasks.
    """
    children: list[tuple[int, BinaryIO]] = []
    finished = False
    try:
        if will_fork(tasks, at_least) and not _start_all(function, tasks, children):
            _end_all(children, wait=False)
        if meanwhile:
            meanwhile()
        if not children:
            yield from map(function, tasks)
        else:
            for position in range(len(tasks)):
                yield _receive(children[position % len(children)][1])
        finished = True
    finally:
        _end_all(children, wait=finished)


def _start_all(function: Callable[[T], R], tasks: Sequence[T], children: list[tuple[int, BinaryIO]]) -> bool:
    """Start as many processes as help; False where the system grants no more of them, be it after some."""
    workers = min(worker_count(), len(tasks))
    with _interrupts_held():
        for number in range(workers):
            try:
                child = _start(function, tasks[number::workers], [pipe for _, pipe in children])
            except OSError:
                return False
            children.append(child)
    return True


def _end_all(children: list[tuple[int, BinaryIO]], *, wait: bool) -> None:
    """End the processes that were started, or wait for them; none is left in the list."""
    while children:
        pid, pipe = children.pop()
        pipe.close()
        _end(pid, wait=wait)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits within the block, so that no child is started and then not known.

    It goes to every process of the terminal; in children it stays blocked, and the parent ends them.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _end(pid: int, *, wait: bool) -> None:
    """Wait for a child, or end it: it holds nothing but what it has not told yet."""
    # A program that ignores SIGCHLD has no children to wait for, and their numbers may be others' by now.
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        if not wait and signal.getsignal(signal.SIGCHLD) != signal.SIG_IGN:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _start(function: Callable[[T], R], tasks: Sequence[T], others: list[BinaryIO]) -> tuple[int, BinaryIO]:
    read_end, write_end = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        raise
    if pid:
        os.close(write_end)
        return pid, os.fdopen(read_end, "rb")
    try:
        os.close(read_end)
        for pipe in others:
            os.close(pipe.fileno())
        gc.disable()  # a child lives for its tasks, and what they leave behind in cycles is little
        with os.fdopen(write_end, "wb", buffering=0) as out:
            for task in tasks:
                if not _send(out, function, task):
                    break
    finally:
        os._exit(0)
    raise AssertionError("unreachable")


def _send(out: Any, function: Callable[[T], R], task: T) -> bool:
    try:
        result: tuple[bool, Any] = (True, function(task))
    except Exception as error:
        result = (False, error)
    try:
        data = pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        data = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[out.write(view) :]
    return bool(result[0])


def _receive(pipe: BinaryIO) -> Any:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise RuntimeError("a worker process ended before its work was done")
    (length,) = _LENGTH.unpack(head)
    ok, value = pickle.loads(pipe.read(length))
    if not ok:
        raise value
    return value
