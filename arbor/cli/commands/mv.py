"""`arbor mv`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from arbor.cli.command import arbor_command, dry_run_option, json_option, quiet_option
from arbor.cli.completing import DOCUMENT
from arbor.cli.safe_text import quote_path
from arbor.cli.session import Session
from arbor.cli.views import name_documents
from arbor.errors import ConflictError, UsageError

FIELDS = {
    "dry_run": "whether nothing was changed",
    "renamed": "`old_path` and `path` of each document that was renamed",
}


@arbor_command("mv", fields=FIELDS)
@click.argument("paths", nargs=-1, metavar="SOURCE... TARGET", type=DOCUMENT)
@click.option("-f", "--force", is_flag=True, help="Replace what is at the target.")
@click.option("-k", "skips", is_flag=True, help="Leave in place what cannot be moved, with a warning.")
@click.option("--abort", is_flag=True, help="Take back a move that was cut off half-way: no more is needed.")
@click.option("-v", "--verbose", is_flag=True, help="List every document, however many there are.")
@dry_run_option
@quiet_option
@json_option
def command(
    session: Session, paths: tuple[str, ...], force: bool, skips: bool, abort: bool, verbose: bool, dry_run: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Rename a document or folder, or move several into a folder. TARGET/ is a folder that is there.

    The files move and the change is staged; a folder takes along what is not tracked in it. A renamed document keeps
    its identity, which does not depend on its path; where the new name says another kind of file, it is read as that,
    as add would.
    """
    if abort:
        if paths or dry_run:
            raise UsageError("--abort goes alone", "run: arbor mv --abort")
        session.open().branches.abort_mv()
        pairs: tuple[tuple[str, str], ...] = ()
    elif len(paths) < 2:
        raise UsageError("name what is moved, and where to", "run: arbor mv SOURCE TARGET")
    else:
        *sources, target = paths
        if skips:
            # Of several some may be left, but the last one is not renamed to what was meant as a folder.
            target = f"{target}/" if len(sources) > 1 else target
            sources = _movable(session, sources, target, force=force)
        pairs = ()
        if sources:
            pairs = session.open().mv(sources, target, force=force, dry_run=dry_run, cwd=session.cwd)
    out, verb = session.out, "would rename" if dry_run else "renamed"
    if as_json:
        out.json(
            "mv", {"dry_run": dry_run, "renamed": [{"old_path": old, "path": new} for old, new in pairs]}
        )
    elif abort:
        out.line("the move is taken back: files and stage are as before it")
    else:
        named = [f"{session.shown(old)} -> {session.shown(new)}" for old, new in pairs]
        name_documents(out, verb, named, every=verbose or dry_run)


def _movable(session: Session, sources: Sequence[str], target: str, *, force: bool) -> list[str]:
    """Those of the sources that can be moved, each together with those before it."""
    chosen: list[str] = []
    for source in sources:
        try:
            session.open().mv([*chosen, source], target, force=force, dry_run=True, cwd=session.cwd)
        except (UsageError, ConflictError) as error:
            session.out.warning(f"left in place {quote_path(source)}: {error.message}")
        else:
            chosen.append(source)
    return chosen
