"""What the shell offers when TAB is pressed: revisions and documents of the knowledge base at hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from arbor.cli import output
from arbor.cli.session import Session
from arbor.errors import ArborError, UsageError
from arbor.repo.snapshot import DOCUMENTS
from arbor.store.refs import short_name

if TYPE_CHECKING:
    _Typed = click.ParamType[str]
else:
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
        """Branches and tags; of a range the second, with the first as it stands."""
        left, dots, right = incomplete.rpartition("..")
        names = [*map(short_name, _refs(ctx)), "HEAD"]
        found = [CompletionItem(f"{left}{dots}{name}") for name in names if name.startswith(right)]
        return found[:_MAX_ITEMS]


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
        """Documents of the stage whose path, as typed from here, begins so."""
        found = islice(_documents(ctx, incomplete), _MAX_ITEMS)
        return [CompletionItem(path) for path in found] or [CompletionItem(incomplete, type="file")]


class RefType(RevisionType):
    """What a push takes: a name, or two with a colon; the push itself says what is none."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as typed."""
        return value


class RevisionOrDocumentType(RevisionType):
    """What is a revision or the path of a document; the command tells which."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Branches, tags and documents."""
        revisions = super().shell_complete(ctx, param, incomplete)
        documents = DOCUMENT.shell_complete(ctx, param, incomplete)
        return revisions + [item for item in documents if item.type == "plain"]


class FileType(DocumentType):
    """The path of a file that may be in no knowledge base yet, or of a document that is gone."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """What the shell itself offers for a file: what is to be added is rarely tracked."""
        return [CompletionItem(incomplete, type="file")]


class RemoteType(_Typed):
    """The name or address of a remote, kept as typed."""

    name = "remote"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names of remotes; a file or folder where none begins so."""
        found = [CompletionItem(name) for name in _remotes(ctx) if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


REVISION = RevisionType()
DOCUMENT = DocumentType()
REVISION_OR_DOCUMENT = RevisionOrDocumentType()
FILE = FileType()
REMOTE = RemoteType()
REF = RefType()


def _session(ctx: click.Context) -> Session:
    """The session of a completion, for which no command has run."""
    folder = ctx.find_root().params.get("folder") or ()
    return Session(Path.cwd().joinpath(*folder), output.Output())


def _refs(ctx: click.Context) -> list[str]:
    try:
        return list(_session(ctx).open().repo.refs.iter_names())
    except (ArborError, OSError):
        return []


def _remotes(ctx: click.Context) -> list[str]:
    try:
        sound, wrong = _session(ctx).open().repo.settings.rows("remote")
        return sorted([*sound, *wrong])
    except (ArborError, OSError):
        return []


def _documents(ctx: click.Context, incomplete: str) -> Iterator[str]:
    try:
        session = _session(ctx)
        repo = session.open().repo
        for key in sorted(repo.stage().entries(repo.store, DOCUMENTS)):
            path = key.removeprefix(DOCUMENTS)
            typed = session.path_from_here(path)
            if typed.startswith(incomplete):
                yield typed
    except (ArborError, OSError):
        return
