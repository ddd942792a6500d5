"""`arbor remote`."""

from __future__ import annotations

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.identity import set_identity
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.sharing import warn_of_secret
from arbor.errors import UsageError

FIELDS = {"remotes": "`name`, `url`, `filter` of each, as they are afterwards; with get-url of the one"}
ACTIONS = {"list": 0, "add": 2, "remove": 1, "rm": 1, "rename": 2, "set-url": 2, "get-url": 1}


@arbor_command("remote", fields=FIELDS)
@click.argument("action", default="list", type=click.Choice(list(ACTIONS)), metavar="[ACTION]")
@click.argument("words", nargs=-1, metavar="[NAME [URL | NEW]]")
@click.option("-v", "--verbose", is_flag=True, help="Show the addresses in a list.")
@json_option
def command(session: Session, action: str, words: tuple[str, ...], verbose: bool, as_json: bool) -> None:
    """Show and change the knowledge bases that this one is shared with.

      arbor remote [-v]               list them
      arbor remote add NAME URL       give an address a name
      arbor remote rename NAME NEW    change the name; tracking branches go along
      arbor remote set-url NAME URL   change the address
      arbor remote get-url NAME       show it
      arbor remote remove NAME        forget it and its tracking branches; also rm

    An address is a folder, a bundle, ssh://, HOST:PATH, http(s)://, or an object store's.
    """
    if len(words) != ACTIONS[action]:
        takes = f"{ACTIONS[action] or 'no'} word{'' if ACTIONS[action] == 1 else 's'}"
        raise UsageError(f"arbor remote {action} takes {takes}, not {len(words)}", "run: arbor remote --help")
    kb = session.open()
    set_identity(kb)
    desk = kb.sharing
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
    if action == "get-url":
        found = [desk.remote(*words)]
        if not as_json:
            session.out.line(clean_line(found[0].url))
    else:
        found = desk.remotes()
    if as_json:
        rows = [{"name": r.name, "url": r.url, "filter": r.filter or None} for r in found]
        session.out.json("remote", {"remotes": rows})
    elif action == "list":
        for remote in found:
            note = f"  ({remote.filter})" if remote.filter else ""
            session.out.line(f"{remote.name}\t{clean_line(remote.url)}{note}" if verbose else remote.name)
