"""Signatures of commits as people read them."""

from __future__ import annotations

from arbor.cli.safe_text import clean_line
from arbor.cli.session import Session
from arbor.cli.views import count, short
from arbor.errors import AnswerNo, IntegrityError
from arbor.repo import history, signing
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
        rows = [{"commit": oid, "state": r.state, "signer": r.signer or None, "key": r.key or None,
                 "reason": r.reason or None} for oid, r in found]  # fmt: skip
        session.out.json("verify", {"ok": set(states) <= {"good"}, "signatures": rows})
    else:
        for oid, report in found:
            if report.state != "good":
                session.out.line(f"{short(oid)} {_words(session, report)}")
        session.out.line(f"{states.count('good'):,} of {count(len(states), 'commit')} have a good signature")
    if "bad" in states:
        return IntegrityError.exit_code
    return 0 if set(states) <= {"good"} else AnswerNo.exit_code
