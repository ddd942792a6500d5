"""No input makes reading fail, hang or lose a byte."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arbor.text.analyzer import index_text, match_units, phrase_unit, terms
from arbor.text.encodings import decode_passage
from arbor.text.extraction import Extraction
from arbor.text.reading import extract
from arbor.text.unseen import blank_unseen
from tests.text.strategies import any_texts

NAMES = ["a.md", "a.txt", "a.rst", "a.py", "a.html", "a.pdf", "a.eml", "a.docx", "a.json", "a", ""]
BEGINNINGS = [b"", b"---\n", b"+++\n", b"%PDF-1.4\n", b"PK\x03\x04", b"<!doctype html>", b"\xff\xfe",
              b"\xfe\xff", b"\xef\xbb\xbf",
              b"From: a\nTo: b\nSubject: c\n\n", b"\x1b$B", b"\0"]  # fmt: skip


def check(data: bytes, extraction: Extraction) -> None:
    kept = extraction.original or [passage.data for passage in extraction.passages]
    assert b"".join(kept) == data
    for passage in extraction.passages:
        assert passage.data
        assert all(type(heading) is str for heading in passage.headings)
        decode_passage(passage.data, extraction.encoding).encode()
    for link in extraction.links:
        assert link.line >= 1
        assert link.target or link.anchor
        f"{link.target}{link.anchor}{link.text}".encode()
    extraction.title.encode()
    "".join(extraction.warnings).encode()


@pytest.mark.parametrize("name", NAMES)
@given(beginning=st.sampled_from(BEGINNINGS), data=st.binary(max_size=300))
@example(beginning=b"", data=b"\0")
@example(beginning=b"", data=b"\r")
def test_any_bytes_under_any_name(name: str, beginning: bytes, data: bytes) -> None:
    check(beginning + data, extract(beginning + data, name))


@pytest.mark.parametrize("name", NAMES)
@given(text=any_texts, encoding=st.sampled_from(["utf-8", "utf-16", "gb18030", "cp932", "latin_1"]))
def test_any_text_under_any_name(name: str, text: str, encoding: str) -> None:
    data = text.encode(encoding, "replace")
    check(data, extract(data, name))


@given(text=any_texts)
def test_the_analyzer_takes_any_text(text: str) -> None:
    index_text(text).encode("utf-8", "surrogatepass")
    match_units(text)
    phrase_unit(text)
    terms(text)


def test_a_reader_that_fails_leaves_the_file_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, extractor: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr("arbor.text.reading.get_reader", fail)
    extraction = extract(b"<html><p>words", "a.html")
    check(b"<html><p>words", extraction)
    assert (extraction.media_type, extraction.title, extraction.encoding) == ("text/html", "", "")
    assert "No module named" in extraction.warnings[0]


def test_damaged_archives_and_pages() -> None:
    randomness = random.Random(7)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "word/document.xml", "<w:document xmlns:w='w'><w:p><w:t>words</w:t></w:p></w:document>"
        )
        archive.writestr("docProps/core.xml", "<c><title>T</title></c>")
    samples = [
        (packed.getvalue(), "a.docx"),
        (b"<html><p>words <a href=x>y</a><table><tr><td>z" * 9, "a.html"),
    ]
    for sample, name in samples:
        for _ in range(150):
            data = bytearray(sample)
            for _ in range(randomness.randint(1, 8)):
                data[randomness.randrange(len(data))] = randomness.randrange(256)
            check(bytes(data), extract(bytes(data), name))


PATTERNS = ["[", "`", "![", "<", "#", "-", "*", "[[", "](", "[](", "[a](b \"", "<!--", "\\`", "\n# ", "\n- ",
            "\n```\n", "\n---\n",
            "\n===\n", "[[a|", "[a]: b\n", "[a][", "http://(", "href=", "(", "`a``b```c", "\n\n", "\r", " ",
            "|", "a ", "。",
            "`x`<x>`__", ":a: b\n", "<p>", "<td>", "&amp;", "C++ ", "é", "e\u0301", "\n<!--", "\n1. ```",
            "a\n=\n", "x"]  # fmt: skip

PROGRAM = """
import sys
from arbor.text.analyzer import index_text, match_units, phrase_unit, terms
from arbor.text.reading import extract
from tests.text.test_hostile import PATTERNS, check
for pattern in PATTERNS[int(sys.argv[1])::2]:
    text = pattern * (200_000 // len(pattern))
    data = text.encode()
    for name in ("a.md", "a.rst", "a.py", "a.html", "a.eml"):
        check(data, extract(data, name))
    check(b"---\\na: " + data[:60_000] + b"\\n---\\nx", extract(b"---\\na: " + data[:60_000] + b"\\n---\\nx", "a.md"))
    for work in (index_text, match_units, phrase_unit, terms):
        work(text)
print("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize("part", ["0", "1"])
def test_time_grows_with_the_length_alone(part: str) -> None:
    # So much takes a fraction of a second; where time grows with the square, many minutes.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, part],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]


@pytest.mark.parametrize(
    ("name", "unit"), [("a.md", b"[a] `b` <c> "), ("a.txt", b"x"), ("a.md", b"\xe9\x95\xbf")]
)
def test_one_endless_line(name: str, unit: bytes) -> None:
    data = unit * (10_000_000 // len(unit))
    extraction = extract(data, name)
    check(data, extraction)
    assert max(len(passage.data) for passage in extraction.passages) <= 4096


@pytest.mark.parametrize(
    "line", [b"`" + b"%% " * 300_000, b"%% `" * 200_000, b"%%a" * 200_000 + b"`%%" * 200_000]
)
def test_a_line_full_of_comment_signs_is_read_in_one_pass(line: bytes) -> None:
    text = b"\n" + line + b"[x](y)\n"
    blanked = blank_unseen(text)  # a pass for each sign would take a minute
    assert len(blanked) == len(text)
    assert blanked.count(b"\n") == text.count(b"\n")
