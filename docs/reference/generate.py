"""Writes the reference from the commands and the library themselves: `python docs/reference/generate.py`.

A test compares the pages with what this makes, so they are never out of date.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import click

from arbor import errors, kb, proofs
from arbor.cli.app import arbor
from arbor.cli.catalogue import SECTIONS
from arbor.cli.command import ArborCommand
from arbor.cli.failures import EXIT_BROKEN_PIPE, EXIT_BUG, EXIT_INTERRUPTED
from arbor.remote.cloning import CloneOptions
from arbor.remote.desk import ShareDesk
from arbor.remote.fetching import FetchOptions
from arbor.remote.protocol.limits import Limits
from arbor.remote.refspecs import PushRequest
from arbor.remote.transports.connecting import ConnectOptions
from arbor.repo.commits.branch_desk import BranchDesk
from arbor.repo.commits.diffing import Comparing
from arbor.repo.desk import TrustDesk
from arbor.repo.forgetting.tiering import Criteria
from arbor.repo.importing.fetching import FetchRules
from arbor.repo.snapshot import Snapshot

HERE = Path(__file__).resolve().parent
WIDTH = 80
NOTE = "<!-- Made by generate.py from the commands and the library themselves: change those, then run it again. -->"


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {"commands.md": commands_page(), "exit-codes.md": exit_codes_page(), "python.md": python_page()}


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
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.ArborError) and kind is not errors.ArborError
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


def first_line(kind: object) -> str:
    """The first line of a docstring."""
    return (kind.__doc__ or "").split("\n", 1)[0]


def python_page() -> str:
    """The library: the front desk, its three further desks, and what their methods take and return."""
    parts = ["# Python", NOTE, PYTHON, "## arbor"]
    parts += [method_part(name, function) for name, function in OPENERS.items()]
    parts += ["## arbor.proofs", first_line(proofs)]
    parts += [method_part(function.__name__, function) for function in PROOFS]
    wanted: dict[str, None] = {"Verified": None}
    for title, desk in DESKS.items():
        parts += [f"## {title}", first_line(desk)]
        for name, member in vars(desk).items():
            method = member.fget if isinstance(member, property) else member
            if not name.startswith("_") and callable(method):
                parts.append(method_part(name, method, is_property=isinstance(member, property)))
                wanted.update(
                    dict.fromkeys(re.findall(r"[A-Z]\w+", method.__annotations__.get("return", "")))
                )
    parts += ["## What they take", TAKEN, *map(value_part, OPTIONS)]
    parts += ["## What they return", RETURNED, *map(value_part, value_types(wanted))]
    return "\n\n".join(parts) + "\n"


def method_part(name: str, method: Callable[..., Any], *, is_property: bool = False) -> str:
    """How a method is called, and its docstring."""
    returned = method.__annotations__["return"]
    call = f"{name}: {returned}" if is_property else f"{name}({arguments_of(method)}) -> {returned}"
    lines = textwrap.wrap(call, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    return f"### {name}\n\n{fenced(chr(10).join(lines) + chr(10) * 2 + (inspect.getdoc(method) or ''))}"


def arguments_of(method: Callable[..., Any]) -> str:
    """The arguments of a method as they are written, without `self`."""
    listed: list[str] = []
    for each in inspect.signature(method).parameters.values():
        if each.kind is each.KEYWORD_ONLY and "*" not in listed:
            listed.append("*")
        if each.name != "self":
            default = "" if each.default is each.empty else f" = {written_default(each.default)}"
            listed.append(f"{each.name}: {each.annotation}{default}")
    return ", ".join(listed)


def written_default(value: object) -> str:
    """A default as a reader would write it."""
    plain = value is None or isinstance(value, (str, int, float, tuple))
    return repr(value) if plain else f"{type(value).__name__}()"


def value_types(names: Collection[str]) -> list[type]:
    """The frozen values of these names and the ones that they hold, by name; none of them may be unknown."""
    known = {
        kind.__name__: kind
        for module in map(importlib.import_module, VALUES)
        for kind in vars(module).values()
        if isinstance(kind, type)
        and kind.__module__ == module.__name__
        and (value_fields(kind) or kind is Snapshot)
    }
    found: dict[str, type] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        assert name in known or name in NO_VALUES, f"VALUES does not name the module of {name}"
        if name in known and name not in found:
            found[name] = known[name]
            for written in () if issubclass(known[name], enum.Enum) else value_fields(known[name]).values():
                waiting += re.findall(r"[A-Z]\w+", written)
    return [found[name] for name in sorted(found)]


def value_fields(kind: type) -> dict[str, str]:
    """The fields of a dataclass, a named tuple or an enumeration with their types as written; nothing for others."""
    if issubclass(kind, enum.Enum):
        return {each.name: repr(each.value) for each in kind}
    if dataclasses.is_dataclass(kind):
        return {
            each.name: str(each.type) for each in dataclasses.fields(kind) if not each.name.startswith("_")
        }
    names = getattr(kind, "_fields", ())
    return {
        name: getattr(kind.__annotations__[name], "__forward_arg__", kind.__annotations__[name])
        for name in names
    }


def value_part(kind: type) -> str:
    """Where a value's class is, its docstring, its fields, and what it works out of them."""
    sign = " =" if issubclass(kind, enum.Enum) else ":"
    lines = [f"from {kind.__module__} import {kind.__name__}", "", inspect.getdoc(kind) or "", ""]
    lines += [f"{name}{sign} {written}" for name, written in value_fields(kind).items()]
    for name, member in vars(kind).items():
        if isinstance(member, property) and not name.startswith("_"):
            lines.append(f"{name}: {member.fget.__annotations__['return']}\n    {first_line(member)}")
        elif (
            kind is Snapshot
            and inspect.isfunction(member)
            and name in ("paths", "cores", "find", "get", "count")
        ):
            lines.append(
                f"{name}({arguments_of(member)}) -> {member.__annotations__['return']}\n    {first_line(member)}"
            )
    return f"### {kind.__name__}\n\n{fenced(chr(10).join(lines))}"


PROOFS = (proofs.verify, proofs.parse, proofs.format_json, proofs.format_msgpack)
OPTIONS = (CloneOptions, Comparing, ConnectOptions, Criteria, FetchOptions, FetchRules, Limits, PushRequest)
OPENERS = {"init": kb.init, "open": kb.open_kb, "clone": kb.clone}
DESKS = {
    "KnowledgeBase": kb.KnowledgeBase,
    "KnowledgeBase.branches": BranchDesk,
    "KnowledgeBase.sharing": ShareDesk,
    "KnowledgeBase.trust": TrustDesk,
}

VALUES = (
    "arbor.proofs",
    *(f"arbor.{room}.{name}"
    for room, names in {
        "graph": ("checking", "desk", "ripple", "standing"),
        "objects": ("model", "proofs"),
        "remote": ("desk", "fetching", "pushing", "remotes"),
        "remote.protocol": ("messages",),
        "remote.transports": ("bundle", "bundle_check"),
        "repo": ("results", "snapshot", "tiers"),
        "repo.commits": ("branching",),
        "repo.distillation": ("core_binding", "core_check", "cores", "distilling"),
        "repo.forgetting": ("evicting", "rehydrating", "tiering"),
        "repo.merge": ("merging",),
        "repo.staging": ("adding",),
        "repo.trust": ("checkpoint_notes", "checkpoints", "signing", "verify"),
        "repo.upkeep": ("gc",),
        "repo.work_tree": ("restoring", "status"),
        "search": ("following", "results"),
        "store": ("journal", "refs"),
    }.items()
    for name in names),
)  # fmt: skip
NO_VALUES = {
    "Any",
    "BranchDesk",
    "Iterator",
    "KnowledgeBase",
    "Mapping",
    "None",
    "Path",
    "ShareDesk",
    "TrustDesk",
}

PYTHON = """\
`import arbor`, then `arbor.init(...)` or `arbor.open(...)` gives a KnowledgeBase whose methods mirror the commands,
return frozen values and print nothing. Reading is safe from several threads; from async code call it in a thread
(`await asyncio.to_thread(kb.search, "tides")`). Errors are `arbor.ArborError` with `message`, `hint` and
`exit_code`, each kind a class of `arbor.errors`; a value of the wrong type is refused as `WrongType`, which is a
`TypeError` too, before anything is done.
The library reads no environment and none of your own settings: say who you are with
`kb.config_set("user.name", "Ada")` and `user.email`, or with `author=`; `arbor.open(..., user_config=PATH)` takes your
settings file in.
A commit's oid is hexadecimal digits or 32 bytes, as the types say; where a revision is taken, it is text: `rev.hex()`
of what a search gives. Values are equal where they hold the same; most can be keys and members of sets, but not those
that hold a mapping, as a search's result, a document and a verification do. What is returned as an iterator is worked
out as it is read, and so are its errors.
Where a sequence of texts is wanted, one text stands for a list of one. `arbor.proofs.verify` checks proofs without a
knowledge base; `docs/guides/proofs.md` has the details. `kb.repo` is the repository beneath, for what has no method:
what adds from the web and from other tools is in `arbor.repo.importing`, as `sources.add_url(kb.repo, URL, fetcher)`
with a `Fetcher(FetchRules())` of its module `fetching`."""

TAKEN = """\
Options are frozen values whose fields all have defaults; each field is checked as an argument is.

| written | stands for |
|---|---|
| `StrPath` | a path, as text or a path object |
| `Paths` | one of them or several |
| `Progress` | a function that is called with (done, in all) |
| `Told` | a function that is called with a sentence |
| `TransferProgress` | a function that is called with (objects so far, objects in all or 0, bytes so far) |
| `Fetch` | a function that gives the bytes behind an http(s) address, or raises an ArborError |
| `ByteSource` | somewhere that documents' bytes may come from |

`arbor.repo.importing.fetching.make_fetch(FetchRules())` is a `Fetch`. Remotes and bundles are `ByteSource`s by
`places.source(NAME, URL)`, where `places = arbor.remote.on_demand.FarPlaces(ConnectOptions(), warn, kb.repo)`, which is
closed when all is done; without `kb.repo` it also takes this knowledge base itself for a copy, which is no matter to
`rehydrate`."""

RETURNED = "The first line of each says where its class is, for annotations."

INTRODUCTION = """\
Standard output holds the answer and nothing else; hints, warnings and progress go to standard error. Paths that you
type are relative to the folder you are in; in `--json`, and where `diff`, `show` and `log` list changes, they are from
the top, as git has them. `-h` or `--help` after any command, or `arbor help COMMAND`, shows what is printed here.

**JSON.** `--json` makes the answer one JSON object whose `schema` names the command and a version; keys are only
added to a version, never removed or given another meaning. It is on one line, and indented where a terminal reads it.
`arbor prove` writes the proof itself, indented, with the schema `arbor.proof/1` (`docs/format/proofs.md`).
A fatal error is then an object too, on standard error: `schema` (`arbor.error/1`), `error`, `hint`, `exit_code`.
Warnings stay lines of text there. Times are ISO 8601 with their offset. Of a file name that is not Unicode, which no
document can have, each odd byte stands as `\\xNN`.

**Revisions.** `HEAD`, a branch, a tag, the first digits of a commit's oid, `REV~2` (two commits before it), `REV^2`
(its second parent), `main@{1}` (where main was before its last move), `main@{yesterday}`, `main@{2026-01-31}`,
`main@{3 days ago}`; `@{1}` is of the current branch, `HEAD@{1}` counts switches too. `@{-1}` is the branch, or the
commit, that was current before (`-` to `switch`, `merge` and `revert`), `@{-2}` the one before that; a switch to where
one is does not count. `main@{u}` is what main follows as it was last seen, `main@{push}` where it is pushed to, `@{u}`
and `@{push}` those of the current branch. `:/TEXT` is the newest commit of any branch or tag whose message fits a
regular expression, `REV^{/TEXT}` the newest that REV leads to; `REV^{commit}` and `REV^{}` are the commit itself.
`FETCH_HEAD` is what the last fetch was for, `MERGE_HEAD` what a merge in progress brings in.
`OLD..NEW` is a range, `OLD...NEW` begins where the two parted; for `branch`, `switch` and `restore -s` it is there.

**Documents.** `PATH` and `:PATH` are the document as it is staged or committed, `PATH@REV` and `REV:PATH` at a
revision; in a merge `:2:PATH` is the side of the current branch and `:3:PATH` the other. A path that itself holds `@`
or `:` wins over the other readings.

**Environment.**

| variable | meaning |
|---|---|
| `ARBOR_AUTHOR_NAME`, `ARBOR_AUTHOR_EMAIL` | who commits; before the settings `user.name` and `user.email` |
| `ARBOR_CONFIG` | your own settings file, instead of `config.toml` in your configuration folder; `/dev/null` for none |
| `ARBOR_EDITOR`, `VISUAL`, `EDITOR` | the editor for commit messages, the first that is set |
| `ARBOR_PAGER`, `PAGER` | the pager, the first that is set; `cat` or nothing for none |
| `ARBOR_TOKEN` | the token for `http(s)://`; `NAME:PASSWORD` where a proxy in front asks for these |
| `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` | a proxy, `http://HOST:PORT`, on the way to `http(s)://` remotes and pages |
| `NO_PROXY` | hosts and domains to reach without a proxy, with commas between |
| `SSL_CERT_FILE` | the certificates of an authority of your own, for `https://` |
| `ARBOR_SSH`, `GIT_SSH_COMMAND` | the ssh program and its options, instead of `ssh`; the first that is set |
| `GIT_SSH` | where neither is set: the ssh program, without options |
| `ARBOR_REMOTE_COMMAND` | arbor on the other side of ssh, instead of `arbor` |
| `ARBOR_READ_TOKEN`, `ARBOR_PUSH_TOKEN` | a token that `arbor serve` accepts for reading, and one for pushing |
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
