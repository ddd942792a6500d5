#!/usr/bin/env python3
"""Check an arbor proof without arbor: verify_proof.py FILE [--commit OID] [--root HASH] [--text FILE].
Written from the pages beside it; needs only the packages blake3 and msgpack. Exit status 0: proven, 1: not."""

from __future__ import annotations

import argparse
import base64
import json
import re
import unicodedata
from functools import reduce
from pathlib import Path

import msgpack
from blake3 import blake3

pack, Refused = msgpack.packb, ValueError
# Fields by the first letters of their types; of bytes o are an oid, e none and b others; n is a negative integer.
PROOFS, DOCUMENT = "siso[bo]sl[beo]il[beo]b|siso[bo]o[bo]lb", "isssssiosssioi[eo]od[eo]"
COMMIT, WHO, NAME = "iolllsdils", "ss[in][in]", "[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
CODES = "utf-8|utf-(16|32)-[bl]e|gb18030|big5hkscs|cp(125[0-6]|874|932|949)|euc_jp|iso2022_jp|koi8_r|latin_1"
NO_PATH = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\]|(^|/)([A-Za-z]:|/|\Z)|[. ](/|\Z)")
DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *([.:]|\Z)", re.IGNORECASE)
PRIVATE = re.compile(r"(\.arbor|\.git|\.?(arbor|git)~[0-9]+)[. ]*(:|\Z)")
UNSEEN = "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
UNSEEN = f"[\xad{UNSEEN}\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"


def require(condition, why):
    if not condition:
        raise Refused(why)


def derive(what, *data, size=32):
    return blake3(b"".join(data), derive_key_context=f"arbor 1 {what}").digest(size)


def is_plain(value, depth=-1):
    """Without floats; true, false and nil are only in maps: 24 levels, with strings that ascend as keys."""
    if isinstance(value, dict):
        return [*value] == sorted(map(str, value)) and is_plain([*value.values()], max(depth, 0))
    if isinstance(value, list):
        return depth <= 24 and all(is_plain(each, depth + (depth >= 0)) for each in value)
    return depth <= 24 and type(value) in ((int, str, bytes), (int, str, bytes, bool, type(None)))[depth >= 0]


def unpack(data, what, shape):
    values, letters = msgpack.unpackb(data, strict_map_key=True), ""
    require(len(data) <= 8 << 20 and pack(values) == data and is_plain(values), f"{what} is not encoded so")
    for v in values:
        kind = {0: "e", 32: "o"}.get(len(v), "b") if type(v) is bytes else type(v).__name__[0]
        letters += "n" if kind == "i" and v < 0 else kind
    require(type(values) is list and re.fullmatch(shape, letters), f"{what} has a field of a wrong type")
    return values


def is_path(path):
    """Whether a document or core can be called so (ledger.md)."""
    names = path.split("/")
    seen = [unicodedata.normalize("NFKC", re.sub(UNSEEN, "", name)).casefold() for name in names]
    named = any(map(PRIVATE.match, seen)) or any(map(DEVICE.match, names)) or NO_PATH.search(path)
    short = len(path.encode()) <= 4096 and all(len(name.encode()) <= 255 for name in names)
    return short and not named and unicodedata.is_normalized("NFC", path)


def spellings(fields):
    """The texts that are the JSON of these fields: on one line, or indented with a line feed at the end."""
    layouts = [({"separators": each}, end) for each in ((",", ":"), (", ", ": ")) for end in ("", "\n")]
    for (layout, end), is_ascii in [(each, a) for each in [*layouts, ({"indent": 2}, "\n")] for a in (0, 1)]:
        text = json.dumps(fields, ensure_ascii=is_ascii, **layout) + end
        for escaped in ("(?!)", "\x7f", "[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"):
            yield re.sub(escaped, lambda found: f"\\u{ord(found[0]):04x}", text)


def is_entry(key, value):
    if key[:2] in ("d/", "c/"):
        return is_path(key[2:]) and len(value) == 32
    return len(value) <= 4096 and unicodedata.is_normalized("NFC", key)


def ledger_path(root, key, nodes):
    """The value at a key, None if absent; each node is [level, rows], its keys folded."""
    expected, low, parent, chars = root, "", None, 0
    for depth, (level, rows) in enumerate(nodes):
        unpack(pack([level, *rows]), "a ledger node", "i(isoi)+" if level else "i(is[beo])*")
        keys, flat, before, width = [], [], "", 4 if level else 3
        for i in range(0, len(rows), width):
            shared, rest, chars = rows[i], rows[i + 1], chars + rows[i] + len(rows[i + 1])
            require(shared <= len(before) and before[shared : shared + 1] < rest[:1], "a key is misfolded")
            before = before[:shared] + rest
            keys.append(before)
            flat += [before, *rows[i + 2 : i + width]]
            fits = len(before) <= 4160 and (rows[i + 3] if level else is_entry(before, rows[i + 2]))
            require(fits and chars <= 4 << 20, "a ledger entry is impossible")
        ends = [derive("ledger boundary", each.encode(), size=8) for each in keys[:-1]]
        zeros = [f"{int.from_bytes(each, 'little') | 1 << 45:b}".rpartition("1")[2] for each in ends]
        require(level < 16 and all(len(each) // 3 == level for each in zeros), "a ledger node ends elsewhere")
        require(derive("object node", pack([level, flat])) == expected, "a node is not what its parent names")
        fits = (level, before, sum(flat[2::3]) if level else len(keys)) == parent and keys[0] > low
        require(fits or not parent, "a ledger node does not fit")
        at = next((i for i, each in enumerate(keys) if each >= key), None)
        if level == 0 or at is None:
            require(depth == len(nodes) - 1, "the ledger path is too long")
            return flat[2 * at + 1] if level == 0 and at is not None and keys[at] == key else None
        low = keys[at - 1] if at else low
        parent, expected = (level - 1, keys[at], flat[3 * at + 2]), flat[3 * at + 1]
    raise Refused("the ledger path is too short")


def log_of(commit_oid, data):
    """(size, root) of a commit's log with the commit itself as the last leaf, and its ledger root."""
    require(derive("object commit", data) == commit_oid, "a commit has another oid than the proof says")
    schema, ledger, parents, author, committer, _, policy, size, peaks, _ = unpack(data, "a commit", COMMIT)
    for rows, shape in (author, WHO), (committer, WHO), (parents + peaks, "o*"), ([*policy.values()], "s*"):
        unpack(pack(rows), "a commit", shape)
    require((schema, size.bit_count(), size > 0) == (1, len(peaks), parents != []), "a commit's log is wrong")
    root = reduce(lambda right, peak: derive("merkle node", peak, right), reversed(peaks), commit_oid)
    return size + 1, root, ledger


def both_roots(old_size, size, path, known, end=0):
    """(old root, new root) that a path leads to (RFC 9162 section 2.1.4); with an end of 1 from a leaf (2.1.3)."""
    require(0 < old_size <= size, "there is no such position")
    if size == (end or old_size):
        require(len(path) == (known is None), "the path has another length")
        return (known or path[0],) * 2
    split = 1 << (size - 1).bit_length() - 1
    if old_size <= split:
        old, new = both_roots(old_size, split, path[:-1], known, end)
        return old, derive("merkle node", new, path[-1])
    roots = both_roots(old_size - split, size - split, path[:-1], known if end else None, end)
    return tuple(derive("merkle node", path[-1], each) for each in roots)


def check(row):
    """(the readable fields of a proof, and its commits, ledger roots, passage and file hash)."""
    require(row[:2] == ["arbor-proof", 1], "not an arbor proof of format 1")
    require(derive("proof check", pack(row[:-1]), size=16) == row[-1], "the proof was changed")
    unpack(pack(path := row[-2 if row[2] == "consistency" else -3]), "the path", "o*")
    if row[2] == "consistency":
        _, _, kind, old, old_data, new, new_data, _, _ = row
        (old_size, old_root, old_ledger), (size, root, ledger) = log_of(old, old_data), log_of(new, new_data)
        require(both_roots(old_size, size, path, old_root) == (old_root, root), "history was rewritten")
        sides = (("old", old, old_size, old_root), ("new", new, size, root))
        logs = {n: {"commit": c.hex(), "log_size": s, "log_root": r.hex()} for n, c, s, r in sides}
        return {"kind": kind, **logs}, [new, old], [ledger, old_ledger], None, None
    _, _, kind, commit_oid, commit, key, nodes, document, index, _, passage, _ = row
    require(kind in ("passage", "document", "absence") and is_path(key[2:]), "nothing is proven of this")
    value = ledger_path(root := log_of(commit_oid, commit)[2], key, nodes)
    readable = {"kind": kind, "room": {"d/": "document", "c/": "core"}[key[:2]], "path": key[2:]}
    readable |= {"commit": commit_oid.hex(), "ledger_root": root.hex()}
    require((value is None) == (document == b"") == (kind == "absence"), "the ledger says otherwise")
    require(kind == "passage" or (index, path, passage) == (0, [], b""), "there is a passage too many")
    if kind != "absence":
        require(derive("object document", document) == value, "the document is not the one in the ledger")
        d = unpack(document, "the document", DOCUMENT)
        require((d[0], d[1], d[13] > 0) == (1, "core" if d[17] else "surface", d[14] != b""), "no document")
        require(re.fullmatch(f"{NAME}/{NAME} ({CODES})?", f"{d[2]} {d[5]}"), "no document can be read so")
        readable["document"] = {"oid": value.hex(), "title": d[3], "media_type": d[2], "source_uri": d[4]}
        readable["document"] |= {"file_hash": d[7].hex(), "text_root": d[12].hex(), "passages": d[11]}
    if kind == "passage":
        leaf, text = derive("object chunk", passage), passage.decode(errors="ignore")
        readable["passage"] = {"index": index, "leaf": leaf.hex()}
        readable["passage"] |= {"text": text} if text.encode() == passage else {}
        require(both_roots(index + 1, d[11], path, leaf, 1)[1] == d[12], "the passage is not in the document")
    return readable, [commit_oid], [root], passage if kind == "passage" else None, document and d[7]


def verify(data, root=None, commit=None, text=None):
    """What the proof in `data` says; raises Refused when it does not hold."""
    try:
        packed = base64.b64decode(json.loads(data.decode())["proof"]) if data[:1] == b"{" else data
        said, commits, roots, passage, file_hash = check(unpack(packed, "the proof", PROOFS))
        shown = {"schema": "arbor.proof/1", **said, "proof": base64.b64encode(packed).decode()}
        require(packed is data or data.decode() in spellings(shown), "the JSON is not spelled as its proof")
        require(root is None or bytes.fromhex(root) in roots, "it leads to another ledger root")
        require(commit is None or bytes.fromhex(commit) in commits, "it belongs to another commit")
        require(text in (None, passage) or blake3(text).digest() == file_hash, "the text is another one")
        return said
    except (TypeError, LookupError, AttributeError, RecursionError) as error:
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
    named = said.get("new", said)["commit"]
    print("commit", named, "" if given.commit or given.root else "vouched for by nothing")
