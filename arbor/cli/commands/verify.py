"""`arbor verify`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from arbor.cli.command import arbor_command, json_option
from arbor.cli.completing import REVISION
from arbor.cli.output import Output
from arbor.cli.safe_text import clean_line, quote_path
from arbor.cli.session import Session
from arbor.cli.views import count, short, verify_fields
from arbor.errors import ArborError, IntegrityError, NoKnowledgeBase, UsageError, first_of
from arbor.lazy import lazy_module

if TYPE_CHECKING:
    from arbor.cli.showing import proof_view, signature_view
    from arbor.repo.trust.verify import Finding, VerifyReport
else:
    proof_view = lazy_module("arbor.cli.showing.proof_view")
    signature_view = lazy_module("arbor.cli.showing.signature_view")

FIELDS = {
    "ok": "whether nothing is damaged and a given root fits",
    "commit": "oid of the commit that was checked; null before the first",
    "ledger_root": "its Merkle root: compare it with what another person reads out to you",
    "checked": "how many of each kind of thing were read",
    "damaged": "what is broken: `object`, `where`, `problem`, and `affects` with the `commit` and `path` of "
    "each document that needs it",
    "signatures": "with --signatures: `tag` (its name where it is the tag REV itself, else null), `commit`, `state` "
    "(good, bad, unknown, none), `signer`, `key`, `reason` of each; else null",
    "checkpoint": "with --checkpoint: `origin`, `size`, `log_root` and `commit` as noted, `state` (current, extended, "
    "short, diverged), `origin_state` (same, branch, history, chosen: whether the origin names another branch, another "
    "first commit, or neither), `log_size` of the history, and `seal` (`state`, `signer`, `key`, `reason`); else null",
    "proof": "with --proof: what was proven, from `kind`, `anchor` (what was vouched for: `commit`, `root`, both "
    "with a `+`, or null), `room`, `path`, `document`, `title`, `media_type`, `source_uri`, `file_hash`, `index`, "
    "`passages`, `leaf`, `text`, `text_matched`, `old_commit`, `old_log_size`, `log_size`, `old_log_root` and "
    "`log_root` the ones that fit; else null",
}
_MAX_AFFECTED = 10
_MAX_FINDINGS = 20
_MAX_TEXT_BYTES = 1024 * 1024 * 1024
_CACHE = "cache/"
_ANOTHER_ROOT = "ledger root"
_OID = re.compile(r"[0-9a-fA-F]{64}")


@arbor_command("verify", fields=FIELDS)
@click.argument("revision", required=False, metavar="[REV]", type=REVISION)
@click.option(
    "--root", metavar="HASH", help="Also check that the revision (HEAD without one) has this Merkle root."
)
@click.option("--proof", "proof_file", metavar="FILE", help="Check a proof instead; needs no knowledge base.")
@click.option(
    "--commit", metavar="OID", help="With --proof: the commit it must belong to; in a KB any revision."
)
@click.option("--text", metavar="FILE", help="With --proof: the passage, or the file, that it must be about.")
@click.option("--checkpoint", "checkpoint_file", metavar="FILE",
              help="Check that the history of REV goes on from this checkpoint instead.")  # fmt: skip
@click.option(
    "--deep",
    is_flag=True,
    help="Also each whole file: its hash, and what was read in it; and the inside of the search index.",
)
@click.option(
    "--signatures",
    is_flag=True,
    help="Check the signatures of the commits up to REV, and of the tag REV, instead.",
)
@json_option
def command(
    session: Session, revision: str | None, root: str | None, proof_file: str | None, commit: str | None,
    text: str | None, checkpoint_file: str | None, deep: bool, signatures: bool, as_json: bool,
) -> int:  # fmt: skip
    """Read everything again and check every hash, tree, root and proof.

    Without REV, everything that any branch, tag, FETCH_HEAD or the stage needs is checked, and the index against the
    objects. With --deep every document's file is put together too: it must have the hash recorded for it,
    what was read in it (lines, title, headings, links, the text of a PDF or HTML page) is made again and compared,
    and so are the cores.
    Ends with 12 when something is damaged or the root is another.

    With --proof FILE a proof made by arbor prove is checked. Give --commit or --root with what you
    know from elsewhere: a proof alone says only that its parts belong together. For each of --proof, --text and
    --checkpoint a FILE of - means standard input.

    With --checkpoint FILE the history is compared with a checkpoint that arbor log --checkpoint wrote, here or
    elsewhere: nothing that it counted may be gone or other. Where sign.allowed_signers is set, one of them must
    have signed it.
    """
    if proof_file is not None:
        if revision is not None or deep:
            raise UsageError(
                "a proof is checked without a knowledge base",
                "give --proof with --root, --commit or --text only",
            )
        if proof_file == text == "-":
            raise UsageError("standard input is either the proof or the text")
        proof_view.check_proof(
            session.out, session.read_file(proof_file, "the proof"), root=root,
            commit=commit and _full_oid(session, commit),
            text=None if text is None else session.read_file(text, "the text", _MAX_TEXT_BYTES), as_json=as_json,
        )  # fmt: skip
        return 0
    if commit is not None or text is not None:
        raise UsageError("--commit and --text go with --proof FILE")
    if checkpoint_file is not None:
        note = session.read_file(checkpoint_file, "the checkpoint")
        return signature_view.check_checkpoint(session, note, revision, as_json=as_json)
    if signatures:
        return signature_view.check_signatures(session, revision or "HEAD", as_json=as_json)
    report = session.open().verify(revision, root=root, deep=deep)
    if as_json:
        _answer_json(session.out, report)
    else:
        remote = "" if report.ok else _first_remote(session)
        _answer(session.out, report, has_root=root is not None, remote=remote)
    return 0 if report.ok else IntegrityError.exit_code


def _first_remote(session: Session) -> str:
    """The address that this may be cloned from again; the settings may be what is damaged."""
    with contextlib.suppress(ArborError):
        return next((remote.url for remote in session.open().sharing.remotes()), "")
    return ""


def _full_oid(session: Session, typed: str) -> str:
    """The commit that is meant: all digits, or a revision of the knowledge base here, where there is one."""
    if _OID.fullmatch(typed):
        return typed
    try:
        return session.open().resolve(typed).hex()
    except NoKnowledgeBase:
        raise UsageError(
            f"'{typed}' is not the oid of a commit", "give all 64 digits, as arbor log prints them"
        ) from None


def _answer_json(out: Output, report: VerifyReport) -> None:
    damaged = [
        {"object": finding.object or None, "where": finding.where, "problem": finding.problem,
         "affects": [{"commit": commit, "path": path} for commit, path in finding.affects]}
        for finding in report.damaged
    ]  # fmt: skip
    out.json("verify", verify_fields(
        ok=report.ok, commit=report.commit or None, ledger_root=report.ledger_root, checked=dict(report.checked),
        damaged=damaged,
    ))  # fmt: skip


def _answer(out: Output, report: VerifyReport, *, has_root: bool, remote: str) -> None:
    for finding in report.damaged[:_MAX_FINDINGS]:
        _show_finding(out, finding)
    if len(report.damaged) > _MAX_FINDINGS:
        _summarise(out, report.damaged)
    checked = report.checked
    cold = f" ({checked['cold']:,} of them cold)" if checked.get("cold") else ""
    read = ", ".join(
        count(checked[name], name.removesuffix("s")) + (cold if name == "documents" else "")
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
    out.error(message, _hint(broken, remote), IntegrityError.exit_code)


def _hint(broken: Sequence[Finding], remote: str) -> str:
    """How to get it right again; caches are made anew from the objects, which are sound where only caches are named."""
    if not broken:
        return ""
    if all(finding.where.startswith(_CACHE) for finding in broken):
        return "only caches are damaged, and nothing is lost; run: arbor reindex"
    return f"restore .arbor from a copy, or clone it again{f' from {remote}' if remote else ''}"


def _summarise(out: Output, damaged: Sequence[Finding]) -> None:
    """What is not listed: how many more things, and which documents all of them touch."""
    out.line(f"and {len(damaged) - _MAX_FINDINGS:,} more things; --json names them all")
    paths = sorted({path for finding in damaged for _, path in finding.affects})
    if paths:
        named = first_of([*map(quote_path, paths)], _MAX_AFFECTED)
        out.line(f"in all they touch {count(len(paths), 'document')}: {named}")


def _show_finding(out: Output, finding: Finding) -> None:
    what = f"{finding.where} {short(finding.object)}" if finding.object else finding.where
    state = "different" if finding.where == _ANOTHER_ROOT else "damaged"
    out.line(f"{out.style(state, 'red', 'bold')} {clean_line(what)}: {clean_line(finding.problem)}")
    for commit, path in finding.affects[:_MAX_AFFECTED]:
        out.line(f"  {quote_path(path)} in {short(commit)}")
    if len(finding.affects) > _MAX_AFFECTED:
        out.line(f"  and {len(finding.affects) - _MAX_AFFECTED:,} more; --json names them")
