"""The pages of `docs/format` say what the code does: every constant and example in them is checked."""

from __future__ import annotations

import re
from pathlib import Path

from arbor.objects import codec, ledger, links, merkle, model
from arbor.objects.ids import Kind, object_id
from arbor.objects.paths import MAX_NAME_BYTES, MAX_PATH_BYTES
from arbor.repo import repository, stage
from arbor.store import files, odb, pack_format, pack_index, refs

PAGES = Path(__file__).resolve().parents[2] / "docs/format"
OBJECTS, LEDGER, PACKS, REFS = (
    " ".join((PAGES / f"{name}.md").read_text("utf-8").split())
    for name in ("objects", "ledger", "packs", "refs")
)


def test_objects() -> None:
    for kind in Kind:
        assert f"| {int(kind)} | {kind.label} |" in OBJECTS
        assert f"`arbor 1 object {kind.label}`" in OBJECTS
    assert codec.MAX_OBJECT_BYTES == 64 * 1024 * 1024
    assert "at most 64 MiB" in OBJECTS
    assert f"nested at most {codec.MAX_DEPTH} levels" in OBJECTS
    assert f"at most {codec.MAX_ITEMS:,} items" in OBJECTS
    assert ", ".join(f"{n} {name}" for n, name in enumerate(links.KINDS)) in OBJECTS
    assert '"arbor 1 merkle node"' in OBJECTS
    assert f"{merkle.EMPTY_ROOT.hex()[:8]}…{merkle.EMPTY_ROOT.hex()[-6:]}" in OBJECTS
    empty = model.encode_manifest(model.Manifest((), (), []))
    assert f"{empty.hex()} {object_id(Kind.MANIFEST, empty).hex()}" in OBJECTS
    assert object_id(Kind.CHUNK, b"").hex() in OBJECTS


def test_ledger() -> None:
    assert '"arbor 1 ledger boundary"' in LEDGER
    assert f"divided by {ledger.BITS_PER_LEVEL} and rounded down; at most {ledger.MAX_LEVEL}" in LEDGER
    assert f"at most {ledger.MAX_KEY_CHARS:,} characters" in LEDGER
    assert f"at most {ledger.MAX_VALUE_BYTES:,} bytes" in LEDGER
    assert f"at most {MAX_PATH_BYTES:,} bytes long with parts of at most {MAX_NAME_BYTES}" in LEDGER
    assert ledger.encode_node(ledger.EMPTY_NODE) == bytes([0x92, 0, 0x90])


def test_packs() -> None:
    for magic in (pack_format.MAGIC, pack_format.FRAME_MAGIC, pack_format.TRAILER_MAGIC, pack_index.MAGIC):
        assert f'"{magic.decode()}"' in PACKS
    assert f"at most {pack_format.MAX_FRAME_OBJECTS:,}" in PACKS
    assert pack_format.MAX_FRAME_BYTES == 65 * 1024 * 1024
    assert f"about {pack_format.FRAME_TARGET_BYTES // 1024} KiB" in PACKS
    assert (pack_format.HEADER_BYTES, pack_format.TRAILER_BYTES, pack_index._ROW_BYTES) == (32, 44, 26)
    assert f"first {pack_index.KEY_BYTES} bytes of the oid" in PACKS
    assert files.TEMPORARY_PREFIX in PACKS
    assert odb.MERGE_ABOVE == 16


def test_refs() -> None:
    assert f"at most {refs._MAX_NAME_BYTES} bytes" in REFS
    assert files.TEMPORARY_PREFIX in REFS
    assert f"it is {files.CHECK_BYTES} bytes" in REFS
    assert f"[{stage._STAGE_VERSION}, base, changes" in REFS
    assert f"the line `{repository.FORMAT.strip()}`" in REFS


def test_the_examples_are_there() -> None:
    data = PAGES.parents[1] / "tests/data"
    for page in (OBJECTS, LEDGER, PACKS, REFS):
        for name in re.findall(r"`(?:tests/data/)?(sample\.[a-z]+|format\.json)`", page):
            assert (data / name).is_file()
