"""`arbor reset`."""

from __future__ import annotations

import contextlib

import click

from arbor.cli.arguments import has_documents
from arbor.cli.command import arbor_command, json_option, offline_option, quiet_option
from arbor.cli.completing import REVISION
from arbor.cli.identity import set_identity
from arbor.cli.on_demand import bring_needs
from arbor.cli.safe_text import typed_path
from arbor.cli.session import Session
from arbor.cli.showing.cold_view import cold_noticed
from arbor.cli.showing.loss_view import lost_changes, warn_of_loss
from arbor.cli.views import short
from arbor.errors import UsageError
from arbor.repo.commits import branching
from arbor.repo.forgetting import cold_needs

FIELDS = {"commit": "where the branch stands now", "mode": "soft, mixed or hard"}


@arbor_command("reset", fields=FIELDS)
@click.argument("revision", default="HEAD", metavar="[REV]", type=REVISION)
@click.option("--soft", is_flag=True, help="Move the branch only; stage and files stay.")
@click.option("--mixed", is_flag=True, help="Also empty the stage; files stay (the default).")
@click.option("--hard", is_flag=True, help="Also bring back the files: what is not committed is LOST.")
@offline_option
@quiet_option
@json_option
def command(session: Session, revision: str, soft: bool, mixed: bool, hard: bool, as_json: bool) -> None:
    """Move the current branch to a revision.

    --hard throws away every change to tracked documents that is not committed. The commits that the branch leaves
    behind stay in the reflog: `arbor reflog` finds them.
    """
    chosen = [name for name, given in (("soft", soft), ("mixed", mixed), ("hard", hard)) if given]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other", "choose one")
    mode = chosen[0] if chosen else "mixed"
    kb = session.open()
    set_identity(kb)
    try:
        kb.resolve(revision)
    except UsageError as error:
        if has_documents(kb, session.kb_path(revision)):
            hint = f"to take it out of the next commit, run: arbor restore -S {typed_path(revision)}"
            raise UsageError(f"'{revision}' is a document and no revision", hint) from error
        raise
    if mode == "hard":
        warn_of_loss(session, lost_changes(session))
        bring_needs(session, cold_needs.needs_of_checkout(kb.repo, kb.resolve(revision)))
    left = kb.repo.stage().in_progress
    with cold_noticed(session) if mode == "hard" else contextlib.nullcontext():
        oid = branching.reset(kb.repo, revision, mode)
    kb.bring_up_to_date()
    if left:
        session.out.note(f"the {left} in progress is left")
    if as_json:
        session.out.json("reset", {"commit": oid.hex(), "mode": mode})
    else:
        session.out.line(f"HEAD is at {short(oid.hex())}")
