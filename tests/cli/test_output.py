"""Colours, the pager, progress: what depends on who is at the other end."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import struct
import subprocess
import termios
import time
from collections.abc import Mapping
from fcntl import ioctl
from pathlib import Path

import pytest

from arbor.cli.output import Output
from arbor.cli.pager import Paged, PagerClosed, find_pager
from arbor.cli.progress import format_progress, progress_bar
from tests.cli.harness import Cli, command_line, process_environment

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def run_on_terminal(
    folder: Path, *words: str, env: Mapping[str, str] | None = None, rows: int = 24, columns: int = 80
) -> tuple[int, str]:
    """Run arbor with standard output and error on a terminal; (exit code, what the terminal got)."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**process_environment(folder), "TERM": "xterm-256color", **(env or {})}
    process = subprocess.Popen(
        command_line(*words), cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    pieces = []
    with contextlib.suppress(OSError):  # how Linux says that nobody holds the other end any more
        while piece := os.read(ours, 65536):
            pieces.append(piece)
    os.close(ours)
    return process.wait(timeout=60), b"".join(pieces).decode().replace("\r\n", "\n")


def test_a_pipe_gets_no_colours(kb: Cli) -> None:
    assert COLOUR.search(kb("log").out) is None


def test_colours_on_request(kb: Cli) -> None:
    assert COLOUR.search(kb("--color", "always", "log").out)
    assert COLOUR.search(kb("log", "--color=always").out)
    assert COLOUR.search(kb("log", "--color=always", env={"NO_COLOR": "1"}).out)


def test_no_colours_for_scripts_even_on_request(kb: Cli) -> None:
    kb.write("new.md", "# New\n")
    assert kb("--color", "always", "status", "--porcelain").out == "?? new.md\n"
    assert COLOUR.search(kb("--color", "always", "status", "--json").out) is None


def test_forcing_variables_of_other_tools_mean_nothing(kb: Cli) -> None:
    assert COLOUR.search(kb("log", env={"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}).out) is None


def test_a_setting_turns_colours_on_and_the_option_wins(kb: Cli) -> None:
    kb("config", "color.ui", "always")
    assert COLOUR.search(kb("log").out)
    assert COLOUR.search(kb("--color", "never", "log").out) is None


def test_colours_only_colour(kb: Cli) -> None:
    kb.write("notes/merkle.md", "# Changed\n")
    for words in (("log", "--stat"), ("show",), ("diff",), ("status",), ("search", "leaf"), ("ls", "-l")):
        assert COLOUR.sub("", kb("--color", "always", *words).out) == kb(*words).out


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["plain", "NO_COLOR", "dumb"])
def test_a_terminal_gets_colours_unless_it_says_no(env: dict[str, str], kb: Cli) -> None:
    code, shown = run_on_terminal(kb.folder, "status", env=env)
    assert code == 0
    assert bool(COLOUR.search(shown)) is (env == {})
    assert "On branch main" in shown


def test_a_terminal_gets_readable_json(kb: Cli) -> None:
    _, shown = run_on_terminal(kb.folder, "status", "--json")
    assert shown.startswith('{\n  "schema": "arbor.status/1",\n')


def test_lines_follow_the_width_of_the_terminal(kb: Cli) -> None:
    for columns, taken in ((60, 60), (300, 120)):
        _, shown = run_on_terminal(kb.folder, "search", "leaf", columns=columns)
        first = COLOUR.sub("", shown).splitlines()[0]
        assert len(first) == taken
        assert first.endswith("STRICT")


def test_why_a_hit_is_proven_in_part_is_told_within_the_width(kb: Cli) -> None:
    _, shown = run_on_terminal(kb.folder, "search", "path:notes/merkle.md", columns=50)
    lines = COLOUR.sub("", shown).splitlines()
    assert [line for line in lines if "partly proven" in line]
    assert [line for line in lines if len(line) > 50] == []


def test_what_fits_the_screen_is_not_paged(kb: Cli, tmp_path: Path) -> None:
    mark = tmp_path / "paged"
    code, shown = run_on_terminal(kb.folder, "log", env={"PAGER": f"touch {mark}"})
    assert code == 0
    assert "First notes" in shown
    assert not mark.exists()


def test_what_does_not_fit_is_paged(kb: Cli) -> None:
    code, shown = run_on_terminal(kb.folder, "show", env={"PAGER": "sed s/^/paged:/"}, rows=10)
    assert code == 0
    assert {COLOUR.sub("", line).startswith("paged:") for line in shown.splitlines()} == {True}
    assert "默克尔树把数据块的散列组织成一棵树。" in shown


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("--no-pager", "show"), {}),
        (("show", "--no-pager"), {}),
        (("show",), {"ARBOR_PAGER": "cat"}),
        (("show",), {"ARBOR_PAGER": ""}),
        (("show",), {"PAGER": "no-such-pager-anywhere"}),
    ],
    ids=["before", "after", "cat", "empty", "missing"],
)
def test_paging_can_be_turned_off(words: tuple[str, ...], env: dict[str, str], kb: Cli) -> None:
    code, shown = run_on_terminal(kb.folder, *words, env={"PAGER": "sed s/^/paged:/", **env}, rows=10)
    assert code == 0
    assert "paged:" not in shown
    assert "默克尔树把数据块的散列组织成一棵树。" in shown


def test_a_setting_turns_paging_off(kb: Cli) -> None:
    kb("config", "core.pager", "false")
    _, shown = run_on_terminal(kb.folder, "show", env={"PAGER": "sed s/^/paged:/"}, rows=10)
    assert "paged:" not in shown


def test_leaving_the_pager_early_is_no_error(kb: Cli) -> None:
    kb.write("long.md", "a line\n" * 50_000)
    kb.commit("long")
    code, shown = run_on_terminal(kb.folder, "show", env={"PAGER": "head -n 3"}, rows=10)
    assert code == 0
    assert len(shown.splitlines()) == 3


def test_which_pager() -> None:
    assert find_pager({"ARBOR_PAGER": "sed -n p", "PAGER": "cat"}) == ["sed", "-n", "p"]
    assert find_pager({"PAGER": "cat"}) == []
    assert find_pager({"PAGER": 'sed "'}) == []


def test_a_pager_that_cannot_run_leaves_the_output_alone() -> None:
    terminal = io.BytesIO()
    paged = Paged(["/"], 3, 80, terminal)
    for number in range(9):
        paged.write(f"{number}\n", f"{number}\n".encode())
    paged.close()
    assert terminal.getvalue() == b"0\n1\n2\n3\n4\n5\n6\n7\n8\n"


def test_wrapped_lines_count_as_the_rows_they_take() -> None:
    terminal = io.BytesIO()
    paged = Paged(["false"], 4, 10, terminal)
    paged.write("x" * 30 + "\n", b"")
    assert paged._process is None

    def write_more() -> None:
        for _ in range(100_000):
            paged.write("more\n", b"more\n" * 100)

    with pytest.raises(PagerClosed):
        write_more()
    paged.close()


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    terminal, pipe = (
        Terminal(io.BytesIO(), encoding="utf-8"),
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8"),
    )
    for stream in (terminal, pipe):
        with progress_bar(stream, "adding") as progress:
            progress(1, 4)
            progress(3, 4)
    drawn = terminal.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert "1/4  25%" in drawn
    assert "3/4  75%" in drawn
    assert drawn.endswith("\r\x1b[K")
    assert pipe.buffer.getvalue() == b""  # type: ignore[attr-defined]


def test_quick_work_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    terminal = Terminal(io.BytesIO(), encoding="utf-8")
    with progress_bar(terminal, "adding") as progress:
        progress(1, 4)
    assert terminal.buffer.getvalue() == b""  # type: ignore[attr-defined]


def test_progress_line() -> None:
    assert format_progress("adding", 1, 2) == f"adding  {'━' * 15}{'─' * 15}  1/2  50%"
    assert format_progress("adding", 7, 4).endswith("4/4  100%")


def write_editor(folder: Path, script: str) -> str:
    """An editor that does what a shell script says with the file `$1`."""
    editor = folder / "editor.sh"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    return str(editor)


def test_a_message_is_written_in_an_editor(kb: Cli, tmp_path: Path) -> None:
    kb.write("new.md", "# New\n")
    kb("add", ".")
    editor = write_editor(
        tmp_path, f'cp "$1" {tmp_path}/seen.md; printf "From the editor\\n\\nBody\\n# a remark\\n" > "$1"'
    )
    code, shown = run_on_terminal(kb.folder, "commit", env={"EDITOR": "false", "ARBOR_EDITOR": editor})
    assert code == 0
    assert "From the editor" in shown
    assert kb("log", "--json", "-1").json["commits"][0]["message"] == "From the editor\n\nBody"
    assert "#   added  new.md" in (tmp_path / "seen.md").read_text()


@pytest.mark.parametrize("script", ["true", 'printf "# only remarks\\n" > "$1"'], ids=["unchanged", "empty"])
def test_an_empty_message_stops_the_commit(script: str, kb: Cli, tmp_path: Path) -> None:
    kb.write("new.md", "# New\n")
    kb("add", ".")
    code, shown = run_on_terminal(kb.folder, "commit", env={"EDITOR": write_editor(tmp_path, script)})
    assert code == 2
    assert "the commit message is empty" in shown
    assert len(kb("log", "--json").json["commits"]) == 1


def test_amending_starts_from_the_message_that_is_there(kb: Cli, tmp_path: Path) -> None:
    editor = write_editor(tmp_path, 'sed -i "s/First/Second/" "$1"')
    code, _ = run_on_terminal(kb.folder, "commit", "--amend", env={"VISUAL": editor})
    assert code == 0
    assert [commit["subject"] for commit in kb("log", "--json").json["commits"]] == ["Second notes"]


def test_the_answer_and_what_stands_beside_it_are_in_order_in_one_file(tmp_path: Path) -> None:
    both, out = tmp_path / "both.txt", Output()
    with both.open("a") as answer, both.open("a") as beside:
        out.stdout, out.stderr = answer, beside
        out.line("one")
        out.note("two")
        assert both.read_text() == "one\ntwo\n"
        out.line("three")
        out.warning("four")
        out.error("five", "six", 1)
        assert both.read_text() == "one\ntwo\nthree\nwarning: four\nerror: five\nhint: six\n"
