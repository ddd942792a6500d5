"""The whole state made at once from all documents; the only module of the room that needs numpy.

It gives, row for row, what `updating` gives, by other means: terms are counted and ranked in arrays, and each document
is compared with the postings of its signature in a few array operations. Everything stays in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from arbor.graph.collection import Collection
from arbor.graph.copies import Runs, is_copy
from arbor.graph.grouping import group_peers
from arbor.graph.policy import HOPS_MAX, PPM, ConsensusPolicy
from arbor.graph.settling import peer_of
from arbor.graph.similarity import (
    CLASS_BOUNDARIES,
    CLASS_WEIGHTS,
    SCALE,
    SIGNATURE_TERMS,
    commonplace_hashes,
    least_shared,
    round_size,
    unpack_signature,
)
from arbor.graph.standing import first_support, passed_on, total_score
from arbor.index.consensus_rows import DocumentRow
from arbor.index.consensus_store import ConsensusStore
from arbor.processes import map_forked

Numbers: TypeAlias = npt.NDArray[np.int64]
EdgeRow: TypeAlias = tuple[int, int, int, bool]

_RANGE_DOCUMENTS = 400


class _Terms(NamedTuple):
    """Every term of every document.

    Attributes:
        hashes: Different terms, rising.
        frequencies: Documents that hold each.
        positions: For each occurrence of a term in a document, the document's position.
        numbers: The term's position in `hashes`.
        values: What it adds to the document's signature; 0 outside of it.
        weights: Its class weight.
    """

    hashes: Numbers
    frequencies: Numbers
    positions: Numbers
    numbers: Numbers
    values: Numbers
    weights: Numbers


class _Signatures(NamedTuple):
    """Every signature, and the postings that they give.

    Attributes:
        packed: In the order of the documents.
        sizes: Of each.
        starts: Where the postings of each term start; one more at the end.
        documents: Positions of the documents, term by term, rising.
        values: The values beside them.
        term_starts: Where the terms of each document start; one more at the end.
        terms: Terms of the signatures, document by document, best first.
        term_values: The values beside them.
    """

    packed: list[bytes]
    sizes: Numbers
    starts: Numbers
    documents: Numbers
    values: Numbers
    term_starts: Numbers
    terms: Numbers
    term_values: Numbers


def rebuild(
    store: ConsensusStore, collection: Collection, policy: ConsensusPolicy, stamp: Mapping[str, str]
) -> None:
    """Fill an empty state with a collection.

    Args:
        store: Empty tables; the work is done in one transaction.
        collection: The documents, pruned.
        policy: The numbers that decide.
        stamp: What to note about where the state comes from.
    """
    terms = _rank_terms(collection)
    signatures = _sign_all(terms, len(collection.ids))
    edges = _connect_all(collection, signatures, policy)
    with store.transaction():
        store.write_meta(stamp)
        for key in collection.keys.values():
            store.put_key(key)
        store.put_contents(
            (number, collection.content(position)) for position, number in enumerate(collection.ids)
        )
        store.put_signatures(zip(collection.ids, signatures.packed, strict=True))
        _write_terms(store, terms, collection)
        store.put_edges(edges)
        store.put_documents(_settle_all(collection, signatures.sizes.tolist(), edges, policy))


def _rank_terms(collection: Collection) -> _Terms:
    raw = np.frombuffer(b"".join(collection.packed_terms), np.int64)
    steps = np.frombuffer(b"".join(collection.steps), np.uint8).astype(np.int64)
    lengths = np.array([len(steps) for steps in collection.steps], np.int64)
    positions = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    hashes, numbers, frequencies = np.unique(raw, return_inverse=True, return_counts=True)
    numbers = numbers.astype(np.int64).reshape(-1)
    classes = np.searchsorted(np.array(CLASS_BOUNDARIES), frequencies, side="right")
    common = np.isin(hashes, np.fromiter(commonplace_hashes(), np.int64))
    classes[(classes == 0) & common] = 1
    weights = np.array(CLASS_WEIGHTS, np.int64)[classes][numbers]
    values = steps * weights
    # Within a document: best first, ties by hash, which is the order of the numbers.
    order = np.lexsort((numbers, -values, positions))
    starts = np.cumsum(lengths) - lengths
    places = np.arange(len(order), dtype=np.int64) - np.repeat(starts, lengths)
    values[order[places >= SIGNATURE_TERMS]] = 0
    return _Terms(
        hashes, frequencies.astype(np.int64), positions[order], numbers[order], values[order], weights[order]
    )


def _sign_all(terms: _Terms, count: int) -> _Signatures:
    kept = terms.values > 0
    documents, numbers = terms.positions[kept], terms.numbers[kept]
    values, weights = terms.values[kept], terms.weights[kept]
    sums = np.bincount(documents, weights=values, minlength=count).astype(np.int64)
    sizes = np.array([round_size(total) for total in sums.tolist()], np.int64)
    bounds = np.searchsorted(documents, np.arange(count + 1))
    packed = []
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        part = slice(start, end)
        packed.append(
            terms.hashes[numbers[part]].tobytes()
            + values[part].astype(np.uint16).tobytes()
            + weights[part].astype(np.uint8).tobytes()
        )
    by_term = np.lexsort((documents, numbers))
    starts = np.searchsorted(numbers[by_term], np.arange(len(terms.hashes) + 1))
    return _Signatures(packed, sizes, starts, documents[by_term], values[by_term], bounds, numbers, values)


def _connect_all(collection: Collection, signatures: _Signatures, policy: ConsensusPolicy) -> list[EdgeRow]:
    """(document, peer, similarity, copy) of every pair at or over the threshold, once."""
    ranges = [
        range(start, min(start + _RANGE_DOCUMENTS, len(collection.ids)))
        for start in range(0, len(collection.ids), _RANGE_DOCUMENTS)
    ]
    edges: list[EdgeRow] = []
    for part in map_forked(
        lambda span: _connect_range(collection, signatures, policy, span), ranges, at_least=4
    ):
        edges += part
    return edges


def _connect_range(
    collection: Collection, signatures: _Signatures, policy: ConsensusPolicy, span: range
) -> list[EdgeRow]:
    runs: dict[int, Runs] = {}

    def runs_of(position: int) -> Runs:
        if position not in runs:
            content = collection.content(position)
            runs[position] = Runs(
                content.terms, content.sequence, unpack_signature(signatures.packed[position])
            )
        return runs[position]

    found: list[EdgeRow] = []
    for position in span:
        peers, likenesses = _find_later_peers(position, signatures, policy.min_similarity_ppm)
        for peer, likeness in zip(peers.tolist(), likenesses.tolist(), strict=True):
            copy = is_copy(runs_of(position), runs_of(peer))
            found.append((collection.ids[position], collection.ids[peer], likeness, copy))
    return found


def _find_later_peers(
    position: int, signatures: _Signatures, min_similarity_ppm: int
) -> tuple[Numbers, Numbers]:
    """Positions after this one at or over the threshold, and their similarities in millionths."""
    own = slice(signatures.term_starts[position], signatures.term_starts[position + 1])
    parts, shares = [], []
    for term, value in zip(signatures.terms[own].tolist(), signatures.term_values[own].tolist(), strict=True):
        start, end = signatures.starts[term], signatures.starts[term + 1]
        if end - start > 1:
            parts.append(signatures.documents[start:end])
            shares.append(np.minimum(signatures.values[start:end], value))
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    size = int(signatures.sizes[position])
    # Sums of at most 48 values of at most 256 are exact in floating point.
    weighed = np.bincount(np.concatenate(parts), weights=np.concatenate(shares))
    weighed[: position + 1] = 0
    peers = np.flatnonzero(weighed >= least_shared(size, min_similarity_ppm))
    shared = weighed[peers].astype(np.int64)
    sizes = signatures.sizes[peers]
    breadths = 3 * np.minimum(sizes, size) + np.maximum(sizes, size)
    likenesses = np.minimum(PPM, SCALE * shared // breadths)
    kept = likenesses >= min_similarity_ppm
    return peers[kept], likenesses[kept]


def _write_terms(store: ConsensusStore, terms: _Terms, collection: Collection) -> None:
    words = collection.words
    store.put_frequencies(
        (number, words[number], frequency)
        for number, frequency in zip(terms.hashes.tolist(), terms.frequencies.tolist(), strict=True)
    )
    ids = np.array(collection.ids, np.int64)
    order = np.lexsort((terms.positions, terms.numbers))
    store.put_postings(
        zip(
            terms.hashes[terms.numbers[order]].tolist(),
            ids[terms.positions[order]].tolist(),
            terms.values[order].tolist(),
            strict=True,
        )
    )


def _settle_all(
    collection: Collection,
    sizes: list[int],
    edges: list[EdgeRow],
    policy: ConsensusPolicy,
) -> Iterator[DocumentRow]:
    """The rows of all documents: peers grouped, supports passed on hop by hop."""
    peers: dict[int, list[tuple[int, int]]] = {}
    copies: dict[int, set[int]] = {number: set() for number in collection.ids}
    for one, other, likeness, copy in edges:
        for document, peer in ((one, other), (other, one)):
            peers.setdefault(document, []).append((peer, likeness))
            if copy:
                copies[document].add(peer)
    origins = collection.origins()
    rows = {
        number: DocumentRow(number, oid, size, 0, (0, 0, 0), 0, origins.get(number, ()), ())
        for number, oid, size in zip(collection.ids, collection.oids, sizes, strict=True)
    }
    supports: dict[int, list[int]] = {}
    for document, likenesses in peers.items():
        found = [peer_of(rows[peer], ppm) for peer, ppm in likenesses]
        nearest = group_peers(peer_of(rows[document], PPM), found, copies).nearest
        rows[document] = rows[document]._replace(groups=len(nearest) // 2, nearest=nearest)
        supports[document] = [first_support(nearest[1::2])]
    for hop in range(1, policy.hops):
        passed = {
            document: sum(
                passed_on(ppm, supports[peer][hop - 1], policy)
                for peer, ppm in rows[document].nearest_peers()
            )
            for document in supports
        }
        for document, support in passed.items():
            supports[document].append(support)
    for number, row in rows.items():
        own = supports.get(number, [])
        one, two, three = (*own, *[0] * (HOPS_MAX - len(own)))
        yield row._replace(supports=(one, two, three), score=total_score(own, policy))
