"""Files that are whole or absent, lines that a crash cannot tear, and errors in words."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.errors import IntegrityError, StorageError
from arbor.store import files

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    files.write_atomically(tmp_path / "f", b"one")
    files.write_atomically(tmp_path / "f", b"two", durable=False)
    assert (tmp_path / "f").read_bytes() == b"two"
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_content_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    files.write_atomically(tmp_path / "f", b"old")

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="Input/output"):
        files.write_atomically(tmp_path / "f", b"new")
    monkeypatch.undo()
    assert (tmp_path / "f").read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_an_interrupted_write_leaves_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_atomically(tmp_path / "f", b"new")
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_made_durable_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(code: int) -> None:
        def fsync(handle: int) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "fsync", fsync)

    fail(errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        files.fsync_folder(tmp_path)
    fail(errno.EINVAL)
    files.fsync_folder(tmp_path)
    files.fsync_folder(tmp_path / "absent")


def test_folders_are_made_with_those_above(tmp_path: Path) -> None:
    files.make_folders(tmp_path / "a/b/c")
    files.make_folders(tmp_path / "a/b/c")
    assert (tmp_path / "a/b/c").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises((FileExistsError, NotADirectoryError)):
        files.make_folders(tmp_path / "file/below")


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    kept = ["a.pack", "tmp-1-abc", "note"]
    for name in kept:
        (tmp_path / name).touch()
    old, young = files.temporary_path(tmp_path), files.temporary_path(tmp_path)
    old.touch()
    young.touch()
    os.utime(old, (time.time() - 100, time.time() - 100))
    files.remove_temporaries(tmp_path, older_than_s=50)
    assert names(tmp_path) == sorted([*kept, young.name])
    files.remove_temporaries(tmp_path)
    assert names(tmp_path) == sorted(kept)
    files.remove_temporaries(tmp_path / "absent")


LINE = st.binary(max_size=20).map(
    lambda line: line.translate(bytes([1, *range(1, 10), 32, *range(11, 256)])) + b"\n"
)
LINES = st.lists(LINE, max_size=5)
TORN = st.one_of(
    st.binary(max_size=30).map(lambda rest: rest.replace(b"\n", b"")),
    # The sectors of a write come to the disk in any order: the end can be there without what is before it.
    st.tuples(LINE, LINE).map(lambda parts: parts[0][:-1] + bytes(5) + parts[1]),
)


@given(LINES, TORN, LINES)
def test_a_torn_line_goes_and_whole_ones_stay(
    tmp_path_factory: pytest.TempPathFactory, before: list[bytes], torn: bytes, after: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "log"
    path.write_bytes(b"".join(before) + torn)
    for line in after:
        files.append_line(path, line)
    expected = b"".join(before) + (b"".join(after) if after else torn)
    assert path.read_bytes() == expected


def test_a_line_that_cannot_be_written_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    files.append_line(path, b"one\n")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.append_line(path, b"two\n")
    assert path.read_bytes() == b"one\n"


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limit there")
def test_a_line_that_is_written_in_part_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "log"
    files.append_line(path, b"one\n")
    script = "import resource, sys\nfrom pathlib import Path\nfrom arbor.store import files\n"
    script += "resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))\n"
    script += "files.append_line(Path(sys.argv[1]), b'a longer line\\n')"
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, check=False)
    assert b"File too large" in done.stderr
    assert path.read_bytes() == b"one\n"


class TakesAFew(FileIO):
    """A file of which each call takes three bytes at most."""

    def write(self, data: ReadableBuffer) -> int:
        return super().write(memoryview(data)[:3])


def test_all_is_written_where_a_call_takes_a_part(tmp_path: Path) -> None:
    with TakesAFew(tmp_path / "f", "wb") as file:
        files.write_all(file, b"ten bytes.")
    assert (tmp_path / "f").read_bytes() == b"ten bytes."


@given(st.binary(max_size=100), st.data())
def test_sealed_bytes_come_back_and_changed_ones_do_not(content: bytes, data: st.DataObject) -> None:
    sealed = files.seal(content)
    assert files.unseal(sealed, "it") == content
    changed = bytearray(sealed)
    changed[data.draw(st.integers(0, len(sealed) - 1))] ^= data.draw(st.integers(1, 255))
    for lie in (bytes(changed), sealed[:-1], sealed + b"x", b""):
        with pytest.raises(IntegrityError, match="it is damaged"):
            files.unseal(lie, "it")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EDQUOT, "quota"),
        (errno.EMFILE, "too many files"),
        (errno.EIO, "input/output error"),
    ],
)
def test_what_the_system_refuses_is_said_in_words(tmp_path: Path, code: int, words: str) -> None:
    with pytest.raises(StorageError, match=words) as caught, files.storing(tmp_path):
        raise OSError(code, os.strerror(code), "some/file")
    assert "some/file" in caught.value.message
    assert caught.value.exit_code == 3
    assert caught.value.hint
    with pytest.raises(StorageError, match=tmp_path.name), files.storing(tmp_path):
        raise OSError(code, os.strerror(code))


def test_an_error_names_no_file_that_is_on_its_way_to_its_name(tmp_path: Path) -> None:
    temporary = files.temporary_path(tmp_path / "packs")
    with pytest.raises(StorageError) as caught, files.storing(tmp_path):
        raise OSError(errno.ENOSPC, "", str(temporary), None, str(tmp_path / "packs/x.pack"))
    assert caught.value.message == f"'{tmp_path / 'packs'}' cannot be used: the disk is full"


def test_other_errors_pass_through(tmp_path: Path) -> None:
    for error in (
        ValueError("x"),
        KeyboardInterrupt(),
        IntegrityError("x"),
        BrokenPipeError(errno.EPIPE, "x"),
    ):
        with pytest.raises(type(error)), files.storing(tmp_path):
            raise error


def test_positions_are_read_by_several_threads(tmp_path: Path) -> None:
    content = os.urandom(100_000)
    (tmp_path / "f").write_bytes(content)
    file = files.PositionedFile(tmp_path / "f")
    wrong: list[int] = []

    def read(start: int) -> None:
        places = range(start, 100_000, 997)
        wrong.extend(at for at in places if file.read_at(at, 50) != content[at : at + 50])

    threads = [threading.Thread(target=read, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert file.read_at(99_990, 50) == content[99_990:]
    file.close()


def test_the_hash_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    assert (
        files.hash_file(tmp_path / "f").hex()
        == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    )


_FORKED = """
import os, signal, sys
from pathlib import Path
from arbor.store.files import hash_file
here = hash_file(Path(sys.argv[1]))
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    os._exit(0 if hash_file(Path(sys.argv[1])) == here else 1)
sys.exit(os.waitpid(pid, 0)[1] != 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_of_a_program_that_has_hashed_a_file_hashes_one_too(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(4_000_000))
    # A program with other threads is warned of a fork; this one must bear it, as those of servers do.
    words = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _FORKED, str(tmp_path / "large")]
    assert subprocess.run(words, check=False).returncode == 0


def test_an_interrupt_while_a_file_is_opened_is_one_and_no_file_is_closed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(FileIO):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.close()  # as one does that nothing refers to any more
            raise KeyboardInterrupt

    (tmp_path / "f").write_bytes(b"x")
    monkeypatch.setattr("io.FileIO", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.open_regular(tmp_path / "f")


def test_what_is_no_file_is_not_waited_for_and_not_left_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(IntegrityError, match="is no file but a pipe"):
        files.open_regular(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        files.open_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        files.open_regular(tmp_path / "nothing")
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("typed", "plain"),
    [("a/../b", "b"), ("a/b/../../c", "c"), ("link/../x", "far/x"), ("link/x", "link/x"), ("link/x/../y", "link/y"),
     ("none/../x", "x"), ("inner/up/../x", "x"), ("a/..", ""), ("/../etc", "/etc"), ("a//./b", "a/b")],
)  # fmt: skip
def test_a_path_without_dots_is_the_same_place(tmp_path: Path, typed: str, plain: str) -> None:
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "inner").mkdir()
    (tmp_path / "link").symlink_to("far/deep")
    (tmp_path / "inner" / "up").symlink_to("../a")
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert files.without_dots(tmp_path / typed) == tmp_path / plain
    if (tmp_path / typed).parent.exists():
        assert os.path.realpath(tmp_path / typed) == os.path.realpath(tmp_path / plain)
    assert files.without_dots(Path("../x")) == Path("../x")
