"""The check of a proof, for anyone who holds one: a pure function over bytes, with no knowledge base at hand.

    >>> import arbor.proofs
    >>> found = arbor.proofs.verify(data, commit="9f2c…")          # doctest: +SKIP
    >>> found.path, found.text                                     # doctest: +SKIP

A proof ties its content to a commit. Whether that commit is the right one is for the reader to say, by the
commit's oid or the ledger root that came another way; without either the result says that nothing vouches for
it.
"""

from __future__ import annotations

import json
from typing import Any

from arbor.errors import IntegrityError, UsageError, WrongType
from arbor.objects.ids import OID_BYTES, Kind, file_hash, object_id
from arbor.objects.model import Document
from arbor.objects.proof_json import format_proof_json, parse_proof_json
from arbor.objects.proofs import (
    AnyProof,
    Consistency,
    ConsistencyProof,
    Proof,
    Statement,
    check_consistency,
    check_proof,
    decode_proof,
    encode_proof,
)
from arbor.records import dataclass

__all__ = ["ConsistencyProof", "Proof", "Verified", "format_json", "format_msgpack", "parse", "verify"]

_NO_PROOF = "this is not a proof made by arbor"


@dataclass(frozen=True, slots=True)
class Verified:
    """What a proof was found to say.

    Attributes:
        kind: `passage`, `document`, `absence` or `consistency`.
        anchor: What the reader vouched for: `commit`, `root`, both joined by a `+`, or "" for neither.
        commit, ledger_root: Hexadecimal oids; of the newer commit for a consistency proof.
        room, path: `document` or `core`, and its path; "" for a consistency proof.
        document, title, media_type, source_uri, file_hash: The document, as committed; "" where there is
            none.
        index, passages: The passage's 0-based position and how many there are; -1 and 0 where there is none.
        leaf: The passage's oid as hexadecimal digits.
        passage: Its bytes.
        text: Its text.
        text_matched: What the given text was equal to: `passage`, `file`, or "" where none was given.
        commit_time, author, message: Of the commit (the newer one).
        old_commit, old_log_size, log_size, old_log_root, log_root: Of a consistency proof: the older commit,
            and the two logs with the commits themselves as last leaves; "" and 0 elsewhere.
    """

    kind: str
    anchor: str
    commit: str
    ledger_root: str
    commit_time: int
    author: str
    message: str
    room: str = ""
    path: str = ""
    document: str = ""
    title: str = ""
    media_type: str = ""
    source_uri: str = ""
    file_hash: str = ""
    index: int = -1
    passages: int = 0
    leaf: str = ""
    passage: bytes = b""
    text: str = ""
    text_matched: str = ""
    old_commit: str = ""
    old_log_size: int = 0
    log_size: int = 0
    old_log_root: str = ""
    log_root: str = ""


def verify(
    proof: AnyProof | bytes | str | dict[str, Any], *, root: bytes | str | None = None,
    commit: bytes | str | None = None, text: bytes | str | None = None,
) -> Verified:  # fmt: skip
    """Check a proof.

    Args:
        proof: A proof, its MessagePack bytes, its JSON text, or the object that Python's json made of that, as it is in
            the answer of `arbor search --json --proof`.
        root: The ledger root that it must lead to: 32 bytes or 64 hexadecimal digits.
        commit: The oid of the commit it must belong to; for a consistency proof either of the two.
        text: What the proven passage, or the whole file, must be, byte for byte. A string counts as UTF-8.

    Returns:
        What was proven.

    Raises:
        IntegrityError: when the proof does not hold, or not for this root, commit or text.
        UsageError: when `root` or `commit` is not an oid, or a text can be none.
        WrongType: when something is given as a proof or text that is of another type.
    """
    parsed = _parsed(proof)
    wanted_root, wanted_commit = _anchor(root, "root"), _anchor(commit, "commit")
    if isinstance(parsed, ConsistencyProof):
        if text is not None:
            raise UsageError("a consistency proof is about commits and holds no text")
        return _consistency(check_consistency(parsed), wanted_root, wanted_commit)
    said = check_proof(parsed)
    if wanted_commit is not None and wanted_commit != said.commit:
        raise IntegrityError(f"the proof belongs to commit {said.commit.hex()}, not {wanted_commit.hex()}")
    if wanted_root is not None and wanted_root != said.ledger_root:
        raise IntegrityError(
            f"the proof leads to ledger root {said.ledger_root.hex()}, not {wanted_root.hex()}"
        )
    return _verified(said, _name(wanted_root, wanted_commit), _matched(said, text))


def _parsed(proof: AnyProof | bytes | str | dict[str, Any]) -> AnyProof:
    """The proof as a reader has it who gets its bytes, whatever was put into its fields."""
    if isinstance(proof, dict):
        proof = _spelled(proof)
    if not isinstance(proof, (Proof, ConsistencyProof)):
        return parse(proof)
    try:
        return decode_proof(encode_proof(proof))
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise IntegrityError(_NO_PROOF) from error


def _made_proof(proof: object) -> AnyProof:
    if not isinstance(proof, (Proof, ConsistencyProof)):
        raise WrongType(f"'proof' must be a proof, not {type(proof).__name__}")
    return proof


def _bytes_or_text(what: str, value: object) -> bytes | str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value
    raise WrongType(f"{what} must be bytes or text, not {type(value).__name__}")


def _spelled(fields: dict[str, Any]) -> str:
    """The JSON text of an object; raises IntegrityError where it has none."""
    try:
        return json.dumps(fields)
    except (TypeError, ValueError, RecursionError) as error:
        raise IntegrityError(_NO_PROOF) from error


def parse(data: bytes | str) -> AnyProof:
    """The proof of its MessagePack bytes or its JSON text; its statements are not checked yet.

    Raises:
        IntegrityError: when it is neither.
        WrongType: when it is no bytes and no text.
    """
    data = _bytes_or_text("a proof, where it is not a Proof,", data)
    head = data[:256].lstrip() if isinstance(data, str) else data[:256].lstrip(b" \t\r\n")
    if isinstance(data, str) or head[:1] == b"{":
        return parse_proof_json(data)
    return decode_proof(data)


def format_json(proof: AnyProof, *, indent: int | None = 2) -> str:
    """A proof as JSON, for people: indented, as `arbor prove` writes it, or on one line for an indent of None.

    Raises:
        UsageError: for another indent: a reader takes only a few spellings of a proof.
    """
    return format_proof_json(_made_proof(proof), indent=indent)


def format_msgpack(proof: AnyProof) -> bytes:
    """A proof as MessagePack, for machines."""
    return encode_proof(_made_proof(proof))


def _anchor(value: bytes | str | None, what: str) -> bytes | None:
    if value is None or (isinstance(value, bytes) and len(value) == OID_BYTES):
        return value
    try:
        oid = bytes.fromhex(value) if isinstance(value, str) and len(value) == 2 * OID_BYTES else b""
    except ValueError:
        oid = b""
    if len(oid) != OID_BYTES:
        raise UsageError(f"the {what} to compare with is not an oid", "give all 64 hexadecimal digits")
    return oid


def _name(root: bytes | None, commit: bytes | None) -> str:
    return "+".join(name for name, value in (("commit", commit), ("root", root)) if value is not None)


def _matched(said: Statement, text: bytes | str | None) -> str:
    """What a given text is equal to."""
    if text is None:
        return ""
    given = _bytes_or_text("'text'", text)
    try:
        data = given.encode("utf-8") if isinstance(given, str) else given
    except UnicodeEncodeError as error:
        raise UsageError("the text to compare with is not valid Unicode", "give its bytes") from error
    if said.document_value is None:
        raise UsageError("a proof of absence holds no text")
    if said.passage is not None and data == said.passage:
        return "passage"
    if file_hash(data) == said.document_value.file_hash:
        return "file"
    what = "passage nor the file" if said.passage is not None else "file"
    raise IntegrityError(f"the given text is not the {what} that the proof is about")


def _verified(said: Statement, anchor: str, matched: str) -> Verified:
    commit, document = said.commit_value, said.document_value
    about: dict[str, str | int | bytes] = {}
    if document is not None and said.document is not None:
        about = {
            "document": said.document.hex(), "title": document.title, "media_type": document.media_type,
            "source_uri": document.source_uri, "file_hash": document.file_hash.hex(),
            "passages": document.passage_count,
        }  # fmt: skip
    if document is not None and said.passage is not None and said.index is not None:
        about |= {
            "index": said.index, "leaf": object_id(Kind.CHUNK, said.passage).hex(), "passage": said.passage,
            "text": _decode(said.passage, document),
        }  # fmt: skip
    return Verified(
        said.kind, anchor, said.commit.hex(), said.ledger_root.hex(), commit.committer.seconds,
        commit.author.name, commit.message, said.room, said.path, text_matched=matched, **about,  # type: ignore[arg-type]
    )  # fmt: skip


def _decode(passage: bytes, document: Document) -> str:
    """The passage as text: extracted text is UTF-8, other passages are in the file's own encoding."""
    encoding = "utf-8" if document.original_count else document.encoding or "utf-8"
    return passage.decode(encoding, "replace").removeprefix("\ufeff")


def _consistency(said: Consistency, root: bytes | None, commit: bytes | None) -> Verified:
    if commit is not None and commit not in (said.old, said.new):
        raise IntegrityError(
            f"the proof is about commits {said.old.hex()} and {said.new.hex()}, not {commit.hex()}"
        )
    if root is not None and root not in (said.old_value.ledger_root, said.new_value.ledger_root):
        raise IntegrityError(f"neither commit of the proof has the ledger root {root.hex()}")
    new = said.new_value
    return Verified(
        "consistency", _name(root, commit), said.new.hex(), new.ledger_root.hex(), new.committer.seconds,
        new.author.name, new.message, old_commit=said.old.hex(), old_log_size=said.old_size,
        log_size=said.new_size, old_log_root=said.old_log_root.hex(), log_root=said.new_log_root.hex(),
    )  # fmt: skip
