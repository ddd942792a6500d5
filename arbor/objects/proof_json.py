"""The JSON form of a proof: what it says for people to read, and the proof itself in base64.

Reading it back takes the proof out of its base64, makes the whole text anew from that proof, and compares bytes. So a
field that was changed, added or left out is refused, and so is any byte of the white space, order and escapes around
them: only the spellings that standard tools give the same value pass.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

from arbor.errors import IntegrityError, UsageError
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
_INDENT = 2
_ONE_LINE = ((", ", ": "), (",", ":"))
"""What stands between items and after keys: as Python's `json.dumps` writes one line, and as `jq -c` does."""
_OBEYED = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What JSON leaves as it is and a terminal or editor obeys: a title could make the lines below it read otherwise."""


def format_proof_json(proof: AnyProof, *, indent: int | None = _INDENT) -> str:
    """The JSON text of a proof: indented by 2 and ended by a line feed, or on one line for an indent of None.

    Controls and direction marks in it are escaped, other characters are themselves.

    Raises:
        UsageError: for another indent, since no reader takes one.
    """
    if indent not in (_INDENT, None):
        raise UsageError(f"a proof is not written with an indent of {indent}", "use 2, or None for one line")
    text = _escape(json.dumps(proof_fields(proof), ensure_ascii=False, indent=indent))
    return text if indent is None else text + "\n"


def _escape(text: str) -> str:
    """JSON text without characters that a terminal or editor obeys."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _spellings(fields: dict[str, Any]) -> Iterator[str]:
    """The texts that count as the JSON of these fields.

    The indented form must end in its line feed: otherwise the last byte of what `arbor prove` writes could be taken
    away. On one line the line feed is free, as `print` adds it and a field of a larger file has none.
    """
    for is_ascii in (False, True):
        indented = json.dumps(fields, ensure_ascii=is_ascii, indent=_INDENT)
        lines = [json.dumps(fields, ensure_ascii=is_ascii, separators=each) for each in _ONE_LINE]
        for text in (indented + "\n", *lines, *(line + "\n" for line in lines)):
            yield text
            if "\x7f" in text:
                yield text.replace("\x7f", "\\u007f")  # jq escapes this character, Python does not
            if not text.isascii() or "\x7f" in text:
                yield _escape(text)  # as `arbor prove` and `--json` write it
        if indented.isascii():
            return  # with and without escapes it is one text


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


def parse_proof_json(data: str | bytes) -> AnyProof:
    """The proof of its JSON form; its statements are not checked yet.

    Raises:
        IntegrityError: when it is not one, a readable field differs from what the proof itself says, or the text is
            not one of the spellings of its fields.
    """
    if len(data) > _MAX_JSON_BYTES:
        raise IntegrityError("a proof is too large")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        shown = json.loads(text)
        if not isinstance(shown, dict) or shown.get("schema") != SCHEMA:
            raise IntegrityError("this is not a proof made by arbor, or of a format this version cannot read")
        proof = decode_proof(base64.b64decode(shown["proof"], validate=True))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise IntegrityError("the JSON of the proof is broken") from error
    fields = proof_fields(proof)
    if not any(text == spelling for spelling in _spellings(fields)):
        if shown == fields:
            raise IntegrityError(
                "the proof was changed: its JSON is spelled in another way than arbor, jq or Python's json do",
                "ask for the file as arbor prove wrote it; of a larger JSON file take it out with jq -c",
            )
        raise IntegrityError("the proof was changed: a field does not fit the rest")
    return proof
