"""The heading path at a place in a passage is the one that the whole document gives."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arbor.text.chunker import enter_heading
from arbor.text.encodings import decode_passage
from arbor.text.extraction import ChunkPolicy, Extraction
from arbor.text.outline import SharedPassage, find_heading_path, read_sections
from arbor.text.readers import get_heading_finder
from arbor.text.reading import extract

SMALL = ChunkPolicy(target_bytes=200, cap_bytes=300, min_bytes=100)

MARKDOWN = [
    "# One\n", "# Two\n", "## Sub\n", "## Other\n", "### Deep\n", "#### Deeper\n", "Under\n---\n", "Top\n===\n", "#\n",
    "\n", "\n", "words in a line\n", "words " * 30 + "\n\n", "more words\n\n" * 9, "```\n# no\n```\n", "    # code\n",
    "```\n" + "# no\n" * 70 + "```\n", "<!--\n# no\n-->\n", "---\n", "中文的段落。\n\n",
]  # fmt: skip
RST = [
    "One\n===\n\n", "Two\n===\n\n", "Sub\n---\n\n", "Other\n---\n\n", "Deep\n~~~~\n\n", "####\nTop\n####\n\n",
    "words\n\n", "words " * 30 + "\n\n", "more words\n\n" * 9,
]  # fmt: skip
SOURCE = [
    "def one():\n    pass\n\n", "def two():\n    return 1\n\n", "@wraps(f)\ndef three():\n    pass\n\n", "\n",
    "class Four:\n    def five(self): ...\n\n", "x = 1\n" * 30, "import os\n",
]  # fmt: skip


def path_in_document(
    name: str, text: str, extraction: Extraction, number: int, place: int
) -> tuple[str, ...]:
    """By the headings of the whole text: those up to a place, unless all of them are recorded already.

    A passage that begins under no heading is recorded by the name of the first one in it; up to there that name holds.
    """
    find = get_heading_finder(extraction.extractor.partition("/")[0])
    assert find is not None
    start = sum(len(each.data) for each in extraction.passages[:number])
    marks = [mark for mark in find(b"\n" + text.encode(), is_head=True) if mark.start - 1 <= start + place]
    lead = start
    before = [mark for mark in marks if mark.start - 1 < start]
    inner = marks[len(before) :]
    while inner and inner[0].start - 1 <= lead:
        lead = inner.pop(0).end + 2
    outline: list[tuple[int, str]] = []
    for mark in marks[: len(marks) - len(inner)]:
        enter_heading(outline, mark)
    is_named = bool(outline)
    for mark in inner:
        enter_heading(outline, mark)
        is_named = is_named or bool(outline)
    if not inner or not is_named:
        return tuple(extraction.passages[number].headings)
    return tuple(title for _, title in outline)


def check(name: str, text: str) -> None:
    extraction = extract(text.encode(), name, SMALL)
    texts = [decode_passage(passage.data, "utf-8") for passage in extraction.passages]
    for number, shown in enumerate(texts):
        shared = SharedPassage(
            extraction.extractor,
            shown,
            tuple(extraction.passages[number].headings),
            not number,
            lambda number=number: "".join(texts[:number]),  # type: ignore[misc]
        )
        for at in range(0, len(shown), 3):
            place = len(shown[:at].encode())
            wanted = path_in_document(name, text, extraction, number, place)
            assert find_heading_path(shared, at) == wanted, (number, at)


@given(pieces=st.lists(st.sampled_from(MARKDOWN), max_size=30))
@example(["---\n", "中文的段落。\n\n", "# One\n", "---\n", "# Two\n"])
@example(["---\n", "- a\n", "# One\n", "---\n", "# Two\n"])
@example(["# One\n", "#\n", "Under\n---\n", "#\n", "# One\n"])
def test_markdown(pieces: list[str]) -> None:
    check("a.md", "".join(pieces))
    check("a.md", "---\ntitle: T\n# a comment\n---\n" + "".join(pieces))


@given(pieces=st.lists(st.sampled_from(RST), max_size=25))
def test_rst(pieces: list[str]) -> None:
    check("a.rst", "".join(pieces))


@given(pieces=st.lists(st.sampled_from(SOURCE), max_size=25))
def test_source(pieces: list[str]) -> None:
    check("a.py", "".join(pieces))


def test_front_matter_that_fills_the_first_passage_has_no_headings() -> None:
    fields = "".join(f"# comment {number}\nkey{number}: value\n" for number in range(60))
    check("a.md", f"---\n{fields}---\n# T\n\nx\n")


def test_extracted_text_goes_by_the_headings_of_its_file() -> None:
    page = "<title>T</title><p>before</p><h1>Guide</h1><p>one</p><h2>Install</h2><p>two</p><h2>Usage</h2><p>three</p>"
    extraction = extract(page.encode(), "a.html")
    [passage] = extraction.passages
    sections = read_sections(extraction.extractor, page.encode())
    text = passage.data.decode()

    def path(word: str) -> tuple[str, ...]:
        return sections.find_path(0, text, text.index(word), passage.headings)

    assert path("before") == passage.headings == ("Guide",)
    assert (path("one"), path("Install"), path("two"), path("three")) == (
        ("Guide",),
        ("Guide", "Install"),
        ("Guide", "Install"),
        ("Guide", "Usage"),
    )
    assert sections.find_path(1, text, 40, passage.headings) == passage.headings


@pytest.mark.parametrize("extractor", ["plain/1", "pdf/1 pypdf/5", "binary/1", "email/1", "", "no such/1"])
def test_what_shows_no_headings_keeps_the_recorded_path(extractor: str) -> None:
    passage = SharedPassage(extractor, "# A\n\ntext\n", ("Kept",), True, lambda: None)
    assert find_heading_path(passage, 8) == ("Kept",)


def test_without_the_text_before_the_recorded_path_stands() -> None:
    passage = SharedPassage("markdown/3", "words\n\n## Sub\n\ntext\n", ("A", "B"), False, lambda: None)
    assert find_heading_path(passage, 18) == ("A", "B")


def test_a_path_without_gaps_tells_every_level_without_the_text_before() -> None:
    text = "### C\n\nwords\n\n## D\n\ntext\n"
    passage = SharedPassage("markdown/3", text, ("A", "B", "C"), False, lambda: None)
    assert find_heading_path(passage, text.index("text")) == ("A", "D")
    gap = SharedPassage("markdown/3", text, ("A", "C"), False, lambda: None)
    assert find_heading_path(gap, text.index("text")) == ("A", "C")


def test_only_a_reader_of_this_version_looks_for_headings() -> None:
    assert (
        get_heading_finder("pdf")
        is get_heading_finder("extracted_text")
        is get_heading_finder("../os")
        is None
    )
