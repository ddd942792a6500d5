"""Every byte of every pack, read and hashed again, and what its objects say of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import NamedTuple

from arbor.errors import IntegrityError
from arbor.objects import ledger, model
from arbor.objects.columns import decode_all
from arbor.objects.ids import Kind
from arbor.objects.model import split_oids
from arbor.processes import batches, map_forked
from arbor.records import dataclass
from arbor.store.pack_format import FrameHeader
from arbor.store.pack_index import KEY_BYTES
from arbor.store.packs import Pack

_FRAMES_A_TASK = 12


class DocumentFacts(NamedTuple):
    """What a document says of its manifest."""

    oid: bytes
    manifest: bytes
    passage_count: int
    text_root: bytes
    original_count: int
    original_root: bytes
    size: int
    derivation: bytes
    file_hash: bytes
    encoding: str


class ManifestFacts(NamedTuple):
    """What a manifest comes to: roots and sizes computed now, and the chunks it needs, one after the other."""

    oid: bytes
    passage_count: int
    text_root: bytes
    original_count: int
    original_root: bytes
    size: int
    chunks: bytes


class NodeFacts(NamedTuple):
    """A ledger node without its encoding.

    `values` are the oids of the documents and cores that stand in it, `cores` those of the cores alone; `folders` are
    those that hold documents.
    """

    oid: bytes
    level: int
    first_key: str
    last_key: str
    count: int  # type: ignore[assignment]  # of no use as a tuple's method
    children: tuple[ledger.Child, ...]
    values: bytes
    folders: frozenset[str] = frozenset()
    cores: bytes = b""


class Damage(NamedTuple):
    """Something found broken: which object (b"" where not even that is known), where, and what is wrong."""

    oid: bytes
    where: str
    problem: str


@dataclass(slots=True)
class Audit:
    """What the packs hold.

    Attributes:
        oids: Every object.
        awaited: The chunks that manifests name and that had not been read before these were: nearly none, since a
            pack begins with its chunks.
        documents, manifests, nodes, commits, tags: What they say, by oid.
        sources: The documents that the derivations name, by the derivation's oid.
        damaged: What could not be read.
        chunks: How many chunks were read.
    """

    oids: set[bytes] = field(default_factory=set)
    awaited: set[bytes] = field(default_factory=set)
    documents: dict[bytes, DocumentFacts] = field(default_factory=dict)
    manifests: dict[bytes, ManifestFacts] = field(default_factory=dict)
    nodes: dict[bytes, NodeFacts] = field(default_factory=dict)
    commits: dict[bytes, model.Commit] = field(default_factory=dict)
    tags: dict[bytes, model.Tag] = field(default_factory=dict)
    sources: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)
    damaged: list[Damage] = field(default_factory=list)
    chunks: int = 0


@dataclass(slots=True)
class _Part:
    """What one task found; travels between processes, so it is made of plain values."""

    oids: bytes = b""
    documents: list[DocumentFacts] = field(default_factory=list)
    manifests: list[ManifestFacts] = field(default_factory=list)
    nodes: list[NodeFacts] = field(default_factory=list)
    commits: list[tuple[bytes, model.Commit]] = field(default_factory=list)
    tags: list[tuple[bytes, model.Tag]] = field(default_factory=list)
    sources: list[tuple[bytes, tuple[bytes, ...]]] = field(default_factory=list)
    damaged: list[Damage] = field(default_factory=list)
    chunks: int = 0


def audit_packs(packs: list[Pack], meanwhile: Callable[[], object] | None = None) -> Audit:
    """Read everything; large packs over several processes.

    Args:
        packs: What to read.
        meanwhile: Called once, in this process, while others read.
    """
    audit = Audit()
    tasks = []
    for number, pack in enumerate(packs):
        if not pack.check_hash():
            audit.damaged.append(Damage(b"", f"pack {pack.name[:12]}", "its bytes do not hash to its name"))
        frames = list(pack.walk())
        for offset, header in frames:
            if header is None:
                audit.damaged.append(
                    Damage(b"", f"pack {pack.name[:12]} byte {offset}", "a frame header is damaged")
                )
        sound = [(offset, header) for offset, header in frames if header is not None]
        tasks += [(number, part) for part in batches(sound, _FRAMES_A_TASK)]

    def work(task: tuple[int, Sequence[tuple[int, FrameHeader]]]) -> _Part:
        return _audit_frames(packs[task[0]], task[1])

    unseen: list[set[bytes]] = []  # keys of the index of each pack, until their objects are read
    strays: set[int] = set()

    def begin() -> None:
        unseen.extend(set(pack.index.keys()) for pack in packs)
        if meanwhile:
            meanwhile()

    for part, (number, _) in zip(map_forked(work, tasks, at_least=4, meanwhile=begin), tasks, strict=True):
        found = split_oids(part.oids)
        keys = {oid[:KEY_BYTES] for oid in found}
        others = keys - unseen[number]  # an object that was there twice is one of these, too
        unseen[number] -= keys
        if any(packs[number].index.find(key) is None for key in others):
            strays.add(number)
        _take(audit, part, found)
    for number, pack in enumerate(packs):
        if unseen[number] or number in strays or not pack.index.check():
            audit.damaged.append(Damage(b"", f"pack index {pack.name[:12]}", "it does not fit its pack"))
    return audit


def _take(audit: Audit, part: _Part, found: list[bytes]) -> None:
    audit.oids.update(found)
    audit.documents.update((facts.oid, facts) for facts in part.documents)
    audit.manifests.update((facts.oid, facts) for facts in part.manifests)
    named = set(split_oids(b"".join([facts.chunks for facts in part.manifests])))
    audit.awaited.update(named.difference(audit.oids))
    audit.nodes.update((facts.oid, facts) for facts in part.nodes)
    audit.commits.update(part.commits)
    audit.tags.update(part.tags)
    audit.sources.update(part.sources)
    audit.damaged += part.damaged
    audit.chunks += part.chunks


def _audit_frames(pack: Pack, frames: Sequence[tuple[int, FrameHeader]]) -> _Part:
    part, oids = _Part(), []
    for offset, header in frames:
        where = f"pack {pack.name[:12]} byte {offset}"
        try:
            frame = pack.frame_at(offset, header)
        except IntegrityError as error:
            part.damaged.append(Damage(b"", where, error.message))
            continue
        held = frame.oids()
        oids += held
        words = frame.words(held)
        part.chunks += len(held) - sum(map(len, words.values()))
        for kind, found in words.items():
            _audit_objects(part, kind, found, where)
    part.oids = b"".join(oids)
    return part


def _audit_objects(part: _Part, kind: int, found: list[tuple[bytes, bytes]], where: str) -> None:
    """Take in the objects of one kind in a frame."""
    for (oid, _), value in zip(found, decode_all(kind, found), strict=True):
        if isinstance(value, IntegrityError):
            part.damaged.append(Damage(oid, where, value.message))
        elif kind == Kind.MANIFEST:
            part.manifests.append(ManifestFacts._make((oid, *value[0], value[1])))
        elif kind == Kind.DOCUMENT:
            part.documents.append(DocumentFacts(oid, *value))
        elif kind == Kind.NODE:
            part.nodes.append(_node_facts(oid, value))
        elif kind == Kind.COMMIT:
            part.commits.append((oid, value))
        elif kind == Kind.TAG:
            part.tags.append((oid, value))
        elif kind == Kind.DERIVATION:
            part.sources.append((oid, tuple({source.document for source in value.sources})))


def _node_facts(oid: bytes, node: ledger.Node) -> NodeFacts:
    if node.level:
        return NodeFacts(
            oid, node.level, node.children[0].last_key, node.last_key, node.count, node.children, b""
        )
    first = node.entries[0][0] if node.entries else ""
    values = b"".join(value for key, value in node.entries if key.startswith(ledger.PATH_PREFIXES))
    folders = frozenset(key.rpartition("/")[0] for key, _ in node.entries if key.startswith("d/"))
    cores = b"".join(value for key, value in node.entries if key.startswith("c/"))
    return NodeFacts(oid, 0, first, node.last_key, node.count, (), values, folders, cores)
