"""Cores: short texts bound to the passages they come from, staged like documents under names of their own.

A core is a document whose derivation says how it was made and from which leaves, each with an inclusion proof
to its document. So a core can be checked long after its sources have changed: it is then stale, and still
true of what it was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from arbor.errors import UsageError
from arbor.objects import codec, merkle
from arbor.objects.ids import Kind, file_hash
from arbor.objects.model import (
    ChunkRef,
    CoreSource,
    Derivation,
    Document,
    Manifest,
    encode_derivation,
    encode_document,
    encode_manifest,
)
from arbor.objects.paths import in_form_c, path_fault
from arbor.records import dataclass
from arbor.repo.distillation.core_binding import CoreOrigin, Find, get_derivation, origins_of
from arbor.repo.distillation.distillers.contract import MAX_TEXT_BYTES
from arbor.repo.documents import read_parts, read_texts
from arbor.repo.repository import Repository
from arbor.repo.snapshot import CORE_MARK, CORES, DOCUMENTS, Snapshot
from arbor.repo.stage import Stage, write_stage
from arbor.repo.staging.ingest import CANONICALISATION, Sink, document_of
from arbor.store.odb import ObjectStore
from arbor.text.extraction import DEFAULT_POLICY
from arbor.text.reading import extract

MANUAL = "manual"
_FILE_NAME = "core.md"


class Binding(NamedTuple):
    """A passage that a core is made from: its document's ledger key and oid, and the passage's position."""

    key: str
    document: bytes
    position: int


@dataclass(frozen=True, slots=True)
class CoreInfo:
    """A core, for reading.

    Attributes:
        name: Its name, without the mark.
        core: Its oid as hexadecimal digits.
        title, text: What it says.
        distiller, version, parameters: How it was made; the distiller is `manual` for text that somebody
            wrote.
        ledger_root: Root of a ledger of the documents whose statistics were used, and of nothing else, as hexadecimal
            digits; "" for none.
        sources: The passages that it was made from; it is stale when one has changed.
    """

    name: str
    core: str
    title: str
    text: str
    distiller: str
    version: int
    parameters: Mapping[str, object]
    ledger_root: str
    sources: tuple[CoreOrigin, ...]

    @property
    def is_stale(self) -> bool:
        """Whether a source is another document now, or gone."""
        return any(source.changed for source in self.sources)


def check_core_name(name: str) -> str:
    """The name, when a core may have it: names follow the rules of document paths.

    Raises:
        UsageError: when it may not.
    """
    fault = path_fault(name)
    if fault:
        raise UsageError(f"{name!r} cannot be the name of a core: {fault}")
    return name


def core_name(name: str, is_there: Callable[[str], bool]) -> str:
    """The name of a core that is named by itself or, as searches do, `core:NAME`; one called just so comes first."""
    name = in_form_c(name)
    short = name.removeprefix(CORE_MARK)
    return short if not is_there(name) and is_there(short) else name


def write_core(sink: Sink, text: str, title: str, derivation: Derivation, extractor: str = "core/1") -> bytes:
    """Write a core with its objects; its oid.

    The passages are cut by the default sizes whatever the policy says, so that a core is the same everywhere.
    """
    data = text.encode("utf-8")
    extraction = replace(
        extract(data, _FILE_NAME, DEFAULT_POLICY), title=title, extractor=extractor, link_rows=()
    )
    refs = []
    for piece, newlines, headings in extraction.passages:
        refs.append(ChunkRef(sink.add(Kind.CHUNK, piece), len(piece), newlines, headings))
    manifest = sink.add(Kind.MANIFEST, encode_manifest(Manifest(tuple(refs), (), ())))
    bound = sink.add(Kind.DERIVATION, encode_derivation(derivation))
    surface = document_of(extraction, [ref.oid for ref in refs], [], manifest, len(data), file_hash(data), "")
    core = replace(surface, kind="core", derivation=bound, canonicalisation=CANONICALISATION)
    return sink.add(Kind.DOCUMENT, encode_document(core))


def bind(
    documents: Mapping[bytes, tuple[Document, Manifest]], bindings: Iterable[Binding]
) -> tuple[CoreSource, ...]:
    """The sources of a core with their inclusion proofs, in the order given."""
    sources = []
    for key, oid, index in bindings:
        leaves = [ref.oid for ref in documents[oid][1].passages]
        proof = tuple(merkle.inclusion_path(leaves, index))
        sources.append(CoreSource(key, oid, index, len(leaves), leaves[index], proof))
    return tuple(sources)


def add_core(
    repo: Repository, name: str, text: str, sources: Sequence[tuple[str, int | None, int | None]], *,
    title: str = "", by: str = "",
) -> bytes:  # fmt: skip
    """Stage a core that somebody wrote; its oid.

    Args:
        repo: Where.
        name: What to call it.
        text: What it says.
        sources: (path or `core:NAME`, first line, last line) of what it comes from; None for all of it.
        title: Its title; from the text without one.
        by: Who wrote it: a person or an agent.

    Raises:
        UsageError: when there is no text, no source, a source is not there, or what is given is not Unicode.
        Locked: when another writer holds the lock.
    """
    check_core_name(name)
    for given in (text, title, by):
        codec.check_unicode(given)
    if not text.strip():
        raise UsageError("a core needs a text", "give it with --text TEXT or on standard input")
    if len(text.encode("utf-8")) > MAX_TEXT_BYTES:
        raise UsageError(f"a core is at most {MAX_TEXT_BYTES:,} bytes long")
    if not sources:
        raise UsageError("a core needs a source", "name one with --from PATH")
    with repo.changing_stage() as stage:
        documents: dict[bytes, tuple[Document, Manifest]] = {}
        bindings = [each for source in sources for each in _bindings(repo, stage, source, documents)]
        parameters = {"by": by} if by else {}
        derivation = Derivation(MANUAL, 1, parameters, b"", bind(documents, dict.fromkeys(bindings)))
        with repo.store.writer() as writer:
            found = title or extract(text.encode("utf-8"), _FILE_NAME, DEFAULT_POLICY).title
            oid = write_core(writer, text, found, derivation)
        _stage_core(repo, stage, name, oid)
        return oid


def _stage_core(repo: Repository, stage: Stage, name: str, oid: bytes | None) -> None:
    """Whatever is staged by hand resolves a conflict."""
    changes = {CORES + name: oid}
    write_stage(repo.folder, stage.with_changes(repo.store, changes).resolved(changes))


def source_key(text: str) -> str:
    """The ledger key of a source as typed: `core:NAME`, or a document's path."""
    return CORES + text.removeprefix(CORE_MARK) if text.startswith(CORE_MARK) else DOCUMENTS + text


def _bindings(
    repo: Repository, stage: Stage, source: tuple[str, int | None, int | None],
    documents: dict[bytes, tuple[Document, Manifest]],
) -> list[Binding]:  # fmt: skip
    """The passages that hold the lines of a source."""
    typed, first, last = source
    key = source_key(typed)
    oid = stage.find(repo.store, key)
    if oid is None:
        raise UsageError(
            f"there is no '{typed}' to take a core from", "run: arbor add PATH, or arbor core list"
        )
    snapshot = Snapshot(repo.store, stage.base)
    if oid not in documents:
        document = snapshot.document(oid)
        documents[oid] = document, snapshot.manifest(document)
    chosen: Sequence[int] = range(len(documents[oid][1].passages))
    if first is not None or last is not None:
        spans = enumerate(snapshot.line_spans(*documents[oid]))
        chosen = [index for index, (start, end) in spans
                  if (first is None or end >= first) and (last is None or start <= last)]  # fmt: skip
    if not chosen:
        raise UsageError(f"'{typed}' has no such lines, or no text")
    return [Binding(key, oid, index) for index in chosen]


def remove_core(repo: Repository, name: str) -> None:
    """Stage the removal of a core; raises UsageError when there is none of this name."""
    with repo.changing_stage() as stage:
        name = core_name(name, lambda each: stage.find(repo.store, CORES + each) is not None)
        if stage.find(repo.store, CORES + name) is None:
            raise UsageError(f"there is no core '{name}'", "run: arbor core list")
        _stage_core(repo, stage, name, None)


def restore_core(repo: Repository, name: str, snapshot: Snapshot) -> bytes:
    """Stage a core as it is in a version; its oid. In a conflict this takes the one side or the other.

    Raises:
        UsageError: when the version has no core of this name.
        Locked: when another writer holds the lock.
    """
    oid = snapshot.find_key(CORES + name)
    if oid is None:
        raise UsageError(
            f"there is no core '{name}' in this revision", f"remove it with: arbor core rm {name}"
        )
    with repo.changing_stage() as stage:
        _stage_core(repo, stage, name, oid)
    return oid


def list_cores(repo: Repository, snapshot: Snapshot | None = None) -> dict[str, bytes]:
    """Name to oid of the cores of a version, or as staged."""
    if snapshot is not None:
        return dict(snapshot.cores())
    return {key[len(CORES) :]: oid for key, oid in sorted(repo.stage().entries(repo.store, CORES).items())}


def read_core(store: ObjectStore, name: str, oid: bytes, find: Find) -> CoreInfo:
    """A core with its text and derivation; raises IntegrityError when an object of it is absent or damaged."""
    document, manifest = read_parts(store, oid)
    derivation = get_derivation(store, document)
    text = "".join(read_texts(store, document, manifest))
    return CoreInfo(
        name, oid.hex(), document.title, text, derivation.distiller, derivation.version, derivation.parameters,
        derivation.ledger_root.hex(), origins_of(store, derivation, find),
    )  # fmt: skip
