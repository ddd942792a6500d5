"""What consensus needs to know about one document, worked out from the document alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from arbor.graph.commonplace import commonplace_terms
from arbor.graph.markup import consensus_text
from arbor.lazy import lazy_module
from arbor.processes import batches, map_forked
from arbor.records import dataclass
from arbor.text.analyzer import terms

if TYPE_CHECKING:
    import hashlib
else:  # it loads OpenSSL, and a state that is only read hashes no term
    hashlib = lazy_module("hashlib")

POOL_TERMS = 256
"""Different terms that are kept of one document; an index into them fits a byte."""

SEQUENCE_MAX = 8192
"""Occurrences of those terms that are kept, from the beginning of the text."""

_BATCH = 200
_HASHES_MAX = 500_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """One document of the set, at one key.

    Attributes:
        key: Where the document is: its path in the knowledge base.
        oid: Names the content; documents with one oid are one document, however many keys they have.
        terms: Different terms, at most `POOL_TERMS`, in the order of first appearance.
        counts: How often each occurs in the document, in the order of `terms`.
        sequence: The text as indexes into `terms`, one byte an occurrence, at most `SEQUENCE_MAX`.
        origins: Sorted declared origins, such as `host:example.org` or `author:ada`; documents that share one are
            not independent. Empty for a note that declares nothing.
        disputes: Sorted keys that the document says it contradicts or refutes.
    """

    key: str
    oid: bytes
    terms: tuple[str, ...]
    counts: tuple[int, ...]
    sequence: bytes
    origins: tuple[str, ...] = ()
    disputes: tuple[str, ...] = ()


class _Hashes(dict[str, int]):
    """Order-free numbers for the terms met so far."""

    def __missing__(self, term: str) -> int:
        digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        number = int.from_bytes(digest, "big") >> 1
        if len(self) >= _HASHES_MAX:
            self.clear()
        self[term] = number
        return number


_HASHES = _Hashes()


def term_hash(term: str) -> int:
    """The number of a term, 0 to 2^63 - 1: the same in every process, so that it may break ties."""
    return _HASHES[term]


def measure_text(
    text: str, media_type: str = "text/markdown"
) -> tuple[tuple[str, ...], tuple[int, ...], bytes]:
    """The terms, counts and sequence of a document's text.

    Args:
        text: The document's text, passages joined.
        media_type: As in `consensus_text`.

    Returns:
        As in `DocumentFacts`. Of a text with more than `POOL_TERMS` different terms those are kept that occur most
        often, words of general prose after all others, ties by the hash of the term: a rule that looks at nothing but
        the text, and that takes the same of two terms in every text.
    """
    found = terms(consensus_text(text, media_type))
    counts = Counter(found)
    if len(counts) > POOL_TERMS:
        common = commonplace_terms()
        kept = sorted(counts, key=lambda term: (term in common, -counts[term], term_hash(term)))[:POOL_TERMS]
        chosen = set(kept)
        found = [term for term in found if term in chosen]
    pool = tuple(dict.fromkeys(found))
    index = {term: number for number, term in enumerate(pool)}
    sequence = bytes([index[term] for term in found[:SEQUENCE_MAX]])
    return pool, tuple(counts[term] for term in pool), sequence


def document_facts(
    key: str,
    oid: bytes,
    text: str,
    *,
    media_type: str = "text/markdown",
    origins: Iterable[str] = (),
    disputes: Iterable[str] = (),
) -> DocumentFacts:
    """The facts of one document.

    Args:
        key: Its path in the knowledge base.
        oid: Its object id, 32 bytes.
        text: Its text, passages joined.
        media_type: As in `consensus_text`.
        origins: Declared origins; `origin_of_document(oid)` stands for another document, such as a core's source.
        disputes: Keys that it says it contradicts or refutes.
    """
    pool, counts, sequence = measure_text(text, media_type)
    return DocumentFacts(
        key, oid, pool, counts, sequence, tuple(sorted(set(origins))), tuple(sorted(set(disputes) - {key}))
    )


def origin_of_document(oid: bytes) -> str:
    """The origin that a document is by itself, for others to declare: a core names its sources this way."""
    return f"document:{oid.hex()}"


def gather_facts(sources: Sequence[T], read: Callable[[T], DocumentFacts]) -> list[DocumentFacts]:
    """The facts of many documents, worked out over several processes where there are enough of them.

    Args:
        sources: What `read` takes, one for each document.
        read: Reads one document and gives its facts; runs in forked processes, so it must not write anything.

    Returns:
        In the order of `sources`.
    """
    gathered: list[DocumentFacts] = []
    words: dict[str, str] = {}
    for part in map_forked(lambda batch: [read(source) for source in batch], batches(sources, _BATCH)):
        # One string for each word: what comes out of another process shares none.
        gathered += [
            replace(facts, terms=tuple(map(words.setdefault, facts.terms, facts.terms))) for facts in part
        ]
    return gathered
