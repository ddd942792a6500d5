"""The definition of consensus written down as plainly as possible, for a whole set at once and without any index.

It shares the facts of documents and the published numbers with the engine, and none of its code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

from arbor.graph import similarity as numbers
from arbor.graph.commonplace import commonplace_terms
from arbor.graph.copies import COPIED_MILLI, PAIRED_MILLI, QUOTED
from arbor.graph.facts import DocumentFacts, term_hash
from arbor.graph.policy import ConsensusPolicy


class Verdict(NamedTuple):
    """What the definition says of one document."""

    label: str
    score_ppm: int
    groups: int


class _Document(NamedTuple):
    oid: bytes
    weights: dict[str, int]
    values: dict[str, int]
    text: list[str]
    origins: set[str]


def judge(facts: Sequence[DocumentFacts], policy: ConsensusPolicy) -> dict[str, Verdict]:
    """Label, score and groups at every key."""
    documents = _sign_documents(facts)
    likeness: dict[bytes, dict[bytes, int]] = {oid: {} for oid in documents}
    copies: set[frozenset[bytes]] = set()
    for one, other in combinations(documents.values(), 2):
        ppm = _similarity(one, other)
        if ppm >= policy.min_similarity_ppm:
            likeness[one.oid][other.oid] = likeness[other.oid][one.oid] = ppm
            if _is_copy(one, other):
                copies.add(frozenset((one.oid, other.oid)))
    nearest = {oid: _nearest(documents, oid, likeness[oid], copies) for oid in documents}
    scores = _scores(nearest, policy)
    verdicts = {}
    for fact in facts:
        groups = len(nearest[fact.oid])
        label = "NOVEL"
        if groups >= policy.extended_from:
            label = "EXTENDED"
        if groups >= policy.corroborated_from:
            label = "CORROBORATED"
        verdicts[fact.key] = Verdict(label, scores[fact.oid], groups)
    return verdicts


def _sign_documents(facts: Sequence[DocumentFacts]) -> dict[bytes, _Document]:
    unique = {fact.oid: fact for fact in facts}
    held = Counter(term for fact in unique.values() for term in fact.terms)
    documents = {}
    for oid, fact in unique.items():
        weights, values = {}, {}
        for term, count in zip(fact.terms, fact.counts, strict=True):
            weight_class = sum(held[term] >= boundary for boundary in numbers.CLASS_BOUNDARIES)
            if term in commonplace_terms():
                weight_class = max(weight_class, 1)
            weights[term] = numbers.CLASS_WEIGHTS[weight_class]
            values[term] = weights[term] * {1: 2, 2: 3, 3: 3}.get(count, 4)
        best = sorted(
            (term for term in values if values[term]), key=lambda term: (-values[term], term_hash(term))
        )
        best = best[: numbers.SIGNATURE_TERMS]
        text = [fact.terms[index] for index in fact.sequence if fact.terms[index] in best]
        origins = {origin for each in facts if each.oid == oid for origin in each.origins}
        documents[oid] = _Document(
            oid, {t: weights[t] for t in best}, {t: values[t] for t in best}, text, origins
        )
    return documents


def _size(document: _Document) -> int:
    total = sum(document.values.values())
    step = 1
    while total >= 8 * step:
        step *= 2
    return max(total // step * step, numbers.MIN_SIZE)


def _similarity(one: _Document, other: _Document) -> int:
    shared = sum(min(one.values[term], other.values[term]) for term in one.values if term in other.values)
    low, high = sorted((_size(one), _size(other)))
    share = Fraction(4 * shared, 3 * low + high)
    # The scale is a whole number of millionths, rounded down once more.
    full = Fraction(*numbers.FULL_MATCH)
    return min(1_000_000, int(int(1_000_000 * 4 / full) * share / 4))


def _is_copy(one: _Document, other: _Document) -> bool:
    if _common_milli(_pairs(one), _pairs(other)) >= PAIRED_MILLI:
        return True
    if not _triples(one) & _triples(other):
        return False
    if _common_milli(_triples(one), _triples(other)) >= COPIED_MILLI:
        return True
    shared = set(one.text) & set(other.text)
    for length, share_milli, least in QUOTED:
        quoted = {term for run in _in_a_row(one, length) & _in_a_row(other, length) for term in run}
        if len(quoted) >= least and len(quoted) * 1000 >= share_milli * len(shared):
            return True
    return False


def _common_milli(first: set[object], second: set[object]) -> Fraction:
    return Fraction(1000 * len(first & second), min(len(first), len(second)) or 1)


def _pairs(document: _Document) -> set[object]:
    text = document.text
    return {
        frozenset((term, other))
        for position, term in enumerate(text)
        for other in text[position + 1 : position + 3]
        if other != term
    }


def _triples(document: _Document) -> set[object]:
    text = document.text
    return {
        (text[first], text[second], text[third])
        for first in range(len(text))
        for second in range(first + 1, min(first + 3, len(text)))
        for third in range(second + 1, min(second + 3, len(text)))
        if len({text[first], text[second], text[third]}) == 3
    }


def _in_a_row(document: _Document, length: int) -> set[tuple[str, ...]]:
    text = document.text
    return {tuple(text[start : start + length]) for start in range(len(text) - length + 1)}


def _nearest(
    documents: dict[bytes, _Document], home: bytes, peers: dict[bytes, int], copies: set[frozenset[bytes]]
) -> list[tuple[bytes, int]]:
    groups = [{oid} for oid in (home, *peers)]
    for one, other in combinations((home, *peers), 2):
        names = [{*documents[oid].origins, f"document:{oid.hex()}"} for oid in (one, other)]
        if frozenset((one, other)) in copies or names[0] & names[1]:
            joined = next(group for group in groups if one in group)
            absorbed = next(group for group in groups if other in group)
            if joined is not absorbed:
                groups.remove(absorbed)
                joined |= absorbed
    best = []
    for group in groups:
        if home not in group:
            oid = min(group, key=lambda each: (-peers[each], each))
            best.append((oid, peers[oid]))
    return best


def _scores(nearest: dict[bytes, list[tuple[bytes, int]]], policy: ConsensusPolicy) -> dict[bytes, int]:
    full = policy.corroborated_from * 1_000_000
    support = {oid: sum(ppm for _, ppm in peers) for oid, peers in nearest.items()}
    scores = dict.fromkeys(nearest, 0)
    hop = 1
    while True:
        influence = Fraction(policy.lambda_milli, 1000) ** hop
        for oid in scores:
            scores[oid] += int(support[oid] * influence)
        hop += 1
        influence *= Fraction(policy.lambda_milli, 1000)
        if hop > policy.max_hops or influence < Fraction(policy.epsilon_milli, 1000):
            return scores
        support = {
            oid: sum(ppm * min(max(support[peer] - ppm, 0), full) // full for peer, ppm in peers)
            for oid, peers in nearest.items()
        }
