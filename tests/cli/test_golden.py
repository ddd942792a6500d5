"""Golden transcripts: whole sessions with exit codes, standard output and standard error in one text.

`ARBOR_UPDATE_GOLDEN=1 pytest tests/cli/test_golden.py` writes them anew; the difference is to be read before it is
committed. In a transcript, `$ ` begins a command, `2> ` a line of standard error, and `[exit N]` ends what failed.
Lines that begin with `#! ` are remarks. Besides `arbor` there are four commands that change files:
`write PATH TEXT`, `append PATH TEXT`, `delete PATH` and `flip PATH OFFSET`, which inverts one bit of a file.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from tests.cli.harness import Cli, Stable

REMARK = "#! "
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
UPDATE = bool(os.environ.get("ARBOR_UPDATE_GOLDEN"))  # before a fixture clears the environment
SESSIONS = sorted(GOLDEN.glob("*.txt"))


def run_session(cli: Cli, script: str) -> str:
    stable = Stable(cli.folder)
    lines: list[str] = []
    for line in script.splitlines():
        if line.startswith("$ "):
            lines += ["", line, *(stable(text) for text in run_line(cli, line[2:]))]
        elif line.startswith(REMARK):
            lines += ["", line]
    return "\n".join(lines).strip("\n") + "\n"


def run_line(cli: Cli, line: str) -> list[str]:
    name, *words = shlex.split(line)
    if name != "arbor":
        change_file(cli.folder, name, words)
        return []
    typed, _, source = line.partition(" < ")
    stdin = (cli.folder / source).read_bytes() if source else b""
    _, *words = (word.replace("\\e", "\x1b") for word in shlex.split(typed))
    done = cli.run(*words, stdin=stdin)
    shown = done.out.removesuffix("\n").split("\n") if done.out else []
    beside = [f"2> {text}".rstrip() for text in done.err.splitlines()]
    return [*shown, *beside, *([f"[exit {done.code}]"] if done.code else [])]


def change_file(folder: Path, name: str, words: list[str]) -> None:
    fs_path = folder / words[0]
    if name == "delete":
        fs_path.unlink()
        return
    fs_path.parent.mkdir(parents=True, exist_ok=True)
    if name == "flip":
        data = bytearray(fs_path.read_bytes())
        data[int(words[1])] ^= 1
        fs_path.write_bytes(data)
        return
    text = words[1].replace("\\n", "\n").replace("\\e", "\x1b")
    with fs_path.open({"write": "w", "append": "a"}[name], encoding="utf-8") as file:
        file.write(text)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.stem)
def test_session(session: Path, cli: Cli) -> None:
    expected = session.read_text(encoding="utf-8")
    found = run_session(cli, expected)
    if UPDATE:
        session.write_text(found, encoding="utf-8")
        expected = found
    assert found == expected


def test_there_are_sessions() -> None:
    assert len(SESSIONS) >= 8
