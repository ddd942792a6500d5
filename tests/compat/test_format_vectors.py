"""The bytes of version 1, as they were frozen: what was written once is read for ever, and written the same way."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from arbor.errors import IntegrityError
from arbor.objects import ledger, merkle, model
from arbor.objects.ids import Kind, object_id
from arbor.objects.passages import chunk_oids, decode_parts, decode_passages
from arbor.repo.stage import Stage, read_stage, write_stage
from arbor.store.odb import ObjectStore
from arbor.store.packs import Pack
from arbor.store.refs import Refs
from tests.data import make_format_vectors as given

DATA = Path(__file__).resolve().parents[1] / "data"
VECTORS: dict[str, Any] = json.loads((DATA / "format.json").read_text("utf-8"))
MANIFESTS: dict[str, Any] = json.loads((DATA / "manifests.json").read_text("utf-8"))
OLD_MANIFESTS = {name: kept for name, kept in VECTORS["objects"].items() if kept["kind"] == Kind.MANIFEST}
OBJECTS = {name: kept for name, kept in VECTORS["objects"].items() if name not in OLD_MANIFESTS} | MANIFESTS
PACKED = VECTORS["objects"]
GIVEN = given.objects() | given.manifests()
DECODERS = {
    Kind.MANIFEST: (model.decode_manifest, model.encode_manifest),
    Kind.DOCUMENT: (model.decode_document, model.encode_document),
    Kind.COMMIT: (model.decode_commit, model.encode_commit),
    Kind.TAG: (model.decode_tag, model.encode_tag),
    Kind.DERIVATION: (model.decode_derivation, model.encode_derivation),
    Kind.NODE: (ledger.decode_node, ledger.encode_node),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_has_its_frozen_bytes_and_oid(name: str) -> None:
    frozen = OBJECTS[name]
    kind, data = GIVEN[name]
    assert (int(kind), data.hex()) == (frozen["kind"], frozen["bytes"])
    assert object_id(kind, data).hex() == frozen["oid"]


@pytest.mark.parametrize("name", [name for name in OBJECTS if OBJECTS[name]["kind"] != Kind.CHUNK])
def test_frozen_bytes_are_read_and_written_as_they_are(name: str) -> None:
    decode, encode = DECODERS[Kind(OBJECTS[name]["kind"])]
    data = bytes.fromhex(OBJECTS[name]["bytes"])
    assert encode(decode(data)) == data  # type: ignore[operator, arg-type]


@pytest.mark.parametrize("name", OLD_MANIFESTS)
def test_a_manifest_of_the_first_schema_is_refused_by_name(name: str) -> None:
    for decode in (model.decode_manifest, decode_passages, decode_parts, chunk_oids):
        with pytest.raises(IntegrityError, match="schema"):
            decode(bytes.fromhex(OLD_MANIFESTS[name]["bytes"]))


def test_every_kind_of_object_is_frozen() -> None:
    assert {frozen["kind"] for frozen in OBJECTS.values()} == set(Kind)


def test_what_the_frozen_bytes_mean() -> None:
    assert model.decode_manifest(bytes.fromhex(OBJECTS["manifest"]["bytes"])) == given.MANIFEST
    assert model.decode_document(bytes.fromhex(OBJECTS["document"]["bytes"])) == given.DOCUMENT
    assert model.decode_commit(bytes.fromhex(OBJECTS["commit"]["bytes"])) == given.COMMIT
    assert model.decode_tag(bytes.fromhex(OBJECTS["tag"]["bytes"])) == given.TAG
    assert model.decode_derivation(bytes.fromhex(OBJECTS["derivation"]["bytes"])) == given.DERIVATION


def test_merkle_roots() -> None:
    leaves = [bytes.fromhex(leaf) for leaf in VECTORS["merkle"]["leaves"]]
    assert [merkle.tree_root(leaves[:size]).hex() for size in range(len(leaves) + 1)] == VECTORS["merkle"][
        "roots"
    ]


def test_a_ledger() -> None:
    entries = {key: bytes.fromhex(value) for key, value in VECTORS["ledger"]["entries"].items()}
    nodes: dict[str, str] = {}
    root = ledger.build(sorted(entries.items()), lambda oid, data: nodes.__setitem__(oid.hex(), data.hex()))
    assert root.hex() == VECTORS["ledger"]["root"]
    assert nodes == VECTORS["ledger"]["nodes"]


def test_where_nodes_end() -> None:
    assert {key: ledger.boundary_level(key) for key in VECTORS["boundaries"]} == VECTORS["boundaries"]


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """The frozen pack under its name, without its index."""
    data = (DATA / "sample.pack").read_bytes()
    path = tmp_path / f"{data[-32:].hex()}.pack"
    path.write_bytes(data)
    return path


def test_a_pack_is_read_and_its_index_made_again(pack: Path) -> None:
    store = ObjectStore(pack.parent)
    for frozen in PACKED.values():
        assert store.get(bytes.fromhex(frozen["oid"])) == (frozen["kind"], bytes.fromhex(frozen["bytes"]))
    assert Pack(pack).check_hash()
    assert pack.with_suffix(".idx").read_bytes() == (DATA / "sample.idx").read_bytes()


def test_an_index_is_read(pack: Path) -> None:
    shutil.copy(DATA / "sample.idx", pack.with_suffix(".idx"))
    found = Pack(pack)
    assert not found.scanned
    assert found.index.check()
    assert all(found.index.find(bytes.fromhex(frozen["oid"])) for frozen in PACKED.values())


def test_refs_and_reflog(tmp_path: Path) -> None:
    (tmp_path / "refs/heads").mkdir(parents=True)
    (tmp_path / "logs").mkdir()
    for name, place in (
        ("sample.head", "HEAD"),
        ("sample.ref", "refs/heads/main"),
        ("sample.reflog", "logs/HEAD"),
    ):
        shutil.copy(DATA / name, tmp_path / place)
    refs = Refs(tmp_path)
    assert refs.head() == "refs/heads/main"
    assert refs.head_oid() == given.oid("next")
    assert [(entry.old, entry.new, entry.who, entry.reason) for entry in refs.reflog("HEAD")] == [
        (given.oid("commit"), given.oid("next"), given.GRACE, "commit: second"),
        (b"", given.oid("commit"), given.ADA, "commit (initial): first"),
    ]
    assert refs.damaged_log_lines() == []


def test_refs_and_reflog_are_written_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "refs/heads").mkdir(parents=True)
    refs = Refs(tmp_path)
    refs.set_head("refs/heads/main")
    refs.move("refs/heads/main", None, given.oid("commit"), given.ADA, "commit (initial): first")
    refs.move("refs/heads/main", given.oid("commit"), given.oid("next"), given.GRACE, "commit: second")
    for name, place in (
        ("sample.head", "HEAD"),
        ("sample.ref", "refs/heads/main"),
        ("sample.reflog", "logs/HEAD"),
    ):
        assert (tmp_path / place).read_bytes() == (DATA / name).read_bytes()


def test_a_stage(tmp_path: Path) -> None:
    shutil.copy(DATA / "sample.stage", tmp_path / "stage")
    stage = read_stage(tmp_path, b"")
    assert stage == Stage(
        bytes.fromhex(VECTORS["ledger"]["root"]),
        {"d/a.md": given.oid("a"), "d/b.md": None},
        (given.oid("parent"),),
        "Merge x",
        ("a.md",),
    )
    write_stage(tmp_path, stage)
    assert (tmp_path / "stage").read_bytes() == (DATA / "sample.stage").read_bytes()


def test_vectors_are_never_written_over() -> None:
    with pytest.raises(SystemExit, match="not made again"):
        given.write("format.json", b"")
