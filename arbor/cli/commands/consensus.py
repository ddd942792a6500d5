"""`arbor consensus`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from arbor.cli.arguments import find_place
from arbor.cli.command import arbor_command, at_option, json_option
from arbor.cli.completing import DOCUMENT
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.showing.ripple_view import (
    history_chart,
    label_text,
    peer_fields,
    standing_fields,
)
from arbor.cli.views import LABEL_STYLES, count, moment, short

if TYPE_CHECKING:
    from arbor.graph.desk import HistoryPoint

FIELDS = {
    "path": "the document",
    "label": "NOVEL, EXTENDED or CORROBORATED",
    "score": "the influence that reaches it; 0 without independent peers",
    "groups": "independent groups of peers",
    "contested": "whether a contradiction with a peer was asserted",
    "peers": "without --history, groups: `members`, `similarity`, `shared_terms`, `independent`",
    "history": "with --history, newest first: `commit`, `time`, `subject`, `label`, `score`, `groups`, `contested`; "
    "where it was not there only the first three, and null for a label",
    "documents": "without a path: `path`, `label`, `score`, `groups`, `contested` of each document",
    "counts": "without a path: documents by label",
}


@arbor_command("consensus", fields=FIELDS)
@click.argument("document", required=False, metavar="[PATH[@REV]]", type=DOCUMENT)
@click.option("--label", metavar="LABEL", help="List the documents that carry this label, or CONTESTED.")
@click.option("--history", is_flag=True, help="Show how the label moved over the last commits.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Commits in a history."
)
@at_option
@json_option
def command(
    session: Session,
    document: str | None,
    label: str | None,
    history: bool,
    limit: int,
    at: str | None,
    as_json: bool,
) -> None:
    """Show how many independent sources talk about the same thing.

    With a document: its label, score and peers by group. Without one: how many documents carry each label, or with
    --label which ones. Similar is not the same as agreeing.
    """
    if document is None:
        if history:
            raise click.UsageError("--history needs a document")
        _overview(session, label, at, as_json)
        return
    place = find_place(session, f"{document}@{at}" if at else document)
    if history:
        _history(session, place.path, limit, as_json)
    else:
        _one(session, place.path, place.revision, as_json)


def _overview(session: Session, label: str | None, at: str | None, as_json: bool) -> None:
    found = session.open().standings(label=label, at=at, progress=session.out.note)
    counts = Counter(standing.label.value for _, standing in found)
    out = session.out
    if as_json:
        rows = [{"path": path, **standing_fields(standing)} for path, standing in found]
        out.json("consensus", {"documents": rows, "counts": {name: counts[name] for name in LABEL_STYLES}})
        return
    if label is not None:
        with out.paged():
            for path, standing in found:
                out.line(f"{label_text(session, standing)} {standing.groups:>3}  {session.shown(path)}")
        return
    for name, style in LABEL_STYLES.items():
        out.line(f"{counts[name]:>8,}  {out.style(name, style)}")
    contested = sum(1 for _, standing in found if standing.contested)
    if contested:
        out.line(f"{contested:>8,}  {out.style('CONTESTED', 'red')}")


def _one(session: Session, path: str, revision: str | None, as_json: bool) -> None:
    report = session.open().consensus(path, at=revision, progress=session.out.note)
    out = session.out
    if as_json:
        out.json("consensus", {"path": path, **standing_fields(report.standing),
                               "peers": [peer_fields(group) for group in report.peers]})  # fmt: skip
        return
    standing = report.standing
    out.line(f"{session.shown(path)}  {label_text(session, standing)}")
    out.line(f"  score {standing.score:.2f} from {count(standing.groups, 'independent group')} of peers")
    for group in report.peers:
        head = f"  {group.similarity_ppm / 1e6:.2f}  {session.shown(group.members[0])}"
        more = (
            f" and {count(len(group.members) - 1, 'more document')} of the same source"
            if len(group.members) > 1
            else ""
        )
        own = "" if group.independent else out.style("  same source as this one: not counted", "dim")
        out.line(head + more + own)
        out.line(out.style(f"        shares: {', '.join(map(clean_line, group.shared_terms))}", "dim"))


def _point_fields(point: HistoryPoint) -> dict[str, Any]:
    standing = standing_fields(point.standing) if point.standing else {"label": None}
    return {
        "commit": point.commit,
        "time": moment(point.seconds, 0, iso=True),
        "subject": point.subject,
        **standing,
    }


def _history(session: Session, path: str, limit: int, as_json: bool) -> None:
    points = session.open().consensus_history(path, limit=limit, progress=session.out.note)
    out = session.out
    if as_json:
        now = standing_fields(points[0].standing) if points and points[0].standing else {}
        out.json("consensus", {"path": path, **now, "history": [_point_fields(point) for point in points]})
        return
    out.line(f"{session.shown(path)}  {history_chart(points)}")
    for point in points:
        day = moment(point.seconds, 0).partition(" ")[0]
        what = (
            label_text(session, point.standing) + f" {point.standing.score:.2f}"
            if point.standing
            else "(not there)"
        )
        out.line(f"  {short(point.commit)} {day}  {what}  {out.style(clean_line(point.subject), 'dim')}")
