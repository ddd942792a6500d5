"""`arbor branch`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.completing import REVISION
from arbor.cli.identity import set_identity
from arbor.cli.ref_lists import Listing, asks_for_list, list_options, listing
from arbor.cli.safe_text import cell_width, clean_line
from arbor.cli.session import Session
from arbor.cli.showing.ref_format import ref_lines
from arbor.cli.views import ahead_behind, short
from arbor.errors import UsageError
from arbor.repo.commits import branching
from arbor.repo.commits.branching import Branch
from arbor.repo.commits.messages import subject_of
from arbor.repo.commits.shorthands import branch_named
from arbor.repo.commits.upstreams import count_ahead_behind
from arbor.store.refs import HEADS, REMOTES

FIELDS = {
    "branches": "`name`, `commit`, `current`, `upstream` of each, and `upstream_gone`: whether that was removed "
    "there or never pushed",
    "current": "the current branch; null where HEAD is detached",
}
_REMOTE = "remotes/"
"""What the name of a remote's branch begins with where local ones are listed too."""


@arbor_command("branch", fields=FIELDS)
@click.argument("names", nargs=-1, metavar="[NAME] [REV]", type=REVISION)
@click.option(
    "-l", "--list", "lists", is_flag=True, help="List the branches, or those that match a pattern NAME."
)
@click.option("-v", "--verbose", count=True,
              help="List them with their commits, what they follow and how far they are from it, and subjects.",
)  # fmt: skip
@list_options
@click.option("-r", "--remotes", is_flag=True, help="List the remote-tracking branches.")
@click.option("-a", "--all", "everywhere", is_flag=True, help="List both: the remotes' as remotes/NAME.")
@click.option(
    "--show-current",
    is_flag=True,
    help="Only the name of the current branch; nothing where HEAD is detached.",
)
@click.option("-d", "--delete", is_flag=True, help="Remove a branch whose commits are also elsewhere.")
@click.option(
    "-D", "force_delete", is_flag=True, help="Remove a branch even if its commits are nowhere else."
)
@click.option("-m", "--move", is_flag=True, help="Rename: -m OLD NEW, or -m NEW for the current branch.")
@click.option("-M", "force_move", is_flag=True, help="Rename, and replace a branch of the new name.")
@click.option("-u", "--set-upstream-to", "upstream", metavar="UPSTREAM",
              help="Let the branch (the current one without NAME) follow a remote's, such as origin/main.")  # fmt: skip
@click.option("--unset-upstream", is_flag=True, help="Let the branch follow nothing.")
@click.option("-f", "--force", is_flag=True, help="Move a branch that exists.")
@json_option
def command(
    session: Session, names: tuple[str, ...], remotes: bool, everywhere: bool, show_current: bool, delete: bool,
    force_delete: bool, move: bool, upstream: str | None, unset_upstream: bool, force: bool, lists: bool,
    verbose: int, force_move: bool, as_json: bool, **shape: Any,
) -> None:  # fmt: skip
    """List branches, or make, rename or remove some, or say what one follows.

    arbor branch NAME makes a branch at HEAD (or REV) and stays where it is; arbor switch -c NAME also goes
    there. A branch made at a remote's, such as origin/main, follows it. -d takes any number of names. With
    --json, the branches that are there afterwards.
    """
    kb = session.open()
    set_identity(kb)
    lists = lists or verbose > 0 or asks_for_list(shape)
    move, force = move or force_move, force or force_move
    acts = delete or force_delete or move or upstream or unset_upstream
    if (remotes or everywhere or show_current or lists) and (acts or (names and not lists)):
        told = "-l, -v, -r, -a, --format, --show-current and the filters list branches, and change none"
        there = "those that are gone there are forgotten with: arbor fetch --prune"
        raise UsageError(told, there if remotes and (delete or force_delete) else "run: arbor branch --help")
    if show_current and not as_json:
        current = kb.repo.refs.current_branch()
        if current:
            session.out.line(clean_line(current))
        return
    follows = upstream is not None or unset_upstream
    if delete or force_delete:
        for typed in _at_least_one(names):
            name = branch_named(kb.repo, typed)
            oid = branching.delete_branch(kb.repo, name, force=force_delete)
            if not as_json:
                session.out.line(f"removed branch {clean_line(name)} (it was at {short(oid.hex())})")
    elif not lists and len(names) > (1 if follows else 2):
        raise UsageError(f"there are too many names: '{names[-1]}'", "run: arbor branch --help")
    elif follows:
        _follow(session, names, upstream, unset_upstream=unset_upstream, quiet=as_json)
    elif move:
        *old, new = _at_least_one(names)
        current = old[0] if old else kb.repo.refs.current_branch()
        branching.rename_branch(kb.repo, _at_least_one([current] if current else [])[0], new, force=force)
    elif names and not lists:
        branching.create_branch(kb.repo, names[0], *names[1:], force=force)
    if as_json or lists or not (delete or force_delete or names or follows):
        shown = listing(kb, shape, names if lists else ())
        _list(session, as_json, shown, subjects=verbose > 0, local=everywhere or not remotes,
              remote=everywhere or remotes)  # fmt: skip


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


def _list(
    session: Session, as_json: bool, shown: Listing, *, subjects: bool, local: bool, remote: bool
) -> None:
    repo, out = session.open().repo, session.out
    found = branching.list_branches(repo) if local else []
    refs = {branch.name: HEADS + branch.name for branch in found}
    for branch in branching.list_branches(repo, remotes=True) if remote else ():
        found.append(replace(branch, name=f"{_REMOTE}{branch.name}") if local else branch)
        refs[found[-1].name] = REMOTES + branch.name
    found = shown.chosen(session.open(), found, _REMOTE)  # -a and -r take the same patterns
    if as_json:
        rows = [
            {"name": b.name, "commit": b.commit, "current": b.current, "upstream": b.upstream or None,
             "upstream_gone": b.upstream_gone}
            for b in found
        ]  # fmt: skip
        out.json("branch", {"branches": rows, "current": repo.refs.current_branch() or None})
        return
    session.warn_of_settings()
    if shown.form is not None:
        for line in ref_lines(session.open(), [refs[branch.name] for branch in found], shown.form):
            out.line(line)
        return
    head = repo.refs.head()
    if local and isinstance(head, bytes) and not shown.patterns and shown.holds(head.hex()):
        found.insert(0, Branch(f"(HEAD detached at {short(head.hex())})", head.hex(), True, ""))
    for line in _lines(session, found, subjects=subjects):
        out.line(line)


def _lines(session: Session, found: Sequence[Branch], *, subjects: bool) -> Iterator[str]:
    """The names, one a line, as git has them; with subjects also where each stands and what it follows."""
    style = session.out.style
    names = [clean_line(branch.name) for branch in found]
    width = max(map(cell_width, names), default=0)
    for name, branch in zip(names, found, strict=True):
        line = f"{'*' if branch.current else ' '} {style(name, 'green') if branch.current else name}"
        if subjects:
            line += " " * (width - cell_width(name)) + _standing(session, branch)
        yield line


def _standing(session: Session, branch: Branch) -> str:
    """The commit of a branch, what it follows and how far it is from it, and the subject of the commit."""
    repo, style = session.open().repo, session.out.style
    oid = bytes.fromhex(branch.commit)
    told = f" {style(short(branch.commit), 'yellow')}"
    if branch.upstream:
        apart = ahead_behind(count_ahead_behind(repo, oid, branch.upstream))
        gone = " (gone)" if branch.upstream_gone else f": {apart}" if apart else ""
        told += "  " + style(f"follows {clean_line(branch.upstream)}{gone}", "dim")
    return f"{told}  {clean_line(subject_of(repo.commit(oid).message))}" if oid else told
