#!/usr/bin/env python3
"""Check an arbor proof without arbor: `verify_proof.py FILE [--commit OID] [--root HASH] [--text FILE]`.

Written from docs/format/proofs.md alone; needs only the packages blake3 and msgpack. Exit status 0: proven, 1: not.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from pathlib import Path

import msgpack
from blake3 import blake3

KINDS = ("passage", "document", "absence", "consistency")


class Refused(Exception):
    """The proof does not hold."""


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


def check_of(row):
    return derive("arbor 1 proof check", pack(row), size=16)


def fold(flat, width):
    """A node's rows as the container writes them: how much of the key before is shared, and the rest."""
    out, before = [], ""
    for i in range(0, len(flat), width):
        shared = next((n for n, (a, b) in enumerate(zip(before, flat[i])) if a != b), min(len(before), len(flat[i])))
        out += [shared, flat[i][shared:], *flat[i + 1 : i + width]]
        before = flat[i]
    return out


def unfold(rows, width):
    out, before = [], ""
    for i in range(0, len(rows), width):
        require(0 <= rows[i] <= len(before), "a ledger key is folded wrongly")
        before = before[: rows[i]] + rows[i + 1]
        out += [before, *rows[i + 2 : i + width]]
    return out


def ledger_path(root, key, nodes):
    """The value at a key, None if absent; each node is [level, rows]."""
    expected, low, parent = root, "", None
    for depth, (level, flat) in enumerate(nodes):
        width = 3 if level else 2
        keys = flat[0::width]
        require(oid("node", pack([level, flat])) == expected, "a ledger node has another hash than its parent says")
        require(list(keys) == sorted(set(keys)) and all(keys), "ledger keys are out of order")
        count = sum(flat[2::3]) if level else len(keys)
        if parent:
            require((level, keys[-1], count) == parent and keys[0] > low, "a ledger node does not fit its parent")
        at = next((i for i, each in enumerate(keys) if each >= key), None)
        if level == 0 or at is None:
            require(depth == len(nodes) - 1, "the ledger path is too long")
            return flat[2 * at + 1] if level == 0 and at is not None and keys[at] == key else None
        low = keys[at - 1] if at else low
        parent, expected = (level - 1, keys[at], flat[3 * at + 2]), flat[3 * at + 1]
    raise Refused("the ledger path is too short")


def root_from_path(leaf, index, size, path):
    """RFC 9162 section 2.1.3.2."""
    require(0 <= index < size, "the passage's position is beyond the document")
    at, last, value = index, size - 1, leaf
    for sibling in path:
        require(last > 0, "the inclusion path is too long")
        if at % 2 or at == last:
            value = join(sibling, value)
            while at and not at % 2:
                at, last = at >> 1, last >> 1
        else:
            value = join(value, sibling)
        at, last = at >> 1, last >> 1
    require(last == 0, "the inclusion path is too short")
    return value


def log_of(commit_oid, data):
    """(size, peaks) of a commit's log with the commit itself as the last leaf."""
    require(oid("commit", data) == commit_oid, "a commit has another oid than the proof says")
    commit = unpack(data, "a commit")
    size, peaks, value = commit[7], list(commit[8]), commit_oid
    for bit in range(size.bit_length()):
        if not size >> bit & 1:
            break
        value = join(peaks.pop(), value)
    return size + 1, [*peaks, value], commit


def root_of(peaks):
    value = peaks[-1]
    for peak in reversed(peaks[:-1]):
        value = join(peak, value)
    return value


def consistent(old_size, new_size, old_root, new_root, path):
    """RFC 9162 section 2.1.4.2."""
    if old_size == new_size:
        return not path and old_root == new_root
    path = list(path) if old_size & (old_size - 1) else [old_root, *path]
    require(0 < old_size < new_size and path, "the logs are the wrong way round")
    at, last = old_size - 1, new_size - 1
    while at % 2:
        at, last = at >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        require(last > 0, "the consistency path is too long")
        if at % 2 or at == last:
            old, new = join(sibling, old), join(sibling, new)
            while at and not at % 2:
                at, last = at >> 1, last >> 1
        else:
            new = join(new, sibling)
        at, last = at >> 1, last >> 1
    return last == 0 and old == old_root and new == new_root


def rows_of_json(data):
    """The MessagePack rows of the JSON form, whose readable fields are compared again in `readable`."""
    f, decode, raw = json.loads(data), base64.b64decode, bytes.fromhex
    require(f["schema"] == "arbor.proof/1", "not an arbor proof")
    if f["kind"] == "consistency":
        pair = [x for n in ("old", "new") for x in (raw(f[n]["commit"]), decode(f[n]["encoding"], validate=True))]
        return ["arbor-proof", 1, "consistency", *pair, [*map(raw, f["consistency"])], raw(f["check"])], f
    key = {"document": "d/", "core": "c/"}[f["room"]] + f["path"]
    nodes = [[n["level"], fold([x for r in n.get("children") or n.get("entries", []) for x in
              (r[0], raw(r[1]), *r[2:])], 3 if n["level"] else 2)] for n in f["ledger_path"]]
    p = f.get("passage", {})
    text = p["text"].encode() if "text" in p else decode(p.get("base64", ""), validate=True)
    encodings = [decode(f["encodings"][n], validate=True) for n in ("commit", "document")]
    return ["arbor-proof", 1, f["kind"], raw(f["commit"]), encodings[0], key, nodes, encodings[1], p.get("index", 0),
            [*map(raw, p.get("inclusion", []))], text, raw(f["check"])], f  # fmt: skip


def readable(f, row):
    """The JSON form of checked rows, to be compared with the one that was read."""
    b64, expected = (lambda data: base64.b64encode(data).decode()), {"schema": "arbor.proof/1", "kind": row[2]}
    if row[2] == "consistency":
        for name, at in (("old", 3), ("new", 5)):
            size, peaks, _ = log_of(row[at], row[at + 1])
            expected[name] = {"commit": row[at].hex(), "log_size": size, "log_root": root_of(peaks).hex(), "encoding": b64(row[at + 1])}
        return expected | {"consistency": [x.hex() for x in row[7]], "check": row[8].hex()}
    expected |= {"room": {"d": "document", "c": "core"}[row[5][0]], "path": row[5][2:], "commit": row[3].hex()}
    expected["ledger_root"] = unpack(row[4], "the commit")[1].hex()
    if row[2] != "absence":
        d = unpack(row[7], "the document")
        expected["document"] = {"oid": oid("document", row[7]).hex(), "title": d[3], "media_type": d[2], "source_uri": d[4],
                                "file_hash": d[7].hex(), "text_root": d[12].hex(), "passages": d[11]}  # fmt: skip
    if row[2] == "passage":
        text = {"text": f["passage"]["text"]} if "text" in f["passage"] else {"base64": b64(row[10])}
        expected["passage"] = {"index": row[8], "leaf": oid("chunk", row[10]).hex(), **text, "inclusion": [x.hex() for x in row[9]]}
    expected["ledger_path"] = [{"level": level, "children": [[rows[i], rows[i + 1].hex(), rows[i + 2]] for i in range(0, len(rows), 3)]}
                               if level else {"level": 0, "entries": [[rows[i], rows[i + 1].hex()] for i in range(0, len(rows), 2)]}
                               for level, folded in row[6] for rows in [unfold(folded, 4 if level else 3)]]  # fmt: skip
    return expected | {"encodings": {"document": b64(row[7]), "commit": b64(row[4])}, "check": row[11].hex()}
