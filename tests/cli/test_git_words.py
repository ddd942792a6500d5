"""What git has and arbor has not is answered with what to type instead, and that can be typed."""

from __future__ import annotations

import importlib
import re

import click
import pytest

from arbor.cli.app import arbor
from arbor.cli.catalogue import ALIASES, ELSEWHERE, NAMES
from arbor.cli.git_words import OPTIONS, REMOTE_ACTIONS
from tests.cli.harness import Cli

_TYPED = re.compile(r"\barbor ([a-z][a-z-]*)((?: (?!or |and |, )[^ ,;:)]+)*)")
HINTS = [
    *ELSEWHERE.values(),
    *REMOTE_ACTIONS.values(),
    *(hint for row in OPTIONS.values() for hint in row.values()),
]


def command(name: str) -> click.Command:
    found = importlib.import_module(f"arbor.cli.commands.{ALIASES.get(name, name)}").command
    assert isinstance(found, click.Command)
    return found


def known(options: click.Command) -> set[str]:
    return {name for param in options.params for name in (*param.opts, *param.secondary_opts)}


@pytest.mark.parametrize("hint", dict.fromkeys(HINTS))
def test_what_is_to_be_typed_is_there(hint: str) -> None:
    for name, rest in _TYPED.findall(hint):
        assert name in NAMES, hint
        typed = {word.split("=")[0] for word in rest.split() if re.match(r"--?[a-zA-Z]", word)}
        assert typed <= known(command(name)) | {"-1"}, hint


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "arbor"])
def test_what_is_there_needs_no_other_word(name: str) -> None:
    assert not OPTIONS[name].keys() & known(command(name))


def test_what_stands_before_a_command() -> None:
    assert not OPTIONS["arbor"].keys() & known(arbor)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "-p"), "staged as a whole"),
        (("clone", "--depth", "1", "x"), "--cold"),
        (("clone", "--depth=1", "x"), "--cold"),
        (("pull", "--rebase"), "--ff-only"),
        (("log", "-L1,2:a.md"), "arbor log -p -- PATH"),
        (("gc", "--prune=now"), "arbor gc --now"),
        (("gc", "--auto"), "run: arbor gc\n"),
        (("-c", "user.name=x", "log"), "arbor config NAME VALUE"),
        (("fetch", "-n"), "--dry-run"),
        (("commit", "-C", "HEAD"), "--format=%B"),
        (("log", "topic", "--not", "main"), "^main"),
        (("status", "--porcelain=v2"), "arbor status --json"),
        (("remote", "update", "--prune"), "arbor fetch --prune"),
        (("branch", "-d", "-r", "origin/x"), "arbor fetch --prune"),
        (("config", "--local", "user.name", "x"), "leave it out"),
        (("diff", "--theirs"), "MERGE_HEAD"),
        (("commit", "notes/proofs.md", "-m", "x"), "as it was in the last commit"),
        (("remote", "update"), "arbor fetch --all"),
        (("rev-parse", "HEAD"), "--format=%H"),
        (("cherry-pick", "HEAD"), "arbor restore -s REV PATH"),
        (("ls-remote",), "arbor fetch REMOTE"),
        (("switch", "-b", "x"), "arbor switch -c BRANCH"),
        (("tag", "-n5"), "-n takes no number"),
        (("diff", "-M50%"), "-M takes no number"),
        (("diff", "HEAD:notes/proofs.md"), "run: arbor diff HEAD -- notes/proofs.md"),
        (("diff", "HEAD:notes/proofs.md", "notes/proofs.md"), "run: arbor diff HEAD -- notes/proofs.md"),
    ],
)
def test_the_word_is_told(words: tuple[str, ...], told: str, kb: Cli) -> None:
    assert told in kb(*words, code=2).err
