"""The `arbor` command: finds the command that was asked for, runs it, and puts what goes wrong into words."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from arbor import __version__
from arbor.cli.catalogue import ALIASES, NAMES, SECTIONS
from arbor.cli.failures import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED, describe_failure, unknown_command
from arbor.cli.output import COLOURS, Output, send_nowhere
from arbor.cli.session import Session
from arbor.errors import ArborError, UsageError
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    import traceback
else:
    traceback = lazy_module("traceback")

PROGRAM = "arbor"
_HELP = "help"
_COMPLETION_VARIABLE = "_ARBOR_COMPLETE"
# Most objects that a command makes live until it ends; the default threshold of 700 has the collector walk
# them over and over, which takes 7 % of the time of `status` on 20,000 documents.
_GC_THRESHOLD = 100_000


class Commands(click.Group):
    """The group of all commands; a command's module is imported when it is asked for and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the overview."""
        return list(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, loaded now."""
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in NAMES:
            return None
        module = importlib.import_module(f"arbor.cli.commands.{cmd_name}")
        found: click.Command = module.command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, from the catalogue alone."""
        width = max(map(len, NAMES))
        for title, entries in SECTIONS:
            with formatter.section(title):
                formatter.write_dl([(entry.name.ljust(width), entry.summary) for entry in entries])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Command names from the catalogue, then this group's own options."""
        found = [
            CompletionItem(entry.name, help=entry.summary)
            for _, entries in SECTIONS
            for entry in entries
            if entry.name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and its arguments; an unknown name ends with what was probably meant.

        `help COMMAND` is read as `COMMAND --help`.
        """
        if args[0] == _HELP and not ctx.resilient_parsing:
            names = [word for word in args[1:] if not word.startswith("-") and word != _HELP]
            if not names:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [names[0], "--help"]
        if args[0] not in NAMES and args[0] not in ALIASES and not ctx.resilient_parsing:
            raise unknown_command(args[0])
        return super().resolve_command(ctx, args)

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **__: Any
    ) -> Any:
        """Run and leave the process with the exit code."""
        sys.exit(run(args))


@click.group(
    PROGRAM,
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar="COMMAND [ARGS]...",
    options_metavar="[OPTIONS]",
    help="git for knowledge: a versioned, verifiable, searchable knowledge base in a folder.",
)
@click.option(
    "-C", "folder", metavar="PATH", multiple=True, type=str, help="Work as if started in this folder."
)
@click.option("--color", type=click.Choice(COLOURS), default=None,
              help="When to use colours; auto: on a terminal, unless NO_COLOR is set.")  # fmt: skip
@click.option("-P", "--no-pager", is_flag=True, help="Never start a pager.")
@click.version_option(__version__, "-V", "--version", prog_name=PROGRAM, message="%(prog)s %(version)s",
                      help="Print the version.")  # fmt: skip
@click.pass_context
def arbor(ctx: click.Context, folder: tuple[str, ...], color: str | None, no_pager: bool) -> None:
    """Take the options that stand before the command."""
    session = ctx.find_object(Session)
    assert session is not None
    for part in folder:
        session.cwd = session.from_here(part)
        if not session.cwd.is_dir():
            raise click.UsageError(f"'{part}' is not a folder", ctx)
    session.out.colour = color or session.out.colour
    session.out.use_pager = session.out.use_pager and not no_pager
    if ctx.invoked_subcommand is None:
        session.out.line(ctx.get_help())


def run(args: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        args: The words after the program's name; those of the process without.

    Returns:
        The exit code.
    """
    gc.set_threshold(_GC_THRESHOLD)
    words = list(sys.argv[1:] if args is None else args)
    out = Output()
    if _COMPLETION_VARIABLE in os.environ:
        return _complete(out)
    before_dashes = words[: words.index("--")] if "--" in words else words
    out.json_errors = "--json" in before_dashes
    try:
        code = _run(words, Session(_folder_at_hand(), out))
        out.flush()
    except BaseException as error:  # noqa: BLE001 - the last line of defence: every error is put into words
        code = _fail(error, out)
    return code


def _folder_at_hand() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("the folder that you are in is gone", "go to another one: cd") from error


def _run(words: list[str], session: Session) -> int:
    try:
        with arbor.make_context(PROGRAM, words, obj=session) as ctx:
            result = arbor.invoke(ctx)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except ArborError as error:
        if error.path:
            error.hint = session.hint_from_here(error.hint, error.path)
            error.message = session.message_from_here(error.message, error.path)
        raise
    finally:
        session.close()
    return result if isinstance(result, int) else 0


def _fail(error: BaseException, out: Output) -> int:
    """Say what went wrong, once; the exit code."""
    if isinstance(error, BrokenPipeError) or (isinstance(error, OSError) and error.errno == errno.EPIPE):
        send_nowhere(out.stdout)
        return EXIT_BROKEN_PIPE
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        for note in getattr(error, "__notes__", ()):  # what was done all the same
            out.note(note)
        return EXIT_INTERRUPTED
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    failure = describe_failure(error)
    try:
        if failure.is_bug and os.environ.get("ARBOR_DEBUG"):
            traceback.print_exception(error, file=out.stderr)
        out.error(failure.message, failure.hint, failure.exit_code)
    except BrokenPipeError:
        send_nowhere(out.stdout)
    return failure.exit_code


def _complete(out: Output) -> int:
    """Answer the shell's completion script; a person is typing, so nothing is said of an answer that nobody takes."""
    try:
        click.Group.main(
            arbor, args=[], prog_name=PROGRAM, complete_var=_COMPLETION_VARIABLE, standalone_mode=False
        )
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except OSError:
        send_nowhere(out.stdout)
        return 1
    return 0
