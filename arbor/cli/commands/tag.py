"""`arbor tag`."""

from __future__ import annotations

from fnmatch import fnmatchcase

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.completing import REVISION
from arbor.cli.identity import set_identity
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import short
from arbor.errors import UsageError
from arbor.repo import branching

FIELDS = {"tags": "`name`, `commit`, `message`, `annotated` of each"}


@arbor_command("tag", fields=FIELDS)
@click.argument("name", required=False, metavar="[NAME]", type=REVISION)
@click.argument("revision", required=False, metavar="[REV]", type=REVISION)
@click.option("-a", "--annotate", is_flag=True, help="Make an annotated tag; needs -m.")
@click.option("-m", "--message", metavar="TEXT", help="The tag's message; makes it an annotated one.")
@click.option("-s", "--sign", is_flag=True, help="Sign it with the key in sign.key; needs -m.")
@click.option("-d", "--delete", is_flag=True, help="Remove a tag.")
@click.option(
    "-l", "--list", "lists", is_flag=True, help="List the tags, or those that match the pattern NAME."
)
@click.option("-f", "--force", is_flag=True, help="Replace a tag that exists.")
@json_option
def command(
    session: Session, name: str | None, revision: str | None, annotate: bool, message: str | None, sign: bool,
    delete: bool, lists: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """List tags, or make or remove one.

    With --json, the tags that are there afterwards.
    """
    kb = session.open()
    set_identity(kb)
    if (annotate or sign) and not message:
        raise UsageError("an annotated tag needs a message", "give one with -m")
    if lists:
        _list(session, as_json, name or "*")
        return
    if delete:
        if name is None:
            raise UsageError("name a tag", "run: arbor tag")
        oid = branching.delete_tag(kb.repo, name)
        if not as_json:
            session.out.line(f"removed tag {clean_line(name)} (it was at {short(oid.hex())})")
    elif name is not None:
        kb.branches.tag(name, revision or "HEAD", message=message or "", force=force, sign=sign)
    if as_json or name is None:
        _list(session, as_json)


def _list(session: Session, as_json: bool, pattern: str = "*") -> None:
    out = session.out
    found = [tag for tag in branching.list_tags(session.open().repo) if fnmatchcase(tag.name, pattern)]
    if as_json:
        rows = [
            {"name": t.name, "commit": t.commit, "message": t.message, "annotated": t.annotated}
            for t in found
        ]
        out.json("tag", {"tags": rows})
        return
    for tag in found:
        subject = clean_line(tag.message.split("\n", 1)[0])
        out.line(f"{clean_line(tag.name)} {out.style(short(tag.commit), 'yellow')} {subject}".rstrip())
