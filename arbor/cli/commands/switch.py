"""`arbor switch`."""

from __future__ import annotations

import click

from arbor.cli.cold_view import cold_noticed
from arbor.cli.command import arbor_command, json_option, quiet_option
from arbor.cli.completing import REVISION
from arbor.cli.hooks_view import run_post_hook
from arbor.cli.identity import set_identity
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import short
from arbor.repo import branching

FIELDS = {
    "branch": "the branch that is current now; null where HEAD is detached",
    "commit": "the commit; null before the first",
}


@arbor_command("switch", fields=FIELDS)
@click.argument("target", metavar="BRANCH", type=REVISION)
@click.option("-c", "--create", is_flag=True, help="Make the branch here first.")
@click.option("--detach", is_flag=True, help="Go to a commit or tag without following a branch.")
@click.option("-f", "--force", is_flag=True, help="Throw away changes that are not committed.")
@quiet_option
@json_option
def command(session: Session, target: str, create: bool, detach: bool, force: bool, as_json: bool) -> None:
    """Go to another branch.

    Changes to documents that do not differ between the two branches come along; others are never overwritten
    without --force.
    """
    kb = session.open()
    set_identity(kb)
    with cold_noticed(session):
        oid = branching.switch(kb.repo, target, create=create, detach=detach, force=force)
    run_post_hook(session, "post-checkout")
    if as_json:
        session.out.json(
            "switch", {"branch": None if detach else target, "commit": oid.hex() if oid else None}
        )
        return
    where = f"HEAD is detached at {short(oid.hex())}" if detach and oid else f"on branch {clean_line(target)}"
    session.out.line(where)
