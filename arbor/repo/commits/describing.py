"""Stored objects as values for reading: commits, documents, differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import ArborError, ColdDocument, UsageError
from arbor.lazy import lazy_module
from arbor.objects.model import Commit
from arbor.repo.commits.diffing import (
    PLAIN,
    Comparing,
    DocumentDiff,
    NoText,
    Text,
    document_text,
    join_passages,
    pair_documents,
    reversed_pair,
    unified_diff,
)
from arbor.repo.commits.history import peel
from arbor.repo.file_bytes import is_same_file
from arbor.repo.forgetting.cold_needs import Need, cold_error
from arbor.repo.repository import Repository
from arbor.repo.results import CommitInfo, DocumentInfo, LinkInfo, PassageInfo, TextDiff
from arbor.repo.snapshot import DOCUMENTS, Snapshot, display_title
from arbor.repo.stage import Stage
from arbor.repo.work_tree.selections import matcher_of
from arbor.repo.work_tree.status import cold_paths, tracked_files
from arbor.repo.work_tree.worktree import read_file, scan
from arbor.store.refs import short_name
from arbor.text.encodings import UTF8

if TYPE_CHECKING:
    from arbor.text import reading
else:  # what is committed has been read
    reading = lazy_module("arbor.text.reading")


def ref_names(repo: Repository) -> dict[bytes, list[str]]:
    """Commit oid to the short names of the refs that stand there."""
    return {commit: [*map(short_name, full)] for commit, full in full_ref_names(repo).items()}


def full_ref_names(repo: Repository) -> dict[bytes, list[str]]:
    """Commit oid to the full names of the refs that stand there."""
    names: dict[bytes, list[str]] = {}
    for name in repo.refs.iter_names():
        try:
            oid = repo.refs.read(name)
            commit = peel(repo, oid) if oid is not None else None
        except ArborError:
            continue
        if commit is not None:
            names.setdefault(commit, []).append(name)
    return names


def describe_commit(
    oid: bytes, commit: Commit, refs: Iterable[str] = (), followed: tuple[str, ...] = ()
) -> CommitInfo:
    """A commit for reading."""
    return CommitInfo(
        commit=oid.hex(),
        ledger_root=commit.ledger_root.hex(),
        parents=tuple(parent.hex() for parent in commit.parents),
        author=commit.author.name,
        author_email=commit.author.email,
        author_time=commit.author.seconds,
        author_offset=commit.author.offset_minutes,
        committer=commit.committer.name,
        committer_email=commit.committer.email,
        commit_time=commit.committer.seconds,
        commit_offset=commit.committer.offset_minutes,
        message=commit.message,
        refs=tuple(refs),
        signed=bool(commit.seal),
        followed=followed,
    )


def staged_document(repo: Repository, path: str) -> bytes | None:
    """The oid of what is staged at a path, None where nothing is."""
    return repo.stage().find(repo.store, DOCUMENTS + path)


def describe_document(snapshot: Snapshot, path: str, oid: bytes | None = None) -> DocumentInfo:
    """A document of a snapshot, or another one that its store holds, for reading.

    Raises:
        UsageError: when there is none at this path.
    """
    oid = oid or snapshot.get(path)
    document = snapshot.document(oid)
    manifest = snapshot.manifest(document)
    passages, start = [], 0
    spans = zip(manifest.passages, snapshot.line_spans(document, manifest), strict=True)
    for index, (ref, (line, end_line)) in enumerate(spans):
        passages.append(PassageInfo(index, ref.oid.hex(), line, end_line, start, start + ref.size,
                                    tuple(ref.headings), snapshot.store.holds(ref.oid)))  # fmt: skip
        start += ref.size
    return DocumentInfo(
        path=path,
        document=oid.hex(),
        kind=document.kind,
        media_type=document.media_type,
        title=display_title(document, path),
        source_uri=document.source_uri,
        encoding=document.encoding,
        size=document.size,
        file_hash=document.file_hash.hex(),
        text_root=document.text_root.hex(),
        extractor=document.extractor,
        chunker=document.chunker,
        front_matter=document.front_matter,
        passages=tuple(passages),
        tier=snapshot.tiers().tier_of(oid),
        links=()
        if snapshot.lacks_pieces(oid)
        else tuple(LinkInfo(*link) for link in snapshot.links(manifest)),
    )


def file_pieces(
    repo: Repository, path: str, snapshot: Snapshot | None, revision: str = "HEAD"
) -> Iterator[bytes]:
    """The bytes of a document as they came in, piece by piece: of a version, or as staged.

    Args:
        repo: Where.
        path: The document.
        snapshot: The version; None for what is staged.
        revision: How an error names it.

    Raises:
        UsageError: when there is no such document.
        ColdDocument: at the first piece, when it is cold here.
    """
    if snapshot is None:
        stage = repo.stage()
        snapshot = Snapshot(repo.store, stage.base)
        oid = stage.find(repo.store, DOCUMENTS + path)
        if oid is None:
            raise UsageError(f"there is no document '{path}' in the stage", "run: arbor status", path)
    else:
        oid = snapshot.get(path)
    return _iter_pieces(snapshot, Need(path, oid, revision))


def _iter_pieces(snapshot: Snapshot, need: Need) -> Iterator[bytes]:
    try:
        yield from snapshot.iter_file(need.document)
    except ColdDocument as cold:
        raise cold_error(f"{cold.message} ('{need.path}' in {need.revision})", [need]) from cold


def diff_roots(
    repo: Repository, before: bytes, after: bytes, paths: Iterable[str] = (), how: Comparing = PLAIN
) -> tuple[TextDiff, ...]:
    """The documents that differ between two ledger roots, of those that `paths` select (all without)."""
    snapshot = Snapshot(repo.store, after)
    wanted = matcher_of(tuple(paths))
    rows = [change for change in snapshot.changes_since(before) if wanted(change.key)]
    pairs = pair_documents(rows, snapshot, renames=how.renames)
    return _telling((_text_diff(repo, pair, how) for pair in pairs), how)


def diff_stage(
    repo: Repository, stage: Stage, before: bytes, paths: Iterable[str] = (), how: Comparing = PLAIN
) -> tuple[TextDiff, ...]:
    """The documents that differ between a ledger root and the stage."""
    wanted = matcher_of(tuple(paths))
    rows = [(key[len(DOCUMENTS) :], old, new) for key, old, new in stage.changes_since(repo.store, before)
            if key.startswith(DOCUMENTS) and wanted(key[len(DOCUMENTS) :])]  # fmt: skip
    pairs = pair_documents(rows, Snapshot(repo.store, stage.base), renames=how.renames)
    return _telling((_text_diff(repo, pair, how) for pair in pairs), how)


def diff_worktree(
    repo: Repository,
    stage: Stage,
    paths: Iterable[str] = (),
    *,
    before: bytes | None = None,
    how: Comparing = PLAIN,
) -> tuple[TextDiff, ...]:
    """The tracked files that differ from the stage, or from the ledger root `before`.

    A cold document needs no file: where there is none, it is there as it is staged.
    """
    wanted, fs_root = matcher_of(tuple(paths)), repo.work_tree()
    tracked = tracked_files(repo, stage)
    snapshot = Snapshot(repo.store, stage.base)
    listing = scan(fs_root, tracked=tracked)
    if before is None:
        olds = {path: oid for path, (oid, _) in tracked.items()}
    else:
        olds = dict(Snapshot(repo.store, before).paths())
    found = []
    moves: list[tuple[str, bytes | None, bytes | None]] = []
    needs_no_file = cold_paths(repo, tracked)
    for path in sorted({*olds, *tracked}):
        if not wanted(path):
            continue
        old, known, file = olds.get(path, b""), tracked.get(path), listing.files.get(path)
        if known is not None and file is None and path in needs_no_file:
            if known[0] != old:
                made = DocumentDiff("M" if old else "A", path, path, 0, old, known[0])
                found.append(_text_diff(repo, made, how))
            if not old:
                moves.append((path, None, known[0]))
            continue
        if known is None or file is None:
            if old and (known is None or listing.is_gone(path)):
                made = DocumentDiff("D", path, path, 0, old, b"")
                found.append(_made(made, _text(snapshot, old, how), "", how))
                moves.append((path, old, None))
            continue
        if known == (old, file[1]):
            continue
        data = _read_or_none(fs_root / file[0])
        if data is None or (old and is_same_file(snapshot.document(old), data)):
            continue
        new = _file_text(data, path) if how.text else ""
        made = DocumentDiff("M" if old else "A", path, path, 0, old, b"")
        found.append(_made(made, _text(snapshot, old, how), new, how))
        if not old and is_same_file(snapshot.document(known[0]), data):
            moves.append((path, None, known[0]))
    return _with_renames(repo, found, moves, how)


def _with_renames(
    repo: Repository,
    found: list[TextDiff],
    moves: list[tuple[str, bytes | None, bytes | None]],
    how: Comparing,
) -> tuple[TextDiff, ...]:
    """The differences, with files that are as they are staged paired with the documents that are gone."""
    pairs = pair_documents(moves, repo.snapshot(None), renames=how.renames)
    renamed = {pair.path: pair for pair in pairs if pair.status == "R"}
    gone = {pair.old_path for pair in renamed.values()}
    told = (
        _text_diff(repo, renamed[each.path], how) if each.path in renamed else each
        for each in found
        if each.path in renamed or each.path not in gone
    )
    return _telling(told, how)


def diff_documents(
    repo: Repository, old: tuple[str, bytes], new: tuple[str, bytes], how: Comparing = PLAIN
) -> tuple[TextDiff, ...]:
    """The difference of two documents, each a path and an oid, whatever they are called; () where they are one."""
    if old[1] == new[1]:
        return ()
    pair = DocumentDiff("M", new[0], old[0], 0, old[1], new[1])
    return _telling([_text_diff(repo, pair, how)], how)


def _telling(found: Iterable[TextDiff], how: Comparing) -> tuple[TextDiff, ...]:
    """Those that differ in what counts: where white space does not, a text may be the same but for that."""
    told = (each for each in found if each.status != "M" or each.lines or not (how.text and how.spaces))
    # A rename has another path when it is told the other way round.
    return tuple(sorted(told, key=lambda each: each.path) if how.reverse else told)


def _text(snapshot: Snapshot, oid: bytes, how: Comparing) -> Text:
    return document_text(snapshot, snapshot.document(oid)) if oid and how.text else ""


def _read_or_none(fs_path: Path) -> bytes | None:
    """A file's bytes; None where it went or cannot be read by now."""
    try:
        return read_file(fs_path)[0]
    except (OSError, UsageError):
        return None


def _file_text(data: bytes, path: str) -> Text:
    extraction = reading.extract(data, path)
    if not extraction.passages and data:
        return NoText.BINARY
    encoding = UTF8 if extraction.original else extraction.encoding
    return join_passages([passage.data for passage in extraction.passages], encoding)


def _text_diff(repo: Repository, pair: DocumentDiff, how: Comparing) -> TextDiff:
    snapshot = repo.snapshot(None)
    return _made(pair, _text(snapshot, pair.old, how), _text(snapshot, pair.new, how), how)


def _made(pair: DocumentDiff, old: Text, new: Text, how: Comparing) -> TextDiff:
    if how.reverse:
        pair, old, new = reversed_pair(pair), new, old
    lines: list[str] = []
    if how.text and pair.similarity < 100:
        before = "/dev/null" if pair.status == "A" else f"a/{pair.old_path}"
        after = "/dev/null" if pair.status == "D" else f"b/{pair.path}"
        lines = unified_diff(old, new, before, after, how)
    added = sum(1 for line in lines[2:] if line.startswith("+"))
    removed = sum(1 for line in lines[2:] if line.startswith("-"))
    sides = ((old, pair.old_path, pair.old), (new, pair.path, pair.new))
    cold = tuple((path, oid.hex()) for text, path, oid in sides if text is NoText.COLD)
    return TextDiff(
        pair.status, pair.path, pair.old_path, pair.similarity, tuple(lines), added, removed, cold
    )
