"""`arbor recheck`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, documents_argument, json_option
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.sharing import proxies_at_hand
from arbor.errors import AnswerNo, RemoteError
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from arbor.repo.forgetting import tiering
    from arbor.repo.importing import fetching, sources
else:
    fetching = lazy_module("arbor.repo.importing.fetching")
    sources = lazy_module("arbor.repo.importing.sources")
    tiering = lazy_module("arbor.repo.forgetting.tiering")

FIELDS = {
    "sources": "`path`, `uri`, `state` (`fresh`, `changed`, `gone` or `unreachable`), and the `detail` of how that "
    "is known",
}
_STYLES = {"fresh": ("green",), "changed": ("yellow",), "gone": ("red",), "unreachable": ("red",)}


@arbor_command("recheck", fields=FIELDS)
@documents_argument()
@click.option(
    "--private",
    is_flag=True,
    help="Ask sources on private networks, and open files that were not added from here.",
)
@click.option("--no-robots", is_flag=True, help="Do not ask robots.txt.")
@json_option
def command(session: Session, paths: tuple[str, ...], private: bool, no_robots: bool, as_json: bool) -> int:
    """Ask the source of each document whether it has changed.

    A server is asked by ETag or date where it gave one, else the bytes are compared. A file that a document names
    is opened where it was added from here; any other, which a clone may name, with --private. Ends with 1 when
    a source has changed or is gone, with 14 when one could not be asked.
    """
    repo = session.open().repo
    snapshot = session.open().snapshot()
    chosen = tiering.choose(repo, snapshot, [session.kb_path(path) for path in paths], tiering.Criteria())
    fetcher = fetching.Fetcher(
        fetching.FetchRules(private=private, robots=not no_robots, proxies=proxies_at_hand())
    )
    with session.progress("asking") as progress:
        found = sources.recheck(repo, snapshot, chosen, fetcher, progress=progress)
    out = session.out
    totals = Counter(each.state for each in found)
    if as_json:
        fields = [
            {"path": each.path, "uri": each.uri, "state": each.state, "detail": each.detail} for each in found
        ]
        out.json("recheck", {"sources": fields})
    else:
        for each in found:
            state = out.style(f"{each.state:11}", *_STYLES[each.state])
            out.line(f"{state} {session.shown(each.path)}  {clean_line(each.uri)}")
            if each.state != "fresh":
                out.note(f"  {clean_line(each.detail)}")
        out.line(", ".join(f"{totals[name]:,} {name}" for name in _STYLES))
        changed = [each.uri for each in found if each.state == "changed"]
        if changed:
            # No file is added by its address: what a clone names would be read.
            ways = ["arbor add -f ADDRESS --as PATH"] * any(not uri.startswith("file:") for uri in changed)
            ways += ["arbor add -f - --as PATH --source-uri URI < FILE"] * any(
                uri.startswith("file:") for uri in changed
            )
            out.hint(f"{', or '.join(ways)}, or arbor rehydrate PATH --update where it is cold")
    if totals["changed"] or totals["gone"]:
        return AnswerNo.exit_code
    return RemoteError.exit_code if totals["unreachable"] else 0
