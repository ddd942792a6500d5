"""From a document to the rows of the index: the same document and paths, the same rows, always."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple, Protocol, overload

from arbor.errors import IntegrityError
from arbor.index.dates import find_date
from arbor.objects.ids import Kind
from arbor.objects.model import ChunkRef, Document
from arbor.objects.passages import chunk_oids, decode_passages
from arbor.repo.file_bytes import ObjectSource, read_document
from arbor.repo.snapshot import Snapshot, passage_encoding
from arbor.store.odb import ObjectStore
from arbor.store.sequential import SequentialReader, in_stored_order
from arbor.text.analyzer import index_name, index_text
from arbor.text.encodings import decode_passage
from arbor.text.extraction import Extraction
from arbor.text.language import SAMPLE_CHARS, declared_language, guess_language

LARGE_BYTES = 16 * 1024 * 1024
"""The passages of larger documents are not held in memory all at once."""

NOTHING = b""
"""Of a document that is not whole no passage is taken in."""

Row = tuple[str, str, str, str]
"""One passage as the index takes it: title, heading, path, body, each passed through the analyzer."""


class Entry(NamedTuple):
    """What the index holds for one document.

    Attributes:
        oid: The document.
        kind, media_type: As in the document.
        title: As people read it; the file name where the content names none.
        lang: ISO 639 code or "".
        dated: Seconds since 1970 UTC of the document's own date, None where it has none.
        whole: Whether the passages are in; without their bytes a document is found by title and path only.
        rows: One for each passage, or a single one without a body.
        here: Of a document that is here in part, which passages are in: a bit for each, the lowest for the first, the
            bytes in little-endian order; else None.
    """

    oid: bytes
    kind: str
    media_type: str
    title: str
    lang: str
    dated: int | None
    whole: bool
    rows: Collection[Row]
    here: bytes | None = None


def read_entry(
    source: ObjectSource, oid: bytes, paths: Sequence[str], *, whole: bool = True, here: bytes | None = NOTHING,
    words: str = "",
) -> Entry:  # fmt: skip
    """The entry of a document that lies at these paths, in path order.

    Args:
        source: Where its objects are read from.
        oid: The document.
        paths: At least one.
        whole: False leaves the passages out, as for a cold document, which is found by title, path, headings and
            front matter.
        here: With `whole` False, the passages to take in, as in `Entry.here`; None for all that are here.
        words: What was kept of the text of a cold document.

    Raises:
        IntegrityError: when the document or its manifest is absent or damaged, or a passage that `here` names.
            Other passages that cannot be read make an entry without bodies instead.
    """
    document = read_document(source, oid)
    passages = decode_passages(source.get_kind(document.manifest, Kind.MANIFEST))
    texts: Sequence[str] | None = None
    taken: bytes | None = None
    if whole:
        try:
            texts = _read_texts(source, document, passages)
        except IntegrityError:
            texts = None
    elif here != NOTHING:
        texts, taken = _texts_in_part(source, document, passages, here, words)
    headings = [ref.headings for ref in passages]
    return make_entry(oid, document.kind, document, headings, paths, texts, words)._replace(
        whole=whole and texts is not None, here=taken
    )


def _texts_in_part(
    source: ObjectSource, document: Document, passages: Sequence[ChunkRef], here: bytes | None, words: str
) -> tuple[Sequence[str] | None, bytes | None]:
    """(texts, which passages they are) of a document in part: all that are here, or those that `here` names.

    The others are "", but for the first of them, which has what stands for all. None and None without any.
    """
    encoding, wanted = passage_encoding(document), int.from_bytes(here or b"", "little")
    texts = [""] * len(passages)
    taken = 0
    for number, ref in enumerate(passages):
        if here is not None and not wanted >> number & 1:
            continue
        try:
            texts[number] = decode_passage(source.get_kind(ref.oid, Kind.CHUNK), encoding)
            taken |= 1 << number
        except IntegrityError:
            if here is not None:
                raise
    if not taken:
        return None, None
    absent = next((number for number in range(len(passages)) if not taken >> number & 1), None)
    if absent is not None:
        texts[absent] = _own_words(document, words)
    return texts, _as_bits(taken, len(passages))


def which_are_here(store: ObjectStore, oids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
    """Which passages of documents are stored now: (oid, as `Entry.here`, None where none is)."""
    reader = SequentialReader(store)
    for oid in in_stored_order(store, oids):
        passages, _ = chunk_oids(reader.get_kind(read_document(reader, oid).manifest, Kind.MANIFEST))
        here = sum(1 << number for number, passage in enumerate(passages) if store.holds(passage))
        yield oid, _as_bits(here, len(passages)) if here else None


def _as_bits(here: int, count: int) -> bytes:
    return here.to_bytes((count + 7) // 8, "little")


def _read_texts(source: ObjectSource, document: Document, passages: Sequence[ChunkRef]) -> Sequence[str]:
    """The passages of a document; raises IntegrityError when one of them cannot be had.

    Those of a large document are read once to see that they can be, and again, one by one, when they are used.
    """
    texts = StoredTexts(source, [ref.oid for ref in passages], passage_encoding(document))
    if document.size <= LARGE_BYTES:
        return list(texts)
    for _ in texts:
        pass
    return texts


class StoredTexts(Sequence[str]):
    """Decoded passages that are read from the store each time they are asked for."""

    def __init__(self, source: ObjectSource, oids: Sequence[bytes], encoding: str) -> None:
        self._source = source
        self._oids = oids
        self._encoding = encoding

    def __len__(self) -> int:
        return len(self._oids)

    def __iter__(self) -> Iterator[str]:
        get_kind, encoding = self._source.get_kind, self._encoding
        for oid in self._oids:
            yield decode_passage(get_kind(oid, Kind.CHUNK), encoding)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return StoredTexts(self._source, self._oids[index], self._encoding)
        return decode_passage(self._source.get_kind(self._oids[index], Kind.CHUNK), self._encoding)


class Described(Protocol):
    """What a document and a file just read both say of themselves."""

    @property
    def title(self) -> str:
        """From the content, "" where it names none."""

    @property
    def media_type(self) -> str:
        """For example `text/markdown`."""

    @property
    def front_matter(self) -> Mapping[str, Any]:
        """The document's own fields."""


def make_entry(
    oid: bytes,
    kind: str,
    described: Described,
    headings: Sequence[Sequence[str]],
    paths: Sequence[str],
    texts: Sequence[str] | None,
    words: str = "",
) -> Entry:
    """The entry of a document whose passages have been read.

    Args:
        oid: The document.
        kind: `surface` or `core`.
        described: Title, media type and front matter.
        headings: The heading path of each passage.
        paths: Where it lies, in path order.
        texts: The passages; None where they cannot be had.
        words: What stands for them then.
    """
    title = described.title or PurePosixPath(paths[0]).stem
    path_column = index_name("\n".join(paths))
    rows: Collection[Row]
    if texts:
        lazy = PassageRows(title, path_column, headings, texts)
        rows = lazy if isinstance(texts, StoredTexts) else list(lazy)
    elif texts is None:
        named = index_name(_all_headings(headings, title))
        rows = [(index_name(title), named, path_column, _own_words(described, words))]
    else:
        rows = [(index_name(title), "", path_column, "")]
    front_matter = described.front_matter
    return Entry(
        oid, kind, described.media_type, title,
        declared_language(front_matter) or guess_language(_beginning(texts) if texts else title),
        find_date(front_matter), texts is not None, rows,
    )  # fmt: skip


def _beginning(texts: Iterable[str]) -> str:
    """As much of a document as a guess at its language looks at: front matter may be a passage of its own."""
    beginning = ""
    for text in texts:
        beginning += text[:SAMPLE_CHARS]
        if len(beginning) >= SAMPLE_CHARS:
            break
    return beginning


class PassageRows(Collection[Row]):
    """The rows of a document's passages, made as they are asked for."""

    def __init__(
        self, title: str, path_column: str, headings: Sequence[Sequence[str]], texts: Sequence[str]
    ) -> None:
        self._title = title
        self._path_column = path_column
        self._headings = headings
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, row: object) -> bool:
        return any(row == each for each in self)

    def __iter__(self) -> Iterator[Row]:
        title_column, path_column = index_name(self._title), self._path_column
        previous: Sequence[str] | None = None
        heading_column = ""
        for above, text in zip(self._headings, self._texts, strict=True):
            if above != previous:
                heading_column = index_name(_heading_text(above, self._title))
                previous = above
            yield title_column, heading_column, path_column, index_text(text)


def entry_of_file(paths: Sequence[str], extraction: Extraction) -> Entry:
    """The entry of equal files that are not committed, in path order; in place of an oid it has their first path."""
    texts = [decode_passage(passage.data, extraction.encoding) for passage in extraction.passages]
    headings = [passage.headings for passage in extraction.passages]
    return make_entry(paths[0].encode(), "surface", extraction, headings, paths, texts)


def _all_headings(headings: Sequence[Sequence[str]], title: str) -> str:
    """Every heading once, for a document whose passages are not here."""
    return "\n".join(dict.fromkeys(name for path in headings for name in path if name != title))


def _own_words(described: Described, words: str) -> str:
    """What is known of a document whose passages are not here: its front matter, and what was kept."""
    said = [text for value in described.front_matter.values() for text in _strings(value)]
    return index_text("\n".join([*said, words]))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _heading_text(headings: Sequence[str], title: str) -> str:
    """The heading path without a first heading that only repeats the title, which has a column of its own."""
    return "\n".join(headings[1:] if headings and headings[0] == title else headings)


def iter_entries(snapshot: Snapshot, grouped: Mapping[bytes, Sequence[str]]) -> Iterator[Entry]:
    """The entries of all these documents."""
    source, tiers = SequentialReader(snapshot.store), snapshot.tiers()
    words = snapshot.cold_words() if tiers.cold else {}
    for oid in in_stored_order(snapshot.store, grouped):
        yield read_entry(source, oid, grouped[oid], whole=oid not in tiers.cold,
                         here=None if oid in tiers.parts else NOTHING, words=words.get(oid, ""))  # fmt: skip
