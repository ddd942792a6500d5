"""What went wrong, in words: every error as a message, a hint and an exit code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from arbor.cli.catalogue import ELSEWHERE, NAMES
from arbor.cli.safe_text import quote_path
from arbor.errors import ArborError, UsageError
from arbor.lazy import lazy_module, lazy_pattern
from arbor.records import dataclass

if TYPE_CHECKING:
    import difflib

    from arbor.cli import git_words
    from arbor.store import files
else:
    difflib = lazy_module("difflib")
    git_words = lazy_module("arbor.cli.git_words")
    files = lazy_module("arbor.store.files")

EXIT_USAGE = 2
EXIT_PARTLY = 3
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
_QUOTED = lazy_pattern(r"'(.*)' is not one of ", re.DOTALL)
_NO_INTEGER, _NO_NUMBER = "is not a valid integer range", "is no whole number"


@dataclass(frozen=True, slots=True)
class Failure:
    """What is said about an error."""

    message: str
    hint: str
    exit_code: int
    is_bug: bool = False


def describe_failure(error: BaseException) -> Failure:
    """The words for an error; anything that nobody raised on purpose is a bug in arbor."""
    if isinstance(error, ArborError):
        return Failure(error.message, error.hint, error.exit_code)
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, OSError) and error.errno:
        reason, hint = files.in_words(error)
        name = f" '{quote_path(files.asked_for(os.fsdecode(error.filename)))}'" if error.filename else ""
        return Failure(f"{reason}{':' if name else ''}{name}", hint, EXIT_PARTLY)
    return Failure(
        f"a bug in arbor: {type(error).__name__}: {error}",
        "ARBOR_DEBUG=1 shows where; please report it with what you typed",
        EXIT_BUG, is_bug=True,
    )  # fmt: skip


def _usage(error: click.ClickException) -> Failure:
    ctx = getattr(error, "ctx", None)
    hint = f"run: {ctx.command_path} --help" if ctx is not None else ""
    if isinstance(error, click.NoSuchOption):
        message = f"no such option '{error.option_name}'"
        if error.option_name == "--json" and ctx is not None and ctx.parent is None:
            hint = "it goes after the command: arbor COMMAND --json"
        elif ctx is not None and (
            known := git_words.OPTIONS.get(ctx.info_name or "", {}).get(error.option_name)
        ):
            hint = known
        elif meant := _resembling(error.option_name, error.possibilities or ()):
            hint = f"did you mean '{meant}'?"
        elif error.option_name == "-C":
            hint = "it goes before the command: arbor -C PATH COMMAND"
        return Failure(message, hint, EXIT_USAGE)
    if isinstance(error, click.BadParameter) and error.param and isinstance(error.param.type, click.Choice):
        return _no_such_choice(error, list(error.param.type.choices), hint)
    message = error.format_message().strip().rstrip(".").replace(_NO_INTEGER, _NO_NUMBER)
    return Failure(message[:1].lower() + message[1:], hint, EXIT_USAGE)


def _resembling(typed: str, options: Iterable[str]) -> str:
    """The option that is most like what was typed; "" for none. That both begin with dashes is no likeness."""
    names = {option.lstrip("-"): option for option in options}
    return names.get(next(iter(difflib.get_close_matches(typed.lstrip("-"), names, n=1)), ""), "")


def _no_such_choice(error: click.BadParameter, choices: list[str], hint: str) -> Failure:
    """A word that is none of a few; click lists them in small letters where any will do."""
    typed = _QUOTED.match(error.message)
    if typed is None:
        return Failure(f"say which: one of {', '.join(choices)}", hint, EXIT_USAGE)
    name = next((name for name in error.param.opts if name.startswith("--")), "") if error.param else ""
    message = f"'{typed[1]}' is not one of {', '.join(choices)}{f' for {name}' if name else ''}"
    if choices[:1] == ["list"] and typed[1] in git_words.REMOTE_ACTIONS:
        return Failure(message, git_words.REMOTE_ACTIONS[typed[1]], EXIT_USAGE)
    hint = git_words.VALUES.get((name, typed[1]), hint)
    close = difflib.get_close_matches(typed[1].lower(), [choice.lower() for choice in choices], n=1)
    meant = next((choice for choice in choices if [choice.lower()] == close), "")
    return Failure(message, f"did you mean '{meant}'?" if meant else hint, EXIT_USAGE)


def unknown_command(name: str) -> UsageError:
    """The error for a command that does not exist, with what the word means here or what it resembles."""
    close = difflib.get_close_matches(name.lower(), NAMES, n=1)
    hint = ELSEWHERE.get(name.lower()) or (f"did you mean '{close[0]}'?" if close else "run: arbor --help")
    return UsageError(f"there is no command '{name}'", hint)
