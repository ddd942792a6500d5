"""One incremental update: exactly the documents that a change touches are looked at again, and nothing else.

The order of the steps is the order in which effects depend on each other: keys, term classes, signatures, edges, groups,
supports. Every step works out its result anew from the tables for the documents it concerns, and never adds to a
number, so a state that was updated a thousand times is the state that a rebuild gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arbor.graph.changes import change_keys, count_terms
from arbor.graph.copies import Runs, find_runs, is_copy
from arbor.graph.difference import Difference
from arbor.graph.facts import DocumentFacts, origin_of_document
from arbor.graph.grouping import Groups, Peer, group_peers
from arbor.graph.neighbours import find_peers
from arbor.graph.policy import HOPS_MAX, ConsensusPolicy
from arbor.graph.similarity import Signature, pack_signature, sign, unpack_signature
from arbor.graph.standing import first_support, passed_on, total_score
from arbor.index.consensus_store import ConsensusStore, Content, DocumentRow, Edge


class Update:
    """One update of the tables, in a transaction of the caller.

    Attributes:
        difference: What the update changed.
    """

    def __init__(self, store: ConsensusStore, policy: ConsensusPolicy) -> None:
        self.difference = Difference()
        self._store = store
        self._policy = policy
        self._added: dict[int, DocumentFacts] = {}
        self._stirred: set[int] = set()
        self._frequencies: dict[int, int] = {}
        self._contents: dict[int, Content] = {}
        self._signatures: dict[int, Signature] = {}
        self._runs: dict[int, Runs] = {}
        self._copies: dict[int, list[int]] = {}
        self._postings: dict[int, list[tuple[int, int]]] = {}
        self._rows: dict[int, DocumentRow] = {}
        self._read: dict[int, DocumentRow] = {}

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
        self._drop_documents()
        for document in signed:
            self._connect(document)
        for document in self.difference.origins - self.difference.gone:
            # Its declared origins may be other ones.
            self._stirred.add(document)
            self._stirred.update(edge.peer for edge in self._store.edges(document))
        self._stirred -= self.difference.gone
        self._settle()
        self._write()

    # Signatures

    def _sign_documents(self) -> set[int]:
        """Sign the documents whose signature may have moved; gives those whose signature did."""
        causes: dict[int, set[int]] = {}
        for term in self.difference.commoner:
            # A term that grows lighter can leave a signature but never enter one.
            for document, _ in self._store.postings(term):
                causes.setdefault(document, set()).add(term)
        for term in self.difference.rarer:
            for document in self._store.holders(term):
                causes.setdefault(document, set()).add(term)
        signed: set[int] = set()
        for document in sorted({*causes, *self._added} - self.difference.gone):
            if self._sign_document(document):
                signed.add(document)
                if document not in self._added:
                    self.difference.reweighted[document] = causes[document]
        return signed

    def _sign_document(self, document: int) -> bool:
        content = self._content(document)
        unknown = [term for term in content.terms if term not in self._frequencies]
        self._frequencies.update(self._store.frequencies(unknown))
        signature = sign(content.terms, content.steps, self._frequencies.__getitem__)
        packed = pack_signature(signature)
        old_packed = self._store.find_signature(document)
        if packed == old_packed:
            return False
        old_values = {} if old_packed is None else {t.hash: t.value for t in unpack_signature(old_packed).key_terms}
        values = {term.hash: term.value for term in signature.key_terms}
        self._store.put_postings(
            (term, document, values.get(term, 0))
            for term in content.terms
            if old_packed is None or values.get(term, 0) != old_values.get(term, 0)
        )
        self._store.put_signatures([(document, packed)])
        self._signatures[document] = signature
        self._put_row(self._row(document)._replace(size=signature.size))
        return True

    # Edges

    def postings(self, term: int) -> list[tuple[int, int]]:
        """(document, value) of the documents whose signature holds a term; signatures do not move any more."""
        if term not in self._postings:
            self._postings[term] = self._store.postings(term)
        return self._postings[term]

    def sizes(self, documents: list[int]) -> dict[int, int]:
        """The sizes of signatures."""
        return {document: self._row(document).size for document in documents}

    def _drop_documents(self) -> None:
        for document in self.difference.gone:
            edges = self._store.edges(document)
            for edge in edges:
                self._lose(document, edge)
            self._store.drop_edges([(document, edge.peer) for edge in edges])
            self._store.drop_document(document)

    def _connect(self, document: int) -> None:
        """Find the peers of a document anew and write the edges that differ."""
        old = {edge.peer: edge for edge in self._store.edges(document)}
        found = find_peers(document, self._signature(document), self, self._policy.min_similarity_ppm)
        new = {
            peer: Edge(peer, likeness, is_copy(self._runs_of(document), self._runs_of(peer)))
            for peer, likeness in found
        }
        fresh = [edge for peer, edge in new.items() if old.get(peer) != edge]
        for peer, edge in old.items():
            if new.get(peer) != edge:
                self._lose(document, edge)
        self._store.drop_edges([(document, peer) for peer in old.keys() - new.keys()])
        self._store.put_edges((document, edge.peer, edge.similarity, edge.copy) for edge in fresh)
        self._stirred.add(document)
        self._stirred.update(edge.peer for edge in fresh)
        for peer in old.keys() | new.keys():
            if (peer in old and old[peer].copy) != (peer in new and new[peer].copy):
                # Whether two peers of a third document are copies of each other matters to the third.
                self._stir_common_peers(document, peer)

    def _lose(self, document: int, edge: Edge) -> None:
        self.difference.lost.setdefault(document, {})[edge.peer] = edge.similarity
        self.difference.lost.setdefault(edge.peer, {})[document] = edge.similarity
        self._stirred.update((document, edge.peer))

    def _stir_common_peers(self, document: int, peer: int) -> None:
        self._stirred.update(
            {edge.peer for edge in self._store.edges(document)} & {edge.peer for edge in self._store.edges(peer)}
        )

    # Groups and supports

    def _settle(self) -> None:
        """Group the peers of stirred documents anew, and follow the change of their support as far as it goes."""
        moved: dict[int, tuple[int, int]] = {}
        for document in self._stirred:
            row = self._row(document)
            groups = self._group(document)
            nearest = tuple(n for group in groups.others for n in (group[0].document, group[0].similarity_ppm))
            support = first_support(nearest[1::2])
            if support != row.supports[0]:
                moved[document] = (row.supports[0], support)
            self._put_row(
                row._replace(groups=len(groups.others), nearest=nearest, supports=(support, *row.supports[1:]))
            )
        for hop in range(1, self._policy.hops):
            moved = self._pass_on(hop, moved)
        for row in list(self.difference.after.values()):
            self._put_row(row._replace(score=total_score(row.supports[: self._policy.hops], self._policy)))

    def _group(self, document: int) -> Groups:
        peers = [self._peer(edge) for edge in self._store.edges(document)]
        row = self._row(document)
        numbers = [document, *(peer.document for peer in peers)]
        for number in numbers:
            if number not in self._copies:
                self._copies[number] = self._store.copies(number)
        return group_peers(document, origins_of(row), peers, self._copies)

    def _peer(self, edge: Edge) -> Peer:
        row = self._row(edge.peer)
        return Peer(edge.peer, edge.similarity, row.oid, origins_of(row))

    def _pass_on(self, hop: int, moved: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """Work out support `hop + 1` where support `hop` moved nearby; gives the documents whose own moved."""
        reached = set(self._stirred)
        for document, (old, new) in moved.items():
            for edge in self._store.edges(document):
                if passed_on(edge.similarity, old, self._policy) != passed_on(edge.similarity, new, self._policy):
                    reached.add(edge.peer)
        further: dict[int, tuple[int, int]] = {}
        for document in reached:
            row = self._row(document)
            support = sum(
                passed_on(likeness, self._row(peer).supports[hop - 1], self._policy)
                for peer, likeness in zip(row.nearest[::2], row.nearest[1::2], strict=True)
            )
            if support != row.supports[hop]:
                further[document] = (row.supports[hop], support)
                supports = (*row.supports[:hop], support, *row.supports[hop + 1 :])
                self._put_row(row._replace(supports=(supports + (0,) * HOPS_MAX)[:HOPS_MAX]))
        return further

    # Rows, read once and written at the end

    def _row(self, document: int) -> DocumentRow:
        if document not in self._rows:
            self._rows[document] = self._read[document] = self._store.get_document(document)
        return self._rows[document]

    def _put_row(self, row: DocumentRow) -> None:
        if row != self._row(row.id):
            self._rows[row.id] = self.difference.after[row.id] = row

    def _write(self) -> None:
        for document, row in list(self.difference.after.items()):
            if row == self._read[document]:
                del self.difference.after[document]
            elif document not in self._added:
                self.difference.before[document] = self._read[document]
        self._store.put_documents(self.difference.after.values())

    def _content(self, document: int) -> Content:
        if document not in self._contents:
            self._contents[document] = self._store.get_content(document)
        return self._contents[document]

    def _signature(self, document: int) -> Signature:
        if document not in self._signatures:
            packed = self._store.find_signature(document)
            self._signatures[document] = unpack_signature(packed or b"")
        return self._signatures[document]

    def _runs_of(self, document: int) -> Runs:
        if document not in self._runs:
            content = self._content(document)
            self._runs[document] = find_runs(content.terms, content.sequence, self._signature(document))
        return self._runs[document]


def origins_of(row: DocumentRow) -> frozenset[str]:
    """The origins that make two documents one source: what is declared, and each document itself."""
    return frozenset((*row.origins, origin_of_document(row.oid)))
