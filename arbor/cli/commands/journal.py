"""`arbor journal`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import count, moment, short
from arbor.errors import IntegrityError

if TYPE_CHECKING:
    from arbor.store.journal import JournalReport, Record

FIELDS = {
    "ok": "whether every record is as it was written",
    "head": "hash of the last record; note it elsewhere to find a journal that was made anew",
    "count": "how many records there are",
    "records": "newest first: `sequence`, `time`, `act`, `details`, `hash`; empty with `verify`",
    "faults": "with `verify`: ranges that were edited, cut, moved or put in: `first`, `last`, `line`, `problem`",
}
_DETAILS_CELLS = 100


@arbor_command("journal", fields=FIELDS, number_option="-n")
@click.argument(
    "action", required=False, type=click.Choice(["verify", "restart"]), metavar="[verify | restart]"
)
@click.option("-n", "--max-count", "limit", type=click.IntRange(min=0), metavar="NUM",
              help="At most NUM records; also -NUM.")  # fmt: skip
@json_option
def command(session: Session, action: str | None, limit: int | None, as_json: bool) -> int:
    """Show what was done here to what is stored or trusted: fetches, evictions, drift, collections.

    Each record holds the hash of the one before. With verify every record is checked, and a range
    that was edited, cut or moved is named; restart sets a damaged journal aside and begins a new one.
    """
    trust = session.open().trust
    if action == "restart":
        with trust.repo.lock():
            name = trust.journal.set_aside()
        session.out.note(f"the old journal is kept as {name}" if name else "there was no journal")
    report = trust.check_journal()
    records = [] if action == "verify" else trust.records(limit=limit)
    if as_json:
        session.out.json("journal", _fields(report, records))
    elif action == "verify":
        _show_report(session, report)
    else:
        _show_records(session, records)
    if report.faults and action != "verify" and not as_json:
        session.out.warning("the journal is damaged")
        session.out.hint("arbor journal verify")
    return IntegrityError.exit_code if report.faults and action == "verify" else 0


def _fields(report: JournalReport, records: list[Record]) -> dict[str, Any]:
    return {
        "ok": not report.faults,
        "head": report.head.hex(),
        "count": report.records,
        "records": [
            {"sequence": each.sequence, "time": moment(each.seconds, 0, iso=True), "act": each.act,
             "details": each.details, "hash": each.hash.hex()}
            for each in records
        ],
        "faults": [
            {"first": fault.first, "last": fault.last, "line": fault.line, "problem": fault.problem}
            for fault in report.faults
        ],
    }  # fmt: skip


def _show_report(session: Session, report: JournalReport) -> None:
    out = session.out
    for fault in report.faults:
        span = (
            f"record {fault.first}" if fault.first == fault.last else f"records {fault.first} to {fault.last}"
        )
        out.line(f"{out.style('damaged', 'red', 'bold')} {span}: {clean_line(fault.problem)}")
    if report.faults:
        out.error("the journal is not as it was written", "set it aside with: arbor journal restart",
                  IntegrityError.exit_code)  # fmt: skip
        return
    out.line(f"{out.style('verified', 'green', 'bold')} {count(report.records, 'record')}")
    out.line(f"head {report.head.hex()}")


def _show_records(session: Session, records: list[Record]) -> None:
    out = session.out
    with out.paged():
        for each in records:
            details = json.dumps(each.details, ensure_ascii=False, separators=(", ", ": "))
            text = details if len(details) <= _DETAILS_CELLS else details[: _DETAILS_CELLS - 1] + "…"
            out.line(f"{out.style(f'{each.sequence:>5}', 'yellow')} {moment(each.seconds, 0)}  {each.act:10} "
                     f"{short(each.hash.hex())}  {clean_line(text)}")  # fmt: skip
