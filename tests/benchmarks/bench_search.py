"""Searching 40,000 short documents: beside the plain FTS5 query for the same words, and from the shell."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import arbor
from arbor.evaluation.metrics import percentile
from arbor.search.common_words import STOP_WORDS
from tests.benchmarks import corpus
from tests.benchmarks.harness import (
    ARBOR,
    Settings,
    Spread,
    Table,
    format_ratio,
    format_seconds,
    in_turns,
    measure,
    ratios,
    run_untimed,
    verdict,
)

TITLE = "Searching"
DOCUMENTS = 40_000
QUESTIONS = 100
LIMIT = 10
COLD_LIMIT_S = 0.35
TOKENIZER = "porter unicode61 remove_diacritics 2"

Ask = Callable[[str], object]


def run(settings: Settings) -> Iterator[Table]:
    """Measure warm and in process, then cold."""
    tree = settings.fast / "documents"
    texts = dict(corpus.short_documents(DOCUMENTS, settings.data))
    for path, text in texts.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text, encoding="utf-8")
    run_untimed([(*ARBOR, "init"), (*ARBOR, "add", "."), (*ARBOR, "commit", "-m", "documents")], tree)
    # Punctuation is left out so that both sides are asked for exactly the same words.
    questions = [" ".join(words_of(text)) for text in corpus.questions(QUESTIONS, settings.data)]
    yield warm(settings, tree, texts, questions)
    yield cold(settings, tree, questions)


def words_of(text: str) -> list[str]:
    """The words of a question, in ASCII letters and digits only."""
    return re.findall(r"[a-z0-9]+", text.lower())


def build_plain_index(path: Path, texts: Mapping[str, str]) -> sqlite3.Connection:
    """The bare engine: one row a document, in order, and one column."""
    base = sqlite3.connect(path)
    base.execute(f"CREATE VIRTUAL TABLE passages USING fts5(body, tokenize='{TOKENIZER}')")
    base.executemany("INSERT INTO passages(body) VALUES (?)", ((text,) for text in texts.values()))
    base.execute("INSERT INTO passages(passages) VALUES ('optimize')")
    base.commit()
    return base


def ask_plainly(
    base: sqlite3.Connection, left_out: frozenset[str], question: str
) -> list[tuple[int, str, float]]:
    """The ten best by bm25 with their text, all words but those left out joined by OR."""
    words = [word for word in question.split() if word not in left_out] or question.split()
    match = " OR ".join(f'"{word}"' for word in words)
    query = "SELECT rowid, body, rank FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT ?"
    return base.execute(query, (match, LIMIT)).fetchall()


def timed(ask: Ask, questions: Sequence[str]) -> list[float]:
    """Seconds for each question."""
    seconds = []
    for question in questions:
        start = time.perf_counter()
        ask(question)
        seconds.append(time.perf_counter() - start)
    return seconds


def warm(settings: Settings, tree: Path, texts: Mapping[str, str], questions: Sequence[str]) -> Table:
    """Every question to every peer in each round, the process and the caches warm."""
    base = arbor.open(tree)
    plain = build_plain_index(tree.parent / "plain.db", texts)
    peers: Mapping[str, Ask] = {
        "FTS5": partial(ask_plainly, plain, frozenset()),
        "FTS5, fewer words": partial(ask_plainly, plain, STOP_WORDS),
        "VISUAL": partial(base.search, mode="VISUAL", limit=LIMIT, working_copy=False),
        "STRICT": partial(base.search, mode="STRICT", limit=LIMIT),
    }
    shared = shared_share(base, plain, list(texts), questions)  # and every cache is warm
    turns = {name: partial(timed, ask, questions) for name, ask in peers.items()}
    rounds = in_turns(turns, max(settings.rounds, 5))
    middles = {name: [percentile(seconds, 0.5) for seconds in runs] for name, runs in rounds.items()}
    tails = {name: [percentile(seconds, 0.95) for seconds in runs] for name, runs in rounds.items()}
    against_all = ratios(middles["VISUAL"], middles["FTS5"])
    against_fewer = ratios(middles["VISUAL"], middles["FTS5, fewer words"])
    strict = ratios(middles["STRICT"], middles["VISUAL"])
    names = (
        "the plain FTS5 query, all words",
        "the plain FTS5 query, without stop words",
        "arbor, VISUAL",
        "arbor, STRICT",
    )
    compared = (
        ("", ""),
        ("", ""),
        (
            f"{format_ratio(against_all)} and {format_ratio(against_fewer)} of FTS5",
            verdict(against_all.median, 1.0) + ", " + verdict(against_fewer.median, 1.0),
        ),
        (f"{format_ratio(strict)} of VISUAL", verdict(strict.median, 1.5)),
    )
    rows = tuple(
        (words, format_seconds(Spread.of(middles[name])), format_seconds(Spread.of(tails[name])), *cells)
        for name, words, cells in zip(peers, names, compared, strict=True)
    )
    title = f"In process, warm, top {LIMIT} of {DOCUMENTS:,} short documents, {len(questions)} questions"
    note = (
        "The words are joined by OR, and the plain query reads the ten texts too. arbor does not rank by stop "
        "words, so the second plain query leaves the same ones out; "
        f"{shared:.0%} of its documents are among arbor's."
    )
    data = {"p50_s": middles, "p95_s": tails, "shared": shared}
    return Table(title, ("what", "p50", "p95", "ratio of p50", "kept"), rows, note, data)


def shared_share(
    base: arbor.KnowledgeBase, plain: sqlite3.Connection, paths: Sequence[str], questions: Sequence[str]
) -> float:
    """The share of the plain query's documents that arbor finds too: it must not be fast by finding less."""
    found = expected = 0
    for question in questions:
        wanted = {paths[row - 1] for row, _, _ in ask_plainly(plain, STOP_WORDS, question)}
        hits = base.search(question, mode="STRICT", limit=LIMIT).hits
        base.search(question, mode="VISUAL", limit=LIMIT, working_copy=False)
        found += len(wanted & {path for hit in hits for path in hit.paths})
        expected += len(wanted)
    return found / expected if expected else 1.0


def cold(settings: Settings, tree: Path, questions: Sequence[str]) -> Table:
    """The whole command from the shell, a new process each time."""
    asked = questions[: max(settings.rounds, 10)]
    rows = []
    for mode in ("STRICT", "VISUAL"):
        command = (*ARBOR, "search", "--mode", mode, "--no-working-copy")
        samples = [measure([(*command, question)], tree)[0] for question in asked]
        spread = Spread.of(sample.seconds for sample in samples)
        rows.append(
            (
                f"arbor search --mode {mode}",
                format_seconds(spread),
                verdict(round(spread.median, 3), COLD_LIMIT_S) + " s",
            )
        )
    return Table("From the shell, a new process each time", ("command", "time", "kept"), tuple(rows))
