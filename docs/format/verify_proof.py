#!/usr/bin/env python3
"""Check an arbor proof without arbor: verify_proof.py FILE [--commit OID] [--root HASH] [--text FILE].

Written from docs/format/proofs.md; needs only the packages blake3 and msgpack. Exit status 0: proven, 1: not.
"""

from __future__ import annotations

import argparse
import base64
import json
from pathlib import Path

import msgpack
from blake3 import blake3

pack = msgpack.packb
# Types of fields by their first letters: str, int, bytes, list, dict.
PROOFS, COMMIT, DOCUMENT = ("sisbbslbilbb", "sisbbbblb"), "iblllsdils", "isssssibsssibibbdb"


class Refused(Exception): ...


def require(condition, why):
    if not condition:
        raise Refused(why)


def derive(context, *data, size=32):
    return blake3(b"".join(data), derive_key_context=context).digest(size)


def oid(kind, data):
    return derive(f"arbor 1 object {kind}", data)


def join(left, right):
    return derive("arbor 1 merkle node", left, right)


def is_plain(value, kinds=(int, str, bytes)):
    """Without floats; true, false and nil are only in maps, whose keys are strings that ascend."""
    if isinstance(value, dict):
        return [*value] == sorted(map(str, value)) and is_plain([*value.values()], (*kinds, bool, type(None)))
    return all(is_plain(each, kinds) for each in value) if isinstance(value, list) else type(value) in kinds


def unpack(data, what, *shapes):
    value = msgpack.unpackb(data, strict_map_key=True)
    require(pack(value) == data and is_plain(value), f"{what} is not in its one encoding")
    require("".join(type(v).__name__[0] for v in value) in shapes, f"{what} has a field of a wrong type")
    return value


def spellings(fields):
    """The texts that are the JSON of these fields: on one line, or indented with a line feed at the end."""
    layouts = [({"separators": each}, end) for each in ((",", ":"), (", ", ": ")) for end in ("", "\n")]
    for layout, end in [*layouts, ({"indent": 2}, "\n")]:
        for is_ascii in (False, True):
            text = json.dumps(fields, ensure_ascii=is_ascii, **layout) + end
            yield from (text.encode(), text.replace("\x7f", "\\u007f").encode())


def unfold(rows, width):
    """A node's rows; a key is written as how much it shares with the key before, and the rest."""
    require(type(rows) is list, "the rows of a ledger node are no array")
    out, before, chars = [], "", 0
    for i in range(0, len(rows), width):
        shared, rest = rows[i], rows[i + 1]
        require(0 <= shared <= len(before) and before[shared : shared + 1] != rest[:1], "a key is misfolded")
        before = before[:shared] + rest
        chars += len(before)
        require(chars <= 4 << 20, "the ledger keys are too long")
        out += [before, *rows[i + 2 : i + width]]
    return out


def ledger_path(root, key, nodes):
    """The value at a key, None if absent; each node is [level, rows]."""
    expected, low, parent = root, "", None
    for depth, (level, flat) in enumerate(nodes):
        width = 3 if level else 2
        keys = flat[0::width]
        require(oid("node", pack([level, flat])) == expected, "a ledger node is not the one its parent names")
        require(list(keys) == sorted(set(keys)) and all(keys), "ledger keys are out of order")
        count = sum(flat[2::3]) if level else len(keys)
        if parent:
            require((level, keys[-1], count) == parent and keys[0] > low, "a ledger node does not fit")
        at = next((i for i, each in enumerate(keys) if each >= key), None)
        if level == 0 or at is None:
            require(depth == len(nodes) - 1, "the ledger path is too long")
            return flat[2 * at + 1] if level == 0 and at is not None and keys[at] == key else None
        low = keys[at - 1] if at else low
        parent, expected = (level - 1, keys[at], flat[3 * at + 2]), flat[3 * at + 1]
    raise Refused("the ledger path is too short")


def root_from_path(value, index, size, path):
    """RFC 9162 section 2.1.3, from the top down."""
    if size == 1:
        require(index == 0 and not path, "the inclusion path is too long")
        return value
    split = 1 << (size - 1).bit_length() - 1
    require(0 <= index < size and path, "the inclusion path is too short")
    if index < split:
        return join(root_from_path(value, index, split, path[:-1]), path[-1])
    return join(path[-1], root_from_path(value, index - split, size - split, path[:-1]))


def log_of(commit_oid, data):
    """(size, root) of a commit's log with the commit itself as the last leaf, and its ledger root."""
    require(oid("commit", data) == commit_oid, "a commit has another oid than the proof says")
    commit = unpack(data, "a commit", COMMIT)
    for signature in commit[3:5]:
        unpack(pack(signature), "a commit's author", "ssii")
    require(commit[0] == 1 and commit[7].bit_count() == len(commit[8]), "a commit's log has another size")
    value = commit_oid
    for peak in reversed(commit[8]):
        value = join(peak, value)
    return commit[7] + 1, value, commit[1]


def both_roots(old_size, new_size, path, known):
    """(old root, new root) that a path leads to (RFC 9162 section 2.1.4)."""
    if old_size == new_size:
        require(len(path) == (known is None), "the consistency path has another length")
        return (known or path[0],) * 2
    split = 1 << (new_size - 1).bit_length() - 1
    require(0 < old_size < new_size and path, "the consistency path is too short")
    if old_size <= split:
        old, new = both_roots(old_size, split, path[:-1], known)
        return old, join(new, path[-1])
    old, new = both_roots(old_size - split, new_size - split, path[:-1], None)
    return join(path[-1], old), join(path[-1], new)


def check(row):
    """(what a proof says, the readable fields that its JSON form must have)."""
    require(row[:2] == ["arbor-proof", 1], "not an arbor proof of format 1")
    require(derive("arbor 1 proof check", pack(row[:-1]), size=16) == row[-1], "the proof was changed")
    if row[2] == "consistency":
        _, _, kind, old, old_data, new, new_data, path, _ = row
        (old_size, old_root, old_ledger), (size, root, ledger) = log_of(old, old_data), log_of(new, new_data)
        require(both_roots(old_size, size, path, old_root) == (old_root, root), "history was rewritten")
        sides = (("old", old, old_size, old_root), ("new", new, size, root))
        logs = {n: {"commit": c.hex(), "log_size": s, "log_root": r.hex()} for n, c, s, r in sides}
        return {"kind": kind, "commits": [new, old], "roots": [ledger, old_ledger]}, {"kind": kind, **logs}
    _, _, kind, commit_oid, commit, key, nodes, document, index, path, passage, _ = row
    require(kind in ("passage", "document", "absence"), "the proof is of an unknown kind")
    root = log_of(commit_oid, commit)[2]
    value = ledger_path(root, key, [[level, unfold(rows, 4 if level else 3)] for level, rows in nodes])
    readable = {"kind": kind, "room": {"d/": "document", "c/": "core"}[key[:2]], "path": key[2:]}
    readable |= {"commit": commit_oid.hex(), "ledger_root": root.hex()}
    require((value is None) == (document == b"") == (kind == "absence"), "the ledger says otherwise")
    require(kind == "passage" or (index, path, passage) == (0, [], b""), "there is a passage too many")
    if kind != "absence":
        require(oid("document", document) == value, "the document is not the one in the ledger")
        d = unpack(document, "the document", DOCUMENT)
        readable["document"] = {"oid": value.hex(), "title": d[3], "media_type": d[2], "source_uri": d[4]}
        readable["document"] |= {"file_hash": d[7].hex(), "text_root": d[12].hex(), "passages": d[11]}
    if kind == "passage":
        leaf = oid("chunk", passage)
        text = passage.decode(errors="ignore")
        readable["passage"] = {"index": index, "leaf": leaf.hex()}
        readable["passage"] |= {"text": text} if text.encode() == passage else {}
        require(root_from_path(leaf, index, d[11], path) == d[12], "the passage is not in the document")
    said = {"commits": [commit_oid], "roots": [root], "passage": passage, "file_hash": document and d[7]}
    return readable | said, readable


def verify(data, root=None, commit=None, text=None):
    """What the proof in `data` says; raises Refused when it does not hold."""
    try:
        packed = base64.b64decode(json.loads(data.decode())["proof"]) if data[:1] == b"{" else data
        said, readable = check(unpack(packed, "the proof", *PROOFS))
        readable = {"schema": "arbor.proof/1", **readable, "proof": base64.b64encode(packed).decode()}
        require(packed is data or data in spellings(readable), "the JSON is not as its proof is spelled")
        require(root is None or bytes.fromhex(root) in said["roots"], "it leads to another ledger root")
        require(commit is None or bytes.fromhex(commit) in said["commits"], "it belongs to another commit")
        same = text is None or (said["kind"] == "passage" and text == said["passage"])
        require(same or blake3(text).digest() == said["file_hash"], "the text is another one")
        return said
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Refused(f"the proof has another form than it should: {error!r}") from error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Check an arbor proof.")
    for name in ("file", "--root", "--commit", "--text"):
        parser.add_argument(name)
    given = parser.parse_args()
    text = given.text and Path(given.text).read_bytes()
    try:
        said = verify(Path(given.file).read_bytes(), given.root, given.commit, text)
    except Refused as refusal:
        raise SystemExit(f"NOT proven: {refusal}") from None
    print("proven:", said["kind"], "of", said.get("room", "history"), ascii(said.get("path", "")))
    print("commit", said["commits"][0].hex(), "" if given.commit or given.root else "vouched for by nothing")
