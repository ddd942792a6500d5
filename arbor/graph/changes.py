"""What a change of keys does to the set of documents: which come, which go, which terms change their class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from arbor.graph.difference import Difference, note_shift
from arbor.graph.facts import DocumentFacts, term_hash
from arbor.graph.similarity import count_step
from arbor.index.consensus_rows import Content, DocumentRow, KeyRow
from arbor.index.consensus_store import ConsensusStore


def content_of(facts: DocumentFacts) -> Content:
    """The stored form of a document's terms."""
    return Content(tuple(map(term_hash, facts.terms)), bytes(map(count_step, facts.counts)), facts.sequence)


def change_keys(
    store: ConsensusStore,
    changed: Mapping[str, DocumentFacts],
    removed: Iterable[str],
    difference: Difference,
) -> dict[int, DocumentFacts]:
    """Write the keys and bring in the contents of new documents; the rest of a document's rows are for the caller.

    Args:
        store: The state, in a transaction of the caller.
        changed: Facts by key, for keys that are new or whose document is another now.
        removed: Keys that are no longer there; unknown ones are passed over.
        difference: Gets the keys, the origins, and the documents that are gone with their rows.

    Returns:
        The documents that came in.
    """
    added: dict[int, DocumentFacts] = {}
    for key in removed:
        row = store.find_key(key)
        if row is not None:
            difference.keys[key] = row.document
            difference.origins.add(row.document)
            store.drop_key(key)
    for key, facts in changed.items():
        old = store.find_key(key)
        document = store.find_document(facts.oid)
        new = KeyRow(key, -1 if document is None else document, facts.origins, facts.disputes)
        if old == new:
            continue
        if document is None:
            document = _add_document(store, facts)
            added[document] = facts
        difference.keys[key] = old.document if old else None
        difference.origins.update((document, old.document) if old else (document,))
        store.put_key(new._replace(document=document))
    for document in difference.origins:
        _settle_document(store, document, difference)
    return added


def _add_document(store: ConsensusStore, facts: DocumentFacts) -> int:
    document = store.next_id()
    store.put_documents([DocumentRow(document, facts.oid, 0, 0, (0, 0, 0), 0, (), ())])
    store.put_contents([(document, content_of(facts))])
    return document


def _settle_document(store: ConsensusStore, document: int, difference: Difference) -> None:
    row = store.get_document(document)
    rows = store.keys_of(document)
    if not rows:
        difference.gone.add(document)
        difference.before[document] = row
        return
    origins = tuple(sorted({origin for key in rows for origin in key.origins}))
    if origins != row.origins:
        store.put_documents([row._replace(origins=origins)])


def count_terms(store: ConsensusStore, added: Mapping[int, DocumentFacts], difference: Difference) -> None:
    """Bring the document frequencies up to date and note the terms that change their class."""
    steps: Counter[int] = Counter()
    words: dict[int, str] = {}
    for facts in added.values():
        for text in facts.terms:
            number = term_hash(text)
            steps[number] += 1
            words[number] = text
    for document in difference.gone:
        steps.subtract(store.get_content(document).terms)
    moved = [term for term, step in steps.items() if step]
    before = store.frequencies(moved)
    after = {term: before.get(term, 0) + steps[term] for term in moved}
    for term in moved:
        if term in before and after[term]:
            note_shift(difference, term, before[term], after[term])
    store.put_frequencies(
        (term, words.get(term, ""), frequency) for term, frequency in after.items() if frequency
    )
    store.drop_terms(term for term, frequency in after.items() if not frequency)
