"""`arbor remote`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.identity import set_identity
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.sharing import connect_options, short_ref, warn_of_secret
from arbor.cli.views import ahead_behind, short
from arbor.errors import UsageError
from arbor.remote import remotes
from arbor.repo.commits.upstreams import count_ahead_behind, list_upstreams
from arbor.store.refs import HEADS, REMOTES, short_name

if TYPE_CHECKING:
    from arbor.remote.fetching import RefChange
    from arbor.remote.remotes import Remote

FIELDS = {
    "remotes": "`name`, `url`, `filter` of each, as they are afterwards; with show and get-url of the one",
    "pruned": "`name` and `commit` of each tracking branch that prune forgot, or would",
}
ACTIONS = {
    "list": 0,
    "show": 1,
    "add": 2,
    "remove": 1,
    "rm": 1,
    "rename": 2,
    "set-url": 2,
    "get-url": 1,
    "prune": 1,
}


@arbor_command("remote", fields=FIELDS)
@click.argument("action", default="list", type=click.Choice(list(ACTIONS)), metavar="[ACTION]")
@click.argument("words", nargs=-1, metavar="[NAME [URL | NEW]]")
@click.option("-v", "--verbose", is_flag=True, help="Show the addresses in a list.")
@click.option(
    "-n", "--dry-run", is_flag=True, help="With prune: say what would be forgotten, and forget nothing."
)
@json_option
def command(
    session: Session, action: str, words: tuple[str, ...], verbose: bool, dry_run: bool, as_json: bool
) -> None:
    """Show and change the knowledge bases that this one is shared with.

      arbor remote [-v]               list them
      arbor remote show NAME          its branches as last seen, with followers
      arbor remote add NAME URL       give an address a name
      arbor remote rename NAME NEW    change the name; tracking branches go along
      arbor remote set-url NAME URL   change the address
      arbor remote get-url NAME       show it
      arbor remote prune NAME         forget its branches that are gone there
      arbor remote remove NAME        forget it and its tracking branches; also rm

    An address is a folder, a bundle, ssh://, HOST:PATH, http(s)://, or an object store's.
    """
    if action == "show" and not words:
        action = "list"
    if len(words) != ACTIONS[action]:
        takes = f"{ACTIONS[action] or 'no'} word{'' if ACTIONS[action] == 1 else 's'}"
        raise UsageError(f"arbor remote {action} takes {takes}, not {len(words)}", "run: arbor remote --help")
    if dry_run and action != "prune":
        raise UsageError("--dry-run goes with prune", "run: arbor remote --help")
    kb = session.open()
    set_identity(kb)
    desk = kb.sharing
    _change(session, action, words)
    gone = _prune(session, *words, dry_run=dry_run, quiet=as_json) if action == "prune" else []
    if action in ("get-url", "show"):
        found = [desk.remote(*words)]
        if not as_json and action == "show":
            _show(session, found[0])
        elif not as_json:
            session.out.line(clean_line(found[0].url))
    else:
        found, wrong = remotes.read_remotes(kb.repo)
        for name, fault in wrong.items():
            session.out.warning(f"remote '{name}' cannot be used: {fault.message}")
            session.out.hint(fault.hint)
    if as_json:
        rows = [{"name": r.name, "url": r.url, "filter": r.filter or None} for r in found]
        pruned = [{"name": short_name(change.here), "commit": change.old} for change in gone]
        session.out.json("remote", {"remotes": rows, "pruned": pruned})
    elif action == "list":
        for remote in found:
            note = f"  ({remote.filter})" if remote.filter else ""
            session.out.line(f"{remote.name}\t{clean_line(remote.url)}{note}" if verbose else remote.name)


def _change(session: Session, action: str, words: Sequence[str]) -> None:
    """What is to be done to the remotes; nothing where they are only shown."""
    desk = session.open().sharing
    if action == "add":
        desk.add_remote(*words, cwd=session.cwd)
        warn_of_secret(session, words[1])
    elif action in ("remove", "rm"):
        desk.remove_remote(*words)
    elif action == "rename":
        desk.rename_remote(*words)
    elif action == "set-url":
        desk.set_remote_url(*words, cwd=session.cwd)
        warn_of_secret(session, words[1])


def _prune(session: Session, name: str, *, dry_run: bool, quiet: bool) -> list[RefChange]:
    """Forget what is gone there, and say what that was."""
    gone = session.open().sharing.prune_remote(name, dry_run=dry_run, connecting=connect_options(session))
    for change in () if quiet else gone:
        verb = "would prune" if dry_run else "pruned"
        session.out.line(f"{verb} {short_ref(change.here)} (it was at {short(change.old)})")
    return gone


def _show(session: Session, remote: Remote) -> None:
    """The remote with its branches as they were last seen, and the branches here that follow them."""
    repo, out = session.open().repo, session.out
    out.line(f"{out.style(remote.name, 'bold')} at {clean_line(remote.url)}")
    follows = list_upstreams(repo)
    seen = [name.removeprefix(REMOTES) for name in repo.refs.iter_names(f"{REMOTES}{remote.name}/")]
    for name in sorted({*seen, *(each for each in follows.values() if each.startswith(f"{remote.name}/"))}):
        theirs = repo.refs.read(REMOTES + name) if name in seen else None
        told = [
            f"  {clean_line(name)} {out.style(short(theirs.hex()), 'yellow') if theirs else '(gone, or never pushed)'}"
        ]
        for branch in sorted(branch for branch, upstream in follows.items() if upstream == name):
            apart = ahead_behind(count_ahead_behind(repo, repo.refs.read(HEADS + branch), name))
            told.append(f"{clean_line(branch)} follows it{f', {apart}' if apart else ''}")
        out.line("  ".join(told))
    out.hint(
        f"see what is there now: arbor fetch {remote.name}; forget what is gone: arbor fetch --prune {remote.name}"
    )
