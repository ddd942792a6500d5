"""Statistics of all documents, for distillers: how common terms are, and the root that names what was counted.

The root is that of a ledger of the documents alone, without cores and whatever else a commit's ledger holds. So it is
the same in every knowledge base with these documents, whatever was distilled in it before; and anybody who has them
can make it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from arbor.errors import ColdDocument
from arbor.objects import ledger
from arbor.objects.ledger_diff import diff
from arbor.processes import batches, map_forked
from arbor.records import dataclass
from arbor.repo.commits.history import iter_log
from arbor.repo.documents import read_parts, read_texts
from arbor.repo.repository import Repository
from arbor.repo.snapshot import DOCUMENTS
from arbor.repo.tiers import read_tiers
from arbor.store.odb import ObjectStore
from arbor.store.sequential import SequentialReader, in_stored_order
from arbor.text.analyzer import terms

_BATCH = 250


@dataclass(frozen=True, slots=True)
class KbStatistics:
    """In how many documents each term occurs. Travels to worker processes as it is."""

    documents: int
    frequencies: Mapping[str, int]

    def document_frequency(self, term: str) -> int:
        """In how many documents a term occurs."""
        return self.frequencies.get(term, 0)


def count_terms(repo: Repository, documents: Iterable[bytes]) -> KbStatistics:
    """In how many of these documents each term occurs; one that lies at several paths counts once.

    Raises:
        ColdDocument: when the text of one is not here.
        IntegrityError: when a passage is absent or damaged.
    """
    oids = set(documents)
    cold = oids & read_tiers(repo.folder).cold
    if cold:
        raise ColdDocument(
            f"statistics need the text of every document, and of {len(cold):,} it is not here (cold)",
            "run: arbor rehydrate --all",
        )
    ordered = in_stored_order(repo.store, oids)

    def work(batch: Sequence[bytes]) -> Counter[str]:
        reader = SequentialReader(repo.store)
        counts: Counter[str] = Counter()
        for oid in batch:
            texts = read_texts(reader, *read_parts(reader, oid))
            counts.update({term for text in texts for term in terms(text)})
        return counts

    total: Counter[str] = Counter()
    for part in map_forked(work, batches(ordered, _BATCH)):
        total.update(part)
    return KbStatistics(len(ordered), total)


class TermCounter:
    """Counts one set of documents after the other, each from the one before: versions have most of theirs in common."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._oids: frozenset[bytes] = frozenset()
        self._counted = KbStatistics(0, {})

    def count(self, documents: Iterable[bytes]) -> KbStatistics:
        """What `count_terms` gives, and raises."""
        wanted = frozenset(documents)
        if wanted != self._oids:
            self._counted = self._count(wanted)
            self._oids = wanted
        return self._counted

    def _count(self, wanted: frozenset[bytes]) -> KbStatistics:
        new, gone = wanted - self._oids, self._oids - wanted
        # What is gone may be cold by now, which stands in the way of nothing but the short cut.
        if len(new) + len(gone) >= len(wanted) or gone & read_tiers(self._repo.folder).cold:
            return count_terms(self._repo, wanted)
        total = Counter(self._counted.frequencies)
        total.update(count_terms(self._repo, new).frequencies)
        total.subtract(count_terms(self._repo, gone).frequencies)
        return KbStatistics(len(wanted), +total)


def documents_root(documents: Mapping[str, bytes]) -> bytes:
    """The root of a ledger that holds these documents (ledger key to oid) and nothing else. It is not stored."""
    return ledger.build(sorted(documents.items()), lambda oid, encoding: None)


class DocumentFinder:
    """Finds what roots of `documents_root` name in the history of a commit, each version being looked at once."""

    def __init__(self, repo: Repository, commit_oid: bytes | None) -> None:
        self._repo = repo
        self._ledgers: dict[bytes, bytes] = {}
        starts = [commit_oid] if commit_oid is not None else []
        self._rest = iter_log(repo, starts)
        self._bare = _BareLedgers(repo.store)

    def find(self, root: bytes) -> dict[str, bytes] | None:
        """The documents (ledger key to oid) of a root; None where no version back from the commit holds just these.

        A root that is in the store, since nothing but documents was in that ledger, is read from there.
        """
        found = root if root == ledger.EMPTY_LEDGER or (root and self._repo.store.has(root)) else None
        found = found or self._ledgers.get(root) or self._look_back(root)
        return dict(ledger.iter_entries(self._repo.store, found, DOCUMENTS)) if found is not None else None

    def _look_back(self, root: bytes) -> bytes | None:
        for entry in self._rest:
            whole = entry.commit.ledger_root
            bare = self._bare.root_of(whole)
            self._ledgers.setdefault(bare, whole)
            if bare == root:
                return whole
        return None


class _BareLedgers:
    """The roots of `documents_root` for one ledger after the other, each made from the one before it."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._nodes: dict[bytes, bytes] = {}
        self._last = ledger.EMPTY_LEDGER
        self._bare = ledger.EMPTY_LEDGER

    def get_node(self, oid: bytes) -> ledger.Node:
        """A node of a bare ledger: most are those of the ledgers in the store."""
        data = self._nodes.get(oid)
        return self._store.get_node(oid) if data is None else ledger.decode_node(data, trusted=True)

    def root_of(self, ledger_root: bytes) -> bytes:
        """The root over a ledger's documents alone."""
        changes = {
            key: after
            for key, _, after in diff(self._store, self._last, ledger_root)
            if key.startswith(DOCUMENTS)
        }
        self._bare = ledger.apply(self, self._bare, changes, self._keep)
        self._last = ledger_root
        return self._bare

    def _keep(self, oid: bytes, encoding: bytes) -> None:
        if not self._store.holds(oid):
            self._nodes[oid] = encoding
