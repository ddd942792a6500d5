"""Walking commits: log, ancestry, and which commits touched a path."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from arbor.errors import UsageError
from arbor.objects import ledger
from arbor.objects.ids import Kind
from arbor.objects.ledger_diff import diff
from arbor.objects.model import Commit, decode_tag
from arbor.records import dataclass
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS, Snapshot
from arbor.repo.work_tree.selections import is_glob, matcher_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One commit in a log; of a document that is followed through renames, also its paths there."""

    oid: bytes
    commit: Commit
    followed: tuple[str, ...] = ()


def iter_log(
    repo: Repository, starts: Sequence[bytes], *, exclude: Sequence[bytes] = (), paths: Sequence[str] = (),
    first_parent: bool = False,
) -> Iterator[LogEntry]:  # fmt: skip
    """Commits reachable from `starts` and not from `exclude`, newest first and no parent before its child.

    With `paths` (or globs), only commits that changed a document at or below one of them; of a merge that changed none
    against one side, only that side is followed, as in git's log. With
    `first_parent`, a merge is taken for a change of its first parent, and only that is followed.

    Raises:
        IntegrityError: when a commit is absent or damaged.
    """
    hidden = ancestors(repo, exclude) if exclude else set()
    follow = _Following(repo, paths, first_parent=first_parent)
    tips = [oid for oid in dict.fromkeys(starts) if oid not in hidden]
    # Below a single commit with a single parent nothing else leads to that parent, so no look ahead is needed.
    while len(tips) == 1:
        entry = LogEntry(tips[0], repo.commit(tips[0]))
        parents = follow.parents(entry.oid, entry.commit)
        if len(parents) > 1:
            break
        if follow.touches(entry.commit):
            yield entry
        tips = [parent for parent in parents if parent not in hidden]
    yield from _iter_branching(repo, tips, hidden, follow)


def _iter_branching(
    repo: Repository, starts: Sequence[bytes], hidden: set[bytes], follow: _Following
) -> Iterator[LogEntry]:
    """The log from commits on that several ways may lead to; it counts the children of all before the first."""
    pending: list[tuple[int, int, bytes]] = []
    seen: set[bytes] = set()
    waiting = _child_counts(repo, starts, hidden, follow)
    order = 0

    def push(oid: bytes) -> None:
        nonlocal order
        heapq.heappush(pending, (-repo.commit(oid).committer.seconds, order, oid))
        order += 1

    for oid in starts:
        if not waiting.get(oid):
            push(oid)
    while pending:
        _, _, oid = heapq.heappop(pending)
        if oid in seen:
            continue
        seen.add(oid)
        entry = LogEntry(oid, repo.commit(oid))
        if follow.touches(entry.commit):
            yield entry
        for parent in follow.parents(oid, entry.commit):
            if parent in hidden:
                continue
            waiting[parent] -= 1
            if not waiting[parent]:
                push(parent)


class _Following:
    """Which parents of a commit a log goes on to, and which commits it tells of."""

    def __init__(self, repo: Repository, paths: Sequence[str], *, first_parent: bool) -> None:
        self._first_parent = first_parent
        self._repo = repo
        self._paths = paths
        self._chosen: dict[bytes, tuple[bytes, ...]] = {}

    def parents(self, oid: bytes, commit: Commit) -> tuple[bytes, ...]:
        if self._first_parent:
            return commit.parents[:1]
        if not self._paths or len(commit.parents) < 2:
            return commit.parents
        if oid not in self._chosen:
            same = (parent for parent in commit.parents if not self._differs(parent, commit))
            first = next(same, None)
            self._chosen[oid] = commit.parents if first is None else (first,)
        return self._chosen[oid]

    def touches(self, commit: Commit) -> bool:
        """Whether a commit is one of the log."""
        if not self._paths:
            return True
        if self._first_parent and commit.parents:
            return self._differs(commit.parents[0], commit)
        return touches(self._repo, commit, self._paths)

    def _differs(self, parent: bytes, commit: Commit) -> bool:
        return _differs(self._repo, self._repo.ledger_root(parent), commit, self._paths)


def _child_counts(
    repo: Repository, starts: Iterable[bytes], hidden: set[bytes], follow: _Following
) -> dict[bytes, int]:
    """How many children of each commit in the log are in it themselves."""
    counts: dict[bytes, int] = {}
    stack = list(starts)
    seen = set(stack)
    while stack:
        oid = stack.pop()
        for parent in follow.parents(oid, repo.commit(oid)):
            if parent in hidden:
                continue
            counts[parent] = counts.get(parent, 0) + 1
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return counts


def peel(repo: Repository, oid: bytes) -> bytes:
    """The commit that an oid stands for, through tag objects.

    Raises:
        UsageError: when it is something else than a commit or a tag of one.
    """
    kind, data = repo.store.get(oid)
    if kind == Kind.TAG:
        return peel(repo, decode_tag(data, trusted=True).target)
    if kind != Kind.COMMIT:
        raise UsageError(f"object {oid.hex()[:12]} is a {Kind(kind).label}, not a commit")
    return oid


def ref_commits(repo: Repository, wanted: Callable[[str], bool] = lambda name: True) -> list[bytes]:
    """The commits that HEAD and the refs stand at, those whose names are wanted ("HEAD" is one)."""
    held = [repo.refs.head_oid()] if wanted("HEAD") else []
    held += [repo.refs.read(name) for name in repo.refs.iter_names() if wanted(name)]
    return list(dict.fromkeys(peel(repo, oid) for oid in dict.fromkeys(held) if oid is not None))


def parents_first(
    read: Callable[[bytes], Commit], tips: Iterable[bytes], known: Container[bytes]
) -> list[bytes]:
    """The commits below some tips, themselves included, that are not known; each after its parents."""
    order: list[bytes] = []
    seen: set[bytes] = set()
    stack = [(tip, False) for tip in tips]
    while stack:
        oid, done = stack.pop()
        if done:
            order.append(oid)
        elif oid not in seen and oid not in known:
            seen.add(oid)
            stack.append((oid, True))
            stack += [(parent, False) for parent in read(oid).parents]
    return order


def first_parents(repo: Repository, commit_oid: bytes) -> Iterator[bytes]:
    """A commit and its first-parent ancestors, newest first: the leaves of its log backwards."""
    yield commit_oid
    while parents := repo.commit(commit_oid).parents:
        commit_oid = parents[0]
        yield commit_oid


def ancestors(repo: Repository, starts: Iterable[bytes], known: Container[bytes] = ()) -> set[bytes]:
    """All commits reachable from `starts`, themselves included, but for those that are known with all below them."""
    stack = [oid for oid in starts if oid not in known]
    seen = set(stack)
    while stack:
        for parent in repo.commit(stack.pop()).parents:
            if parent not in seen and parent not in known:
                seen.add(parent)
                stack.append(parent)
    return seen


def is_ancestor(repo: Repository, older: bytes, newer: bytes) -> bool:
    """Whether `older` is `newer` or reachable from it."""
    if repo.store.holds(older):
        lines = _lines_to_meeting(repo, older, newer)
        if lines is not None:
            return lines.meeting == older
        if _is_on_line(repo, older, newer):
            return True
    return older in ancestors(repo, [newer])


def _is_on_line(repo: Repository, older: bytes, newer: bytes) -> bool:
    """Whether first parents lead from one commit to another."""
    size, oid = repo.commit(older).log_size, newer
    while oid != older:
        commit = repo.commit(oid)
        if commit.log_size <= size or not commit.parents:
            return False
        oid = commit.parents[0]
    return True


def count_apart(repo: Repository, left: bytes, right: bytes) -> tuple[int, int]:
    """How many commits each of two reaches that the other does not."""
    lines = _lines_to_meeting(repo, left, right)
    if lines is not None:
        return len(lines.left), len(lines.right)
    mine, other = ancestors(repo, [left]), ancestors(repo, [right])
    return len(mine - other), len(other - mine)


class _Lines(NamedTuple):
    """The commits above the one where two lines of commits meet, and that one."""

    left: set[bytes]
    right: set[bytes]
    meeting: bytes


def _lines_to_meeting(repo: Repository, left: bytes, right: bytes) -> _Lines | None:
    """Where two histories meet, if each has one parent at every commit down to there; None elsewhere.

    All that is below is common, and need not be read. A commit's log size counts the commits below it in its line, so
    of two the one with the larger is the one to go back from.
    """
    lines = _Lines(set(), set(), left)
    while left != right:
        first, second = repo.commit(left), repo.commit(right)
        goes_left = first.log_size >= second.log_size
        parents = first.parents if goes_left else second.parents
        if len(parents) != 1:
            return None
        if goes_left:
            lines.left.add(left)
            left = parents[0]
        else:
            lines.right.add(right)
            right = parents[0]
    return lines._replace(meeting=left) if lines.left.isdisjoint(lines.right) else None


def merge_bases(repo: Repository, left: Iterable[bytes], right: Iterable[bytes]) -> list[bytes]:
    """The best common ancestors of two merges of commits: those that no other common ancestor descends from.

    Returns:
        Their oids, the oldest first.
    """
    lefts, rights = list(left), list(right)
    lines = _lines_to_meeting(repo, lefts[0], rights[0]) if len(lefts) == len(rights) == 1 else None
    if lines is not None:
        return [lines.meeting]
    common = ancestors(repo, lefts) & ancestors(repo, rights)
    covered: set[bytes] = set()
    for oid in common:
        covered.update(repo.commit(oid).parents)
    return sorted(common - covered, key=lambda oid: (repo.commit(oid).committer.seconds, oid))


def touches(repo: Repository, commit: Commit, paths: Sequence[str]) -> bool:
    """Whether a commit changed a document at, or below, one of the paths against every one of its parents.

    So a merge counts only where it holds what no side had, as in git's log.
    """
    befores = [repo.ledger_root(parent) for parent in commit.parents] or [ledger.EMPTY_LEDGER]
    return all(_differs(repo, before, commit, paths) for before in befores)


def _differs(repo: Repository, before: bytes, commit: Commit, paths: Sequence[str]) -> bool:
    if before == commit.ledger_root:
        return False
    if any(map(is_glob, paths)):
        matches = matcher_of(paths)
        changes = Snapshot(repo.store, commit.ledger_root).changes_since(before)
        return any(matches(change.key) for change in changes)
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


def at_most(entries: Iterator[T], limit: int | None) -> Iterator[T]:
    """The first `limit` of the entries, all where it is None; raises UsageError where it is below 0."""
    if limit is not None and limit < 0:
        raise UsageError(f"the number of commits must be 0 or more, not {limit}")
    return islice(entries, None if limit is None else min(limit, sys.maxsize))


def mainline_of(repo: Repository, undone: bytes, mainline: int | None) -> bytes | None:
    """The parent that a revert goes back to; None for a first commit.

    Args:
        repo: Where.
        undone: The commit.
        mainline: Which of a merge's parents, from 1; None for a commit that is no merge.

    Raises:
        UsageError: when a merge has several and none was named, or there is no such parent.
    """
    parents = repo.commit(undone).parents
    if mainline is None and len(parents) > 1:
        raise UsageError(
            f"{undone.hex()[:12]} is a merge: say which parent's side stays",
            "run: arbor revert -m 1 REV, to undo what the merge brought to the branch it was made on",
        )
    if mainline is not None and not 1 <= mainline <= max(1, len(parents)):
        raise UsageError(f"{undone.hex()[:12]} has no parent {mainline}", "arbor log names the parents")
    return parents[(mainline or 1) - 1] if parents else None
