"""What a change of keys does to the set of documents: which come, which go, which terms change their class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from arbor.graph.facts import DocumentFacts, term_hash
from arbor.graph.similarity import count_step, effective_class
from arbor.index.consensus_store import ConsensusStore, Content, DocumentRow, KeyRow


@dataclass(slots=True)
class SetChange:
    """The effect of added, changed and removed keys on the documents.

    Attributes:
        keys: Keys whose document, origins or disputes really change, with the number of the document before (None
            for a new key).
        added: Documents that come in, with their terms' words.
        gone: Documents that lost their last key, as they were.
        moved_origins: Documents that stay, but with other declared origins.
    """

    keys: dict[str, int | None] = field(default_factory=dict)
    added: dict[int, tuple[str, ...]] = field(default_factory=dict)
    gone: dict[int, DocumentRow] = field(default_factory=dict)
    moved_origins: set[int] = field(default_factory=set)


def content_of(facts: DocumentFacts) -> Content:
    """The stored form of a document's terms."""
    return Content(
        tuple(map(term_hash, facts.terms)), bytes(map(count_step, facts.counts)), facts.sequence
    )


def change_keys(store: ConsensusStore, changed: Mapping[str, DocumentFacts], removed: Iterable[str]) -> SetChange:
    """Write the keys and bring in the contents of new documents; postings, edges and leaving are for the caller.

    Args:
        store: The state, in a transaction of the caller.
        changed: Facts by key, for keys that are new or whose document is another now.
        removed: Keys that are no longer there; unknown ones are passed over.
    """
    change = SetChange()
    looked_at: set[int] = set()
    for key in removed:
        row = store.find_key(key)
        if row is not None:
            change.keys[key] = row.document
            looked_at.add(row.document)
            store.drop_key(key)
    for key, facts in changed.items():
        old = store.find_key(key)
        document = store.find_document(facts.oid)
        new = KeyRow(key, -1 if document is None else document, facts.origins, facts.disputes)
        if old == new:
            continue
        if document is None:
            document = _add_document(store, facts)
            change.added[document] = facts.terms
        change.keys[key] = old.document if old else None
        looked_at.add(document)
        if old:
            looked_at.add(old.document)
        store.put_key(new._replace(document=document))
    for document in looked_at:
        _settle_document(store, document, change)
    return change


def _add_document(store: ConsensusStore, facts: DocumentFacts) -> int:
    document = store.next_id()
    store.put_documents([DocumentRow(document, facts.oid, 0, 0, (0, 0, 0), 0, (), ())])
    store.put_contents([(document, content_of(facts))])
    return document


def _settle_document(store: ConsensusStore, document: int, change: SetChange) -> None:
    row = store.get_document(document)
    rows = store.keys_of(document)
    if not rows:
        change.gone[document] = row
        return
    origins = tuple(sorted({origin for key in rows for origin in key.origins}))
    if origins != row.origins:
        store.put_documents([row._replace(origins=origins)])
        if document not in change.added:
            change.moved_origins.add(document)


@dataclass(slots=True)
class TermShift:
    """How the classes of terms move.

    Attributes:
        commoner: Terms that weigh less now.
        rarer: Terms that weigh more now.
    """

    commoner: set[int] = field(default_factory=set)
    rarer: set[int] = field(default_factory=set)


def count_terms(store: ConsensusStore, change: SetChange) -> TermShift:
    """Bring the document frequencies up to date; a document that comes and goes at once leaves no trace."""
    steps: Counter[int] = Counter()
    words: dict[int, str] = {}
    for texts in change.added.values():
        for text in texts:
            number = term_hash(text)
            steps[number] += 1
            words[number] = text
    for document in change.gone:
        steps.subtract(store.get_content(document).terms)
    moved = [term for term, step in steps.items() if step]
    before = store.frequencies(moved)
    shift = TermShift()
    for term in moved:
        old, new = before.get(term, 0), before.get(term, 0) + steps[term]
        old_class, new_class = effective_class(term, old), effective_class(term, new)
        if old and new and old_class != new_class:
            (shift.commoner if new_class > old_class else shift.rarer).add(term)
    store.put_frequencies((term, words.get(term, ""), before.get(term, 0) + steps[term]) for term in moved)
    store.drop_terms(term for term in moved if before.get(term, 0) + steps[term] == 0)
    return shift
