"""Hooks in `.arbor/hooks`: one may stop a commit, the others follow it, and none is ever cloned."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import arbor
from arbor.repo.git import hooks

REPOSITORY = Path(__file__).resolve().parents[2]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "arbor", *arguments], cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    arbor.init(tmp_path)
    (tmp_path / "a.md").write_text("# A\n")
    return tmp_path


def hook(folder: Path, name: str, script: str) -> None:
    path = folder / ".arbor/hooks" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_pre_commit_may_refuse_and_can_be_passed_by(folder: Path) -> None:
    hook(folder, "pre-commit", "echo not today; exit 1")
    run(folder, "add", ".")
    refused = run(folder, "commit", "-m", "one")
    assert refused.returncode == 13
    assert "not today" in refused.stderr
    assert "--no-verify" in refused.stderr
    assert run(folder, "commit", "-m", "one", "--no-verify").returncode == 0


def test_post_hooks_follow_and_cannot_undo(folder: Path) -> None:
    hook(folder, "post-commit", "echo seen >> seen.log; exit 3")
    run(folder, "add", "a.md")
    done = run(folder, "commit", "-m", "one", "--json")
    assert done.returncode == 0
    assert "post-commit hook ended with exit code 3" in done.stderr
    assert (folder / "seen.log").read_text() == "seen\n"
    assert done.stdout.startswith("{")


def test_a_file_that_is_not_executable_is_no_hook(folder: Path) -> None:
    (folder / ".arbor/hooks/pre-commit").write_text("#!/bin/sh\nexit 1\n")
    run(folder, "add", "a.md")
    assert run(folder, "commit", "-m", "one").returncode == 0


def test_what_a_hook_leaves_running_is_not_waited_for(folder: Path) -> None:
    hook(folder, "post-commit", "echo begun; sleep 300 & echo $! > pid")
    run(folder, "add", "a.md")
    done = hooks.run_hook(folder / ".arbor", folder, "post-commit")
    assert (done.exit_code, done.output) == (0, "begun\n")
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)  # which fails where it has ended


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc to look at processes")
def test_a_hook_that_takes_too_long_ends_with_what_it_started(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "TIMEOUT_S", 1.0)
    monkeypatch.setattr(hooks, "_has_terminal", lambda: False)
    hook(folder, "pre-commit", "sleep 300 & echo $! > pid; wait")
    done = hooks.run_hook(folder / ".arbor", folder, "pre-commit")
    assert done.exit_code == 124
    assert "was stopped" in done.output
    assert not is_running(int((folder / "pid").read_text()))


AT_A_TERMINAL = """
import fcntl, pathlib, sys, termios
from arbor.repo.git import hooks
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
folder = pathlib.Path(sys.argv[1])
print(hooks.run_hook(folder / ".arbor", folder, "pre-commit").output)
"""


def test_a_hook_may_ask_at_the_terminal(folder: Path) -> None:
    pty = pytest.importorskip("pty")
    hook(folder, "pre-commit", "read answer < /dev/tty && echo said $answer")
    master, slave = pty.openpty()
    try:
        os.write(master, b"yes\n")
        done = subprocess.run(
            [sys.executable, "-c", AT_A_TERMINAL, str(folder)], stdin=slave, capture_output=True, text=True,
            start_new_session=True, env={"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin"}, timeout=60,
            check=True,
        )  # fmt: skip
    finally:
        os.close(master)
        os.close(slave)
    assert done.stdout.strip() == "said yes"


def is_running(pid: int) -> bool:
    """Whether a process is there and no mere entry of one that ended."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.05)
    return True
