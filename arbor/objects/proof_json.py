"""The JSON form of a proof: what it says for people to read, and the proof itself in base64.

Reading it back takes the proof out of its base64, and every readable field must then be what that proof says: a field
that was changed, added or left out is refused.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from arbor.errors import IntegrityError
from arbor.objects.ids import Kind, object_id
from arbor.objects.model import decode_commit, decode_document
from arbor.objects.proofs import (
    MAX_PROOF_BYTES,
    ROOMS,
    AnyProof,
    ConsistencyProof,
    decode_proof,
    encode_proof,
    log_state,
)

SCHEMA = "arbor.proof/1"
_MAX_JSON_BYTES = 4 * MAX_PROOF_BYTES


def format_proof_json(proof: AnyProof, *, indent: int | None = 2) -> str:
    """The JSON text of a proof."""
    return json.dumps(proof_fields(proof), ensure_ascii=False, indent=indent)


def proof_fields(proof: AnyProof) -> dict[str, Any]:
    """The JSON fields of a proof.

    Raises:
        IntegrityError: when an object in it cannot be decoded.
    """
    fields: dict[str, Any] = {"schema": SCHEMA, "kind": "consistency"}
    fields |= _consistency_fields(proof) if isinstance(proof, ConsistencyProof) else {}
    if not isinstance(proof, ConsistencyProof):
        commit = decode_commit(proof.commit_data)
        fields |= {"kind": proof.kind, "room": ROOMS.get(proof.key[:2], ""), "path": proof.key[2:]}
        fields |= {"commit": proof.commit.hex(), "ledger_root": commit.ledger_root.hex()}
        if proof.kind != "absence":
            fields["document"] = _document_fields(proof.document)
        if proof.kind == "passage":
            fields["passage"] = _passage_fields(proof.index, proof.passage)
    return fields | {"proof": base64.b64encode(encode_proof(proof)).decode("ascii")}


def _consistency_fields(proof: ConsistencyProof) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, oid, data in (("old", proof.old, proof.old_data), ("new", proof.new, proof.new_data)):
        size, root = log_state(oid, decode_commit(data))
        fields[name] = {"commit": oid.hex(), "log_size": size, "log_root": root.hex()}
    return fields


def _document_fields(data: bytes) -> dict[str, Any]:
    document = decode_document(data)
    return {
        "oid": object_id(Kind.DOCUMENT, data).hex(),
        "title": document.title,
        "media_type": document.media_type,
        "source_uri": document.source_uri,
        "file_hash": document.file_hash.hex(),
        "text_root": document.text_root.hex(),
        "passages": document.passage_count,
    }


def _passage_fields(index: int, data: bytes) -> dict[str, Any]:
    """A passage with its text where that is UTF-8."""
    fields: dict[str, Any] = {"index": index, "leaf": object_id(Kind.CHUNK, data).hex()}
    try:
        return fields | {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return fields


def parse_proof_json(text: str | bytes) -> AnyProof:
    """The proof of its JSON form; its statements are not checked yet.

    Raises:
        IntegrityError: when it is not one, or a readable field differs from what the proof itself says.
    """
    if len(text) > _MAX_JSON_BYTES:
        raise IntegrityError("a proof is too large")
    try:
        fields = json.loads(text, object_pairs_hook=_unique)
        if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
            raise IntegrityError("this is not a proof made by arbor, or of a format this version cannot read")
        proof = decode_proof(base64.b64decode(fields["proof"], validate=True))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise IntegrityError("the JSON of the proof is broken") from error
    if json.dumps(proof_fields(proof), sort_keys=True) != json.dumps(fields, sort_keys=True):
        raise IntegrityError("the proof was changed: a field does not fit the rest")
    return proof


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name twice")
    return fields
