"""Differences between two versions: which documents, renamed or not, and which lines of their text."""

from __future__ import annotations

import codecs
import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from arbor.errors import IntegrityError, UsageError
from arbor.lazy import lazy_module, lazy_pattern
from arbor.objects.model import Document
from arbor.records import dataclass
from arbor.repo.snapshot import Snapshot, passage_encoding
from arbor.text.encodings import UTF8, decode_passage

if TYPE_CHECKING:
    import difflib
else:  # `log` and `cat` compare nothing
    difflib = lazy_module("difflib")

RENAME_SIMILARITY_PERCENT = 50
_MAX_RENAME_PAIRS = 1_000_000
_BY_LINES_BYTES = 256 * 1024
_HOLDERS_MAX = 64
"""A part that more documents hold than this, such as an empty line, says nothing of where one came from."""
_MAX_DIFF_LINES = 200_000
CONTEXT_LINES = 3
_SPACES = lazy_pattern(r"[ \t\r\f\v]+")
_END_SPACES = lazy_pattern(r"[ \t\r\f\v]+$")


@dataclass(frozen=True, slots=True)
class Comparing:
    """How two versions are compared.

    Attributes:
        text: Whether lines are compared at all, or only documents.
        context: How many lines are shown around those that differ.
        spaces: Which white space within a line counts for nothing: `all`, `change` (how much of it there is, and any at
            the end), `end`, or "" for none.
        renames: Whether documents that went and documents that came are paired as renames.
        reverse: Whether the two sides change places, so that the difference leads from the newer to the older.
    """

    text: bool = True
    context: int = CONTEXT_LINES
    spaces: str = ""
    renames: bool = True
    reverse: bool = False


PLAIN = Comparing()
"""Line by line, with all that a line holds."""


def comparing_of(how: Comparing | None, text: bool) -> Comparing:
    """What was asked for, the usual way where nothing was; without `text` no lines.

    Raises:
        UsageError: for a number of lines below 0, or white space that is none of the kinds.
    """
    if how is not None and (how.context < 0 or how.spaces not in ("", "all", "change", "end")):
        raise UsageError("what is compared needs a context of 0 or more, and spaces all, change, end or none")
    return replace(how or PLAIN, text=text)


@dataclass(frozen=True, slots=True)
class DocumentDiff:
    """One document that differs.

    Attributes:
        status: `A` added, `M` modified, `D` deleted, `R` renamed (and perhaps modified).
        path, old_path: Where it is now and, for a rename, where it was.
        similarity: Percent of bytes in common passages; 100 for the same file.
        old, new: The document oids; b"" where there is none (or, in a work tree, not yet).
    """

    status: str
    path: str
    old_path: str
    similarity: int
    old: bytes
    new: bytes


def reversed_pair(pair: DocumentDiff) -> DocumentDiff:
    """The difference from the newer document to the older one."""
    status = {"A": "D", "D": "A"}.get(pair.status, pair.status)
    return DocumentDiff(status, pair.old_path, pair.path, pair.similarity, pair.new, pair.old)


def pair_documents(
    rows: Iterable[tuple[str, bytes | None, bytes | None]], snapshot: Snapshot, *, renames: bool = True
) -> list[DocumentDiff]:
    """Document differences from (path, old oid, new oid), added and removed ones paired as renames where wanted."""
    rows = list(rows)
    added = {path: new for path, old, new in rows if old is None and new is not None}
    removed = {path: old for path, old, new in rows if new is None and old is not None}
    pairs = _find_renames(added, removed, snapshot) if renames else {}
    gone = {source for source, _ in pairs.values()}
    found = []
    for path, old, new in rows:
        if path in pairs:
            source, similarity = pairs[path]
            found.append(DocumentDiff("R", path, source, similarity, removed[source], added[path]))
        elif path not in gone:
            status = "A" if old is None else "D" if new is None else "M"
            found.append(DocumentDiff(status, path, path, 0, old or b"", new or b""))
    return sorted(found, key=lambda diff: diff.path)


def _find_renames(
    added: Mapping[str, bytes], removed: Mapping[str, bytes], snapshot: Snapshot
) -> dict[str, tuple[str, int]]:
    """New path to (old path, similarity percent): equal ones first, then by what they share."""
    pairs: dict[str, tuple[str, int]] = {}
    rest, free = dict(added), dict(removed)
    for path, source in _pair_equal(rest, free):
        pairs[path] = (source, 100)
    if not rest or not free or len(rest) * len(free) > _MAX_RENAME_PAIRS:
        return pairs
    # The same file is another document under a name that says another kind, and may share no passage with the first.
    hashes = {oid: snapshot.document(oid).file_hash for oid in {*rest.values(), *free.values()}}
    for path, source in _pair_equal(rest, free, hashes):
        pairs[path] = (source, 100)
    for negative, path, source in sorted(_iter_alike(rest, free, snapshot)):
        if path not in pairs and source in free:
            pairs[path] = (source, -negative)
            del free[source]
    return pairs


def _pair_equal(
    rest: dict[str, bytes], free: dict[str, bytes], keys: Mapping[bytes, bytes] | None = None
) -> list[tuple[str, str]]:
    """(new path, old path) of those with one oid, or with one key of their oids; they are taken out of both."""
    sources: dict[bytes, list[str]] = {}
    for path, oid in sorted(free.items(), reverse=True):
        sources.setdefault(keys[oid] if keys else oid, []).append(path)
    found = []
    for path, oid in sorted(rest.items()):
        if same := sources.get(keys[oid] if keys else oid):
            found.append((path, same.pop()))
            del rest[path], free[found[-1][1]]
    return found


def _iter_alike(
    added: Mapping[str, bytes], removed: Mapping[str, bytes], snapshot: Snapshot
) -> Iterator[tuple[int, str, str]]:
    """(minus similarity percent, new path, old path) of those that are alike enough for a rename."""
    sizes = {oid: _part_sizes(snapshot, oid) for oid in {*added.values(), *removed.values()}}
    totals = {oid: sum(parts.values()) for oid, parts in sizes.items()}
    holders: dict[bytes, list[str]] = {}
    for source, oid in removed.items():
        for part in sizes[oid]:
            holders.setdefault(part, []).append(source)
    for path, oid in added.items():
        new, shared = sizes[oid], Counter[str]()
        for part, size in new.items():
            sources = holders.get(part, ())
            for source in sources if len(sources) <= _HOLDERS_MAX else ():
                shared[source] += min(size, sizes[removed[source]][part])
        for source, size in shared.items():
            largest = max(totals[oid], totals[removed[source]], 1)
            if 100 * size // largest >= RENAME_SIMILARITY_PERCENT:
                yield -(100 * size // largest), path, source


def _part_sizes(snapshot: Snapshot, oid: bytes) -> dict[bytes, int]:
    """How many bytes of a document are in which of its parts: lines, as in git; passages of what is large or cold."""
    document = snapshot.document(oid)
    manifest = snapshot.manifest(document)
    if document.size <= _BY_LINES_BYTES and manifest.passages and not manifest.original:
        with contextlib.suppress(IntegrityError):  # cold
            lines = Counter(b"".join(snapshot.chunk(ref.oid) for ref in manifest.passages).split(b"\n"))
            return {line: (len(line) + 1) * number for line, number in lines.items()}
    return {ref.oid: ref.size for ref in manifest.passages} or dict(manifest.original)


class NoText(Enum):
    """Why there is no text to compare: the document holds none, or its passages are not stored here."""

    BINARY = "binary"
    COLD = "cold"


Text = str | NoText


def document_text(snapshot: Snapshot, document: Document) -> Text:
    """The whole text of a document, or why there is none."""
    if document.passage_count == 0 and document.size:
        return NoText.BINARY
    try:
        passages = [snapshot.chunk(ref.oid) for ref in snapshot.manifest(document).passages]
        return join_passages(passages, passage_encoding(document))
    except IntegrityError:
        if snapshot.is_cold(document):
            return NoText.COLD
        raise


class _Line(str):
    """A line that equals another one with the same text but for white space."""

    __slots__ = ("_key",)
    _key: str

    @classmethod
    def made(cls, text: str, spaces: str) -> _Line:
        """The line, with what is left of it where white space counts for nothing; see `Comparing`."""
        line = cls(text)
        pattern = _END_SPACES if spaces == "end" else _SPACES
        line._key = pattern.sub(" " if spaces == "change" else "", text)
        if spaces == "change":
            line._key = line._key.rstrip(" ")
        return line

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Line) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def join_passages(passages: Sequence[bytes], encoding: str) -> str:
    """The text of passages; a byte order mark stays, since a patch without it fits no file that has one."""
    mark = "\ufeff" if encoding == UTF8 and passages and passages[0].startswith(codecs.BOM_UTF8) else ""
    return mark + "".join(decode_passage(passage, encoding) for passage in passages)


def unified_diff(old: Text, new: Text, old_name: str, new_name: str, how: Comparing = PLAIN) -> list[str]:
    """Lines of a unified diff without line ends; one line that says why where a side has no text.

    Args:
        old: The text before; "" where there is no document.
        new: The text after, in the same way.
        old_name: What the header shows for it.
        new_name: The same for the new text.
        how: How much is shown around what differs, and what of a line counts.
    """
    cold = [name for text, name in ((old, old_name), (new, new_name)) if text is NoText.COLD]
    if cold:
        verb = "is" if len(cold) == 1 else "are"
        return [f"Documents {old_name} and {new_name} differ ({' and '.join(cold)} {verb} cold here)"]
    if isinstance(old, NoText) or isinstance(new, NoText):
        return [f"Binary files {old_name} and {new_name} differ"]
    before: Sequence[str] = _lines(old)
    after: Sequence[str] = _lines(new)
    if len(before) + len(after) > _MAX_DIFF_LINES:
        return [f"Documents {old_name} and {new_name} differ ({len(before)} and {len(after)} lines)"]
    # As git ends such a name, or patch(1) would take it for one that ends before its first space.
    old_name, new_name = (f"{name}\t" if " " in name else name for name in (old_name, new_name))
    if not before or not after:
        return _one_sided(before, after, old_name, new_name)
    if how.spaces:
        before = [_Line.made(line, how.spaces) for line in before]
        after = [_Line.made(line, how.spaces) for line in after]
    lines = difflib.unified_diff(before, after, old_name, new_name, n=how.context, lineterm="")
    return [part for line in lines for part in _show(line)]


def _one_sided(before: Sequence[str], after: Sequence[str], old_name: str, new_name: str) -> list[str]:
    """What difflib says of a text that is wholly new or wholly gone, without comparing anything."""
    lines = before or after
    if not lines:
        return []
    span = "1" if len(lines) == 1 else f"1,{len(lines)}"
    sign, place = ("-", f"@@ -{span} +0,0 @@") if before else ("+", f"@@ -0,0 +{span} @@")
    shown = [part for line in lines for part in _show(sign + line)]
    return [f"--- {old_name}", f"+++ {new_name}", place, *shown]


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += "\n\\ No newline at end of file"
    return lines


def _show(line: str) -> Sequence[str]:
    return line.split("\n", 1) if "\n" in line else (line,)
