"""`arbor init`."""

from __future__ import annotations

import click

from arbor.cli.command import arbor_command, json_option, quiet_option
from arbor.cli.safe_text import quote_path
from arbor.cli.session import Session
from arbor.kb import init
from arbor.repo.places import has_own_kb

FIELDS = {
    "path": "the `.arbor` folder (the folder itself for a bare knowledge base)",
    "branch": "the branch that the first commit will make",
    "bare": "whether there is no work tree",
}


@arbor_command("init", fields=FIELDS)
@click.argument("folder", default=".", metavar="[FOLDER]", type=click.Path(file_okay=False))
@click.option(
    "-b",
    "--branch",
    "--initial-branch",
    "branch",
    default="main",
    metavar="NAME",
    help="Name of the first branch (default: main).",
)
@click.option("--bare", is_flag=True, help="Only the store, without a folder of documents: for sharing.")
@quiet_option
@json_option
def command(session: Session, folder: str, branch: str, bare: bool, as_json: bool) -> None:
    """Make a knowledge base in FOLDER (default: here).

    Everything arbor keeps goes into the `.arbor` folder inside it; your files are not touched.
    """
    out = session.out
    above = next(filter(has_own_kb, session.from_here(folder).resolve().parents), None)
    with init(session.from_here(folder), bare=bare, branch=branch) as kb:
        place = str(kb.folder)
    if as_json:
        out.json("init", {"path": place, "branch": branch, "bare": bare})
        return
    if above is not None:
        out.warning(
            f"it lies inside the knowledge base of {quote_path(str(above))}, which leaves its files alone now"
        )
    out.line(f"started an empty knowledge base in {quote_path(place)}")
    if not bare:
        out.hint("run: arbor add . and then arbor commit -m MESSAGE")
