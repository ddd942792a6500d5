"""Which objects a receiver lacks: what its wants reach and its haves do not, found by skipping equal subtrees."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import field

from arbor.errors import IntegrityError
from arbor.objects import codec, ledger, model
from arbor.objects.columns import DOCUMENT_DERIVATION, DOCUMENT_MANIFEST
from arbor.objects.ids import Kind
from arbor.objects.ledger_diff import Change
from arbor.objects.model import Commit
from arbor.objects.passages import chunk_oids
from arbor.records import dataclass
from arbor.remote.protocol.messages import AT, COLD, FULL, RemoteRef
from arbor.remote.quarantine.ledger_walk import Fresh, fresh_part
from arbor.repo.commits.history import ancestors, parents_first, peel, ref_commits
from arbor.repo.config import POLICY_FILE
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORES, DOCUMENTS
from arbor.repo.tiers import read_tiers
from arbor.store.packs import Pack
from arbor.store.refs import HEADS
from arbor.store.sequential import SequentialReader


@dataclass(slots=True)
class Selection:
    """What is to be sent.

    Attributes:
        oids: The objects, what describes before what is described.
        cold: Documents in it whose passages are not all here.
    """

    oids: dict[bytes, None] = field(default_factory=dict)
    cold: list[bytes] = field(default_factory=list)


def select_missing(
    repo: Repository, wants: Iterable[bytes], haves: Iterable[bytes], filter_text: str = FULL,
    cold: frozenset[bytes] | None = None,
) -> Selection:  # fmt: skip
    """The objects that `wants` need and somebody who has `haves` lacks.

    Args:
        repo: Where they are.
        wants: Commits or tag objects that are here.
        haves: Commits that the receiver has whole; those that are not here are passed over.
        filter_text: Which passages are wanted, see `FetchRequest.filter`.
        cold: What `cold_and_packs` gave, where it was asked already.

    Raises:
        IntegrityError: when something that should be here is absent or damaged.
    """
    walk = _Walk(repo, filter_text, cold_and_packs(repo)[0] if cold is None else cold)
    tips = [walk.peel(want) for want in wants]
    known = known_ancestors(repo, haves)
    for oid in parents_first(repo.commit, tips, known):
        walk.take_commit(oid)
    return walk.selection


def cold_and_packs(repo: Repository) -> tuple[frozenset[bytes], list[Pack]]:
    """The documents that are cold, and the packs as they are now.

    Cold before the packs were listed or after: of what another process evicts or brings back meanwhile, these packs
    may lack passages.
    """
    before = read_tiers(repo.folder).cold
    repo.store.refresh()
    return before | read_tiers(repo.folder).cold, repo.store.packs()


def known_ancestors(repo: Repository, haves: Iterable[bytes]) -> set[bytes]:
    """All commits that are below the haves, themselves included, as far as these are commits of this KB."""
    known: set[bytes] = set()
    for oid in haves:
        if oid not in known and repo.store.holds(oid):
            with contextlib.suppress(IntegrityError):  # what no ref reaches may have been collected in part
                known |= ancestors(repo, [oid], known)
    return known


def known_commits(repo: Repository, oids: Iterable[bytes]) -> list[bytes]:
    """Those of the oids that are commits reached by the KB's branches and tags."""
    wanted = [oid for oid in oids if repo.store.holds(oid)]
    if not wanted:
        return []
    reached = ancestors(repo, ref_commits(repo, lambda name: name != "HEAD"))
    return [oid for oid in wanted if oid in reached]


class _Walk:
    """Takes commits, parents first, and notes what each adds to what is known."""

    def __init__(self, repo: Repository, filter_text: str, cold: frozenset[bytes]) -> None:
        self._repo = repo
        self._reader = SequentialReader(repo.store)
        self._cold = cold
        self._wants_passages = _passage_filter(filter_text)
        self._whole: set[bytes] = set()
        self._sources: list[tuple[str, bytes]] = []
        self.selection = Selection()

    def peel(self, oid: bytes) -> bytes:
        """The commit behind an oid; the tag objects on the way are sent too."""
        while True:
            kind, data = self._repo.store.get(oid)
            if kind != Kind.TAG:
                return oid
            self.selection.oids[oid] = None
            oid = model.decode_tag(data, trusted=True).target

    def take_commit(self, oid: bytes) -> None:
        """Note a commit, and what its ledger has that the ledgers of its parents have not."""
        commit = self._repo.commit(oid)
        self.selection.oids[oid] = None
        fresh = self._fresh(commit)
        self.selection.oids.update(dict.fromkeys(fresh.nodes))
        known = self._parts_before(fresh.changes)
        for key, _, value in fresh.changes:
            if value is not None and key.startswith((DOCUMENTS, CORES)):
                self._take_document(key, value, known)
        self._take_sources(commit)

    def _fresh(self, commit: Commit) -> Fresh:
        """What is in none of the parents' ledgers."""
        roots = [self._repo.commit(parent).ledger_root for parent in commit.parents] or [ledger.EMPTY_LEDGER]
        fresh = fresh_part(self._repo.store, roots[0], commit.ledger_root)
        for root in roots[1:]:
            other = fresh_part(self._repo.store, root, commit.ledger_root)
            nodes = set(other.nodes)
            values = {(change.key, change.after) for change in other.changes}
            fresh = Fresh([oid for oid in fresh.nodes if oid in nodes],
                          [change for change in fresh.changes if (change.key, change.after) in values])  # fmt: skip
        return fresh

    def _parts_before(self, changes: list[Change]) -> set[bytes]:
        """The documents that the changes replace or move, with their parts: the receiver has them."""
        known: set[bytes] = set()
        for key, before, _ in changes:
            if before is not None and key.startswith((DOCUMENTS, CORES)) and before not in known:
                manifest, parts, _ = self._parts(before)
                known.update((before, manifest, *parts))
        return known

    def _parts(self, oid: bytes) -> tuple[bytes, list[bytes], bytes]:
        """(manifest, chunks, derivation) of a document."""
        fields = codec.decode(self._reader.get_kind(oid, Kind.DOCUMENT), trusted=True)
        manifest, derivation = fields[DOCUMENT_MANIFEST], fields[DOCUMENT_DERIVATION]
        passages, original = chunk_oids(self._reader.get_kind(manifest, Kind.MANIFEST))
        return manifest, passages + original, derivation

    def _take_document(self, key: str, oid: bytes, known: set[bytes]) -> None:
        sent = self.selection.oids
        wanted = self._wants_passages(key)
        if oid in self._whole or (oid in known and wanted) or (oid in sent and not wanted):
            return
        manifest, parts, derivation = self._parts(oid)
        rest = [part for part in (oid, manifest, derivation) if part and part not in known]
        sent.update(dict.fromkeys(rest))
        if not (wanted or derivation):
            return
        self._whole.add(oid)
        if derivation:
            self._sources += model.derivation_documents(self._reader.get_kind(derivation, Kind.DERIVATION))
        if oid in self._cold:
            here = [part for part in parts if self._repo.store.holds(part)]
            if len(here) < len(parts):
                self.selection.cold.append(oid)
            parts = here
        sent.update((part, None) for part in parts if part not in known)

    def _take_sources(self, commit: Commit) -> None:
        """What the cores just taken were made from, where that is in no ledger that the receiver gets or has."""
        if not self._sources:
            return
        roots = [commit.ledger_root, *(self._repo.commit(parent).ledger_root for parent in commit.parents)]
        while self._sources:
            key, oid = self._sources.pop()
            in_a_ledger = any(ledger.find(self._repo.store, root, key) == oid for root in roots)
            if oid not in self.selection.oids and not in_a_ledger and self._repo.store.holds(oid):
                self._take_document(key, oid, set())


def _passage_filter(text: str) -> Callable[[str], bool]:
    """Whether the passages of what stands under a ledger key are wanted; the KB's settings always are."""
    policy = DOCUMENTS + POLICY_FILE
    if text == COLD:
        return lambda key: key == policy
    if text.startswith(AT):
        folder = DOCUMENTS + text[len(AT) :]
        return lambda key: key in (folder, policy) or key.startswith(folder + "/")
    return lambda key: True


def shown_refs(repo: Repository, names: Iterable[str]) -> list[RemoteRef]:
    """The refs of these full names, in order, as they are shown to others."""
    found = []
    for name in sorted(set(names)):
        oid = repo.refs.read(name)
        if oid is not None:
            found.append(RemoteRef(name, oid, oid if name.startswith(HEADS) else peel(repo, oid)))
    return found


def check_wants(repo: Repository, wants: Iterable[bytes]) -> None:
    """Whether somebody may ask for these: what refs stand at, or commits that refs reach.

    Raises:
        IntegrityError: when one is neither.
    """
    shown = {repo.refs.read(name) for name in repo.refs.iter_names()}
    others = [want for want in wants if want not in shown]
    if others:
        reached = ancestors(repo, ref_commits(repo, lambda name: name != "HEAD"))
        for oid in others:
            if oid not in reached:
                raise IntegrityError(f"object {oid.hex()[:12]} is not one that a branch or tag reaches")
