"""Checkpoints: the size and root of a branch's log of commits, as tools of transparency logs read them.

The text is that of C2SP tlog-checkpoint (origin, size, root, extension lines) as a C2SP signed note. The tree
is arbor's: leaves are commit oids, hashes are BLAKE3 (`docs/format/proofs.md`).
Source: https://c2sp.org/tlog-checkpoint and https://c2sp.org/signed-note.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from arbor.errors import IntegrityError
from arbor.objects.ids import OID_BYTES
from arbor.objects.proofs import log_state
from arbor.repo.repository import Repository

ED25519 = 0x01
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
    """The checkpoint of a commit."""
    size, root = log_state(commit_oid, repo.commit(commit_oid))
    return Checkpoint(origin, size, root, commit_oid)


def default_origin(repo: Repository, commit_oid: bytes, branch: str) -> str:
    """A name for a log that every clone gives it: the first commit's oid and the branch."""
    oid = commit_oid
    while parents := repo.commit(oid).parents:
        oid = parents[0]
    return f"arbor/{oid.hex()}/{branch or 'HEAD'}"


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
