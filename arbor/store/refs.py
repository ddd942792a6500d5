"""Names of commits: branches, tags, remote-tracking refs and HEAD, with compare-and-swap and a reflog.

A ref is a small file with its value and a checksum, so that a flipped bit is found. A move writes the reflog line,
then the ref by fsync and rename: the rename is the moment at which a commit happens.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from blake3 import blake3

from arbor.errors import ConflictError, IntegrityError, UsageError
from arbor.lazy import lazy_pattern
from arbor.objects.model import Signature
from arbor.records import dataclass
from arbor.store.files import (
    MAX_STATE_BYTES,
    TEMPORARY_PREFIX,
    append_line,
    check_is_there,
    fsync_folder,
    make_folders,
    read_bounded,
    whole_lines,
    write_atomically,
)

HEADS, TAGS, REMOTES = "refs/heads/", "refs/tags/", "refs/remotes/"
FETCH_HEAD = "FETCH_HEAD"
_SYMBOLIC = "ref: "
_FORBIDDEN = lazy_pattern(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|\.$|/$|^/|^\.|^-|^@$")
_WINDOWS = lazy_pattern(r"^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)
_OID = lazy_pattern(r"[0-9a-f]{64}\Z")
_MAX_NAME_BYTES = 200
_NO_OID = bytes(32)
_MAX_FILE_BYTES = 4096
_MAX_NAME_CHARS, _MAX_REASON_CHARS = 200, 1000


@dataclass(frozen=True, slots=True)
class ReflogEntry:
    """One move of a ref: from `old` to `new` (b"" for none), by whom, when and why."""

    old: bytes
    new: bytes
    who: Signature
    reason: str


def check_ref_name(name: str) -> str:
    """The name, when it may be a full ref name such as `refs/heads/main`.

    The rules are git's (git-check-ref-format); besides, no part may be one that Windows reserves or changes, or look
    like an option.

    Raises:
        UsageError: when it may not.
    """
    parts = name.split("/")
    bad = _FORBIDDEN.search(name) or any(
        _WINDOWS.match(part) or part[:1] == "-" or part[-1:] == "." for part in parts
    )
    if (
        bad
        or not name.startswith("refs/")
        or len(parts) < 3
        or not 0 < _encoded_bytes(name) <= _MAX_NAME_BYTES
    ):
        raise UsageError(
            f"'{name}' is not a name that a branch or tag may have", "letters, digits, - _ . and / are safe"
        )
    return name


def short_name(name: str) -> str:
    """What people call a ref: the full name without its namespace."""
    prefix = next((prefix for prefix in (HEADS, TAGS, REMOTES) if name.startswith(prefix)), "")
    return name[len(prefix) :]


def _encoded_bytes(name: str) -> int:
    """Bytes of the name in UTF-8; 0 where it has none."""
    try:
        return len(name.encode())
    except UnicodeEncodeError:
        return 0


def _parse_stored_oid(value: str, what: str) -> bytes:
    if not _OID.match(value):
        raise IntegrityError(f"{what} is damaged")
    return bytes.fromhex(value)


def _checked(value: str) -> bytes:
    return f"{value}\ncheck: {blake3(value.encode()).hexdigest(8)}\n".encode()


def _unchecked(data: bytes, what: str) -> str:
    try:
        value, check, *rest = data.decode("utf-8").split("\n")
    except (UnicodeDecodeError, ValueError) as error:
        raise IntegrityError(f"{what} is damaged") from error
    if check != f"check: {blake3(value.encode()).hexdigest(8)}" or rest != [""]:
        raise IntegrityError(f"{what} is damaged: its checksum does not fit")
    return value


class Refs:
    """The refs of one KB folder. Moves are made under the writer lock; reading needs none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._logs = folder / "logs"

    def read(self, name: str) -> bytes | None:
        """The oid a full ref name stands for, or None.

        Raises:
            IntegrityError: when the ref's file is damaged.
            NoKnowledgeBase: when the whole folder has gone since it was opened.
        """
        check_ref_name(name)
        try:
            data = read_bounded(self._folder / name, _MAX_FILE_BYTES)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            check_is_there(self._folder)
            return None
        return _parse_stored_oid(_unchecked(data, f"ref '{name}'"), f"ref '{name}'")

    def iter_names(self, prefix: str = "refs/") -> Iterator[str]:
        """The full names that start with `prefix`, in order.

        Raises:
            OSError: when a folder cannot be listed: what it holds must not count as gone.
        """
        found = []
        check_is_there(self._folder)
        # Of a prefix that goes on below "refs/" only the folder that it names is walked.
        for folder, _, files in os.walk(self._folder / prefix.rpartition("/")[0], onerror=_raise_unless_gone):
            below = Path(folder).relative_to(self._folder).as_posix()
            found += [f"{below}/{file}" for file in files if not file.startswith(TEMPORARY_PREFIX)]
        yield from sorted(name for name in found if name.startswith(prefix))

    def in_the_way(self, name: str) -> list[str]:
        """The refs that no ref of this full name can be beside: one is a folder of the other."""
        parts = name.split("/")
        above = ["/".join(parts[:count]) for count in range(3, len(parts))]
        below = self.iter_names(f"{name}/")
        return [other for other in (*above, *below) if self.read(other) is not None]

    def current_branch(self) -> str:
        """Short name of the branch that HEAD follows; "" where it is detached. Raises as `head`."""
        head = self.head()
        return head.removeprefix(HEADS) if isinstance(head, str) else ""

    def head(self) -> str | bytes:
        """The branch that HEAD follows (full name), or an oid where it is detached.

        Raises:
            IntegrityError: when HEAD is damaged or absent.
            NoKnowledgeBase: when the whole folder has gone since it was opened.
        """
        try:
            value = _unchecked(read_bounded(self._folder / "HEAD", _MAX_FILE_BYTES), "HEAD")
        except FileNotFoundError as error:
            check_is_there(self._folder)
            raise IntegrityError("HEAD is missing") from error
        if not value.startswith(_SYMBOLIC):
            return _parse_stored_oid(value, "HEAD")
        try:
            return check_ref_name(value[len(_SYMBOLIC) :])
        except UsageError as error:
            raise IntegrityError("HEAD is damaged: it follows no branch") from error

    def head_oid(self) -> bytes | None:
        """The commit HEAD stands for; None before the first commit."""
        head = self.head()
        return self.read(head) if isinstance(head, str) else head

    def set_head(self, target: str | bytes, who: Signature | None = None, reason: str = "") -> None:
        """Let HEAD follow a branch (full name) or stand at a commit."""
        old = self.head_oid() if (self._folder / "HEAD").exists() else None
        value = _SYMBOLIC + check_ref_name(target) if isinstance(target, str) else target.hex()
        new = self.read(target) if isinstance(target, str) else target
        if who is not None:
            self._log("HEAD", old, new, who, reason)
        write_atomically(self._folder / "HEAD", _checked(value))

    def fetched(self) -> bytes | None:
        """The commit that the last fetch was for, as `FETCH_HEAD` names it; None before the first.

        Raises:
            IntegrityError: when its file is damaged.
        """
        try:
            data = read_bounded(self._folder / FETCH_HEAD, _MAX_FILE_BYTES)
        except FileNotFoundError:
            return None
        try:
            return _parse_stored_oid(_unchecked(data, FETCH_HEAD), FETCH_HEAD)
        except IntegrityError as error:
            raise IntegrityError(error.message, "write it anew with: arbor fetch") from error

    def set_fetched(self, oid: bytes) -> None:
        """Let `FETCH_HEAD` stand for a commit. It has no reflog: the next fetch replaces it, damaged or not."""
        with contextlib.suppress(IntegrityError):
            if self.fetched() == oid:
                return
        write_atomically(self._folder / FETCH_HEAD, _checked(oid.hex()))

    def move(self, name: str, old: bytes | None, new: bytes | None, who: Signature, reason: str) -> None:
        """Compare and swap: the ref goes from `old` to `new` (None: absent) or nothing happens.

        Raises:
            ConflictError: when the ref is not at `old` any more, or a name is in the way as a folder.
        """
        current = self.read(name)
        if current != old:
            raise ConflictError(f"'{name}' has moved since it was read", "run the command again")
        path = self._folder / name
        if new is not None:
            try:
                make_folders(path.parent)
            except (FileExistsError, NotADirectoryError) as error:
                raise ConflictError(f"'{name}' cannot be made: a shorter name is in the way") from error
            if path.is_dir():
                self._prune(path)
            if path.is_dir():
                raise ConflictError(f"'{name}' cannot be made: there are names below it")
        self._log(name, old, new, who, reason)
        if self.head() == name:
            self._log("HEAD", old, new, who, reason)
        if new is None:
            path.unlink(missing_ok=True)
            fsync_folder(path.parent)
            with contextlib.suppress(OSError):
                (self._logs / name).unlink()
            self._prune((self._logs / name).parent)
            self._prune(path.parent)
        else:
            write_atomically(path, _checked(new.hex()))

    def carry_log(self, old: str, new: str) -> None:
        """Let the log of a name go on as that of another one, which has none or one that nobody wants.

        Nothing happens where a ref is in the way of the other name: its log would have to make room.
        """
        source, target = self._logs / old, self._logs / new
        if source.is_file() and not self.in_the_way(new):
            self._make_room_for_log(target)
            os.replace(source, target)
            for folder in {target.parent: None, source.parent: None}:  # by the log's place a renaming is told
                fsync_folder(folder)

    def move_head(self, old: bytes | None, new: bytes, who: Signature, reason: str) -> None:
        """Move what HEAD stands for: its branch, or HEAD itself where it is detached."""
        head = self.head()
        if isinstance(head, str):
            self.move(head, old, new, who, reason)
        elif head != old:
            raise ConflictError("HEAD has moved since it was read", "run the command again")
        else:
            self.set_head(new, who, reason)

    def reflog(self, name: str) -> list[ReflogEntry]:
        """The moves of a ref (or "HEAD"), newest first; lines that do not fit their checksum are left out.

        Raises:
            UsageError: when no ref can be called so.
        """
        if name != "HEAD":
            check_ref_name(name)
        try:
            lines = self._log_lines(self._logs / name)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            check_is_there(self._folder)
            return []
        entries = [_parse_log_line(line) for line in reversed(lines)]
        return [entry for entry in entries if entry is not None]

    def damaged_log_lines(self) -> list[str]:
        """`name:line` of each reflog line whose checksum does not fit."""
        bad = []
        for path in sorted(self._logs.rglob("*")) if self._logs.is_dir() else []:
            if path.is_file():
                lines = self._log_lines(path)
                name = path.relative_to(self._folder).as_posix()
                bad += [f"{name}:{n}" for n, line in enumerate(lines, 1) if _parse_log_line(line) is None]
        return bad

    @staticmethod
    def _log_lines(path: Path) -> list[str]:
        data = read_bounded(path, MAX_STATE_BYTES)
        # What stands after the whole lines is one that a crash cut short.
        return data[: whole_lines(data)].decode("utf-8", "replace").split("\n")[:-1]

    def _log(self, name: str, old: bytes | None, new: bytes | None, who: Signature, reason: str) -> None:
        path = self._logs / name
        self._make_room_for_log(path)
        body = "\t".join([
            (old or _NO_OID).hex(), (new or _NO_OID).hex(), _one_line(who.name)[:_MAX_NAME_CHARS],
            _one_line(who.email)[:_MAX_NAME_CHARS], str(who.seconds),
            str(who.offset_minutes), _one_line(reason)[:_MAX_REASON_CHARS],
        ])  # fmt: skip
        line = f"{body}\t{blake3(body.encode('utf-8', 'replace')).hexdigest(8)}\n"
        append_line(path, line.encode("utf-8", "replace"))

    def _make_room_for_log(self, path: Path) -> None:
        """Clear away logs of names that are gone: a crash can leave one, and none can stand where a folder must be.

        Nothing is cleared or written beyond a link: the folder may come from somebody else.
        """
        for place in (path, *path.parents):
            if place == self._folder:
                break
            if place.is_symlink():
                raise IntegrityError(f"'{place}' is a link to another place", "move it away, and try again")
        for folder in path.parents:
            if folder == self._folder:
                break
            if folder.is_file():
                folder.unlink()
        make_folders(path.parent)
        if path.is_dir():
            for below in sorted(path.rglob("*"), reverse=True):
                (below.rmdir if below.is_dir() else below.unlink)()
            path.rmdir()

    def _prune(self, folder: Path) -> None:
        """Remove empty folders of names that are gone, up to the namespace."""
        keep = {self._folder / name for name in ("refs", "refs/heads", "refs/tags", "logs")}
        while folder not in keep and folder.is_dir() and folder != self._folder:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


def _raise_unless_gone(error: OSError) -> None:
    """What a walk that passes over no folder does; one can go while others are walked."""
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        raise error


def _one_line(text: str) -> str:
    """The text as one field of a line: every run of white space is one space, and no NUL is left (`whole_lines`)."""
    return " ".join(text.replace("\0", " ").split())


def _parse_log_line(line: str) -> ReflogEntry | None:
    body, _, check = line.rpartition("\t")
    fields = body.split("\t")
    if len(fields) != 7 or blake3(body.encode("utf-8", "replace")).hexdigest(8) != check:
        return None
    old, new, name, email, seconds, offset, reason = fields
    try:
        old_oid, new_oid = (b"" if oid == _NO_OID else oid for oid in map(bytes.fromhex, (old, new)))
        who = Signature(name, email, int(seconds), int(offset))
    except ValueError:
        return None
    return ReflogEntry(old_oid, new_oid, who, reason)
