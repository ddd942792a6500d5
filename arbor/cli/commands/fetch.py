"""`arbor fetch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, json_option, quiet_option, signed_option
from arbor.cli.completing import REMOTE
from arbor.cli.identity import set_identity
from arbor.cli.session import Session
from arbor.cli.sharing import connect_options, fetch_fields, full_tags, show_fetch, transfer_bar
from arbor.errors import ArborError, RemoteError, UsageError
from arbor.lazy import lazy_module
from arbor.repo.commits.upstreams import read_upstream

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase
    from arbor.remote import fetching, remotes
else:
    fetching = lazy_module("arbor.remote.fetching")
    remotes = lazy_module("arbor.remote.remotes")

FIELDS = {
    "dry_run": "whether nothing was kept",
    "url": "where it was fetched from",
    "refs": "`there`, `here`, `old`, `new`, `status` (new, forward, forced, pruned, same, rejected), `reason` of each",
    "objects": "objects received",
    "bytes": "bytes received",
    "commits": "new commits",
    "cold": "documents that came without their passages",
    "warnings": "what to know before relying on it",
    "fetch_head": "full name there of the branch or tag that FETCH_HEAD stands for now, null where it is as it was",
}


@arbor_command("fetch", fields=FIELDS)
@click.argument("remote", required=False, metavar="[REMOTE]", type=REMOTE)
@click.argument("branches", nargs=-1, metavar="[BRANCH|TAG]...")
@click.option("-p", "--prune", is_flag=True, help="Forget branches that are gone on the other side.")
@click.option(
    "-f", "--force", is_flag=True, help="Accept branches that were rolled back and tags that moved."
)
@click.option("--all", "everywhere", is_flag=True, help="From every remote.")
@click.option("--dry-run", is_flag=True, help="Say what would come, and keep nothing of it.")
@click.option("--tags/--no-tags", default=True, help="Bring every tag too, as without it; or leave tags out.")
@signed_option
@quiet_option
@json_option
def command(
    session: Session, remote: str | None, branches: tuple[str, ...], prune: bool, force: bool, everywhere: bool,
    dry_run: bool, tags: bool, require_signed: bool | None, as_json: bool,
) -> None:  # fmt: skip
    """Bring what a remote has, and leave your branch and files as they are.

    REMOTE is a name (see arbor remote) or an address; without it, the one that the branch follows. A branch that
    the other side has rolled back from what it showed before is refused unless you accept it with --force.
    A name is a branch's, or a tag's where no branch is called so; tag NAME is the tag, as in git.

    What was asked for, else the one that yours follows, else the one that HEAD follows there, is called
    FETCH_HEAD afterwards, also where REMOTE is an address without a name, such as a bundle: arbor log ..FETCH_HEAD
    shows what it would bring, and arbor merge FETCH_HEAD brings it. It stays as it was where that one is refused.
    """
    kb = session.open()
    set_identity(kb)
    options = fetching.FetchOptions(full_tags(branches), tags, prune, force, dry_run)
    if everywhere:
        _fetch_all(session, _every_remote(kb, remote, as_json=as_json), options, require_signed)
        return
    result = _fetch(session, remote, options, require_signed)
    if as_json:
        session.out.json("fetch", fetch_fields(result, dry_run=dry_run))
    else:
        show_fetch(session, result)
        if dry_run:
            session.out.note("nothing was kept: it was a dry run")
    if result.rejected:
        raise click.exceptions.Exit(RemoteError.exit_code)


def _fetch(
    session: Session, remote: str | None, options: fetching.FetchOptions, require_signed: bool | None
) -> fetching.FetchResult:
    with transfer_bar(session, "receiving") as bar:
        return session.open().sharing.fetch(remote, options, connecting=connect_options(session), progress=bar,
                                            require_signed=require_signed)  # fmt: skip


def _fetch_all(
    session: Session, names: Sequence[str], options: fetching.FetchOptions, require_signed: bool | None
) -> None:
    """Fetch from one after the other; one that cannot be reached keeps nothing from the others."""
    codes = []
    for name in names:
        try:
            result = _fetch(session, name, options, require_signed)
        except ArborError as error:
            session.out.warning(f"nothing came from {name}: {error.message}")
            if error.hint:
                session.out.hint(error.hint)
            codes.append(error.exit_code)
            continue
        show_fetch(session, result)
        if result.rejected:
            codes.append(RemoteError.exit_code)
    if codes:
        raise click.exceptions.Exit(codes[0])


def _every_remote(kb: KnowledgeBase, remote: str | None, *, as_json: bool) -> list[str]:
    if remote is not None:
        raise UsageError("--all is every remote, and takes no name", "leave out --all, or the name")
    if as_json:
        raise UsageError("a JSON answer is about one remote", "name it: arbor fetch REMOTE --json")
    found, wrong = remotes.read_remotes(kb.repo)
    followed, _, _ = read_upstream(kb.repo, kb.repo.refs.current_branch()).partition("/")
    # The one that the branch follows comes last, since FETCH_HEAD is what came last.
    return [*wrong, *sorted((each.name for each in found), key=followed.__eq__)]
