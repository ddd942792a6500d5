"""Every byte of every pack, read and hashed again, and what its objects say of each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from arbor.errors import IntegrityError
from arbor.objects import codec, ledger, merkle, model
from arbor.objects.ids import OID_BYTES, Kind
from arbor.processes import map_forked
from arbor.store.pack_format import FrameHeader
from arbor.store.pack_index import KEY_BYTES
from arbor.store.packs import Pack

_FRAMES_A_TASK = 24


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

    `values` are the oids that documents and cores stand at, `folders` those that hold documents.
    """

    oid: bytes
    level: int
    first_key: str
    last_key: str
    count: int  # type: ignore[assignment]  # of no use as a tuple's method
    children: tuple[ledger.Child, ...]
    values: bytes
    folders: frozenset[str] = frozenset()


class Damage(NamedTuple):
    """Something found broken: which object (b"" where not even that is known), where, and what is wrong."""

    oid: bytes
    where: str
    problem: str


@dataclass(slots=True)
class Audit:
    """What the packs hold."""

    oids: set[bytes] = field(default_factory=set)
    documents: dict[bytes, DocumentFacts] = field(default_factory=dict)
    manifests: dict[bytes, ManifestFacts] = field(default_factory=dict)
    nodes: dict[bytes, NodeFacts] = field(default_factory=dict)
    commits: dict[bytes, model.Commit] = field(default_factory=dict)
    tags: dict[bytes, model.Tag] = field(default_factory=dict)
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
    damaged: list[Damage] = field(default_factory=list)
    chunks: int = 0


def audit_packs(packs: list[Pack]) -> Audit:
    """Read everything; large packs over several processes."""
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
        tasks += [(number, sound[i : i + _FRAMES_A_TASK]) for i in range(0, len(sound), _FRAMES_A_TASK)]

    def work(task: tuple[int, list[tuple[int, FrameHeader]]]) -> _Part:
        return _audit_frames(packs[task[0]], task[1])

    by_pack: list[list[bytes]] = [[] for _ in packs]
    for task, part in zip(tasks, map_forked(work, tasks, at_least=4), strict=True):
        found = [part.oids[i : i + OID_BYTES] for i in range(0, len(part.oids), OID_BYTES)]
        by_pack[task[0]] += found
        _take(audit, part, found)
    for pack, oids in zip(packs, by_pack, strict=True):
        if not pack.index.check() or set(pack.index.keys()) != {oid[:KEY_BYTES] for oid in oids}:
            audit.damaged.append(Damage(b"", f"pack index {pack.name[:12]}", "it does not fit its pack"))
    return audit


def _take(audit: Audit, part: _Part, found: list[bytes]) -> None:
    audit.oids.update(found)
    audit.documents.update((facts.oid, facts) for facts in part.documents)
    audit.manifests.update((facts.oid, facts) for facts in part.manifests)
    audit.nodes.update((facts.oid, facts) for facts in part.nodes)
    audit.commits.update(part.commits)
    audit.tags.update(part.tags)
    audit.damaged += part.damaged
    audit.chunks += part.chunks


def _audit_frames(pack: Pack, frames: list[tuple[int, FrameHeader]]) -> _Part:
    part, oids = _Part(), []
    for offset, header in frames:
        where = f"pack {pack.name[:12]} byte {offset}"
        try:
            frame = pack.frame_at(offset, header)
        except IntegrityError as error:
            part.damaged.append(Damage(b"", where, error.message))
            continue
        for kind, oid, data in frame.objects():
            oids.append(oid)
            if kind == Kind.CHUNK:
                part.chunks += 1
                continue
            try:
                _audit_object(part, kind, oid, data)
            except IntegrityError as error:
                part.damaged.append(Damage(oid, where, error.message))
    part.oids = b"".join(oids)
    return part


def _audit_object(part: _Part, kind: int, oid: bytes, data: bytes) -> None:
    if kind == Kind.MANIFEST:
        part.manifests.append(_manifest_facts(oid, data))
    elif kind == Kind.DOCUMENT:
        d = model.decode_document(data)
        part.documents.append(DocumentFacts(oid, d.manifest, d.passage_count, d.text_root, d.original_count,
                                            d.original_root, d.size, d.derivation))  # fmt: skip
    elif kind == Kind.NODE:
        part.nodes.append(_node_facts(oid, ledger.decode_node(data)))
    elif kind == Kind.COMMIT:
        part.commits.append((oid, model.decode_commit(data)))
    elif kind == Kind.TAG:
        part.tags.append((oid, model.decode_tag(data)))
    elif kind == Kind.DERIVATION:
        model.decode_derivation(data)


def _manifest_facts(oid: bytes, data: bytes) -> ManifestFacts:
    """What a manifest comes to.

    Its hash is right, and its form was checked in full when it was written or received, so only what the roots and
    sizes need is looked at here.
    """
    try:
        _, passages, original, _ = codec.decode(data, trusted=True)
        leaves = [row[0] for row in passages]
        pieces = [row[0] for row in original]
        size = sum([row[1] for row in original or passages])
        return ManifestFacts(oid, len(leaves), merkle.tree_root(leaves), len(pieces),
                             merkle.tree_root(pieces) if pieces else b"", size, b"".join(leaves + pieces))  # fmt: skip
    except (ValueError, TypeError, LookupError) as error:
        raise IntegrityError("a manifest has a field of the wrong type") from error


def _node_facts(oid: bytes, node: ledger.Node) -> NodeFacts:
    if node.level:
        return NodeFacts(
            oid, node.level, node.children[0].last_key, node.last_key, node.count, node.children, b""
        )
    first = node.entries[0][0] if node.entries else ""
    values = b"".join(value for key, value in node.entries if key.startswith(ledger.PATH_PREFIXES))
    folders = frozenset(key.rpartition("/")[0] for key, _ in node.entries if key.startswith("d/"))
    return NodeFacts(oid, 0, first, node.last_key, node.count, (), values, folders)
