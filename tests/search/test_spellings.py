"""Names that are written in several ways are found, marked and left out by each of them."""

from __future__ import annotations

from itertools import permutations

import pytest

from arbor.search.spellings import other_spellings
from arbor.text.analyzer import Unit
from tests.search.conftest import Shelve

SAME = (
    ("v1.22.3", "1.22.3", "V1.22.3"),
    ("2.10.0-rc.1", "v2.10.0-rc.1"),
    ("parseHTTPRequest", "parse_http_request"),
    ("https://doi.org/10.1000/xyz123", "doi:10.1000/xyz123", "10.1000/xyz123"),
    ("arXiv:1706.03762", "1706.03762v5", "https://arxiv.org/abs/1706.03762v5", "arxiv.org/abs/1706.03762"),
    ("978-0-13-468599-1", "9780134685991", "978-0134685991", "ISBN:978-0-13-468599-1"),
    ("0-8044-2957-X", "080442957X"),
)


@pytest.mark.parametrize(("typed", "written"), [pair for same in SAME for pair in permutations(same, 2)])
def test_each_spelling_finds_the_others(shelve: Shelve, typed: str, written: str) -> None:
    library = shelve(
        {"a.md": f"It is ({written}), they say.", "b.md": "Nothing of the kind.", "c.md": "12 3."}
    )
    for query in (typed, f'"{typed}"', f"see ({typed})."):
        [hit] = library.search(query).hits
        assert hit.path == "a.md", query
        [(start, end)] = hit.highlights
        assert hit.snippet[start:end] in written, "and nothing beside it is marked"
    assert "a.md" not in library.paths(f"path:. -{typed}")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("GitHub", [Unit("Git Hub")]),
        ("snake_case", [Unit("snakecase")]),
        ("1.5", [Unit("v1.5")]),
        ("v1.5", []),
        ("1.2.3", [Unit("v1.2.3")]),
        ("v1.2.3", []),
        ("2017.12345", [Unit("v2017.12345"), Unit("2017.12345v", prefix=True)]),
        ("1234567890123", []),
    ],
)
def test_spellings(typed: str, expected: list[Unit]) -> None:
    assert other_spellings(typed) == expected


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "word",
        "iPhone",
        "PDFs",
        "CX3CR1",
        "NASA",
        "well-known",
        "two words",
        "知识库",
        "a.b.c",
        "node.js",
        "_",
        "_x",
    ],
)
def test_most_words_have_one_spelling(typed: str) -> None:
    assert other_spellings(typed) == []


def test_a_measure_is_found_with_and_without_its_space(shelve: Shelve) -> None:
    library = shelve(
        {"a.md": "It has 16GB.", "b.md": "It has 16 GB.", "c.md": "It has 16 eggs.", "d.md": "GB"}
    )
    assert library.paths("16GB") == library.paths('"16 GB"') == library.paths('"16GB"') == ["a.md", "b.md"]
    assert library.paths('"16 eggs"') == ["c.md"]


def test_a_name_is_found_by_its_parts_in_titles_headings_and_paths(shelve: Shelve) -> None:
    library = shelve({
        "src/HttpRequestParser.py": "x = 1\n", "api.md": "# API\n\n## watchEffect\n\nRuns.\n",
        "page.md": "# The TypeScript page\n\nText.\n", "other.md": "# Other\n\nNothing.\n",
    })  # fmt: skip
    for query, path in (
        ("request parser", "src/HttpRequestParser.py"),
        ('"request parser"', "src/HttpRequestParser.py"),
        ("title:parser", "src/HttpRequestParser.py"),
        ("effect", "api.md"),
        ('"the typescript page"', "page.md"),
        ("script", "page.md"),
    ):
        assert library.paths(query) == [path], query
