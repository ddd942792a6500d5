"""git repositories as sources of documents: their addresses, and the bytes behind one, read with the `git` program."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from arbor.errors import RemoteError, UsageError

GIT_SCHEME = "git+file"
_GIT_TIMEOUT_S = 600


class GitRefused(RemoteError):
    """git ran, and does not give what it was asked for."""


def read_git_source(uri: str) -> bytes:
    """The file behind `git+file:///path@COMMIT#NAME`, the source URI of what was imported from git.

    Raises:
        UsageError: when it is not one.
        RemoteError: when git is not installed, or has no such file at that commit.
    """
    fs_path, commit = parse_git_address(urlsplit(uri)._replace(fragment="").geturl())
    name = unquote(urlsplit(uri).fragment)
    if not name:
        raise UsageError(f"'{uri}' names no file of its repository")
    folder = run_git(fs_path, "rev-parse", "--show-prefix").decode("utf-8", "surrogateescape").strip("\n")
    return run_git(fs_path, "cat-file", "blob", f"{commit}:{folder}{name}")


def is_gone(uri: str) -> bool:
    """Whether nothing lies behind an address that git refused: no folder, no repository, or no such file in it.

    False where that cannot be told, as of a folder that may not be read.
    """
    fs_path, _ = parse_git_address(urlsplit(uri)._replace(fragment="").geturl())
    try:
        os.scandir(fs_path).close()
        run_git(fs_path, "rev-parse", "--git-dir")
    except (FileNotFoundError, NotADirectoryError):
        return True
    except GitRefused:
        places = [*(folder / ".git" for folder in (fs_path, *fs_path.parents)), fs_path / "HEAD"]
        return not any(os.path.lexists(place) for place in places)
    except (OSError, RemoteError):
        return False
    return True


def parse_git_address(address: str) -> tuple[Path, str]:
    """(folder, revision) of `git+file:///path@REVISION`; raises UsageError for anything else.

    A path may hold an `@`, and so may a revision (`main@{1}`): the longest path that is a folder counts. In what an
    import records the path has its `@` escaped, so that it is read in one way wherever it is.
    """
    parts = urlsplit(address)
    if parts.scheme != GIT_SCHEME or parts.netloc not in ("", "localhost") or not parts.path:
        raise UsageError(
            f"'{address}' is not a git address", "write it like git+file:///path/to/repository@main"
        )
    path, revision = _split_revision(parts.path)
    if not revision or revision.startswith("-") or any(ord(char) < 32 for char in revision):
        raise UsageError(f"'{revision}' is not a revision")
    return Path(path), revision


def _split_revision(escaped: str) -> tuple[str, str]:
    """(path, revision) of the path of an address; HEAD where it names none."""
    places = [at for at, char in enumerate(escaped) if char == "@" and escaped[at - 1 : at] not in ("", "/")]
    splits = [(unquote(escaped[:at]), unquote(escaped[at + 1 :])) for at in reversed(places)]
    whole = unquote(escaped), "HEAD"
    found = next((split for split in splits if os.path.isdir(split[0])), None)
    if found is None:
        found = whole if not splits or os.path.isdir(whole[0]) else splits[0]
    return found


def git_command(fs_path: Path, *words: str) -> list[str]:
    """A git command that runs nothing of the repository: no hooks, no file system monitor, no textconv."""
    return ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never",
            "-C", str(fs_path), *words]  # fmt: skip


def run_git(fs_path: Path, *words: str) -> bytes:
    """The standard output of a git command; raises RemoteError when it fails or git is not installed."""
    try:
        done = subprocess.run(
            git_command(fs_path, *words), capture_output=True, timeout=_GIT_TIMEOUT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise RemoteError("git is not installed", "install git to import from its repositories") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RemoteError(f"git could not read '{fs_path}'") from error
    if done.returncode:
        reason = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"])[-1]
        raise GitRefused(f"git could not read '{fs_path}': {reason.removeprefix('fatal: ')}")
    return done.stdout


def iter_blobs(git: Sequence[str], oids: Iterable[str]) -> Iterator[bytes]:
    """The blobs of these oids, one after the other through one process.

    Args:
        git: The program, and what tells it which repository.
        oids: As hexadecimal digits.

    Raises:
        RemoteError: when git is not installed, or does not give a blob whole.
    """
    try:
        process = subprocess.Popen(
            [*git, "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise RemoteError("git cannot be run", "install git") from error
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for oid in oids:
            with contextlib.suppress(BrokenPipeError):  # then it answers nothing either
                process.stdin.write(f"{oid}\n".encode())
                process.stdin.flush()
            head = process.stdout.readline().split()
            size = int(head[2]) if len(head) == 3 and head[1] == b"blob" else -1
            data = process.stdout.read(max(size, 0))
            if len(data) != size:
                raise RemoteError(f"git could not read object {oid}")
            process.stdout.read(1)
            yield data
    finally:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.wait()
