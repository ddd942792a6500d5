"""`arbor rehydrate`, also `arbor rehydrate-cold`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from arbor.cli.byte_sources import fetching_options, open_places
from arbor.cli.command import arbor_command, at_option, documents_argument, json_option
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import MAX_LISTED, count, note_rest, short, size
from arbor.errors import AnswerNo, PartlyDone, UsageError

if TYPE_CHECKING:
    from arbor.repo.forgetting.rehydrating import RehydrateReport, Rehydration

FIELDS = {
    "documents": "what was cold: `paths`, `document`, `state` (`whole`, `part` or `cold`), `sources`, `accepted` and "
    "`missing` passages and pieces of an original, `missing_original` (how many of those missing are such pieces), "
    "`note`, and `drift` where a source has changed: its place, how many passages are the "
    "`same`, and the `index` and `leaf` of each that is `gone` or `new`",
    "updates": "with --update, each `path` whose source has changed, and the `problem` where that was not staged",
    "warmed": "how many warm documents are hot again",
    "accepted_bytes": "bytes that came",
}
_MAX_LEAVES = 5


@arbor_command("rehydrate", fields=FIELDS)
@documents_argument()
@click.option(
    "--all", "everything", is_flag=True, help="Every cold and warm document, in older versions too."
)
@click.option("--from", "places", metavar="PLACE", multiple=True,
              help="A folder, bundle or remote to ask first; may be given again.")  # fmt: skip
@click.option("--update", is_flag=True, help="Stage what a source that has changed holds now.")
@fetching_options
@at_option
@json_option
def command(
    session: Session, paths: tuple[str, ...], everything: bool, places: tuple[str, ...], update: bool, at: str | None,
    as_json: bool, **asked: bool,
) -> None:  # fmt: skip
    """Bring cold documents back from wherever their bytes are.

    Every passage is accepted by its own hash, whatever a source says. A source that has changed gives
    back the passages that are still the same; the difference is shown and goes to the journal.

    For example:

      arbor rehydrate notes/a.md      from the work tree, its source, a remote
      arbor rehydrate-cold --all --from /mnt/archive
      arbor rehydrate notes/a.md --at HEAD~3    as it was then
    """
    if bool(paths) == everything:
        raise UsageError("say which documents: paths, or --all")
    if update and at is not None:
        raise UsageError("--update stages what goes on from HEAD, not from another revision")
    chosen = [session.kb_path(path) for path in paths]
    trust = session.open().trust
    with open_places(session, places, **asked) as found, session.progress("rehydrating") as progress:
        report = trust.rehydrate(chosen, places=found.folders, others=found.others, fetch=found.fetch, update=update,
                                 revision=at, progress=progress)  # fmt: skip
    if as_json:
        session.out.json("rehydrate", _fields(report))
    else:
        _show(session, report, update)
    missing = len(report.documents) - len(report.whole)
    if missing:
        text = f"{count(missing, 'document')} could not be brought back whole"
        raise (PartlyDone if report.whole or any(d.accepted for d in report.documents) else AnswerNo)(
            text, "name a place that has them with --from PLACE"
        )


def _fields(report: RehydrateReport) -> dict[str, Any]:
    return {"documents": [_document(each) for each in report.documents], "warmed": report.warmed,
            "accepted_bytes": report.accepted_bytes,
            "updates": [{"path": each.path, "problem": each.problem or None} for each in report.updates]}  # fmt: skip


def _document(done: Rehydration) -> dict[str, Any]:
    drift = None
    if done.drift is not None:
        gone, new = (
            [{"index": index, "leaf": leaf} for index, leaf in side]
            for side in (done.drift.gone, done.drift.new)
        )
        drift = {"source": done.drifted, "same": done.drift.same, "gone": gone, "new": new}
    return {
        "paths": list(done.paths), "document": done.document, "state": done.state, "sources": list(done.sources),
        "accepted": done.accepted, "missing": done.missing, "missing_original": done.missing_original,
        "note": done.note or None, "drift": drift,
    }  # fmt: skip


def _show(session: Session, report: RehydrateReport, update: bool) -> None:
    out = session.out
    if len(report.documents) <= MAX_LISTED:
        for done in report.whole:
            out.line(f"hot {session.shown(done.paths[0])}")
    hot = len(report.whole) + report.warmed
    if report.documents or hot:
        came = f"{size(report.accepted_bytes)} came, every passage checked"
        out.line(f"{count(hot, 'document')} hot again; {came}")
    else:
        out.line("nothing to bring back: all of it is hot")
        if update:
            out.hint("whether the sources of what is hot have changed says: arbor recheck")
    rest = [done for done in report.documents if done.state != "whole"]
    drifted = [done for done in report.documents if done.drift is not None]
    for done in rest[:MAX_LISTED]:
        what = f"{_missing(done)} still missing" if done.state == "part" else "nothing was found"
        out.note(f"cold {session.shown(done.paths[0])}: {what}{'; ' + done.note if done.note else ''}")
    note_rest(out, len(rest))
    for done in drifted[:MAX_LISTED]:
        _show_drift(session, done)
    note_rest(out, len(drifted), "more sources have changed")
    if drifted and not update:
        out.hint("to stage what the sources hold now, give --update")
    _show_updates(session, report)


def _missing(done: Rehydration) -> str:
    """What is not here of a document, in words."""
    passages, pieces = done.missing - done.missing_original, done.missing_original
    of_original = f"{count(pieces, 'piece')} of the original"
    if not passages:
        return of_original
    return count(passages, "passage") + (f" and {of_original}" if pieces else "")


def _show_updates(session: Session, report: RehydrateReport) -> None:
    """What was staged of changed sources, and what was not."""
    kept = [each for each in report.updates if each.problem]
    for each in kept:
        session.out.warning(f"the new version of {session.shown(each.path)} is not staged: {each.problem}")
    if len(report.updates) > len(kept):
        session.out.hint("the new versions are staged; run: arbor commit")


def _show_drift(session: Session, done: Rehydration) -> None:
    """How a source differs from what was committed, in leaves."""
    drift = done.drift
    if drift is None:
        return
    out = session.out
    out.warning(f"{clean_line(done.drifted)} has changed: {count(drift.same, 'passage')} the same, "
                f"{len(drift.gone)} gone, {len(drift.new)} new")  # fmt: skip
    for mark, side in (("-", drift.gone), ("+", drift.new)):
        for index, leaf in side[:_MAX_LEAVES]:
            out.note(f"  {mark} passage {index} {short(leaf)}")
