"""`arbor revert`."""

from __future__ import annotations

import click

from arbor.cli.cold_view import cold_noticed
from arbor.cli.command import arbor_command, json_option, no_edit_option, offline_option, quiet_option
from arbor.cli.commands.merge import FIELDS
from arbor.cli.completing import REVISION
from arbor.cli.identity import set_identity
from arbor.cli.merge_view import check_ending, end_merge, finish_merge, go_on, say_left
from arbor.cli.on_demand import bring_needs
from arbor.cli.session import Session
from arbor.errors import UsageError
from arbor.repo.commits.shorthands import BEFORE
from arbor.repo.forgetting import cold_needs
from arbor.repo.merge import merging


@arbor_command("revert", fields=FIELDS)
@click.argument("revision", required=False, metavar="[REV]", type=REVISION)
@click.option("--abort", is_flag=True, help="Leave a revert in progress: what it staged is taken back.")
@click.option("--continue", "goes_on", is_flag=True, help="Commit a revert whose conflicts are resolved.")
@click.option("-m", "--mainline", type=click.IntRange(min=1), metavar="NUM",
              help="Of a merge: keep the side of this parent, counted from 1.")  # fmt: skip
@click.option("-n", "--no-commit", is_flag=True,
              help="Stage the undoing and leave the commit to you, one for several.")  # fmt: skip
@no_edit_option
@offline_option
@quiet_option
@json_option
def command(
    session: Session, revision: str | None, abort: bool, goes_on: bool, mainline: int | None, no_commit: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Undo what a commit changed, as a new commit.

    -m 1 undoes what a merge brought to the branch it was made on.
    """
    kb = session.open()
    set_identity(kb)
    check_ending(revision, abort=abort, goes_on=goes_on)
    if abort:
        merging.abort(kb.repo, "revert")
        say_left(session, "revert", as_json=as_json)
        return
    if goes_on:
        go_on(session, "revert", "", as_json=as_json)
        return
    if revision is None:
        raise UsageError("name the commit to revert", "run: arbor log")
    revision = BEFORE if revision == "-" else revision
    bring_needs(session, cold_needs.needs_of_revert(kb.repo, revision, mainline))
    with cold_noticed(session):
        staged = merging.revert(kb.repo, revision, mainline, further=no_commit)
        outcome = finish_merge(session, staged, commit=not no_commit)
    end_merge(session, "revert", outcome, as_json=as_json)
