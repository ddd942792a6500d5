"""From a document to the rows of the index: the same document and paths, the same rows, always."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, NamedTuple, Protocol

from arbor.errors import IntegrityError
from arbor.index.language import declared_language, guess_language
from arbor.objects.ids import Kind
from arbor.objects.model import decode_document
from arbor.objects.passages import decode_passages
from arbor.repo.snapshot import Snapshot, passage_encoding
from arbor.store.sequential import SequentialReader
from arbor.text.analyzer import index_text
from arbor.text.extraction import Extraction
from arbor.text.reading import decode_passage

DATE_KEYS = ("updated", "modified", "last_modified", "lastmod", "date", "published", "created")
"""Front matter keys that date a document; the first one that holds a date counts."""

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
    """

    oid: bytes
    kind: str
    media_type: str
    title: str
    lang: str
    dated: int | None
    whole: bool
    rows: Sequence[Row]


class ObjectSource(Protocol):
    """Where objects are read from: an object store, or a `SequentialReader` of one."""

    def get_kind(self, oid: bytes, kind: Kind) -> bytes:
        """The bytes of an object of this kind; raises IntegrityError when they cannot be had."""


def read_entry(source: ObjectSource, oid: bytes, paths: Sequence[str], *, whole: bool = True) -> Entry:
    """The entry of a document that lies at these paths, in path order.

    Args:
        source: Where its objects are read from.
        oid: The document.
        paths: At least one.
        whole: False leaves the passages out, as in an entry that was made when they could not be read.

    Raises:
        IntegrityError: when the document or its manifest is absent or damaged. Passages that cannot be read
            make an entry without bodies instead.
    """
    document = decode_document(source.get_kind(oid, Kind.DOCUMENT), trusted=True)
    passages = decode_passages(source.get_kind(document.manifest, Kind.MANIFEST))
    texts: list[str] | None = None
    if whole:
        try:
            encoding = passage_encoding(document)
            texts = [decode_passage(source.get_kind(ref.oid, Kind.CHUNK), encoding) for ref in passages]
        except IntegrityError:
            texts = None
    return make_entry(oid, document.kind, document, [ref.headings for ref in passages], paths, texts)


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
) -> Entry:
    """The entry of a document whose passages have been read.

    Args:
        oid: The document.
        kind: `surface` or `core`.
        described: Title, media type and front matter.
        headings: The heading path of each passage.
        paths: Where it lies, in path order.
        texts: The passages; None where they cannot be had.
    """
    title = described.title or PurePosixPath(paths[0]).stem
    title_column = index_text(title)
    path_column = index_text("\n".join(paths))
    rows: list[Row] = []
    previous: Sequence[str] | None = None
    heading_column = ""
    for above, text in zip(headings, texts or (), strict=texts is not None):
        if above != previous:
            heading_column = index_text(_heading_text(above, title))
            previous = above
        rows.append((title_column, heading_column, path_column, index_text(text)))
    front_matter = described.front_matter
    return Entry(
        oid, kind, described.media_type, title,
        declared_language(front_matter) or guess_language(texts[0] if texts else title),
        find_date(front_matter), texts is not None, rows or [(title_column, "", path_column, "")],
    )  # fmt: skip


def entry_of_file(path: str, extraction: Extraction) -> Entry:
    """The entry of a file that is not committed; in place of an oid it has its path."""
    texts = [decode_passage(passage.data, extraction.encoding) for passage in extraction.passages]
    headings = [passage.headings for passage in extraction.passages]
    return make_entry(path.encode(), "surface", extraction, headings, [path], texts)


def _heading_text(headings: Sequence[str], title: str) -> str:
    """The heading path without a first heading that only repeats the title, which has a column of its own."""
    return "\n".join(headings[1:] if headings and headings[0] == title else headings)


def find_date(front_matter: Mapping[str, Any]) -> int | None:
    """Seconds since 1970 UTC of the first front matter date, None where there is none that can be read."""
    for key in DATE_KEYS:
        value = front_matter.get(key)
        if isinstance(value, str):
            try:
                moment = datetime.fromisoformat(value.strip())
            except (ValueError, OverflowError):
                continue
            return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    return None


def group_paths(listing: Iterable[tuple[str, bytes]]) -> dict[bytes, list[str]]:
    """The paths of each document, in path order, from a listing in path order."""
    grouped: dict[bytes, list[str]] = {}
    for path, oid in listing:
        grouped.setdefault(oid, []).append(path)
    return grouped


def iter_entries(snapshot: Snapshot, grouped: Mapping[bytes, Sequence[str]]) -> Iterator[Entry]:
    """The entries of all these documents."""
    source = SequentialReader(snapshot.store)
    for oid, paths in grouped.items():
        yield read_entry(source, oid, paths)
