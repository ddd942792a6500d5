"""Similarity: symmetric whole numbers, weights in classes, and bounds that lose no peer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arbor.graph.facts import term_hash
from arbor.graph.similarity import (
    CLASS_BOUNDARIES,
    MIN_SIZE,
    Signature,
    breadth,
    count_step,
    effective_class,
    frequency_class,
    least_shared,
    make_signature,
    pack_signature,
    reweigh,
    round_size,
    shared_terms,
    shared_weight,
    sign,
    similarity,
    unpack_signature,
)

PPM = 1_000_000
key_terms = st.dictionaries(
    st.integers(0, 60), st.tuples(st.sampled_from((64, 32, 16)), st.sampled_from((2, 3, 4))), max_size=48
)


def make(terms: dict[int, tuple[int, int]]) -> Signature:
    return make_signature(
        sorted((-weight * step, number, weight) for number, (weight, step) in terms.items())
    )


@given(key_terms, key_terms)
def test_it_is_symmetric_and_between_nothing_and_one(
    first: dict[int, tuple[int, int]], second: dict[int, tuple[int, int]]
) -> None:
    one, other = make(first), make(second)
    assert similarity(one, other) == similarity(other, one)
    assert 0 <= similarity(one, other) <= PPM
    assert shared_terms(one, other) == shared_terms(other, one)
    assert (similarity(one, other) > 0) == bool(first.keys() & second.keys())


@given(key_terms, key_terms, st.integers(50_000, PPM))
def test_no_peer_lies_under_the_bound_that_the_search_uses(
    first: dict[int, tuple[int, int]], second: dict[int, tuple[int, int]], threshold: int
) -> None:
    one, other = make(first), make(second)
    shared = shared_weight(one.value_of(), other.value_of())
    if similarity(one, other) >= threshold:
        assert shared >= least_shared(one.size, threshold)


@given(key_terms)
def test_a_packed_signature_comes_back(terms: dict[int, tuple[int, int]]) -> None:
    signature = make(terms)
    assert unpack_signature(pack_signature(signature)) == signature


@given(st.integers(0, 48 * 256), st.integers(0, 48 * 256))
def test_sizes_are_rounded_down_and_keep_their_order(one: int, other: int) -> None:
    assert round_size(one) <= max(one, MIN_SIZE)
    assert round_size(one) >= max(one * 4 // 5, MIN_SIZE)
    assert (one <= other) <= (round_size(one) <= round_size(other))
    assert breadth(round_size(one), round_size(other)) == breadth(round_size(other), round_size(one))


@given(st.lists(st.integers(1, 700), min_size=1, max_size=40), st.data())
def test_reweighing_is_signing_anew_when_terms_grow_commoner(
    frequencies: list[int], data: st.DataObject
) -> None:
    hashes = tuple(range(1000, 1000 + len(frequencies)))
    steps = bytes(data.draw(st.sampled_from((2, 3, 4))) for _ in hashes)
    before = dict(zip(hashes, frequencies, strict=True))
    now = {number: count + data.draw(st.sampled_from((0, 0, 1, 9))) for number, count in before.items()}
    old = sign(hashes, steps, before.__getitem__)
    moved = {number: now[number] for number in hashes if now[number] != before[number]}
    assert reweigh(old, moved) == sign(hashes, steps, now.__getitem__)


def test_classes_change_at_the_boundaries_alone() -> None:
    assert [frequency_class(count) for count in (1, 7, 8, 63, 64, 511, 512, 10**6)] == [
        0,
        0,
        1,
        1,
        2,
        2,
        3,
        3,
    ]
    assert CLASS_BOUNDARIES == (8, 64, 512)
    assert [effective_class(term_hash("result"), count) for count in (1, 8, 64, 512)] == [1, 1, 2, 3]
    assert effective_class(term_hash("botulism"), 1) == 0
    assert [count_step(count) for count in (1, 2, 3, 4, 99)] == [2, 3, 3, 4, 4]


def test_two_notes_of_three_words_are_not_alike_for_sharing_one() -> None:
    one = make({1: (64, 2), 2: (64, 2), 3: (64, 2)})
    other = make({3: (64, 2), 4: (64, 2), 5: (64, 2)})
    assert similarity(one, other) < 300_000
