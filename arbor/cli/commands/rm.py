"""`arbor rm`."""

from __future__ import annotations

import click

from arbor.cli.command import arbor_command, documents_argument, dry_run_option, json_option, quiet_option
from arbor.cli.session import Session
from arbor.cli.views import name_documents

FIELDS = {
    "dry_run": "whether nothing was changed",
    "cached": "whether the files were kept",
    "removed": "paths of the documents that were removed",
}


@arbor_command("rm", fields=FIELDS)
@documents_argument(required=True, metavar="PATH...")
@click.option("-r", "--recursive", is_flag=True, help="Also whole folders.")
@click.option("-f", "--force", is_flag=True, help="Even where changes that are not committed are lost.")
@click.option("--cached", is_flag=True, help="Stop tracking them but keep the files.")
@click.option("--ignore-unmatch", is_flag=True, help="A PATH that matches nothing is no error.")
@dry_run_option
@quiet_option
@json_option
def command(
    session: Session,
    paths: tuple[str, ...],
    recursive: bool,
    force: bool,
    cached: bool,
    ignore_unmatch: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove documents from the next commit and from the folder.

    Earlier commits keep them: arbor restore --source REV PATH brings them back.
    """
    removed = session.open().rm(
        paths,
        cached=cached,
        force=force,
        recursive=recursive,
        dry_run=dry_run,
        ignore_unmatched=ignore_unmatch,
        cwd=session.cwd,
    )
    out = session.out
    if as_json:
        out.json("rm", {"dry_run": dry_run, "cached": cached, "removed": list(removed)})
        return
    verb = "would remove" if dry_run else "stopped tracking" if cached else "removed"
    name_documents(out, verb, [*map(session.shown, removed)], every=dry_run)
