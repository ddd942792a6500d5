"""`arbor ripple`."""

from __future__ import annotations

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.completing import REVISION
from arbor.cli.session import Session
from arbor.cli.showing.ripple_view import finding_lines, ripple_fields, ripple_line, show_ripple

FIELDS = {
    "origins": "the documents that were added, changed or removed",
    "hops": "how far the effect travelled",
    "reached": "other documents whose label or score moved: `path`, `hop`, `weight`, `via`, `terms`",
    "changed": "labels that moved: `path`, `before`, `after`, `score_before`, `score_after`, `contested`",
    "terms": "words whose weight moved because more or fewer documents hold them",
    "findings": "with --check, what the policy objects to: `rule`, `severity`, `path`, `message`",
}


@arbor_command("ripple", fields=FIELDS)
@click.argument("span", required=False, metavar="[REV | REV..REV]", type=REVISION)
@click.option("--check", is_flag=True, help="Say what a commit would change, and hold it against the policy.")
@click.option(
    "--staged",
    is_flag=True,
    help="With --check: what is staged (in git, where the folder is in a git repository).",
)
@json_option
def command(session: Session, span: str | None, check: bool, staged: bool, as_json: bool) -> None:
    """Replay how a change moved the consensus, and explain how far it travelled.

    Without a range the last commit is replayed. --check --staged says what the next commit would change
    without changing anything; it exits 1 where the policy in arbor.toml blocks it.
    """
    out = session.out
    if staged and not check:
        raise click.UsageError("--staged goes with --check")
    if not check:
        ripple = session.open().ripple(span, progress=out.note)
        if as_json:
            out.json("ripple", ripple_fields(ripple) or {})
        else:
            with out.paged():
                show_ripple(session, ripple)
        return
    result = session.open().check_staged(progress=out.note)
    if as_json:
        findings = [
            {"rule": f.rule, "severity": f.severity, "path": f.path, "message": f.message}
            for f in result.findings
        ]
        out.json("ripple", {**(ripple_fields(result.ripple) or {}), "findings": findings})
    else:
        out.line(ripple_line(session, result.ripple))
        for line in finding_lines(session, result.findings):
            out.line(line)
    if result.blocked:
        raise click.exceptions.Exit(1)
