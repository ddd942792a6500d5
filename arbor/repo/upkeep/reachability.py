"""What is needed: every object that a name, a reflog or the stage leads to. What is left may go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from arbor.errors import IntegrityError
from arbor.objects import ledger
from arbor.objects.ids import OID_BYTES, Kind
from arbor.objects.model import decode_commit, decode_tag, derivation_documents
from arbor.objects.passages import chunk_oids
from arbor.records import dataclass
from arbor.repo.file_bytes import read_document
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORES, DOCUMENTS
from arbor.repo.stage import decode_stage
from arbor.store.sequential import SequentialReader, in_stored_order


@dataclass(slots=True)
class Needed:
    """What is reachable.

    Attributes:
        commits, tags, nodes, documents, others: Oids by kind; `others` holds derivations and what else is
            named.
        cores: The documents among them that are cores.
        manifests: Manifest oid to the documents that have it.
    """

    commits: set[bytes] = field(default_factory=set)
    tags: set[bytes] = field(default_factory=set)
    nodes: set[bytes] = field(default_factory=set)
    documents: set[bytes] = field(default_factory=set)
    cores: set[bytes] = field(default_factory=set)
    others: set[bytes] = field(default_factory=set)
    manifests: dict[bytes, list[bytes]] = field(default_factory=dict)

    def objects(self) -> set[bytes]:
        """Every oid but those of chunks."""
        groups = (self.commits, self.tags, self.nodes, self.documents, self.others, self.manifests)
        return set().union(*groups)


class Reach:
    """Walks from the names of a repository down to its manifests, each object once."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._reader = SequentialReader(repo.store)
        self.needed = Needed()

    def walk(self) -> Needed:
        """Everything that any name needs.

        Raises:
            IntegrityError: when something that a ref or the stage needs is absent or damaged: what cannot be
                read cannot be followed, so nothing may be dropped then.
        """
        stages, record = [self._repo.stage()], self._repo.interrupted()
        if record is not None:  # to undo it, what was staged and what was in the files is needed
            stages += [decode_stage(record.stage)] if record.stage else []
            self.needed.documents.update(record.documents())
        self._commits([*_ref_oids(self._repo), *(oid for stage in stages for oid in stage.merge_parents)])
        self._commits(oid for oid in _reflog_oids(self._repo) if self._repo.store.holds(oid))
        self._nodes([self._repo.commit(oid).ledger_root for oid in self.needed.commits])
        for stage in stages:
            self._nodes([stage.base])
            self._values((key, value) for key, value in stage.changes.items() if value is not None)
        self._documents()
        return self.needed

    def _commits(self, roots: Iterable[bytes]) -> None:
        stack = list(roots)
        while stack:
            oid = stack.pop()
            if oid in self.needed.commits or oid in self.needed.tags:
                continue
            kind, data = self._repo.store.get(oid)
            if kind == Kind.TAG:
                self.needed.tags.add(oid)
                stack.append(decode_tag(data, trusted=True).target)
            elif kind == Kind.COMMIT:
                self.needed.commits.add(oid)
                stack.extend(decode_commit(data, trusted=True).parents)
            else:
                raise IntegrityError(
                    f"a ref leads to {oid.hex()[:12]}, which is no commit", "run: arbor verify"
                )

    def _nodes(self, roots: Iterable[bytes]) -> None:
        stack = [oid for oid in roots if oid not in self.needed.nodes]
        while stack:
            oid = stack.pop()
            if oid in self.needed.nodes or oid == ledger.EMPTY_LEDGER:
                continue
            self.needed.nodes.add(oid)
            node = ledger.decode_node(self._reader.get_kind(oid, Kind.NODE), trusted=True)
            stack.extend(child.oid for child in node.children if child.oid not in self.needed.nodes)
            self._values(node.entries)

    def _values(self, entries: Iterable[tuple[str, bytes]]) -> None:
        for key, value in entries:
            if key.startswith((DOCUMENTS, CORES)):
                self.needed.documents.add(value)
                if key.startswith(CORES):
                    self.needed.cores.add(value)
            elif len(value) == OID_BYTES and self._repo.store.holds(value):
                self.needed.others.add(value)

    def _documents(self) -> None:
        """Documents with their manifests, and what cores were made from, which may be in no ledger any more."""
        waiting = set(self.needed.documents)
        while waiting:
            sources: set[bytes] = set()
            for oid in in_stored_order(self._repo.store, waiting):
                document = read_document(self._reader, oid)
                self.needed.manifests.setdefault(document.manifest, []).append(oid)
                if document.derivation:
                    self.needed.others.add(document.derivation)
                    derivation = self._reader.get_kind(document.derivation, Kind.DERIVATION)
                    sources.update(source for _, source in derivation_documents(derivation))
            waiting = {oid for oid in sources - self.needed.documents if self._repo.store.holds(oid)}
            self.needed.documents |= waiting

    def chunks_of(self, manifest: bytes) -> Iterator[bytes]:
        """The oids of a manifest's passages and pieces of the original."""
        passages, pieces = chunk_oids(self._reader.get_kind(manifest, Kind.MANIFEST))
        yield from passages
        yield from pieces

    def chunks(self, without: frozenset[bytes] | set[bytes] = frozenset()) -> set[bytes]:
        """The chunks of every needed document but these, with what these share with another."""
        wanted: set[bytes] = set()
        manifests = [oid for oid, owners in self.needed.manifests.items() if not without.issuperset(owners)]
        for manifest in in_stored_order(self._repo.store, manifests):
            wanted.update(self.chunks_of(manifest))
        return wanted


def _ref_oids(repo: Repository) -> Iterator[bytes]:
    for oid in (repo.refs.head_oid(), repo.refs.fetched()):
        if oid is not None:
            yield oid
    for name in repo.refs.iter_names():
        oid = repo.refs.read(name)
        if oid is not None:
            yield oid


def _reflog_oids(repo: Repository) -> Iterator[bytes]:
    """What the reflogs remember: a way back that people count on, so it keeps objects as a ref does."""
    for name in ("HEAD", *repo.refs.iter_names()):
        for entry in repo.refs.reflog(name):
            yield from (oid for oid in (entry.old, entry.new) if oid)
