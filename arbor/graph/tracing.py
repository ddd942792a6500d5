"""Tells the story of an update: whom the change reached, over which path, and which labels moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arbor.graph.difference import Difference
from arbor.graph.policy import ConsensusPolicy
from arbor.graph.ripple import NO_RIPPLE, LabelChange, Reach, Ripple
from arbor.graph.standing import Label, label_for
from arbor.index.consensus_rows import DocumentRow
from arbor.index.consensus_store import ConsensusStore
from arbor.records import dataclass


class Witness:
    """Sees the keys before an update, and tells what the update did."""

    def __init__(self, store: ConsensusStore, keys: Iterable[str], disputes: Iterable[str]) -> None:
        """Look at the state before the update.

        Args:
            store: The state before.
            keys: Keys that are to change.
            disputes: Keys that they will contradict.
        """
        self._asked = disputed_keys(store, keys) | set(disputes)
        self._before = {key: look_at(store, key) for key in self._asked}

    def tell(self, store: ConsensusStore, difference: Difference, policy: ConsensusPolicy) -> Ripple:
        """What the update did.

        Args:
            store: The state after.
            difference: What is not as it was.
            policy: The numbers that decide.
        """
        if not difference.keys:
            return NO_RIPPLE
        moved = {
            number
            for number, row in difference.after.items()
            if number not in difference.origins and has_moved(difference.before[number], row)
        }
        scene = Scene(store, difference)
        before = dict(self._before)
        after = {key: look_at(store, key) for key in self._asked}
        for number in moved:
            key = scene.key_of(number)
            if key not in before:
                after[key] = look_at(store, key)
                before[key] = KeyState(difference.before[number], after[key].contested)
        return Ripple(
            tuple(sorted(difference.keys)),
            trace(scene, difference.origins, moved, policy),
            compare_keys(before, after, policy),
            scene.words(difference.commoner | difference.rarer),
        )


class Scene:
    """What lies around the documents of an update, before and after it together."""

    def __init__(self, store: ConsensusStore, difference: Difference) -> None:
        self._store = store
        self._difference = difference
        self._last_keys = {
            document: key
            for key, document in sorted(difference.keys.items(), reverse=True)
            if document is not None
        }

    def key_of(self, document: int) -> str:
        """The first key of a document; of one that is gone, the first that it had."""
        if document in self._difference.gone:
            return self._last_keys[document]
        return self._store.keys_of(document)[0].key

    def peers_of(self, document: int) -> dict[int, int]:
        """Peers before or after, with their similarity in millionths."""
        now = {edge.peer: edge.similarity for edge in self._store.edges(document)}
        return {**self._difference.lost.get(document, {}), **now}

    def terms_of(self, document: int) -> tuple[str, ...]:
        """Words whose weight moved in the document's signature or in a peer's, sorted."""
        reweighted = self._difference.reweighted
        found = set(reweighted.get(document, ()))
        for peer in self.peers_of(document):
            found |= reweighted.get(peer, set())
        return self.words(found)

    def words(self, terms: Iterable[int]) -> tuple[str, ...]:
        """The words behind terms, sorted."""
        return tuple(sorted(self._store.term_texts(sorted(terms)).values()))


def has_moved(before: DocumentRow, after: DocumentRow) -> bool:
    """Whether consensus on a document is not what it was."""
    return (before.groups, before.supports, before.score) != (after.groups, after.supports, after.score)


def trace(
    scene: Scene, origins: Iterable[int], moved: Iterable[int], policy: ConsensusPolicy
) -> tuple[Reach, ...]:
    """How the documents that moved were reached from the origins, nearest first, then by key.

    A path follows the edges of highest similarity, ties by key. Documents that moved because a word of theirs changed
    its weight stand at hop 1, like the neighbours of the change: their own similarities are what moved.
    """
    paths: dict[int, tuple[str, ...]] = {}
    hops: dict[int, int] = {}
    terms: dict[int, tuple[str, ...]] = {}
    frontier: dict[int, tuple[str, ...]] = {number: (scene.key_of(number),) for number in origins}
    left = set(moved)
    hop = 0
    while left and (frontier or hop == 0):
        hop += 1
        found = _step(scene, frontier, left)
        if hop == 1:
            for number in left - found.keys():
                if words := scene.terms_of(number):
                    terms[number] = words
                    found[number] = (scene.key_of(number),)
        paths.update(found)
        hops.update(dict.fromkeys(found, hop))
        left -= found.keys()
        frontier = found
    for number in left:
        paths[number], hops[number] = (scene.key_of(number),), policy.hops
    reached = [
        Reach(
            scene.key_of(number), hops[number], policy.weight_milli(hops[number]), path, terms.get(number, ())
        )
        for number, path in paths.items()
    ]
    return tuple(sorted(reached, key=lambda reach: (reach.hop, reach.key)))


def _step(
    scene: Scene, frontier: Mapping[int, tuple[str, ...]], left: set[int]
) -> dict[int, tuple[str, ...]]:
    """The documents of `left` next to the frontier, each with the path over its most similar neighbour."""
    best: dict[int, tuple[int, str, int]] = {}
    for number in frontier:
        for peer, likeness in scene.peers_of(number).items():
            if peer in left:
                step = (-likeness, frontier[number][-1], number)
                if peer not in best or step < best[peer]:
                    best[peer] = step
    return {peer: (*frontier[number], scene.key_of(peer)) for peer, (_, _, number) in best.items()}


@dataclass(frozen=True, slots=True)
class KeyState:
    """Consensus on one key at one moment.

    Attributes:
        row: The document there; None when there is none.
        contested: Whether it is contested.
    """

    row: DocumentRow | None
    contested: bool


def compare_keys(
    before: Mapping[str, KeyState], after: Mapping[str, KeyState], policy: ConsensusPolicy
) -> tuple[LabelChange, ...]:
    """The keys whose label, or whose being contested, moved, sorted by key."""
    changes = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key, _ABSENT), after.get(key, _ABSENT)
        labels = _label(old.row, policy), _label(new.row, policy)
        if labels[0] != labels[1] or old.contested != new.contested:
            scores = (old.row.score if old.row else 0), (new.row.score if new.row else 0)
            changes.append(LabelChange(key, *labels, *scores, old.contested, new.contested))
    return tuple(changes)


_ABSENT = KeyState(None, False)


def _label(row: DocumentRow | None, policy: ConsensusPolicy) -> Label | None:
    return None if row is None else label_for(row.groups, policy)


def look_at(store: ConsensusStore, key: str) -> KeyState:
    """Consensus on a key now."""
    row = store.find_key(key)
    return _ABSENT if row is None else KeyState(store.get_document(row.document), is_contested(store, key))


def is_contested(store: ConsensusStore, key: str) -> bool:
    """Whether the document at a key contradicts another of the set, or another contradicts it, at any of its keys."""
    row = store.find_key(key)
    if row is None:
        return False
    for own in store.keys_of(row.document):
        for other in (*own.disputes, *store.disputed_by(own.key)):
            found = store.find_key(other)
            if found is not None and found.document != row.document:
                return True
    return False


def disputed_keys(store: ConsensusStore, keys: Iterable[str]) -> set[str]:
    """The keys themselves and all that they contradict or are contradicted by."""
    found: set[str] = set()
    for key in keys:
        found.add(key)
        row = store.find_key(key)
        if row is not None:
            found.update(row.disputes)
        found.update(store.disputed_by(key))
    return found
