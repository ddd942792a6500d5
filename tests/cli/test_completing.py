"""What TAB offers, asked the way the shells ask."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from arbor.cli.catalogue import NAMES
from tests.cli.harness import Cli, command_line, process_environment, run_process


def complete(folder: Path, line: str) -> list[str]:
    """The words offered at the end of a line, as fish asks for them."""
    words = line.split(" ")
    env = {"_ARBOR_COMPLETE": "fish_complete", "COMP_WORDS": line, "COMP_CWORD": words[-1]}
    done = run_process(folder, env=env)
    assert done.stderr == b""
    return [
        entry.split(",", 1)[1].split("\t")[0] for entry in done.stdout.decode().splitlines() if "," in entry
    ]


def test_commands(tmp_path: Path) -> None:
    assert set(NAMES) <= set(complete(tmp_path, "arbor "))
    assert complete(tmp_path, "arbor stat") == ["status"]


def test_options(tmp_path: Path) -> None:
    assert "--porcelain" in complete(tmp_path, "arbor status --")
    assert "--no-pager" in complete(tmp_path, "arbor --")


def test_revisions_and_documents(kb: Cli) -> None:
    assert complete(kb.folder, "arbor log ma") == ["main"]
    assert complete(kb.folder, "arbor cat notes/m") == ["notes/merkle.md"]
    assert complete(kb.folder / "notes", "arbor cat p") == ["proofs.md"]
    assert complete(kb.folder, "arbor cat nothing") == ["nothing"]
    kb("tag", "notes-1")
    assert complete(kb.folder, "arbor log main..not") == ["main..notes-1"]
    assert complete(kb.folder, "arbor diff main...ma") == ["main...main"]
    for command in ("diff", "log", "show", "reset"):
        assert complete(kb.folder, f"arbor {command} notes") == [
            "notes-1",
            "notes/merkle.md",
            "notes/proofs.md",
        ]


def test_what_is_staged_and_what_is_to_be_added(kb: Cli) -> None:
    kb.write("notes/staged.md", "new\n")
    kb("add", "notes/staged.md")
    kb.write("notes/more.md", "new\n")
    assert complete(kb.folder, "arbor rm notes/s") == ["notes/staged.md"]
    assert complete(kb.folder, "arbor add notes/m") == ["notes/m"]  # a file, which the shell completes


def test_remotes(kb: Cli) -> None:
    kb("remote", "add", "origin", "../there")
    assert complete(kb.folder, "arbor push or") == ["origin"]
    assert complete(kb.folder, "arbor fetch ") == ["origin"]
    assert complete(kb.folder, "arbor push origin ma") == ["main"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_the_fish_script_keeps_what_follows_a_comma(kb: Cli, tmp_path: Path) -> None:
    kb.write("a, b.md", "a\n")
    kb.commit("a comma")
    program = tmp_path / "bin/arbor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command_line())} "$@"\n')
    program.chmod(0o755)
    environment = process_environment(kb.folder)
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    ask = "arbor completion fish | source; complete -C 'arbor cat a'; complete -C 'arbor stat'"
    done = subprocess.run(["fish", "--no-config", "-c", ask], cwd=kb.folder, env=environment, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert done.stdout.splitlines() == ["a, b.md", "status\tShow what is staged, changed and untracked"]


def test_outside_of_a_knowledge_base_nothing_breaks(tmp_path: Path) -> None:
    assert complete(tmp_path, "arbor log ma") == []


def complete_in_bash(kb: Cli, bin_path: Path, word: str) -> str:
    """What bash puts on the command line for the word after `arbor cat`, as its script answers."""
    program = bin_path / "arbor"
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in command_line()) + ' "$@"\n')
    program.chmod(0o755)
    ask = (
        'eval "$(arbor completion bash)"; COMP_WORDS=(arbor cat "$0"); COMP_CWORD=2; _arbor_completion arbor; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = process_environment(kb.folder)
    environment["PATH"] = f"{program.parent}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", ask, word],
        cwd=kb.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("notes/m", "notes/merkle.md"),
        ("a", r"a\ note\,\ \'\*\'.md"),
        ('"a', "a note, '*'.md"),
        (r"a\ n", r"a\ note\,\ \'\*\'.md"),
        ("q", r"q\"uote.md"),
        ("zh", "zh/默克尔.md"),
        ("--nothing", ""),
    ],
)
def test_the_bash_script_completes_so_that_bash_reads_the_path(
    typed: str, completed: str, kb: Cli, tmp_path: Path
) -> None:
    kb.write("a note, '*'.md", "text\n")
    kb.write('q"uote.md', "text\n")
    kb.commit("odd names")
    assert complete_in_bash(kb, tmp_path / "bin", typed) == f"{completed}\n"
