"""The state is a function of the set: whatever the order, the batches and the way, it is the same bit for bit."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.graph import rebuilding, similarity
from arbor.graph.consensus import Consensus
from arbor.graph.facts import DocumentFacts
from arbor.graph.policy import ConsensusPolicy
from tests.graph.invented import SMALL_BOUNDARIES, changes
from tests.graph.oracle import judge

POLICIES = (
    ConsensusPolicy(),
    ConsensusPolicy(lambda_milli=600, epsilon_milli=20, corroborated_from=2),
    ConsensusPolicy(lambda_milli=300, max_hops=1, min_similarity_milli=150),
)


@pytest.fixture(autouse=True, scope="module")
def small_boundaries() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "CLASS_BOUNDARIES", SMALL_BOUNDARIES)
        patch.setattr(rebuilding, "CLASS_BOUNDARIES", SMALL_BOUNDARIES)
        # Both ways of finding peers are to be taken.
        patch.setattr("arbor.graph.updating.NEARBY_MAX", 6)
        yield


def rebuilt(documents: list[DocumentFacts], policy: ConsensusPolicy) -> Consensus:
    consensus = Consensus.open(None, policy)
    consensus.rebuild(documents)
    return consensus


def after(documents: dict[str, DocumentFacts], put: list[DocumentFacts], removed: list[str]) -> None:
    for key in removed:
        documents.pop(key, None)
    documents.update((each.key, each) for each in put)


@given(
    st.lists(changes(), min_size=1, max_size=7), st.sampled_from(POLICIES), st.randoms(use_true_random=False)
)
@settings(max_examples=60)
def test_any_history_gives_the_state_of_a_rebuild(
    history: list[tuple[list[DocumentFacts], list[str]]], policy: ConsensusPolicy, source: random.Random
) -> None:
    stepwise = Consensus.open(None, policy)
    documents: dict[str, DocumentFacts] = {}
    for put, removed in history:
        stepwise.apply(put, removed, at_once=False)
        after(documents, put, removed)
    shuffled = list(documents.values())
    source.shuffle(shuffled)
    assert stepwise.fingerprint() == rebuilt(shuffled, policy).fingerprint()
    one_by_one = Consensus.open(None, policy)
    for each in shuffled:
        one_by_one.apply([each], at_once=False)
    assert stepwise.fingerprint() == one_by_one.fingerprint()


@given(st.lists(changes(), min_size=1, max_size=5), st.sampled_from(POLICIES))
@settings(max_examples=50)
def test_it_is_what_the_definition_says(
    history: list[tuple[list[DocumentFacts], list[str]]], policy: ConsensusPolicy
) -> None:
    consensus = Consensus.open(None, policy)
    documents: dict[str, DocumentFacts] = {}
    for put, removed in history:
        consensus.apply(put, removed, at_once=False)
        after(documents, put, removed)
    found = {key: (str(s.label), s.score_ppm, s.groups) for key, s in consensus.items()}
    assert found == judge(list(documents.values()), policy)


@given(st.lists(changes(), min_size=2, max_size=5), st.sampled_from(POLICIES))
@settings(max_examples=40)
def test_previewed_stepwise_and_at_once_tell_the_same_ripple(
    history: list[tuple[list[DocumentFacts], list[str]]], policy: ConsensusPolicy
) -> None:
    consensus = Consensus.open(None, policy)
    for put, removed in history[:-1]:
        consensus.apply(put, removed, at_once=False)
    put, removed = history[-1]
    untouched = consensus.fingerprint()
    previewed = consensus.preview(put, removed)
    assert consensus.fingerprint() == untouched
    at_once = consensus.fork().apply(put, removed, at_once=True)
    assert consensus.apply(put, removed, at_once=False) == previewed == at_once


@given(st.lists(changes(), min_size=1, max_size=4))
@settings(max_examples=30)
def test_taking_everything_back_leaves_nothing(history: list[tuple[list[DocumentFacts], list[str]]]) -> None:
    consensus = Consensus.open(None)
    nothing = consensus.fingerprint()
    keys: set[str] = set()
    for put, removed in history:
        consensus.apply(put, removed, at_once=False)
        keys.update(each.key for each in put)
    consensus.apply([], sorted(keys), at_once=False)
    assert consensus.fingerprint() == nothing


@given(changes(), changes(), st.sampled_from(POLICIES))
@settings(max_examples=30)
def test_the_ripple_names_every_label_that_moved(
    first: tuple[list[DocumentFacts], list[str]],
    second: tuple[list[DocumentFacts], list[str]],
    policy: ConsensusPolicy,
) -> None:
    consensus = Consensus.open(None, policy)
    consensus.apply(*first)
    before = dict(consensus.items())
    ripple = consensus.apply(*second, at_once=False)
    now = dict(consensus.items())
    told = {change.key: (change.before, change.after) for change in ripple.changed}
    for key in before.keys() | now.keys():
        labels = (before[key].label if key in before else None, now[key].label if key in now else None)
        twins = [other for other in now if other != key and consensus.peers(other) == consensus.peers(key)]
        if labels[0] != labels[1] and not twins:
            assert told.get(key) == labels
    for reach in ripple.reached:
        assert before[reach.key].score_ppm != now[reach.key].score_ppm or (
            before[reach.key].groups != now[reach.key].groups
        )
