"""Copies are told from tellings, and groups of peers do not reach beyond a document's own peers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest

from arbor.graph.copies import Runs, is_copy
from arbor.graph.facts import DocumentFacts, origin_of_document, term_hash
from arbor.graph.grouping import Peer, group_peers
from arbor.graph.similarity import count_step, sign
from tests.graph.labelled_set import edit_lightly, fact, half, topics


def runs_of(facts: DocumentFacts, frequency_of: Callable[[int], int] = lambda _: 1) -> Runs:
    hashes = tuple(map(term_hash, facts.terms))
    signature = sign(hashes, bytes(map(count_step, facts.counts)), frequency_of)
    return Runs(hashes, facts.sequence, signature)


@pytest.mark.parametrize(
    "topic", [*half("all"), *topics("short_"), *topics("foreign_")], ids=lambda topic: topic.name
)
def test_independent_tellings_are_no_copies(topic: object) -> None:
    told = [runs_of(fact("a", text)) for text in topic.told]  # type: ignore[attr-defined]
    assert not any(is_copy(one, other) for one, other in itertools.combinations(told, 2))


@pytest.mark.parametrize("kind", ["", "short_", "foreign_"])
def test_edited_reposts_are_copies_of_their_original(kind: str) -> None:
    source = random.Random(11)
    found = total = 0
    for topic in topics(kind):
        others = [text for other in topics(kind) if other.language == topic.language for text in other.told]
        for text in topic.told:
            edited = edit_lightly(text, topic.language, others, source, 0.1)
            found += is_copy(runs_of(fact("a", text)), runs_of(fact("b", edited)))
            total += 1
    assert found >= total - 1, f"{found} of {total}"


def test_a_quotation_inside_two_long_texts_makes_them_one_source() -> None:
    quoted = " ".join(f"quote{number}" for number in range(12))
    one = fact("a", quoted + " " + " ".join(f"alpha{number}" for number in range(34)))
    other = fact("b", " ".join(f"beta{number}" for number in range(34)) + " " + quoted)
    shuffled = quoted.split()[::3] + quoted.split()[1::3] + quoted.split()[2::3]
    retold = fact("c", " ".join(f"{word} gamma{number}" for number, word in enumerate(shuffled)))
    assert is_copy(runs_of(one), runs_of(other))
    assert is_copy(runs_of(other), runs_of(one))
    assert not is_copy(runs_of(one), runs_of(retold))


def test_a_word_that_is_repeated_is_no_wording() -> None:
    runs = runs_of(fact("a", "coral coral reef coral reef reef tide"))
    assert runs.triples()
    assert all(len(set(run)) == 3 for run in runs.triples())


def test_how_common_the_words_of_short_texts_are_decides_nothing() -> None:
    source = random.Random(3)
    told = [fact("a", text) for topic in topics("short_") for text in topic.told]
    for one, other in itertools.combinations(told, 2):
        frequency = {term: source.choice((1, 9, 80)) for term in {*one.terms, *other.terms}}
        common = {term_hash(term): count for term, count in frequency.items()}.__getitem__
        assert is_copy(runs_of(one), runs_of(other)) == is_copy(runs_of(one, common), runs_of(other, common))


def test_a_name_that_both_use_is_no_quotation() -> None:
    name = "congestion window slow start threshold"
    one = fact("a", name + " " + " ".join(f"alpha{number} shared{number % 4}" for number in range(16)))
    other = fact("b", " ".join(f"beta{number} shared{-number % 4}" for number in range(16)) + " " + name)
    assert not is_copy(runs_of(one), runs_of(other))


def test_three_words_that_both_use_are_no_quotation() -> None:
    one = fact("a", "slow start threshold " + " ".join(f"alpha{number}" for number in range(40)))
    other = fact("b", " ".join(f"beta{number}" for number in range(40)) + " slow start threshold")
    assert not is_copy(runs_of(one), runs_of(other))


def test_texts_without_runs_are_no_copies() -> None:
    assert not is_copy(runs_of(fact("a", "")), runs_of(fact("b", "")))
    assert not is_copy(runs_of(fact("a", "coral")), runs_of(fact("b", "coral")))


def peer(number: int, similarity: int = 500_000, origins: tuple[str, ...] = ()) -> Peer:
    return Peer(number, similarity, bytes([number]) * 32, origins)


def members(groups: tuple[tuple[Peer, ...], ...]) -> list[list[int]]:
    return [[each.document for each in group] for group in groups]


def test_chains_of_copies_and_origins_join_peers() -> None:
    peers = [peer(1), peer(2), peer(3, origins=("host:a",)), peer(4, 900_000, ("host:a",)), peer(5)]
    copies = {0: set(), 1: {2}, 2: {1}, 3: set(), 4: {5}, 5: {4}}
    groups = group_peers(peer(0), peers, copies)
    assert groups.own == ()
    assert members(groups.others) == [[4, 3, 5], [1, 2]]


def test_a_chain_through_a_stranger_joins_nobody() -> None:
    # 9 is a copy of both peers, but no peer of the document: two publishers stay two.
    copies = {0: set(), 1: {9}, 2: {9}}
    assert members(group_peers(peer(0), [peer(1), peer(2)], copies).others) == [[1], [2]]


def test_own_copies_own_origin_and_own_cores_do_not_count() -> None:
    home = peer(0, origins=("author:ada",))
    core = peer(3, origins=(origin_of_document(home.oid),))
    peers = [peer(1), peer(2, origins=("author:ada",)), core, peer(4)]
    groups = group_peers(home, peers, {0: {1}, 1: {0}, 2: set(), 3: set(), 4: set()})
    assert [each.document for each in groups.own] == [1, 2, 3]
    assert members(groups.others) == [[4]]


def test_grouping_does_not_depend_on_the_order_of_peers() -> None:
    peers = [
        peer(number, 300_000 + number % 3, ("host:a",) if number % 4 == 0 else ()) for number in range(1, 9)
    ]
    copies = {number: {number + 1} if number in (1, 5) else {number - 1} if number in (2, 6) else set()
              for number in range(9)}  # fmt: skip
    wanted = group_peers(peer(0), peers, copies)
    source = random.Random(2)
    for _ in range(20):
        source.shuffle(peers)
        assert group_peers(peer(0), peers, copies) == wanted
