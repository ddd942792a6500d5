"""Searching 40,000 short documents: beside the plain FTS5 query for the same words, and from the shell."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import arbor
from arbor.evaluation.metrics import percentile
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
QUESTIONS = 200
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
    yield warm(settings, tree, texts.values(), questions)
    yield cold(settings, tree, questions)


def words_of(text: str) -> list[str]:
    """The words of a question, in ASCII letters and digits only."""
    return re.findall(r"[a-z0-9]+", text.lower())


def plain_fts5(path: Path, texts: Any) -> Ask:
    """The bare engine: one row a document, one column, the ten best by bm25 with their text."""
    base = sqlite3.connect(path)
    base.execute(f"CREATE VIRTUAL TABLE passages USING fts5(body, tokenize='{TOKENIZER}')")
    base.executemany("INSERT INTO passages(body) VALUES (?)", ((text,) for text in texts))
    base.execute("INSERT INTO passages(passages) VALUES ('optimize')")
    base.commit()

    def ask(question: str) -> object:
        match = " OR ".join(f'"{word}"' for word in question.split())
        query = "SELECT rowid, body, rank FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT ?"
        return base.execute(query, (match, LIMIT)).fetchall()

    return ask


def timed(ask: Ask, questions: Sequence[str]) -> list[float]:
    """Seconds for each question."""
    seconds = []
    for question in questions:
        start = time.perf_counter()
        ask(question)
        seconds.append(time.perf_counter() - start)
    return seconds


def warm(settings: Settings, tree: Path, texts: Any, questions: Sequence[str]) -> Table:
    """Every question to every peer in each round, the process and the caches warm."""
    base = arbor.open(tree)
    peers: Mapping[str, Ask] = {
        "FTS5": plain_fts5(tree.parent / "plain.db", texts),
        "VISUAL": lambda question: base.search(question, mode="VISUAL", limit=LIMIT),
        "STRICT": lambda question: base.search(question, mode="STRICT", limit=LIMIT),
    }
    for ask in peers.values():
        timed(ask, questions)
    turns = {name: partial(timed, ask, questions) for name, ask in peers.items()}
    rounds = in_turns(turns, max(settings.rounds, 5))
    middles = {name: [percentile(seconds, 0.5) for seconds in runs] for name, runs in rounds.items()}
    tails = {name: [percentile(seconds, 0.95) for seconds in runs] for name, runs in rounds.items()}
    visual, strict = ratios(middles["VISUAL"], middles["FTS5"]), ratios(middles["STRICT"], middles["VISUAL"])
    compared = {
        "FTS5": ("", ""),
        "VISUAL": (f"{format_ratio(visual)} of FTS5", verdict(visual.median, 1.0)),
        "STRICT": (f"{format_ratio(strict)} of VISUAL", verdict(strict.median, 1.5)),
    }
    rows = tuple(
        (
            "the plain FTS5 query" if name == "FTS5" else f"arbor, {name}",
            format_seconds(Spread.of(middles[name])),
            format_seconds(Spread.of(tails[name])),
            *compared[name],
        )
        for name in peers
    )
    title = f"In process, warm, top {LIMIT} of {DOCUMENTS:,} short documents, {len(questions)} questions"
    note = "All words joined by OR; the plain query reads the ten texts too."
    data = {"p50_s": middles, "p95_s": tails}
    return Table(title, ("what", "p50", "p95", "ratio of p50", "kept"), rows, note, data)


def cold(settings: Settings, tree: Path, questions: Sequence[str]) -> Table:
    """The whole command from the shell, a new process each time."""
    asked = questions[: max(settings.rounds, 10)]
    rows = []
    for mode in ("STRICT", "VISUAL"):
        samples = [measure([(*ARBOR, "search", "--mode", mode, question)], tree)[0] for question in asked]
        spread = Spread.of(sample.seconds for sample in samples)
        rows.append(
            (
                f"arbor search --mode {mode}",
                format_seconds(spread),
                verdict(round(spread.median, 3), COLD_LIMIT_S) + " s",
            )
        )
    return Table("From the shell, a new process each time", ("command", "time", "kept"), tuple(rows))
