"""`arbor pull`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from arbor.cli.command import (
    arbor_command,
    json_option,
    merge_options,
    no_edit_option,
    quiet_option,
    signed_option,
)
from arbor.cli.completing import REMOTE
from arbor.cli.identity import set_identity
from arbor.cli.session import Session
from arbor.cli.sharing import connect_options, fetch_fields, full_tags, show_fetch, transfer_bar
from arbor.cli.showing.merge_view import MERGE_FIELDS, run_merge
from arbor.errors import RemoteError, UsageError
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from arbor.remote import fetching
else:
    fetching = lazy_module("arbor.remote.fetching")

FIELDS = {"fetched": "the fetch, with the keys of arbor fetch", **MERGE_FIELDS}


@arbor_command("pull", fields=FIELDS)
@click.argument("remote", required=False, metavar="[REMOTE]", type=REMOTE)
@click.argument("names", nargs=-1, metavar="[BRANCH|TAG]")
@merge_options
@click.option(
    "-f", "--force", is_flag=True, help="Accept branches that were rolled back and tags that moved."
)
@no_edit_option
@click.option(
    "--no-rebase", is_flag=True, expose_value=False, help="Join histories by a merge, as without it."
)
@signed_option
@quiet_option
@json_option
def command(
    session: Session, remote: str | None, names: tuple[str, ...], force: bool, require_signed: bool | None,
    as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Fetch, then merge what the current branch follows into it.

    REMOTE is a name, an address or a bundle file. A name is a branch's, or a tag's where no branch is called so; tag
    NAME is the tag, as in git. With `pull.require_signed` set, or --require-signed, every commit
    that the branch would gain must be signed by a key in `sign.allowed_signers`, also what was fetched before.
    """
    branches = full_tags(names)
    if len(branches) > 1:
        raise UsageError("one branch or tag is merged at a time", "pull one after the other")
    kb = session.open()
    set_identity(kb)
    options = fetching.FetchOptions(force=force)
    with transfer_bar(session, "receiving") as bar:
        brought = kb.sharing.bring(remote, *branches, options=options, connecting=connect_options(session),
                                   progress=bar, require_signed=require_signed)  # fmt: skip
    if not as_json:
        show_fetch(session, brought.fetched)
    run_merge(session, "pull", brought.commit, how, message=brought.message, as_json=as_json,
              warned=brought.fetched.warnings, fetched=fetch_fields(brought.fetched))  # fmt: skip
    if brought.fetched.rejected:
        raise click.exceptions.Exit(RemoteError.exit_code)
