"""`arbor reset`."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import click

from arbor.cli.arguments import known_documents
from arbor.cli.command import arbor_command, json_option, offline_option, paths_after_dashes, quiet_option
from arbor.cli.completing import REVISION_OR_DOCUMENT
from arbor.cli.identity import set_identity
from arbor.cli.on_demand import bring_needs
from arbor.cli.safe_text import typed_path
from arbor.cli.session import Session
from arbor.cli.showing.file_view import cold_noticed, lost_changes, warn_of_loss
from arbor.cli.views import name_documents, short
from arbor.errors import UsageError
from arbor.repo.commits import branching
from arbor.repo.forgetting import cold_needs
from arbor.repo.work_tree.selections import matcher_of

FIELDS = {
    "commit": "where the branch stands now",
    "mode": "soft, mixed or hard",
    "unstaged": "with PATH: the documents that are staged now as they are in REV; else null",
}


@arbor_command("reset", fields=FIELDS, splits_paths=True)
@click.argument("words", nargs=-1, metavar="[REV] [-- PATH...]", type=REVISION_OR_DOCUMENT)
@click.option("--soft", is_flag=True, help="Move the branch only; stage and files stay.")
@click.option("--mixed", is_flag=True, help="Also empty the stage; files stay (the default).")
@click.option("--hard", is_flag=True, help="Also bring back the files: what is not committed is LOST.")
@offline_option
@quiet_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, session: Session, words: tuple[str, ...], soft: bool, mixed: bool, hard: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Move the current branch to a revision; with PATH, take documents out of the next commit.

    --hard throws away every change to tracked documents that is not committed. The commits that the branch leaves
    behind stay in the reflog: `arbor reflog` finds them. With PATH no branch moves and no file changes: the documents
    there are staged as they are in REV, as `arbor restore --staged -s REV PATH` does it.
    """
    chosen = [name for name, given in (("soft", soft), ("mixed", mixed), ("hard", hard)) if given]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other", "choose one")
    mode = chosen[0] if chosen else "mixed"
    kb = session.open()
    set_identity(kb)
    revision, paths = _told_apart(session, words, paths_after_dashes(ctx))
    if paths:
        if mode != "mixed":
            raise UsageError(f"--{mode} moves a whole branch, and takes no paths",
                             f"run: arbor restore -S -W -s {revision} {typed_path(paths[0])}")  # fmt: skip
        _unstage(session, revision, paths, as_json=as_json)
        return
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
        session.out.json("reset", {"commit": oid.hex(), "mode": mode, "unstaged": None})
    else:
        session.out.line(f"HEAD is at {short(oid.hex())}")


def _told_apart(
    session: Session, words: Sequence[str], after_dashes: Sequence[str] | None
) -> tuple[str, Sequence[str]]:
    """The revision, and the paths that are meant; of a word that is both, the revision."""
    kb, paths = session.open(), [*words[1:], *(after_dashes or ())]
    if not words:
        return "HEAD", paths
    try:
        kb.resolve(words[0])
    except UsageError:
        if after_dashes is None and any(map(matcher_of([session.kb_path(words[0])]), known_documents(kb))):
            return "HEAD", words
        raise
    return words[0], paths


def _unstage(session: Session, revision: str, paths: Sequence[str], *, as_json: bool) -> None:
    kb = session.open()
    source = None if revision == "HEAD" else revision  # of HEAD there may be none yet
    done = kb.restore(paths, source=source, staged=True, worktree=False, cwd=session.cwd).restored
    if as_json:
        commit = kb.repo.refs.head_oid()
        told = {"commit": commit.hex() if commit else None, "mode": "mixed", "unstaged": sorted(done)}
        session.out.json("reset", told)
        return
    if not done:
        session.out.note("it is staged so already")
    name_documents(session.out, "unstaged", [*map(session.shown, sorted(done))])
