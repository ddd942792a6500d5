"""Walking commits: log, ancestry, and which commits touched a path."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from arbor.objects import ledger
from arbor.objects.ledger_diff import diff
from arbor.objects.model import Commit
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One commit in a log."""

    oid: bytes
    commit: Commit


def iter_log(
    repo: Repository, starts: Iterable[bytes], *, exclude: Iterable[bytes] = ()
) -> Iterator[LogEntry]:
    """Commits reachable from `starts` and not from `exclude`, newest first and no parent before its child.

    Raises:
        IntegrityError: when a commit is absent or damaged.
    """
    hidden = ancestors(repo, exclude) if exclude else set()
    pending: list[tuple[int, int, bytes]] = []
    seen: set[bytes] = set()
    waiting = _child_counts(repo, starts, hidden)
    order = 0

    def push(oid: bytes) -> None:
        nonlocal order
        heapq.heappush(pending, (-repo.commit(oid).committer.seconds, order, oid))
        order += 1

    for oid in dict.fromkeys(starts):
        if oid not in hidden and not waiting.get(oid):
            push(oid)
    while pending:
        _, _, oid = heapq.heappop(pending)
        if oid in seen:
            continue
        seen.add(oid)
        entry = LogEntry(oid, repo.commit(oid))
        yield entry
        for parent in entry.commit.parents:
            if parent in hidden:
                continue
            waiting[parent] -= 1
            if not waiting[parent]:
                push(parent)


def _child_counts(repo: Repository, starts: Iterable[bytes], hidden: set[bytes]) -> dict[bytes, int]:
    """How many children of each reachable commit are reachable themselves."""
    counts: dict[bytes, int] = {}
    stack = [oid for oid in starts if oid not in hidden]
    seen = set(stack)
    while stack:
        for parent in repo.commit(stack.pop()).parents:
            if parent in hidden:
                continue
            counts[parent] = counts.get(parent, 0) + 1
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return counts


def ancestors(repo: Repository, starts: Iterable[bytes]) -> set[bytes]:
    """All commits reachable from `starts`, themselves included."""
    stack = list(starts)
    seen = set(stack)
    while stack:
        for parent in repo.commit(stack.pop()).parents:
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return seen


def is_ancestor(repo: Repository, older: bytes, newer: bytes) -> bool:
    """Whether `older` is `newer` or reachable from it."""
    return older in ancestors(repo, [newer])


def merge_bases(repo: Repository, left: bytes, right: bytes) -> list[bytes]:
    """The best common ancestors of two commits: those that no other common ancestor descends from."""
    common = ancestors(repo, [left]) & ancestors(repo, [right])
    covered: set[bytes] = set()
    for oid in common:
        covered.update(repo.commit(oid).parents)
    return sorted(common - covered)


def touches(repo: Repository, commit: Commit, paths: Iterable[str]) -> bool:
    """Whether a commit changed a document at, or below, one of the paths against its first parent."""
    before = repo.ledger_root(commit.parents[0]) if commit.parents else ledger.EMPTY_LEDGER
    if before == commit.ledger_root:
        return False
    wanted = [(DOCUMENTS + path, DOCUMENTS + path.rstrip("/") + "/") for path in paths]
    exact = all(
        ledger.find(repo.store, root, key) is not None or not _has_below(repo, root, folder)
        for root in (before, commit.ledger_root)
        for key, folder in wanted
    )
    if exact:
        return any(
            ledger.find(repo.store, before, key) != ledger.find(repo.store, commit.ledger_root, key)
            for key, _ in wanted
        )
    return any(
        change.key == key or change.key.startswith(folder)
        for change in diff(repo.store, before, commit.ledger_root)
        for key, folder in wanted
    )


def _has_below(repo: Repository, root: bytes, folder: str) -> bool:
    return next(ledger.iter_entries(repo.store, root, folder), None) is not None
