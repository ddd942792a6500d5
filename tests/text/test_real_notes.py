"""Real notes: every byte is kept, lines and links fit, and the usual structure is found."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from arbor.text.analyzer import index_text, terms
from arbor.text.encodings import decode_passage
from arbor.text.extraction import DEFAULT_POLICY
from arbor.text.reading import extract


def iter_vault(archive: Path, step: int) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as packed:
        for number, member in enumerate(packed):
            if member.isfile() and number % step == 0:
                file = packed.extractfile(member)
                assert file is not None
                yield member.name, file.read()


def iter_notes(shared_data: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted((shared_data / "kb").rglob("*.md")):
        yield path.name, path.read_bytes()
    yield from iter_vault(shared_data / "kb" / "obsidian-hub.tar.gz", 7)


def test_notes_are_kept_byte_for_byte(shared_data: Path) -> None:
    count = with_title = with_headings = 0
    for name, data in iter_notes(shared_data):
        extraction = extract(data, name)
        lines = data.count(b"\n") + 1
        assert b"".join(passage.data for passage in extraction.passages) == data
        assert sum(passage.newlines for passage in extraction.passages) == lines - 1
        assert all(len(passage.data) <= DEFAULT_POLICY.cap_bytes for passage in extraction.passages)
        assert all(1 <= link.line <= lines for link in extraction.links)
        assert extraction.encoding == "utf-8"
        count += 1
        with_title += bool(extraction.title)
        with_headings += bool(extraction.passages and extraction.passages[-1].headings)
    assert count > 1000
    assert with_title > count * 0.95
    assert with_headings > count * 0.95


def test_links_stand_on_their_lines(shared_data: Path) -> None:
    checked = 0
    for name, data in iter_vault(shared_data / "kb" / "obsidian-hub.tar.gz", 50):
        if name.endswith(".md"):
            lines = data.decode().split("\n")
            for link in extract(data, name).links:
                if link.kind in ("wikilink", "url") and "\\" not in link.target:
                    assert (link.target or link.anchor) in lines[link.line - 1]
                    checked += 1
    assert checked > 300


def test_few_notes_of_the_vault_have_front_matter_that_is_not_yaml(shared_data: Path) -> None:
    notes = [extract(data, name) for name, data in iter_vault(shared_data / "kb" / "obsidian-hub.tar.gz", 10)]
    with_fields = sum(bool(note.front_matter) for note in notes)
    with_warnings = sum(bool(note.warnings) for note in notes)
    assert with_fields > len(notes) * 0.9
    assert with_warnings < len(notes) * 0.05


def test_chinese_pages_have_chinese_terms(shared_data: Path) -> None:
    path = next((shared_data / "kb" / "vue-zh").rglob("computed.md"), None)
    if path is None:
        pytest.skip("the page on computed properties is not in the collection")
    extraction = extract(path.read_bytes(), path.name)
    text = "".join(decode_passage(passage.data, "utf-8") for passage in extraction.passages)
    assert "计算 算属 属性 性" in index_text(text)
    assert {"计算", "属性", "comput"} <= set(terms(text))
