"""The tutorial is typed as it stands: its shell lines in a shell, its Python lines in one session beside it.

Of the tutorial, a line that is nothing but a command of arbor is run in this process: forty starts of Python are most
of what the page would take, and the README's session has its own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from click.testing import CliRunner

from arbor.cli.app import arbor
from tests.cli.harness import REPOSITORY

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to type into")
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL_SIGNS = re.compile(r"[|&;<>$`*?(){}\\]")


def blocks(page: str) -> list[tuple[str, str]]:
    return BLOCK.findall((REPOSITORY / page).read_text(encoding="utf-8"))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A machine with `arbor` on the PATH and nobody's settings."""
    program = tmp_path / "bin" / "arbor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m arbor "$@"\n')
    program.chmod(0o755)
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(REPOSITORY),
        "ARBOR_AUTHOR_NAME": "Ada Lovelace",
        "ARBOR_AUTHOR_EMAIL": "ada@example.org",
        "LANG": "C.UTF-8",
    }


def typed(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def type_lines(lines: list[str], folder: Path, environment: dict[str, str]) -> Path:
    """Type lines in a shell, each of which must succeed; the folder that the shell ends in."""
    text = "\n".join(lines)
    script = f'set -e\ncd "{folder}"\n{text}\npwd > "$HOME/where"\n'
    done = subprocess.run(
        ["bash", "-c", script], check=False, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
    return Path((Path(environment["HOME"]) / "where").read_text().strip())


def is_command(line: str) -> bool:
    """Whether a line is one command of arbor, with nothing in it for the shell to do but to part words."""
    return line.startswith("arbor ") and SHELL_SIGNS.search(line) is None


def run_lines(lines: Iterator[str], environment: dict[str, str]) -> None:
    for line in lines:
        done = CliRunner().invoke(arbor, shlex.split(line)[1:], env=environment)
        assert done.exit_code == 0, f"{line}\n{done.output}"


def test_every_line_of_the_tutorial(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "desk").mkdir()
    folder, names = tmp_path / "desk", {"__name__": "tutorial"}
    for language, block in blocks("docs/tutorial.md"):
        monkeypatch.chdir(folder)
        if language == "python":
            exec(compile(block, "docs/tutorial.md", "exec"), names)
            continue
        for here, lines in groupby(typed(block), is_command):
            if here:
                run_lines(lines, environment)
            else:
                folder = type_lines(list(lines), folder, environment)
                monkeypatch.chdir(folder)
    assert folder.name == "kb"


def test_the_session_and_the_library_of_the_readme(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = blocks("README.md")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "borrowing.md").write_text(
        "# Borrowing\n\nHow does borrowing work? By reference.\n"
    )
    session = next(block for language, block in found if language == "console" and "arbor init" in block)
    assert type_lines(typed(session), tmp_path, environment).name == "notes"
    library = next(block for language, block in found if language == "python")
    (tmp_path / "other" / "notes").mkdir(parents=True)
    (tmp_path / "other" / "notes" / "b.md").write_text("# B\n\nborrowing\n")
    monkeypatch.chdir(tmp_path / "other")
    exec(compile(library, "README.md", "exec"), {"__name__": "readme"})
