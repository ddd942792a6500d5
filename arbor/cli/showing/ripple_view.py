"""Ripples and standings for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import LABEL_STYLES, count
from arbor.errors import first_of

if TYPE_CHECKING:
    from arbor.graph.checking import Finding
    from arbor.graph.desk import HistoryPoint
    from arbor.graph.ripple import LabelChange, Reach, Ripple
    from arbor.graph.standing import PeerGroup, Standing

_SHOWN = 3
_BARS = " ▁▂▃▄▅▆▇█"


def ripple_fields(ripple: Ripple | None) -> dict[str, Any] | None:
    """A ripple for `--json`: `origins`, `hops`, `reached`, `changed`, `terms`; null where none was worked out."""
    if ripple is None:
        return None
    return {
        "origins": list(ripple.origins),
        "hops": ripple.hops,
        "reached": [_reach_fields(reach) for reach in ripple.reached],
        "changed": [_change_fields(change) for change in ripple.changed],
        "terms": list(ripple.terms),
    }


def _reach_fields(reach: Reach) -> dict[str, Any]:
    return {"path": reach.key, "hop": reach.hop, "weight": reach.weight_milli / 1000, "via": list(reach.path),
            "terms": list(reach.terms)}  # fmt: skip


def _change_fields(change: LabelChange) -> dict[str, Any]:
    return {
        "path": change.key,
        "before": change.before.value if change.before else None,
        "after": change.after.value if change.after else None,
        "score_before": change.score_before_ppm / 1_000_000,
        "score_after": change.score_after_ppm / 1_000_000,
        "contested": change.contested_after,
    }


def standing_fields(standing: Standing) -> dict[str, Any]:
    """A standing for `--json`: `label`, `score`, `groups`, `contested`."""
    return {"label": standing.label.value, "score": standing.score, "groups": standing.groups,
            "contested": standing.contested}  # fmt: skip


def peer_fields(group: PeerGroup) -> dict[str, Any]:
    """A group of peers for `--json`."""
    return {"members": list(group.members), "similarity": group.similarity_ppm / 1_000_000,
            "shared_terms": list(group.shared_terms), "independent": group.independent}  # fmt: skip


def label_text(session: Session, standing: Standing) -> str:
    """A label in its colour, with CONTESTED beside it where somebody asserted a contradiction."""
    label = standing.label.value
    text = session.out.style(label, LABEL_STYLES[label])
    return f"{text} {session.out.style('CONTESTED', 'red')}" if standing.contested else text


def ripple_line(session: Session, ripple: Ripple) -> str:
    """A ripple in one line: `ripple: notes/d.md reached 7 documents in 2 hops; 2 labels changed: ...`."""
    if not ripple.origins:
        return "ripple: no document changed"
    others = [change for change in ripple.changed if change.key not in ripple.origins]
    first = session.shown(ripple.origins[0])
    more = f" and {len(ripple.origins) - 1:,} more" if len(ripple.origins) > 1 else ""
    if ripple.reached:
        reached = f"reached {count(len(ripple.reached), 'document')} in {count(ripple.hops, 'hop')}"
    else:
        reached = "reached no other document"
    changed = f"{count(len(others), 'label')} changed" if others else "no label changed"
    named = first_of([_change_text(session, change) for change in others], _SHOWN)
    return f"ripple: {first}{more} {reached}; {changed}{': ' + named if named else ''}{_newcomers(ripple)}"


def finding_lines(
    session: Session, findings: Sequence[Finding], warnings: int | None = None
) -> Iterator[str]:
    """What the policy objects to, one line each; of more than `warnings` warnings only the first ones."""
    left = len(findings) if warnings is None else warnings
    untold = 0
    for finding in findings:
        if not finding.blocks and not left:
            untold += 1
            continue
        left -= not finding.blocks
        severity = session.out.style(finding.severity, "red" if finding.blocks else "yellow")
        yield f"{severity}: {session.shown(finding.path)}: {clean_line(finding.message)}"
    if untold:
        yield f"and {count(untold, 'warning')} more; run: arbor ripple --staged --check"


def _newcomers(ripple: Ripple) -> str:
    """The labels that new documents came in with: `; new: 3 NOVEL, 1 EXTENDED`."""
    labels = [change.after.value for change in ripple.changed if change.before is None and change.after]
    counts = [(labels.count(name), name) for name in LABEL_STYLES]
    told = ", ".join(f"{number:,} {name}" for number, name in counts if number)
    return f"; new: {told}" if told else ""


def _change_text(session: Session, change: LabelChange) -> str:
    before = change.before.value if change.before else "(new)"
    after = change.after.value if change.after else "(gone)"
    if change.before == change.after:
        after = "CONTESTED" if change.contested_after else "no longer CONTESTED"
    return f"{session.shown(change.key)} {before} -> {after}"


def show_ripple(session: Session, ripple: Ripple) -> None:
    """A ripple with everything it reached and by which path."""
    out = session.out
    out.line(ripple_line(session, ripple))
    if ripple.changed:
        out.line("\nLabels:")
        for change in ripple.changed:
            scores = f"{change.score_before_ppm / 1e6:.2f} -> {change.score_after_ppm / 1e6:.2f}"
            out.line(f"  {_change_text(session, change)}  {out.style(f'score {scores}', 'dim')}")
    if ripple.reached:
        out.line("\nReached:")
    for reach in ripple.reached:
        way = " > ".join(map(session.shown, reach.path))
        because = f"through commoner or rarer words: {', '.join(map(clean_line, reach.terms[:8]))}"
        out.line(f"  hop {reach.hop}  weight {reach.weight_milli / 1000:.2f}  {session.shown(reach.key)}")
        out.line(out.style(f"      {because if reach.terms else way}", "dim"))


def history_chart(points: list[HistoryPoint]) -> str:
    """Scores as one line of bars, oldest first; a dot where the document was not there."""
    scores = [point.standing.score_ppm if point.standing else None for point in reversed(points)]
    top = max((score for score in scores if score is not None), default=0) or 1
    return "".join("·" if score is None else _BARS[max(1, round(score / top * 8))] for score in scores)
