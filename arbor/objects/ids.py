"""Object ids: BLAKE3-256 in `derive_key` mode, with one context string for each kind of object.

A chunk can never be mistaken for a node, because the same bytes have another oid under another kind.
Source: BLAKE3 paper, section 2.3 (modes), and RFC 9162 section 2.1.1 for domain separation in Merkle trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum

from blake3 import blake3

from arbor.errors import UsageError

OID_BYTES = 32


class Kind(IntEnum):
    """The kinds of objects, numbered as packs store them. A number is never reused."""

    CHUNK = 1
    MANIFEST = 2
    DOCUMENT = 3
    NODE = 4
    COMMIT = 5
    TAG = 6
    DERIVATION = 7

    @property
    def label(self) -> str:
        """The kind's name in lower case, as people read it."""
        return self.name.lower()


_CONTEXT = "arbor 1 object {}"
_BASES = {int(kind): blake3(derive_key_context=_CONTEXT.format(kind.label)) for kind in Kind}


def object_id(kind: int, data: bytes | memoryview) -> bytes:
    """The 32-byte oid of an object's canonical bytes under its kind."""
    hasher = _BASES[kind].copy()
    hasher.update(data)
    return hasher.digest()


def object_ids(kinds: Iterable[int], data: memoryview, bounds: Sequence[int]) -> list[bytes]:
    """The oids of objects that lie one after the other.

    Args:
        kinds: The kind of each.
        data: Holds them all.
        bounds: Where each begins, and where the last one ends.
    """
    places = zip(kinds, bounds, bounds[1:], strict=False)
    return [object_id(kind, data[start:end]) for kind, start, end in places]


def file_hash(data: bytes | memoryview) -> bytes:
    """The plain BLAKE3-256 of a file's bytes, the value that `b3sum` prints."""
    return blake3(data).digest()


def parse_oid(text: str) -> bytes:
    """The oid of 64 hexadecimal digits.

    Raises:
        UsageError: when the text is anything else.
    """
    try:
        oid = bytes.fromhex(text)
    except ValueError:
        oid = b""
    if len(oid) != OID_BYTES or len(text) != 2 * OID_BYTES:
        raise UsageError(f"'{text}' is not an object id", "an object id is 64 hexadecimal digits")
    return oid
