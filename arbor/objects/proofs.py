"""Proofs that leave the knowledge base: what they hold, their one encoding, and their check.

A proof carries a passage, the path through its document's tree, the document, the path through the ledger,
and the commit. Checking it opens no file: every step is a hash of bytes in the proof, and every size comes
from an object whose hash was checked before. `docs/format/proofs.md` gives the bytes.
Source: RFC 9162 sections 2.1.3 and 2.1.4 for the tree proofs.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from blake3 import blake3

from arbor.errors import IntegrityError
from arbor.objects import codec, ledger, merkle
from arbor.objects.ids import Kind, object_id
from arbor.objects.model import Commit, Document, as_oid, decode_commit, decode_document
from arbor.objects.paths import path_fault
from arbor.records import dataclass

MAGIC = "arbor-proof"
VERSION = 1
CHECK_BYTES = 16
MAX_PROOF_BYTES = 8 * 1024 * 1024
MAX_PATH_NODES = ledger.MAX_LEVEL + 1
MAX_KEY_CHARS_TOTAL = 4 * 1024 * 1024
ROOMS = dict(zip(ledger.PATH_PREFIXES, ("document", "core"), strict=True))
MEMBERSHIP = ("passage", "document", "absence")
_CHECK = blake3(derive_key_context="arbor 1 proof check")


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof about one path in one commit.

    Attributes:
        kind: `passage` (this passage is in it), `document` (this document is at it) or `absence` (nothing
            is).
        commit: Oid of the commit, 32 bytes.
        commit_data: Its encoding.
        key: Ledger key: `d/` and a document's path, or `c/` and a core's name.
        nodes: Encodings of the ledger nodes from the root to where the key is, or would be.
        document: The document's encoding; b"" for an absence.
        index: The passage's position in its document, 0-based; 0 where there is no passage.
        inclusion: Sibling hashes from the passage up to the document's `text_root`.
        passage: The passage's bytes.
    """

    kind: str
    commit: bytes
    commit_data: bytes
    key: str
    nodes: tuple[bytes, ...]
    document: bytes = b""
    index: int = 0
    inclusion: tuple[bytes, ...] = ()
    passage: bytes = b""


@dataclass(frozen=True, slots=True)
class ConsistencyProof:
    """A proof that one commit's history goes on from another's.

    Attributes:
        old, old_data, new, new_data: Oids and encodings of the two commits.
        path: RFC 9162 consistency proof between their logs, each with the commit itself as its last leaf.
    """

    old: bytes
    old_data: bytes
    new: bytes
    new_data: bytes
    path: tuple[bytes, ...] = ()


AnyProof = Proof | ConsistencyProof


@dataclass(frozen=True, slots=True)
class Statement:
    """What a proof about a path was found to say.

    Attributes:
        kind, path: What it is about; `room` is `document` or `core`.
        commit, ledger_root: Oids of the commit and of its ledger.
        commit_value: The commit itself.
        document: Oid of the document, None for an absence.
        document_value: The document itself, None for an absence.
        index, passage: The passage's position and bytes; None where the proof is not about a passage.
    """

    kind: str
    room: str
    path: str
    commit: bytes
    ledger_root: bytes
    commit_value: Commit
    document: bytes | None = None
    document_value: Document | None = None
    index: int | None = None
    passage: bytes | None = None


@dataclass(frozen=True, slots=True)
class Consistency:
    """What a consistency proof was found to say; each log has its commit as the last leaf."""

    old: bytes
    new: bytes
    old_size: int
    new_size: int
    old_log_root: bytes
    new_log_root: bytes
    old_value: Commit = field(repr=False)
    new_value: Commit = field(repr=False)


def log_state(oid: bytes, commit: Commit) -> tuple[int, bytes]:
    """(size, root) of the log of a commit and its first-parent ancestors, itself as the last leaf."""
    peaks = merkle.append_leaf(commit.log_size, commit.log_peaks, oid)
    return commit.log_size + 1, merkle.root_of_peaks(peaks)


# --- the encoding


def encode_proof(proof: AnyProof) -> bytes:
    """The one encoding of a proof: a MessagePack array that ends in a check over the rest."""
    row = _row(proof)
    return codec.encode([*row, _check(row)])


def _check(row: Sequence[Any]) -> bytes:
    """The 16 bytes over all of a proof's fields that end its encoding."""
    hasher = _CHECK.copy()
    hasher.update(codec.encode(row))
    return hasher.digest(CHECK_BYTES)


def _row(proof: AnyProof) -> list[Any]:
    if isinstance(proof, ConsistencyProof):
        p = proof
        return [MAGIC, VERSION, "consistency", p.old, p.old_data, p.new, p.new_data, p.path]
    nodes = [_fold_node(data) for data in proof.nodes]
    return [
        MAGIC, VERSION, proof.kind, proof.commit, proof.commit_data, proof.key, nodes, proof.document,
        proof.index, proof.inclusion, proof.passage,
    ]  # fmt: skip


def decode_proof(data: bytes) -> AnyProof:
    """The proof of its encoding; nothing in it is checked but its form and its check.

    Raises:
        IntegrityError: when the bytes are anything but the encoding of a proof.
    """
    if len(data) > MAX_PROOF_BYTES:
        raise IntegrityError(f"a proof is larger than {MAX_PROOF_BYTES} bytes")
    try:
        row = codec.decode(data)
    except IntegrityError as error:
        is_like_one = MAGIC.encode() in data[: 2 * len(MAGIC)]
        what = "the proof was changed or cut short" if is_like_one else "this is not a proof made by arbor"
        raise IntegrityError(what) from error
    if not isinstance(row, list) or len(row) < 3 or row[0] != MAGIC:
        raise IntegrityError("this is not a proof made by arbor")
    if row[1] != VERSION:
        raise IntegrityError(f"the proof is of format {row[1]!r}, which this version cannot read")
    try:
        proof = _from_row(row)
    except (ValueError, TypeError, LookupError) as error:
        raise IntegrityError("a proof has a field of the wrong type") from error
    if encode_proof(proof) != data:
        raise IntegrityError("the proof was changed: its check does not fit")
    return proof


def _from_row(row: list[Any]) -> AnyProof:
    if row[2] == "consistency":
        _, _, _, old, old_data, new, new_data, path, _ = row
        return ConsistencyProof(
            as_oid(old), _bytes(old_data), as_oid(new), _bytes(new_data), tuple(map(as_oid, path))
        )
    _, _, kind, commit, commit_data, key, nodes, document, index, inclusion, passage, _ = row
    if kind not in MEMBERSHIP or not isinstance(key, str) or type(index) is not int or index < 0:
        raise ValueError(kind)
    if len(nodes) > MAX_PATH_NODES:
        raise ValueError("nodes")
    return Proof(
        kind, as_oid(commit), _bytes(commit_data), key, tuple(_unfold_nodes(nodes)), _bytes(document), index,
        tuple(map(as_oid, inclusion)), _bytes(passage),
    )  # fmt: skip


def _bytes(value: Any) -> bytes:
    if type(value) is not bytes:
        raise ValueError("bytes")
    return value


def _fold_node(data: bytes) -> list[Any]:
    """A node as a proof writes it: each key as the characters it shares with the key before, and the rest.

    Keys are paths and repeat their folders, so this halves a typical proof.
    """
    level, flat = codec.decode(data, trusted=True)
    width = 3 if level else 2
    folded: list[Any] = []
    before = ""
    for start in range(0, len(flat), width):
        key = flat[start]
        shared = len(os.path.commonprefix([before, key]))  # noqa: RUF071 - characters are meant
        folded += [shared, key[shared:], *flat[start + 1 : start + width]]
        before = key
    return [level, folded]


def _unfold_nodes(nodes: Any) -> list[bytes]:
    """The node encodings of their folded forms; the total length of their keys is bounded."""
    encodings, chars = [], 0
    for level, folded in nodes:
        width = 4 if level else 3
        if type(level) is not int or len(folded) % width:
            raise ValueError("node")
        flat: list[Any] = []
        before = ""
        for start in range(0, len(folded), width):
            shared, rest = folded[start : start + 2]
            if type(shared) is not int or not 0 <= shared <= len(before):
                raise ValueError("shared")
            before = before[:shared] + rest
            chars += len(before)
            if chars > MAX_KEY_CHARS_TOTAL:
                raise ValueError("keys")
            flat += [before, *folded[start + 2 : start + width]]
        encodings.append(codec.encode([level, flat]))
    return encodings


# --- the check


def check_proof(proof: Proof) -> Statement:
    """What a proof says, after every hash in it was computed and compared.

    Raises:
        IntegrityError: when a step does not follow from the one before; the message names it.
    """
    commit = _checked_commit(proof.commit, proof.commit_data)
    room = ROOMS.get(proof.key[:2], "")
    fault = path_fault(proof.key[2:]) if room else "its ledger key is not that of a document or core"
    if fault:
        raise IntegrityError(f"the proof is about an impossible path: {fault}")
    value = ledger.verify_path(commit.ledger_root, proof.key, proof.nodes)
    common = (room, proof.key[2:], proof.commit, commit.ledger_root, commit)
    if proof.kind == "absence":
        if value is not None:
            raise IntegrityError(
                f"the proof says that '{proof.key[2:]}' is absent, and its own ledger path holds it"
            )
        if proof.document or proof.index or proof.inclusion or proof.passage:
            raise IntegrityError("a proof of absence holds a document")
        return Statement("absence", *common)
    if value is None:
        raise IntegrityError(f"the ledger path of the proof shows that '{proof.key[2:]}' is absent")
    if object_id(Kind.DOCUMENT, proof.document) != value:
        raise IntegrityError("the document of the proof is not the one that the ledger names")
    document = decode_document(proof.document)
    if proof.kind == "document":
        if proof.index or proof.inclusion or proof.passage:
            raise IntegrityError("a proof of a document holds a passage")
        return Statement("document", *common, value, document)
    leaf = object_id(Kind.CHUNK, proof.passage)
    reached = merkle.root_from_path(leaf, proof.index, document.passage_count, proof.inclusion)
    if reached != document.text_root:
        raise IntegrityError("the passage is not the one that the document holds at this position")
    return Statement("passage", *common, value, document, proof.index, proof.passage)


def check_consistency(proof: ConsistencyProof) -> Consistency:
    """What a consistency proof says, after every hash in it was computed and compared.

    Raises:
        IntegrityError: when the old log is not a prefix of the new one.
    """
    old, new = _checked_commit(proof.old, proof.old_data), _checked_commit(proof.new, proof.new_data)
    old_size, old_root = log_state(proof.old, old)
    new_size, new_root = log_state(proof.new, new)
    if not merkle.verify_consistency(old_size, new_size, old_root, new_root, proof.path):
        raise IntegrityError("the newer commit's history does not go on from the older one's")
    return Consistency(proof.old, proof.new, old_size, new_size, old_root, new_root, old, new)


def _checked_commit(oid: bytes, data: bytes) -> Commit:
    if object_id(Kind.COMMIT, data) != oid:
        raise IntegrityError("the commit of the proof does not have the oid that the proof names")
    return decode_commit(data)
