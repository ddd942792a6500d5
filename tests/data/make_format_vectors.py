"""Made the frozen vectors in this folder, once. A format that changes gets new files; these stay as they are.

    python tests/data/make_format_vectors.py

It refuses to write over a file that is there.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from blake3 import blake3

from arbor.objects import codec, ledger, merkle
from arbor.objects.ids import Kind, object_id
from arbor.objects.model import (
    ChunkRef,
    Commit,
    CoreSource,
    Derivation,
    Document,
    Manifest,
    Signature,
    Tag,
    encode_commit,
    encode_derivation,
    encode_document,
    encode_manifest,
    encode_tag,
)
from arbor.repo.stage import Stage, write_stage
from arbor.store.pack_writer import PackWriter
from arbor.store.refs import Refs

HERE = Path(__file__).resolve().parent


def oid(name: str) -> bytes:
    """An oid that stands for an object which is not here."""
    return blake3(name.encode()).digest()


ADA = Signature("Ada Lovelace", "ada@example.org", 1_700_000_000, 60)
GRACE = Signature("Grace Hopper", "grace@example.org", 1_700_003_600, -300)
CHUNKS = [b"# Title\n\nFirst passage.\n", "## 第二\n\nZweite, mit Umläuten.\n".encode(), b""]
CHUNK_OIDS = [object_id(Kind.CHUNK, chunk) for chunk in CHUNKS]
MANIFEST = Manifest(
    (
        ChunkRef(CHUNK_OIDS[0], len(CHUNKS[0]), 3, ("Title",)),
        ChunkRef(CHUNK_OIDS[1], len(CHUNKS[1]), 3, ("Title", "第二")),
        ChunkRef(CHUNK_OIDS[2], 0, 0, ("Title", "Other")),
    ),
    ((oid("original"), 70_000),),
    [0, 3, 9, 5, 4, 1, 6, 7, 20, 2, 3, 0, 0, 0, 8, 2, "contradicts", "target.md", "anchor", "label", 0],
)
OLD_MANIFEST = codec.encode([
    1,
    [
        [CHUNK_OIDS[0], len(CHUNKS[0]), 3, 0, ["Title"]],
        [CHUNK_OIDS[1], len(CHUNKS[1]), 3, 1, ["第二"]],
        [CHUNK_OIDS[2], 0, 0, 1, ["Other"]],
    ],
    [[oid("original"), 70_000]],
    [[0, "", 3, [12, 5], "", "label"], ["citation", "embeds", -1, "target.md", "anchor", [0, 4]]],
])  # fmt: skip
"""A manifest of schema 1, which no version that was given out has written; it is refused by name."""
DOCUMENT = Document(
    kind="surface",
    media_type="text/markdown",
    title="Title",
    source_uri="https://example.org/t",
    encoding="utf-8",
    size=70_000,
    file_hash=oid("file"),
    extractor="markdown/1",
    chunker="structural/1",
    canonicalisation="bytes/1",
    passage_count=3,
    text_root=merkle.tree_root(CHUNK_OIDS),
    original_count=1,
    original_root=oid("original"),
    manifest=object_id(Kind.MANIFEST, OLD_MANIFEST),
    front_matter={"draft": False, "list": ["a", 1, None], "map": {"k": "v"}, "number": -7},
)
DERIVATION = Derivation(
    "lead",
    2,
    {"sentences": 3},
    oid("ledger"),
    (CoreSource("a/b.md", oid("document"), 1, 3, CHUNK_OIDS[1], (oid("sibling"),)),),
)
CORE = Document(
    kind="core",
    media_type="text/plain",
    title="",
    source_uri="",
    encoding="utf-8",
    size=0,
    file_hash=oid("empty"),
    extractor="plain/1",
    chunker="structural/1",
    canonicalisation="bytes/1",
    passage_count=0,
    text_root=merkle.EMPTY_ROOT,
    original_count=0,
    original_root=b"",
    manifest=oid("manifest"),
    derivation=object_id(Kind.DERIVATION, encode_derivation(DERIVATION)),
)
COMMIT = Commit(
    oid("ledger"),
    (oid("parent"), oid("other parent")),
    ADA,
    GRACE,
    "Subject\n\nBody, 中文.\n",
    {"chunker": "structural/1", "policy": ""},
    6,
    (oid("peak of four"), oid("peak of two")),
    "-----BEGIN SSH SIGNATURE-----\n…\n",
)
FIRST = Commit(ledger.EMPTY_LEDGER, (), ADA, ADA, "first", {}, 0, ())
TAG = Tag(oid("commit"), "v1.0", ADA, "release\n", "")
LEDGER = {f"d/notes/{number:03d}.md": oid(f"note {number}") for number in range(100)} | {
    "c/summary": oid("core"),
    "e/中文": b"edge",
    "a/k": b"",
}


def objects() -> dict[str, tuple[Kind, bytes]]:
    """One or more of every kind, by name."""
    return {
        "chunk": (Kind.CHUNK, CHUNKS[1]),
        "empty chunk": (Kind.CHUNK, b""),
        "manifest": (Kind.MANIFEST, OLD_MANIFEST),
        "empty manifest": (Kind.MANIFEST, codec.encode([1, [], [], []])),
        "document": (Kind.DOCUMENT, encode_document(DOCUMENT)),
        "core": (Kind.DOCUMENT, encode_document(CORE)),
        "commit": (Kind.COMMIT, encode_commit(COMMIT)),
        "first commit": (Kind.COMMIT, encode_commit(FIRST)),
        "tag": (Kind.TAG, encode_tag(TAG)),
        "derivation": (Kind.DERIVATION, encode_derivation(DERIVATION)),
        "empty node": (Kind.NODE, ledger.encode_node(ledger.EMPTY_NODE)),
    }


def manifests() -> dict[str, tuple[Kind, bytes]]:
    """Manifests of schema 2, by name."""
    return {
        "manifest": (Kind.MANIFEST, encode_manifest(MANIFEST)),
        "empty manifest": (Kind.MANIFEST, encode_manifest(Manifest((), ()))),
    }


def frozen(found: dict[str, tuple[Kind, bytes]]) -> dict[str, Any]:
    """Kind, oid and bytes of objects, as they are kept."""
    return {
        name: {"kind": int(kind), "oid": object_id(kind, data).hex(), "bytes": data.hex()}
        for name, (kind, data) in found.items()
    }


def build_ledger() -> tuple[bytes, dict[str, str]]:
    nodes: dict[str, str] = {}
    root = ledger.build(sorted(LEDGER.items()), lambda name, data: nodes.__setitem__(name.hex(), data.hex()))
    return root, nodes


def main() -> None:
    """Write every file."""
    root, nodes = build_ledger()
    leaves = [oid(f"leaf {number}") for number in range(11)]
    vectors: dict[str, Any] = {
        "objects": frozen(objects()),
        "merkle": {
            "leaves": [leaf.hex() for leaf in leaves],
            "roots": [merkle.tree_root(leaves[:size]).hex() for size in range(12)],
        },
        "ledger": {
            "entries": {key: value.hex() for key, value in sorted(LEDGER.items())},
            "root": root.hex(),
            "nodes": nodes,
        },
        "boundaries": {f"key {number}": ledger.boundary_level(f"key {number}") for number in range(64)},
    }
    write("manifests.json", dump(frozen(manifests())))
    write("format.json", dump(vectors))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = PackWriter(folder)
        for kind, data in objects().values():
            writer.add(kind, data)
        pack = writer.seal()
        write("sample.pack", (folder / f"{pack}.pack").read_bytes())
        write("sample.idx", (folder / f"{pack}.idx").read_bytes())
        (folder / "refs/heads").mkdir(parents=True)
        refs = Refs(folder)
        refs.set_head("refs/heads/main")
        refs.move("refs/heads/main", None, oid("commit"), ADA, "commit (initial): first")
        refs.move("refs/heads/main", oid("commit"), oid("next"), GRACE, "commit: second")
        write_stage(
            folder, Stage(root, {"d/a.md": oid("a"), "d/b.md": None}, (oid("parent"),), "Merge x", ("a.md",))
        )
        for source, target in (
            ("HEAD", "sample.head"),
            ("refs/heads/main", "sample.ref"),
            ("logs/HEAD", "sample.reflog"),
            ("stage", "sample.stage"),
        ):
            write(target, (folder / source).read_bytes())
        shutil.rmtree(folder / "refs")


def dump(value: Any) -> bytes:
    """JSON that reads well in a diff."""
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def write(name: str, data: bytes) -> None:
    path = HERE / name
    if path.exists():
        raise SystemExit(f"{path} is there already: frozen vectors are not made again")
    path.write_bytes(data)


if __name__ == "__main__":
    main()
