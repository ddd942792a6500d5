"""`arbor push`."""

from __future__ import annotations

import click

from arbor.cli.command import arbor_command, dry_run_option, json_option, quiet_option
from arbor.cli.completing import REF, REMOTE
from arbor.cli.identity import set_identity
from arbor.cli.session import Session
from arbor.cli.sharing import connect_options, full_tags, push_fields, show_push, transfer_bar
from arbor.cli.views import count
from arbor.errors import ConflictError, UsageError
from arbor.remote import refspecs
from arbor.remote.exchange.accepting import CHECKED_OUT, MOVED, NOT_FORWARD
from arbor.remote.pushing import STALE

FIELDS = {
    "url": "where it was pushed to",
    "refs": "`there`, `old`, `new`, `status` (new, forward, forced, removed, same, rejected), `reason` of each",
    "objects": "objects sent",
    "bytes": "bytes sent",
}


@arbor_command("push", fields=FIELDS, joined_options={"--force-with-lease": "--force-with-lease="})
@click.argument("remote", required=False, metavar="[REMOTE]", type=REMOTE)
@click.argument("refs", nargs=-1, metavar="[REF]...", type=REF)
@click.option("--all", "everything", is_flag=True, help="Every branch.")
@click.option("--tags", is_flag=True, help="Every tag too.")
@click.option("-d", "--delete", is_flag=True, help="Remove the branches from the other side.")
@click.option("-f", "--force", is_flag=True, help="Also what is no fast-forward: commits there may be lost.")
@click.option("--force-with-lease", "lease", is_flag=False, flag_value="", metavar="[=BRANCH[:OID]]",
              help="Force only where the other side is still where it was last seen.")  # fmt: skip
@click.option("-u", "--set-upstream", is_flag=True, help="Let the branch follow what was pushed.")
@dry_run_option
@quiet_option
@json_option
def command(
    session: Session, remote: str | None, refs: tuple[str, ...], everything: bool, tags: bool, delete: bool,
    force: bool, lease: str | None, set_upstream: bool, dry_run: bool, as_json: bool,
) -> None:  # fmt: skip
    """Send commits to a remote and move its branches.

    REF is a branch or tag, HERE:THERE to give it another name there, or :THERE to remove it; without any, the
    current branch. tag NAME is the tag, as in git. Only what is missing there is sent, and a branch moves only from
    where it was seen to be.
    """
    if delete and not refs:
        raise UsageError("--delete needs the names of branches")
    kb = session.open()
    set_identity(kb)
    request = refspecs.PushRequest(full_tags(refs), everything, tags, delete, force, lease)
    with transfer_bar(session, "sending") as bar:
        result = kb.sharing.push(remote, request, set_upstream=set_upstream, dry_run=dry_run,
                                 connecting=connect_options(session), progress=bar)  # fmt: skip
    if as_json:
        session.out.json("push", push_fields(result))
    else:
        show_push(session, result)
    if result.rejected:
        if not as_json:
            first = result.rejected[0]
            hint = "run: arbor pull" if first.reason in (NOT_FORWARD, STALE, MOVED) else ""
            if first.reason == CHECKED_OUT:
                hint = (
                    "make one that both can push to: arbor clone --bare . FOLDER; or pull from the other side"
                )
            session.out.error(
                f"{count(len(result.rejected), 'ref')} not moved: {first.reason}",
                hint,
                ConflictError.exit_code,
            )
        raise click.exceptions.Exit(ConflictError.exit_code)
