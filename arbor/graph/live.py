"""A repository's consensus, kept with its commits: differences of ledgers become ripples."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import Locked, StorageError
from arbor.graph.consensus import Consensus
from arbor.graph.eager import EAGER_DOCUMENTS
from arbor.graph.policy import ConsensusPolicy, parse_policy
from arbor.graph.ripple import NO_RIPPLE, Ripple
from arbor.index.cache_lock import FOLLOW_WAIT_S, READER_WAIT_S, Told, is_read_only, writing_cache
from arbor.index.consensus_store import CONSENSUS_FILE, CONSENSUS_LOCK
from arbor.index.disk_errors import ConsensusDamaged
from arbor.index.write_ahead import discard_database
from arbor.lazy import lazy_module
from arbor.objects import ledger
from arbor.repo.config import POLICY_FILE
from arbor.repo.repository import Repository
from arbor.repo.snapshot import Snapshot

if TYPE_CHECKING:
    from arbor.graph import documents as reading
else:  # where the state is current, no document is read
    reading = lazy_module("arbor.graph.documents")


class LiveConsensus:
    """The consensus of a repository's versions."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._distrusted = False

    @property
    def _fs_path(self) -> Path:
        return self._repo.folder / "cache" / CONSENSUS_FILE

    def policy(self, snapshot: Snapshot) -> ConsensusPolicy:
        """The policy that a version carries in its `arbor.toml`."""
        return parse_policy(self._repo.committed_policy(snapshot).section("ripple"))

    def state_root(self, snapshot: Snapshot) -> bytes | None:
        """The ledger root that the state on disk stands at; None where it must be made from nothing."""
        consensus = Consensus.open_to_read(self._fs_path, self.policy(snapshot))
        if consensus is None:
            return None
        try:
            return self._usable_root(consensus)
        finally:
            consensus.close()

    def _usable_root(self, consensus: Consensus) -> bytes | None:
        root = consensus.ledger_root
        if root is None or (root != ledger.EMPTY_LEDGER and not self._repo.store.has(root)):
            return None
        return root

    def is_eager(self, snapshot: Snapshot, documents: int) -> bool:
        """Whether a commit should bring the state along: it is live already, or quickly made."""
        return documents <= EAGER_DOCUMENTS or self.state_root(snapshot) is not None

    def is_at_hand(self, snapshot: Snapshot, documents: int) -> bool:
        """Whether a version's state is on disk, or made in a moment because there are few documents."""
        return documents <= EAGER_DOCUMENTS or self.state_root(snapshot) == snapshot.ledger_root

    def open_at(self, snapshot: Snapshot, progress: Told | None = None) -> Consensus:
        """The consensus of a version to read. The caller closes it.

        What is current on disk is read without any lock. Where it cannot be written, or another process is still at
        it after a moment, it is worked out in memory for this once.

        Args:
            snapshot: HEAD's version: the state on disk follows it.
            progress: Told in a sentence when it will take a while.
        """
        found = self._find_current(snapshot)
        if found is not None:
            return found
        try:
            return self._make_current(snapshot, READER_WAIT_S, progress)[0]
        except (Locked, StorageError) as error:
            if progress is not None and not is_read_only(error):
                progress(f"the consensus is worked out for this answer alone: {error.message}")
            return self._make_private(snapshot, progress)

    def follow(self, snapshot: Snapshot) -> tuple[Consensus, Ripple]:
        """As `open_at`, after a commit, and what that moved: the state on disk follows it, or else that is an error.

        Raises:
            Locked: when another process keeps writing the state.
            StorageError: when the disk is full or refuses.
        """
        return self._make_current(snapshot, FOLLOW_WAIT_S, None)

    def distrust(self) -> None:
        """Use the state on disk no more, for it is damaged; it is made anew when it can be written."""
        self._distrusted = True

    def _writing(self, wait_s: float, told: Told | None = None) -> contextlib.AbstractContextManager[None]:
        return writing_cache(self._fs_path.parent, CONSENSUS_LOCK, wait_s, told, "the consensus")

    def _find_state(self, snapshot: Snapshot) -> Consensus | None:
        """The state on disk as it is, where the rules of this version made it."""
        if self._distrusted:
            return None
        return Consensus.open_to_read(self._fs_path, self.policy(snapshot))

    def _find_current(self, snapshot: Snapshot) -> Consensus | None:
        """The state on disk if it is of this very version."""
        found = self._find_state(snapshot)
        if found is None or found.is_of(snapshot):
            return found
        found.close()
        return None

    def _make_current(
        self, snapshot: Snapshot, wait_s: float, progress: Told | None
    ) -> tuple[Consensus, Ripple]:
        """Under the lock: bring the state on disk to a version, and open it to be read."""
        with self._writing(wait_s, progress):
            if self._distrusted:
                discard_database(self._fs_path)
                self._distrusted = False
            try:
                ripple = self._bring_on_disk(snapshot, progress)
            except ConsensusDamaged:
                discard_database(self._fs_path)
                ripple = self._bring_on_disk(snapshot, progress)
            found = self._find_current(snapshot)
        if found is None:
            raise StorageError(f"'{self._fs_path}' cannot be read back", "run: arbor reindex")
        return found, ripple

    def _bring_on_disk(self, snapshot: Snapshot, progress: Told | None) -> Ripple:
        consensus = Consensus.open(self._fs_path, self.policy(snapshot))
        try:
            return self._bring(consensus, snapshot, progress)
        finally:
            consensus.close()  # under the lock, since the write-ahead file may be folded in

    def _make_private(self, snapshot: Snapshot, progress: Told | None) -> Consensus:
        """A version's state in memory, from the one on disk where that is of any use."""
        there = self._find_state(snapshot)
        if there is not None:
            try:
                return self._brought(there.fork(), snapshot, progress)
            except ConsensusDamaged:
                pass
            finally:
                there.close()
        return self._brought(Consensus.open(None, self.policy(snapshot)), snapshot, progress)

    def fork_at(self, consensus: Consensus, snapshot: Snapshot) -> Consensus:
        """Another version's consensus, in memory, reached from one at hand by the difference of the ledgers."""
        policy = self.policy(snapshot)
        fork = consensus.fork() if consensus.policy == policy else Consensus.open(None, policy)
        return self._brought(fork, snapshot, None)

    def _brought(self, consensus: Consensus, snapshot: Snapshot, progress: Told | None) -> Consensus:
        self._bring(consensus, snapshot, progress)
        return consensus

    def advance(self, consensus: Consensus, snapshot: Snapshot) -> Ripple:
        """Bring a state in memory to another version; what that moved."""
        return self._bring(consensus, snapshot, None)

    def preview(
        self, consensus: Consensus, before: Snapshot, documents: Iterable[tuple[str, bytes | None]]
    ) -> Ripple:
        """What staging these (path, document oid or None) over a version would do."""
        rows = list(documents)
        cold = before.tiers().cold
        facts = [reading.read_facts(before, path, oid, cold) for path, oid in rows if oid is not None]
        return consensus.preview(
            [each for each in facts if each is not None], [path for path, oid in rows if oid is None]
        )

    def _bring(self, consensus: Consensus, snapshot: Snapshot, progress: Told | None) -> Ripple:
        root, tiers = self._usable_root(consensus), snapshot.tiers_word()
        if root == snapshot.ledger_root and consensus.tiers == tiers:
            return NO_RIPPLE
        if root is None:
            rows = list(snapshot.paths())
            if progress is not None and len(rows) > EAGER_DOCUMENTS:
                progress(f"working out the consensus of {len(rows):,} documents")
            facts = reading.gather_documents(snapshot, rows)
            consensus.rebuild(facts, ledger_root=snapshot.ledger_root, tiers=tiers)
            return NO_RIPPLE
        changes = {each.key: each.after for each in snapshot.changes_since(root) if each.key != POLICY_FILE}
        if consensus.tiers != tiers:
            changes |= _moved_by_tiers(consensus, snapshot)
        facts = reading.gather_documents(
            snapshot, [(key, oid) for key, oid in changes.items() if oid is not None]
        )
        textless = changes.keys() - {each.key for each in facts}
        return consensus.apply(facts, sorted(textless), ledger_root=snapshot.ledger_root, tiers=tiers)


def _moved_by_tiers(consensus: Consensus, snapshot: Snapshot) -> dict[str, bytes | None]:
    """What documents that went cold, or came back, change of the set: a cold one has no text that could count."""
    cold, held = snapshot.tiers().cold, consensus.keys()
    moved: dict[str, bytes | None] = {}
    for path, oid in snapshot.paths():
        if (oid in cold) == (path in held):
            moved[path] = None if oid in cold else oid
    return moved
