"""Checkpoints handed from one person to another: signed with an Ed25519 key, and compared with a history.

Source: https://c2sp.org/signed-note, signature type 0x01 (Ed25519).
"""

from __future__ import annotations

import time

from arbor.errors import IntegrityError
from arbor.objects.proofs import log_state
from arbor.records import dataclass
from arbor.repo.commits.history import first_parents
from arbor.repo.repository import Repository
from arbor.repo.trust import checkpoints, signing, ssh_keys
from arbor.repo.trust.checkpoints import ED25519, Checkpoint, NoteSignature
from arbor.repo.trust.signing import SealReport
from arbor.repo.trust.ssh_signatures import NAMESPACE

_KEY_NAME = "arbor"


@dataclass(frozen=True, slots=True)
class CheckpointReport:
    """How a history stands to a checkpoint.

    Attributes:
        checkpoint: The checkpoint.
        state: `current` (the history ends there), `extended` (it goes on from there), `short` (it ends before), or
            `diverged` (it has other commits there).
        origin_state: How its origin names the history's log: `same`, `branch` (as that of another branch), `history`
            (as one that begins with another commit), or `chosen` (in words of its own, which say neither).
        log_name: How an origin made here would name the log.
        size: Commits in the history's log.
        commit: The newest one.
        seal: The best that is known of the note's signatures.
        must_be_signed: Whether the settings name allowed signers, one of whom must have signed it.
    """

    checkpoint: Checkpoint
    state: str
    origin_state: str
    log_name: str
    size: int
    commit: bytes
    seal: SealReport
    must_be_signed: bool = False

    @property
    def ok(self) -> bool:
        """Whether the history has all that the checkpoint says, and the checkpoint may be believed."""
        return self.state in ("current", "extended") and self.origin_state != "history" and self.is_trusted

    @property
    def is_trusted(self) -> bool:
        """Whether an allowed signer signed it; where nobody was allowed, whether no signature is wrong."""
        return self.seal.state == "good" if self.must_be_signed else self.seal.state != "bad"


def write_note(repo: Repository, checkpoint: Checkpoint, *, sign: bool | None = None) -> str:
    """The note of a checkpoint.

    Args:
        repo: Whose settings name the key.
        checkpoint: What it says.
        sign: Whether to sign it; None does where there is a key.

    Raises:
        UsageError: when it is to be signed and cannot be.
    """
    text = checkpoints.format_checkpoint(checkpoint)
    if sign is False or (sign is None and not repo.settings.get("sign.key")):
        return text
    public, signature = ssh_keys.sign_raw(signing.signing_key(repo), text.encode("utf-8"))
    name = _key_name(repo)
    key_id = checkpoints.key_id(name, ED25519, public)
    return checkpoints.format_note(text, [NoteSignature(name, key_id, signature)])


def _key_name(repo: Repository) -> str:
    """The signer's name on a note, which may hold neither spaces nor a plus."""
    email = repo.who().email
    return _KEY_NAME if not email or "+" in email or any(map(str.isspace, email)) else email


def check_note(repo: Repository, note: str, tip: bytes, log_name: str) -> CheckpointReport:
    """Compare a note with the history that ends in a commit.

    Args:
        repo: Where.
        note: The note.
        tip: The commit.
        log_name: The name of its log, as `checkpoints.find_log_name` gives it.

    Raises:
        IntegrityError: when the note is no checkpoint.
    """
    checkpoint, text, signatures = checkpoints.parse_note(note)
    line = list(first_parents(repo, tip))
    size = len(line)
    state = "short" if size < checkpoint.size else "current" if size == checkpoint.size else "extended"
    if state != "short":
        oid = line[size - checkpoint.size]
        root = log_state(oid, repo.commit(oid))[1]
        if (oid, root) != (checkpoint.commit, checkpoint.log_root):
            state = "diverged"
    origin_state = _origin_state(checkpoint, line[-1], log_name)
    allowed = signing.allowed_signers(repo)
    seal = check_signatures(text, signatures, allowed)
    return CheckpointReport(
        checkpoint, state, origin_state, log_name, size, tip, seal, must_be_signed=allowed is not None
    )


def _origin_state(checkpoint: Checkpoint, first: bytes, log_name: str) -> str:
    """How a checkpoint's origin names a log that begins with the commit `first`."""
    named = checkpoints.parse_origin(checkpoint.origin)
    if named is None:
        return "chosen"
    if named[0] != first:
        return "history"
    is_same = named[1] in (log_name, checkpoints.commit_log_name(checkpoint.commit))
    return "same" if is_same else "branch"


def origin_doubt(report: CheckpointReport) -> str:
    """What a person should know of a checkpoint's origin that is no reason to refuse it; "" for nothing."""
    if report.origin_state == "branch":
        *_, named = checkpoints.parse_origin(report.checkpoint.origin) or ("",)
        return f"the checkpoint is of '{named}', and the history here is that of '{report.log_name}'"
    if report.origin_state == "chosen":
        return f"the checkpoint's origin '{report.checkpoint.origin}' is not one that arbor gives, and was not compared"
    return ""


def check_signatures(text: str, signatures: list[NoteSignature], allowed: bytes | None) -> SealReport:
    """The best that is known of the signatures over a note's text; a wrong one by a known key counts most."""
    if not signatures:
        return SealReport("none", reason="it is not signed")
    if allowed is None:
        return SealReport("unknown", reason="no allowed-signers file is set (sign.allowed_signers)")
    best = SealReport("unknown", reason="no key that signed it is in the allowed-signers file")
    for blob, public in ssh_keys.ed25519_signers(allowed):
        for each in signatures:
            if checkpoints.key_id(each.name, ED25519, public) != each.key_id:
                continue
            key = signing.fingerprint(blob)
            right = ssh_keys.is_raw_signature(public, each.signature, text.encode("utf-8"))
            if right is False:
                return SealReport("bad", "", key, "the signature does not fit the checkpoint")
            signer, reason = ssh_keys.find_signer(allowed, blob, NAMESPACE, int(time.time()))
            if right is None:
                best = SealReport("unknown", "", key, "the cryptography library is not here to check it")
            elif signer:
                best = SealReport("good", signer, key)
            elif best.state != "good":
                best = SealReport("unknown", "", key, reason)
    return best


def require_ok(report: CheckpointReport) -> None:
    """Refuse a history that does not stand to its checkpoint.

    Raises:
        IntegrityError: saying what is wrong.
    """
    if report.ok:
        return
    seen = f"{report.checkpoint.size:,} commits up to {report.checkpoint.commit.hex()[:12]}"
    if not report.is_trusted:
        hint = (
            "one of the allowed signers must sign it (sign.allowed_signers)" if report.must_be_signed else ""
        )
        raise IntegrityError(f"the checkpoint is not to be believed: {report.seal.reason}", hint)
    if report.origin_state == "history":
        raise IntegrityError("the checkpoint is of another history: its origin names another first commit",
                             "check it in the knowledge base that it is of, or name the revision")  # fmt: skip
    if report.state == "short":
        raise IntegrityError(f"the history has {report.size:,} commits, and the checkpoint {seen}",
                             "if it was not fetched yet, run: arbor pull")  # fmt: skip
    raise IntegrityError(f"the history is another one than the checkpoint's {seen}")
