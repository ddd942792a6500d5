"""`arbor links`."""

from __future__ import annotations

import click

from arbor.cli.arguments import find_place
from arbor.cli.command import arbor_command, json_option
from arbor.cli.completing import DOCUMENT
from arbor.cli.safe_text import clean_line, clean_words, columns
from arbor.cli.session import Session
from arbor.cli.views import link_fields

FIELDS = {
    "path": "the document's path",
    "rev": "the revision as typed; null where none was",
    "links": "in text order: `line`, `kind`, `relation`, `target`, `anchor`, `text`",
}
_MAX_TEXT_CELLS = 32


@arbor_command("links", fields=FIELDS)
@click.argument("document", metavar="PATH[@REV]", type=DOCUMENT)
@json_option
def command(session: Session, document: str, as_json: bool) -> None:
    """List the links in a document: line, relation, text and target."""
    place = find_place(session, document)
    info, out = session.open().document(place.path, place.revision), session.out
    found = sorted(info.links, key=lambda link: link.line)
    if as_json:
        links = [link_fields(link) for link in found]
        out.json("links", {"path": place.path, "rev": place.revision, "links": links})
        return
    rows = []
    for link in found:
        target = f"{link.target}#{link.anchor}" if link.anchor else link.target
        rows.append([str(link.line), clean_line(link.relation), clean_words(link.text), clean_line(target)])
    with out.paged():
        for line, relation, text, target in columns(rows, widest=_MAX_TEXT_CELLS):
            out.line(f"{out.style(line, 'dim')}{out.style(relation, 'cyan')}{text}{target}")
