"""`arbor cat`."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

import click

from arbor.cli.arguments import Place, find_place
from arbor.cli.command import arbor_command, json_option
from arbor.cli.completing import DOCUMENT
from arbor.cli.session import Session
from arbor.errors import ColdDocument
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from arbor.cli import byte_sources
else:
    byte_sources = lazy_module("arbor.cli.byte_sources")

FIELDS = {
    "path": "the document's path",
    "rev": "the revision as typed; null for what is staged",
    "encoding": "`utf-8` where the bytes are UTF-8, else `base64`",
    "content": "the bytes of the file, in that encoding",
}


@arbor_command("cat", fields=FIELDS)
@click.argument("document", metavar="PATH[@REV]", type=DOCUMENT)
@click.option("--offline", is_flag=True, help="Ask no remote for what is cold here.")
@json_option
def command(session: Session, document: str, offline: bool, as_json: bool) -> None:
    """Print a document's bytes exactly as they came in.

    Without a revision, as it is staged; REV:PATH means the same as PATH@REV. A cold document is brought back from
    a remote that has it; addresses that the document itself names are not asked, which arbor rehydrate does.
    """
    place = find_place(session, document)
    pieces = _pieces(session, place, offline=offline)
    if not as_json:
        for piece in pieces:
            session.out.raw(piece)
        return
    data = b"".join(pieces)
    try:
        encoding, content = "utf-8", data.decode("utf-8")
    except UnicodeDecodeError:
        encoding, content = "base64", base64.b64encode(data).decode("ascii")
    session.out.json(
        "cat", {"path": place.path, "rev": place.revision, "encoding": encoding, "content": content}
    )


def _pieces(session: Session, place: Place, *, offline: bool) -> Iterator[bytes]:
    """The document's bytes, fetched first where they are cold. That it is cold is known before the first piece."""
    pieces = session.open().cat(place.path, place.revision)
    try:
        first = next(pieces, b"")
    except ColdDocument:
        if offline or not byte_sources.bring_back(session, place.path):
            raise
        return session.open().cat(place.path, place.revision)
    return chain([first], pieces)
