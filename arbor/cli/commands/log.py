"""`arbor log`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from arbor.cli.arguments import split_revisions
from arbor.cli.command import arbor_command, json_option, paths_after_dashes
from arbor.cli.completing import REVISION
from arbor.cli.diff_view import diff_fields, name_status_lines, stat_lines
from arbor.cli.graph_view import Lanes
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import COMMIT_FIELDS, Head, commit_fields, commit_header, decorations, read_head, short
from arbor.errors import UsageError
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from arbor.cli import signature_view
    from arbor.kb import KnowledgeBase
    from arbor.repo import desk
    from arbor.repo.results import CommitInfo, TextDiff
else:
    desk = lazy_module("arbor.repo.desk")
    signature_view = lazy_module("arbor.cli.signature_view")

FIELDS = {
    "commits": "newest first; each with "
    + ", ".join(f"`{name}`" for name in COMMIT_FIELDS)
    + ", and with --stat or --name-status its `changes`, with --checkpoint its `checkpoint` "
    "(`origin`, `size`, `log_root`, `note`)"
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
@click.option("--graph", is_flag=True, help="Draw lines of development beside the commits.")
@click.option("--stat", is_flag=True, help="Also how many lines changed in which documents.")
@click.option("--name-status", is_flag=True, help="Also which documents changed.")
@click.option(
    "--checkpoint", is_flag=True, help="Only the size and root of the log that ends in REV (C2SP form)."
)
@click.option("--show-signature", is_flag=True, help="Also whether a commit is signed, and by whom.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, session: Session, words: tuple[str, ...], limit: int | None, oneline: bool, graph: bool,
    stat: bool, name_status: bool, checkpoint: bool, show_signature: bool, as_json: bool,
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
    found = kb.log(revision, paths, limit=1 if checkpoint else limit)
    if checkpoint:
        _show_checkpoint(session, next(iter(found)), as_json=as_json)
        return
    if as_json:
        session.out.json("log", {"commits": [_fields(kb, info, stat, name_status) for info in found]})
        return
    form = _Form(read_head(kb), oneline, stat, name_status, show_signature)
    with session.out.paged():
        if graph:
            _draw(session, found, form, has_paths=bool(paths))
        else:
            _list(session, found, form)


def _show_checkpoint(session: Session, info: CommitInfo, *, as_json: bool) -> None:
    """The checkpoint as it is compared: origin, size, root, commit; signed where there is a key."""
    trust = desk.TrustDesk(session.open().repo)
    found = trust.checkpoint(info.commit)
    try:
        note = trust.checkpoint_note(info.commit)
    except UsageError as error:  # the key is for commits, and can sign these
        session.out.warning(f"the checkpoint is not signed: {error.message}")
        note = trust.checkpoint_note(info.commit, sign=False)
    if as_json:
        fields = {"origin": found.origin, "size": found.size, "log_root": found.log_root.hex(), "note": note}
        session.out.json("log", {"commits": [{**commit_fields(info), "checkpoint": fields}]})
        return
    session.out.text(note)


class _Form(NamedTuple):
    """How commits are shown."""

    head: Head
    oneline: bool
    stat: bool
    name_status: bool
    signatures: bool


def _list(session: Session, found: Iterable[CommitInfo], form: _Form) -> None:
    for number, info in enumerate(found):
        if number and not form.oneline:
            session.out.line()
        for line in _lines(session, info, form):
            session.out.line(line)


def _draw(session: Session, found: Iterable[CommitInfo], form: _Form, *, has_paths: bool) -> None:
    """The commits beside lanes; parents that are not shown end their lane."""
    if has_paths:
        raise UsageError(
            "--graph draws whole histories, not those of some paths", "leave out --graph, or the paths"
        )
    infos = list(found)
    shown = {info.commit for info in infos}
    lanes = Lanes(ascii_only=not session.out.is_unicode)
    for number, info in enumerate(infos, 1):
        first, rest, joins = lanes.take(info.commit, [parent for parent in info.parents if parent in shown])
        lines = list(_lines(session, info, form))
        if not form.oneline and number < len(infos):
            lines.append("")
        for place, line in enumerate(lines):
            session.out.line(f"{rest if place else first}{line}".rstrip())
        for join in joins:
            session.out.line(join.rstrip())


def _changes(kb: KnowledgeBase, info: CommitInfo, *, with_text: bool) -> tuple[TextDiff, ...]:
    return kb.show(info.commit, with_text=with_text)[1]


def _fields(kb: KnowledgeBase, info: CommitInfo, stat: bool, name_status: bool) -> dict[str, Any]:
    fields = commit_fields(info)
    if stat or name_status:
        fields["changes"] = [
            diff_fields(change, with_lines=stat) for change in _changes(kb, info, with_text=stat)
        ]
    return fields


def _lines(session: Session, info: CommitInfo, form: _Form) -> Iterator[str]:
    """A commit, with what it changed where that was asked for."""
    out = session.out
    names = decorations(out, info, form.head)
    if form.oneline:
        shown = f" ({names})" if names else ""
        yield f"{out.style(short(info.commit), 'yellow')}{shown} {clean_line(info.subject)}"
    else:
        yield from commit_header(out, info, names)
    if form.signatures:
        yield f"    {signature_view.signature_line(session, info.commit)}"
    if not (form.stat or form.name_status):
        return
    if not form.oneline:
        yield ""
    changes = _changes(session.open(), info, with_text=form.stat)
    for line in stat_lines(out, changes) if form.stat else name_status_lines(out, changes):
        yield f"  {line}"
