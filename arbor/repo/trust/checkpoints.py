"""Checkpoints: the size and root of a branch's log of commits, as tools of transparency logs read them.

The text is that of C2SP tlog-checkpoint (origin, size, root, extension lines) as a C2SP signed note. The tree
is arbor's: leaves are commit oids, hashes are BLAKE3 (`docs/format/proofs.md`).
Source: https://c2sp.org/tlog-checkpoint and https://c2sp.org/signed-note.
"""

from __future__ import annotations

import base64
import hashlib
import re

from arbor.errors import IntegrityError, UsageError
from arbor.objects.ids import OID_BYTES
from arbor.objects.proofs import log_state
from arbor.records import dataclass
from arbor.repo.commits.history import first_parents
from arbor.repo.commits.revisions import find_ref
from arbor.repo.repository import Repository
from arbor.store.refs import HEADS

ED25519 = 0x01
_ORIGIN = re.compile(r"arbor/([0-9a-f]{64})/(.+)")
_SHORT_DIGITS = 12
_DASH = "\u2014 "
_KEY_ID_BYTES = 4
_MAX_NOTE_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log of commits.

    Attributes:
        origin: Names the log, a line without spaces at its ends.
        size: Commits in it: the branch's first-parent line, the named commit included.
        log_root: Root of their RFC 9162 tree.
        commit: The newest one.
    """

    origin: str
    size: int
    log_root: bytes
    commit: bytes


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """A signature line of a note: the signer's name, the first bytes of the key's hash, and the signature."""

    name: str
    key_id: bytes
    signature: bytes


def get_checkpoint(repo: Repository, commit_oid: bytes, origin: str) -> Checkpoint:
    """The checkpoint of a commit; raises UsageError where the origin is no line that a note can begin with."""
    if origin != origin.strip() or not origin or any(not char.isprintable() for char in origin):
        raise UsageError(
            f"a log cannot be called {origin!r}", "give a line of text, without spaces at its ends"
        )
    size, root = log_state(commit_oid, repo.commit(commit_oid))
    return Checkpoint(origin, size, root, commit_oid)


def default_origin(repo: Repository, commit_oid: bytes, log_name: str) -> str:
    """A name for a log that every clone gives it: the first commit's oid and the branch."""
    *_, first = first_parents(repo, commit_oid)
    return f"arbor/{first.hex()}/{log_name}"


def parse_origin(origin: str) -> tuple[bytes, str] | None:
    """(oid of the first commit, name of the log) of a default origin; None for one that somebody chose."""
    found = _ORIGIN.fullmatch(origin)
    return (bytes.fromhex(found[1]), found[2]) if found else None


def commit_log_name(commit_oid: bytes) -> str:
    """The name of a log that is no branch's."""
    return f"commit/{commit_oid.hex()[:_SHORT_DIGITS]}"


def find_log_name(repo: Repository, revision: str, commit_oid: bytes) -> str:
    """The branch whose log a revision means, or a name that is no branch's.

    A branch means itself, and HEAD the branch that it follows. Any other commit is in the log of each branch whose
    first-parent line holds it: that of HEAD comes first, then they go by name.

    Args:
        repo: Where.
        revision: As typed.
        commit_oid: The commit that it means.
    """
    head = repo.refs.head()
    named = head if revision in ("HEAD", "@") else find_ref(repo, revision)
    if isinstance(named, str) and named.startswith(HEADS):
        return named.removeprefix(HEADS)
    names = sorted(repo.refs.iter_names(HEADS), key=lambda name: (name != head, name))
    visited: set[bytes] = set()
    for name in names:
        tip = repo.refs.read(name)
        for oid in first_parents(repo, tip) if tip is not None else ():
            if oid == commit_oid:
                return name.removeprefix(HEADS)
            if oid in visited:  # the rest is a line that was followed before
                break
            visited.add(oid)
    return commit_log_name(commit_oid)


def format_checkpoint(checkpoint: Checkpoint) -> str:
    """The note's text, which is what a signature signs; it ends in a line feed."""
    root = base64.b64encode(checkpoint.log_root).decode("ascii")
    return f"{checkpoint.origin}\n{checkpoint.size}\n{root}\ncommit {checkpoint.commit.hex()}\n"


def key_id(name: str, algorithm: int, public_key: bytes) -> bytes:
    """The four bytes that tell a signed note which key to try."""
    data = name.encode("utf-8") + b"\n" + bytes([algorithm]) + public_key
    return hashlib.sha256(data).digest()[:_KEY_ID_BYTES]


def format_note(text: str, signatures: list[NoteSignature]) -> str:
    """A note with its signature lines; without any it is the text alone."""
    lines = [
        f"{_DASH}{each.name} {base64.b64encode(each.key_id + each.signature).decode('ascii')}\n"
        for each in signatures
    ]
    return text + ("\n" + "".join(lines) if lines else "")


def parse_note(note: str) -> tuple[Checkpoint, str, list[NoteSignature]]:
    """(checkpoint, signed text, signatures) of a note.

    Raises:
        IntegrityError: when it is not a checkpoint of this form.
    """
    if len(note) > _MAX_NOTE_CHARS:
        raise IntegrityError("a checkpoint is too long")
    text, mark, below = note.rpartition("\n\n")
    text, below = (text + "\n", below) if mark else (note, "")
    try:
        origin, size, root, commit, *_ = text.split("\n")
        log_root, oid = base64.b64decode(root, validate=True), bytes.fromhex(commit.removeprefix("commit "))
        found = Checkpoint(origin, int(size), log_root, oid)
        if not origin or found.size < 1 or len(log_root) != OID_BYTES or len(oid) != OID_BYTES:
            raise ValueError("field")
        if format_checkpoint(found) != text:
            raise ValueError("form")
        return found, text, [_parse_signature(line) for line in below.splitlines()]
    except ValueError as error:
        raise IntegrityError("this is not a checkpoint of an arbor log") from error


def _parse_signature(line: str) -> NoteSignature:
    name, _, encoded = line.removeprefix(_DASH).rpartition(" ")
    data = base64.b64decode(encoded, validate=True)
    if not line.startswith(_DASH) or not name or len(data) <= _KEY_ID_BYTES:
        raise ValueError("signature")
    return NoteSignature(name, data[:_KEY_ID_BYTES], data[_KEY_ID_BYTES:])
