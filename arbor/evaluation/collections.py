"""Reading test collections: folders in the shape of BEIR, checked line by line.

A collection is a folder with `corpus.jsonl` (objects with `_id`, `text` and, if it likes, `title`),
`queries.jsonl` (`_id`, `text`) and `qrels.tsv` or `qrels/test.tsv` (query id, document id and whole-number
grade, separated by tabs, with or without a header line; or the four columns of TREC). An id may be called `id`, and
be a whole number, which stands for its digits. A mistake in a collection turns into a wrong number
that nobody notices, so whatever is not understood is an error that names the file and the line.
Source: Thakur et al., BEIR: a heterogenous benchmark for zero-shot evaluation of information retrieval models
(NeurIPS 2021); for the four columns, the README of trec_eval.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from arbor.errors import UsageError
from arbor.records import dataclass
from arbor.store.files import in_words

CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"
QRELS = ("qrels.tsv", "qrels/test.tsv")
# What the third column of a header is called; any other word in a first line is a mistake and no header.
HEADER_GRADES = frozenset({"score", "grade", "label", "rel", "relevance", "relevancy"})
MAX_LINE_BYTES = 64 * 1024 * 1024
TREC_ITERATIONS = frozenset({"0", "Q0"})
"""What stands in the second of four columns; anything else there is some other table."""
_GRADE = re.compile(r"([+-]?[0-9]{1,9})(?:\.0+)?", re.ASCII)


class CollectionDocument(NamedTuple):
    """One document of a collection; the title is empty where it has none."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """A test collection: what to index, what to ask, and which answers are right.

    Attributes:
        name: The folder's name.
        documents: By document id, in the order of the file.
        queries: Text by query id, in the order of the file.
        qrels: Grade by document id by query id, for the queries that exist.
        unknown_documents: How many of these judgements name a document that is not in the corpus. They stay,
            as in other tools, so that numbers can be compared: no system can find such a document.
        unknown_queries: How many judgements were left out because their query is not among the queries.
    """

    name: str
    documents: dict[str, CollectionDocument]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]
    unknown_documents: int
    unknown_queries: int


class CollectionSize(NamedTuple):
    """How much there is to a collection.

    Attributes:
        collection: The folder's name.
        documents: Documents in it.
        queries: Judged queries.
        unknown_documents, unknown_queries: As in `Collection`.
    """

    collection: str
    documents: int
    queries: int
    unknown_documents: int
    unknown_queries: int


def size_of(collection: Collection) -> CollectionSize:
    """What is measured, in numbers."""
    return CollectionSize(
        collection.name, len(collection.documents), len(collection.qrels),
        collection.unknown_documents, collection.unknown_queries,
    )  # fmt: skip


def read_collection(folder: Path) -> Collection:
    """Read a collection folder whole.

    Raises:
        UsageError: for a missing or unreadable file, and for the first line that is not as it should be: not
            UTF-8, not JSON, a missing or wrongly typed field, an id given twice, a grade that is no whole
            number.
    """
    documents = {document.id: document for document in iter_documents(folder)}
    queries = read_queries(folder)
    judged = read_qrels(folder)
    qrels = {query: judgements for query, judgements in judged.items() if query in queries}
    unknown_documents = sum(
        document not in documents for judgements in qrels.values() for document in judgements
    )
    unknown_queries = sum(len(judgements) for query, judgements in judged.items() if query not in queries)
    return Collection(folder.resolve().name, documents, queries, qrels, unknown_documents, unknown_queries)


def read_judged_collection(folder: Path) -> Collection:
    """As `read_collection`; raises UsageError also for one in which no query has a judged document."""
    collection = read_collection(folder)
    if not collection.qrels:
        raise UsageError(f"no query of {folder} has a judged document", f"check {QUERIES} and {QRELS[0]}")
    return collection


def iter_documents(folder: Path) -> Iterator[CollectionDocument]:
    """The documents of a collection folder, one at a time.

    Raises:
        UsageError: as `read_collection`.
    """
    path = folder / CORPUS
    for number, record in _iter_records(path):
        if record.get("title") is None:
            record["title"] = ""
        _check_string(path, number, record, "title")
        yield CollectionDocument(record["_id"], record["title"], record["text"])


def read_queries(folder: Path) -> dict[str, str]:
    """Query texts by id.

    Raises:
        UsageError: as `read_collection`.
    """
    return {record["_id"]: record["text"] for _, record in _iter_records(folder / QUERIES)}


def read_qrels(folder: Path) -> dict[str, dict[str, int]]:
    """Grades by document id by query id, from `qrels.tsv` or, where there is none, `qrels/test.tsv`.

    Raises:
        UsageError: as `read_collection`.
    """
    path = next((folder / name for name in QRELS if (folder / name).exists()), folder / QRELS[0])
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _iter_lines(path):
        fields = _split_judgement(line)
        if number == 1 and fields[-1].strip().lower() in HEADER_GRADES:
            continue
        if len(fields) == 4 and fields[1] in TREC_ITERATIONS:
            del fields[1]
        if len(fields) != 3:
            _fail(
                path, number,
                f"expected 3 fields separated by tabs, or 4 of which the second is 0, found {len(fields)}",
            )  # fmt: skip
        query, document, grade = fields
        if not query or not document:
            _fail(path, number, "an id is empty")
        whole = _GRADE.fullmatch(grade)
        if not whole:
            _fail(path, number, f"the grade {grade!r} is not a whole number")
        if document in qrels.setdefault(query, {}):
            _fail(path, number, f"query {query!r} judges document {document!r} twice")
        qrels[query][document] = int(whole[1])
    return qrels


def _split_judgement(line: str) -> list[str]:
    """The fields of a line: between tabs, where ids may hold spaces, or the four of TREC between spaces."""
    words = line.split()
    return words if "\t" not in line and len(words) == 4 else line.split("\t")


def _iter_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers; `_id` (unique) and `text` are strings."""
    seen: set[str] = set()
    for number, line in _iter_lines(path):
        try:
            record = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            _fail(path, number, f"not JSON: {error}")
        if not isinstance(record, dict):
            _fail(path, number, "not a JSON object")
        _settle_id(record)
        _check_string(path, number, record, "_id")
        _check_string(path, number, record, "text")
        if not record["_id"]:
            _fail(path, number, "the id is empty")
        if record["_id"] in seen:
            _fail(path, number, f"the id {record['_id']!r} is given twice")
        seen.add(record["_id"])
        yield number, record


def _settle_id(record: dict[str, Any]) -> None:
    """Call the id `_id`, and write a whole number as the digits by which the judgements name it."""
    if "_id" not in record and "id" in record:
        record["_id"] = record["id"]
    if type(record.get("_id")) is int:  # True and False are no numbers here
        record["_id"] = str(record["_id"])


def _check_string(path: Path, line: int, record: dict[str, Any], field: str) -> None:
    if field not in record:
        _fail(path, line, f"{field!r} is missing")
    value = record[field]
    if not isinstance(value, str):
        _fail(path, line, f"{field!r} is not a string")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            _fail(path, line, f"{field!r} holds half of a surrogate pair")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _iter_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file that are not blank, without their ends, numbered from 1."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    _fail(path, number, f"longer than {MAX_LINE_BYTES} bytes")
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError:
                    _fail(path, number, "not UTF-8")
                if text.strip():
                    yield number, text
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {in_words(error)[0]}",
            f"a collection is a folder with {CORPUS}, {QUERIES} and {' or '.join(QRELS)}",
        ) from error


def _fail(path: Path, line: int, problem: str) -> NoReturn:
    raise UsageError(f"{path}:{line}: {problem}")
