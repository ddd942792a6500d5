"""What `arbor diff` prints is a patch that git applies."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.harness import Cli, cli, steady

__all__ = ["cli", "steady"]

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
LONG = "".join(f"line {number} of a text\n" for number in range(40))
BEFORE = {
    "edited.md": b"one\ntwo\nthree\n",
    "gone.md": b"gone\n",
    "moved.md": LONG.encode(),
    "moved and edited.md": LONG.replace("text", "tale").encode(),
    "crlf.md": b"one\r\ntwo\r\n",
    "marked.md": b"\xef\xbb\xbfone\ntwo\n",
    "no mark.md": b"one\ntwo\n",
    "默克尔.md": "叶\n".encode(),
    'say "hi".txt': b"hi\n",
    "no end.md": b"no line feed",
}
AFTER = {
    "edited.md": b"one\n2\nthree\n",
    "new/empty.md": b"",
    "new/here it is.md": b"here\nno line feed",
    "there/moved.md": LONG.encode(),
    "moved, edited.md": LONG.replace("text", "tale").encode() + b"and more\n",
    "crlf.md": b"one\r\n2\r\n",
    "marked.md": b"\xef\xbb\xbfone\n2\n",
    "no mark.md": b"\xef\xbb\xbfone\ntwo\n",
    "默克尔.md": "根\n".encode(),
    'say "hi".txt': b"ho\n",
    "no end.md": b"a line feed\n",
}


def put(folder: Path, files: dict[str, bytes]) -> None:
    for name in BEFORE:
        (folder / name).unlink(missing_ok=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def git(folder: Path, *words: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    outside = {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    return subprocess.run(
        ["git", *words], cwd=folder, input=data, capture_output=True, check=False, env=os.environ | outside
    )


@pytest.fixture
def changed(cli: Cli, tmp_path: Path) -> Cli:
    cli("init")
    for files in (BEFORE, AFTER):
        put(cli.folder, files)
        cli("add", ".")
        cli("commit", "-m", "files")
    return cli


@pytest.mark.parametrize(
    ("words", "before", "after"),
    [(("HEAD~1..HEAD",), BEFORE, AFTER), (("HEAD", "HEAD~1"), AFTER, BEFORE)],
)
def test_git_applies_a_patch(
    words: tuple[str, ...], before: dict[str, bytes], after: dict[str, bytes], changed: Cli, tmp_path: Path
) -> None:
    patch = changed("diff", *words)
    assert "rename to" in patch.out
    other = tmp_path / "other"
    other.mkdir()
    put(other, before)
    done = git(other, "apply", "-", data=patch.raw)
    assert (done.returncode, done.stderr) == (0, b"")
    assert files_of(other) == after
