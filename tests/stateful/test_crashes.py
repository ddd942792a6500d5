"""Whatever a writer dies of and wherever, the knowledge base opens, verifies, and holds the old state or the new."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import arbor
from arbor.errors import ArborError, Locked
from arbor.kb import KnowledgeBase
from arbor.store import files, pack_writer
from tests.repo.kit import new_kb, read_all, record, write

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_hundred_kills_at_random_moments(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.stateful.crash_loop", str(tmp_path), "100", "11"]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 3, "the writer was never let live long enough to commit"


class Trouble:
    """Lets the n-th step that reaches the disk fail, and tells how many steps there were."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, make: Callable[[], BaseException], at: int) -> None:
        self.steps, self._make, self._at = 0, make, at
        for owner, name in (
            (os, "fsync"),
            (os, "replace"),
            (os, "unlink"),
            (os, "mkdir"),
            (os, "rmdir"),
            (files, "append_line"),
            (pack_writer.PackWriter, "_write"),
        ):
            monkeypatch.setattr(owner, name, self._wrapped(getattr(owner, name)))

    def _wrapped(self, real: Callable[..., object]) -> Callable[..., object]:
        def step(*args: object, **kwargs: object) -> object:
            self.steps += 1
            if self.steps == self._at:
                raise self._make()
            return real(*args, **kwargs)

        return step


def full() -> BaseException:
    return OSError(errno.ENOSPC, "No space left on device")


def broken() -> BaseException:
    return OSError(errno.EIO, "Input/output error")


def stopped() -> BaseException:
    return KeyboardInterrupt()


def add_and_commit(kb: KnowledgeBase) -> None:
    kb.add()
    kb.commit("second", index=False)


def move_and_commit(kb: KnowledgeBase) -> None:
    kb.mv(["folder"], "elsewhere")
    kb.commit("second", index=False)


def remove_and_commit(kb: KnowledgeBase) -> None:
    kb.rm(["folder"], recursive=True)
    kb.commit("second", index=False)


def go_back(kb: KnowledgeBase) -> None:
    kb.restore([""], source="HEAD", staged=True)


def put(kb: KnowledgeBase) -> None:
    kb.add_bytes("put/here.md", b"# Put\n")
    kb.commit("second", index=False)


WORK: dict[str, Callable[[KnowledgeBase], None]] = {
    "add and commit": add_and_commit,
    "mv": move_and_commit,
    "rm": remove_and_commit,
    "restore": go_back,
    "add bytes": put,
}


def prepared(folder: Path, work: str) -> KnowledgeBase:
    kb = new_kb(folder, {"a.md": "a\n", "folder/b.md": "b\n", "folder/c.md": "c\n"})
    if work in ("add and commit", "restore"):
        write(folder, {"a.md": "changed\n", "new/d.md": "d\n"})
        (folder / "folder/b.md").unlink()
    return kb


@pytest.mark.parametrize(
    ("work", "trouble"),
    # To the code one error of the system is as good as another.
    [("add and commit", broken), *((work, trouble) for work in WORK for trouble in (full, stopped))],
)
def test_trouble_at_every_step(tmp_path: Path, work: str, trouble: Callable[[], BaseException]) -> None:
    for at in range(1, 500):
        folder = tmp_path / str(at)
        kb = prepared(folder, work)
        old = read_all(kb)
        with pytest.MonkeyPatch.context() as patch:
            met = Trouble(patch, trouble, at)
            try:
                WORK[work](kb)
                finished = True
            except (ArborError, KeyboardInterrupt):
                finished = False
        kb.close()
        again = arbor.open(folder)
        assert again.verify().ok, at
        again.status()
        found = read_all(again)
        assert found == old or len(list(again.log())) == 2, at
        if not finished:
            with contextlib.suppress(ArborError):
                # What was done already is refused now: nothing is staged, or there is nothing to move.
                WORK[work](again)
            assert again.verify().ok, at
        again.close()
        if met.steps < at:
            assert finished
            assert at > 5
            return
    pytest.fail("the work never ended")


def test_an_error_of_the_system_is_an_error_of_arbor(tmp_path: Path) -> None:
    kb = prepared(tmp_path, "add and commit")
    with pytest.MonkeyPatch.context() as patch:
        Trouble(patch, full, 1)
        with pytest.raises(ArborError, match="disk is full"):
            kb.add()


COMMITTER = """
import sys, time
from pathlib import Path
import arbor
from arbor.errors import ConflictError, Locked
folder, name = Path(sys.argv[1]), sys.argv[2]
for number in range(8):
    (folder / f"{name}-{number}.md").write_text(f"# {name} {number}")
    while True:
        kb = arbor.open(folder)
        try:
            kb.add([f"{name}-{number}.md"])
            kb.commit(f"{name} {number}", index=False)
            break
        except Locked:
            time.sleep(0.01)
        except arbor.errors.UsageError:  # the other one has committed it along with its own
            break
        finally:
            kb.close()
"""


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    new_kb(tmp_path, {"a.md": "a"}).close()
    words = [sys.executable, "-c", COMMITTER, str(tmp_path)]
    writers = [
        subprocess.Popen([*words, name], cwd=REPOSITORY, stderr=subprocess.PIPE, text=True)
        for name in ("left", "right")
    ]
    for writer in writers:
        _, said = writer.communicate(timeout=120)
        assert writer.returncode == 0, said
    kb = arbor.open(tmp_path)
    expected = {"a.md", *(f"{name}-{number}.md" for name in ("left", "right") for number in range(8))}
    assert set(read_all(kb)) == expected
    assert kb.verify().ok
    assert kb.status().clean


def test_a_second_writer_is_told_who_is_in_the_way(tmp_path: Path) -> None:
    kb, other = new_kb(tmp_path, {"a.md": "a"}), arbor.open(tmp_path)
    write(tmp_path, {"b.md": "b"})
    with kb.repo.lock(), pytest.raises(Locked), other.repo.lock(wait_s=0):
        pytest.fail("two hold the lock")
    assert other.status().untracked == ("b.md",)
    other.add()
    other.close()


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A small file system of its own at a folder, or a skip with the reason."""
    words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"nothing can be mounted here: {error}")
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_runs_full(tmp_path: Path) -> None:
    with mounted(tmp_path, "size=3m"):
        kb = new_kb(tmp_path, {"a.md": "a\n"})
        (tmp_path / "big.bin").write_bytes(os.urandom(1_400_000))
        record(kb, {"b.md": "b\n"}, "fits")
        before = read_all(kb)
        with contextlib.suppress(OSError):
            (tmp_path / "filler").write_bytes(bytes(3_000_000))
        write(tmp_path / ".arbor/cache", {})
        (tmp_path / "filler").rename(tmp_path / ".arbor/filler")
        (tmp_path / "big.bin").write_bytes((tmp_path / "big.bin").read_bytes()[::-1])
        with pytest.raises(ArborError, match="disk is full"):
            kb.add()
        kb.close()
        full_kb = arbor.open(tmp_path)
        assert full_kb.verify().ok
        assert read_all(full_kb) == before
        assert not [
            path for path in (full_kb.folder / "packs").iterdir() if path.suffix not in (".pack", ".idx")
        ]
        (tmp_path / ".arbor/filler").unlink()
        full_kb.rm(["big.bin"], force=True)
        full_kb.commit("room again", index=False)
        assert full_kb.verify().ok
        full_kb.close()


def test_a_disk_for_reading_alone(tmp_path: Path) -> None:
    with mounted(tmp_path, "size=3m"):
        kb = new_kb(tmp_path, {"a.md": "a\n", "b.md": "b\n"})
        write(tmp_path, {"a.md": "changed\n"})
        kb.close()
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        kb = arbor.open(tmp_path)
        assert [change.path for change in kb.status().unstaged] == ["a.md"]
        assert kb.verify().ok
        assert sorted(read_all(kb)) == ["a.md", "b.md"]
        assert len(kb.diff()) == 1
        for work in (
            kb.add,
            lambda: kb.commit("x"),
            lambda: kb.rm(["b.md"]),
            lambda: kb.config_set("user.name", "x"),
            lambda: arbor.init(tmp_path / "new"),
        ):
            with pytest.raises(ArborError, match="read-only"):
                work()
        kb.close()
