"""The work tree: what files there are, how they are read safely, and how they are written back."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import field
from pathlib import Path

from blake3 import blake3

from arbor.errors import PartlyDone, UsageError
from arbor.objects.paths import PRIVATE_FOLDER, check_path, in_form_c, path_fault, windows_fault
from arbor.records import dataclass
from arbor.repo.folders import Folders
from arbor.repo.places import has_own_kb
from arbor.repo.work_tree.file_states import FileState, state_of
from arbor.repo.work_tree.ignore import ALWAYS_IGNORED, EVERYTHING, IGNORE_FILES, IgnoreRules, rules_for
from arbor.store.files import TEMPORARY_PREFIX, fsync_folder, in_words, temporary_path
from arbor.store.syncing import sync_files

_ON_WINDOWS = os.name == "nt"
_READ_TRIES = 3
_PIECE_BYTES = 1 << 20
READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
"""A file is read without following a symlink in its place, and without waiting on a pipe or device."""


@dataclass(slots=True)
class Scan:
    """What a walk over the work tree found.

    Attributes:
        files: KB path to (name on disk relative to the work tree, state).
        skipped: (name, reason) of what is there but cannot be a document.
        unreadable: Paths of files, and of folders with a trailing slash, that the system did not let be looked at.
        is_ignored: Whether the folder that the walk began at is ignored: nothing but tracked files is found in it.
    """

    files: dict[str, tuple[str, FileState]] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)
    is_ignored: bool = False

    def is_gone(self, path: str) -> bool:
        """Whether a tracked path is really gone: what could not be looked at may be there."""
        return path not in self.files and not any(
            path == shut or (path.startswith(shut) and (not shut or shut.endswith("/")))
            for shut in self.unreadable
        )


def scan(
    fs_root: Path, below: str = "", *, tracked: Collection[str] = (),
    tracked_below: Callable[[str], bool] | None = None, use_ignore: bool = True, deep: bool = True,
) -> Scan:  # fmt: skip
    """Walk the work tree without following symlinks.

    Args:
        fs_root: The work tree.
        below: A KB folder path to start at; "" for all.
        tracked: The tracked paths, quick to be asked: tracked files are found even where they are ignored.
        tracked_below: Whether anything below a folder path (with trailing slash) is tracked; found out from `tracked`
            without.
        use_ignore: False finds ignored files too.
        deep: False stays in the one folder.
    """
    if tracked_below is None:
        tracked_below = Folders(tracked).__contains__
    walk = _Walk(fs_root, tracked, tracked_below, use_ignore, deep)
    rules: IgnoreRules | None = None
    prefix, parts = "", below.split("/") if below else []
    fs_below = name_on_disk(fs_root, below)
    for part, fs_part in zip(parts, fs_below.split("/"), strict=False):
        folder = fs_root / name_on_disk(fs_root, prefix)
        if (folder / fs_part).is_symlink():
            walk.found.skipped.append((prefix + part, "it is a symbolic link"))
            return walk.found
        if prefix and has_own_kb(folder):
            walk.found.skipped.append((prefix, "it is a knowledge base of its own"))
            return walk.found
        names = {name for name in IGNORE_FILES if (folder / name).exists()}
        rules = rules_for(folder, prefix, names, rules) if use_ignore else None
        ignored = rules is not None and rules.ignored(prefix + part, is_folder=True)
        if part in ALWAYS_IGNORED or ignored:
            walk.found.is_ignored = use_ignore
            if not tracked_below(f"{below}/"):
                return walk.found
            rules = EVERYTHING if use_ignore else None
        prefix += part + "/"
    walk.folder(
        f"{fs_root}/{fs_below}" if below else str(fs_root), prefix, f"{fs_below}/" if below else "", rules
    )
    return walk.found


_Folder = tuple[str, str, str, IgnoreRules | None]
"""A folder to take in: where it is, its KB path and its name on disk, both with a slash, and the rules in force."""

_BY_HANDLE = os.scandir in os.supports_fd
"""Whether a folder can be listed by a handle: looking at its files is then quicker by a fifth, as no path is walked."""


class _Walk:
    def __init__(
        self,
        fs_root: Path,
        tracked: Collection[str],
        tracked_below: Callable[[str], bool],
        use_ignore: bool,
        deep: bool,
    ) -> None:
        self.found = Scan()
        self._deep = deep
        self._top = str(fs_root)
        self._tracked = tracked
        self._tracked_below = tracked_below
        self._use_ignore = use_ignore

    def folder(self, fs_path: str, prefix: str, fs_prefix: str, rules: IgnoreRules | None) -> None:
        """Take in one folder. Folders wait on an own stack, so that depth is bounded by memory alone."""
        stack = [(fs_path, prefix, fs_prefix, rules)]
        while stack:
            fs_path, prefix, fs_prefix, rules = stack.pop()
            try:
                below = self._list(fs_path, prefix, fs_prefix, rules)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                self.found.skipped.append((fs_prefix.rstrip("/") or ".", in_words(error)[0]))
                self.found.unreadable.add(prefix)
                continue
            if self._deep:
                stack += reversed(below)

    def _list(self, fs_path: str, prefix: str, fs_prefix: str, rules: IgnoreRules | None) -> list[_Folder]:
        """Take in the files of one folder; the folders in it."""
        # Below the top no link is followed, even one that took the folder's place since it was listed.
        flags = (
            os.O_RDONLY | os.O_DIRECTORY | (0 if fs_path == self._top else os.O_NOFOLLOW) if _BY_HANDLE else 0
        )
        handle = os.open(fs_path, flags) if _BY_HANDLE else None
        try:
            with os.scandir(fs_path if handle is None else handle) as listing:
                entries = list(listing)
            names = {entry.name for entry in entries}
            if fs_path != self._top and PRIVATE_FOLDER in names and has_own_kb(fs_path):
                self.found.skipped.append((fs_prefix, "it is a knowledge base of its own"))
                return []
            if self._use_ignore and not names.isdisjoint(IGNORE_FILES):
                rules = rules_for(fs_path, prefix, names, rules)
            others = self._keep_tracked(entries, prefix, fs_prefix)
            taken = [self._take(entry, fs_path, prefix, fs_prefix, rules) for entry in others]
            return [item for item in taken if item is not None]
        finally:
            if handle is not None:
                os.close(handle)

    def _keep_tracked(
        self, entries: list[os.DirEntry[str]], prefix: str, fs_prefix: str
    ) -> list[os.DirEntry[str]]:
        """Take in the tracked files with plain names, nearly all there is; what is left of the folder."""
        files, tracked, same = self.found.files, self._tracked, prefix == fs_prefix
        others = []
        for entry in entries:
            name = entry.name
            path = prefix + name
            if path in tracked and name.isascii() and path not in files:
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:  # the closer look says what is wrong with it
                    others.append(entry)
                    continue
                if stat.S_ISREG(status.st_mode):
                    files[path] = path if same else fs_prefix + name, state_of(status)
                    continue
            others.append(entry)
        return others

    def _take(
        self, entry: os.DirEntry[str], fs_path: str, prefix: str, fs_prefix: str, rules: IgnoreRules | None
    ) -> _Folder | None:
        name = entry.name
        path = prefix + (name if name.isascii() else in_form_c(name))
        is_tracked = path in self._tracked
        if is_tracked and entry.is_file(follow_symlinks=False) and path not in self.found.files:
            self._keep(entry, path, fs_prefix + name)
            return None
        if entry.is_dir(follow_symlinks=False):
            inside = path + "/"
            shut = name in ALWAYS_IGNORED or (rules is not None and rules.ignored(path, is_folder=True))
            if name == PRIVATE_FOLDER or (shut and not self._tracked_below(inside)):
                return None
            # In a folder that is ignored nothing but what is tracked is found.
            return f"{fs_path}/{name}", inside, f"{fs_prefix}{name}/", EVERYTHING if shut else rules
        if not is_tracked and rules is not None and rules.ignored(path, is_folder=False):
            return None
        self._file(entry, path, fs_prefix + name, is_tracked)
        return None

    def _file(self, entry: os.DirEntry[str], path: str, fs_name: str, is_tracked: bool) -> None:
        if entry.name in ALWAYS_IGNORED or entry.name.startswith(TEMPORARY_PREFIX):
            return
        if not entry.is_file(follow_symlinks=False):
            self.found.skipped.append(
                (fs_name, "it is a symbolic link" if entry.is_symlink() else "it is not a file")
            )
            return
        fault = "" if is_tracked else path_fault(path)
        if fault:
            self.found.skipped.append((fs_name, fault))
            return
        taken = self.found.files.get(path)
        if taken is not None:
            loser = fs_name if taken[0] == path else taken[0]
            self.found.skipped.append((loser, "another file has the same name in Unicode form C"))
            if loser == fs_name:
                return
        self._keep(entry, path, fs_name)

    def _keep(self, entry: os.DirEntry[str], path: str, fs_name: str) -> None:
        try:
            self.found.files[path] = (fs_name, state_of(entry.stat(follow_symlinks=False)))
        except FileNotFoundError:
            return
        except OSError as error:
            self.found.skipped.append((fs_name, in_words(error)[0]))
            self.found.unreadable.add(path)


def name_on_disk(fs_root: Path, path: str) -> str:
    """The name, relative to the work tree, under which the file system has a KB path.

    KB paths are in Unicode form C; on a file system that tells forms apart a name may be in form D, as macOS once
    wrote them.
    """
    if path.isascii() or os.path.lexists(fs_root / path):
        return path
    folder, names = fs_root, []
    for part in path.split("/"):
        apart = unicodedata.normalize("NFD", part)
        whole = apart == part or os.path.lexists(folder / part) or not os.path.lexists(folder / apart)
        names.append(part if whole else apart)
        folder = folder / names[-1]
    return "/".join(names)


def is_on_disk(fs_root: Path, path: str) -> bool:
    """Whether there is anything under the name of a KB path, be it a link to nothing."""
    return os.path.lexists(fs_root / name_on_disk(fs_root, path))


def read_file(fs_path: Path | str, max_bytes: int | None = None) -> tuple[bytes, FileState]:
    """A regular file's bytes and its state, read without following a symlink or waiting on a device.

    Raises:
        UsageError: when it is no regular file, is larger than `max_bytes`, or keeps changing while it is read.
        OSError: as the system says.
    """
    for _ in range(_READ_TRIES):
        handle = os.open(fs_path, READ_FLAGS)
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                raise UsageError(f"'{fs_path}' is not a regular file")
            if max_bytes is not None and before.st_size > max_bytes:
                raise UsageError(
                    f"'{fs_path}' is larger than the limit of {max_bytes} bytes", "add it with -f"
                )
            data = _read_all(handle, before.st_size)
            after = os.fstat(handle)
        finally:
            os.close(handle)
        if state_of(before) == state_of(after) and len(data) == after.st_size:
            return data, state_of(after)
    raise UsageError(f"'{fs_path}' keeps changing while it is read", "add it again when its writer is done")


def hash_of_file(fs_path: Path) -> bytes:
    """The plain BLAKE3 of a regular file, read piece by piece without following a symlink.

    Raises:
        UsageError: when it is no regular file.
        OSError: as the system says.
    """
    hasher = blake3()
    handle = os.open(fs_path, READ_FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"'{fs_path}' is not a regular file")
        while data := os.read(handle, _PIECE_BYTES):
            hasher.update(data)
    finally:
        os.close(handle)
    return hasher.digest()


def _read_all(handle: int, size_bytes: int) -> bytes:
    data = os.read(handle, size_bytes + 1)
    if len(data) < size_bytes:
        pieces = [data]
        while data:
            data = os.read(handle, 1 << 20)
            pieces.append(data)
        return b"".join(pieces)
    return data


def refuse_beyond_link(fs_root: Path, path: str) -> None:
    """What is reached through a symlink lies elsewhere, whatever its name says.

    Raises:
        UsageError: when a folder of the path is a symlink.
    """
    for cut, char in enumerate(path):
        if char == "/" and (fs_root / name_on_disk(fs_root, path[:cut])).is_symlink():
            raise UsageError(f"'{path}' is beyond the symbolic link '{path[:cut]}'")


def check_out(fs_root: Path, path: str, pieces: Iterable[bytes], *, durable: bool = False) -> FileState:
    """Write a document's bytes to its place: a new file beside it, then a rename. No symlink is followed.

    Its name is durable with `make_durable`; with `durable`, its bytes are before it gets the name.

    Raises:
        UsageError: when the path may not be used or its folder leads out of the work tree.
        PartlyDone: when the system refuses (disk full, no permission), or its name cannot be on Windows and this is.
    """
    check_path(path)
    if _ON_WINDOWS and (fault := windows_fault(path)):
        raise PartlyDone(f"'{path}' cannot be written: {fault}", "rename it on another system: arbor mv")
    folder, name = fs_root, name_on_disk(fs_root, path)
    for part in name.split("/")[:-1]:
        folder = folder / part
        if folder.is_symlink():
            raise UsageError(f"'{path}' is not written: '{folder.name}' is a symbolic link")
        try:
            folder.mkdir(exist_ok=True)
        except FileExistsError as error:
            above = folder.relative_to(fs_root).as_posix()
            raise PartlyDone(f"'{path}' cannot be written: '{above}' is a file", "move it away") from error
        except OSError as error:
            raise PartlyDone(f"'{path}' cannot be written: {in_words(error)[0]}") from error
    target = fs_root / name
    temporary = temporary_path(folder)
    try:
        if target.is_dir() and not target.is_symlink():
            raise UsageError(f"'{path}' is not written: a folder is in the way")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(temporary, target)
        return state_of(os.lstat(target))
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise PartlyDone(f"'{path}' cannot be written: the disk is full") from error
        raise PartlyDone(f"'{path}' cannot be written: {in_words(error)[0]}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def make_durable(fs_root: Path, paths: Iterable[str], *, names_only: bool = False) -> None:
    """Make documents' files durable that were written just now, before anybody is told that they are there.

    Raises:
        PartlyDone: when the system refuses.
    """
    try:
        fs_paths = [fs_root / name_on_disk(fs_root, path) for path in paths]
        sync_files(fs_paths, fs_root, names_only=names_only)
    except OSError as error:
        raise PartlyDone(f"files in '{fs_root}' cannot be written: {in_words(error)[0]}") from error


def remove_files(fs_root: Path, paths: Iterable[str]) -> None:
    """Remove documents' files, and then the folders that are empty. A file that is gone is fine.

    Raises:
        PartlyDone: when the system refuses.
    """
    folders: dict[Path, None] = {}
    try:
        for path in paths:
            target = _unlink(fs_root, path)
            if target is not None:
                folders[target.parent] = None
    finally:
        remove_empty_folders(fs_root, folders)


def _unlink(fs_root: Path, path: str) -> Path | None:
    """Remove a document's file; where it was, None where something else is there or it is beyond a link."""
    check_path(path)
    target = fs_root / name_on_disk(fs_root, path)
    if any(part.is_symlink() for part in [*list(target.parents)[: len(path.split("/")) - 1]]):
        return None
    if target.is_dir() and not target.is_symlink():
        return None
    try:
        target.unlink(missing_ok=True)
    except NotADirectoryError:
        return None
    except OSError as error:
        raise PartlyDone(f"'{path}' cannot be removed: {in_words(error)[0]}") from error
    return target


def rename_files(fs_root: Path, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Move documents' files to other places, and at the end remove the folders that are empty then.

    A file may hold what is stored nowhere: its new name is durable before a loss of power can take the old one.

    Yields:
        Each (old path, new path) when it is moved.

    Raises:
        PartlyDone: when the system refuses.
    """
    folders: dict[Path, None] = {}
    moved: list[str] = []
    try:
        for old, new in pairs:
            source = fs_root / name_on_disk(fs_root, old)
            try:
                (fs_root / new).parent.mkdir(parents=True, exist_ok=True)
                os.replace(source, fs_root / new)
            except OSError as error:
                raise PartlyDone(f"'{old}' cannot be moved to '{new}': {in_words(error)[0]}") from error
            folders[source.parent] = None
            moved.append(new)
            yield old, new
    finally:
        make_durable(fs_root, moved, names_only=True)
        remove_empty_folders(fs_root, folders)


def remove_bare_folders(fs_root: Path, path: str) -> None:
    """Remove the folder at a path, with those in it, where no file is in any of them; else nothing."""
    target = fs_root / name_on_disk(fs_root, path)
    if target.is_symlink() or not target.is_dir():
        return
    folders = [Path(folder) for folder, _, _ in os.walk(target, topdown=False)]
    # One with a file in it stops this, and the write says what is in the way.
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()


def remove_empty_folders(fs_root: Path, folders: Iterable[Path]) -> None:
    """Remove folders of the work tree and those above them as long as they are empty; what is left is made durable.

    As in git, the one that the process is in stays: whoever typed the command would stand nowhere.
    """
    left: dict[Path, None] = {}
    for each in folders:
        folder = each
        while folder != fs_root:
            try:
                if os.path.samefile(folder, os.curdir):
                    break
                folder.rmdir()
            except FileNotFoundError:  # with one before it
                pass
            except OSError:
                break
            folder = folder.parent
        left[folder] = None
    for folder in left:
        fsync_folder(folder)
