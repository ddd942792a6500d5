"""`arbor log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from arbor.cli.arguments import split_revisions
from arbor.cli.command import arbor_command, json_option, paths_after_dashes
from arbor.cli.completing import REVISION
from arbor.cli.diff_view import diff_fields, name_status_lines, stat_lines
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import COMMIT_FIELDS, commit_fields, commit_header, decorations, short

if TYPE_CHECKING:
    from arbor.kb import KnowledgeBase
    from arbor.repo.results import CommitInfo, TextDiff

FIELDS = {
    "commits": "newest first; each with "
    + ", ".join(f"`{name}`" for name in COMMIT_FIELDS)
    + ", and with --stat or --name-status its `changes`"
}


@arbor_command("log", fields=FIELDS, splits_paths=True, number_option="-n")
@click.argument("words", nargs=-1, metavar="[REV | OLD..NEW] [-- PATH...]", type=REVISION)
@click.option(
    "-n",
    "--max-count",
    "limit",
    type=click.IntRange(min=0),
    metavar="NUM",
    help="At most NUM commits; also -NUM.",
)
@click.option("--oneline", is_flag=True, help="One line a commit.")
@click.option("--stat", is_flag=True, help="Also how many lines changed in which documents.")
@click.option("--name-status", is_flag=True, help="Also which documents changed.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, session: Session, words: tuple[str, ...], limit: int | None, oneline: bool,
    stat: bool, name_status: bool, as_json: bool,
) -> None:  # fmt: skip
    """Show the history, newest first.

    For example:

      arbor log --oneline -5       the last five commits
      arbor log -- notes/a.md      commits that changed a document (or folder)
      arbor log v1..main           what main has that v1 has not
    """
    kb = session.open()
    chosen = split_revisions(session, words, paths_after_dashes(ctx), most=1)
    paths = [session.kb_path(path) for path in chosen.paths]
    revision = chosen.revisions[0] if chosen.revisions else None
    found = kb.log(revision, paths, limit=limit)
    if as_json:
        session.out.json("log", {"commits": [_fields(kb, info, stat, name_status) for info in found]})
        return
    with session.out.paged():
        for number, info in enumerate(found):
            _show(session, info, number, oneline=oneline)
            if stat or name_status:
                _show_changes(session, info, stat=stat, oneline=oneline)


def _changes(kb: KnowledgeBase, info: CommitInfo, *, with_text: bool) -> tuple[TextDiff, ...]:
    return kb.show(info.commit, with_text=with_text)[1]


def _fields(kb: KnowledgeBase, info: CommitInfo, stat: bool, name_status: bool) -> dict[str, Any]:
    fields = commit_fields(info)
    if stat or name_status:
        fields["changes"] = [
            diff_fields(change, with_lines=stat) for change in _changes(kb, info, with_text=stat)
        ]
    return fields


def _show(session: Session, info: CommitInfo, number: int, *, oneline: bool) -> None:
    out = session.out
    refs = session.open().repo.refs
    head, branch = refs.head_oid(), refs.head()
    name = branch.removeprefix("refs/heads/") if isinstance(branch, str) else ""
    names = decorations(out, info, name, head.hex() if head else "")
    if oneline:
        out.line(f"{out.style(short(info.commit), 'yellow')}{names} {clean_line(info.subject)}")
        return
    if number:
        out.line()
    for line in commit_header(out, info, names):
        out.line(line)


def _show_changes(session: Session, info: CommitInfo, *, stat: bool, oneline: bool) -> None:
    changes = _changes(session.open(), info, with_text=stat)
    lines = stat_lines(session.out, changes) if stat else name_status_lines(session.out, changes)
    if not oneline:
        session.out.line()
    for line in lines:
        session.out.line(f"  {line}")
