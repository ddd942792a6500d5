"""From the documents of a version to facts: what each declares and disputes, and what its text is about."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from arbor.graph.facts import DocumentFacts, document_facts, gather_facts
from arbor.objects.links import Link
from arbor.objects.model import Document, Manifest
from arbor.repo.config import POLICY_FILE
from arbor.repo.snapshot import Snapshot, passage_encoding
from arbor.text.encodings import decode_passage

DISPUTING = frozenset({"contradicts", "refutes"})
TEXT_CHARS = 1_000_000
"""What a document is about stands in its first million characters; memory stays flat whatever follows."""
_ORIGIN_KEYS = ("author", "authors", "source", "sources", "source-url", "source_url", "origin")
_MAX_ORIGINS = 32


def gather_documents(snapshot: Snapshot, rows: list[tuple[str, bytes]]) -> list[DocumentFacts]:
    """The facts of these (path, document) that have text, worked out over several processes where there are many."""
    cold = snapshot.tiers().cold
    found = gather_facts(rows, lambda row: read_facts(snapshot, *row, cold) or _NO_FACTS)
    return [facts for facts in found if facts is not _NO_FACTS and facts.key]


_NO_FACTS = DocumentFacts("", b"", (), (), b"")


def read_facts(
    snapshot: Snapshot, path: str, oid: bytes, cold: frozenset[bytes] = frozenset()
) -> DocumentFacts | None:
    """What consensus needs to know of a document; None for the policy file, cold documents, and what has no text."""
    document = snapshot.document(oid)
    if path == POLICY_FILE or not document.passage_count or oid in cold:
        return None
    manifest = snapshot.manifest(document)
    text = _beginning(snapshot, document, manifest)
    return document_facts(
        path, oid, text, media_type=document.media_type, origins=declared_origins(document),
        disputes=disputed_paths(path, _disputing_links(snapshot, document, manifest)),
    )  # fmt: skip


def _beginning(snapshot: Snapshot, document: Document, manifest: Manifest) -> str:
    """The text of a document, of a very long one its first `TEXT_CHARS` (and what completes the passage)."""
    encoding = passage_encoding(document)
    pieces: list[str] = []
    length = 0
    for ref in manifest.passages:
        pieces.append(decode_passage(snapshot.chunk(ref.oid), encoding))
        length += len(pieces[-1])
        if length >= TEXT_CHARS:
            break
    return "".join(pieces)


def _disputing_links(snapshot: Snapshot, document: Document, manifest: Manifest) -> Iterator[Link]:
    if not any(key.lower() in DISPUTING for key in document.front_matter):
        return
    for link in snapshot.links(manifest):
        if link.relation in DISPUTING:
            yield link


def declared_origins(document: Document) -> list[str]:
    """Origins that a document declares: the host it came from, its author, its source."""
    origins = []
    host = _host(document.source_uri)
    if host:
        origins.append(f"host:{host}")
    for key, value in document.front_matter.items():
        name = key.lower()
        if name in _ORIGIN_KEYS:
            kind = "author" if name.startswith("author") else "source"
            origins += [_origin(kind, text) for text in _strings(value)][:_MAX_ORIGINS]
    return [origin for origin in origins if origin]


def _origin(kind: str, text: str) -> str:
    plain = " ".join(text.casefold().strip().strip("[]").split())
    host = _host(plain)
    return f"host:{host}" if host else f"{kind}:{plain}" if plain else ""


def _host(uri: str) -> str:
    try:
        parts = urlsplit(uri)
        return (
            (parts.hostname or "").removeprefix("www.")
            if parts.scheme in ("http", "https", "git", "ssh")
            else ""
        )
    except ValueError:
        return ""


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key in ("name", "url", "title"):
            yield from _strings(value.get(key))


def disputed_paths(path: str, links: Iterable[Link]) -> set[str]:
    """The paths that `contradicts` and `refutes` may mean: beside the document or from the top, with `.md` or without.

    Only the document itself is looked at, so that what it says does not depend on what else is there.
    """
    paths = set()
    folder = posixpath.dirname(path)
    for link in links:
        for base in {folder, ""}:
            place = posixpath.normpath(posixpath.join(base, link.target.lstrip("/")))
            if link.target and not place.startswith(".."):
                paths |= {place, f"{place}.md"}
    return paths
