"""The JSON form of a proof: for people to read, with every readable field bound to the proven ones.

Reading it back gives the proof, whose JSON form must then be the same again: a field that was changed, added
    or left
out is refused, even where it is only there to be read.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from arbor.errors import IntegrityError
from arbor.objects import ledger
from arbor.objects.ids import Kind, object_id
from arbor.objects.model import decode_commit, decode_document
from arbor.objects.proofs import (
    MAX_PROOF_BYTES,
    ROOMS,
    AnyProof,
    ConsistencyProof,
    Proof,
    decode_proof,
    encode_proof,
    log_state,
    proof_check,
)

SCHEMA = "arbor.proof/1"
_EXPANSION = 8


def format_proof_json(proof: AnyProof, *, indent: int | None = 2) -> str:
    """The JSON text of a proof."""
    return json.dumps(proof_fields(proof), ensure_ascii=False, indent=indent)


def proof_fields(proof: AnyProof) -> dict[str, Any]:
    """The JSON fields of a proof.

    Raises:
        IntegrityError: when an object in it cannot be decoded.
    """
    if isinstance(proof, ConsistencyProof):
        return _consistency_fields(proof)
    commit = decode_commit(proof.commit_data)
    fields: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": proof.kind,
        "room": ROOMS.get(proof.key[:2], ""),
        "path": proof.key[2:],
        "commit": proof.commit.hex(),
        "ledger_root": commit.ledger_root.hex(),
    }
    if proof.kind != "absence":
        document = decode_document(proof.document)
        fields["document"] = {
            "oid": object_id(Kind.DOCUMENT, proof.document).hex(),
            "title": document.title,
            "media_type": document.media_type,
            "source_uri": document.source_uri,
            "file_hash": document.file_hash.hex(),
            "text_root": document.text_root.hex(),
            "passages": document.passage_count,
        }
    if proof.kind == "passage":
        fields["passage"] = {
            "index": proof.index,
            "leaf": object_id(Kind.CHUNK, proof.passage).hex(),
            **_text_or_bytes(proof.passage),
            "inclusion": [each.hex() for each in proof.inclusion],
        }
    fields["ledger_path"] = [_node_fields(data) for data in proof.nodes]
    fields["encodings"] = {"document": _base64(proof.document), "commit": _base64(proof.commit_data)}
    fields["check"] = proof_check(proof).hex()
    return fields


def _consistency_fields(proof: ConsistencyProof) -> dict[str, Any]:
    fields: dict[str, Any] = {"schema": SCHEMA, "kind": "consistency"}
    for name, oid, data in (("old", proof.old, proof.old_data), ("new", proof.new, proof.new_data)):
        size, root = log_state(oid, decode_commit(data))
        fields[name] = {
            "commit": oid.hex(),
            "log_size": size,
            "log_root": root.hex(),
            "encoding": _base64(data),
        }
    fields["consistency"] = [each.hex() for each in proof.path]
    fields["check"] = proof_check(proof).hex()
    return fields


def _text_or_bytes(data: bytes) -> dict[str, str]:
    """A passage as text where it is UTF-8, else as base64."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": _base64(data)}


def _node_fields(data: bytes) -> dict[str, Any]:
    node = ledger.decode_node(data)
    if node.level:
        return {
            "level": node.level,
            "children": [[key, oid.hex(), count] for key, oid, count in node.children],
        }
    return {"level": 0, "entries": [[key, value.hex()] for key, value in node.entries]}


def parse_proof_json(text: str | bytes) -> AnyProof:
    """The proof of its JSON form.

    Raises:
        IntegrityError: when it is not one, or any field differs from what the proof itself says.
    """
    if len(text) > _EXPANSION * MAX_PROOF_BYTES:
        raise IntegrityError("a proof is too large")
    try:
        fields = json.loads(text, object_pairs_hook=_unique)
        if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
            raise IntegrityError("this is not a proof made by arbor, or of a format this version cannot read")
        proof = _from_fields(fields)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise IntegrityError(
            "the JSON of the proof has a field that is missing or of the wrong type"
        ) from error
    decode_proof(encode_proof(proof))
    if not _same(proof_fields(proof), fields):
        raise IntegrityError("the proof was changed: a field does not fit the rest")
    return proof


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name twice")
    return fields


def _same(left: Any, right: Any) -> bool:
    """Equality that tells `1` from `true` and from `1.0`."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _from_fields(fields: dict[str, Any]) -> AnyProof:
    if fields["kind"] == "consistency":
        old, new = fields["old"], fields["new"]
        return ConsistencyProof(
            bytes.fromhex(old["commit"]), _unbase64(old["encoding"]), bytes.fromhex(new["commit"]),
            _unbase64(new["encoding"]), tuple(map(bytes.fromhex, fields["consistency"])),
        )  # fmt: skip
    prefix = {room: prefix for prefix, room in ROOMS.items()}[fields["room"]]
    passage = fields.get("passage", {})
    data = passage["text"].encode("utf-8") if "text" in passage else _unbase64(passage.get("base64", ""))
    return Proof(
        fields["kind"],
        bytes.fromhex(fields["commit"]),
        _unbase64(fields["encodings"]["commit"]),
        prefix + fields["path"],
        tuple(_node_data(node) for node in fields["ledger_path"]),
        _unbase64(fields["encodings"]["document"]),
        passage.get("index", 0),
        tuple(map(bytes.fromhex, passage.get("inclusion", []))),
        data,
    )


def _node_data(node: dict[str, Any]) -> bytes:
    level = node["level"]
    if level:
        children = tuple(ledger.Child(key, bytes.fromhex(oid), count) for key, oid, count in node["children"])
        return ledger.encode_node(ledger.Node(level, (), children))
    entries = tuple((key, bytes.fromhex(value)) for key, value in node["entries"])
    return ledger.encode_node(ledger.Node(0, entries, ()))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _unbase64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
