"""One incremental update: exactly the documents that a change touches are looked at again, and nothing else.

The order of the steps is the order in which effects depend on each other: keys, term classes, signatures, edges,
groups, supports. Every step works out its result anew from the tables for the documents it concerns, and never adds to
a number, so a state that was updated a thousand times is the state that a rebuild gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arbor.graph.changes import change_keys, count_terms
from arbor.graph.copies import Runs, is_copy
from arbor.graph.difference import Difference
from arbor.graph.facts import DocumentFacts
from arbor.graph.neighbours import Likeness, find_peers
from arbor.graph.policy import ConsensusPolicy
from arbor.graph.settling import Settling
from arbor.graph.similarity import (
    SIGNATURE_TERMS,
    Signature,
    pack_signature,
    reweigh,
    scale_similarity,
    shared_weight,
    sign,
    unpack_signature,
)
from arbor.index.consensus_rows import Content, Edge
from arbor.index.consensus_store import ConsensusStore

NEARBY_MAX = 100
"""With more candidates than this a search over the postings is faster than comparing signatures."""


class Update:
    """One update of the tables, in a transaction of the caller.

    Attributes:
        difference: What the update changed.
    """

    def __init__(self, store: ConsensusStore, policy: ConsensusPolicy) -> None:
        self.difference = Difference()
        self._store = store
        self._policy = policy
        self._settling = Settling(store, policy)
        self._added: dict[int, DocumentFacts] = {}
        self._frequencies: dict[int, int] = {}
        self._contents: dict[int, Content] = {}
        self._signatures: dict[int, Signature] = {}
        self._values: dict[int, dict[int, int]] = {}
        self._runs: dict[int, Runs] = {}
        self._postings: dict[int, list[tuple[int, int]]] = {}

    def run(self, changed: Mapping[str, DocumentFacts], removed: Iterable[str]) -> None:
        """Bring the tables up to date.

        Args:
            changed: Facts by key, for keys that are new or whose document is another now.
            removed: Keys that are no longer there.
        """
        self._added = change_keys(self._store, changed, removed, self.difference)
        if not self.difference.keys:
            return
        count_terms(self._store, self._added, self.difference)
        signed = self._sign_documents()
        for document in self.difference.gone:
            self._drop_document(document)
        for document, before in signed.items():
            self._connect(document, before)
        for document in self.difference.origins - self.difference.gone:
            # What it declares may have changed, which matters to its peers' groups.
            self._settling.stir(document, *(edge.peer for edge in self._store.edges(document)))
        self._settling.run(self.difference, self._added)

    # Signatures

    def _sign_documents(self) -> dict[int, Signature]:
        """Sign the documents whose signature may have moved; gives those whose signature did, with the old one."""
        causes: dict[int, set[int]] = {}
        for term in self.difference.commoner:
            # A term that grows lighter can leave a signature but never enter one.
            for document, _ in self._store.postings(term):
                causes.setdefault(document, set()).add(term)
        for term in self.difference.rarer:
            for document in self._store.holders(term):
                causes.setdefault(document, set()).add(term)
        signed: dict[int, Signature] = {}
        for document in sorted({*causes, *self._added} - self.difference.gone):
            old = self._signature(document)
            new = self._sign(document, old, causes.get(document, set()))
            if document in self._added:
                signed[document] = old
            elif new != old:
                signed[document] = old
                self.difference.reweighted[document] = causes[document]
            else:
                continue
            self._write_signature(document, old, new)
        return signed

    def _sign(self, document: int, old: Signature, moved: set[int]) -> Signature:
        is_lighter = document not in self._added and moved.isdisjoint(self.difference.rarer)
        if is_lighter and len(old.hashes) < SIGNATURE_TERMS:
            # No term waits to enter, so the text need not be looked at.
            return reweigh(old, self._count(moved))
        content = self._content(document)
        return sign(content.terms, content.steps, self._count(content.terms).__getitem__)

    def _count(self, terms: Iterable[int]) -> Mapping[int, int]:
        """Document frequencies as they are now, of these terms."""
        wanted = list(terms)
        unknown = [term for term in wanted if term not in self._frequencies]
        self._frequencies.update(self._store.frequencies(unknown))
        return {term: self._frequencies[term] for term in wanted}

    def _write_signature(self, document: int, old: Signature, new: Signature) -> None:
        before, values = old.value_of(), new.value_of()
        # Terms outside of the signature have postings too, of value 0.
        terms = self._content(document).terms if document in self._added else {*before, *values}
        self._store.put_postings(
            (term, document, values.get(term, 0))
            for term in terms
            if document in self._added or values.get(term) != before.get(term)
        )
        self._store.put_signatures([(document, pack_signature(new))])
        self._signatures[document] = new
        self._settling.resize(document, new.size)

    # Edges

    def postings(self, term: int) -> list[tuple[int, int]]:
        """(document, value) of the documents whose signature holds a term, once all signatures are written."""
        if term not in self._postings:
            self._postings[term] = self._store.postings(term)
        return self._postings[term]

    def sizes(self, documents: list[int]) -> dict[int, int]:
        """The sizes of signatures."""
        return {document: self._settling.row(document).size for document in documents}

    def _drop_document(self, document: int) -> None:
        edges = self._store.edges(document)
        for edge in edges:
            self._lose(document, edge)
        self._store.drop_edges([(document, edge.peer) for edge in edges])
        self._store.drop_document(document)

    def _connect(self, document: int, before: Signature) -> None:
        """Find the peers of a document anew and write the edges that differ."""
        old = {edge.peer: edge for edge in self._store.edges(document)}
        new = {
            peer: Edge(peer, likeness, is_copy(self._runs_of(document), self._runs_of(peer)))
            for peer, likeness in self._find_peers(document, before, old)
        }
        fresh = [edge for peer, edge in new.items() if old.get(peer) != edge]
        for peer, edge in old.items():
            if new.get(peer) != edge:
                self._lose(document, edge)
        self._store.drop_edges([(document, peer) for peer in old.keys() - new.keys()])
        self._store.put_edges((document, edge.peer, edge.similarity, edge.copy) for edge in fresh)
        if fresh or document in self._added:
            self._settling.stir(document, *(edge.peer for edge in fresh))
        for peer in old.keys() | new.keys():
            if (peer in old and old[peer].copy) != (peer in new and new[peer].copy):
                # Whether two peers of a third document are copies of each other matters to the third.
                self._settling.stir(*(self._peers(document) & self._peers(peer)))

    def _find_peers(self, document: int, before: Signature, old: Mapping[int, Edge]) -> list[Likeness]:
        """All peers of a document, after its signature or others' moved.

        Where its size is what it was, it can have become more similar only to documents that share a term which
        weighs more in it now. If the term weighs more in the other document instead, it is found from there.
        """
        signature, least = self._signature(document), self._policy.min_similarity_ppm
        if document in self._added or signature.size != before.size:
            return find_peers(document, signature, self, least)
        known, values = before.value_of(), self._values_of(document)
        risen = [term for term, value in values.items() if value > known.get(term, 0)]
        nearby = {other for term in risen for other, _ in self.postings(term)} - {document}
        if len(nearby) > NEARBY_MAX:
            return find_peers(document, signature, self, least)
        found = []
        for other in sorted(nearby | old.keys()):
            shared = shared_weight(values, self._values_of(other))
            likeness = scale_similarity(shared, signature.size, self._signature(other).size)
            if likeness >= least:
                found.append(Likeness(other, likeness))
        return found

    def _lose(self, document: int, edge: Edge) -> None:
        self.difference.lost.setdefault(document, {})[edge.peer] = edge.similarity
        self.difference.lost.setdefault(edge.peer, {})[document] = edge.similarity
        self._settling.stir(document, edge.peer)

    def _peers(self, document: int) -> set[int]:
        return {edge.peer for edge in self._store.edges(document)}

    # Contents and what is made of them, read once

    def _content(self, document: int) -> Content:
        if document not in self._contents:
            self._contents[document] = self._store.get_content(document)
        return self._contents[document]

    def _signature(self, document: int) -> Signature:
        if document not in self._signatures:
            self._signatures[document] = unpack_signature(self._store.find_signature(document) or b"")
        return self._signatures[document]

    def _values_of(self, document: int) -> dict[int, int]:
        if document not in self._values:
            self._values[document] = self._signature(document).value_of()
        return self._values[document]

    def _runs_of(self, document: int) -> Runs:
        if document not in self._runs:
            content = self._content(document)
            self._runs[document] = Runs(content.terms, content.sequence, self._signature(document))
        return self._runs[document]
