"""What kind a file is: by its name, by its content, and which of the two is believed."""

from __future__ import annotations

import io
import zipfile

import pytest

from arbor.text.media import find_format
from arbor.text.readers import BINARY, FORMATS, FORMATS_BY_SUFFIX, get_reader
from arbor.text.reading import extract, open_stream

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\x00" * 30


def zipped(*names: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), "x")  # without the time of day, which would name the test
    return packed.getvalue()


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [
        (b"# T\n", "a.md", "text/markdown"),
        (b"# T\n", "A.MD", "text/markdown"),
        (b"# T\n", "folder.md/note.markdown", "text/markdown"),
        (b"words", "folder.md/note", "text/plain"),
        (b"words", "notes.txt", "text/plain"),
        (b"words", "README", "text/plain"),
        (b"words", "", "text/plain"),
        (b"T\n=\n", "a.rst", "text/x-rst"),
        (b"x = 1\n", "a.py", "text/x-python"),
        (b"fn main() {}\n", "a.rs", "text/x-rust"),
        (b"#!/usr/bin/env python3\nx = 1\n", "tool", "text/x-python"),
        (b"#!/bin/sh\nls\n", "tool", "text/x-shellscript"),
        (b"{}", "a.json", "application/json"),
        (b"a: 1\n", "a.yaml", "application/yaml"),
        (b"a,b\n", "a.csv", "text/csv"),
        (b"<p>x", "a.html", "text/html"),
        (b"<!DOCTYPE html><p>x", "page", "text/html"),
        (b"\n<!-- c --><html><p>x", "page", "text/html"),
        (b"%PDF-1.7\n", "a.pdf", "application/pdf"),
        (b"%PDF-1.7\n", "renamed.txt", "application/pdf"),
        (b"words, no PDF", "a.pdf", "text/plain"),
        (b"From: a@b.c\nSubject: x\n\nhi", "a.eml", "message/rfc822"),
        (b"From: a@b.c\nTo: d@e.f\nSubject: x\nDate: today\n\nhi", "mail", "message/rfc822"),
        (b"Title: x\nAuthor: y\nNote: z\n\nhi", "note", "text/plain"),
        (PNG, "a.png", "application/octet-stream"),
        (PNG, "a.md", "application/octet-stream"),
        (bytes(range(256)) * 8, "data", "application/octet-stream"),
        (zipped("x"), "a.zip", "application/octet-stream"),
        (zipped("word/document.xml"), "unnamed",
         "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (b"", "empty.md", "text/markdown"),
        (b"", "empty", "text/plain"),
    ],
)  # fmt: skip
def test_media_types(data: bytes, name: str, media_type: str) -> None:
    assert extract(data, name).media_type == media_type


def test_binary_files_are_kept_in_pieces() -> None:
    data = PNG * 5000
    extraction = extract(data, "a.png")
    assert b"".join(extraction.original) == data
    assert len(extraction.original) > 1
    assert (list(extraction.passages), extraction.encoding, extraction.title) == ([], "", "")


@pytest.mark.parametrize("data", [PNG, b"# Note\n\0\n" * 9, bytes(range(256))])
def test_a_name_that_promises_text_which_is_not_there_is_told(data: bytes) -> None:
    assert extract(data, "a.md").warnings == open_stream(io.BytesIO(data), "a.md").extraction.warnings
    assert "no search" in extract(data, "a.md").warnings[0]
    assert extract(data, "a").warnings == extract(data, "a.png").warnings == ()


def test_every_format_has_a_reader_and_suffixes_of_its_own() -> None:
    for each in FORMATS:
        assert callable(get_reader(each.reader))
        assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in each.suffixes)
    assert sum(len(each.suffixes) for each in FORMATS) == len(FORMATS_BY_SUFFIX)
    assert len({each.media_type for each in FORMATS}) == len(FORMATS)
    assert find_format(PNG, "x") is BINARY
