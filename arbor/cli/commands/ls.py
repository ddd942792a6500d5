"""`arbor ls`."""

from __future__ import annotations

import click

from arbor.cli.command import arbor_command, at_option, documents_argument, json_option
from arbor.cli.session import Session
from arbor.cli.views import short
from arbor.errors import UsageError
from arbor.repo.work_tree.selections import glob_matcher, is_glob

FIELDS = {
    "rev": "the revision as typed; null for HEAD",
    "documents": "in path order; each with `path` and `document`, its oid",
}


@arbor_command("ls", fields=FIELDS)
@documents_argument()
@at_option
@click.option("-l", "--long", "with_oids", is_flag=True, help="Also the first digits of each document's oid.")
@click.option("-z", "nul", is_flag=True, help="A NUL byte after each path and no quoting.")
@json_option
def command(
    session: Session, paths: tuple[str, ...], at: str | None, with_oids: bool, nul: bool, as_json: bool
) -> None:
    """List the documents of HEAD or another revision, all or those at and below PATH, which may be a pattern."""
    kb, out = session.open(), session.out
    chosen: dict[str, str] = {}
    for typed in paths or ("",):
        prefix = session.kb_path(typed) if typed else ""
        found = dict(kb.ls(prefix, at))
        if not found and is_glob(prefix):
            matches = glob_matcher(prefix)
            found = {path: oid for path, oid in kb.ls(revision=at) if matches(path)}
        if typed and not found:
            raise UsageError(f"there is no document at or below '{session.as_shown(typed)}' in {at or 'HEAD'}",
                             "run: arbor ls")  # fmt: skip
        chosen.update(found)
    rows = sorted(chosen.items())
    if as_json:
        documents = [{"path": path, "document": oid} for path, oid in rows]
        out.json("ls", {"rev": at, "documents": documents})
        return
    with out.paged():
        for path, oid in rows:
            if nul:
                out.raw(path.encode() + b"\0")
            else:
                name = session.shown(path)
                out.line(f"{out.style(short(oid), 'yellow')}  {name}" if with_oids else name)
