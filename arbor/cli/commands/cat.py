"""`arbor cat`."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import chain

import click

from arbor.cli.arguments import Place, find_place
from arbor.cli.command import arbor_command, json_option, offline_option
from arbor.cli.completing import DOCUMENT
from arbor.cli.on_demand import with_passages
from arbor.cli.session import Session

FIELDS = {
    "path": "the document's path",
    "rev": "the revision as typed; null for what is staged",
    "encoding": "`utf-8` where the bytes are UTF-8, else `base64`",
    "content": "the bytes of the file, in that encoding",
}


@arbor_command("cat", fields=FIELDS)
@click.argument("document", metavar="PATH[@REV]", type=DOCUMENT)
@offline_option
@json_option
def command(session: Session, document: str, as_json: bool) -> None:
    """Print a document's bytes exactly as they came in.

    Without a revision, as it is staged; REV:PATH means the same as PATH@REV. A cold document is brought back from
    a remote that has it; addresses that the document itself names are not asked, which arbor rehydrate does.
    """
    place = find_place(session, document)
    pieces = with_passages(session, lambda: _pieces(session, place))
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


def _pieces(session: Session, place: Place) -> Iterator[bytes]:
    """The document's bytes. That it is cold is known before the first piece."""
    pieces = session.open().cat(place.path, place.revision)
    first = next(pieces, b"")
    return chain([first], pieces)
