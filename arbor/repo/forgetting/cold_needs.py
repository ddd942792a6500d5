"""Which cold documents an act would read or write, found before it begins, so that they can be fetched in one go."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from arbor.errors import ColdDocument, first_of
from arbor.lazy import lazy_pattern
from arbor.objects.ledger_diff import Change
from arbor.records import dataclass
from arbor.repo.commits.history import is_ancestor, mainline_of, merge_bases
from arbor.repo.commits.revisions import resolve
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.tiers import read_tiers
from arbor.repo.work_tree.checkout import absent_documents

_NAMED = 3
_REVISION_DIGITS = 12
_PLAIN = lazy_pattern(r"[\w./^-][\w./~^-]*")


@dataclass(frozen=True, slots=True)
class Need:
    """A version of a document whose passages are needed.

    Attributes:
        path, document: Where it lies, and its oid.
        revision: A revision that has it there, as it can be typed.
        required: Whether the act cannot be done without it; else it only comes out better.
    """

    path: str
    document: bytes
    revision: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Versions:
    """The commits of a three-way merge; None is the empty KB."""

    base: bytes | None
    ours: bytes | None
    theirs: bytes | None


def needs_of_merge(repo: Repository, revision: str) -> list[Need]:
    """What a merge of a revision into HEAD reads or writes and is cold here; raises UsageError as `resolve` does."""
    ours, theirs = repo.refs.head_oid(), resolve(repo, revision)
    if not read_tiers(repo.folder).cold or (ours is not None and is_ancestor(repo, theirs, ours)):
        return []
    if ours is None or is_ancestor(repo, ours, theirs):
        return needs_of_checkout(repo, theirs)
    bases = merge_bases(repo, [ours], [theirs])
    found = needs_of_versions(repo, Versions(bases[0] if bases else None, ours, theirs))
    for base in bases[1:]:  # of criss-cross histories: what they have may be looked at, too
        more = needs_of_versions(repo, Versions(base, ours, theirs))
        found += [replace(need, required=False) for need in more]
    return found


def needs_of_revert(repo: Repository, revision: str, mainline: int | None = None) -> list[Need]:
    """The same of the revert of a commit; see `arbor.repo.commits.history.mainline_of`."""
    undone = resolve(repo, revision)
    return needs_of_versions(
        repo, Versions(undone, repo.refs.head_oid(), mainline_of(repo, undone, mainline))
    )


def needs_of_document(repo: Repository, path: str, revision: str | None) -> list[Need]:
    """A document of a revision (HEAD without), where it is cold here."""
    snapshot = repo.snapshot(resolve(repo, revision) if revision is not None else repo.refs.head_oid())
    oid = snapshot.find(path)
    return absent(repo, [Need(path, oid, revision or "HEAD")] if oid is not None else [])


def needs_of_checkout(repo: Repository, target: bytes | None) -> list[Need]:
    """Documents of a commit that take the place of ones that have their files here, and are cold themselves.

    What is new in that commit stays as cold as it came; but a file that a person works with must not vanish.
    """
    if target is None or not read_tiers(repo.folder).cold:
        return []
    changes = repo.snapshot(target).changes_since(repo.stage().base)
    return _files_kept(repo, changes, target)


def needs_of_versions(repo: Repository, versions: Versions) -> list[Need]:
    """What a three-way merge reads or writes and is cold here."""
    if not read_tiers(repo.folder).cold:
        return []
    roots = [repo.ledger_root(oid) for oid in (versions.base, versions.ours, versions.theirs)]
    ours, theirs = _changes(repo, roots[0], roots[1]), _changes(repo, roots[0], roots[2])
    rows: list[Need] = []
    for path in sorted(ours.keys() & theirs.keys()):
        rows += _sides(repo, versions, path, ours[path], theirs[path])
    for mine, other, commit in ((ours, theirs, versions.ours), (theirs, ours, versions.theirs)):
        if any(change.after is None and path in other for path, change in mine.items()):
            rows += [Need(path, change.after, named(commit), required=False) for path, change in mine.items()
                     if change.before is None and change.after is not None]  # fmt: skip
    if versions.theirs is not None:
        rows += _files_kept(repo, theirs.values(), versions.theirs)
    return absent(repo, rows)


def _changes(repo: Repository, old: bytes, new: bytes) -> dict[str, Change]:
    """What differs between two ledger roots, of documents, by path."""
    return {change.key: change for change in Snapshot(repo.store, new).changes_since(old)}


def _sides(repo: Repository, versions: Versions, path: str, mine: Change, other: Change) -> Iterator[Need]:
    """The versions of one document that both sides changed; of one that is no text, ours is kept as it is."""
    if mine.after == other.after:
        return
    rows = [(mine.before, versions.base), (mine.after, versions.ours), (other.after, versions.theirs)]
    if mine.after is not None and other.after is not None:
        snapshot = repo.snapshot(None)
        if any(oid is not None and snapshot.document(oid).original_count for oid, _ in rows):
            rows = rows[1:2]
    else:
        rows = rows[1:]
        yield from (Need(path, oid, named(versions.base), required=False) for oid in (mine.before,) if oid)
    for oid, commit in rows:
        if oid is not None:
            yield Need(path, oid, named(commit))


def _files_kept(repo: Repository, changes: Iterable[Change], target: bytes) -> list[Need]:
    stage = repo.stage()
    rows = [(path, stage.find(repo.store, DOCUMENTS + path), after) for path, _, after in changes]
    gone = absent_documents(repo, (oid for _, *oids in rows for oid in oids))
    return [Need(path, after, named(target), required=False) for path, now, after in rows
            if after in gone and now is not None and now not in gone]  # fmt: skip


def absent(repo: Repository, needs: Iterable[Need]) -> list[Need]:
    """Those of the documents that are cold and lack passages here, each once."""
    needs = list(needs)
    gone = absent_documents(repo, (need.document for need in needs))
    found: dict[bytes, Need] = {}
    for need in sorted(needs, key=lambda need: need.required, reverse=True):
        if need.document in gone:
            found.setdefault(need.document, need)
    return list(found.values())


def refuse_absent(needs: Sequence[Need]) -> None:
    """Raises ColdDocument, naming paths and revisions, where documents that an act cannot do without are cold."""
    required = [need for need in needs if need.required]
    if not required:
        return
    named = first_of([f"'{need.path}' in {need.revision}" for need in required], _NAMED)
    what = "the document is cold" if len(required) == 1 else f"{len(required):,} documents are cold"
    raise cold_error(f"{what}: {named}", required)


def cold_error(message: str, needs: Sequence[Need]) -> ColdDocument:
    """An error that says what would help: the first document's passages from a place that has them."""
    first = needs[0]
    revision = first.revision if _PLAIN.fullmatch(first.revision) else shlex.quote(first.revision)
    words = f"--at {revision} {shlex.quote(first.path)}"
    # PLACE is no word by itself: the document may be called so, and a hint is searched for its path.
    hint = f"name a place that has its passages: arbor rehydrate-cold {words} --from=PLACE"
    return ColdDocument(message, hint, tuple((need.path, need.document) for need in needs))


def named(commit: bytes | None) -> str:
    """A commit as it can be typed."""
    return commit.hex()[:_REVISION_DIGITS] if commit is not None else "HEAD"
