"""Signatures of commits and tags as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from arbor.cli.safe_text import clean, clean_line
from arbor.cli.session import Session
from arbor.cli.views import count, moment, short, verify_fields
from arbor.errors import AnswerNo, IntegrityError
from arbor.repo.commits import history
from arbor.repo.trust import checkpoint_notes, signing, tag_seals
from arbor.repo.trust.signing import SealReport
from arbor.repo.trust.tag_seals import SealedTag

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


def signature_fields(session: Session, commit: str) -> dict[str, str | None]:
    """The same for `--json`."""
    repo = session.open().repo
    return seal_fields(signing.check_object(repo, bytes.fromhex(commit), signing.allowed_signers(repo)))


def find_tag(session: Session, name: str) -> SealedTag | None:
    """The annotated tag that a revision as typed means, or None."""
    repo = session.open().repo
    return tag_seals.find_tag(repo, name, signing.allowed_signers(repo))


def tag_header(session: Session, tag: SealedTag) -> list[str]:
    """The lines that introduce an annotated tag."""
    who = tag.tagger
    return [
        session.out.style(f"tag {clean_line(tag.name)}", "yellow"),
        f"Tagger: {clean_line(who.name)} <{clean_line(who.email)}>",
        f"Date:   {moment(who.seconds, who.offset_minutes)}",
        f"Seal:   {_words(session, tag.seal)}",
        "",
        *(f"    {line}".rstrip() for line in clean(tag.message).rstrip("\n").split("\n")),
    ]


def tag_fields(tag: SealedTag) -> dict[str, Any]:
    """An annotated tag for `--json`."""
    who = tag.tagger
    time = moment(who.seconds, who.offset_minutes, iso=True)
    return {"name": tag.name, "tag": tag.oid, "commit": tag.commit, "message": tag.message,
            "tagger": {"name": who.name, "email": who.email, "time": time},
            "seal": seal_fields(tag.seal)}  # fmt: skip


def tag_lines(session: Session, tags: Sequence[SealedTag]) -> list[str]:
    """A line for each tag: whether its signature is good."""
    return [f"tag {clean_line(tag.name)}: {_words(session, tag.seal)}" for tag in tags]


def tags_by_commit(session: Session) -> dict[str, list[SealedTag]]:
    """The annotated tags by the commits they stand for."""
    repo = session.open().repo
    found: dict[str, list[SealedTag]] = {}
    for tag in tag_seals.iter_tags(repo, signing.allowed_signers(repo)):
        found.setdefault(tag.commit, []).append(tag)
    return found


def exit_code(states: Iterable[str]) -> int:
    """0 where all signatures are good, 12 where one is bad, else 1."""
    found = set(states)
    if "bad" in found:
        return IntegrityError.exit_code
    return 0 if found <= {"good"} else AnswerNo.exit_code


def check_signatures(session: Session, revision: str, *, as_json: bool) -> int:
    """Check a tag's own signature and every commit up to a revision: see `exit_code`."""
    kb = session.open()
    allowed, tag = signing.allowed_signers(kb.repo), find_tag(session, revision)
    found = [(entry.oid.hex(), signing.check_commit(entry.commit, allowed))
             for entry in history.iter_log(kb.repo, [kb.resolve(revision)])]  # fmt: skip
    states = [report.state for _, report in found]
    code = exit_code(states + ([tag.seal.state] if tag else []))
    if as_json:
        rows = [{"tag": tag.name, "commit": tag.commit, **seal_fields(tag.seal)}] if tag else []
        rows += [{"tag": None, "commit": oid, **seal_fields(r)} for oid, r in found]
        tip = kb.resolve(revision).hex()
        session.out.json("verify", verify_fields(ok=not code, commit=tip, signatures=rows))
        return code
    for line in tag_lines(session, [tag] if tag else []):
        session.out.line(line)
    for oid, report in found:
        if report.state != "good":
            session.out.line(f"{short(oid)} {_words(session, report)}")
    session.out.line(f"{states.count('good'):,} of {count(len(states), 'commit')} have a good signature")
    return code


def seal_fields(report: SealReport) -> dict[str, str | None]:
    """What is known of a signature, for `--json`."""
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
            "seal": seal_fields(report.seal),
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
