"""Labels mean what they say on texts with known corroboration, in English and Chinese.

Thresholds were chosen on every second topic of the labelled set; the others confirm them.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from arbor.graph.consensus import Consensus
from arbor.graph.facts import DocumentFacts
from tests.graph.labelled_set import greeted, half, neighbours, reposted, tellings, topics


def labels(documents: Iterable[DocumentFacts], prefix: str) -> list[str]:
    consensus = Consensus.open()
    consensus.rebuild(documents)
    return [str(standing.label) for key, standing in consensus.items() if key.startswith(prefix)]


@pytest.mark.parametrize(("which", "recall"), [("tuned", 0.85), ("confirming", 0.95), ("all", 0.9)])
def test_tellings_are_corroborated_and_neighbours_are_not(which: str, recall: float) -> None:
    chosen = half(which)
    documents = [*tellings(chosen), *neighbours(chosen)]
    told, near = labels(documents, "told/"), labels(documents, "near/")
    assert told.count("CORROBORATED") >= recall * len(told)
    assert near.count("CORROBORATED") == 0  # precision 1
    assert near.count("NOVEL") >= 0.95 * len(near)


@pytest.mark.parametrize(("kind", "recall"), [("short_", 1.0), ("foreign_", 0.9)])
@pytest.mark.parametrize("crowded", [False, True], ids=["alone", "crowded"])
def test_short_tellings_are_corroborated_whatever_else_is_there(
    kind: str, recall: float, crowded: bool
) -> None:
    chosen = topics(kind)
    others = [*tellings(topics()), *neighbours(topics())] if crowded else []
    names = {f"told/{topic.name}/" for topic in chosen}
    documents = [*tellings(chosen), *neighbours(chosen)]
    consensus = Consensus.open()
    consensus.rebuild(
        [*documents, *(each for each in others if each.key.rpartition("/")[0] + "/" not in names)]
    )
    found = [str(label.label) for key, label in consensus.items() if key.rpartition("/")[0] + "/" in names]
    assert found.count("CORROBORATED") >= recall * len(found)


@pytest.mark.parametrize("kind", ["short_", "foreign_"])
@pytest.mark.parametrize("strength", [0.0, 0.05, 0.1, 0.15, 0.2])
def test_three_reposts_of_a_short_text_corroborate_nobody(kind: str, strength: float) -> None:
    for seed in range(3):
        chosen = topics(kind)
        for reposts in (reposted, greeted):
            found = labels([*reposts(chosen, seed, strength), *neighbours(chosen)], "repost/")
            assert len(found) == 4 * len(chosen)
            assert found.count("CORROBORATED") == 0


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_knowledge_base_of_a_few_notes_is_enough(count: int) -> None:
    found = labels(tellings(topics()[:count]), "told/")
    assert found == ["CORROBORATED"] * (4 * count)


@pytest.mark.parametrize("strength", [0.0, 0.05, 0.1, 0.15])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_three_edited_reposts_corroborate_nobody(strength: float, seed: int) -> None:
    found = labels([*reposted(topics(), seed, strength), *neighbours(topics())], "repost/")
    assert len(found) == 4 * len(topics())
    assert found.count("CORROBORATED") == 0


def test_isolated_documents_stay_novel() -> None:
    # One telling of each topic: nobody else says it.
    alone = [next(iter(tellings([topic]))) for topic in topics()]
    assert set(labels(alone, "told/")) == {"NOVEL"}
