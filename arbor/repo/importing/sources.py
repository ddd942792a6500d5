"""Documents from addresses: fetched once, kept as they came, and asked later whether they have changed.

What a document says of its source is in the document (`source_uri`, its bytes and hash). What a server said beside
it (ETag, date) is local, since it differs from one fetch to the next and must never change an oid.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from urllib.parse import unquote, urlsplit

from arbor.errors import ArborError, RemoteError, UsageError
from arbor.objects.ids import file_hash
from arbor.objects.model import Document
from arbor.objects.paths import MAX_NAME_BYTES, check_path, path_fault
from arbor.records import dataclass
from arbor.repo.file_bytes import read_document
from arbor.repo.forgetting.copies import MayOpen, UriSource
from arbor.repo.forgetting.wanted import Wanted
from arbor.repo.importing.fetching import Answer, Fetcher, SourceGone
from arbor.repo.importing.git_sources import GIT_SCHEME
from arbor.repo.importing.known_sources import KnownSource, OwnFiles, read_known, remember
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.repo.staging.adding import AddResult, add_bytes
from arbor.store.journal import Journal

MAX_FEED_LINES = 100_000
_BAD = re.compile(r"[^\w.\- ()\[\]{}+,;=@!~&'%]+")
_SUFFIXES = {
    "text/html": ".html", "application/xhtml+xml": ".html", "application/pdf": ".pdf", "text/markdown": ".md",
    "text/plain": ".txt", "application/json": ".json", "text/csv": ".csv", "text/xml": ".xml",
    "application/xml": ".xml",
}  # fmt: skip
_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document that was fetched: where it was staged, and what that gave."""

    path: str
    result: AddResult


@dataclass(frozen=True, slots=True)
class SourceState:
    """What became of a source.

    Attributes:
        path, uri: The document and its source.
        state: `fresh`, `changed`, `gone` (nothing is there any more) or `unreachable` (it could not be asked).
        detail: How that is known, or why it is not.
    """

    path: str
    uri: str
    state: str
    detail: str


def add_url(
    repo: Repository, url: str, fetcher: Fetcher, *, path: str = "", overwrite: bool = False
) -> Fetched:
    """Fetch an address and stage what it gave.

    Args:
        repo: Where.
        url: An http or https address.
        fetcher: How to fetch.
        path: Where to put it; made from the address without one.
        overwrite: Replace what is at the path.

    Raises:
        RemoteError: when it cannot be fetched.
        UsageError: when the address or the path may not be used.
    """
    if path:
        check_path(path)
    answer = fetcher.fetch(url)
    target = path or path_of_url(url, answer.media_type)
    if not answer.data:
        raise RemoteError(f"'{url}' is empty")
    result = add_bytes(repo, target, answer.data, url, overwrite=overwrite, charset=answer.charset)
    remember(repo, [_said(url, answer)])
    _journal(repo, url, target, answer)
    return Fetched(target, result)


def _said(url: str, answer: Answer) -> tuple[str, str, str, bytes]:
    """What is to be remembered of an answer."""
    return url, answer.etag, answer.last_modified, file_hash(answer.data)


def _journal(repo: Repository, url: str, path: str, answer: Answer) -> None:
    details = {
        "uri": url, "path": path, "bytes": len(answer.data), "blake3": file_hash(answer.data).hex(),
        "etag": answer.etag, "last_modified": answer.last_modified,
    }  # fmt: skip
    with repo.lock():
        Journal(repo.folder).append("fetch", details | ({"final": answer.url} if answer.url != url else {}))


def path_of_url(url: str, media_type: str) -> str:
    """A document path for an address: its host, its path, and a suffix that fits the media type."""
    parts = urlsplit(url)
    names = [name for name in unquote(parts.path).split("/") if name]
    if not names or parts.path.endswith("/"):
        names.append("index")
    names = [_safe_name(name) for name in [parts.hostname or "host", *names]]
    stem, dot, suffix = names[-1].rpartition(".")
    has_suffix = bool(dot and stem and 1 <= len(suffix) <= 5 and suffix.isalnum())
    wanted = _SUFFIXES.get(media_type, "")
    if parts.query:
        mark = blake2b(parts.query.encode(), digest_size=4).hexdigest()
        names[-1] = f"{stem}-{mark}.{suffix}" if has_suffix else f"{names[-1]}-{mark}"
    if wanted and not has_suffix:
        names[-1] += wanted
    path = "/".join(names)
    return (
        path
        if not path_fault(path)
        else f"{names[0]}/{blake2b(url.encode(), digest_size=16).hexdigest()}{wanted}"
    )


def _safe_name(name: str) -> str:
    """A name that may stand in a path on every system."""
    plain = _BAD.sub("-", unicodedata.normalize("NFC", name)).strip(" .-") or "-"
    if len(plain) > _NAME_CHARS or len(plain.encode()) > MAX_NAME_BYTES // 2:
        plain = (
            f"{plain[: _NAME_CHARS // 2].rstrip(' .')}-{blake2b(name.encode(), digest_size=8).hexdigest()}"
        )
    return plain if not path_fault(plain) else f"_{plain}"


def parse_feed(text: str) -> list[tuple[str, str]]:
    """(address, path or "") of a list: one address a line, perhaps a path after it; `#` begins a remark.

    Raises:
        UsageError: when there are too many lines.
    """
    found = []
    for line in text.removeprefix("\ufeff").splitlines():
        words = line.split(maxsplit=1)
        if words and not words[0].startswith("#"):
            found.append((words[0], words[1].strip() if len(words) > 1 else ""))
    if len(found) > MAX_FEED_LINES:
        raise UsageError(f"a feed has at most {MAX_FEED_LINES:,} addresses")
    return found


def add_feed(
    repo: Repository, feed: Sequence[tuple[str, str]], fetcher: Fetcher, *, overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[Fetched], list[tuple[str, str]]]:  # fmt: skip
    """Fetch and stage every address of a list; what was fetched, and (address, reason) of what was not."""
    done: list[Fetched] = []
    failed: list[tuple[str, str]] = []
    for number, (url, path) in enumerate(feed, 1):
        try:
            done.append(add_url(repo, url, fetcher, path=path, overwrite=overwrite))
        except (RemoteError, UsageError) as error:
            failed.append((url, error.message))
        if progress:
            progress(number, len(feed))
    return done, failed


def recheck(
    repo: Repository, snapshot: Snapshot, documents: Iterable[tuple[str, bytes]], fetcher: Fetcher, *,
    progress: Callable[[int, int], None] | None = None,
) -> list[SourceState]:  # fmt: skip
    """Ask the source of each document that has one whether it has changed.

    Args:
        repo: Where.
        snapshot: The version that the documents are of.
        documents: (path, document oid).
        fetcher: How to fetch http(s) sources. Where its rules let it ask private networks, files that were not added
            from here are opened too.
        progress: Called with (sources asked, sources in all).
    """
    known = read_known(repo.folder)
    own = OwnFiles(repo.folder)
    may_open: MayOpen = (lambda uri: True) if fetcher.rules.private else own
    asked = list(_with_source(repo, documents))
    states, answers = [], {}
    for number, (path, oid, document) in enumerate(asked, 1):
        if urlsplit(document.source_uri).scheme in ("http", "https"):
            state, answer = _ask_server(path, document, fetcher, known.get(document.source_uri))
            if answer is not None and state.state == "fresh":
                answers[document.source_uri] = answer
        else:
            state = _look_at_file(path, oid, document, snapshot, may_open)
        states.append(state)
        if progress:
            progress(number, len(asked))
    if answers:
        remember(repo, [_said(url, answer) for url, answer in answers.items()])
    return states


def _with_source(
    repo: Repository, documents: Iterable[tuple[str, bytes]]
) -> Iterator[tuple[str, bytes, Document]]:
    for path, oid in documents:
        document = read_document(repo.store, oid)
        if urlsplit(document.source_uri).scheme in ("http", "https", "file", GIT_SCHEME):
            yield path, oid, document


def _ask_server(
    path: str, document: Document, fetcher: Fetcher, known: KnownSource | None
) -> tuple[SourceState, Answer | None]:
    uri = document.source_uri
    if known is not None and known.file_hash != document.file_hash:
        known = None  # what the server said then was of another version than this one
    try:
        answer = fetcher.fetch(
            uri, etag=known.etag if known else "", last_modified=known.last_modified if known else ""
        )
    except ArborError as error:
        state = "gone" if isinstance(error, SourceGone) else "unreachable"
        return SourceState(path, uri, state, error.message), None
    if answer.status == 304:
        how = "ETag" if known and known.etag else "date"
        return SourceState(path, uri, "fresh", f"the server says so, by its {how}"), None
    if file_hash(answer.data) == document.file_hash:
        return SourceState(path, uri, "fresh", "the bytes are the same"), answer
    return SourceState(
        path, uri, "changed", f"the bytes differ: {len(answer.data):,} now, {document.size:,} then"
    ), answer


def _look_at_file(
    path: str, oid: bytes, document: Document, snapshot: Snapshot, may_open: MayOpen
) -> SourceState:
    if not may_open(document.source_uri):
        how = "the file was not added from here, so it is not opened; open it all the same: --private"
        return SourceState(path, document.source_uri, "unreachable", how)
    found = UriSource(may_open=may_open).find(Wanted(oid, document, snapshot.manifest(document), (path,)))
    if found is None or found.data is None:
        problem = found.problem if found is not None else "the address names no file of this machine"
        state = "gone" if found is not None and found.gone else "unreachable"
        return SourceState(path, document.source_uri, state, problem)
    if file_hash(found.data) == document.file_hash:
        return SourceState(path, document.source_uri, "fresh", "the bytes are the same")
    return SourceState(path, document.source_uri, "changed", "the bytes differ")
