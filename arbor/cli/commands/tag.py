"""`arbor tag`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from arbor.cli.command import arbor_command, json_option, message_option
from arbor.cli.completing import REVISION
from arbor.cli.identity import set_identity
from arbor.cli.ref_lists import Listing, asks_for_list, list_options, listing
from arbor.cli.safe_text import clean_line, pad
from arbor.cli.session import Session
from arbor.cli.showing.ref_format import ref_lines
from arbor.cli.views import short
from arbor.errors import AnswerNo, UsageError
from arbor.lazy import lazy_module
from arbor.repo.commits import branching
from arbor.repo.commits.revisions import find_ref
from arbor.store.refs import TAGS

if TYPE_CHECKING:
    from arbor.cli.showing import signature_view
else:
    signature_view = lazy_module("arbor.cli.showing.signature_view")

_NAME_COLUMNS = 15  # as in git

FIELDS = {
    "tags": "`name`, `commit`, `message`, `annotated`, and `signed`: whether it carries a signature, of each; with "
    "--verify `name`, `tag` (its oid), `commit`, `message`, `tagger`, and `seal` with `state` (good, bad, unknown, "
    "none), `signer`, `key` and `reason`",
}


@arbor_command("tag", fields=FIELDS)
@click.argument("names", nargs=-1, metavar="[NAME] [REV]", type=REVISION)
@click.option("-a", "--annotate", is_flag=True, help="Make an annotated tag; needs -m.")
@message_option("The tag's message; makes it an annotated one. Several become paragraphs.")
@click.option("-s", "--sign", is_flag=True, help="Sign it with the key in sign.key; needs -m.")
@click.option(
    "-v", "--verify", "verifies", is_flag=True, help="Check a tag's signature: 0 good, 12 bad, else 1."
)
@click.option("-d", "--delete", is_flag=True, help="Remove tags: any number of names.")
@click.option(
    "-l", "--list", "lists", is_flag=True, help="List the tags, or those that match a pattern NAME."
)
@list_options
@click.option(
    "-n",
    "subjects",
    is_flag=True,
    help="List them with the first lines of their messages, or of their commits.",
)
@click.option("-f", "--force", is_flag=True, help="Replace a tag that exists.")
@json_option
def command(
    session: Session, names: tuple[str, ...], annotate: bool, message: str | None, sign: bool, verifies: bool,
    delete: bool, lists: bool, subjects: bool, force: bool, as_json: bool, **shape: Any,
) -> int:  # fmt: skip
    """List tags, or make, check or remove some.

    With --json, the tags that are there afterwards.
    """
    kb = session.open()
    set_identity(kb)
    lists = lists or subjects or asks_for_list(shape)
    if lists and (delete or verifies or annotate or sign or force or message is not None):
        raise UsageError(
            "-l, -n, --format and the filters list tags, and change none", "run: arbor tag --help"
        )
    if (annotate or sign) and not message:
        raise UsageError("an annotated tag needs a message", "give one with -m")
    if not delete and not lists and len(names) > 2:
        raise UsageError(f"there are too many names: '{names[-1]}'", "run: arbor tag --help")
    if lists:
        _list(session, as_json, listing(kb, shape, names), subjects=subjects)
        return 0
    if verifies:
        return _verify(session, names[0] if names else None, as_json=as_json)
    if delete:
        if not names:
            raise UsageError("name a tag", "run: arbor tag")
        for name in names:
            oid = branching.delete_tag(kb.repo, name)
            if not as_json:
                session.out.line(f"removed tag {clean_line(name)} (it was at {short(oid.hex())})")
    elif names:
        kb.branches.tag(*names, message=message or "", force=force, sign=sign)
    if as_json or not names:
        _list(session, as_json, listing(kb, shape, ()))
    return 0


def _verify(session: Session, name: str | None, *, as_json: bool) -> int:
    if name is None:
        raise UsageError("name a tag", "run: arbor tag")
    found = signature_view.find_tag(session, f"{TAGS}{name}")
    if found is None:
        if find_ref(session.open().repo, f"{TAGS}{name}") is None:
            raise UsageError(f"there is no tag '{name}'", "run: arbor tag")
        raise AnswerNo(
            f"tag '{name}' has no message and no signature", "make one that has: arbor tag -s -m TEXT"
        )
    if as_json:
        session.out.json("tag", {"tags": [signature_view.tag_fields(found)]})
    else:
        for line in signature_view.tag_header(session, found):
            session.out.line(line)
    return signature_view.exit_code([found.seal.state])


def _list(session: Session, as_json: bool, shown: Listing, *, subjects: bool = False) -> None:
    out = session.out
    found = shown.chosen(session.open(), branching.list_tags(session.open().repo))
    if as_json:
        rows = [
            {
                "name": t.name,
                "commit": t.commit,
                "message": t.message,
                "annotated": t.annotated,
                "signed": t.signed,
            }
            for t in found
        ]
        out.json("tag", {"tags": rows})
        return
    if shown.form is not None:
        for line in ref_lines(session.open(), [TAGS + tag.name for tag in found], shown.form):
            out.line(line)
        return
    for tag in found:
        name = clean_line(tag.name)
        if not subjects:
            out.line(name)
            continue
        message = tag.message or session.open().repo.commit(bytes.fromhex(tag.commit)).message
        out.line(f"{pad(name, _NAME_COLUMNS)} {clean_line(message.split(chr(10), 1)[0])}".rstrip())
