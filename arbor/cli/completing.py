"""What the shell offers when TAB is pressed: revisions and documents of the knowledge base at hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from arbor.cli.session import Session
from arbor.errors import ArborError, UsageError
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from arbor.cli import output

    _Typed = click.ParamType[str]
else:
    output = lazy_module("arbor.cli.output")
    _Typed = click.ParamType

_MAX_ITEMS = 500


class RevisionType(_Typed):
    """A revision, kept as typed; the knowledge base resolves it."""

    name = "revision"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what a shell makes of a variable that is not set: it would mean the current revision."""
        if not value:
            raise UsageError("a revision or path is empty", "name one, such as HEAD, or leave it out")
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Branches and tags."""
        names = [ref.split("/", 2)[2] for ref in _refs(ctx)] + ["HEAD"]
        return [CompletionItem(name) for name in names if name.startswith(incomplete)][:_MAX_ITEMS]


class DocumentType(_Typed):
    """The path of a document, kept as typed."""

    name = "document"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what a shell makes of a variable that is not set: it would mean everything."""
        if not value:
            raise UsageError("a path is empty", "write . for everything here and below")
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Documents of HEAD whose path, as typed from here, begins so."""
        found = islice(_documents(ctx, incomplete), _MAX_ITEMS)
        return [CompletionItem(path) for path in found] or [CompletionItem(incomplete, type="file")]


REVISION = RevisionType()
DOCUMENT = DocumentType()


def _session(ctx: click.Context) -> Session:
    """The session of a completion, for which no command has run."""
    folder = ctx.find_root().params.get("folder") or ()
    return Session(Path.cwd().joinpath(*folder), output.Output())


def _refs(ctx: click.Context) -> list[str]:
    try:
        return list(_session(ctx).open().repo.refs.iter_names())
    except (ArborError, OSError):
        return []


def _documents(ctx: click.Context, incomplete: str) -> Iterator[str]:
    try:
        session = _session(ctx)
        for path, _ in session.open().ls():
            typed = session.path_from_here(path)
            if typed.startswith(incomplete):
                yield typed
    except (ArborError, OSError):
        return
