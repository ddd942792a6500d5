"""How alike two documents are: the share of weighted key terms that they have in common, in whole numbers.

A term weighs the less the more documents hold it, but only in four classes, so that a document that comes or goes
moves a weight only when it carries the term over a boundary. The best `SIGNATURE_TERMS` of a document are its
signature; two documents are compared by their signatures alone. Overlap of weighted sets instead of a cosine keeps
everything in integers without a square root, so that sums agree bit for bit in every order.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from arbor.graph.commonplace import commonplace_terms
from arbor.graph.facts import term_hash
from arbor.graph.policy import PPM
from arbor.text.analyzer import TERMS_ID

ENGINE_ID = f"arbor-consensus/2 {TERMS_ID}"
"""Names everything that decides similarity, groups and scores; state made under another id is out of date."""

SIGNATURE_TERMS = 48
CLASS_BOUNDARIES = (8, 64, 512)
"""Documents that hold a term: under 8 it weighs 64, under 64 half of that, under 512 a quarter, from there nothing."""

CLASS_WEIGHTS = (64, 32, 16, 0)
COUNT_STEPS = (0, 2, 3, 3, 4)
"""Factor for a term that occurs once, twice or three times, and four times or more: a word that is repeated says more
about the topic, but never more than twice as much."""

SIZE_BITS = 3
"""Sizes of signatures are rounded down to so many leading bits (4, 5, 6 or 7 times a power of two). So a term that
leaves a signature seldom changes the size, and then no document can become more similar to another by it."""

MIN_SIZE = 1024
"""Weight of eight rare terms. A document with less than that is compared as if it had it: two notes of three words each
that share one of them do not corroborate each other."""

FULL_MATCH = (7, 10)
"""Two documents that share seven tenths of their weighted key terms are as alike as texts get (1.0): independent
authors never choose all the same words."""

_COUNT_MAX = len(COUNT_STEPS) - 1
_HOUSE_CLASS = len(CLASS_BOUNDARIES)
_PACKED_TERM_BYTES = 11
SCALE = PPM * 4 * FULL_MATCH[1] // FULL_MATCH[0]
"""Similarity in millionths is `SCALE * shared // breadth`, with the breadth in quarters."""


class Signature(NamedTuple):
    """What a document is compared by: its best key terms, best first, ties by hash.

    Attributes:
        hashes: `term_hash` of each.
        values: What each adds when it is shared: class weight times count step, 1 to 256.
        weights: The class weight of each alone.
        size: Sum of the values, rounded by `round_size`.
    """

    hashes: tuple[int, ...]
    values: tuple[int, ...]
    weights: tuple[int, ...]
    size: int

    def value_of(self) -> dict[int, int]:
        """The value of each term by its hash."""
        return dict(zip(self.hashes, self.values, strict=True))


_commonplace: set[int] = set()


def commonplace_hashes() -> set[int]:
    """Hashes of the words of general prose, which start one class lower."""
    if not _commonplace:
        _commonplace.update(map(term_hash, commonplace_terms()))
    return _commonplace


def frequency_class(frequency: int) -> int:
    """The class of a term that so many documents hold, 0 (rare) to 3 (house word, weighs nothing)."""
    return bisect_right(CLASS_BOUNDARIES, frequency)


def effective_class(number: int, frequency: int) -> int:
    """The class of one term, given by its hash, that so many documents hold."""
    weight_class = frequency_class(frequency)
    return 1 if weight_class == 0 and number in commonplace_hashes() else weight_class


def count_step(count: int) -> int:
    """The factor for a term that occurs so often in a document."""
    return COUNT_STEPS[min(count, _COUNT_MAX)]


def sign(hashes: tuple[int, ...], steps: bytes, frequency_of: Callable[[int], int]) -> Signature:
    """The signature of a document.

    Args:
        hashes: `term_hash` of each of its different terms.
        steps: `count_step` of each.
        frequency_of: Documents of the set that hold a term, this one included.
    """
    ranked: list[tuple[int, int, int]] = []
    for number, step in zip(hashes, steps, strict=True):
        weight_class = effective_class(number, frequency_of(number))
        if weight_class < _HOUSE_CLASS:
            weight = CLASS_WEIGHTS[weight_class]
            ranked.append((-step * weight, number, weight))
    ranked.sort()
    return make_signature(ranked[:SIGNATURE_TERMS])


def make_signature(ranked: Sequence[tuple[int, int, int]]) -> Signature:
    """The signature of (minus value, hash, weight) in rising order."""
    values, hashes, weights = zip(*ranked, strict=True) if ranked else ((), (), ())
    total = -sum(values)
    return Signature(hashes, tuple(-value for value in values), weights, round_size(total))


def reweigh(signature: Signature, frequencies: Mapping[int, int]) -> Signature:
    """The signature when the documents that hold some of its terms are more or fewer, and no other term enters."""
    ranked = []
    for number, value, weight in zip(signature.hashes, signature.values, signature.weights, strict=True):
        new_weight = weight
        if number in frequencies:
            new_weight = CLASS_WEIGHTS[effective_class(number, frequencies[number])]
        if new_weight:
            ranked.append((-value // weight * new_weight, number, new_weight))
    return make_signature(sorted(ranked))


def round_size(total: int) -> int:
    """A sum of values rounded down to its `SIZE_BITS` leading bits, and at least `MIN_SIZE`."""
    shift = max(total.bit_length() - SIZE_BITS, 0)
    return max(total >> shift << shift, MIN_SIZE)


def breadth(size: int, other_size: int) -> int:
    """What the shared weight is measured by, in quarters: three parts the smaller signature, one part the larger."""
    low, high = (size, other_size) if size < other_size else (other_size, size)
    return 3 * low + high


def shared_weight(values: Mapping[int, int], other_values: Mapping[int, int]) -> int:
    """Sum over the terms that both signatures hold of the smaller of the two values."""
    common = values.keys() & other_values.keys()
    return sum(map(min, map(values.__getitem__, common), map(other_values.__getitem__, common)))


def scale_similarity(shared: int, size: int, other_size: int) -> int:
    """Similarity in millionths from the shared weight and the two sizes."""
    return min(PPM, SCALE * shared // breadth(size, other_size))


def similarity(first: Signature, second: Signature) -> int:
    """How alike two documents of one set are, in millionths: 0 (nothing shared) to 1,000,000; symmetric."""
    return scale_similarity(shared_weight(first.value_of(), second.value_of()), first.size, second.size)


def shared_terms(first: Signature, second: Signature) -> tuple[int, ...]:
    """Hashes of the terms that both signatures hold, those that add most first."""
    values, other_values = first.value_of(), second.value_of()
    found = [
        (-min(values[number], other_values[number]), number) for number in values.keys() & other_values.keys()
    ]
    return tuple(number for _, number in sorted(found))


def least_shared(size: int, min_similarity_ppm: int) -> int:
    """A lower bound: documents that share less weight than this with one of this size are no peers of it.

    The shared weight is never more than the sum of either signature, and rounding takes off at most a fifth of that. So
    the breadth is at least `size + 3 * MIN_SIZE` and at least `size + 12/5 * shared`, and a peer has
    `SCALE * shared >= threshold * breadth`.
    """
    by_breadth = -(-min_similarity_ppm * (size + 3 * MIN_SIZE) // SCALE)
    by_size = -(-5 * min_similarity_ppm * size // (5 * SCALE - 12 * min_similarity_ppm))
    return max(by_breadth, by_size, 1)


def pack_signature(signature: Signature) -> bytes:
    """A signature as bytes, eleven for each key term; equal signatures give equal bytes."""
    return (
        array("q", signature.hashes).tobytes()
        + array("H", signature.values).tobytes()
        + bytes(signature.weights)
    )


def unpack_signature(data: bytes) -> Signature:
    """The signature that `pack_signature` packed."""
    count = len(data) // _PACKED_TERM_BYTES
    hashes, values = array("q"), array("H")
    hashes.frombytes(data[: 8 * count])
    values.frombytes(data[8 * count : 10 * count])
    return Signature(tuple(hashes), tuple(values), tuple(data[10 * count :]), round_size(sum(values)))
