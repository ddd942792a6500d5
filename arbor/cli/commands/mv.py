"""`arbor mv`."""

from __future__ import annotations

import click

from arbor.cli.command import arbor_command, json_option, quiet_option
from arbor.cli.completing import DOCUMENT
from arbor.cli.session import Session
from arbor.cli.views import count

FIELDS = {"renamed": "`old_path` and `path` of each document that was renamed"}
_MAX_LISTED = 10


@arbor_command("mv", fields=FIELDS)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", type=DOCUMENT)
@click.argument("target", metavar="TARGET", type=click.Path())
@click.option("-f", "--force", is_flag=True, help="Replace what is at the target.")
@quiet_option
@json_option
def command(session: Session, sources: tuple[str, ...], target: str, force: bool, as_json: bool) -> None:
    """Rename a document or folder, or move several into a folder.

    The files move and the change is staged. A renamed document keeps its identity, which does not depend on
    its path.
    """
    pairs = session.open().mv(sources, target, force=force, cwd=session.cwd)
    out = session.out
    if as_json:
        out.json("mv", {"renamed": [{"old_path": old, "path": new} for old, new in pairs]})
    elif len(pairs) <= _MAX_LISTED:
        for old, new in pairs:
            out.line(f"renamed {session.shown(old)} -> {session.shown(new)}")
    else:
        out.line(f"renamed {count(len(pairs), 'document')}")
