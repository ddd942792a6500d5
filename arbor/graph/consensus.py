"""Who corroborates whom, now: a live state that follows the set of documents.

The state is a function of the set and the policy: it does not matter in which order or in what batches the documents
came, or what was there in between. It is a cache, and says itself what it was made from.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.graph.difference import compare_states
from arbor.graph.fingerprint import fingerprint
from arbor.graph.policy import PPM, ConsensusPolicy
from arbor.graph.ripple import Ripple
from arbor.graph.similarity import ENGINE_ID, Signature, shared_terms, unpack_signature
from arbor.graph.standing import Label, PeerGroup, Standing, label_for
from arbor.graph.tracing import Witness, is_contested, look_at
from arbor.index.consensus_rows import DocumentRow
from arbor.index.consensus_store import ConsensusStore, build_aside
from arbor.index.disk_errors import ConsensusGuard
from arbor.lazy import lazy_module
from arbor.repo.snapshot import Snapshot

if TYPE_CHECKING:
    from arbor.graph import collection, grouping, rebuilding, settling, updating
    from arbor.graph.collection import Collection
    from arbor.graph.facts import DocumentFacts
    from arbor.graph.grouping import Peer
else:  # a search only reads labels, and numpy takes longer to load than a small update to run
    collection = lazy_module("arbor.graph.collection")
    grouping = lazy_module("arbor.graph.grouping")
    rebuilding = lazy_module("arbor.graph.rebuilding")
    settling = lazy_module("arbor.graph.settling")
    updating = lazy_module("arbor.graph.updating")


REBUILD_FROM = 50
"""A change of fewer keys is never worth a rebuild."""

REBUILD_SHARE = 40
"""From one key in so many on, all at once is faster than one by one."""

SHARED_TERMS_SHOWN = 12


class Consensus:
    """The consensus state of one set of documents; methods may be called from several threads."""

    def __init__(self, store: ConsensusStore, policy: ConsensusPolicy) -> None:
        self.policy = policy
        self._store = store
        self._lock = ConsensusGuard(store.fs_path)

    @classmethod
    def open(cls, fs_path: Path | None = None, policy: ConsensusPolicy | None = None) -> Consensus:
        """Open the state in a file to change it; what was made by other rules starts empty, without a ledger root.

        Args:
            fs_path: The database; None keeps everything in memory. The caller holds the lock of the state.
            policy: The numbers that decide; the published defaults when not given.

        Raises:
            Locked: when another process is writing it.
            StorageError: when the disk is full or refuses.
        """
        policy = policy or ConsensusPolicy()
        stamp = _rules(policy)
        with ConsensusGuard(fs_path):
            store = ConsensusStore.open(fs_path)
            if not stamp.items() <= store.read_meta().items():
                store.close()
                store = ConsensusStore.create(fs_path)
                with store.transaction():
                    store.write_meta({**stamp, "ledger_root": "", "tiers": ""})
        return cls(store, policy)

    @classmethod
    def open_to_read(cls, fs_path: Path, policy: ConsensusPolicy) -> Consensus | None:
        """Open the state in a file as it is, without a lock; None where there is none that these rules made.

        All that is asked of it is answered as of now, whatever others write meanwhile, until `rest`.
        """
        if not fs_path.exists():
            return None
        with ConsensusGuard(fs_path):
            store = ConsensusStore.open_to_read(fs_path)
            if store is None:
                return None
            if not _rules(policy).items() <= store.read_meta().items():
                store.close()
                return None
        return cls(store, policy)

    def close(self) -> None:
        """Give the file back."""
        with self._lock:
            self._store.close()

    def rest(self) -> None:
        """Hold on to no moment of the state on disk between one question and the next."""
        with self._lock:
            self._store.rest()

    def wake(self) -> None:
        """After `rest`: answer as of now."""
        with self._lock:
            self._store.wake()

    def fork(self) -> Consensus:
        """The same state in memory, to go to other revisions with."""
        with self._lock:
            return Consensus(self._store.copy(), self.policy)

    @property
    def ledger_root(self) -> bytes | None:
        """The ledger root that the state was brought to; None for a state that was never finished."""
        with self._lock:
            root = self._store.read_meta().get("ledger_root", "")
        return bytes.fromhex(root) if root else None

    @property
    def tiers(self) -> str:
        """The word of the tiers that the state was brought to."""
        with self._lock:
            return self._store.read_meta().get("tiers", "")

    def is_of(self, snapshot: Snapshot) -> bool:
        """Whether the state is that of a version, as its documents lie in tiers now."""
        return (self.ledger_root, self.tiers) == (snapshot.ledger_root, snapshot.tiers_word())

    def keys(self) -> set[str]:
        """Every key that has a document."""
        with self._lock:
            return {row.key for row in self._store.iter_keys()}

    # Changing the set

    def apply(
        self,
        changed: Iterable[DocumentFacts] = (),
        removed: Iterable[str] = (),
        *,
        ledger_root: bytes = b"",
        tiers: str = "",
        at_once: bool | None = None,
    ) -> Ripple:
        """Bring the state up to date with a change of the set, in one transaction.

        Args:
            changed: Facts of the documents at keys that are new or changed; of several for one key the last counts.
            removed: Keys that are no longer there; a key that is in `changed` as well counts as changed.
            ledger_root: Stamped on the state.
            tiers: The word of the tiers; stamped on the state too.
            at_once: True makes everything anew, False updates one by one; by default whichever is faster. The result
                is the same.

        Raises:
            Locked: when another process is writing the state.
        """
        wanted = {facts.key: facts for facts in changed}
        dropped = [key for key in dict.fromkeys(removed) if key not in wanted]
        with self._lock:
            if at_once is None:
                count = len(wanted) + len(dropped)
                at_once = count > max(REBUILD_FROM, self._store.count_documents() // REBUILD_SHARE)
            if at_once:
                return self._apply_at_once(wanted, dropped, _place(ledger_root, tiers))
            with self._store.transaction():
                ripple = self._apply_stepwise(wanted, dropped)
                self._store.write_meta(_place(ledger_root, tiers))
            return ripple

    def preview(self, changed: Iterable[DocumentFacts] = (), removed: Iterable[str] = ()) -> Ripple:
        """What `apply` would do, without doing it."""
        wanted = {facts.key: facts for facts in changed}
        dropped = [key for key in dict.fromkeys(removed) if key not in wanted]
        with self._lock:
            if not self._store.is_writable():
                return self.fork().apply(wanted.values(), dropped, at_once=False)
            with self._store.transaction(keep=False):
                return self._apply_stepwise(wanted, dropped)

    def rebuild(
        self, documents: Iterable[DocumentFacts], *, ledger_root: bytes = b"", tiers: str = ""
    ) -> None:
        """Make the state anew from the facts of all documents.

        Args:
            documents: One for each key; taken one by one, so a generator saves memory.
            ledger_root: Stamped on the state.
            tiers: The word of the tiers; stamped on the state too.
        """
        gathered = collection.Collection()
        for facts in documents:
            gathered.put(facts)
        gathered.prune()
        with self._lock, self._make_anew(gathered, _place(ledger_root, tiers)):
            pass

    def _apply_stepwise(self, changed: Mapping[str, DocumentFacts], removed: list[str]) -> Ripple:
        witness = _call_witness(self._store, changed, removed)
        update = updating.Update(self._store, self.policy)
        update.run(changed, removed)
        return witness.tell(self._store, update.difference, self.policy)

    def _apply_at_once(
        self, changed: Mapping[str, DocumentFacts], removed: list[str], place: dict[str, str]
    ) -> Ripple:
        witness = _call_witness(self._store, changed, removed)
        gathered = collection.Collection.load(self._store)
        for key in removed:
            gathered.drop(key)
        for facts in changed.values():
            gathered.put(facts)
        gathered.prune()
        with self._make_anew(gathered, place) as new:
            difference = compare_states(self._store, new, [*changed, *removed])
            return witness.tell(new, difference, self.policy)

    @contextlib.contextmanager
    def _make_anew(self, gathered: Collection, place: dict[str, str]) -> Iterator[ConsensusStore]:
        """The new state beside the old one, which it replaces at the end."""
        old, fs_path = self._store, self._store.fs_path
        stamp = {**_rules(self.policy), **place}
        if fs_path is None:
            new = ConsensusStore.create(None)
            rebuilding.rebuild(new, gathered, self.policy, stamp)
            yield new
            old.close()
            self._store = new
            return
        with build_aside(fs_path) as aside:
            rebuilding.rebuild(aside, gathered, self.policy, stamp)
            yield aside
            old.close()
        self._store = ConsensusStore.open(fs_path)

    # Asking

    def label(self, key: str) -> Standing | None:
        """The consensus on the document at a key; None when there is none."""
        with self._lock:
            state = look_at(self._store, key)
        return None if state.row is None else self._standing(state.row, state.contested)

    def label_of_document(self, oid: bytes) -> Label | None:
        """The label of a document by its id, whatever keys it has; None when it is not in the set."""
        row = self._document(oid)
        return None if row is None else label_for(row.groups, self.policy)

    def score_of_document(self, oid: bytes) -> int:
        """The score of a document by its id, in millionths; 0 when it is not in the set."""
        row = self._document(oid)
        return 0 if row is None else row.score

    def _document(self, oid: bytes) -> DocumentRow | None:
        with self._lock:
            number = self._store.find_document(oid)
            return None if number is None else self._store.get_document(number)

    def documents_labelled(self, label: Label) -> set[bytes]:
        """The ids of the documents that carry a label."""
        with self._lock:
            rows = list(self._store.iter_documents())
        return {row.oid for row in rows if label_for(row.groups, self.policy) == label}

    def is_contested(self, oid: bytes) -> bool:
        """Whether a document, by its id, contradicts another or is contradicted, at any of its keys."""
        with self._lock:
            row = self._document(oid)
            return row is not None and any(
                is_contested(self._store, each.key) for each in self._store.keys_of(row.id)
            )

    def documents_contested(self) -> set[bytes]:
        """The ids of the documents that contradict another or are contradicted."""
        with self._lock:
            contested = [key for key in self._store.disputing_keys() if is_contested(self._store, key)]
            rows = [self._store.find_key(key) for key in contested]
            return {self._store.get_document(row.document).oid for row in rows if row is not None}

    def items(self) -> Iterator[tuple[str, Standing]]:
        """(key, consensus) for every key, in the order of their UTF-8 bytes."""
        with self._lock:
            keys = list(self._store.iter_keys())
            rows = {row.id: row for row in self._store.iter_documents()}
            disputed = self._store.disputing_keys()
            contested = {key for key in disputed if is_contested(self._store, key)}
            twins = {row.document for row in keys if row.key in contested}
        for row in keys:
            yield row.key, self._standing(rows[row.document], row.document in twins)

    def counts(self) -> dict[Label, int]:
        """How many documents have each label; several keys with one content count once."""
        with self._lock:
            found = Counter(label_for(groups, self.policy) for groups in self._store.iter_groups())
        return {label: found[label] for label in Label}

    def peers(self, key: str) -> list[PeerGroup]:
        """The peers of the document at a key by group: independent ones first, and the most similar first."""
        with self._lock:
            row = self._store.find_key(key)
            if row is None:
                return []
            store, document = self._store, self._store.get_document(row.document)
            edges = store.edges(document.id)
            found = [settling.peer_of(store.get_document(edge.peer), edge.similarity) for edge in edges]
            copies = {
                number: store.copies(number) for number in (document.id, *(edge.peer for edge in edges))
            }
            groups = grouping.group_peers(settling.peer_of(document, PPM), found, copies)
            shown = [(group, True) for group in groups.others] + ([(groups.own, False)] if groups.own else [])
            return [self._peer_group(document.id, group, independent) for group, independent in shown]

    def fingerprint(self) -> bytes:
        """A hash over everything that the state says, whatever the numbers of its documents: 32 bytes."""
        with self._lock:
            return fingerprint(self._store)

    def _standing(self, row: DocumentRow, contested: bool) -> Standing:
        return Standing(label_for(row.groups, self.policy), row.score, row.groups, contested)

    def _peer_group(self, document: int, group: tuple[Peer, ...], independent: bool) -> PeerGroup:
        store = self._store
        best = shared_terms(_signature(store, document), _signature(store, group[0].document))[
            :SHARED_TERMS_SHOWN
        ]
        texts = store.term_texts(best)
        members = tuple(row.key for peer in group for row in store.keys_of(peer.document))
        return PeerGroup(members, group[0].similarity_ppm, tuple(texts[term] for term in best), independent)


def _rules(policy: ConsensusPolicy) -> dict[str, str]:
    """What decided over a state, as it is stamped."""
    return {"engine": ENGINE_ID, "policy": policy.policy_id}


def _place(ledger_root: bytes, tiers: str) -> dict[str, str]:
    """What a state was brought to, as it is stamped."""
    return {"ledger_root": ledger_root.hex(), "tiers": tiers}


def _signature(store: ConsensusStore, document: int) -> Signature:
    return unpack_signature(store.find_signature(document) or b"")


def _call_witness(store: ConsensusStore, changed: Mapping[str, DocumentFacts], removed: list[str]) -> Witness:
    disputes = [target for facts in changed.values() for target in facts.disputes]
    keys = [*changed, *removed]
    return Witness(store, [*keys, *_find_twins(store, changed, frozenset(keys))], disputes)


def _find_twins(
    store: ConsensusStore, changed: Mapping[str, DocumentFacts], keys: frozenset[str]
) -> Iterator[str]:
    """Of each document that loses or gains one of these keys, the first of its others: what moves is told there."""
    documents = {row.document for row in map(store.find_key, keys) if row is not None}
    for number in [store.find_document(facts.oid) for facts in changed.values()]:
        documents |= set() if number is None else {number}
    for document in documents:
        yield from [row.key for row in store.keys_of(document) if row.key not in keys][:1]
