"""`arbor verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.completing import REVISION
from arbor.cli.output import Output
from arbor.cli.safe_text import clean_line, quote_path
from arbor.cli.session import Session
from arbor.cli.views import count, short
from arbor.errors import IntegrityError

if TYPE_CHECKING:
    from arbor.repo.verify import Finding, VerifyReport

FIELDS = {
    "ok": "whether nothing is damaged and a given root fits",
    "commit": "oid of the commit that was checked; null before the first",
    "ledger_root": "its Merkle root: compare it with what another person reads out to you",
    "checked": "how many of each kind of thing were read",
    "damaged": "what is broken: `object`, `where`, `problem`, and `affects` with the `commit` and `path` of "
    "each document that needs it",
}
_MAX_AFFECTED = 10
_ANOTHER_ROOT = "ledger root"


@arbor_command("verify", fields=FIELDS)
@click.argument("revision", required=False, metavar="[REV]", type=REVISION)
@click.option(
    "--root", metavar="HASH", help="Also check that the revision (HEAD without one) has this Merkle root."
)
@click.option("--deep", is_flag=True, help="Also check the inner structure of the search index.")
@json_option
def command(session: Session, revision: str | None, root: str | None, deep: bool, as_json: bool) -> int:
    """Read everything again and check every hash, tree, root and proof.

    Without REV, everything that any branch, tag or the stage needs is checked, and the index against the
    objects. Ends with 12 when something is damaged or the root is another.
    """
    report = session.open().verify(revision, root=root, deep=deep)
    if as_json:
        _answer_json(session.out, report)
    else:
        _answer(session.out, report, has_root=root is not None)
    return 0 if report.ok else IntegrityError.exit_code


def _answer_json(out: Output, report: VerifyReport) -> None:
    out.json("verify", {
        "ok": report.ok,
        "commit": report.commit or None,
        "ledger_root": report.ledger_root,
        "checked": dict(report.checked),
        "damaged": [
            {"object": finding.object or None, "where": finding.where, "problem": finding.problem,
             "affects": [{"commit": commit, "path": path} for commit, path in finding.affects]}
            for finding in report.damaged
        ],
    })  # fmt: skip


def _answer(out: Output, report: VerifyReport, *, has_root: bool) -> None:
    for finding in report.damaged:
        _show_finding(out, finding)
    checked = report.checked
    read = ", ".join(
        count(checked[name], name.removesuffix("s"))
        for name in ("commits", "documents", "passages")
        if name in checked
    )
    if report.ok:
        out.line(f"{out.style('verified', 'green', 'bold')} {read}")
        if report.commit:
            out.line(f"commit {report.commit}")
            out.line(f"root   {report.ledger_root}{', as given' if has_root else ''}")
        return
    broken = [finding for finding in report.damaged if finding.where != _ANOTHER_ROOT]
    message = f"{count(len(report.damaged), 'thing')} did not verify (read {read})"
    hint = "restore .arbor from a copy, or clone it again" if broken else ""
    out.error(message, hint, IntegrityError.exit_code)


def _show_finding(out: Output, finding: Finding) -> None:
    what = f"{finding.where} {short(finding.object)}" if finding.object else finding.where
    out.line(f"{out.style('damaged', 'red', 'bold')} {clean_line(what)}: {clean_line(finding.problem)}")
    for commit, path in finding.affects[:_MAX_AFFECTED]:
        out.line(f"  {quote_path(path)} in {short(commit)}")
    if len(finding.affects) > _MAX_AFFECTED:
        out.line(f"  and {len(finding.affects) - _MAX_AFFECTED:,} more; --json names them")
