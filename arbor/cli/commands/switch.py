"""`arbor switch`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, json_option, offline_option, quiet_option
from arbor.cli.completing import REVISION
from arbor.cli.identity import set_identity
from arbor.cli.on_demand import bring_needs
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.showing.file_view import cold_noticed, lost_changes, warn_of_loss
from arbor.cli.showing.hooks_view import run_post_hook
from arbor.cli.views import short
from arbor.errors import UsageError
from arbor.repo.commits import branching
from arbor.repo.commits.messages import subject_of
from arbor.repo.commits.revisions import resolve_start
from arbor.repo.commits.shorthands import BEFORE, branch_named, previous_place
from arbor.repo.forgetting import cold_needs
from arbor.repo.forgetting.cold_needs import Need
from arbor.store.refs import HEADS

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase

FIELDS = {
    "branch": "the branch that is current now; null where HEAD is detached",
    "commit": "the commit; null before the first",
}

NO_OID = bytes(32)
"""What a hook is told before the first commit, as git does."""


@arbor_command("switch", fields=FIELDS)
@click.argument("target", metavar="BRANCH", type=REVISION)
@click.argument("start", required=False, metavar="[REV]", type=REVISION)
@click.option("-c", "--create", is_flag=True, help="Make the branch first, here or at REV.")
@click.option("-C", "--force-create", "recreate", is_flag=True,
              help="As -c, and move the branch there where it exists.")  # fmt: skip
@click.option("-d", "--detach", is_flag=True, help="Go to a commit or tag without following a branch.")
@click.option(
    "-f",
    "--force",
    "--discard-changes",
    "force",
    is_flag=True,
    help="Throw away changes that are not committed.",
)
@offline_option
@quiet_option
@json_option
def command(
    session: Session,
    target: str,
    start: str | None,
    create: bool,
    recreate: bool,
    detach: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Go to another branch; - or @{-1} is the one, or the commit, that you came from, and @{-2} the one before.

    Changes to documents that do not differ between the two branches come along; others are never overwritten
    without --force.
    """
    kb = session.open()
    set_identity(kb)
    create = create or recreate
    if start is not None and not create:
        raise UsageError("only a new branch begins at a revision", "run: arbor switch -c BRANCH REV")
    start = BEFORE if start == "-" else start
    if target in ("-", BEFORE) and not create:
        target, was_detached = previous_place(kb.repo)
        detach = detach or was_detached
    target = branch_named(kb.repo, target)
    bring_needs(
        session, _needs(kb, start or "HEAD" if create else target, is_branch=not create and not detach)
    )
    left = kb.repo.stage().in_progress
    lost = lost_changes(session) if force else []
    old, stood_alone = kb.repo.refs.head_oid(), isinstance(kb.repo.refs.head(), bytes)
    with cold_noticed(session):
        oid = branching.switch(
            kb.repo,
            target,
            create=create,
            start=start or "HEAD",
            detach=detach,
            force=force,
            recreate=recreate,
        )
    warn_of_loss(session, lost)
    if old is not None and stood_alone and not branching.is_kept(kb.repo, old):
        _warn_of_commit(session, old)
    if left and not kb.repo.stage().in_progress:
        session.out.note(f"the {left} in progress is left")
    run_post_hook(session, "post-checkout", (old or NO_OID).hex(), (oid or NO_OID).hex(), "1")
    if as_json:
        session.out.json(
            "switch", {"branch": None if detach else target, "commit": oid.hex() if oid else None}
        )
        return
    where = f"HEAD is detached at {short(oid.hex())}" if detach and oid else f"on branch {clean_line(target)}"
    session.out.line(where)


def _warn_of_commit(session: Session, oid: bytes) -> None:
    """Say that a commit made on a detached HEAD is left behind, while its oid is at hand."""
    subject = clean_line(subject_of(session.open().repo.commit(oid).message))
    session.out.warning(f"commit {short(oid.hex())} is on no branch: {subject}")
    session.out.hint(f"keep it with: arbor branch NAME {short(oid.hex())}")


def _needs(kb: KnowledgeBase, target: str, *, is_branch: bool) -> list[Need]:
    """Files that would vanish since their other version is cold; none where the switch will be refused anyway."""
    for name in (HEADS + target, *branching.remote_branches(kb.repo, target)) if is_branch else (target,):
        with contextlib.suppress(UsageError):
            return cold_needs.needs_of_checkout(kb.repo, resolve_start(kb.repo, name))
    return []
