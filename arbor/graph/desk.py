"""Asking a repository about consensus: one document, all of them, its history, and what a change does or would do."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Concatenate, ParamSpec, TypeVar

from arbor.errors import UsageError
from arbor.graph.consensus import Consensus
from arbor.graph.live import LiveConsensus
from arbor.graph.ripple import LabelChange, Ripple
from arbor.graph.standing import CONTESTED, Label, PeerGroup, Standing
from arbor.index.checking import check_consensus
from arbor.index.disk_errors import ConsensusDamaged
from arbor.objects.paths import path_fault
from arbor.records import dataclass
from arbor.repo.commits.history import first_parents
from arbor.repo.commits.messages import subject_of
from arbor.repo.commits.revisions import resolve, resolve_range
from arbor.repo.config import POLICY_FILE
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot
from arbor.repo.tiers import to_rehydrate

Progress = Callable[[str], None]
HISTORY_COMMITS = 200


@dataclass(frozen=True, slots=True)
class ConsensusReport:
    """The consensus on one document.

    Attributes:
        path: The document.
        standing: Label, score, independent groups of peers, whether it is contested.
        peers: Its peers by group, independent ones first.
    """

    path: str
    standing: Standing
    peers: tuple[PeerGroup, ...]


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """The consensus on a document at one commit; `standing` is None where it was not there.

    Attributes:
        commit: Hexadecimal oid.
        seconds: When it was made, since 1970 UTC.
        subject: First paragraph of its message, on one line.
        standing: The consensus then.
    """

    commit: str
    seconds: int
    subject: str
    standing: Standing | None


def parse_label(text: str) -> Label:
    """A label by name, in any case; raises UsageError for another word."""
    try:
        return Label[text.upper()]
    except KeyError:
        raise UsageError(
            f"'{text}' is not a label",
            "the labels are NOVEL, EXTENDED and CORROBORATED, and CONTESTED beside them",
        ) from None


def _parse_mark(text: str) -> Callable[[Standing], bool]:
    """Whether a standing carries what is named: a label, or CONTESTED beside it; raises UsageError for another word."""
    if text.upper() == CONTESTED:
        return lambda standing: standing.contested
    label = parse_label(text)
    return lambda standing: standing.label is label


def _compare(before: Consensus, after: Consensus) -> Ripple:
    """What another policy moved: everything is weighed anew, so labels are compared instead of followed."""
    old, new = dict(before.items()), dict(after.items())
    changes = []
    for key in sorted({*old, *new}):
        was, now = old.get(key), new.get(key)
        if was is None or now is None or was.label != now.label or was.contested != now.contested:
            changes.append(_label_change(key, was, now))
    return Ripple((POLICY_FILE,), (), tuple(changes))


def _label_change(key: str, was: Standing | None, now: Standing | None) -> LabelChange:
    return LabelChange(
        key, was.label if was else None, now.label if now else None, was.score_ppm if was else 0,
        now.score_ppm if now else 0, bool(was and was.contested), bool(now and now.contested),
    )  # fmt: skip


_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")


def _healing(
    method: Callable[Concatenate[ConsensusDesk, _Asked], _Answer],
) -> Callable[Concatenate[ConsensusDesk, _Asked], _Answer]:
    """Ask again where the state turns out to be damaged: it is made anew from the objects."""

    @functools.wraps(method)
    def ask(desk: ConsensusDesk, /, *args: _Asked.args, **named: _Asked.kwargs) -> _Answer:
        try:
            return method(desk, *args, **named)
        except ConsensusDamaged:
            desk.distrust()
            return method(desk, *args, **named)

    return ask


class ConsensusDesk:
    """Answers about the consensus of one repository. State is opened for each question and closed again."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._live = LiveConsensus(repo)

    def distrust(self) -> None:
        """Make the state anew at the next question, for it is damaged."""
        self._live.distrust()

    def mend(self) -> None:
        """Make the state of HEAD anew where the file is not as it was written."""
        if check_consensus(self._repo):
            self._live.distrust()
            self._live.open_at(self._repo.head_snapshot()).close()

    @contextlib.contextmanager
    def _at(self, commit: bytes | None, progress: Progress | None = None) -> Iterator[Consensus]:
        """The consensus of a commit: the live state for HEAD, a fork of it for another."""
        head = self._repo.refs.head_oid()
        with closing(self._live.open_at(self._repo.snapshot(head), progress)) as live:
            if commit == head:
                yield live
                return
            with closing(self._live.fork_at(live, self._repo.snapshot(commit))) as fork:
                yield fork

    @_healing
    def follow_commit(self, documents: int) -> Ripple | None:
        """Bring the live state to HEAD after a commit; None where it is left until somebody asks.

        Args:
            documents: Documents in the commit.

        Raises:
            Locked: when another process keeps writing the state.
            StorageError: when the disk is full or refuses.
        """
        snapshot = self._repo.head_snapshot()
        parent = self._parent_snapshot()
        if not self._live.is_eager(snapshot, documents):
            return None
        with contextlib.ExitStack() as opened:
            before: Consensus | None = None
            # The state of the version before is made where it is missing, so that what the commit moves can be told.
            if parent is not None and self._live.policy(parent) != self._live.policy(snapshot):
                with closing(self._live.open_at(parent)) as there:
                    before = opened.enter_context(closing(there.fork()))
            elif parent is not None and self._live.state_root(snapshot) is None:
                self._live.open_at(parent).close()
            consensus, ripple = self._live.follow(snapshot)
            opened.enter_context(closing(consensus))
            return ripple if before is None else _compare(before, consensus)

    def _parent_snapshot(self) -> Snapshot | None:
        """The version before HEAD: the empty one before the first commit."""
        head = self._repo.refs.head_oid()
        if head is None:
            return None
        parents = self._repo.commit(head).parents
        return self._repo.snapshot(parents[0] if parents else None)

    def _commit(self, revision: str | None) -> bytes | None:
        return self._repo.refs.head_oid() if revision is None else resolve(self._repo, revision)

    @_healing
    def report(self, path: str, revision: str | None, progress: Progress | None = None) -> ConsensusReport:
        """The consensus on a document at a revision (HEAD without).

        Raises:
            UsageError: when there is no such document, or it has no text.
        """
        commit = self._commit(revision)
        snapshot = self._repo.snapshot(commit)
        oid = snapshot.get(path)
        with self._at(commit, progress) as consensus:
            standing = consensus.label(path)
            if standing is None:
                if oid in snapshot.tiers().cold:
                    raise UsageError(f"'{path}' is cold here, so it has no consensus",
                                     f"run: {to_rehydrate(path, commit if revision else None)}", path)  # fmt: skip
                raise UsageError(f"'{path}' has no text, so it has no consensus")
            return ConsensusReport(path, standing, tuple(consensus.peers(path)))

    @_healing
    def standings(
        self, revision: str | None, progress: Progress | None = None, *, label: str | None = None
    ) -> list[tuple[str, Standing]]:
        """(path, standing) of every document with text at a revision (HEAD without), in path order.

        Raises:
            UsageError: when there is no label of this name.
        """
        carries = None if label is None else _parse_mark(label)
        with self._at(self._commit(revision), progress) as consensus:
            return [each for each in consensus.items() if carries is None or carries(each[1])]

    @_healing
    def history(self, path: str, limit: int, progress: Progress | None = None) -> list[HistoryPoint]:
        """The consensus on a document at the last commits of this branch, newest first.

        Raises:
            UsageError: when nothing can be called so, or for a number of commits below 0.
        """
        if path_fault(path):
            raise UsageError(f"there is no document '{path}'")
        if limit < 0:
            raise UsageError("the number of commits to show is 0 or more")
        points = []
        with self._at(self._repo.refs.head_oid(), progress) as live:
            fork = live.fork()
            try:
                for oid in self._first_parents(min(limit, HISTORY_COMMITS)):
                    fork, old = self._moved(fork, oid), fork
                    if old is not fork:
                        old.close()
                    commit = self._repo.commit(oid)
                    subject = subject_of(commit.message)
                    points.append(
                        HistoryPoint(oid.hex(), commit.committer.seconds, subject, fork.label(path))
                    )
            finally:
                fork.close()
        return points

    def _first_parents(self, limit: int) -> list[bytes]:
        head = self._repo.refs.head_oid()
        return list(islice(first_parents(self._repo, head), limit)) if head else []

    def _moved(self, fork: Consensus, commit: bytes) -> Consensus:
        """The fork at another commit; a new one where the policy differs there."""
        snapshot = self._repo.snapshot(commit)
        if fork.policy != self._live.policy(snapshot):
            return self._live.fork_at(fork, snapshot)
        self._live.advance(fork, snapshot)
        return fork

    @_healing
    def replay(self, span: str | None, progress: Progress | None = None) -> Ripple:
        """What going from one revision to another (`A..B`), or a commit (the last one without), moved.

        Raises:
            UsageError: when a revision is unknown.
        """
        old: bytes | None
        if span is None or ".." not in span:
            new = resolve(self._repo, "HEAD" if span is None else span)
            old = next(iter(self._repo.commit(new).parents), None)
        else:
            old, new = resolve_range(self._repo, span)
        with (
            self._at(self._repo.refs.head_oid(), progress) as live,
            closing(self._live.fork_at(live, self._repo.snapshot(old))) as before,
        ):
            after = self._repo.snapshot(new)
            if before.policy == self._live.policy(after):
                return self._live.advance(before, after)
            with closing(self._live.fork_at(before, after)) as fork:
                return _compare(before, fork)

    @_healing
    def preview(
        self,
        snapshot: Snapshot,
        documents: Sequence[tuple[str, bytes | None]],
        progress: Progress | None = None,
    ) -> tuple[Ripple, dict[str, Standing]]:
        """What (path, new document or None) would move against HEAD, and where those documents stand now."""
        with self._at(self._repo.refs.head_oid(), progress) as consensus:
            before = {
                path: standing for path, _ in documents for standing in [consensus.label(path)] if standing
            }
            return self._live.preview(consensus, snapshot, documents), before

    @_healing
    def labels(self, snapshot: Snapshot, progress: Progress | None = None) -> Consensus:
        """The consensus of a version, for a search that shows or filters by labels; the caller closes it."""
        head = self._repo.head_snapshot()
        live = self._live.open_at(head, progress)
        if snapshot.ledger_root == head.ledger_root:
            return live
        with closing(live):
            return self._live.fork_at(live, snapshot)

    def is_at_hand(self, snapshot: Snapshot) -> bool:
        """Whether the state of a version is on disk, or made in a moment because there is little of it."""
        return self._live.is_at_hand(snapshot, snapshot.count_documents())
