"""A collection is read whole or refused with the file and the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.errors import UsageError
from arbor.evaluation import collections
from arbor.evaluation.collections import CollectionDocument, read_collection, read_qrels

GOOD_CORPUS = '{"_id": "d1", "title": "One", "text": "first"}\n{"_id": "d2", "text": "second"}\n'
GOOD_QUERIES = '{"_id": "q1", "text": "which is first?", "metadata": {}}\n'
GOOD_QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t1\n"


def make(
    folder: Path, corpus: str = GOOD_CORPUS, queries: str = GOOD_QUERIES, qrels: str = GOOD_QRELS
) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in (("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels.tsv", qrels)):
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    return folder


def test_reads_what_is_there(tmp_path: Path) -> None:
    collection = read_collection(make(tmp_path / "small"))
    assert collection.name == "small"
    assert list(collection.documents.values()) == [
        CollectionDocument("d1", "One", "first"),
        CollectionDocument("d2", "", "second"),
    ]
    assert collection.queries == {"q1": "which is first?"}
    assert collection.qrels == {"q1": {"d1": 1}}
    assert (collection.unknown_documents, collection.unknown_queries) == (0, 0)


@pytest.mark.parametrize(
    "qrels",
    [
        "q1\td1\t1\n",
        "q1\td1\t1",
        "q1\td1\t+1\r\n",
        "\n\nq1\td1\t1\n\n",
        "\ufeffq1\td1\t1\n",
        "\ufeffquery-id\tcorpus-id\tscore\nq1\td1\t1\n",
        "QID\tDOCID\tRelevance\r\nq1\td1\t1\r\n",
        "q1\td1\t1.0\n",
        "q1 0 d1 1\n",
        "q1  Q0   d1  1\r\n",
        "q1\t0\td1\t1\n",
        "query-id\titeration\tcorpus-id\tscore\nq1\tQ0\td1\t1\n",
    ],
)
def test_a_header_and_line_ends_make_no_difference(tmp_path: Path, qrels: str) -> None:
    assert read_qrels(make(tmp_path / "c", qrels=qrels)) == {"q1": {"d1": 1}}


def test_ids_may_hold_spaces(tmp_path: Path) -> None:
    assert read_qrels(make(tmp_path / "c", qrels="a q 1\tthe d 1\t1\n")) == {"a q 1": {"the d 1": 1}}


def test_an_id_may_be_called_id_and_be_a_number(tmp_path: Path) -> None:
    corpus = (
        '{"_id": 1, "text": "one"}\n{"id": "b", "text": "two"}\n{"id": 30, "_id": "c", "text": "three"}\n'
    )
    collection = read_collection(
        make(tmp_path / "c", corpus=corpus, queries='{"id": 7, "text": "one"}\n', qrels="7\t1\t1\n")
    )
    assert list(collection.documents) == ["1", "b", "c"]
    assert collection.qrels == {"7": {"1": 1}}
    assert collection.unknown_documents == 0


def test_qrels_may_lie_in_a_folder(tmp_path: Path) -> None:
    folder = make(tmp_path / "c")
    (folder / "qrels").mkdir()
    (folder / "qrels.tsv").rename(folder / "qrels" / "test.tsv")
    assert read_collection(folder).qrels == {"q1": {"d1": 1}}


def test_unknown_ids_are_counted(tmp_path: Path) -> None:
    qrels = GOOD_QRELS + "q1\tgone\t1\nlost\td1\t1\nlost\td2\t1\n"
    collection = read_collection(make(tmp_path / "c", qrels=qrels))
    assert collection.qrels == {"q1": {"d1": 1, "gone": 1}}
    assert (collection.unknown_documents, collection.unknown_queries) == (1, 2)


@pytest.mark.parametrize(
    ("name", "text", "line", "problem"),
    [
        ("corpus", GOOD_CORPUS + "{", 3, "not JSON"),
        ("corpus", '{"_id": "d1", "text": NaN}', 1, "NaN is no JSON number"),
        ("corpus", '{"_id": "d1", "text": "a", "score": -Infinity}', 1, "-Infinity is no JSON number"),
        ("corpus", "[" * 100_000, 1, "not JSON"),
        ("corpus", '["d1"]', 1, "not a JSON object"),
        ("corpus", '{"_id": true, "text": "a"}', 1, "'_id' is not a string"),
        ("corpus", '{"text": "a"}', 1, "'_id' is missing"),
        ("corpus", '{"_id": "", "text": "a"}', 1, "the id is empty"),
        ("corpus", GOOD_CORPUS + '\n{"_id": "d1", "text": "again"}', 4, "'d1' is given twice"),
        ("corpus", '{"_id": "d1", "title": "no text"}', 1, "'text' is missing"),
        ("corpus", '{"_id": "d1", "text": null}', 1, "'text' is not a string"),
        ("corpus", '{"_id": "d1", "text": "a", "title": ["b"]}', 1, "'title' is not a string"),
        ("corpus", '{"_id": "d1", "text": "\\ud800é"}', 1, "'text' holds half of a surrogate pair"),
        ("corpus", GOOD_CORPUS + "\udcff", 3, "not UTF-8"),
        ("queries", GOOD_QUERIES + GOOD_QUERIES, 2, "'q1' is given twice"),
        ("queries", '{"_id": "q1", "text": 5}', 1, "'text' is not a string"),
        ("corpus", '{"_id": 1.5, "text": "a"}', 1, "'_id' is not a string"),
        (
            "corpus",
            GOOD_CORPUS + '{"_id": 1, "text": "a"}\n{"_id": "1", "text": "b"}',
            4,
            "'1' is given twice",
        ),
        ("qrels", "q1 d1 1\n", 1, "or 4 of which the second is 0, found 1"),
        ("qrels", "q1\td1\t1\tsure\n", 1, "expected 3 fields separated by tabs, or 4"),
        ("qrels", "q1 7 d1 1\n", 1, "or 4 of which the second is 0, found 4"),
        ("qrels", GOOD_QRELS + "q1\td2\tNaN\n", 3, "the grade 'NaN' is not a whole number"),
        ("qrels", "q1\td1\tnan\n", 1, "the grade 'nan' is not a whole number"),
        ("qrels", "q1\td1\tone\n", 1, "the grade 'one' is not a whole number"),
        ("qrels", "q1\td1\t0.5\n", 1, "the grade '0.5' is not a whole number"),
        ("qrels", "q1\td1\t1_0\n", 1, "the grade '1_0' is not a whole number"),
        ("qrels", "q1\td1\t٣\n", 1, "is not a whole number"),
        ("qrels", GOOD_QRELS + GOOD_QRELS, 3, "the grade 'score' is not a whole number"),
        ("qrels", GOOD_QRELS + "q1\td1\t0\n", 3, "query 'q1' judges document 'd1' twice"),
        ("qrels", "q1\t\t1\n", 1, "an id is empty"),
    ],
)
def test_the_first_bad_line_is_named(tmp_path: Path, name: str, text: str, line: int, problem: str) -> None:
    folder = make(tmp_path / "c", **{name: text})
    if "\udcff" in text:
        (folder / "corpus.jsonl").write_bytes(GOOD_CORPUS.encode() + b"\xff\n")
    with pytest.raises(UsageError) as caught:
        read_collection(folder)
    ending = "tsv" if name == "qrels" else "jsonl"
    assert caught.value.message.startswith(f"{folder / name}.{ending}:{line}: ")
    assert problem in caught.value.message


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named_with_what_belongs_there(tmp_path: Path, missing: str) -> None:
    folder = make(tmp_path / "c")
    (folder / missing).unlink()
    with pytest.raises(UsageError, match="cannot read") as caught:
        read_collection(folder)
    assert missing in caught.value.message
    assert "corpus.jsonl, queries.jsonl and qrels.tsv or qrels/test.tsv" in caught.value.hint


def test_a_line_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collections, "MAX_LINE_BYTES", 64)
    corpus = json.dumps({"_id": "d1", "text": "x" * 100}) + "\n"
    with pytest.raises(UsageError, match=r"corpus\.jsonl:1: longer than 64 bytes"):
        read_collection(make(tmp_path / "c", corpus=corpus))


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n"), min_size=1).filter(str.strip)


@given(documents=st.dictionaries(WORDS, st.text(st.characters(codec="utf-8"))), grades=st.data())
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, documents: dict[str, str], grades: st.DataObject
) -> None:
    corpus = "".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in documents.items())
    judged = {name: grades.draw(st.integers(-5, 5)) for name in documents}
    qrels = "".join(f"q1\t{name}\t{grade}\n" for name, grade in judged.items())
    collection = read_collection(
        make(tmp_path_factory.mktemp("c"), corpus=corpus, qrels="qid\tdoc\tscore\n" + qrels)
    )
    assert {document.id: document.text for document in collection.documents.values()} == documents
    assert collection.qrels == ({"q1": judged} if judged else {})


@pytest.mark.parametrize(
    ("name", "documents", "queries", "judgements"),
    [
        ("cranfield", 1400, 225, 1837),
        ("scifact", 5183, 300, 339),
        ("hotpot100", 994, 100, 200),
        ("cmrc2018_zh", 848, 3219, 3219),
    ],
)
def test_public_collections_are_read(
    shared_data: Path, name: str, documents: int, queries: int, judgements: int
) -> None:
    collection = read_collection(shared_data / name)
    assert (len(collection.documents), len(collection.queries)) == (documents, queries)
    assert sum(map(len, collection.qrels.values())) == judgements
    assert (collection.unknown_documents, collection.unknown_queries) == (0, 0)
