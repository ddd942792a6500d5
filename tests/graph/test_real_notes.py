"""Real notes: every order of arrival gives one state, and labels discriminate on every collection."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from arbor.evaluation.collections import iter_documents
from arbor.graph.consensus import Consensus
from arbor.graph.facts import DocumentFacts
from tests.graph.labelled_set import fact

SHARE_MAX = 0.9
"""No label may take a larger share of a collection than this."""


def rebuilt(documents: list[DocumentFacts]) -> Consensus:
    consensus = Consensus.open()
    consensus.rebuild(documents)
    return consensus


@pytest.mark.slow
def test_eight_orders_of_real_notes_agree(shared_data: Path) -> None:
    notes = sorted((shared_data / "kb").rglob("*.md"))[::3]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in notes]
    names = [path.relative_to(shared_data).as_posix() for path in notes]
    kept = {name: fact(name, text) for name, text in zip(names, texts, strict=True)}
    dropped = names[::10]
    replaced = {
        name: fact(name, text[len(text) // 3 :]) for name, text in list(zip(names, texts, strict=True))[5::10]
    }
    final = {key: replaced.get(key, each) for key, each in kept.items() if key not in dropped}
    wanted = rebuilt(list(final.values())).fingerprint()
    for seed in range(8):
        source = random.Random(seed)
        start = [*kept.values()]
        source.shuffle(start)
        consensus = rebuilt(start[: source.randrange(60)])
        steps: list[tuple[list[DocumentFacts], list[str]]] = []
        while start:
            size = source.choice((1, 2, 5, 17, 60))
            steps.append((start[:size], []))
            start = start[size:]
        steps.append((list(replaced.values())[::2], dropped))
        steps.append((list(replaced.values())[1::2], []))
        for put, removed in steps:
            consensus.apply(put, removed)
        assert consensus.fingerprint() == wanted, f"order {seed}"


def read_collection(folder: Path) -> list[DocumentFacts]:
    if (folder / "corpus.jsonl").exists():
        return [fact(each.id, f"{each.title}\n\n{each.text}") for each in iter_documents(folder)]
    paths = sorted(folder.rglob("*.md"))
    return [fact(str(path.relative_to(folder)), path.read_text(encoding="utf-8")) for path in paths]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cranfield", "hotpot100", "cmrc2018_zh", "kb/rust-book", "kb/vue-zh"])
def test_labels_discriminate(shared_data: Path, name: str) -> None:
    counts = rebuilt(read_collection(shared_data / name)).counts()
    total = sum(counts.values())
    assert max(counts.values()) <= SHARE_MAX * total, counts
    assert min(counts.values()) > 0, counts
