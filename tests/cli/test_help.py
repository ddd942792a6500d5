"""Every command and option says what it is for, and the overview is true."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

import click
import pytest

from arbor.cli.app import arbor
from arbor.cli.catalogue import ELSEWHERE, NAMES, SECTIONS
from arbor.cli.command import ArborCommand
from tests.cli.harness import REPOSITORY, Cli

OTHER_ANSWERS = {"prove"}  # a proof, which has a form of its own
MODULES = sorted(
    path.stem for path in (REPOSITORY / "arbor/cli/commands").glob("*.py") if path.stem != "__init__"
)


def load(name: str) -> ArborCommand:
    found = importlib.import_module(f"arbor.cli.commands.{name}").command
    assert isinstance(found, ArborCommand)
    return found


def options(name: str) -> Iterator[click.Option]:
    for param in load(name).params:
        if isinstance(param, click.Option):
            yield param


def test_the_overview_lists_every_command_once() -> None:
    assert sorted(NAMES) == MODULES


def test_other_words_are_no_commands() -> None:
    assert not ELSEWHERE.keys() & set(NAMES)
    assert "rev-list" in ELSEWHERE, "what resembles it is reset"


def test_what_they_lead_to_is_there() -> None:
    for hint in ELSEWHERE.values():
        for name, rest in re.findall(r"\barbor ([a-z]+)\b([^,;]*)", hint):
            if name in NAMES:
                known = {
                    spelling
                    for option in options(name)
                    for spelling in (*option.opts, *option.secondary_opts)
                }
                typed = re.findall(r"(?<=\s)--?[A-Za-z][a-z-]*", rest)
                assert known.issuperset(typed), hint
            else:
                assert not hint.startswith(f"run: arbor {name}"), hint


@pytest.mark.parametrize("name", NAMES)
def test_a_command_has_its_name_and_help(name: str) -> None:
    command = load(name)
    assert command.name == name
    assert command.help
    first = command.help.split("\n\n")[0]
    assert first.endswith(".")
    assert first[0].isupper()


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_help(name: str) -> None:
    silent = [option.opts for option in options(name) if not option.help]
    assert silent == []


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_has_a_name_for_people(name: str) -> None:
    unnamed = [p.name for p in load(name).params if isinstance(p, click.Argument) and not p.metavar]
    assert unnamed == []


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_eighty_columns(name: str, cli: Cli) -> None:
    for flag in ("-h", "--help"):
        shown = cli(name, flag).out
        assert shown.startswith(f"Usage: arbor {name}")
        assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_the_overview_fits_eighty_columns_and_needs_no_knowledge_base(cli: Cli) -> None:
    shown = cli("--help").out
    assert all(f"  {entry.name} " in shown for _, entries in SECTIONS for entry in entries)
    assert max(map(len, shown.splitlines())) <= 80
    assert cli().out == shown
    assert cli("-h").out == shown


def test_every_global_option_has_help() -> None:
    assert [p.opts for p in arbor.params if isinstance(p, click.Option) and not p.help] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OTHER_ANSWERS])
def test_every_command_answers_in_json_and_says_with_which_keys(name: str) -> None:
    assert any("--json" in option.opts for option in options(name))
    assert load(name).fields
    assert all(load(name).fields.values())


def test_help_is_asked_for_as_in_git(cli: Cli) -> None:
    assert cli("help").out == cli("help", "-h").out == cli("help", "help").out == cli("--help").out
    assert cli("help", "log").out == cli("log", "--help").out
    assert cli("help", "remote", "add").out == cli("remote", "--help").out
    assert cli("help", "rehydrate-cold").out == cli("rehydrate-cold", "--help").out
    assert "did you mean 'log'?" in cli("help", "lgo", code=2).err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("STATUS",), "did you mean 'status'?"),
        (("clean",), "no file that is not tracked is removed; arbor status -u lists them"),
        (("search", "x", "--mod", "STRICT"), "did you mean '--mode'?"),
        (("merge", "--resume"), "run: arbor merge --help"),  # it is not much like --offline
        (("gc", "--compact"), "run: arbor gc --help"),
        (("remote", "add", "origin"), "run: arbor remote --help"),
    ],
)
def test_a_mistyped_word_is_answered_with_what_is_like_it(
    words: tuple[str, ...], hint: str, cli: Cli
) -> None:
    assert cli(*words, code=2).err.splitlines()[-1] == f"hint: {hint}"


def test_an_action_that_is_missing_is_asked_for_by_its_names(cli: Cli) -> None:
    assert cli("bundle", code=2).err.startswith("error: say which: one of create, verify, list\n")


def test_a_number_of_commits_is_blamed_for_itself(cli: Cli) -> None:
    assert "'-n' / '--max-count': -5 is not in the range x>=0" in cli("log", "-n", "-5", code=2).err
    assert "'few' is no whole number" in cli("log", "-n", "few", code=2).err
