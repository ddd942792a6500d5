"""All documents of a set gathered for a rebuild, packed so that a hundred thousand of them fit into memory."""

from __future__ import annotations

from arbor.graph.changes import content_of
from arbor.graph.facts import DocumentFacts, term_hash
from arbor.index.consensus_rows import Content, KeyRow, pack_numbers, unpack_numbers
from arbor.index.consensus_store import ConsensusStore


class Collection:
    """Documents in the order of their numbers; equal contents are one document.

    Attributes:
        keys: One row for each key.
        words: The text behind each term.
        ids: Numbers of the documents, rising.
        oids: Their contents' ids, in the same order.
        packed_terms: Their terms as `pack_numbers` packs them.
        steps: Their count steps.
        sequences: Their texts as indexes into their terms.
    """

    def __init__(self) -> None:
        self.keys: dict[str, KeyRow] = {}
        self.words: dict[int, str] = {}
        self.ids: list[int] = []
        self.oids: list[bytes] = []
        self.packed_terms: list[bytes] = []
        self.steps: list[bytes] = []
        self.sequences: list[bytes] = []
        self._numbers: dict[bytes, int] = {}

    @classmethod
    def load(cls, store: ConsensusStore) -> Collection:
        """The documents of a state, under the numbers that they have there."""
        collection = cls()
        oids = {row.id: row.oid for row in store.iter_documents()}
        for number, content in store.iter_contents():
            collection._add_content(number, oids[number], content)
        collection.keys = {row.key: row for row in store.iter_keys()}
        collection.words = dict(store.iter_term_texts())
        return collection

    def put(self, facts: DocumentFacts) -> None:
        """Add a key or replace what is there."""
        number = self._numbers.get(facts.oid)
        if number is None:
            number = self.ids[-1] + 1 if self.ids else 1
            self._add_content(number, facts.oid, content_of(facts))
            for text in facts.terms:
                self.words.setdefault(term_hash(text), text)
        self.keys[facts.key] = KeyRow(facts.key, number, facts.origins, facts.disputes)

    def drop(self, key: str) -> None:
        """Take a key out, if it is there; `prune` then takes out documents without one."""
        self.keys.pop(key, None)

    def prune(self) -> None:
        """Leave out the documents that have no key."""
        held = {row.document for row in self.keys.values()}
        kept = [position for position, number in enumerate(self.ids) if number in held]
        if len(kept) < len(self.ids):
            for name in ("ids", "oids", "packed_terms", "steps", "sequences"):
                column = getattr(self, name)
                setattr(self, name, [column[position] for position in kept])
            self._numbers = dict(zip(self.oids, self.ids, strict=True))

    def content(self, position: int) -> Content:
        """The content at a position of `ids`."""
        terms = unpack_numbers(self.packed_terms[position])
        return Content(terms, self.steps[position], self.sequences[position])

    def origins(self) -> dict[int, tuple[str, ...]]:
        """What each document declares at any of its keys, sorted; only documents that declare something."""
        found: dict[int, set[str]] = {}
        for row in self.keys.values():
            if row.origins:
                found.setdefault(row.document, set()).update(row.origins)
        return {document: tuple(sorted(origins)) for document, origins in found.items()}

    def _add_content(self, number: int, oid: bytes, content: Content) -> None:
        self._numbers[oid] = number
        self.ids.append(number)
        self.oids.append(oid)
        self.packed_terms.append(pack_numbers(content.terms))
        self.steps.append(content.steps)
        self.sequences.append(content.sequence)
