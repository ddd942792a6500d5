"""`arbor merge`."""

from __future__ import annotations

from typing import Any

import click

from arbor.cli.command import (
    arbor_command,
    json_option,
    merge_options,
    message_option,
    no_edit_option,
    offline_option,
    quiet_option,
)
from arbor.cli.completing import REVISION
from arbor.cli.identity import set_identity
from arbor.cli.session import Session
from arbor.cli.showing.merge_view import MERGE_FIELDS, check_ending, go_on, run_merge, say_left
from arbor.errors import UsageError
from arbor.repo.commits.shorthands import BEFORE
from arbor.repo.merge import merging

FIELDS = MERGE_FIELDS | {
    "kind": "up-to-date, fast-forward, merged, staged (--no-commit), conflict or left (--abort)",
    "merged": 'the commit that was merged; "" after revert --continue and --abort',
}


@arbor_command("merge", fields=FIELDS)
@click.argument("revision", required=False, metavar="REV", type=REVISION)
@merge_options
@click.option("--abort", is_flag=True, help="Leave a merge in progress: what it staged is taken back.")
@click.option("--continue", "goes_on", is_flag=True, help="Commit a merge whose conflicts are resolved.")
@click.option("-X", "--strategy-option", "favour", type=click.Choice(["ours", "theirs"]), default=None,
              help="Take this side where both changed the same lines.")  # fmt: skip
@message_option("The message of the merge commit; several become paragraphs.")
@no_edit_option
@offline_option
@quiet_option
@json_option
def command(
    session: Session, revision: str | None, abort: bool, goes_on: bool, favour: str | None, message: str | None,
    as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Merge another branch or commit into the current branch; - is the branch that you came from.

    Documents are merged by content, renames followed; where both sides changed the same lines, the file gets
    conflict markers: resolve them, `arbor add` the document, and `arbor commit`. A core that both sides changed is
    resolved with `arbor core restore NAME --at REV`, `core add` or `core rm`.
    """
    kb = session.open()
    set_identity(kb)
    check_ending(revision, abort=abort, goes_on=goes_on)
    if abort:
        merging.abort(kb.repo, "merge")
        say_left(session, "merge", as_json=as_json)
        return
    if goes_on:
        go_on(session, "merge", message or "", as_json=as_json)
        return
    if revision is None:
        raise UsageError("name a branch or commit to merge", "run: arbor branch")
    revision = BEFORE if revision == "-" else revision
    run_merge(session, "merge", revision, how, message=message or "", favour=favour or "", as_json=as_json)
