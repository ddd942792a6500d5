"""What is proven of a hit: bytes hashed to their leaf now, the leaf in its document, that in the ledger.

Nothing that the index says is evidence here. Each step is checked against hashes: a chunk's bytes hash to its
oid; the oid is a leaf of the document's RFC 9162 tree, whose root and size are in the document; the
document's oid is the value of its path in the ledger, whose nodes are followed from the root by hash.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from arbor.errors import IntegrityError
from arbor.objects import ledger, merkle
from arbor.objects.ids import Kind
from arbor.objects.model import Document, Manifest
from arbor.records import dataclass
from arbor.repo.snapshot import Snapshot, ledger_key, passage_encoding
from arbor.repo.trust.deep_check import fits
from arbor.search.results import AuditMode, ChunkPlace
from arbor.text.encodings import decode_passage

if TYPE_CHECKING:
    from arbor.text.outline import Sections

KEPT_DOCUMENTS = 2048
KEPT_PASSAGES = 200_000
KEPT_NODES = 8192

COLD = "the passage is not stored here (cold)"
DAMAGED = "the stored passage is damaged"
FALSE_LINES = "the passage does not have the lines that are recorded for it"
NO_EVIDENCE = "no telling word of the query is in the passage itself"
NO_TEXT = "the document has no text"
NOT_COMMITTED = "the document is not proven to be in this revision"
CORE = "the sources of this core are not proven"
SOURCES = "the passages that this core was made from were read now and are proven too"
DOCUMENT_DAMAGED = "the document cannot be read from the store"
NO_CLAIM = "nothing was checked"
LEDGER_DAMAGED = "the ledger that should name the document cannot be read from the store"
DAMAGE = frozenset({DAMAGED, DOCUMENT_DAMAGED, LEDGER_DAMAGED})
"""Reasons that mean that something in the store is broken."""
WORK_TREE = "from the work tree, not committed"
VERIFIED = "read now and hashed to its leaf; leaf, document and ledger lead to the root"


class ProvenDocument:
    """A document with its manifest, whose passages are known to be the leaves of its `text_root`."""

    __slots__ = ("document", "line_starts", "manifest", "offsets", "oid", "sections")

    def __init__(self, oid: bytes, document: Document, manifest: Manifest) -> None:
        self.oid = oid
        self.document = document
        self.manifest = manifest
        self.sections: Sections | None = None  # read when a hit asks for them; not proven
        self.offsets: list[int] = []
        self.line_starts: list[int] = []
        offset, line = 0, 1
        for ref in manifest.passages:
            self.offsets.append(offset)
            self.line_starts.append(line)
            offset += ref.size
            line += ref.newlines

    def place(self, index: int, text: str) -> ChunkPlace:
        """Where passage `index` stands. Its last line is the one that its last character is on."""
        ref = self.manifest.passages[index]
        start_line, start_byte = self.line_starts[index], self.offsets[index]
        newlines = text.count("\n") if text else ref.newlines
        ends_line = text.endswith("\n") or not text
        end_line = start_line + newlines - (1 if ends_line and newlines else 0)
        return ChunkPlace(index, ref.oid, start_line, end_line, start_byte, start_byte + ref.size)


@dataclass(frozen=True, slots=True)
class PassageProof:
    """What is proven of one passage.

    Attributes:
        text: Its text, "" where the bytes cannot be had.
        problem: Why the passage is not proven, "" where it is.
    """

    text: str
    problem: str


class Auditor:
    """Proves hits of one store. What was proven by hash is remembered by oid; safe from several threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._documents: OrderedDict[bytes, ProvenDocument] = OrderedDict()
        self._passages = 0
        self._nodes: dict[bytes, ledger.Node] = {}

    def document(self, snapshot: Snapshot, oid: bytes) -> ProvenDocument:
        """A document whose passages hash to its `text_root`.

        Raises:
            IntegrityError: when an object is absent or damaged, or the passages are not the document's
            leaves.
        """
        with self._mutex:
            known = self._documents.get(oid)
            if known is not None:
                self._documents.move_to_end(oid)
                return known
        document = snapshot.document(oid)
        manifest = snapshot.manifest(document)
        leaves = [ref.oid for ref in manifest.passages]
        if len(leaves) != document.passage_count or merkle.tree_root(leaves) != document.text_root:
            raise IntegrityError(f"the passages of document {oid.hex()[:12]} are not those of its root")
        proven = ProvenDocument(oid, document, manifest)
        with self._mutex:
            self._documents[oid] = proven
            self._passages += len(leaves)
            while len(self._documents) > KEPT_DOCUMENTS or (
                self._passages > KEPT_PASSAGES and len(self._documents) > 1
            ):
                _, dropped = self._documents.popitem(last=False)
                self._passages -= len(dropped.manifest.passages)
        return proven

    def passage(
        self, snapshot: Snapshot, proven: ProvenDocument, index: int, cold: frozenset[bytes]
    ) -> PassageProof:
        """Read one passage from the store and hash it to its leaf.

        That the leaf is in the document's tree was shown by hashing all leaves to `text_root`, which is an
        inclusion proof of each of them at once.

        Args:
            snapshot: Where to read.
            proven: The document.
            index: The passage's number in it.
            cold: The documents whose passages need not be here; what others lack is damage.
        """
        ref = proven.manifest.passages[index]
        try:
            data = snapshot.chunk(ref.oid)
        except IntegrityError:
            is_cold = proven.oid in cold and not snapshot.store.has(ref.oid)
            return PassageProof("", COLD if is_cold else DAMAGED)
        encoding = passage_encoding(proven.document)
        text = decode_passage(data, encoding)
        return PassageProof(text, "" if fits(ref, data, encoding) else FALSE_LINES)

    def is_in_ledger(self, snapshot: Snapshot, path: str, oid: bytes) -> bool:
        """Whether the ledger holds this document at this path, followed from its root by hash.

        Raises:
            IntegrityError: when a node on the way is absent or damaged.
        """
        return self._follow(snapshot, ledger_key(path)) == oid

    def _follow(self, snapshot: Snapshot, key: str) -> bytes | None:
        """As `ledger.verify_path` on a proof read from the store, with nodes that were proven before kept."""
        node = self._node(snapshot, snapshot.ledger_root)
        after = ""
        while (found := node.child_of(key)) is not None:
            child = node.children[found]
            after = node.children[found - 1].last_key if found else after
            below = self._node(snapshot, child.oid)
            ledger.check_child(child, below, node.level - 1, after)
            node = below
        return node.value_of(key)

    def _node(self, snapshot: Snapshot, oid: bytes) -> ledger.Node:
        """A node whose bytes hash to `oid` and which keeps a node's own rules."""
        node = self._nodes.get(oid)
        if node is None:
            node = ledger.decode_node(snapshot.store.get_kind(oid, Kind.NODE))
            if len(self._nodes) >= KEPT_NODES:
                self._nodes = {}
            self._nodes[oid] = node
        return node


def label_passage(
    *, committed: bool, problem: str, evidence: str, core_problem: str | None
) -> tuple[AuditMode, tuple[str, ...]]:
    """The label of a passage and why.

    Args:
        committed: The document is proven to be in the ledger.
        problem: What is wrong with the passage's bytes, "" where they are proven.
        evidence: What in the text speaks for the query, "" where nothing does.
        core_problem: Why the sources of a core are not proven, "" where they are; None for other documents.
    """
    if not committed:
        return AuditMode.VISUAL, (NOT_COMMITTED,)
    if lacking := list(filter(None, (problem or ("" if evidence else NO_EVIDENCE), core_problem))):
        proven = "the document is proven to be in this revision"
        return AuditMode.HYBRID, (proven, *lacking)
    return AuditMode.STRICT, (VERIFIED, *([SOURCES] if core_problem is not None else []), evidence)
