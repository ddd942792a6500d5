"""arbor as a process: pipes that close, signals, standard streams, exit codes, what is loaded."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from arbor import errors
from arbor.cli import main
from arbor.cli.failures import describe_failure
from arbor.index import access
from arbor.kb import KnowledgeBase
from arbor.repo.work_tree.fresh_files import FreshFiles
from tests.cli.harness import Cli, command_line, process_environment, run_process


def loaded_modules(folder: Path, *words: str) -> set[str]:
    code = (
        "import sys\nfrom arbor.cli import main\nsys.argv[1:] = sys.argv[2:]\nend = main()\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)\nsys.exit(end)"
    )
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", code, "--", *words],
        cwd=folder, env=process_environment(folder), capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [("--help",), ("--version",), ()], ids=["help", "version", "nothing"])
def test_the_overview_loads_no_command(words: tuple[str, ...], tmp_path: Path) -> None:
    found = {name for name in loaded_modules(tmp_path, *words) if name.startswith("arbor.cli.commands")}
    assert found == set()


def test_a_command_loads_no_other_command(kb: Cli) -> None:
    found = {name for name in loaded_modules(kb.folder, "status") if name.startswith("arbor.cli.commands.")}
    assert found == {"arbor.cli.commands.status"}


def test_a_reader_who_leaves_is_no_error(kb: Cli) -> None:
    kb.write("long.md", "a line of some length\n" * 100_000)
    kb.commit("long")
    process = subprocess.Popen(
        command_line("cat", "long.md"), cwd=kb.folder, env=process_environment(kb.folder),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(10) == b"a line of "
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141
    process.stderr.close()


def test_a_reader_who_leaves_before_the_end_of_a_short_answer(kb: Cli) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command_line("log"), cwd=kb.folder, env=process_environment(kb.folder), stdout=writing,
        stderr=subprocess.PIPE, timeout=60, check=False,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == b""


def test_an_interrupt_ends_quietly(kb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(KnowledgeBase, "status", interrupt)
    done = kb("status", code=130)
    assert (done.out, done.err) == ("", "")


def test_an_interrupt_after_the_commit_says_that_it_was_made(
    kb: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    kb.write("more.md", "# More\n")
    kb("add", "more.md")
    before = kb("log", "-1", "--oneline").out.split()[0]
    monkeypatch.setattr(access, "follow_head", interrupt)
    done = kb("commit", "-m", "more", code=130)
    after = kb("log", "-1", "--oneline").out.split()[0]
    assert before != after
    assert done.err == f"commit {after} was made; the search index follows with the next search\n"


def test_an_interrupted_clone_says_what_is_there(kb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(KnowledgeBase, "reindex", interrupt)
        done = kb("clone", ".", "../whole", code=130)
    whole = Cli(kb.folder.parent / "whole")
    assert (
        done.err == f"the clone in {whole.folder} is whole; its search index follows with the first search\n"
    )
    assert whole("verify").code == 0
    assert whole("search", "first", "--json").json["rev"]
    with monkeypatch.context() as patched:
        patched.setattr(FreshFiles, "write", interrupt)
        done = kb("clone", ".", "../part", code=130)
    part = kb.folder.parent / "part"
    assert done.err == f"what has come so far is in '{part}': the same command goes on from there\n"
    kb("clone", ".", "../part")
    assert Cli(part)("status", "--json").json["clean"] is True


def test_an_interrupt_while_the_command_line_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib, "import_module", interrupt)
    assert main() == 130


def test_standard_input_becomes_a_document(kb: Cli) -> None:
    data = b"caf\xe9\r\nline\x00\n"
    done = run_process(kb.folder, "add", "-", "--as", "clips/in.txt", stdin=data)
    assert (done.returncode, done.stdout) == (0, b"added 1\n")
    assert (kb.folder / "clips/in.txt").read_bytes() == data
    assert run_process(kb.folder, "cat", "clips/in.txt").stdout == data


def test_porcelain_with_nul_bytes(kb: Cli) -> None:
    kb.write("a b.md", "# Spaces\n")
    kb("mv", "notes/proofs.md", "notes/über.md")
    done = run_process(kb.folder, "status", "--porcelain", "-z")
    assert done.stdout == "R  notes/über.md\0notes/proofs.md\0?? a b.md\0".encode()
    assert run_process(kb.folder, "ls", "-z").stdout.split(b"\0")[:2] == [
        b"notes/merkle.md",
        b"notes/proofs.md",
    ]


def test_names_beyond_the_locale(kb: Cli) -> None:
    done = run_process(
        kb.folder, "ls", env={"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    )
    assert done.returncode == 0
    assert b"zh/" in done.stdout


def test_a_locale_that_names_files_otherwise(kb: Cli) -> None:
    old = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    kb.write("é漢.md", "# Elsewhere\n")
    kb.commit("a name beyond ASCII")
    kb.write("ü.md", "# Über\n")
    assert run_process(kb.folder, "status", "--porcelain", "-z", env=old).stdout.decode() == "?? ü.md\0"
    assert run_process(kb.folder, "add", ".", env=old).returncode == 0
    assert kb("status", "--porcelain", "-z").out == "A  ü.md\0"
    assert run_process(kb.folder, "ls", env=old).stdout.isascii(), (
        "what is printed keeps the locale's encoding"
    )


def test_closed_streams(kb: Cli) -> None:
    for closed in (">&-", "2>&-", "<&-"):
        line = " ".join(f"'{word}'" for word in command_line("status"))
        done = subprocess.run(
            ["sh", "-c", f"{line} {closed}"], cwd=kb.folder, env=process_environment(kb.folder),
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert (closed, done.returncode, done.stderr) == (closed, 0, b"")


def test_a_bug_is_called_one(kb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a \x1b[31mtest")

    monkeypatch.setattr(KnowledgeBase, "status", broken)
    done = kb("status", code=70)
    assert done.err.splitlines() == [
        "error: a bug in arbor: ZeroDivisionError: a ␛[31mtest",
        "hint: ARBOR_DEBUG=1 shows where; please report it with what you typed",
    ]
    assert "Traceback" in kb("status", code=70, env={"ARBOR_DEBUG": "1"}).err
    assert json.loads(kb("status", "--json", code=70).err)["exit_code"] == 70


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.ArborError) and kind is not errors.ArborError
    ],
)
def test_every_error_ends_with_its_exit_code(
    kind: type[errors.ArborError], kb: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise kind("it did not work", "try this")

    monkeypatch.setattr(KnowledgeBase, "status", refuse)
    assert kb("status", code=kind.exit_code).err == "error: it did not work\nhint: try this\n"


def test_system_errors_are_put_into_words() -> None:
    full = describe_failure(OSError(28, "No space left on device", "/kb/.arbor/x"))
    assert full.message == "the disk is full: '/kb/.arbor/x'"
    assert full.exit_code == 3
    assert "free some space" in full.hint
    assert describe_failure(OSError(13, "Permission denied")).message == "permission denied"


def test_a_folder_that_is_read_only(kb: Cli) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser may write everywhere")
    (kb.folder / ".arbor").chmod(0o555)
    try:
        kb.write("new.md", "x\n")
        assert "permission denied" in kb("add", ".", code=3).err
    finally:
        (kb.folder / ".arbor").chmod(0o755)


def test_python_dash_m_and_the_exit_code(tmp_path: Path) -> None:
    done = run_process(tmp_path, "status")
    assert done.returncode == 10
    assert done.stderr.startswith(b"error: there is no knowledge base in ")
    assert run_process(tmp_path, "--version").stdout.startswith(b"arbor ")


def test_the_folder_that_one_is_in_stays_and_one_that_is_gone_is_told(kb: Cli) -> None:
    kb.write("deep/down/only.md", "alone\n")
    kb.commit("deep")
    line = shlex.join(command_line())
    script = f"cd deep/down && {line} rm only.md && {line} status -s && rmdir ../down && {line} status -s"
    done = subprocess.run(
        ["sh", "-c", script], cwd=kb.folder, env=process_environment(kb.folder), capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == "removed only.md\nD  only.md\n"
    assert "error: the folder that you are in is gone\n" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    "words",
    [("status",), ("status", "--json"), ("cat", "a.md"), ("search", "tide"), ("--help",), ("log", "--help")],
    ids=" ".join,
)
def test_an_answer_that_cannot_be_written_is_an_error_in_words(kb: Cli, words: tuple[str, ...]) -> None:
    kb.write("a.md", "# Tides\n\ntide\n")
    kb.commit("one")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command_line(*words), cwd=kb.folder, env=process_environment(kb.folder), stdout=full,
            stderr=subprocess.PIPE, timeout=60, check=False,
        )  # fmt: skip
        silent = subprocess.run(
            command_line(*words), cwd=kb.folder, env=process_environment(kb.folder), stdout=full, stderr=full,
            timeout=60, check=False,
        )  # fmt: skip
    lines = [line for line in done.stderr.decode().splitlines() if "document" not in line]
    if "--json" in words:
        assert json.loads(lines[0])["error"] == "the disk is full"
    else:
        assert (lines[0], lines[1].split()[0]) == ("error: the disk is full", "hint:")
    assert (done.returncode, silent.returncode) == (3, 3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_remarks_that_cannot_be_written_stop_nothing(kb: Cli) -> None:
    kb.write("a.md", "one\n")
    nobody = {**process_environment(kb.folder), "ARBOR_AUTHOR_NAME": ""}  # so that `commit` has a hint
    with Path("/dev/full").open("wb") as full:
        for words, code in ((("add", "."), 0), (("commit", "-m", "one"), 0), (("log", "mian"), 2)):
            done = subprocess.run(
                command_line(*words), cwd=kb.folder, env=nobody, stdout=subprocess.PIPE, stderr=full, timeout=60,
                check=False,
            )  # fmt: skip
            assert (words, done.returncode) == (words, code)
    assert kb("log", "--json").json["commits"][0]["subject"] == "one"


@pytest.mark.parametrize("end", ["/dev/full", "a pipe"])
def test_a_completion_that_nobody_takes_says_nothing(kb: Cli, end: str) -> None:
    if end == "a pipe":
        read, out = os.pipe()
        os.close(read)
    elif Path(end).exists():
        out = os.open(end, os.O_WRONLY)
    else:
        pytest.skip("there is no device that is always full")
    asked = {"_ARBOR_COMPLETE": "bash_complete", "COMP_WORDS": "arbor st", "COMP_CWORD": "1"}
    done = subprocess.run(
        command_line(), cwd=kb.folder, env={**process_environment(kb.folder), **asked}, stdout=out,
        stderr=subprocess.PIPE, timeout=60, check=False,
    )  # fmt: skip
    os.close(out)
    assert (done.returncode, done.stderr) == (1, b"")


def test_settings_of_another_user_do_not_count(kb: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after `runuser -u`, which leaves HOME as it was."""
    closed = kb.folder / "home/.config/arbor/config.toml"
    stat = Path.stat

    def refused(path: Path, **options: bool) -> os.stat_result:
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refused)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(kb.folder / "home/.config"))
    monkeypatch.setenv("ARBOR_CONFIG", "")
    kb.write("a.md", "one\n")
    assert kb("status").err.startswith("warning: your own settings do not count: you may not look for ")
    kb.commit("one")
    kb("clone", str(kb.folder), str(kb.folder / "copy"))


def test_the_null_device_holds_no_settings(kb: Cli) -> None:
    nothing = {"ARBOR_CONFIG": os.devnull}
    kb.write("a.md", "one\n")
    kb("status", env=nothing)
    assert kb("config", "--global", "--json", env=nothing).json["settings"] == {}
    kb("config", "--global", "user.name", "Ada", code=12, env=nothing)
    assert Path(os.devnull).is_char_device() or os.name == "nt"
