#!/usr/bin/env python3
"""Check an arbor proof without arbor: verify_proof.py FILE [--commit OID] [--root HASH] [--text FILE].

Written from docs/format/proofs.md; needs only the packages blake3 and msgpack. Exit status 0: proven, 1: not.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import sys
from pathlib import Path

import msgpack
from blake3 import blake3


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


def pack(value):
    return msgpack.packb(value, use_bin_type=True)


def unpack(data, what):
    value = msgpack.unpackb(data, strict_map_key=True)
    require(pack(value) == data, f"{what} is not in its one encoding")
    return value


def unfold(rows, width):
    """A node's rows; a key is written as how much it shares with the key before, and the rest."""
    out, before, chars = [], "", 0
    for i in range(0, len(rows), width):
        shared, rest = rows[i], rows[i + 1]
        require(
            0 <= shared <= len(before) and before[shared : shared + 1] != rest[:1], "a key is folded wrongly"
        )
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
    """(size, root) of a commit's log with the commit itself as the last leaf."""
    require(oid("commit", data) == commit_oid, "a commit has another oid than the proof says")
    commit = unpack(data, "a commit")
    size, peaks, value = commit[7], list(commit[8]), commit_oid
    for bit in range(size.bit_length()):
        if not size >> bit & 1:
            break
        value = join(peaks.pop(), value)
    for peak in reversed(peaks):
        value = join(peak, value)
    return size + 1, value


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
        (old_size, old_root), (new_size, new_root) = log_of(row[3], row[4]), log_of(row[5], row[6])
        reached = both_roots(old_size, new_size, row[7], old_root)
        require(reached == (old_root, new_root), "the newer history does not go on from the older one")
        sides = (("old", row[3], old_size, old_root), ("new", row[5], new_size, new_root))
        readable = {n: {"commit": c.hex(), "log_size": size, "log_root": r.hex()} for n, c, size, r in sides}
        roots = [unpack(row[at], "a commit")[1] for at in (6, 4)]
        return {"kind": row[2], "commits": [row[5], row[3]], "roots": roots}, {"kind": row[2], **readable}
    _, _, kind, commit_oid, commit, key, nodes, document, index, path, passage, _ = row
    require(kind in ("passage", "document", "absence"), "the proof is of an unknown kind")
    require(oid("commit", commit) == commit_oid, "the commit has another oid than the proof says")
    root = unpack(commit, "the commit")[1]
    value = ledger_path(root, key, [[level, unfold(rows, 4 if level else 3)] for level, rows in nodes])
    room = {"d/": "document", "c/": "core"}[key[:2]]
    readable = {"kind": kind, "room": room, "path": key[2:]}
    readable |= {"commit": commit_oid.hex(), "ledger_root": root.hex()}
    require((value is None) == (kind == "absence"), "the ledger says otherwise")
    require(kind == "passage" or (index, path, passage) == (0, [], b""), "there is a passage too many")
    if kind == "absence":
        require(document == b"", "there is a document too many")
    else:
        require(oid("document", document) == value, "the document is not the one in the ledger")
        d = unpack(document, "the document")
        names = (("title", 3), ("media_type", 2), ("source_uri", 4), ("passages", 11))
        hashes = {"oid": value.hex(), "file_hash": d[7].hex(), "text_root": d[12].hex()}
        readable["document"] = hashes | {name: d[at] for name, at in names}
    if kind == "passage":
        leaf = oid("chunk", passage)
        readable["passage"] = {"index": index, "leaf": leaf.hex()}
        with contextlib.suppress(UnicodeDecodeError):
            readable["passage"]["text"] = passage.decode()
        require(root_from_path(leaf, index, d[11], path) == d[12], "the passage is not in the document")
    said = {"kind": kind, "path": key[2:], "commits": [commit_oid], "roots": [root], "passage": passage}
    return said | {"file_hash": document and d[7]}, readable


def verify(data, root=None, commit=None, text=None):
    """What the proof in `data` says; raises Refused when it does not hold."""
    try:
        shown = None
        if data.lstrip(b" \t\r\n")[:1] == b"{":
            shown = json.loads(data, object_pairs_hook=lambda f: dict(f) if len(dict(f)) == len(f) else None)
            encoded, data = shown["proof"], base64.b64decode(shown["proof"], validate=True)
            require(base64.b64encode(data).decode() == encoded, "base64 is written in another way")
        said, readable = check(unpack(data, "the proof"))
        if shown is not None:
            readable |= {"schema": "arbor.proof/1", "proof": encoded}
            wanted, found = (json.dumps(each, sort_keys=True) for each in (readable, shown))
            require(wanted == found, "a readable field does not fit")
        require(root is None or bytes.fromhex(root) in said["roots"], "it leads to another ledger root")
        require(commit is None or bytes.fromhex(commit) in said["commits"], "it belongs to another commit")
        same = text is None or (said["kind"] == "passage" and text == said["passage"])
        require(same or blake3(text).digest() == said["file_hash"], "the text is another one")
        return said
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, msgpack.UnpackException) as error:
        raise Refused(f"the proof has another form than it should: {error!r}") from error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Check an arbor proof.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--root")
    parser.add_argument("--commit")
    parser.add_argument("--text", type=Path)
    given = parser.parse_args()
    text = given.text and given.text.read_bytes()
    try:
        said = verify(given.file.read_bytes(), given.root, given.commit, text)
    except Refused as refusal:
        sys.exit(f"NOT proven: {refusal}")
    print(f"proven: {said['kind']} {said.get('path', '')}\ncommit {said['commits'][0].hex()}")
