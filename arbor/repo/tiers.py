"""Which documents are warm or cold here: local state that never changes an oid.

Hot documents are stored and indexed, warm ones stored and not indexed, cold ones known by their leaf hashes
only.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import msgpack

from arbor.errors import IntegrityError
from arbor.objects.model import split_oids
from arbor.records import dataclass
from arbor.store.compression import compress, decompress
from arbor.store.files import (
    CHECK_BYTES,
    open_regular,
    read_bounded,
    remove_durably,
    seal,
    unpack_sealed,
    write_atomically,
)

TIERS_FILE = "tiers"
WORDS_FILE = "cold-words"
_COMMIT_DIGITS = 12
_VERSION = 1
_MAX_FILE_BYTES = 1 << 30
_WORDS_VERSION = 2


@dataclass(frozen=True, slots=True)
class Tiers:
    """Which documents are warm and cold; every other one is hot.

    Attributes:
        warm, cold: Document oids.
        parts: Cold ones with some passages here.
        arrivals: How often more passages of one of these came: without it the record would not tell that they did.
    """

    warm: frozenset[bytes] = frozenset()
    cold: frozenset[bytes] = frozenset()
    parts: frozenset[bytes] = frozenset()
    arrivals: int = 0

    def tier_of(self, document: bytes) -> str:
        """`hot`, `warm` or `cold`."""
        return "cold" if document in self.cold else "warm" if document in self.warm else "hot"

    def with_tier(self, documents: Iterable[bytes], tier: str) -> Tiers:
        """The tiers after these documents became `hot`, `warm` or `cold`."""
        moved = frozenset(documents)
        warm, cold = self.warm - moved, self.cold - moved
        return replace(
            self,
            warm=warm | moved if tier == "warm" else warm,
            cold=cold | moved if tier == "cold" else cold,
            parts=self.parts - moved,
        )

    def with_parts(self, documents: Iterable[bytes]) -> Tiers:
        """The tiers after some passages of these cold documents came back."""
        came = self.cold & frozenset(documents)
        more = not came.isdisjoint(self.parts)
        return replace(self, parts=self.parts | came, arrivals=self.arrivals + more)


def read_tiers(folder: Path) -> Tiers:
    """The tiers of a KB folder; all hot where nothing is recorded.

    Raises:
        IntegrityError: when the file is damaged.
    """
    try:
        data = read_bounded(folder / TIERS_FILE, _MAX_FILE_BYTES)
    except FileNotFoundError:
        return Tiers()
    try:
        row = list(unpack_sealed(data, "the record of tiers"))
        version, warm, cold, parts, arrivals = row + [b"", 0][len(row) - 3 :]
        warm, cold, parts = (frozenset(split_oids(joined)) for joined in (warm, cold, parts))
        found = Tiers(warm, cold, parts, int(arrivals))
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise IntegrityError("the record of tiers is damaged") from error
    if version != _VERSION:
        raise IntegrityError("the record of tiers was written by another version of arbor")
    return found


def tiers_word(folder: Path) -> str:
    """A word that differs whenever the tiers do; "" where all is hot. It costs a read of a few bytes."""
    try:
        with open_regular(folder / TIERS_FILE) as file:
            return file.read(CHECK_BYTES).hex()
    except FileNotFoundError:
        return ""


def write_tiers(folder: Path, tiers: Tiers) -> None:
    """Replace the record, durably; without warm and cold documents there is none."""
    if not tiers.warm and not tiers.cold:
        remove_durably(folder / TIERS_FILE)
        return
    row = [_VERSION, *(b"".join(sorted(oids)) for oids in (tiers.warm, tiers.cold, tiers.parts))]
    if tiers.arrivals:
        row.append(tiers.arrivals)
    write_atomically(folder / TIERS_FILE, seal(msgpack.packb(row)))


def read_cold_words(folder: Path) -> dict[bytes, str]:
    """The keywords that were kept of documents when they went cold, so that searches still find them by these.

    Raises:
        IntegrityError: when the file is damaged.
    """
    try:
        data = read_bounded(folder / WORDS_FILE, _MAX_FILE_BYTES)
    except FileNotFoundError:
        return {}
    try:
        version, *rest = unpack_sealed(data, "the keywords of cold documents")
        if version != _WORDS_VERSION:
            return {}  # another version's: the documents are found by title and path all the same
        size, packed = rest
        return dict(msgpack.unpackb(decompress(packed, size)))
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise IntegrityError("the keywords of cold documents are damaged") from error


def write_cold_words(folder: Path, words: Mapping[bytes, str]) -> None:
    """Replace the keywords of cold documents, durably."""
    if not words:
        (folder / WORDS_FILE).unlink(missing_ok=True)
        return
    raw = msgpack.packb(dict(sorted(words.items())))
    write_atomically(folder / WORDS_FILE, seal(msgpack.packb([_WORDS_VERSION, len(raw), compress(raw)])))


def to_rehydrate(path: str, commit: bytes | None = None) -> str:
    """The command that brings a cold document back, as it can be typed; of HEAD where no commit is given."""
    at = f"--at {commit.hex()[:_COMMIT_DIGITS]} " if commit is not None else ""
    return f"arbor rehydrate-cold {at}{shlex.quote(path)}"


def make_hot(folder: Path, documents: Iterable[bytes]) -> None:
    """Let documents whose passages are all here be hot, and drop the keywords that stood for their text."""
    back = frozenset(documents)
    kept = {oid: words for oid, words in read_cold_words(folder).items() if oid not in back}
    write_cold_words(folder, kept)
    write_tiers(folder, read_tiers(folder).with_tier(back, "hot"))
