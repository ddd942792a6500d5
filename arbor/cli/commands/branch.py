"""`arbor branch`."""

from __future__ import annotations

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.completing import REVISION
from arbor.cli.identity import set_identity
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import short
from arbor.errors import UsageError
from arbor.repo import branching

FIELDS = {
    "branches": "`name`, `commit`, `current`, `upstream` of each",
    "current": "the current branch; null where HEAD is detached",
}


@arbor_command("branch", fields=FIELDS)
@click.argument("name", required=False, metavar="[NAME]", type=REVISION)
@click.argument("start", required=False, metavar="[REV]", type=REVISION)
@click.option("-r", "--remotes", is_flag=True, help="List the remote-tracking branches.")
@click.option("-d", "--delete", is_flag=True, help="Remove a branch whose commits are also elsewhere.")
@click.option(
    "-D", "force_delete", is_flag=True, help="Remove a branch even if its commits are nowhere else."
)
@click.option(
    "-m",
    "--move",
    "new_name",
    metavar="NEW",
    help="Give the branch (the current one without NAME) another name.",
)
@click.option("-u", "--set-upstream-to", "upstream", metavar="UPSTREAM",
              help="Let the branch (the current one without NAME) follow a remote's, such as origin/main.")  # fmt: skip
@click.option("--unset-upstream", is_flag=True, help="Let the branch follow nothing.")
@click.option("-f", "--force", is_flag=True, help="Move a branch that exists.")
@json_option
def command(
    session: Session, name: str | None, start: str | None, remotes: bool, delete: bool, force_delete: bool,
    new_name: str | None, upstream: str | None, unset_upstream: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """List branches, or make, rename or remove one, or say what it follows.

    arbor branch NAME makes a branch at HEAD (or REV) and stays where it is; arbor switch -c NAME also goes
    there. A branch made at a remote's, such as origin/main, follows it. With --json, the branches that are there
    afterwards.
    """
    kb = session.open()
    set_identity(kb)
    if (upstream is not None and unset_upstream) or upstream == "":
        raise UsageError("name what the branch is to follow, or say --unset-upstream")
    if upstream is not None or unset_upstream:
        branch = name or _required(branching.current_branch(kb.repo))
        kb.sharing.follow(branch, "" if unset_upstream else upstream or "")
        if not as_json:
            follows = f"follows {clean_line(upstream or '')}" if not unset_upstream else "follows nothing"
            session.out.line(f"branch {clean_line(branch)} {follows}")
    elif delete or force_delete:
        oid = branching.delete_branch(kb.repo, _required(name), force=force_delete)
        if not as_json:
            session.out.line(f"removed branch {clean_line(name or '')} (it was at {short(oid.hex())})")
    elif new_name is not None:
        old = name or _required(branching.current_branch(kb.repo))
        names = {branch.name for branch in branching.list_branches(kb.repo)}
        if old not in names and new_name in names:  # typed as in git: -m OLD NEW
            old, new_name = new_name, old
        branching.rename_branch(kb.repo, old, new_name, force=force)
    elif name is not None:
        branching.create_branch(kb.repo, name, start or "HEAD", force=force)
    if as_json or not (delete or force_delete or new_name or name or upstream or unset_upstream):
        _list(session, remotes, as_json)


def _required(name: str | None) -> str:
    if not name:
        raise UsageError("name a branch", "run: arbor branch")
    return name


def _list(session: Session, remotes: bool, as_json: bool) -> None:
    repo, out = session.open().repo, session.out
    found = branching.list_branches(repo, remotes=remotes)
    if as_json:
        rows = [
            {"name": b.name, "commit": b.commit, "current": b.current, "upstream": b.upstream or None}
            for b in found
        ]
        out.json("branch", {"branches": rows, "current": branching.current_branch(repo) or None})
        return
    for branch in found:
        mark = "*" if branch.current else " "
        follows = f"  follows {clean_line(branch.upstream)}" if branch.upstream else ""
        name = out.style(clean_line(branch.name), "green") if branch.current else clean_line(branch.name)
        out.line(f"{mark} {name} {out.style(short(branch.commit), 'yellow')}{out.style(follows, 'dim')}")
