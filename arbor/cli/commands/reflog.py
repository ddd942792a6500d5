"""`arbor reflog`."""

from __future__ import annotations

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import moment, short
from arbor.errors import UsageError
from arbor.repo.commits.revisions import find_ref

FIELDS = {"ref": "the name as typed", "moves": "newest first: `old`, `new`, `who`, `time`, `reason`"}


@arbor_command("reflog", fields=FIELDS, number_option="-n")
@click.argument("words", nargs=-1, metavar="[show] [REF]")
@click.option("-n", "--limit", type=click.IntRange(1), help="Show only the last moves; also -NUM.")
@json_option
def command(session: Session, words: tuple[str, ...], limit: int | None, as_json: bool) -> None:
    """Show where HEAD, a branch or a tag has been on this machine.

    Each line can be used as a revision: HEAD@{1} is where HEAD was before the last move.
    """
    repo, out = session.open().repo, session.out
    rest = (
        words[1:] if words[:1] == ("show",) and (len(words) > 1 or find_ref(repo, "show") is None) else words
    )
    if len(rest) > 1:
        raise UsageError(f"there are too many names: '{rest[-1]}'", "run: arbor reflog REF")
    name = rest[0] if rest else "HEAD"
    ref = "HEAD" if name in ("HEAD", "@") else find_ref(repo, name)
    if ref is None:
        raise UsageError(f"there is no ref '{name}'", "run: arbor branch")
    moves = repo.refs.reflog(ref)[:limit]
    if as_json:
        rows = [
            {
                "old": move.old.hex() or None,
                "new": move.new.hex() or None,
                "who": move.who.name,
                "time": moment(move.who.seconds, move.who.offset_minutes, iso=True),
                "reason": move.reason,
            }
            for move in moves
        ]
        out.json("reflog", {"ref": name, "moves": rows})
        return
    with out.paged():
        for number, move in enumerate(moves):
            minute = moment(move.who.seconds, move.who.offset_minutes).rsplit(":", 1)[0]
            oid = out.style(short(move.new.hex()) if move.new else "(removed)", "yellow")
            out.line(f"{oid} {clean_line(name)}@{{{number}}} {minute} {clean_line(move.reason)}")
