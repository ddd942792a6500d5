"""Hooks in `.arbor/hooks`: one may stop a commit, the others follow it, and none is ever cloned."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import arbor

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
