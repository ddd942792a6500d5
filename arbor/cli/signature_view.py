"""Signatures of commits as people read them."""

from __future__ import annotations

from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import count, short, verify_fields
from arbor.errors import AnswerNo, IntegrityError
from arbor.repo import checkpoint_notes, history, signing
from arbor.repo.signing import SealReport

_STYLES = {"good": "green", "bad": "red", "unknown": "yellow", "none": "dim"}
_WORDS = {"good": "good signature", "bad": "BAD signature", "unknown": "signature by an unknown key",
          "none": "not signed"}  # fmt: skip


def signature_line(session: Session, commit: str) -> str:
    """What is known of one commit's signature."""
    repo = session.open().repo
    return _words(session, signing.check_object(repo, bytes.fromhex(commit), signing.allowed_signers(repo)))


def _words(session: Session, report: SealReport) -> str:
    who = f" by {clean_line(report.signer)}" if report.signer else ""
    key = f" ({report.key})" if report.key else ""
    why = f": {clean_line(report.reason)}" if report.reason and report.state != "none" else ""
    return session.out.style(f"{_WORDS[report.state]}{who}{key}{why}", _STYLES[report.state])


def check_signatures(session: Session, revision: str, *, as_json: bool) -> int:
    """Check every commit up to a revision: 0 when all are good, 12 when one is bad, else 1."""
    kb = session.open()
    allowed = signing.allowed_signers(kb.repo)
    found = [(entry.oid.hex(), signing.check_commit(entry.commit, allowed))
             for entry in history.iter_log(kb.repo, [kb.resolve(revision)])]  # fmt: skip
    states = [report.state for _, report in found]
    if as_json:
        rows = [{"commit": oid, **_seal_fields(r)} for oid, r in found]
        ok, tip = set(states) <= {"good"}, kb.resolve(revision).hex()
        session.out.json("verify", verify_fields(ok=ok, commit=tip, signatures=rows))
    else:
        for oid, report in found:
            if report.state != "good":
                session.out.line(f"{short(oid)} {_words(session, report)}")
        session.out.line(f"{states.count('good'):,} of {count(len(states), 'commit')} have a good signature")
    if "bad" in states:
        return IntegrityError.exit_code
    return 0 if set(states) <= {"good"} else AnswerNo.exit_code


def _seal_fields(report: SealReport) -> dict[str, str | None]:
    return {"state": report.state, "signer": report.signer or None, "key": report.key or None,
            "reason": report.reason or None}  # fmt: skip


def check_checkpoint(session: Session, data: bytes, revision: str | None, *, as_json: bool) -> int:
    """Compare a history with a checkpoint: 0 when it has all of it, else 12.

    Raises:
        IntegrityError: when it has not, or the bytes are no checkpoint.
    """
    try:
        note = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise IntegrityError("this is not a checkpoint of an arbor log") from error
    report = session.open().trust.check_checkpoint(note, revision)
    noted = report.checkpoint
    if as_json:
        checkpoint = {
            "origin": noted.origin, "size": noted.size, "log_root": noted.log_root.hex(),
            "commit": noted.commit.hex(), "state": report.state, "origin_state": report.origin_state,
            "log_size": report.size,
            "seal": _seal_fields(report.seal),
        }  # fmt: skip
        commit = report.commit.hex()
        session.out.json("verify", verify_fields(ok=report.ok, commit=commit, checkpoint=checkpoint))
        return 0 if report.ok else IntegrityError.exit_code
    checkpoint_notes.require_ok(report)
    since = report.size - noted.size
    more = f", and {count(since, 'commit')} since" if since else ""
    verified = session.out.style("verified", "green", "bold")
    session.out.line(f"{verified} the history has all {count(noted.size, 'commit')} of the checkpoint{more}")
    session.out.line(f"checkpoint: {_words(session, report.seal)}")
    doubt = checkpoint_notes.origin_doubt(report)
    if doubt:
        session.out.warning(clean_line(doubt))
    return 0
