"""Writes the command reference from the commands themselves: `python docs/reference/generate.py`.

A test compares the pages with what this makes, so they are never out of date.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from arbor import errors
from arbor.cli.app import arbor
from arbor.cli.catalogue import SECTIONS
from arbor.cli.command import ArborCommand
from arbor.cli.failures import EXIT_BROKEN_PIPE, EXIT_BUG, EXIT_INTERRUPTED

HERE = Path(__file__).resolve().parent
WIDTH = 80
NOTE = "<!-- Made by generate.py from the commands themselves: change those, then run it again. -->"


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {"commands.md": commands_page(), "exit-codes.md": exit_codes_page()}


def commands_page() -> str:
    """All commands: how they are called, what they do, and the keys of their JSON answers."""
    root = click.Context(
        arbor, info_name="arbor", terminal_width=WIDTH, max_content_width=WIDTH, **arbor.context_settings
    )
    parts = ["# Commands", NOTE, INTRODUCTION, "## arbor", fenced(arbor.get_help(root))]
    for title, entries in SECTIONS:
        parts.append(f"## {title}")
        for entry in entries:
            parts += command_parts(root, entry.name)
    return "\n\n".join(parts) + "\n"


def command_parts(root: click.Context, name: str) -> Iterator[str]:
    """One command's part of the page."""
    command = importlib.import_module(f"arbor.cli.commands.{name}").command
    assert isinstance(command, ArborCommand)
    ctx = click.Context(command, info_name=name, parent=root, terminal_width=WIDTH, max_content_width=WIDTH)
    yield f"### arbor {name}"
    yield fenced(command.get_help(ctx))
    if command.fields:
        keys = "\n".join(f"| `{key}` | {meaning} |" for key, meaning in command.fields.items())
        yield f'`--json` answers with `"schema": "arbor.{name}/1"` and:\n\n| key | what it holds |\n|---|---|\n{keys}'


def fenced(text: str) -> str:
    """Text as a block that is shown as it is."""
    return "```text\n" + "\n".join(line.rstrip() for line in text.strip("\n").split("\n")) + "\n```"


def exit_codes_page() -> str:
    """What each exit code means, from the errors."""
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and kind is not errors.ArborError
    ]
    rows = [(0, "", "Done.")]
    rows += [(kind.exit_code, kind.__name__, first_line(kind)) for kind in kinds]
    rows += [
        (EXIT_BUG, "", "A bug in arbor; with `ARBOR_DEBUG=1` it says where."),
        (EXIT_INTERRUPTED, "", "Interrupted with Ctrl-C."),
        (EXIT_BROKEN_PIPE, "", "Whoever read the output has gone, as when it is piped into `head`."),
    ]
    table = "\n".join(
        f"| {code} | {f'`{name}`' if name else ''} | {meaning} |" for code, name, meaning in sorted(rows)
    )
    return f"# Exit codes\n\n{NOTE}\n\n{EXIT_CODES}\n\n| code | error in Python | meaning |\n|---|---|---|\n{table}\n"


def first_line(kind: type) -> str:
    """The first line of a class's docstring."""
    return (kind.__doc__ or "").split("\n", 1)[0]


INTRODUCTION = """\
Standard output holds the answer and nothing else; hints, warnings and progress go to standard error. Paths that you
type are relative to the folder you are in; in `--json`, and where `diff`, `show` and `log` list changes, they are from
the top, as git has them. `-h` or `--help` after any command shows what is printed here.

**JSON.** `--json` makes the answer one JSON object whose `schema` names the command and a version; keys are only
added to a version, never removed or given another meaning. It is on one line, and indented where a terminal reads it.
A fatal error is then an object too, on standard error: `schema` (`arbor.error/1`), `error`, `hint`, `exit_code`.

**Revisions.** `HEAD`, a branch, a tag, the first digits of a commit's oid, `REV~2` (two commits before it), `REV^2`
(its second parent), `main@{1}` (where main was before its last move), `main@{yesterday}`, `main@{2026-01-31}`,
`main@{3 days ago}`. `OLD..NEW` is a range.

**Documents.** `PATH` is the document as it is staged or committed, `PATH@REV` and `REV:PATH` at a revision. A path
that itself holds `@` or `:` wins over the other readings.

**Environment.**

| variable | meaning |
|---|---|
| `ARBOR_AUTHOR_NAME`, `ARBOR_AUTHOR_EMAIL` | who commits; before the settings `user.name` and `user.email` |
| `ARBOR_CONFIG` | your own settings file, instead of `config.toml` in your configuration folder |
| `ARBOR_EDITOR`, `VISUAL`, `EDITOR` | the editor for commit messages, the first that is set |
| `ARBOR_PAGER`, `PAGER` | the pager, the first that is set; `cat` or nothing for none |
| `NO_COLOR` | no colours, unless `--color` or the setting `color.ui` asks for them |
| `COLUMNS`, `LINES` | the size to lay output out for, instead of the terminal's |
| `ARBOR_DEBUG` | show where a bug in arbor happened |"""

EXIT_CODES = """\
Every command ends with one of these, and an error says the same on standard error: `error: ...` and, where something
can be typed next, `hint: ...`."""


def main() -> None:
    """Write the pages."""
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
        sys.stderr.write(f"wrote {HERE / name}\n")


if __name__ == "__main__":
    main()
