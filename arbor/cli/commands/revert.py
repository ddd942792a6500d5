"""`arbor revert`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arbor.cli.arguments import is_span
from arbor.cli.command import arbor_command, json_option, no_edit_option, offline_option, quiet_option
from arbor.cli.commands.merge import FIELDS
from arbor.cli.completing import REVISION
from arbor.cli.identity import set_identity
from arbor.cli.on_demand import bring_needs
from arbor.cli.session import Session
from arbor.cli.showing.file_view import cold_noticed
from arbor.cli.showing.merge_view import check_ending, end_merge, finish_merge, go_on, say_left
from arbor.cli.views import short
from arbor.errors import UsageError
from arbor.repo.commits.history import mainline_of
from arbor.repo.commits.shorthands import BEFORE
from arbor.repo.forgetting import cold_needs
from arbor.repo.merge import merging

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase


@arbor_command("revert", fields=FIELDS)
@click.argument("words", nargs=-1, metavar="[REV | OLD..NEW]...", type=REVISION)
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
    session: Session, words: tuple[str, ...], abort: bool, goes_on: bool, mainline: int | None, no_commit: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Undo what a commit changed, as a new commit; of several, one after the other, those of a range from the newest.

    -m 1 undoes what a merge brought to the branch it was made on.
    """
    kb = session.open()
    set_identity(kb)
    check_ending(words[0] if words else None, abort=abort, goes_on=goes_on)
    if abort:
        merging.abort(kb.repo, "revert")
        say_left(session, "revert", as_json=as_json)
        return
    if goes_on:
        go_on(session, "revert", "", as_json=as_json)
        return
    if not words:
        raise UsageError("name the commit to revert", "run: arbor log")
    if as_json and (len(words) > 1 or ".." in words[0]):
        raise UsageError("a JSON answer is about one commit", "revert one after the other")
    revisions = _expanded(kb, words)
    for revision in revisions:  # refused before the first of them is undone
        mainline_of(kb.repo, kb.resolve(revision), mainline)
    for number, revision in enumerate(revisions, 1):
        bring_needs(session, cold_needs.needs_of_revert(kb.repo, revision, mainline))
        with cold_noticed(session):
            staged = merging.revert(kb.repo, revision, mainline, further=no_commit)
            outcome = finish_merge(session, staged, commit=not no_commit)
        if outcome.conflicts and number < len(revisions):
            left = " ".join(revisions[number:])
            session.out.hint(f"then go on with: arbor revert {'-n ' * no_commit}{left}")
        end_merge(session, "revert", outcome, as_json=as_json)


def _expanded(kb: KnowledgeBase, words: tuple[str, ...]) -> list[str]:
    """The commits one by one; what they are called now may be another commit after the first is undone."""
    if len(words) == 1 and not is_span(kb, words[0]):
        return [BEFORE if words[0] == "-" else words[0]]
    found: list[str] = []
    for word in words:
        one = BEFORE if word == "-" else word
        oids = [info.commit for info in kb.log(word)] if is_span(kb, word) else [kb.resolve(one).hex()]
        if not oids:
            raise UsageError(f"there is no commit in {word}", "write a range as OLD..NEW")
        found += [short(oid) for oid in oids]
    return found
