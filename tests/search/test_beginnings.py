"""`pay*` finds the words that begin so, whatever the stemmer makes of them and of the beginning."""

from __future__ import annotations

import pytest

from arbor.index.tokens import Tokenizer
from arbor.search.beginnings import widen
from arbor.text.analyzer import Unit, index_text, phrase_unit
from tests.search.conftest import Shelve

TOKENIZER_AT_HAND = Tokenizer()
WORDS = """
community communities communicate component components difference differently reference references listing general
generate generator generic anything anyone async payment payments payload player playground analysis analyst
happiness happily installed installation programming programmer stopped running composition automatic automation
wonderful powerful relativity relation connection connected business gasoline classes physics naturally cities
""".split()  # noqa: SIM905


def finds(typed: str, text: str) -> bool:
    unit = phrase_unit(typed, prefix=True)
    assert unit is not None
    expressions = [
        f'"{each.text}"' + (" *" if each.prefix else "") for each in widen(unit, TOKENIZER_AT_HAND)
    ]
    return TOKENIZER_AT_HAND.matches(index_text(text), expressions)


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_found_by_each_of_its_beginnings(word: str) -> None:
    missed = [word[:length] for length in range(2, len(word) + 1) if not finds(word[:length], f"A {word}.")]
    assert missed == []


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("cos", "a com, a color"), ("ans", "and any"), ("bus", "build bugs"), ("gas", "a game"), ("res", "a ref"),
        ("lens", "lend it"), ("thes", "them"), ("paymentx", "payment"),
        ("willin", "it will"), ("abouta", "about"),
    ],
)  # fmt: skip
def test_words_that_begin_otherwise_are_not(typed: str, text: str) -> None:
    assert not finds(typed, text)


@pytest.mark.parametrize(
    ("typed", "text", "expected"),
    [
        ("early pay", "early payments", True),
        ("late pay", "early payments", False),
        ("early communi", "the early community", True),
        ("PAY", "Payments", True),
        ("évolutio", "une évolution", True),
        ("naïvet", "his naïveté", True),
        ("sch\u0323o", "schools", True),
        ("ёлоч", "ёлочка", True),
        ("知识管", "知识管理", True),
        ("知识管", "知识", False),
    ],
)
def test_phrases_accents_and_other_scripts(typed: str, text: str, expected: bool) -> None:
    assert finds(typed, text) is expected


def test_what_needs_no_widening_stays_as_it_is() -> None:
    for unit in (Unit("pay"), Unit("知", True), Unit("c", True), Unit("is", True), Unit("x-", True)):
        assert widen(unit, TOKENIZER_AT_HAND) == [unit]


def test_beginnings_rank_exclude_and_stand_in_titles(shelve: Shelve) -> None:
    library = shelve({
        "a.md": "# The community\n\nPayments are due.\n", "b.md": "# Paypal\n\nSomething else.\n",
        "c.md": "# Other\n\nPaint and paper.\n",
    })  # fmt: skip
    assert library.paths("pay*") == ["b.md", "a.md"]
    assert library.paths("communi*") == ["a.md"]
    assert library.paths("path:. -pay*") == ["c.md"]
    assert library.paths("title:communi*") == ["a.md"]
    assert library.paths("path:. -title:pay*") == ["a.md", "c.md"]
    [hit] = library.search("communi*").hits
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["community"]


def test_a_beginning_keeps_its_common_words_beside_its_rare_ones(shelve: Shelve) -> None:
    common = {f"{number}.md": f"# Note {number}\n\nOf the community.\n" for number in range(5)}
    library = shelve(
        common | {"rare.md": "# Other\n\nA communique.\n", "kiln.md": "# Kiln\n\nFired at night.\n"}
    )
    assert library.paths("communi*") == ["rare.md", *sorted(common)]
    assert library.paths("c*") == ["rare.md", *sorted(common)]
    assert library.paths("communi* kiln") == ["kiln.md", "rare.md"]


def test_a_beginning_that_is_a_stop_word_counts_as_a_beginning(shelve: Shelve) -> None:
    library = shelve({
        "a.md": "# Drawn\n\nOn a canvas.\n", "b.md": "# Kiln\n\nFired at night.\n",
        "c.md": "# Bread\n\nBake it.\n", "d.md": "# Water\n\nIt can freeze.\n",
    })  # fmt: skip
    assert library.paths("can* kiln") == ["b.md", "a.md", "d.md"]
    assert library.paths("can kiln") == ["b.md"]
    assert not library.search("can* xyzzy").notes
