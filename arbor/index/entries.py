"""From a document to the rows that the index holds for it: the same document and paths, the same rows, always."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from arbor.errors import IntegrityError
from arbor.index.language import declared_language, guess_language
from arbor.objects.ids import Kind
from arbor.objects.model import ChunkRef, Document, decode_document
from arbor.objects.passages import decode_passages
from arbor.repo.snapshot import Snapshot, display_title, passage_encoding
from arbor.store.sequential import SequentialReader
from arbor.text.analyzer import index_text
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
    return make_entry(oid, document, passages, paths, texts)


def make_entry(
    oid: bytes,
    document: Document,
    passages: Sequence[ChunkRef],
    paths: Sequence[str],
    texts: Sequence[str] | None,
) -> Entry:
    """The entry of a document whose passages have been read; `texts` is None where they cannot be."""
    title = display_title(document, paths[0])
    title_column = index_text(title)
    path_column = index_text("\n".join(paths))
    rows: list[Row] = []
    previous: Sequence[str] | None = None
    heading_column = ""
    for (_, _, _, headings), text in zip(passages, texts or (), strict=texts is not None):
        if headings != previous:
            heading_column = index_text(_heading_text(headings, title))
            previous = headings
        rows.append((title_column, heading_column, path_column, index_text(text)))
    front_matter = document.front_matter
    return Entry(
        oid, document.kind, document.media_type, title,
        declared_language(front_matter) or guess_language(texts[0] if texts else title),
        find_date(front_matter), texts is not None, rows or [(title_column, "", path_column, "")],
    )  # fmt: skip


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
            except ValueError:
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
