"""Files written so that a crash leaves the old content or the new one, and folders made durable."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import stat
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import msgpack
from blake3 import blake3

from arbor.errors import IntegrityError, NoKnowledgeBase, StorageError

_HASH_BLOCK_BYTES = 4 * 1024 * 1024
_WORTH_THREADS_BYTES = 8 << 20
TEMPORARY_PREFIX = ".arbor-tmp-"
"""What the names of files that are not finished begin with; no ref and no pack can be called so."""
CHECK_BYTES = 16
_MAX_LINE_BYTES = 64 * 1024
MAX_STATE_BYTES = 1 << 30
"""What a file of a KB folder that is read as a whole can have."""
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.EBADF, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
SAFE = "free some space and run the command again; what was committed is safe"
OWNER = "check who owns the folder"
REASONS = {
    errno.ENOSPC: ("the disk is full", SAFE),
    errno.EDQUOT: ("the disk quota is used up", SAFE),
    errno.EROFS: (
        "it is read-only here",
        "searching, showing and verifying work on a read-only knowledge base",
    ),
    errno.EACCES: ("permission denied", OWNER),
    errno.EPERM: ("permission denied", OWNER),
    errno.EMFILE: ("too many files are open", "raise the limit on open files: ulimit -n"),
    errno.EIO: ("the disk failed (input/output error)", "check the disk, then run: arbor verify"),
}


def in_words(error: OSError) -> tuple[str, str]:
    """(why the system refused, what to do about it); "" where nothing is known to do."""
    return REASONS.get(error.errno or 0, ((error.strerror or type(error).__name__).lower(), ""))


@contextlib.contextmanager
def storing(folder: Path) -> Iterator[None]:
    """Let what the system refuses in this block come out as a clear error.

    Args:
        folder: What the message names where the system names no file.

    Raises:
        StorageError: in place of an OSError, but for a name that is longer than the system takes.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # that is no matter of the disk
            raise
        reason, hint = in_words(error)
        name = asked_for(os.fsdecode(error.filename)) if error.filename else folder
        raise StorageError(f"'{name}' cannot be used: {reason}", hint) from error


def asked_for(path: str) -> str:
    """A path as its user knows it: for a file that is only on its way to its name, the folder it goes to."""
    folder, name = os.path.split(path)
    return folder or "." if name.startswith(TEMPORARY_PREFIX) else path


def without_dots(fs_path: Path) -> Path:
    """The same place on disk without `..` on the way, as it is shown and kept; one that is relative stays as it is.

    Only a link that `..` stands behind is followed: what is above a link is not what is above its target.
    """
    if os.pardir not in fs_path.parts or not fs_path.is_absolute():
        return fs_path
    plain = Path(fs_path.anchor)
    for part in fs_path.parts[1:]:
        if part != os.pardir:
            plain = plain / part
        else:
            plain = (Path(os.path.realpath(plain)) if os.path.islink(plain) else plain).parent
    return plain


def check_is_there(folder: Path) -> None:
    """Whether the folder of a knowledge base that was opened is still there.

    Raises:
        NoKnowledgeBase: when it has gone.
    """
    if not folder.is_dir():
        raise NoKnowledgeBase(
            f"there is no knowledge base in {folder} any more", "it was moved or removed while it was open"
        )


def fsync_folder(fs_path: Path) -> None:
    """Make the names in a folder durable; a no-op where folders cannot be opened or synced (Windows).

    Raises:
        OSError: when the system tried and failed, so that nobody takes the names for durable.
    """
    try:
        handle = os.open(fs_path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except (FileNotFoundError, PermissionError):
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)


def make_folders(fs_path: Path) -> None:
    """Make a folder and those above it that are missing, each of them durable.

    Raises:
        FileExistsError, NotADirectoryError: when a file is in the way.
    """
    if fs_path.is_dir():
        return
    make_folders(fs_path.parent)
    fs_path.mkdir(exist_ok=True)
    fsync_folder(fs_path.parent)


def remove_durably(fs_path: Path) -> None:
    """Remove a file so that no loss of power brings it back; one that is gone is fine."""
    try:
        fs_path.unlink()
    except FileNotFoundError:
        return
    fsync_folder(fs_path.parent)


def remove_temporaries(folder: Path, older_than_s: float = 0.0, *, spare_running: bool = False) -> None:
    """Remove the unfinished files that writers left in a folder when they were killed.

    Args:
        folder: Where to look, not below it.
        older_than_s: Spare younger ones: 0 only in a folder that nobody writes to without the lock.
        spare_running: Or spare those of other processes that still run.
    """
    latest = time.time() - older_than_s
    with contextlib.suppress(OSError), os.scandir(folder) as listing:
        for entry in [entry for entry in listing if entry.name.startswith(TEMPORARY_PREFIX)]:
            if spare_running and _is_of_another(entry.name):
                continue
            with contextlib.suppress(OSError):
                if not older_than_s or entry.stat(follow_symlinks=False).st_mtime < latest:
                    os.unlink(entry.path)


def _is_of_another(name: str) -> bool:
    """Whether a temporary file is of another process that runs on this machine."""
    digits = name.removeprefix(TEMPORARY_PREFIX).partition("-")[0]
    process = int(digits) if digits.isascii() and digits.isdigit() else 0
    if sys.platform == "win32" or process in (0, os.getpid()):
        return False  # on Windows nobody removes a file that is open
    try:
        os.kill(process, 0)
    except PermissionError:
        return True  # somebody else's
    except (OSError, OverflowError):
        return False
    return True


def temporary_path(folder: Path) -> Path:
    """A new name in the same folder, so that a rename over the target is atomic."""
    return folder / f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(6).hex()}"


def put_durably(temporary: Path, fs_path: Path) -> None:
    """Give a finished and durable file its name. Where the name may not last, it goes again: nobody is to rely on it.

    Raises:
        OSError: when the system refuses.
    """
    is_new = not fs_path.exists()
    os.replace(temporary, fs_path)
    try:
        fsync_folder(fs_path.parent)
    except OSError:
        if is_new:
            with contextlib.suppress(OSError):
                fs_path.unlink()
        raise


@contextlib.contextmanager
def replacing(
    fs_path: Path, *, durable: bool = True, keep_mode: bool = False, executable: bool = False
) -> Iterator[BinaryIO]:
    """Replace a file as a whole by what the block writes: temporary file, fsync, rename, fsync of the folder.

    Args:
        fs_path: The file; its folder must exist. It stays as it is where the block fails.
        durable: False leaves out the fsyncs, for caches that can be made again.
        keep_mode: Whether who may read and write a file that is there stays as it is.
        executable: Whether those who may read it may run it.
    """
    temporary = temporary_path(fs_path.parent)
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o777 if executable else 0o666)
        with os.fdopen(handle, "wb") as file:
            if keep_mode and hasattr(os, "fchmod"):
                with contextlib.suppress(FileNotFoundError):
                    os.fchmod(file.fileno(), stat.S_IMODE(os.stat(fs_path).st_mode))
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, fs_path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        fsync_folder(fs_path.parent)


def write_atomically(
    fs_path: Path, data: bytes, *, durable: bool = True, keep_mode: bool = False, executable: bool = False
) -> None:
    """Replace a file's content as a whole, see `replacing`."""
    with replacing(fs_path, durable=durable, keep_mode=keep_mode, executable=executable) as file:
        file.write(data)


def is_special(fs_path: Path) -> bool:
    """Whether a pipe, a socket or a device is there, links followed: it is written into, and never replaced."""
    try:
        mode = os.stat(fs_path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def write_named(fs_path: Path, data: bytes) -> None:
    """Write what a person named, with a shell's meaning of `>`: a link leads on, a pipe or device is written into.

    Else to write to `/dev/null` as root would put a file in the place of the machine's.
    """
    if is_special(fs_path):
        with open(fs_path, "wb") as file:
            file.write(data)
    else:
        write_atomically(Path(os.path.realpath(fs_path)), data)


def append_line(fs_path: Path, line: bytes) -> None:
    """Add a line to a file durably; the folder must exist.

    What a crash left of a line is taken away first (see `whole_lines`): nobody can have acted on it yet. A write that
    fails takes itself back.

    Args:
        fs_path: The file, made where it is absent.
        line: The line with its line end.
    """
    # Without a buffer: what it still held after a write that failed would be written when the file is closed.
    with open(fs_path, "ab+", buffering=0, opener=open_own) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _MAX_LINE_BYTES, 0))
        tail = file.read()
        rest = len(tail) - whole_lines(tail)
        if rest:
            size -= rest
            file.truncate(size)
        try:
            write_all(file, line)
            os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                os.truncate(fs_path, size)
            raise
    if not size:  # it may be new, and its name not durable yet
        fsync_folder(fs_path.parent)


def whole_lines(data: bytes) -> int:
    """How many bytes of a file of lines, which hold no NUL, are whole lines; a crash left what follows them.

    A write that the power cut short has any of its sectors on the disk and not only the first ones: the line can have
    its end while zeros stand for what is before that.
    """
    end = data.rfind(b"\n") + 1
    while end:
        start = data.rfind(b"\n", 0, end - 1) + 1
        if data.find(b"\0", start, end) < 0:
            break
        end = start
    return end


def open_own(name: str | Path, flags: int) -> int:
    """Open a file to be changed in place, which no link may stand for: the KB folder may come from somebody else."""
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def write_all(file: FileIO, data: bytes) -> None:
    """Write to a file without a buffer, of which a single call may take a part only: the disk may be nearly full."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def seal(data: bytes) -> bytes:
    """The data with its own checksum in front, so that a flipped bit is found when it is read."""
    return blake3(data).digest(CHECK_BYTES) + data


def unseal(sealed: bytes, what: str) -> bytes:
    """The data of `seal`.

    Raises:
        IntegrityError: when the checksum does not fit; `what` names the file for the reader.
    """
    data = sealed[CHECK_BYTES:]
    if blake3(data).digest(CHECK_BYTES) != sealed[:CHECK_BYTES]:
        raise IntegrityError(f"{what} is damaged: its checksum does not fit")
    return data


def unpack_sealed(sealed: bytes, what: str, *, use_list: bool = True) -> Any:
    """The MessagePack value of `seal`; its checksum speaks against accidents alone, so its form is not to be trusted.

    Raises:
        IntegrityError: when the checksum does not fit or it is no MessagePack; `what` names the file for the reader.
    """
    data = unseal(sealed, what)
    try:
        return msgpack.unpackb(data, use_list=use_list)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise IntegrityError(f"{what} is damaged") from error


def file_hasher(size_bytes: int) -> blake3:
    """A hasher for so many bytes; for many, with a thread for each core where the system lets them start."""
    alone = (
        size_bytes < _WORTH_THREADS_BYTES or not _may_start_threads() or _process_of_threads() != os.getpid()
    )
    return blake3(max_threads=1 if alone else blake3.AUTO)


@functools.cache
def _process_of_threads() -> int:
    """The process in which BLAKE3's threads are: a fork of it has none of them and would wait for them for ever."""
    return os.getpid()


@functools.cache
def _may_start_threads() -> bool:
    """Whether as many threads as there are cores can run: BLAKE3's own pool ends in a panic where they cannot."""
    done = threading.Event()
    started: list[threading.Thread] = []
    try:
        for _ in range(os.cpu_count() or 1):
            thread = threading.Thread(target=done.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        return False
    finally:
        done.set()
        for thread in started:
            thread.join()
    return True


def hash_file(fs_path: Path) -> bytes:
    """The plain BLAKE3-256 of a file; of a large one by as many threads as there are cores."""
    with open_regular(fs_path) as file:
        hasher = file_hasher(os.fstat(file.fileno()).st_size)
        while block := file.read(_HASH_BLOCK_BYTES):
            hasher.update(block)
    return hasher.digest()


def open_regular(fs_path: Path) -> io.FileIO:
    """Open a file to be read, and nothing else: from a pipe or a device one would wait, or read, for ever.

    Raises:
        FileNotFoundError, IsADirectoryError, NotADirectoryError: as `open` does.
        IntegrityError: when it is neither a file nor a folder.
    """
    # The file alone closes its handle, once: an interrupt may come anywhere, and the number be another file's by then.
    file = io.FileIO(fs_path, "rb", opener=_open_without_waiting)
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise IntegrityError(f"'{fs_path}' is no file but a pipe, a device or the like")
    except BaseException:
        file.close()
        raise
    return file


def _open_without_waiting(fs_path: str, flags: int) -> int:
    return os.open(fs_path, flags | getattr(os, "O_NONBLOCK", 0))


def read_bounded(fs_path: Path, max_bytes: int) -> bytes:
    """All of a file that has a size it can have.

    Raises:
        FileNotFoundError, IsADirectoryError, NotADirectoryError: as `open` does.
        IntegrityError: when it is larger, or no file.
    """
    with open_regular(fs_path) as file:
        if os.fstat(file.fileno()).st_size > max_bytes:
            raise IntegrityError(f"'{fs_path}' is damaged: it is larger than it can be")
        return file.readall()


class PositionedFile:
    """A file read at offsets by several threads at once."""

    def __init__(self, fs_path: Path) -> None:
        self._file = open_regular(fs_path)
        # Another thread may still read through a pack that this store has dropped: the last user closes it.
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        self.size_bytes = os.fstat(self._file.fileno()).st_size

    def read_at(self, offset: int, size_bytes: int) -> bytes:
        """`size_bytes` from `offset`; fewer only where the file ends."""
        if not 0 <= offset <= self.size_bytes:
            return b""
        if hasattr(os, "pread"):
            return os.pread(self._file.fileno(), size_bytes, offset)
        with self._lock:
            self._file.seek(offset)
            return self._file.read(size_bytes)

    def close(self) -> None:
        """Give the handle back."""
        self._file.close()
