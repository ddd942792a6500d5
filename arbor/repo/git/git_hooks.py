"""Shims in git's hooks folder that call `arbor hook run NAME`: installed, chained before others, and taken away."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path

from arbor.errors import IntegrityError, UsageError
from arbor.records import dataclass
from arbor.repo.git.git_bridge import exclude_file, git_top, hooks_folder
from arbor.store.files import fsync_folder, make_folders, read_bounded, write_atomically

NAMES = ("pre-commit", "post-commit", "post-merge", "post-checkout", "post-rewrite")
MARK = "# arbor hook shim"
CHAINED = ".before-arbor"
_TOLD_FILE = "cache/told"
_MAX_TOLD_BYTES = 64 * 1024
SHIM = """#!/bin/sh
{mark}: remove with `arbor hook uninstall`.
before="$0{chained}"
if [ -x "$before" ]; then "$before" "$@" || exit $?; fi
if ! command -v arbor >/dev/null 2>&1; then
  echo "arbor is not on the PATH: its {name} hook did not run" >&2; exit 0
fi
where={where}; [ -d "$where" ] || where=.
exec arbor -C "$where" hook run {name} "$@"
"""


@dataclass(frozen=True, slots=True)
class HookState:
    """One git hook: `installed`, `absent` or `foreign`, and whether another hook is chained behind ours."""

    name: str
    state: str
    chained: bool
    fs_path: Path


def shim_text(name: str, where: str = ".") -> str:
    """The shim of a hook: at most ten lines of POSIX sh.

    Args:
        name: The hook.
        where: The knowledge base's folder below the top of git's work tree.
    """
    return SHIM.format(mark=MARK, chained=CHAINED, name=name, where=shlex.quote(where))


def hook_states(fs_root: Path) -> list[HookState]:
    """What git's hooks folder holds for each hook that arbor has a shim for."""
    folder = hooks_folder(fs_root)
    states = []
    for name in NAMES:
        path = folder / name
        state = "absent" if not path.exists() else "installed" if _is_ours(path) else "foreign"
        states.append(HookState(name, state, (folder / (name + CHAINED)).exists(), path))
    return states


def install_hooks(fs_root: Path) -> list[HookState]:
    """Put the shims in place. A hook of somebody else is kept and runs first. Doing it twice changes nothing.

    Raises:
        UsageError: when this is no git repository, or a hook that was set aside before would be overwritten.
    """
    folder = hooks_folder(fs_root)
    make_folders(folder)
    where = fs_root.relative_to(git_top(fs_root)).as_posix()
    for hook in hook_states(fs_root):
        aside = folder / (hook.name + CHAINED)
        if hook.state == "foreign":
            if aside.exists() and not os.path.samefile(aside, hook.fs_path):
                raise UsageError(
                    f"{hook.fs_path} and {aside} both exist",
                    "remove one of them, then run: arbor hook install",
                )
            _set_aside(hook.fs_path, aside)
        write_atomically(hook.fs_path, shim_text(hook.name, where).encode(), executable=True)
    _exclude(fs_root)
    return hook_states(fs_root)


def _set_aside(fs_path: Path, aside: Path) -> None:
    """Give a hook its other name, and leave it the one that it has until ours takes that: it is never missing."""
    try:
        os.link(fs_path, aside, follow_symlinks=False)
    except FileExistsError:  # of a try that was cut off
        pass
    except (OSError, NotImplementedError):  # no second names here
        os.rename(fs_path, aside)


def uninstall_hooks(fs_root: Path) -> list[HookState]:
    """Take the shims away and put back what they were chained before."""
    folder = hooks_folder(fs_root)
    for hook in hook_states(fs_root):
        if hook.state != "installed":
            continue
        try:  # in one step, so that the other hook is never missing
            os.replace(folder / (hook.name + CHAINED), hook.fs_path)
        except FileNotFoundError:
            hook.fs_path.unlink()
    fsync_folder(folder)
    return hook_states(fs_root)


def note_told(folder: Path, line: str) -> None:
    """Keep what `pre-commit` told of a commit to come, so that the hook after it need not tell it again.

    Args:
        folder: The KB's private folder.
        line: What was told.
    """
    with contextlib.suppress(OSError):  # then it is told twice
        (folder / _TOLD_FILE).parent.mkdir(exist_ok=True)
        write_atomically(folder / _TOLD_FILE, line.encode(), durable=False)


def take_told(folder: Path) -> str:
    """What `pre-commit` told last, and only once: what comes of a later commit is told however it reads."""
    told = b""
    with contextlib.suppress(OSError, IntegrityError):
        told = read_bounded(folder / _TOLD_FILE, _MAX_TOLD_BYTES)
        (folder / _TOLD_FILE).unlink()
    return told.decode("utf-8", "replace")


def _is_ours(path: Path) -> bool:
    try:
        return MARK in path.read_text("utf-8", errors="replace")[:200]
    except OSError:
        return False


def _exclude(fs_root: Path) -> None:
    """`.arbor/` is local to this machine: git is told not to look at it."""
    path = exclude_file(fs_root)
    data = path.read_bytes() if path.exists() else b""
    if b".arbor/" in data.splitlines():
        return
    make_folders(path.parent)
    joint = b"" if not data or data.endswith(b"\n") else b"\n"
    write_atomically(path, data + joint + b".arbor/\n", keep_mode=True)
