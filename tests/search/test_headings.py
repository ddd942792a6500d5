"""A hit names the heading under which its match stands."""

from __future__ import annotations

import pytest

from arbor.search.headings import heading_in_file
from arbor.search.results import AuditMode
from arbor.text.encodings import decode_passage
from arbor.text.reading import extract
from tests.search.conftest import Shelve

FILES: dict[str, bytes | str] = {
    "guide.md": "# Guide\n\nApple.\n\n## Install\n\nA pear.\n\n### From source\n\nA cherry.\n\n## Usage\n\nA plum\n",
    "tool.py": "def alpha_one():\n    return apricot\n\n\ndef beta_two():\n    return quince\n",
    "manual.rst": "Manual\n======\n\nA melon.\n\nSetup\n-----\n\nA papaya.\n",
    "page.html": "<h1>Page</h1><p>A mango.</p><h2>More</h2><p>A kiwi.</p>",
    "plain.txt": "# no heading\n\nA lychee.\n",
    "旧.md": "# 标题\n\n苹果。\n\n## 第二节\n\n葡萄树。\n".encode("gb18030"),
    "long.md": "# Long\n\n"
    + "words and words\n\n" * 300
    + "## Late\n\nA raisin.\n\n### Last\n\nA sultana.\n",
}
CASES = [
    ("Apple", ("Guide",)),
    ("pear", ("Guide", "Install")),
    ("cherry", ("Guide", "Install", "From source")),
    ("plum", ("Guide", "Usage")),
    ("Usage", ("Guide", "Usage")),
    ("apricot", ("alpha_one",)),
    ("quince", ("beta_two",)),
    ("melon", ("Manual",)),
    ("papaya", ("Manual", "Setup")),
    ("mango", ("Page",)),
    ("kiwi", ("Page", "More")),
    ("lychee", ()),
    ("葡萄", ("标题", "第二节")),
    ("raisin", ("Long", "Late")),
    ("sultana", ("Long", "Late", "Last")),
]


@pytest.mark.parametrize("mode", ["STRICT", "VISUAL"])
def test_the_heading_of_a_hit_is_that_of_its_match(shelve: Shelve, mode: str) -> None:
    library = shelve(FILES)
    found = {word: library.search(word, mode=AuditMode(mode)).hits[0].heading for word, _ in CASES}
    assert found == dict(CASES)


def test_further_passages_have_headings_of_their_own(shelve: Shelve) -> None:
    text = (
        "# Top\n\n## First\n\n" + "filling words\n\n" * 100 + "## Second\n\nfig\n\n## Third\n\nfig jam fig\n"
    )
    library = shelve({"a.md": text + "\n## Fourth\n\n" + "more words\n\n" * 200 + "## Fifth\n\nfig\n"})
    [hit] = library.search("jam fig", passages=3).hits
    assert hit.heading == ("Top", "Third") or any(each.heading == ("Top", "Third") for each in hit.passages)
    assert all(each.heading[-1] in ("Second", "Third", "Fifth") for each in (hit, *hit.passages))


@pytest.mark.parametrize(("word", "heading"), [case for case in CASES if case[0].isascii()])
def test_the_same_in_a_file_that_is_not_committed(word: str, heading: tuple[str, ...]) -> None:
    for name, content in FILES.items():
        data = content.encode() if isinstance(content, str) else content
        extraction = extract(data, name)
        for ordinal, passage in enumerate(extraction.passages):
            text = decode_passage(passage.data, extraction.encoding)
            if word in text:
                assert heading_in_file(extraction, ordinal, text, text.rindex(word)) == heading
                return
    pytest.fail(f"{word} is in no file")
