"""`arbor branch`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.completing import REVISION
from arbor.cli.identity import set_identity
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.settings_view import warn_of_settings
from arbor.cli.views import short
from arbor.errors import UsageError
from arbor.repo import branching, history

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase

FIELDS = {
    "branches": "`name`, `commit`, `current`, `upstream` of each, and `upstream_gone`: whether that was removed "
    "there or never pushed",
    "current": "the current branch; null where HEAD is detached",
}


@arbor_command("branch", fields=FIELDS)
@click.argument("names", nargs=-1, metavar="[NAME] [REV]", type=REVISION)
@click.option("-r", "--remotes", is_flag=True, help="List the remote-tracking branches.")
@click.option("-a", "--all", "everywhere", is_flag=True, help="List both: the remotes' as remotes/NAME.")
@click.option(
    "--show-current",
    is_flag=True,
    help="Only the name of the current branch; nothing where HEAD is detached.",
)
@click.option("-v", "--verbose", is_flag=True, help="List with the subject of each commit.")
@click.option("--contains", metavar="REV", help="List those that lead to a commit.")
@click.option(
    "--merged",
    is_flag=False,
    flag_value="HEAD",
    metavar="[REV]",
    help="List those that HEAD or REV leads to.",
)
@click.option("--no-merged", is_flag=False, flag_value="HEAD", metavar="[REV]", help="List the others.")
@click.option("-d", "--delete", is_flag=True, help="Remove a branch whose commits are also elsewhere.")
@click.option(
    "-D", "force_delete", is_flag=True, help="Remove a branch even if its commits are nowhere else."
)
@click.option("-m", "--move", is_flag=True, help="Rename: -m OLD NEW, or -m NEW for the current branch.")
@click.option("-u", "--set-upstream-to", "upstream", metavar="UPSTREAM",
              help="Let the branch (the current one without NAME) follow a remote's, such as origin/main.")  # fmt: skip
@click.option("--unset-upstream", is_flag=True, help="Let the branch follow nothing.")
@click.option("-f", "--force", is_flag=True, help="Move a branch that exists.")
@json_option
def command(
    session: Session, names: tuple[str, ...], remotes: bool, everywhere: bool, show_current: bool, verbose: bool,
    contains: str | None, merged: str | None, no_merged: str | None, delete: bool, force_delete: bool, move: bool,
    upstream: str | None, unset_upstream: bool, force: bool, as_json: bool,
) -> None:  # fmt: skip
    """List branches, or make, rename or remove some, or say what one follows.

    arbor branch NAME makes a branch at HEAD (or REV) and stays where it is; arbor switch -c NAME also goes
    there. A branch made at a remote's, such as origin/main, follows it. -d takes any number of names. With
    --json, the branches that are there afterwards.
    """
    kb = session.open()
    set_identity(kb)
    changes_some = names or delete or force_delete or move or upstream or unset_upstream
    chosen = _Chosen(contains, merged, no_merged)
    if (remotes or everywhere or show_current or verbose or chosen.is_some) and changes_some:
        raise UsageError(
            "-r, -a, -v, --show-current, --contains and --merged list branches, and change none",
            "run: arbor branch --help",
        )
    if show_current and not as_json:
        current = kb.repo.refs.current_branch()
        if current:
            session.out.line(clean_line(current))
        return
    follows = upstream is not None or unset_upstream
    if delete or force_delete:
        for name in _at_least_one(names):
            oid = branching.delete_branch(kb.repo, name, force=force_delete)
            if not as_json:
                session.out.line(f"removed branch {clean_line(name)} (it was at {short(oid.hex())})")
    elif len(names) > (1 if follows else 2):
        raise UsageError(f"there are too many names: '{names[-1]}'", "run: arbor branch --help")
    elif follows:
        _follow(session, names, upstream, unset_upstream=unset_upstream, quiet=as_json)
    elif move:
        *old, new = _at_least_one(names)
        current = old[0] if old else kb.repo.refs.current_branch()
        branching.rename_branch(kb.repo, _at_least_one([current] if current else [])[0], new, force=force)
    elif names:
        branching.create_branch(kb.repo, names[0], *names[1:], force=force)
    if as_json or not (delete or force_delete or names or follows):
        found = _found(session, chosen, local=everywhere or not remotes, remote=everywhere or remotes)
        _list(session, found, as_json, verbose=verbose)


def _follow(
    session: Session, names: Sequence[str], upstream: str | None, *, unset_upstream: bool, quiet: bool
) -> None:
    """Let the branch that is named, or the current one, follow a remote's branch, or nothing."""
    if upstream == "" or (upstream is not None and unset_upstream):
        raise UsageError("name what the branch is to follow, or say --unset-upstream")
    kb = session.open()
    current = kb.repo.refs.current_branch()
    [branch] = _at_least_one(names or ([current] if current else []))
    kb.sharing.follow(branch, upstream or "")
    if not quiet:
        follows = f"follows {clean_line(upstream)}" if upstream else "follows nothing"
        session.out.line(f"branch {clean_line(branch)} {follows}")


def _at_least_one(names: Sequence[str]) -> Sequence[str]:
    if not names:
        raise UsageError("name a branch", "run: arbor branch")
    return names


class _Chosen(NamedTuple):
    """Which branches are listed, by revisions: those that lead to one, those that one leads to, and the others."""

    contains: str | None
    merged: str | None
    no_merged: str | None

    @property
    def is_some(self) -> bool:
        """Whether any of them was given, be it as an empty word."""
        return any(revision is not None for revision in self)

    def takes(self, kb: KnowledgeBase, oid: bytes) -> bool:
        """Whether a branch at this commit is listed."""

        def leads(old: bytes, new: bytes) -> bool:
            return history.is_ancestor(kb.repo, old, new)

        return (
            (self.contains is None or leads(kb.resolve(self.contains), oid))
            and (self.merged is None or leads(oid, kb.resolve(self.merged)))
            and (self.no_merged is None or not leads(oid, kb.resolve(self.no_merged)))
        )


def _found(session: Session, chosen: _Chosen, *, local: bool, remote: bool) -> list[branching.Branch]:
    kb = session.open()
    found = branching.list_branches(kb.repo) if local else []
    for branch in branching.list_branches(kb.repo, remotes=True) if remote else ():
        found.append(replace(branch, name=f"remotes/{branch.name}") if local else branch)
    return (
        [branch for branch in found if chosen.takes(kb, bytes.fromhex(branch.commit))]
        if any(chosen)
        else found
    )


def _list(session: Session, found: Sequence[branching.Branch], as_json: bool, *, verbose: bool) -> None:
    repo, out = session.open().repo, session.out
    if as_json:
        rows = [
            {"name": b.name, "commit": b.commit, "current": b.current, "upstream": b.upstream or None,
             "upstream_gone": b.upstream_gone}
            for b in found
        ]  # fmt: skip
        out.json("branch", {"branches": rows, "current": repo.refs.current_branch() or None})
        return
    warn_of_settings(session)
    for branch in found:
        mark = "*" if branch.current else " "
        gone = " (gone)" if branch.upstream_gone else ""
        follows = f"  follows {clean_line(branch.upstream)}{gone}" if branch.upstream else ""
        name = out.style(clean_line(branch.name), "green") if branch.current else clean_line(branch.name)
        said = (
            f" {clean_line(session.open().show(branch.commit, with_text=False)[0].subject)}"
            if verbose
            else ""
        )
        out.line(
            f"{mark} {name} {out.style(short(branch.commit), 'yellow')}{out.style(follows, 'dim')}{said}"
        )
