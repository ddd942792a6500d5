"""Whether what arrived hangs together: nothing that a ref will stand for is absent, and each part fits the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from arbor.errors import IntegrityError, LostObject
from arbor.objects import ledger, merkle, model
from arbor.objects.columns import document_row, manifest_row
from arbor.objects.ids import OID_BYTES, Kind
from arbor.objects.ledger_diff import Change
from arbor.objects.model import Commit, Tag
from arbor.records import dataclass
from arbor.remote.quarantine.inspecting import DocumentRow, Inspection, ManifestFacts
from arbor.remote.quarantine.ledger_walk import fresh_part
from arbor.repo.commits.history import ancestors, parents_first, ref_commits
from arbor.repo.folders import folders_of
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORES, DOCUMENTS
from arbor.repo.tiers import Tiers
from arbor.text.encodings import UTF8

_MAX_TAG_DEPTH = 16
_LONG = 64
"""What was found of a manifest with more chunks is remembered."""

MayBeCold = Callable[[bytes], bool]
"""Whether a document oid may come without its passages."""


def refuse_incomplete(error: LostObject, sender: str) -> IntegrityError:
    """What to say of an object that a check of what arrived did not find: its sender left it out.

    Damage in the store here stays what it is.

    Args:
        error: What the store said.
        sender: Who sent it, as the subject of a sentence.
    """
    if not error.absent:
        return error
    hint = "arbor verify tells more there, and here where that finds nothing"
    return IntegrityError(f"{sender} history is incomplete: {error.message}", hint)


@dataclass(slots=True)
class Checked:
    """What a check found.

    Attributes:
        commits: The commits that were looked at, parents first.
        peeled: The commit behind each target.
        cold: Documents that came, as was said, without all of their passages.
        paths: Fresh document paths of the targets, for warnings.
        documents: The fresh documents, each with the first ledger key that it was found at.
        unmeasured: Those of them whose passages must be read again to tell whether they are as long as is recorded.
    """

    commits: dict[bytes, Commit] = field(default_factory=dict)
    peeled: dict[bytes, bytes] = field(default_factory=dict)
    cold: set[bytes] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    documents: dict[bytes, str] = field(default_factory=dict)
    unmeasured: list[bytes] = field(default_factory=list)


def check_connected(
    repo: Repository, arrived: Inspection, targets: Iterable[bytes], may_be_cold: MayBeCold, tiers: Tiers
) -> Checked:
    """Walk from ref targets to every object that they need; what refs of this KB reach already is taken as whole.

    Args:
        repo: Where it arrived.
        arrived: What is in quarantine.
        targets: Commits or tag objects that refs are to stand at.
        may_be_cold: Says of a document oid whether it may lack passages.
        tiers: What is cold here already.

    Raises:
        IntegrityError: when something is absent or does not fit.
    """
    walk = _Walk(repo, arrived, may_be_cold, tiers)
    for target in targets:
        walk.checked.peeled[target] = walk.peel(target)
    for oid in walk.new_commits(walk.checked.peeled.values()):
        walk.check_commit(oid)
    return walk.checked


def descends(repo: Repository, checked: Checked, newer: bytes, older: bytes) -> bool:
    """Whether `older` is `newer` or below it, the commits of a check included."""
    stack, seen = [newer], {newer}
    while stack:
        oid = stack.pop()
        if oid == older:
            return True
        commit = checked.commits.get(oid) or repo.commit(oid)
        fresh = [parent for parent in commit.parents if parent not in seen]
        seen.update(fresh)
        stack += fresh
    return False


def complete_commits(repo: Repository) -> set[bytes]:
    """Every commit that the KB's refs and HEAD reach: these are here with all they need."""
    return ancestors(repo, ref_commits(repo))


class _Walk:
    """The state of one check. It is a source of ledger nodes: those that arrived, and those that were here."""

    def __init__(self, repo: Repository, arrived: Inspection, may_be_cold: MayBeCold, tiers: Tiers) -> None:
        self._repo = repo
        self._arrived = arrived
        self._may_be_cold = may_be_cold
        self._tiers = tiers
        self._nodes: dict[bytes, ledger.Node] = {}
        self._documents: set[bytes] = set()
        self._cores: set[bytes] = set()
        self._looks: dict[tuple[bytes, bool], tuple[bytes | None, bool]] = {}
        self._last_stored: dict[bytes, ManifestFacts] = {}
        repo.store.refresh()
        self._complete = complete_commits(repo) if any(repo.refs.iter_names()) else set()
        self.checked = Checked()

    # --- reading what arrived before what was here

    def get_node(self, oid: bytes) -> ledger.Node:
        node = self._nodes.get(oid)
        if node is None:
            data = self._arrived.nodes.get(oid)
            node = self._repo.store.get_node(oid) if data is None else ledger.decode_node(data, trusted=True)
            self._nodes[oid] = node
        return node

    def _get(self, oid: bytes, kind: Kind, arrived: dict[bytes, bytes]) -> bytes:
        data = arrived.get(oid)
        return self._repo.store.get_kind(oid, kind) if data is None else data

    def _commit(self, oid: bytes) -> Commit:
        return model.decode_commit(self._get(oid, Kind.COMMIT, self._arrived.commits))

    def _tag(self, oid: bytes) -> Tag | None:
        data = self._arrived.tags.get(oid)
        if data is None and oid not in self._arrived.commits:
            kind, data = self._repo.store.get(oid)
            if kind != Kind.TAG:
                return None
        return None if data is None else model.decode_tag(data)

    # --- commits

    def peel(self, oid: bytes) -> bytes:
        """The commit behind a target; raises IntegrityError when tags lead nowhere."""
        for _ in range(_MAX_TAG_DEPTH):
            tag = self._tag(oid)
            if tag is None:
                self._commit(oid)
                return oid
            oid = tag.target
        raise IntegrityError("tags point at tags without end")

    def new_commits(self, tips: Iterable[bytes]) -> list[bytes]:
        """The commits that are not known to be whole, parents first."""
        commits = self.checked.commits

        def read(oid: bytes) -> Commit:
            commits[oid] = self._commit(oid)
            return commits[oid]

        return parents_first(read, tips, self._complete)

    def check_commit(self, oid: bytes) -> None:
        """A commit whose parents are whole: its log, its ledger, and what the ledger has beyond the first parent's."""
        commit = self.checked.commits[oid]
        before = ledger.EMPTY_LEDGER
        if commit.parents:
            first = self.checked.commits.get(commit.parents[0]) or self._commit(commit.parents[0])
            before = first.ledger_root
            peaks = merkle.append_leaf(first.log_size, first.log_peaks, commit.parents[0])
            if commit.log_size != first.log_size + 1 or list(commit.log_peaks) != peaks:
                raise IntegrityError(f"commit {oid.hex()[:12]}: its log does not go on from its parent's")
        if len(set(commit.parents)) != len(commit.parents):
            raise IntegrityError(f"commit {oid.hex()[:12]}: it names a parent twice")
        top = self.get_node(commit.ledger_root)
        ledger.check_root(top.level, len(top.children), top.last_key)
        changes = fresh_part(self, before, commit.ledger_root).changes
        self._check_names(commit.ledger_root, changes, whole=before == ledger.EMPTY_LEDGER)
        for key, _, value in changes:
            if value is not None and key.startswith((DOCUMENTS, CORES)):
                self.checked.documents.setdefault(value, key)
                self._check_document(value)
                if key.startswith(CORES) != (value in self._cores):
                    raise IntegrityError(f"the ledger has '{key}' at a document of another kind")

    # --- names

    def _check_names(self, root: bytes, changes: list[Change], *, whole: bool) -> None:
        """No document may stand where a folder of others must be."""
        added = {
            key for key, old, new in changes if old is None and new is not None and key.startswith(DOCUMENTS)
        }
        self.checked.paths.update(key[len(DOCUMENTS) :] for key in added)
        folders = {folder[:-1] for folder in folders_of(added) if folder != DOCUMENTS}
        clash = folders & added
        if not clash and not whole:
            clash = {folder for folder in folders if ledger.find(self, root, folder) is not None}
            clash |= {
                key for key in added if next(ledger.iter_entries(self, root, key + "/"), None) is not None
            }
        if clash:
            path = min(clash)[len(DOCUMENTS) :]
            raise IntegrityError(f"the ledger has '{path}' both as a document and as a folder")

    # --- documents

    def _check_document(self, oid: bytes) -> None:
        if oid in self._documents:
            return
        self._documents.add(oid)
        row = self._arrived.documents.get(oid) or self._stored_document(oid)
        facts = self._facts(row[1])
        if row[2:7] != facts.fields:
            raise IntegrityError(f"document {oid.hex()[:12]}: its roots or sizes do not fit its manifest")
        if row[7]:
            self._cores.add(oid)
            if row[7] not in self._arrived.derivations:
                self._repo.store.get_kind(row[7], Kind.DERIVATION)
        # Extracted text is UTF-8, whatever the encoding of the file; the pieces of the file have no lines to compare.
        self._check_chunks(oid, row[1], is_core=bool(row[7]), is_utf8=bool(row[4]) or row[9] == UTF8)

    def _check_chunks(self, oid: bytes, manifest: bytes, *, is_core: bool, is_utf8: bool) -> None:
        """All chunks are there, and those that came are as long as is recorded, in bytes and in lines."""
        look = self._looks.get((manifest, is_utf8))
        if look is None:
            facts = self._facts(manifest)
            look = self._look_at(oid, facts, is_utf8=is_utf8)
            if len(facts.chunks) > _LONG * OID_BYTES:  # any number of documents can have one manifest
                self._looks[manifest, is_utf8] = look
        absent, is_measured = look
        if absent is not None:
            self._note_absent(oid, absent, is_core=is_core)
        if not is_measured and oid not in self.checked.cold:
            self.checked.unmeasured.append(oid)

    def _look_at(self, oid: bytes, facts: ManifestFacts, *, is_utf8: bool) -> tuple[bytes | None, bool]:
        """The first chunk that is nowhere, if one is, and whether all of them came and are as long as is recorded."""
        chunks = self._arrived.chunks
        oids, measures = facts.columns()
        if list(map(chunks.get, oids)) == measures and is_utf8:
            return None, True
        passages, is_measured, absent = facts.fields[0], is_utf8, None
        for number, (chunk, recorded) in enumerate(zip(oids, measures, strict=True)):
            found = chunks.get(chunk)
            if found is None:
                is_measured = False
                if absent is None and not self._repo.store.holds(chunk):
                    absent = chunk
            elif found >> 32 != recorded >> 32:
                raise _fault(oid, chunk, "is not as long as it says")
            elif found != recorded and is_utf8 and number < passages:
                raise _fault(oid, chunk, "does not have the lines it says")
        return absent, is_measured

    def _note_absent(self, oid: bytes, chunk: bytes, *, is_core: bool) -> None:
        if is_core or not (oid in self._tiers.cold or self._may_be_cold(oid)):
            raise _fault(oid, chunk, "is missing")
        self.checked.cold.add(oid)

    def _stored_document(self, oid: bytes) -> DocumentRow:
        return (oid, *document_row(self._repo.store.get_kind(oid, Kind.DOCUMENT)))

    def _facts(self, oid: bytes) -> ManifestFacts:
        """What a manifest says; of those that were here before the last one is kept, for the next document."""
        found = self._arrived.manifests.get(oid)
        if found is not None:
            return found
        if oid not in self._last_stored:
            data = self._repo.store.get_kind(oid, Kind.MANIFEST)
            self._last_stored = {oid: ManifestFacts(*manifest_row(data))}
        return self._last_stored[oid]


def _fault(oid: bytes, chunk: bytes, problem: str) -> IntegrityError:
    return IntegrityError(f"document {oid.hex()[:12]}: passage {chunk.hex()[:12]} {problem}")
