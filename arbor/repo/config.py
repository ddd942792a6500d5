"""Settings: the tracked policy in `arbor.toml`, and the local ones in `.arbor/config.toml` and the user's own file.

The policy has a fixed schema and can come from a clone, so it holds numbers and words only and names no program.
Local settings never leave the machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from arbor.errors import UsageError
from arbor.lazy import lazy_module
from arbor.objects.codec import check_unicode
from arbor.objects.paths import PRIVATE_FOLDER
from arbor.records import dataclass
from arbor.store.files import (
    MAX_STATE_BYTES,
    check_is_there,
    make_folders,
    read_bounded,
    storing,
    write_atomically,
)
from arbor.store.lock import writer_lock
from arbor.text.extraction import ChunkPolicy
from arbor.text.toml import parse_toml

POLICY_FILE = "arbor.toml"
LOCAL_FILE = "config.toml"
DEFAULT_MAX_FILE_BYTES = 64 * 1024 * 1024
_MAX_TOML_BYTES = 1 << 20
_VALUE_LINES_MAX = 50
_NOTHING = Path(os.devnull)
"""As a settings file it holds none, as for git."""
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

LOCAL_KEYS: dict[str, type] = {
    "user.name": str,
    "user.email": str,
    "core.index": bool,
    "color.ui": str,
    "core.pager": bool,
    "sign.key": str,
    "sign.commits": bool,
    "sign.allowed_signers": str,
    "pull.require_signed": bool,
}
"""Local settings and their types. `remote.NAME.url` and `branch.NAME.*` belong to the remotes."""
OPEN_KEYS = {"remote": ("url", "filter"), "branch": ("upstream",)}
"""The settings of a table for each remote or branch; all are text."""
_GIT_NAMES = {"user.signingkey": "sign.key", "commit.gpgsign": "sign.commits",
              "gpg.ssh.allowedsignersfile": "sign.allowed_signers"}  # fmt: skip
"""What git calls settings that have another name here, for hints."""
_GIT_HINTS = {
    "core.editor": "set ARBOR_EDITOR, VISUAL or EDITOR", "init.defaultbranch": "name it: arbor init -b NAME",
    "core.excludesfile": "write the patterns into .arborignore or .gitignore",
    **dict.fromkeys(("core.autocrlf", "core.eol"), "leave it out: files are kept byte for byte"),
    "core.quotepath": "leave it out: only odd characters are quoted, and none with -z or --json",
    "pull.rebase": "leave it out: histories are joined by a merge", "pull.ff": "say it each time: arbor pull --ff-only",
    "merge.ff": "say it each time: arbor merge --no-ff", "push.default": "leave it out: the current branch is pushed",
    "push.followtags": "say it each time: arbor push --tags", "push.autosetupremote": "say it once: arbor push -u",
    "fetch.prune": "say it each time: arbor fetch --prune",
    "credential.helper": "leave it out: ssh has its keys, and http takes a token from ARBOR_TOKEN",
    "tag.gpgsign": "say it each time: arbor tag -s",
}  # fmt: skip
"""What stands here for settings of git that arbor has not, for hints."""
_WORDS = {"color.ui": ("auto", "always", "never", "true", "false")}
_A_TYPE = {str: "text in quotation marks", bool: "true or false"}

SECTIONS = ("chunking", "add", "ripple", "ranking", "vocabulary", "search", "hooks")


@dataclass(frozen=True, slots=True)
class Policy:
    """The tracked policy.

    Attributes:
        chunking: Sizes of passages.
        max_file_bytes: Larger files are not added unless forced.
        sections: The other tables of `arbor.toml`, for the rooms that own them.
    """

    chunking: ChunkPolicy = field(default_factory=ChunkPolicy)
    max_file_bytes: int = DEFAULT_MAX_FILE_BYTES
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def section(self, name: str) -> Mapping[str, Any]:
        """One table of `arbor.toml`; empty where it is not given."""
        return self.sections.get(name, {})


def parse_size(text: str | int, what: str = "a size") -> int:
    """Bytes from `64M`, `2G`, `1024` (powers of 1024).

    Raises:
        UsageError: when it is not a size.
    """
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    plain = str(text).strip().lower().removesuffix("ib").removesuffix("b")
    number, unit = (plain[:-1], plain[-1:]) if plain[-1:].isalpha() else (plain, "")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if unit not in _UNITS or not 0 <= value < 2**60:
        raise UsageError(f"{what} of {text!r} is not a size", "write it like 64M, 2G or 1024")
    return int(value * _UNITS[unit])


def parse_policy(data: bytes) -> Policy:
    """The policy of an `arbor.toml`.

    Raises:
        UsageError: when it is not TOML, or has a section or value that does not belong there.
    """
    tables = parse_tables(data)
    for section, table in tables.items():
        check_section(section, table)
    rest = {key: value for key, value in tables.items() if key not in ("chunking", "add")}
    return Policy(parse_chunking(tables.get("chunking", {})), parse_add(tables.get("add", {})), rest)


def parse_tables(data: bytes) -> dict[str, Any]:
    """The tables of an `arbor.toml`, whatever they are; raises UsageError when it is not TOML."""
    return _parse_toml(data, POLICY_FILE)


def check_section(section: str, table: Any) -> None:
    """Raises UsageError when a policy has no such section, or it is no table."""
    if section not in SECTIONS or not isinstance(table, dict):
        raise UsageError(
            f"{POLICY_FILE} has an unknown section '{section}'", f"the sections are: {', '.join(SECTIONS)}"
        )


def check_keys(section: str, table: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raises UsageError when a table of a policy has a key that is none of these."""
    unknown = next((key for key in table if key not in keys), None)
    if unknown is not None:
        hint = f"the keys are: {', '.join(keys)}" if keys else "this version knows no key there"
        raise UsageError(f"{POLICY_FILE}: [{section}] has an unknown key '{unknown}'", hint)


def parse_chunking(table: Mapping[str, Any]) -> ChunkPolicy:
    """The sizes in `[chunking]`; raises UsageError when a key or a value does not belong there."""
    check_keys("chunking", table, ("target_bytes", "cap_bytes", "min_bytes"))
    for key, value in table.items():
        if type(value) is not int:
            raise UsageError(f"{POLICY_FILE}: [chunking] {key} is a whole number of bytes, not {value!r}")
    try:
        return ChunkPolicy(**table)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{POLICY_FILE}: [chunking]: {error}") from error


def parse_add(table: Mapping[str, Any]) -> int:
    """The largest file that `[add]` lets in; raises UsageError when a key or a value does not belong there."""
    check_keys("add", table, ("max_file_size",))
    return parse_size(table.get("max_file_size", DEFAULT_MAX_FILE_BYTES), f"{POLICY_FILE}: max_file_size")


def read_policy(fs_root: Path | None) -> Policy:
    """The policy of a work tree; the defaults where there is no `arbor.toml`."""
    if fs_root is None:
        return Policy()
    try:
        return parse_policy(read_bounded(fs_root / POLICY_FILE, MAX_STATE_BYTES))
    except (FileNotFoundError, IsADirectoryError):
        return Policy()


def _parse_toml(data: bytes, name: str) -> dict[str, Any]:
    if len(data) > _MAX_TOML_BYTES:
        raise UsageError(f"{name} cannot be read: it is larger than {_MAX_TOML_BYTES:,} bytes")
    try:
        return parse_toml(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # which a number of very many digits is too
        raise UsageError(f"{name} cannot be read: {error}", "mend the file, or move it away") from error


class Settings:
    """Local settings by dotted name: the KB's own over the user's."""

    def __init__(self, local: Path, user: Path | None = None, *, in_kb: bool = False) -> None:
        """Name the files.

        Args:
            local: The KB's own file; need not exist.
            user: The user's.
            in_kb: Whether `local` lies in the folder of a KB, so that without the folder there are no settings.
        """
        self._local = local
        self._user = user
        self._in_kb = in_kb

    def get(self, name: str) -> Any:
        """The value of a dotted name, or None.

        Raises:
            UsageError: when a file cannot be read, or has a value of another type.
            NoKnowledgeBase: when the KB has gone since it was opened.
        """
        return self._find(name)[0]

    def get_path(self, name: str) -> Path | None:
        """The file that a setting names, or None: relative to the KB's folder, in the user's own settings to the home.

        Where one is when a command is typed says nothing about a file that was named another day.
        """
        value, source = self._find(name)
        if not value:
            return None
        is_of_kb = self._in_kb and source == self._local
        folder = self._local.parent if is_of_kb else Path.home()
        base = folder.parent if is_of_kb and folder.name == PRIVATE_FOLDER else folder
        return base / Path(value).expanduser()

    def _find(self, name: str) -> tuple[Any, Path | None]:
        """(the value, the file it is in); None for both where there is none."""
        for path in (self._local, self._user):
            value: Any = self._read(path)
            for part in _parts(name):
                value = value.get(part) if isinstance(value, dict) else None
            if value is not None:
                return _typed(name, value, path), path
        return None, None

    def rows(self, table: str) -> tuple[dict[str, dict[str, Any]], dict[str, UsageError]]:
        """The rows of a table of the KB's own file, such as `remote`, and what is wrong with those that are unsound.

        Raises:
            UsageError: when the file cannot be read, or this is no table.
        """
        found = self._read(self._local).get(table, {})
        if not isinstance(found, dict):
            _typed(table, found, self._local)
        sound: dict[str, dict[str, Any]] = {}
        wrong: dict[str, UsageError] = {}
        for name, row in found.items():
            place = f"{table}.{name}"
            try:
                if not isinstance(row, dict):
                    raise UsageError(f"{self._local}: {_line_of(self._local, place)}'{place}' is a table, not {row!r}",
                                     "mend the file, or move it away")  # fmt: skip
                for key, value in _flatten(row, place).items():
                    if _kind_of(key) is not None:
                        _typed(key, value, self._local)
                sound[name] = row
            except UsageError as error:
                wrong[name] = error
        return sound, wrong

    def items(self) -> dict[str, Any]:
        """Every setting in force by dotted name."""
        merged: dict[str, Any] = {}
        for path in (self._user, self._local):
            merged.update(_flatten(self._read(path)))
        return dict(sorted(merged.items()))

    def problems(self) -> list[str]:
        """What is wrong with the KB's own file: names that are no setting, values of another type.

        Raises:
            UsageError: when the file cannot be read at all.
        """
        items = _flatten(self._read(self._local)).items()
        problems = {name: _problem(name, value) for name, value in items}
        return [f"{_line_of(self._local, name)}{problem}" for name, problem in problems.items() if problem]

    def faults(self) -> list[str]:
        """What is wrong with the KB's own file and the user's: one that cannot be read, values of another type."""
        faults = []
        for path in (self._local, self._user):
            try:
                items = _flatten(self._read(path)).items()
            except UsageError as error:
                faults.append(error.message)
                continue
            wrong = ((name, _problem(name, value)) for name, value in items if _is_known(name))
            faults += [f"{path}: {_line_of(path, name)}{problem}" for name, problem in wrong if problem]
        return faults

    def set(self, name: str, value: Any, *, user_wide: bool = False) -> None:
        """Set (or with None remove) a value; see `set_all`."""
        self.set_all({name: value}, user_wide=user_wide)

    def set_all(self, values: Mapping[str, Any], *, user_wide: bool = False) -> None:
        """Set (or with None remove) values, all of them or none.

        The file's comments, its place behind a link, and its mode are kept.

        Raises:
            UsageError: when the file cannot be read as TOML, or there is no user-wide file here.
            StorageError: when the system refuses to write it.
            Locked: when somebody else keeps writing it.
            NoKnowledgeBase: when the KB has gone since it was opened.
        """
        path = self._user if user_wide else self._local
        if path is None:
            raise UsageError("there is no place for user-wide settings here")
        path = path.resolve()  # what a link stands for is changed, and the link stays
        with storing(path):
            if self._in_kb and not user_wide:
                check_is_there(self._local.parent)
            else:  # the user's own folder of settings is made with the first of them
                make_folders(path.parent)
            # From reading to writing, so that of two changes at once none is lost.
            with writer_lock(path.with_name(f"{path.name}.lock")):
                data = read_bounded(path, MAX_STATE_BYTES) if path.exists() else b""
                for name, value in values.items():
                    data = _changed(data, str(path), name, value)
                write_atomically(path, data, keep_mode=True)

    def _read(self, path: Path | None) -> dict[str, Any]:
        if path is None or path == _NOTHING:
            return {}
        try:
            return _parse_toml(read_bounded(path, MAX_STATE_BYTES), str(path))
        except (FileNotFoundError, NotADirectoryError):
            if self._in_kb and path == self._local:
                check_is_there(path.parent)
            return {}


def _changed(data: bytes, file: str, name: str, value: Any) -> bytes:
    """The text of a settings file with a value set, or removed."""
    for given in (name, *(value if isinstance(value, list) else [value])):
        check_unicode(str(given))
    _parse_toml(data, file)
    tomlkit = lazy_module("tomlkit")
    tree = tomlkit.parse(data.decode("utf-8"))
    table, parts = tree, _parts(name)
    for part in parts[:-1]:
        if not isinstance(table.get(part), dict):
            table[part] = tomlkit.table()
        table = table[part]
    if value is None:
        table.pop(parts[-1], None)
    else:
        table[parts[-1]] = value
    text: str = tomlkit.dumps(tree)
    return text.encode("utf-8")


def _parts(name: str) -> list[str]:
    """The keys that a dotted name leads through: as in git, a branch's own name may have dots in it."""
    parts = name.split(".")
    if parts[0] in OPEN_KEYS and len(parts) > 3:
        return [parts[0], ".".join(parts[1:-1]), parts[-1]]
    return parts


def parse_setting(name: str, text: str) -> Any:
    """The typed value of a setting given as text.

    Raises:
        UsageError: when the setting is unknown or the text is not of its type.
    """
    kind = check_setting(name)
    if kind is bool:
        if text.lower() not in ("true", "false", "yes", "no", "on", "off", "1", "0"):
            raise UsageError(f"'{name}' is true or false, not '{text}'")
        return text.lower() in ("true", "yes", "on", "1")
    if name in _WORDS and text not in _WORDS[name]:
        raise UsageError(_problem(name, text))
    return text


def check_setting(name: str) -> type:
    """The type of a setting; raises UsageError when there is none of this name."""
    kind = _kind_of(name)
    if kind is None:
        raise UsageError(f"'{name}' is not a setting", _allowed(name))
    return kind


def _typed(name: str, value: Any, path: Path | None) -> Any:
    """The value, when it has the type of the setting: a protection in the wrong words must not be off in silence."""
    if _kind_of(name) is not type(value) and (problem := _problem(name, value)):
        hint = f"run: arbor config {name} VALUE" if _kind_of(name) else "mend the file, or move it away"
        raise UsageError(f"{path}: {_line_of(path, name)}{problem}", hint)
    return value


def _kind_of(name: str) -> type | None:
    """The type of a setting; None where there is no such setting."""
    parts = _parts(name)
    if len(parts) == 3 and parts[1] and parts[2] in OPEN_KEYS.get(parts[0], ()):
        return str
    return LOCAL_KEYS.get(name)


def _problem(name: str, value: Any) -> str:
    """What is wrong with a value in a settings file; "" for nothing."""
    kind = _kind_of(name)
    if kind is None:
        return (
            f"'{name}' is a table, not {value!r}"
            if _is_known(name)
            else f"there is no setting '{name}'; {_allowed(name)}"
        )
    if type(value) is not kind:
        return f"'{name}' is {_A_TYPE[kind]}, not {value!r}"
    if name in _WORDS and value not in _WORDS[name]:
        return f"'{name}' is auto, always or never, not '{value}'"
    return ""


def _is_known(name: str) -> bool:
    """Whether a setting, or a table of some, is called so."""
    is_table = name in OPEN_KEYS or any(key.startswith(f"{name}.") for key in LOCAL_KEYS)
    return is_table or _kind_of(name) is not None


def _allowed(name: str) -> str:
    ours = _GIT_NAMES.get(name.lower()) or next(
        (key for key in LOCAL_KEYS if _plain(key) == _plain(name)), ""
    )
    if ours:
        return f"here it is called {ours}"
    section, _, key = name.rpartition(".")
    if section == "alias":
        return f"aliases are the shell's: alias {key or 'NAME'}='arbor COMMAND'"
    if section.startswith("branch.") and key in ("remote", "merge"):
        return f"here it is called {section}.upstream"
    if hint := _GIT_HINTS.get(name.lower()):
        return hint
    section = name.partition(".")[0]
    near = [f"{section}.NAME.{key}" for key in OPEN_KEYS.get(section, ())]
    near = near or [key for key in LOCAL_KEYS if key.startswith(f"{section}.")]
    of = f" of '{section}'" if near else ""
    return f"the settings{of} are: {', '.join(near or LOCAL_KEYS)}"


def _plain(name: str) -> str:
    """A name without case, hyphens and underscores, in which people's spellings of a setting differ."""
    return name.lower().replace("-", "").replace("_", "")


def _line_of(path: Path | None, name: str) -> str:
    """`line N: ` for the line of a settings file at which a name gets its value; "" where that cannot be told.

    The parser tells no lines: the file's head is read until the name is in it, at the lines that hold its last part.
    """
    try:
        lines = path.read_text("utf-8").split("\n") if path is not None else []
    except (OSError, ValueError):
        return ""
    key = _parts(name)[-1]
    for number, line in enumerate(lines, 1):
        if key not in line or _has(lines[: number - 1], name) is not False:
            continue
        heads = (
            _has(lines[:end], name) for end in range(number, min(len(lines), number + _VALUE_LINES_MAX) + 1)
        )
        if next((found for found in heads if found is not None), False):
            return f"line {number}: "
    return ""


def _has(lines: list[str], name: str) -> bool | None:
    """Whether lines give a name a value; None where they end within one."""
    try:
        return name in _flatten(parse_toml("\n".join(lines)))
    except ValueError:
        return None


def _flatten(table: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """The values by dotted name below a place, in order. Tables may lie in each other by the thousand."""
    flat: dict[str, Any] = {}
    waiting: list[tuple[str, Any]] = [(place, table)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            inner = [(f"{name}.{key}" if name else key, each) for key, each in value.items()]
            waiting += reversed(inner)
        else:
            flat[name] = value
    return flat
