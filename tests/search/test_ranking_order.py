"""The order of results: BM25 as written down, ties by path, and never the order in which documents came."""

from __future__ import annotations

import math
import random
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.index.access import bring_up_to_date, index_path
from arbor.index.tokens import Tokenizer
from arbor.index.writer import build
from arbor.repo.snapshot import Snapshot
from arbor.search import plan, retrieval
from arbor.search.options import SearchOptions
from arbor.search.query import Query, parse_plain_query
from arbor.search.results import AuditMode
from arbor.search.retrieval import COLUMN_WEIGHTS
from arbor.search.searching import Searcher
from tests.index.small_kb import SmallKb
from tests.search.conftest import Shelve

WORDS = [f"w{number}" for number in range(40)]


def random_files(seed: int, count: int = 60) -> dict[str, bytes | str]:
    source = random.Random(seed)
    return {
        f"d{number % 5}/{number:03d}.txt": " ".join(source.choices(WORDS, k=source.randint(1, 30)))
        for number in range(count)
    }


def expected_scores(files: dict[str, bytes | str], query: str) -> dict[str, float]:
    """BM25 with weighted fields, straight from the formula."""
    texts = {
        path: {
            "title": [Path(path).stem],
            "path": path.replace("/", " ").replace(".", " ").split(),
            "body": str(text).split(),
        }
        for path, text in files.items()
    }
    weights = dict(zip(("title", "heading", "path", "body"), COLUMN_WEIGHTS, strict=True))
    lengths = {path: sum(map(len, fields.values())) for path, fields in texts.items()}
    mean = sum(lengths.values()) / len(lengths)
    frequency = Counter(word for fields in texts.values() for word in {w for f in fields.values() for w in f})
    scores: Counter[str] = Counter()
    for word in query.split():
        idf = math.log((len(texts) - frequency[word] + 0.5) / (frequency[word] + 0.5))
        for path, fields in texts.items():
            tf = sum(weights[name] * words.count(word) for name, words in fields.items())
            if tf:
                norm = 1.2 * (0.25 + 0.75 * lengths[path] / mean)
                scores[path] += max(idf, 1e-6) * tf * 2.2 / (tf + norm)  # type: ignore[assignment]
    return dict(scores)


@pytest.mark.parametrize("query", ["w1", "w1 w2 w3", "w7 w7 w7 w8", "w3 w4 w3", " ".join(WORDS[:25])])
def test_scores_are_bm25(shelve: Shelve, query: str) -> None:
    files = random_files(1)
    library = shelve(files)
    found = {hit.path: hit.score for hit in library.search(query, limit=100).hits}
    assert found == pytest.approx(expected_scores(files, query))


def test_equal_scores_are_in_path_order(shelve: Shelve) -> None:
    names = [f"n{number:03d}.txt" for number in range(200)]
    library = shelve(dict.fromkeys(names, "apple") | {"other.txt": "pear", "x.txt": "apple apple tart"})
    # Equal content is one document; give each its own word to make them many.
    library = shelve({name: f"apple {name[1:4]}" for name in names})
    assert library.paths("apple", limit=10) == names[:10]
    assert library.paths("apple", limit=200) == names


def test_more_is_a_continuation(shelve: Shelve) -> None:
    library = shelve(random_files(2, 150))
    everything = library.search("w1 w2 w3", limit=150).hits
    for limit in (1, 2, 7, 50):
        some = library.search("w1 w2 w3", limit=limit).hits
        assert [(hit.path, hit.score) for hit in some] == [
            (hit.path, hit.score) for hit in everything[:limit]
        ]


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.lists(st.sampled_from(WORDS), min_size=1, max_size=5))
def test_the_order_of_arrival_does_not_matter(seed: int, words: list[str]) -> None:
    source = random.Random(seed)
    files = random_files(seed, 30)
    query = " ".join(words)
    with tempfile.TemporaryDirectory() as folder:
        kb, searcher = SmallKb(Path(folder)), Searcher()
        snapshot = kb.commit(files)
        order, state = sorted(files), {"gone.txt": "w1 w2 soon removed"}
        source.shuffle(order)
        for start in range(0, len(order), 15):
            state |= {path: str(files[path]) for path in order[start : start + 15]}  # type: ignore[dict-item]
            bring_up_to_date(kb.cache, kb.commit(state)).close()
        build(kb.folder / "fresh.db", snapshot)

        def answer(fs_path: Path) -> list[tuple[str, float]]:
            with bring_up_to_date(fs_path.parent, snapshot) as index:
                assert index.fs_path == index_path(fs_path.parent)
                hits = searcher.search(snapshot, index, query, SearchOptions(limit=7)).hits
                return [(hit.path, hit.score) for hit in hits]

        grown = answer(index_path(kb.cache))
        fresh = kb.folder / "other"
        fresh.mkdir()
        build(index_path(fresh), snapshot)
        assert answer(index_path(fresh)) == grown


def test_repeated_words_count_again(shelve: Shelve) -> None:
    library = shelve({"a.txt": "apple pear plum fig", "b.txt": "apple pear pear pear", "c.txt": "kiwi", "d.txt": "nut"}
                     | {f"{n}.txt": f"filler {n}" for n in range(9)})  # fmt: skip
    once, thrice = library.search("apple").hits[0].score, library.search("apple apple apple").hits[0].score
    assert thrice == pytest.approx(3 * once)


def test_words_in_most_passages_do_not_rank_but_are_found(shelve: Shelve) -> None:
    library = shelve({f"{n}.txt": f"common {'rare' if n == 3 else 'usual'} number{n}" for n in range(10)})
    assert library.paths("common rare") == ["3.txt"]
    found = library.search("common")
    assert len(found.hits) == 10
    assert found.notes == ()
    fallen_back = library.search("common rare path:5", limit=20)
    assert [hit.path for hit in fallen_back.hits] == ["5.txt"]
    assert any("common words were used" in note for note in fallen_back.notes)


def test_that_only_stop_words_were_found_is_said(shelve: Shelve) -> None:
    library = shelve({"a.md": "The tide is in.\n"})
    for query, is_said in (
        ("what is the zygote", True),
        ('the "zygote"', False),
        ("the", False),
        ("the tide", False),
    ):
        notes = library.search(query).notes
        assert any("common words were used" in note for note in notes) == is_said, query


def test_stop_words_are_found_when_there_is_nothing_else(shelve: Shelve) -> None:
    library = shelve({"who.txt": "the who", "what.txt": "what is it", "zebra.txt": "a zebra, the animal"})
    assert library.paths("the zebra") == ["zebra.txt"]
    assert library.paths("the who")[0] == "who.txt"
    assert library.paths('"the who" zebra') == ["who.txt"]


@pytest.mark.parametrize(
    "query",
    ["What is a zebra?", "zebra: what is it?", "The zebra", "zebra, (the)", "what's a zebra", "zebra AND WHO",
     "It\u2019s the ＺＥＢＲＡ", "NOT a zebra", "\u201cthe zebra, is it"],
)  # fmt: skip
def test_stop_words_carry_nothing_however_they_are_written(shelve: Shelve, query: str) -> None:
    library = shelve({
        "1.txt": "what is it, and not a thing: the what's what", "2.txt": "the zebra", "3.txt": "it's a horse",
        "4.txt": "or a mule", "5.txt": "sheep", "6.txt": "goats", "7.txt": "pigs",
    })  # fmt: skip
    assert library.paths(query) == ["2.txt"]
    [hit] = library.search(query).hits
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["zebra"]


def test_names_in_capitals_are_no_stop_words(shelve: Shelve) -> None:
    files = {"who.txt": "what the WHO says", "t.txt": "T cells", "us.txt": "economy of the US"}
    library = shelve({**files, **{f"{number}.txt": "nothing of the kind" for number in range(9)}})
    for query, path in (("who WHO", "who.txt"), ("T lymphocytes", "t.txt"), ("US gdp", "us.txt")):
        assert library.paths(query) == [path], query


def test_long_queries_are_bounded_and_say_so(shelve: Shelve) -> None:
    library = shelve({f"{n}.txt": " ".join(f"word{n * 40 + k}" for k in range(40)) for n in range(20)})
    found = library.search(" ".join(f"word{number}" for number in range(10_000)))
    assert [hit.path for hit in found.hits] == ["0.txt", "1.txt", "2.txt", "3.txt"], (
        "128 words of 40 a document"
    )
    assert any("128 rarest" in note for note in found.notes)
    longer = library.search(" ".join(f"word{number}" for number in range(10_500)))
    assert any("only the first 10,000 were read" in note for note in longer.notes)


def test_a_document_is_ranked_by_its_best_passage_and_shows_the_others(shelve: Shelve) -> None:
    section = "\n\n## Part {}\n\n" + "filler words here " * 60
    parts = "".join(section.format(n) + ("needle " * (n == 2)) for n in range(5))
    library = shelve({
        "long.md": f"# Long\n{parts}\n\n## End\n\nneedle needle",
        "short.md": "# Short\n\nneedle",
        **{f"{n}.md": f"# Other {n}\n\nnothing" for n in range(6)},
    })  # fmt: skip
    by_path = {hit.path: hit for hit in library.search("needle").hits}
    assert by_path["short.md"].passages == ()
    long = by_path["long.md"]
    assert long.heading[-1] == "End"
    assert [passage.heading[-1] for passage in long.passages] == ["Part 2"]
    assert long.score >= long.passages[0].score
    assert library.search("needle", passages=1).hits[1].passages == ()


def rank_of(snapshot: Snapshot, kb: SmallKb, query: Query) -> list[str]:
    with bring_up_to_date(kb.cache, snapshot) as index:
        return [paths[0] for paths, _ in Searcher().rank(snapshot, index, query, SearchOptions(limit=20))]


def test_rank_is_the_order_of_search(tmp_path: Path) -> None:
    kb = SmallKb(tmp_path)
    snapshot = kb.commit(random_files(5))
    query = parse_plain_query("w1 w5 w9")
    with bring_up_to_date(kb.cache, snapshot) as index:
        hits = Searcher().search(snapshot, index, query, SearchOptions(AuditMode.VISUAL, limit=20)).hits
    assert rank_of(snapshot, kb, query) == [hit.path for hit in hits]


def test_growth_stops_when_everything_ties(shelve: Shelve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "EXTRA_ROWS", 1)
    monkeypatch.setattr(retrieval, "ROWS_PER_DOCUMENT", 1)
    library = shelve({f"{n:03d}.txt": f"apple {n:03d}" for n in range(300)})
    assert library.paths("apple", limit=3) == ["000.txt", "001.txt", "002.txt"]


def test_quotes_and_nul_cannot_leave_a_string() -> None:
    assert plan.quote('a"b\0c') == '"a""b c"'
    assert Tokenizer().tokens('a "b') == ("a", "b")
