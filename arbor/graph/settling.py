"""The end of an update: groups the peers of documents anew and follows the change of support as far as it goes."""

from __future__ import annotations

from collections.abc import Container, Mapping

from arbor.graph.difference import Difference
from arbor.graph.grouping import Peer, group_peers
from arbor.graph.policy import PPM, ConsensusPolicy
from arbor.graph.standing import first_support, passed_on, total_score
from arbor.index.consensus_rows import DocumentRow, Edge
from arbor.index.consensus_store import ConsensusStore


class Settling:
    """The rows of the documents of one update, read once and written at the end."""

    def __init__(self, store: ConsensusStore, policy: ConsensusPolicy) -> None:
        self._store = store
        self._policy = policy
        self._stirred: set[int] = set()
        self._rows: dict[int, DocumentRow] = {}
        self._read: dict[int, DocumentRow] = {}
        self._changed: dict[int, DocumentRow] = {}
        self._edges: dict[int, list[Edge]] = {}
        self._copies: dict[int, frozenset[int]] = {}

    def stir(self, *documents: int) -> None:
        """Have the peers of documents grouped anew, once all edges are written."""
        self._stirred.update(documents)

    def resize(self, document: int, size: int) -> None:
        """Note the size of a document's signature."""
        self._put_row(self.row(document)._replace(size=size))

    def row(self, document: int) -> DocumentRow:
        """The row of a document as it is by now."""
        if document not in self._rows:
            self._rows[document] = self._read[document] = self._store.get_document(document)
        return self._rows[document]

    def run(self, difference: Difference, added: Container[int]) -> None:
        """Settle the stirred documents and write the rows that differ.

        Args:
            difference: Gets the rows before and after.
            added: Documents that came in, which have nothing before.
        """
        self._stirred -= difference.gone
        moved: dict[int, tuple[int, int]] = {}
        for document in self._stirred:
            row = self.row(document)
            nearest = self._find_nearest(row)
            support = first_support(nearest[1::2])
            if support != row.supports[0]:
                moved[document] = (row.supports[0], support)
            supports = (support, *row.supports[1:])
            self._put_row(row._replace(groups=len(nearest) // 2, nearest=nearest, supports=supports))
        for hop in range(1, self._policy.hops):
            moved = self._pass_on(hop, moved)
        for document, row in self._changed.items():
            settled = row._replace(score=total_score(row.supports[: self._policy.hops], self._policy))
            if settled != self._read[document]:
                difference.after[document] = settled
                if document not in added:
                    difference.before[document] = self._read[document]
        self._store.put_documents(difference.after.values())

    def _find_nearest(self, row: DocumentRow) -> tuple[int, ...]:
        """As `Groups.nearest`."""
        peers = [peer_of(self.row(edge.peer), edge.similarity) for edge in self._edges_of(row.id)]
        for number in (row.id, *(peer.document for peer in peers)):
            if number not in self._copies:
                self._copies[number] = self._store.copies(number)
        return group_peers(peer_of(row, PPM), peers, self._copies).nearest

    def _pass_on(self, hop: int, moved: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """Work out support `hop + 1` where support `hop` moved nearby; gives the documents whose own moved."""
        reached = set(self._stirred)
        for document, (old, new) in moved.items():
            for edge in self._edges_of(document):
                before, after = (passed_on(edge.similarity, support, self._policy) for support in (old, new))
                if before != after:
                    reached.add(edge.peer)
        further: dict[int, tuple[int, int]] = {}
        for document in reached:
            row = self.row(document)
            support = sum(
                passed_on(likeness, self.row(peer).supports[hop - 1], self._policy)
                for peer, likeness in row.nearest_peers()
            )
            if support != row.supports[hop]:
                further[document] = (row.supports[hop], support)
                supports = list(row.supports)
                supports[hop] = support
                one, two, three = supports
                self._put_row(row._replace(supports=(one, two, three)))
        return further

    def _edges_of(self, document: int) -> list[Edge]:
        if document not in self._edges:
            self._edges[document] = self._store.edges(document)
        return self._edges[document]

    def _put_row(self, row: DocumentRow) -> None:
        self._rows[row.id] = self._changed[row.id] = row


def peer_of(row: DocumentRow, similarity_ppm: int) -> Peer:
    """A document as a peer of another."""
    return Peer(row.id, similarity_ppm, row.oid, row.origins)
