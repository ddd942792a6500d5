"""The rows of the consensus tables as values, and how they are packed into columns."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class KeyRow(NamedTuple):
    """One key of the set.

    Attributes:
        key: The path.
        document: Number of the document that is there.
        origins: What this key declares, sorted.
        disputes: Keys that this key contradicts, sorted.
    """

    key: str
    document: int
    origins: tuple[str, ...]
    disputes: tuple[str, ...]


class DocumentRow(NamedTuple):
    """One document of the set.

    Attributes:
        id: Its number.
        oid: Names its content.
        size: Sum of the values of its signature.
        groups: Independent groups of peers.
        supports: Support at one, two and three hops, in millionths.
        score: In millionths.
        origins: Declared at any of its keys, sorted.
        nearest: For each independent group the number of the nearest member and its similarity, one after the other.
    """

    id: int
    oid: bytes
    size: int
    groups: int
    supports: tuple[int, int, int]
    score: int
    origins: tuple[str, ...]
    nearest: tuple[int, ...]

    def nearest_peers(self) -> Iterator[tuple[int, int]]:
        """(number, similarity) of the nearest member of each independent group."""
        return zip(self.nearest[::2], self.nearest[1::2], strict=True)


class Content(NamedTuple):
    """What is known of a document's text.

    Attributes:
        terms: Hashes of its different terms.
        steps: One byte for each: how much it is repeated.
        sequence: The text as indexes into `terms`.
    """

    terms: tuple[int, ...]
    steps: bytes
    sequence: bytes


class Edge(NamedTuple):
    """One peer of a document.

    Attributes:
        peer: Its number.
        similarity: In millionths.
        copy: Whether one is a copy of the other.
    """

    peer: int
    similarity: int
    copy: bool


def pack_numbers(numbers: Iterable[int]) -> bytes:
    """Whole numbers of up to 63 bits as bytes; the file never leaves the machine."""
    return array("q", numbers).tobytes()


def unpack_numbers(data: bytes) -> tuple[int, ...]:
    """The numbers that `pack_numbers` packed."""
    numbers = array("q")
    numbers.frombytes(data)
    return tuple(numbers)


def join_words(words: Iterable[str]) -> str:
    """Keys or origins as one text; none of them holds a line feed."""
    return "\n".join(words)


def split_words(text: str) -> tuple[str, ...]:
    """The words that `join_words` joined."""
    return tuple(text.split("\n")) if text else ()


def key_row(row: tuple[str, int, str, str]) -> KeyRow:
    """A key from its columns."""
    return KeyRow(row[0], row[1], split_words(row[2]), split_words(row[3]))


def document_row(row: tuple[int, bytes, int, int, int, int, int, int, str, bytes]) -> DocumentRow:
    """A document from its columns."""
    number, oid, size, groups, one, two, three, score, origins, nearest = row
    return DocumentRow(
        number, oid, size, groups, (one, two, three), score, split_words(origins), unpack_numbers(nearest)
    )
