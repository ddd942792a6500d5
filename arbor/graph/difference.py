"""What differs between the state before a change and the state after it, however the change was made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from arbor.graph.similarity import effective_class, unpack_signature
from arbor.index.consensus_rows import DocumentRow
from arbor.index.consensus_store import ConsensusStore
from arbor.records import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """Two states of one set, by the numbers of documents, which stay the same; filled in place as it is found.

    Attributes:
        keys: Keys whose document, origins or disputes are not what they were, with the document before; None for a
            new key.
        origins: Documents that came, went, moved to other keys or declare other origins.
        gone: Those of them that are no longer there.
        before: Rows that are not what they were, as they were; of new documents nothing.
        after: The same rows as they are; of documents that are gone nothing.
        lost: Edges that are gone or were of another similarity, from both ends.
        commoner: Terms that weigh less than before.
        rarer: Terms that weigh more.
        reweighted: Documents that stayed and whose signature moved, with the terms that moved it.
    """

    keys: dict[str, int | None] = field(default_factory=dict)
    origins: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    before: dict[int, DocumentRow] = field(default_factory=dict)
    after: dict[int, DocumentRow] = field(default_factory=dict)
    lost: dict[int, dict[int, int]] = field(default_factory=dict)
    commoner: set[int] = field(default_factory=set)
    rarer: set[int] = field(default_factory=set)
    reweighted: dict[int, set[int]] = field(default_factory=dict)


def compare_states(old: ConsensusStore, new: ConsensusStore, keys: Iterable[str]) -> Difference:
    """The difference between two whole states.

    Args:
        old: Before the change.
        new: After it; documents that stayed have the same numbers.
        keys: Keys that were meant to change.
    """
    difference = Difference()
    for key in keys:
        was, now = old.find_key(key), new.find_key(key)
        if was != now:
            difference.keys[key] = was.document if was else None
            difference.origins.update(row.document for row in (was, now) if row is not None)
    _compare_rows(old, new, difference)
    _compare_edges(old, new, difference)
    _compare_terms(old, new, difference)
    return difference


def _compare_rows(old: ConsensusStore, new: ConsensusStore, difference: Difference) -> None:
    rows = {row.id: row for row in new.iter_documents()}
    for was in old.iter_documents():
        now = rows.pop(was.id, None)
        if was == now:
            continue
        difference.before[was.id] = was
        if now is None:
            difference.gone.add(was.id)
            difference.origins.add(was.id)
        else:
            difference.after[was.id] = now
            if was.origins != now.origins:
                difference.origins.add(was.id)
    difference.after.update(rows)
    difference.origins.update(rows)


def _compare_edges(old: ConsensusStore, new: ConsensusStore, difference: Difference) -> None:
    now = {(one, other): (likeness, copy) for one, other, likeness, copy in new.iter_edges()}
    for one, other, likeness, copy in old.iter_edges():
        if now.get((one, other)) != (likeness, copy):
            difference.lost.setdefault(one, {})[other] = likeness


def _compare_terms(old: ConsensusStore, new: ConsensusStore, difference: Difference) -> None:
    frequencies = dict(new.iter_frequencies())
    for term, frequency in old.iter_frequencies():
        now = frequencies.get(term, 0)
        if now:
            note_shift(difference, term, frequency, now)
    if not (difference.commoner or difference.rarer):
        return
    for number, packed in old.iter_signatures():
        if number not in difference.gone and new.find_signature(number) != packed:
            signed = set(unpack_signature(packed).hashes)
            held = set(new.get_content(number).terms)
            difference.reweighted[number] = (signed & difference.commoner) | (held & difference.rarer)


def note_shift(difference: Difference, term: int, before: int, after: int) -> None:
    """Record a term that crosses a class boundary while documents hold it before and after."""
    old_class, new_class = effective_class(term, before), effective_class(term, after)
    if old_class != new_class:
        (difference.commoner if new_class > old_class else difference.rarer).add(term)
